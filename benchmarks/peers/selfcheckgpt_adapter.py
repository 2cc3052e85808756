"""SelfCheckGPT 0.1.7 in its own environment, its NLI variant over a stub model or one behind HTTP. Run by run.py.

It compares sentences with samples of the same model; the evidence of a row stands for its one sample. It gives scores
and no verdict: in F1 a mean of the sentences above a half counts as flagged. Sentences are split at full stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import statistics
import sys
import time
import urllib.request
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
        request = urllib.request.Request(self.url, json.dumps([pair]).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return tuple(json.load(answer)[0])  # type: ignore[return-value]


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


async def stall() -> tuple[float, float]:
    """Longest stop of the event loop and seconds in all, with 8 checks at once and a model that takes 0.5 s."""
    model, worst = StubModel("entailment", wait_s=0.5), 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(0.001)
            worst = max(worst, time.perf_counter() - begin - 0.001)

    async def check() -> None:
        score(model, TEN, TEN_EVIDENCE)  # there is no asynchronous call

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0.05)
    worst, begin = 0.0, time.perf_counter()
    await asyncio.gather(*(check() for _ in range(8)))
    await asyncio.sleep(0)
    seconds = time.perf_counter() - begin
    await asyncio.sleep(0.01)
    watcher.cancel()
    return worst * 1000, seconds


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
    rows, model, times = rows_in(sys.argv[1]), StubModel("entailment"), []
    score(model, TEN, TEN_EVIDENCE)
    for row in rows:
        begin = time.perf_counter()
        score(model, row["response"], row["evidence"][0])
        times.append((time.perf_counter() - begin) * 1000)
    found["overhead_ms"] = statistics.median(times)
    found["responses_per_s"] = len(rows) / (sum(times) / 1000)
    found["stall_ms"], found["eight_checks_s"] = asyncio.run(stall())
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
