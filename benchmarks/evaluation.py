"""The fixed set of 300 rows, and public data sets, through `evidencerails eval`; keeps a history so that a fall shows.

    python benchmarks/evaluation.py --check                       # the 300 rows; exit 1 if F1 fell out of its interval
    python benchmarks/evaluation.py --record [--data DIR/bench]   # also writes the history and the table

The 300 rows (tests/evaluation/rows.jsonl) were written by hand for this project: 30 texts, for each five statements it
supports and five it does not, of like length and words. Nothing was fitted on them. `benchmarks/history.jsonl` has a
line a recording; `--check` compares with the last one: F1 below the low end of its interval is a fall.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tables import publish

from evidencerails import Guard
from evidencerails.evaluation.datasets import Dataset
from evidencerails.evaluation.session import Plan, evaluate
from evidencerails.evaluation.wording import shown as worded

HERE = Path(__file__).resolve().parent
ROWS = HERE.parent / "tests" / "evaluation" / "rows.jsonl"
HISTORY = HERE / "history.jsonl"
SETS = ("halueval_qa", "summeval", "summedits", "qags_cnndm", "begin")
METRICS = ("n", "unverified", "f1", "balanced_accuracy", "auroc", "auprc", "brier", "ece", "latency_ms_p50")
SHOWN = {"balanced_accuracy": "bal. acc.", "auroc": "AUROC", "ece": "ECE", "f1": "F1", "latency_ms_p50": "p50 ms"}
BASELINES = {"everything_flagged": "everything flagged", "length": "length only", "unseen_words": "unseen words only"}
SEED = 20


def results_of(file: Path, methods: tuple[str, ...], sample: int | None) -> dict[str, Any]:
    """Results of a fresh run over one file."""
    with tempfile.TemporaryDirectory() as folder:
        dataset = Dataset.open(str(file))
        plan = Plan(dataset=dataset, methods=methods, run_file=Path(folder) / "run.jsonl", sample=sample, seed=SEED)
        return evaluate(plan, Guard(), on_outcome=lambda outcome: None)


def entry_of(results: dict[str, Any], name: str) -> dict[str, Any]:
    """What the history keeps of a run."""
    metrics = {
        method: {key: found[key] for key in METRICS if key in found} for method, found in results["methods"].items()
    }
    run = results["run"]
    return {"set": name, "date": run["date"], "version": run["version"], "machine": run["machine"], "methods": metrics}


def last_entry(name: str) -> dict[str, Any] | None:
    """The last recording of a set."""
    if not HISTORY.exists():
        return None
    entries = [json.loads(line) for line in HISTORY.read_text(encoding="utf-8").splitlines() if line.strip()]
    return next((entry for entry in reversed(entries) if entry["set"] == name), None)


def fall_of(now: dict[str, Any], before: dict[str, Any]) -> str:
    """In words how F1 fell by more than its interval, or that rows are no longer verified; empty if neither."""
    for method, recorded in before["methods"].items():
        found = now["methods"].get(method)
        if found is None:
            return f"{method} was not run"
        value, low = found["f1"]["value"], recorded["f1"]["low"]
        if value is None or value < low:
            return f"F1 of {method} is {value}, below {low:.3f}, the low end of its interval on {before['date']}"
        blind, blind_before = found["unverified"]["value"], recorded["unverified"]["value"]
        if blind > blind_before + 0.02 * found["n"]["value"]:
            return f"{method} leaves {blind} rows unverified; it was {blind_before}"
    return ""


def table(all_results: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    """Methods and baselines of every set, the heading first."""
    shown = ("n", "unverified", "f1", "balanced_accuracy", "auroc", "ece", "latency_ms_p50")
    rows: list[tuple[str, ...]] = [("data set", "method", *(SHOWN.get(name, name) for name in shown))]
    for name, results in all_results.items():
        for method, found in results["methods"].items():
            rows.append(
                (name, method, *(worded(key, found.get(key), interval=key != "latency_ms_p50") for key in shown))
            )
        for baseline, found in results["baselines"].items():
            rows.append((name, f"*{BASELINES[baseline]}*", *(worded(key, found.get(key)) for key in shown)))
    return rows


def check() -> int:
    """Compare the 300 rows with the last recording."""
    before = last_entry("smoke")
    if before is None:
        print("no recording of the 300 rows; run: python benchmarks/evaluation.py --record", file=sys.stderr)
        return 2
    now = entry_of(results_of(ROWS, tuple(before["methods"]), None), "smoke")
    for method, found in now["methods"].items():
        print(f"{method}: F1 {worded('f1', found['f1'])}, recorded {worded('f1', before['methods'][method]['f1'])}")
    fall = fall_of(now, before)
    if fall:
        print(f"evaluation: {fall}", file=sys.stderr)
    return 1 if fall else 0


def record(data: Path | None, rows: int, methods: tuple[str, ...]) -> int:
    """Evaluate all sets at hand, append to the history, write the table."""
    found = {"smoke": results_of(ROWS, methods, None)}
    for name in SETS if data is not None else ():
        assert data is not None
        found[name] = results_of(data / f"{name}.jsonl.gz", methods, rows)
    with HISTORY.open("a", encoding="utf-8") as history:
        for name, results in found.items():
            history.write(json.dumps(entry_of(results, name)) + "\n")
    publish("evaluation", table(found), {"sets": {name: entry_of(one, name) for name, one in found.items()}})
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true", help="the 300 rows against the last recording")
    mode.add_argument("--record", action="store_true", help="write the history and the table")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with <set>.jsonl.gz")
    parser.add_argument("--rows", type=int, default=200, help="rows of each public set (default 200)")
    parser.add_argument("--methods", default="grounding", help="separated by commas (default grounding)")
    options = parser.parse_args()
    names = tuple(options.methods.split(","))
    sys.exit(check() if options.check else record(options.data, options.rows, names))
