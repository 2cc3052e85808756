"""SelfCheckGPT 0.1.7 in its own environment, its NLI variant over a stub model or one behind HTTP. Run by run.py.

It compares sentences with samples of the same model; the evidence of a row stands for its one sample. It gives scores
and no verdict: in F1 a mean of the sentences above a half counts as flagged. Sentences are split at full stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
before = time.perf_counter()
import spacy  # noqa: E402
import torch  # noqa: E402
from selfcheckgpt.modeling_selfcheck import SelfCheckNgram, SelfCheckNLI  # noqa: E402
from selfcheckgpt.modeling_selfcheck_apiprompt import SelfCheckAPIPrompt  # noqa: E402
from transformers import DebertaV2Tokenizer  # noqa: E402

IMPORT_S = time.perf_counter() - before
from cases import CASES, TEN, TEN_EVIDENCE, done, rows_in, stub_scores  # noqa: E402
from measuring import MODEL_S, scores_over_http, stall, timed  # noqa: E402


class Pair(dict[str, Any]):
    """What the tokenizer hands to the model: the pair itself."""

    def to(self, _: Any) -> Pair:
        return self


class StubModel:
    """Stands where SelfCheckNLI loads its DeBERTa and its tokenizer; two columns: entailment, contradiction."""

    def __init__(self, kind: str, *, wait_s: float = 0.0, url: str = "") -> None:
        self.kind, self.wait_s, self.url = kind, wait_s, url

    def batch_encode_plus(self, *, batch_text_or_text_pairs: Any, **_: Any) -> Pair:
        return Pair(pair=batch_text_or_text_pairs[0])

    def __call__(self, *, pair: tuple[str, str]) -> Any:
        time.sleep(self.wait_s)
        sentence, sample = pair
        contradiction, entailment, _ = self._scores((sample, sentence))
        logits = torch.log(torch.tensor([[entailment, contradiction]]) + 1e-9)
        return type("Output", (), {"logits": logits})

    def _scores(self, pair: tuple[str, str]) -> tuple[float, float, float]:
        if not self.url:
            return stub_scores(self.kind, [pair])[0]
        return tuple(scores_over_http(self.url, [pair])[0])  # type: ignore[return-value]


def nli(model: StubModel) -> SelfCheckNLI:
    """The NLI variant without its weights."""
    found = SelfCheckNLI.__new__(SelfCheckNLI)
    found.tokenizer, found.model, found.device = model, model, torch.device("cpu")
    return found


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [part for part in re.split(r"(?<=\.)\s+", text) if part]


def score(model: StubModel, answer: str, evidence: str) -> float:
    """Mean over the sentences, as the paper scores a passage."""
    return float(nli(model).predict(sentences(answer), [evidence]).mean())


def said(one: dict[str, Any]) -> str:
    """What becomes of a case."""
    try:
        if one["nli"]:
            value = score(StubModel(one["nli"]), one["answer"], one["evidence"])
        else:
            if one["judge"]:
                os.environ["OPENAI_API_KEY"] = "any"
            else:
                os.environ.pop("OPENAI_API_KEY", None)
            checker = SelfCheckAPIPrompt(model="replay")
            value = float(checker.predict(sentences(one["answer"]), [one["evidence"]]).mean())
    except Exception as error:
        return f"raised {type(error).__name__}"
    return f"score {value:.2f}"


async def figures(rows: list[dict[str, Any]]) -> dict[str, float]:
    """What all peers are measured by; there is no asynchronous call."""
    quick, slow = StubModel("entailment"), StubModel("entailment", wait_s=MODEL_S)

    async def row_of(row: dict[str, Any]) -> None:
        score(quick, row["response"], row["evidence"][0])

    async def of_ten(_: int) -> None:
        score(slow, TEN, TEN_EVIDENCE)

    score(quick, TEN, TEN_EVIDENCE)
    return {**await timed(rows, row_of), **await stall(of_ten)}


def unigram(rows: list[dict[str, Any]]) -> list[float]:
    """Its unigram variant, mean over the sentences; a blank English pipeline stands for the model that it wants."""

    def blank(_: str) -> Any:
        pipeline = spacy.blank("en")
        pipeline.add_pipe("sentencizer")
        return pipeline

    spacy.load = blank
    checker = SelfCheckNgram(n=1)
    found = []
    for row in rows:
        parts = checker.predict(sentences(row["response"]), row["response"], [row["evidence"][0]])
        found.append(float(parts["doc_level"]["avg_max_neg_logprob"]))
    return found


def main() -> dict[str, Any]:
    """All measurements."""
    os.environ.update(OPENAI_API_KEY="any", OPENAI_BASE_URL=sys.argv[3])
    found: dict[str, Any] = {"import_s": IMPORT_S, "cases": {name: said(one) for name, one in CASES.items()}}
    found["cases"]["NLI variant as installed"] = (
        "runs" if hasattr(DebertaV2Tokenizer, "batch_encode_plus") else "raises AttributeError"
    )
    rows = rows_in(sys.argv[1])
    found |= asyncio.run(figures(rows))
    real = StubModel("", url=sys.argv[2])
    values = [score(real, row["response"], row["evidence"][0]) for row in rows]
    found["scores"] = [[value > 0.5, value] for value in values]
    found["unigram"] = unigram(rows)
    return found


def ten_claims() -> dict[str, Any]:
    """One judged answer of ten sentences and one sample; the runner counts the requests."""
    os.environ.update(OPENAI_API_KEY="any", OPENAI_BASE_URL=sys.argv[3])
    SelfCheckAPIPrompt(model="replay").predict(sentences(TEN), [TEN_EVIDENCE])
    return {}


with contextlib.redirect_stdout(io.StringIO()):  # it prints
    outcome = ten_claims() if sys.argv[4] == "calls" else main()
done(outcome)
