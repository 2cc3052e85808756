"""`evidencerails eval` and `calibrate`: how well methods find hallucinations, and settings fitted to the outcome."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from evidencerails.adapters.nemo_watch import quiet
from evidencerails.cli.common import (
    CONFIG,
    EXIT_UNVERIFIED,
    CliError,
    ProgressBar,
    console,
    names_in,
    plain_table,
    refuse_unwritable,
    say,
    write_json,
    write_text,
)
from evidencerails.config import GuardConfig
from evidencerails.evaluation.datasets import Dataset
from evidencerails.evaluation.fitting import Calibration, Wanted, as_yaml
from evidencerails.evaluation.fitting import calibrate as fit
from evidencerails.evaluation.methods import for_evaluation, known
from evidencerails.evaluation.metrics import library
from evidencerails.evaluation.outcomes import outcomes_in
from evidencerails.evaluation.session import Plan, comparisons
from evidencerails.evaluation.session import evaluate as evaluated
from evidencerails.evaluation.wording import SHORT, about, compared, shown, table_rows
from evidencerails.evaluation.wording import markdown as as_markdown
from evidencerails.guard import Guard

_DATASET = "A public data set, or a file: JSON lines, CSV, Parquet."
_RUN = "File of the outcomes by row, with which an interrupted run is resumed. Default: next to --json or --markdown."
_CALIBRATED = (
    "The --run file that `evidencerails eval` wrote, or what `evidencerails store export` did, with "
    '"hallucinated": true added where an answer is wrong.'
)
_FALSE_WARNINGS = "Only the threshold, by this share of right answers that may be flagged; needs no wrong ones."
_GATE = "Also write quality_gate.max_hallucination_score: answers above are blocked."
QUALITY = ("log_loss", "brier", "ece", "auroc")
"""Metrics of a calibration that are shown."""
SHOWN = ("n", "unverified", "f1", "balanced_accuracy", "auroc", "ece", "latency_ms_p50")


def evaluate(
    dataset: str = typer.Option(..., "--dataset", "-d", metavar="NAME|FILE", help=_DATASET),
    method: list[str] = typer.Option(
        ["grounding"], "--method", "-m", metavar="NAMES", help="Checks and measures, separated by commas. Repeatable."
    ),
    data: Path = typer.Option(Path("."), metavar="DIR", help="Folder with the publisher's files."),
    sample: int | None = typer.Option(None, "--sample", "-n", min=1, help="Rows drawn at random. Default: all."),
    seed: int = typer.Option(0, help="Of the sample and the intervals."),
    config: Path | None = CONFIG,
    json_file: Path | None = typer.Option(None, "--json", metavar="FILE", help="Write all metrics as JSON."),
    markdown: Path | None = typer.Option(None, metavar="FILE", help="Write tables and mistakes as Markdown."),
    run: Path | None = typer.Option(None, metavar="FILE", help=_RUN),
    fresh: bool = typer.Option(False, "--fresh", help="Discard the outcomes in --run."),
    compare: Path | None = typer.Option(None, metavar="RUN", help="The --run file of an earlier run."),
    concurrency: int = typer.Option(4, min=1, help="Rows evaluated at once; latency is under this load."),
) -> int:
    """Measure methods on labelled answers, with intervals and trivial baselines.

    evidencerails eval --dataset answers.jsonl --method grounding,claims --json metrics.json --markdown report.md

    Exit code: 0 done, 3 a method could verify no row at all, 2 wrong usage.
    """
    refuse_unwritable(json_file, markdown, run)
    names = names_in(method)
    if not names:
        raise CliError("--method names no method; give checks or measures, as in --method grounding,nli")
    with tempfile.TemporaryDirectory(prefix="evidencerails-eval-") as folder:
        beside = json_file or markdown
        run_file = run or (beside.with_suffix(".rows.jsonl") if beside else Path(folder) / "rows.jsonl")
        opened = Dataset.open(dataset, folder=data)
        refuse_unwritable(json_file, markdown, run_file, inputs=[*opened.files, config, compare])
        plan = Plan(dataset=opened, methods=known(names), run_file=run_file, sample=sample, seed=seed,
                    concurrency=concurrency, fresh=fresh)  # fmt: skip
        results = _evaluated(plan, config)
        if compare is not None:
            results["comparisons"] = comparisons(compare, run_file, list(results["methods"]))
        if json_file is not None:
            write_json(json_file, results)
        if markdown is not None:
            rows = opened.rows(sample=sample, seed=seed)
            write_text(markdown, as_markdown(results, outcomes_in(run_file), rows))
    _print(results)
    if results["run"]["problems"]:
        say(f"left out or changed: {results['run']['problems']} (first: {results['run']['problem_examples'][0]})")
    blind = [name for name, found in results["methods"].items() if found["unverified"]["value"] == found["n"]["value"]]
    for name in blind:
        say(f"{name} could verify no row: {', '.join(results['details'][name]['unverified'])}")
    return EXIT_UNVERIFIED if blind else 0


def _require_libraries() -> None:
    """Name missing packages now, not after the run."""
    library("sklearn"), library("scipy")


def _evaluated(plan: Plan, config: Path | None) -> dict[str, Any]:
    _require_libraries()
    guard = Guard(for_evaluation(GuardConfig.load(config)))  # before it is made: a guard opens its store at once
    progress = ProgressBar("evaluating")

    def start(total: int, done: int) -> None:
        if done:
            say(f"going on with a run of {done} outcomes")
        progress.start(total, done)

    try:
        with quiet():
            return evaluated(plan, guard, on_start=start, on_outcome=lambda one: progress.step() if one else None)
    finally:
        progress.stop()


def _print(results: dict[str, Any]) -> None:
    table = plain_table("method", *(SHORT.get(name, name) for name in SHOWN))
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, name, words in table_rows(results, SHOWN):
        title = "  unverified as wrong" if kind == "conservative" else name
        # A value has its interval below it; latency has none.
        cells = (
            one.partition(" ")[0] if column.startswith("latency") else one.replace(" ", "\n", 1)
            for column, one in zip(SHOWN, words, strict=True)
        )
        table.add_row(Text(title, style="" if kind == "method" else "dim"), *map(Text, cells))
    out = console()
    out.print(Text(f"{results['run']['dataset']}: {about(results)}"))
    out.print(table)
    for one in results.get("comparisons", ()):
        out.print(Text(compared(one)))


def calibrate(
    run: Path = typer.Option(..., metavar="FILE", help=_CALIBRATED),
    method: list[str] = typer.Option([], "--method", "-m", metavar="NAMES", help="Methods of the run. Default: all."),
    out: Path = typer.Option(Path("calibration.yml"), "--out", "-o", metavar="FILE", help="Settings to write."),
    lambda1: float = typer.Option(1.0, min=0, help="Cost of the false abstention rate."),
    lambda2: float = typer.Option(1.0, min=0, help="Cost of the leak rate."),
    target_precision: float | None = typer.Option(
        None, min=0, max=1, help="Threshold by this precision, not by costs."
    ),
    target_recall: float | None = typer.Option(None, min=0, max=1, help="Threshold by this recall, not by costs."),
    max_false_warnings: float | None = typer.Option(None, min=0, max=1, help=_FALSE_WARNINGS),
    held_out: float = typer.Option(0.3, min=0.1, max=0.9, help="Share of the documents kept for judging."),
    seed: int = typer.Option(0, help="Of the split."),
    gate: bool = typer.Option(False, "--gate", help=_GATE),
    json_file: Path | None = typer.Option(None, "--json", metavar="FILE", help="Write what was fitted as JSON."),
) -> int:
    """Fit calibrators, an ensemble and a threshold on evaluated answers, and write the settings.

    evidencerails calibrate --run metrics.rows.jsonl --out calibration.yml

    A calibration that is worse on held-out documents is rejected. Exit code: 0 done, 2 wrong usage.
    """
    _require_libraries()
    refuse_unwritable(out, json_file, inputs=[run])
    if sum(one is not None for one in (target_precision, target_recall, max_false_warnings)) > 1:
        raise CliError("--target-precision, --target-recall and --max-false-warnings exclude each other; give one")
    wanted = Wanted(false_abstention_cost=lambda1, leak_cost=lambda2, precision=target_precision, recall=target_recall,
                    false_warnings=max_false_warnings, held_out=held_out, seed=seed, gate=gate)  # fmt: skip
    found = fit(run, names_in(method), wanted)
    write_text(out, as_yaml(found))
    if json_file is not None:
        fitted = [
            {**one._asdict(), "settings": None if one.settings is None else one.settings.model_dump(mode="json")}
            for one in found.fitted
        ]
        write_json(json_file, {"settings": found.settings, "fitted": fitted, "thresholds": found.thresholds,
                               "rows": found.rows, "held_out_rows": found.held_out_rows})  # fmt: skip
    _print_calibration(found)
    if max_false_warnings is not None:
        say(f"{found.rows} answers, {found.hallucinated_rows} of them marked hallucinated; the others count as right")
        say(f"wrote {out}; what is in it goes under custom_data: in the app's config.yml")
    else:
        say(f"wrote {out}; see what it changes with: evidencerails eval --config {out} ...")
    return 0


def _print_calibration(found: Calibration) -> None:
    quality = plain_table(
        "method", "held out", *(SHORT.get(name, name.replace("_", " ")) for name in QUALITY), "what came of it"
    )
    quality.columns[-1].no_wrap = False
    for one in found.fitted:
        for word, side, what in (("before", one.before, ""), ("after", one.after, one.conclusion)):
            cells = (shown(name, side[name], interval=False) for name in QUALITY)
            quality.add_row(Text(one.name if word == "before" else ""), word, *cells, Text(what))
    thresholds = plain_table("threshold of", "value", "false abstention", "leak", "precision")
    for name, row in found.thresholds.items():
        found_on = row["held_out"]
        rates = (found_on[column] for column in ("false_abstention_rate", "leak_rate", "precision"))
        shown_rates = ("-" if rate is None else f"{rate:.3f}" for rate in rates)
        thresholds.add_row(Text(name), f"{found_on['value']:.4f}", *shown_rates)
    out = console()
    for part in (quality, "", thresholds) if found.fitted else (thresholds,):
        out.print(part)
