"""evidencerails, measured as the others are. Run by run.py."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
before = time.perf_counter()
from evidencerails import Guard  # noqa: E402

IMPORT_S = time.perf_counter() - before
import numpy as np  # noqa: E402
from cases import CASES, TEN, TEN_EVIDENCE, done, rows_in, stub_scores  # noqa: E402
from measuring import MODEL_S, stall, timed  # noqa: E402


class StubNli:
    """An NLI model that says what the case wants; columns entailment, neutral, contradiction."""

    name, version, max_tokens = "stub", "1", 512
    languages: tuple[str, ...] = ("en",)

    def __init__(self, kind: str, wait_s: float = 0.0) -> None:
        self.kind, self.wait_s = kind, wait_s

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
        time.sleep(self.wait_s)
        return np.array([(e, n, c) for c, e, n in stub_scores(self.kind, list(pairs))], np.float32).reshape(-1, 3)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


GROUNDING = {"checks": ["grounding"]}


async def said(one: dict[str, Any], llm: dict[str, Any]) -> str:
    """What a user sees: only `grounded` passes."""
    if one["nli"]:
        guard = Guard(GROUNDING, nli=StubNli(one["nli"]))
    else:
        key = {} if one["judge"] else {"api_key_env": "NO_SUCH_KEY"}
        settings = {"checks": ["claims"], "claims": {"classifier": "llm"}, "llm": {**llm, **key}}
        if not one["judge"]:
            settings["llm"].pop("api_key")
        guard = Guard(settings)
    try:
        report = await guard.check(one["answer"], evidence=one["evidence"])
    except Exception as error:
        return f"raised {type(error).__name__}"
    return {"grounded": "passed", "hallucinated": "flagged"}.get(report.status, report.status)


async def main() -> None:
    """All measurements."""
    llm = {"model": "replay", "base_url": sys.argv[3], "api_key": "any", "max_retries": 0}
    found: dict[str, Any] = {"import_s": IMPORT_S, "cases": {name: await said(one, llm) for name, one in CASES.items()}}
    rows = rows_in(sys.argv[1])
    guard = Guard(GROUNDING, nli=StubNli("entailment"))
    await guard.check("The first call loads what is loaded once.", evidence=TEN_EVIDENCE)
    found |= await timed(rows, lambda row: guard.check(row["response"], evidence=row["evidence"]))
    slow = Guard(GROUNDING, nli=StubNli("entailment", MODEL_S))
    await slow.check(TEN, evidence=TEN_EVIDENCE)  # loads what is loaded once
    found |= await stall(lambda n: slow.check(f"{TEN} Text {n} is here.", evidence=TEN_EVIDENCE))
    guard, found["scores"] = Guard(GROUNDING), []
    for row in rows:
        report = await guard.check(row["response"], evidence=row["evidence"])
        found["scores"].append([report.status == "hallucinated", report.hallucination_score])
    done(found)


async def ten_claims() -> None:
    """One judged answer of ten claims; the runner counts the requests."""
    llm = {"model": "replay", "base_url": sys.argv[3], "api_key": "any"}
    settings = {"checks": ["claims"], "claims": {"classifier": "llm"}, "llm": llm}
    await Guard(settings).check(TEN, evidence=TEN_EVIDENCE)
    done({})


asyncio.run(ten_claims() if sys.argv[4] == "calls" else main())
