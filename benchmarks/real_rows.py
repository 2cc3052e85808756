"""The grounding rail in a NeMo app over ready answers of public data sets: what it blocked, warned about and passed.

    python benchmarks/real_rows.py --data DIR/bench [--rows 200]

Each row becomes one turn of a guardrails app whose only output rail is `check grounding` (`options: rails: [output]`):
evidence in the context, the question if there is one, and the answer as the assistant's message. Nothing but what a
user of the app sees decides: a replaced answer is blocked, an answer with the warning appended is warned, the same
answer is passed; the status comes from `$hallucination_report`. Unverified rows count as wrong. Prints every
number as JSON and writes the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import logging
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tables import publish

os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("OPENAI_API_KEY", "unused")  # NeMo wants one; no request is made

SETS = ("halueval_qa", "summeval")
SEED = 20
CONFIG = """
models:
  - {type: main, engine: openai, model: unused, parameters: {base_url: "http://127.0.0.1:9/v1"}}
import_paths: [evidencerails/plugin]
rails: {output: {flows: [check grounding]}}
custom_data: {evidencerails: {activation: always}}
"""


class Outcome(NamedTuple):
    """What became of one answer."""

    is_hallucinated: bool
    action: str
    """blocked, warned or passed."""
    status: str
    score: float | None
    latency_ms: float


def read_rows(folder: Path, name: str, count: int) -> list[dict[str, Any]]:
    """A fixed random choice of rows of one data set."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(SEED).shuffle(rows)
    return rows[:count]


def make_app() -> Any:
    """The app, made in an empty directory: NeMo also loads `./actions` of the current one."""
    os.chdir(tempfile.mkdtemp())
    from nemoguardrails import LLMRails, RailsConfig

    return LLMRails(RailsConfig.from_content(yaml_content=CONFIG))


async def outcome_of(app: Any, row: dict[str, Any]) -> Outcome:
    """One turn through the app."""
    messages = [
        {"role": "context", "content": {"evidence": row["evidence"]}},
        {"role": "user", "content": row.get("prompt") or "Summarise the text."},
        {"role": "assistant", "content": row["response"]},
    ]
    options = {"rails": ["output"], "output_vars": ["hallucination_report"]}
    started = time.perf_counter()
    result = await app.generate_async(messages=messages, options=options)
    latency_ms = (time.perf_counter() - started) * 1000
    text = result.response[0]["content"]
    report = (result.output_data or {}).get("hallucination_report") or {}
    action = "passed" if text == row["response"] else "warned" if row["response"] in text else "blocked"
    return Outcome(
        row["hallucinated"], action, report.get("status", "none"), report.get("hallucination_score"), latency_ms
    )


async def run_set(app: Any, rows: list[dict[str, Any]]) -> list[Outcome]:
    """All rows, one after the other: latency is that of a single user."""
    return [await outcome_of(app, row) for row in rows]


def summary(name: str, outcomes: list[Outcome]) -> dict[str, Any]:
    """Counts against the labels, agreement and latency of one data set."""
    right = sum(
        (o.status == "hallucinated") == o.is_hallucinated and o.status in ("grounded", "hallucinated") for o in outcomes
    )
    latencies = sorted(o.latency_ms for o in outcomes)
    return {
        "dataset": name,
        "rows": len(outcomes),
        "hallucinated": _counts([o for o in outcomes if o.is_hallucinated]),
        "clean": _counts([o for o in outcomes if not o.is_hallucinated]),
        "unverified_share": sum(o.status not in ("grounded", "hallucinated") for o in outcomes) / len(outcomes),
        "accuracy": right / len(outcomes),
        "balanced_accuracy": _balanced_accuracy(outcomes),
        "auroc": _auroc(outcomes),
        "median_ms": statistics.median(latencies),
        "p95_ms": latencies[int(0.95 * (len(latencies) - 1))],
    }


def _counts(outcomes: list[Outcome]) -> dict[str, int]:
    counts = Counter(o.action for o in outcomes)
    unverified = sum(o.status not in ("grounded", "hallucinated") for o in outcomes)
    return {**{action: counts[action] for action in ("blocked", "warned", "passed")}, "unverified": unverified}


def _balanced_accuracy(outcomes: list[Outcome]) -> float:
    """Mean of the two classes' shares of right statuses; an unverified row is wrong in either."""
    shares = []
    for label, wanted in ((True, "hallucinated"), (False, "grounded")):
        of_class = [o for o in outcomes if o.is_hallucinated is label]
        shares.append(sum(o.status == wanted for o in of_class) / len(of_class))
    return sum(shares) / 2


def _auroc(outcomes: list[Outcome]) -> float:
    """Share of pairs of a hallucinated and a clean row that the score puts in the right order; ties count half."""
    bad = [o.score if o.score is not None else 0.0 for o in outcomes if o.is_hallucinated]
    good = [o.score if o.score is not None else 1.0 for o in outcomes if not o.is_hallucinated]
    wins = sum((b > g) + 0.5 * (b == g) for b in bad for g in good)
    return wins / (len(bad) * len(good))


HEADING = (
    "data set",
    "rows",
    "label",
    "blocked",
    "warned",
    "passed",
    "unverified",
    "bal. acc.",
    "AUROC",
    "median",
    "p95",
)


def table(results: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """The results as rows of a table, the heading first."""
    rows: list[tuple[str, ...]] = [HEADING]
    for r in results:
        for label in ("hallucinated", "clean"):
            c = r[label]
            count = c["blocked"] + c["warned"] + c["passed"]
            counts = (count, label, c["blocked"], c["warned"], c["passed"], c["unverified"])
            scores = (f"{r['balanced_accuracy']:.3f}", f"{r['auroc']:.3f}")
            times = (f"{r['median_ms']:.0f} ms", f"{r['p95_ms']:.0f} ms")
            rows.append((r["dataset"], *map(str, counts), *scores, *times))
    return rows


async def main(arguments: argparse.Namespace) -> None:
    """Run the sets, print the figures, write the table."""
    import nemoguardrails

    import evidencerails

    folder = arguments.data.resolve()
    rows = {name: read_rows(folder, name, arguments.rows) for name in SETS}
    app = make_app()
    logging.getLogger("evidencerails").setLevel(logging.ERROR)  # a line for each row would bury the table
    await outcome_of(app, rows[SETS[0]][0])  # the first turn loads the model
    results = [summary(name, await run_set(app, rows[name])) for name in SETS]
    versions = {"evidencerails": evidencerails.__version__, "nemoguardrails": nemoguardrails.__version__}
    publish("real_rows", table(results), {"results": results, "seed": SEED, "versions": versions})
    if any(r["unverified_share"] > 0.01 for r in results):
        sys.exit("more than 1 % of the rows could not be verified")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with <set>.jsonl.gz")
    parser.add_argument("--rows", type=int, default=200, help="rows of each set (default 200)")
    asyncio.run(main(parser.parse_args()))
