"""Throughput of the evaluation, and its memory over many rows.

    python benchmarks/evaluation_scale.py [--rows 100000]

Speed: the 300 rows of tests/evaluation/rows.jsonl with `grounding`, over an NLI model that answers at once and over the
embedded one. Memory: that many short rows with two samples each through the measure `ngram`, which needs no model; the
peak is read after the first tenth and at the end, when the metrics are computed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tables import publish

from evidencerails import Guard
from evidencerails.evaluation.datasets import Dataset
from evidencerails.evaluation.methods import for_evaluation
from evidencerails.evaluation.outcomes import Outcome, RunFile, header_of, outcomes_in
from evidencerails.evaluation.results import columns_of, results_of
from evidencerails.evaluation.session import run

ROWS = Path(__file__).resolve().parent.parent / "tests" / "evaluation" / "rows.jsonl"


class InstantNli:
    """Entails everything at once."""

    name, version, max_tokens = "instant", "1", 512
    languages: tuple[str, ...] = ("en",)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return np.tile(np.array([[0.9, 0.08, 0.02]], np.float32), (len(pairs), 1))

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def evaluated(guard: Guard, method: str, file: Path, folder: Path, on_outcome: Any = lambda outcome: None) -> float:
    """Seconds of a run of all rows with one method."""
    guard.config = for_evaluation(guard.config)
    dataset = Dataset.open(str(file))
    header = header_of(dataset.name, dataset.fingerprint(), None, 0, guard.config)
    with RunFile(folder / f"{method}.jsonl", header, fresh=True) as into:
        begin = time.perf_counter()
        asyncio.run(run(guard, [method], dataset.rows(), into, concurrency=8, on_outcome=on_outcome))
        return time.perf_counter() - begin


def many_rows(count: int) -> Iterator[str]:
    """Short rows, every second one wrong."""
    for number in range(count):
        year, wrong = 1000 + number % 900, number % 2 == 1
        said = f"The mill number {number} was built in {year + 50 * wrong}."
        stated = f"The mill number {number} was built in {year}."
        yield json.dumps({"id": str(number), "response": said, "samples": [stated, stated], "evidence": [stated],
                          "hallucinated": wrong}) + "\n"  # fmt: skip


def peak_mb() -> float:
    """The process's largest memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(count: int, folder: Path) -> dict[str, float]:
    """Peaks while the rows run and after the metrics."""
    file = folder / "many.jsonl"
    with file.open("w", encoding="utf-8") as handle:
        handle.writelines(many_rows(count))
    seen, early = 0, 0.0

    def note(outcome: Outcome | None) -> None:
        nonlocal seen, early
        seen += 1
        if seen == count // 10:
            early = peak_mb()

    seconds = evaluated(Guard(), "ngram", file, folder, note)
    after_run = peak_mb()
    begin = time.perf_counter()
    results_of(columns_of(outcomes_in(folder / "ngram.jsonl")))
    return {"rows": count, "early_mb": early, "after_run_mb": after_run, "after_metrics_mb": peak_mb(),
            "responses_per_s": count / seconds, "metrics_s": time.perf_counter() - begin}  # fmt: skip


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found: dict[str, Any] = {}
        for model, guard in (("instant", Guard(nli=InstantNli())), ("embedded", Guard())):
            asyncio.run(guard.check("The first call loads what is loaded once.", evidence="It is loaded once."))
            found[model] = 300 / evaluated(guard, "grounding", ROWS, folder)
        found["memory"] = memory(options.rows, folder)
    many = found["memory"]
    table = [
        ("", "figure"),
        ("300 rows, `grounding`, NLI model that answers at once", f"{found['instant']:.0f} responses/s"),
        ("300 rows, `grounding`, embedded NLI model", f"{found['embedded']:.1f} responses/s"),
        (f"{many['rows']:,} rows, `ngram`", f"{many['responses_per_s']:.0f} responses/s"),
        ("peak memory after a tenth of these rows", f"{many['early_mb']:.0f} MB"),
        ("peak memory after all of them", f"{many['after_run_mb']:.0f} MB"),
        ("peak memory after their metrics", f"{many['after_metrics_mb']:.0f} MB"),
        ("their metrics, with intervals", f"{many['metrics_s']:.0f} s"),
    ]
    publish("evaluation_speed", table, found)


if __name__ == "__main__":
    main()
