"""What the store costs a turn, and how fast it writes.

    python benchmarks/store.py [--turns 2000]

A turn hands its report to `Store.put`; the time of that call is the turn's own cost. Turns come at a steady pace, with
the writer working beside them; and once more while another process holds the database locked. The report has 8 claims
with quotes, as an answer of some 150 words has.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tables import machine, publish

from evidencerails import Claim, Exchange, Finding, Report, Span
from evidencerails.operations.store import Store
from evidencerails.report import CheckResult, Quote
from evidencerails.settings.operations import StoreSettings

CLAIMS = 8
SENTENCE = "The northern tower of the Halden bridge was finished by local engineers in the spring of 1932. "
PACE_S = 0.004
RESULTS = Path(__file__).resolve().parent / "store.json"
"""For the sizing in docs/operations.md."""


def made() -> tuple[Report, Exchange]:
    """A report and what it is about."""
    answer = SENTENCE * CLAIMS
    claims, findings = [], []
    for number in range(CLAIMS):
        span = Span.of(answer, number * len(SENTENCE), (number + 1) * len(SENTENCE) - 1)
        quote = Quote(passage_id="1", span=Span.of(SENTENCE, 0, len(SENTENCE)), score=0.9)
        label = "contradicted" if number % 4 == 0 else "supported"
        claim = Claim(text=span.text, span=span, label=label, score=0.5, evidence=(quote,), reason="passage 1 says so")
        claims.append(claim)
        if label == "contradicted":
            findings.append(
                Finding(
                    kind="unsupported_claim",
                    category="factual",
                    severity="high",
                    origin="intrinsic",
                    span=span,
                    reason="passage 1 says otherwise",
                    evidence=(quote,),
                    score=0.9,
                    check="claims",
                    version="1",
                    label=label,
                )
            )
    check = CheckResult(name="claims", status="hallucinated", claims=tuple(claims), findings=tuple(findings))
    report = Report(
        status="hallucinated",
        hallucination_score=0.9,
        claims=tuple(claims),
        findings=tuple(findings),
        checks={"claims": check},
        timings_ms={"total": 40.0},
    )
    return report, Exchange.of(answer, evidence=[SENTENCE] * 4, prompt="What about the tower?")


def measure(turns: int, *, locked: bool) -> dict[str, Any]:
    """Figures of one run."""
    report, exchange = made()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(StoreSettings(url=f"sqlite:///{folder}/store.db", lock_timeout_s=0.5))
        store.put(report, exchange)
        store.flush()
        other = sqlite3.connect(f"{folder}/store.db", isolation_level=None)
        if locked:
            other.execute("BEGIN EXCLUSIVE")
        times = []
        started = time.perf_counter()
        for _ in range(turns):
            begun = time.perf_counter()
            store.put(report, exchange)
            times.append((time.perf_counter() - begun) * 1000)
            time.sleep(PACE_S)
        if locked:
            other.execute("ROLLBACK")
        other.close()
        store.flush()
        elapsed_s = time.perf_counter() - started
        _until_written(store, turns + 1)
        status = store.status
        store.close()
        size = sum(file.stat().st_size for file in Path(folder).glob("store.db*"))
    return {
        "turns_per_s": round(turns / elapsed_s),
        "median_ms": round(statistics.median(times), 3),
        "p99_ms": round(statistics.quantiles(times, n=100)[-1], 3),
        "max_ms": round(max(times), 2),
        "lost": status.lost,
        "bytes_a_report": round(size / (turns + 1)),
    }


def _until_written(store: Store, count: int) -> None:
    from evidencerails.operations.store import queries

    end = time.monotonic() + 60
    while queries.count(store.engine) < count:
        if time.monotonic() > end:
            raise SystemExit(f"only {queries.count(store.engine)} of {count} reports arrived: {store.status}")
        time.sleep(0.2)


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=2000)
    turns = parser.parse_args().turns
    figures = {"free": measure(turns, locked=False), "locked by another process": measure(turns, locked=True)}
    names = list(next(iter(figures.values())))
    rows = [["database", *(name.replace("_", " ") for name in names)]]
    rows += [[state, *(str(values[name]) for name in names)] for state, values in figures.items()]
    publish("store", rows, {"store": figures, "turns": turns})
    kept = {"machine": machine(), "result": figures["free"]}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
