"""The measures over samples, by sentence, on WikiBio: how well each orders sentences, and what it costs.

    python benchmarks/measures.py --data DIR/bench [--passages 53] [--samples 10]

GPT-3 biographies with further samples of the same model, each sentence labelled accurate (0), minor (0.5) or major
inaccurate (1) by people (SelfCheckGPT, arXiv 2303.08896). Figures are areas under the precision-recall curve times 100,
as in the paper: NonFact finds sentences that are not accurate, Factual those that are. No LLM is asked. Beside the
measures stand what anyone can do: the sentence's place and its length. Prints JSON and writes the table in
docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.metrics import average_precision_score
from tables import publish

from evidencerails.checks.base import CheckContext
from evidencerails.config import GuardConfig
from evidencerails.exchange import Exchange, Span
from evidencerails.llm.prompts import PromptLibrary
from evidencerails.measures.base import Measure, run_measure
from evidencerails.measures.encoder import default_encoder
from evidencerails.measures.ngram import NgramMeasure
from evidencerails.measures.nli import NliMeasure
from evidencerails.measures.self_consistency import SelfConsistencyMeasure
from evidencerails.measures.vectors import BertScoreMeasure, EmbeddingMeasure
from evidencerails.nli.service import NliService

BASELINES = ("place in the answer", "length")


class Sentence(NamedTuple):
    """One labelled sentence."""

    text: str
    span: Span
    inaccuracy: float


class Row(NamedTuple):
    """One biography."""

    exchange: Exchange
    sentences: list[Sentence]


def read_rows(folder: Path, passages: int, samples: int) -> list[Row]:
    """The first biographies, each with its first samples."""
    with gzip.open(folder / "wikibio.jsonl.gz", "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [_row(data, samples) for data in found[:passages]]


def _row(data: dict[str, Any], samples: int) -> Row:
    response, sentences, start = data["response"], [], 0
    for entry in data["sentences"]:
        start = response.find(entry["text"], start)
        if start < 0:  # a sentence that was tidied up: it is scored by its own words
            start = 0
            sentences.append(
                Sentence(entry["text"], Span.of(entry["text"], 0, len(entry["text"])), entry["inaccuracy"])
            )
            continue
        span = Span.of(response, start, start + len(entry["text"]))
        sentences.append(Sentence(entry["text"], span, entry["inaccuracy"]))
        start = span.end
    exchange = Exchange.of(response, evidence=data["evidence"], samples=data["samples"][:samples])
    return Row(exchange, sentences)


async def scores_of(measure: Measure, rows: Sequence[Row], context: CheckContext) -> tuple[list[float], list[float]]:
    """Scores of all sentences, and seconds of each biography. What cannot be measured counts as 0.5."""
    scores, seconds = [], []
    for row in rows:
        started = time.perf_counter()
        result = await run_measure(measure, row.exchange, row.sentences, context)
        seconds.append(time.perf_counter() - started)
        scores += [0.5 if claim.score is None else claim.score for claim in result.claims]
    return scores, seconds


def areas(scores: Sequence[float], labels: Sequence[float]) -> dict[str, float]:
    """AUC-PR times 100 of finding sentences that are not accurate, and accurate ones."""
    is_wrong = [label > 0 for label in labels]
    return {
        "nonfact": 100 * float(average_precision_score(is_wrong, scores)),
        "factual": 100 * float(average_precision_score([not wrong for wrong in is_wrong], [-s for s in scores])),
    }


async def measure_all(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Figures by name."""
    config = GuardConfig()
    context = CheckContext(config=config, nli=NliService.from_settings(config.nli), prompts=PromptLibrary.load())
    labels = [sentence.inaccuracy for row in rows for sentence in row.sentences]
    named: dict[str, Measure] = {
        "ngram (max)": NgramMeasure("max"),
        "ngram (avg)": NgramMeasure("avg"),
        "embedding": EmbeddingMeasure(),
        "bertscore": BertScoreMeasure(),
        "self_consistency": SelfConsistencyMeasure(),
        "nli (against the article)": NliMeasure(),
    }
    await context.nli.load()
    default_encoder().sentence_vectors(["warm"])
    found = {
        BASELINES[0]: areas([float(n) for row in rows for n in range(len(row.sentences))], labels),
        BASELINES[1]: areas([float(len(s.text)) for row in rows for s in row.sentences], labels),
    }
    for name, measure in named.items():
        scores, seconds = await scores_of(measure, rows, context)
        found[name] = {**areas(scores, labels), "ms": 1000 * statistics.median(seconds)}
    return found


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=53)
    parser.add_argument("--samples", type=int, default=10)
    arguments = parser.parse_args()
    rows = read_rows(arguments.data, arguments.passages, arguments.samples)
    labels = [sentence.inaccuracy for row in rows for sentence in row.sentences]
    found = asyncio.run(measure_all(rows))
    wrong = sum(label > 0 for label in labels)
    heading = ("measure", "NonFact", "Factual", "median ms an answer")
    chance = ("everything alike", f"{100 * wrong / len(labels):.1f}", f"{100 - 100 * wrong / len(labels):.1f}", "-")
    body = [
        (name, f"{value['nonfact']:.1f}", f"{value['factual']:.1f}", f"{value['ms']:.0f}" if "ms" in value else "-")
        for name, value in found.items()
    ]
    counts = {"passages": len(rows), "sentences": len(labels), "samples": arguments.samples}
    publish("measures", (heading, chance, *body), {**counts, "figures": found, "encoder": default_encoder().name})


if __name__ == "__main__":
    main()
