"""ChainCheck 0.6.0 in its own environment, with a stub NLI model or one behind HTTP. Run by run.py."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("CACHE_PATH", os.path.join(os.getcwd(), "cache"))
before = time.perf_counter()
import chaincheck  # noqa: E402

IMPORT_S = time.perf_counter() - before
from cases import CASES, TEN, TEN_EVIDENCE, done, rows_in, stub_scores  # noqa: E402
from chaincheck.methods import nli as peer_nli  # noqa: E402
from measuring import MODEL_S, scores_over_http, stall, timed  # noqa: E402


class StubModel:
    """Stands where ChainCheck loads its cross-encoder; columns as that model's: contradiction, entailment, neutral."""

    def __init__(self, kind: str, *, wait_s: float = 0.0, url: str = "") -> None:
        self.kind, self.wait_s, self.url = kind, wait_s, url

    def predict(self, pairs: Any, **_: Any) -> Any:
        import numpy as np

        time.sleep(self.wait_s)
        pairs = [tuple(pair) for pair in pairs]
        if not self.url:
            return np.array(stub_scores(self.kind, pairs))
        return np.array(scores_over_http(self.url, pairs))


def use(model: StubModel) -> None:
    """Put a model where ChainCheck keeps its own."""
    peer_nli._model, peer_nli._label_map = model, {0: "contradicted", 1: "supported", 2: "unknown"}


def verdict(result: Any) -> str:
    """What a user of ChainCheck sees: LOW risk passes."""
    return "passed" if str(result.risk_level).lower().endswith("low") else "flagged"


async def said(one: dict[str, Any]) -> str:
    """What becomes of a case."""
    use(StubModel(one["nli"] or "entailment"))
    methods = ["nli"] if one["nli"] else ["judge"]
    try:
        return verdict(await chaincheck.detect(one["answer"], context=one["evidence"], methods=methods))
    except Exception as error:
        return f"raised {type(error).__name__}"


async def main() -> None:
    """All measurements."""
    os.environ.pop("OPENAI_API_KEY", None)
    found: dict[str, Any] = {"import_s": IMPORT_S, "cases": {name: await said(one) for name, one in CASES.items()}}
    rows = rows_in(sys.argv[1])
    use(StubModel("entailment"))
    await chaincheck.detect("The first call loads what is loaded once.", context=TEN_EVIDENCE, methods=["nli"])
    found |= await timed(
        rows, lambda row: chaincheck.detect(row["response"], context=row["evidence"][0], methods=["nli"])
    )
    use(StubModel("entailment", wait_s=MODEL_S))
    found |= await stall(lambda n: chaincheck.detect(f"{TEN} Text {n}.", context=TEN_EVIDENCE, methods=["nli"]))
    use(StubModel("", url=sys.argv[2]))
    found["scores"] = []
    for row in rows:
        result = await chaincheck.detect(row["response"], context=row["evidence"][0], methods=["nli"])
        found["scores"].append([verdict(result) == "flagged", result.aggregate_score])
    done(found)


async def ten_claims() -> None:
    """One judged answer of ten claims; the runner counts the requests."""
    os.environ.update(OPENAI_API_KEY="any", OPENAI_BASE_URL=sys.argv[3])
    await chaincheck.detect(TEN, context=TEN_EVIDENCE, methods=["judge"])
    done({})


asyncio.run(ten_claims() if sys.argv[4] == "calls" else main())
