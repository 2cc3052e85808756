"""`evidencerails eval`: how well methods find hallucinations in a data set, and what they cost."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evidencerails.cli.check_input import refuse_unwritable
from evidencerails.cli.errors import EXIT_UNVERIFIED, CliError
from evidencerails.cli.terminal import ProgressBar, console, say

if TYPE_CHECKING:
    from rich.text import Text

    from evidencerails.evaluation.session import Plan


def evaluate(
    dataset: str = typer.Option(
        ..., "--dataset", "-d", metavar="NAME|FILE", help="A public data set, or a file: JSON lines, CSV, Parquet."
    ),
    method: list[str] = typer.Option(
        ["grounding"], "--method", "-m", metavar="NAMES", help="Checks and measures, separated by commas. Repeatable."
    ),
    data: Path = typer.Option(Path("."), "--data", metavar="DIR", help="Folder with the publisher's files."),
    origin: str = typer.Option("files", "--from", help="files, or hub: through the library datasets."),
    sample: int | None = typer.Option(None, "--sample", "-n", min=1, help="Rows drawn at random. Default: all."),
    seed: int = typer.Option(0, "--seed", help="Of the sample and the intervals."),
    config: Path | None = typer.Option(
        None, "--config", "-c", metavar="PATH", help="Settings: a YAML file or a guardrails config folder."
    ),
    json_file: Path | None = typer.Option(None, "--json", metavar="FILE", help="Write all metrics as JSON."),
    html: Path | None = typer.Option(None, "--html", metavar="FILE", help="Write the report as one HTML page."),
    markdown: Path | None = typer.Option(None, "--markdown", metavar="FILE", help="Write the tables as Markdown."),
    run: Path | None = typer.Option(
        None,
        "--run",
        metavar="FILE",
        help="Outcomes row by row; a run that was interrupted goes on with it. Default: beside --json or --html.",
    ),
    fresh: bool = typer.Option(False, "--fresh", help="Throw away what --run holds."),
    compare: Path | None = typer.Option(None, "--compare", metavar="RUN", help="The --run file of an earlier run."),
    concurrency: int = typer.Option(
        4, "--concurrency", min=1, help="Rows evaluated at once; latency is under this load."
    ),
) -> int:
    """Measure methods on labelled answers, with intervals and beside trivial baselines.

    evidencerails eval --dataset answers.jsonl --method grounding,claims --json metrics.json --html report.html

    Exit code: 0 done, 3 a method could verify no row at all, 2 wrong usage.
    """  # fmt: skip
    from evidencerails.evaluation.session import comparisons

    for file in (json_file, html, markdown, run):
        if file is not None:
            refuse_unwritable(file)
    if origin not in ("files", "hub"):
        raise CliError(f"--from is {origin!r}; expected files or hub")
    with _run_file(run, json_file or html or markdown) as run_file:
        plan = _plan(
            dataset, data, origin, method, run_file, sample=sample, seed=seed, concurrency=concurrency, fresh=fresh
        )
        results = _evaluated(plan, config)
        if compare is not None:
            results["comparisons"] = comparisons(compare, run_file, list(results["methods"]))
        _write(results, plan, json_file=json_file, html=html, markdown=markdown)
    _print(results)
    if results["run"]["problems"]:
        say(f"left out or changed: {results['run']['problems']} (first: {results['run']['problem_examples'][0]})")
    blind = [name for name, found in results["methods"].items() if found["unverified"]["value"] == found["n"]["value"]]
    for name in blind:
        say(f"{name} could verify no row: {', '.join(results['details'][name]['unverified'])}")
    return EXIT_UNVERIFIED if blind else 0


@contextmanager
def _run_file(given: Path | None, beside: Path | None) -> Iterator[Path]:
    """The file of outcomes: the one given, one beside the results, or one that goes when the command ends."""
    if given is not None or beside is not None:
        yield given or beside.with_suffix(".rows.jsonl")  # type: ignore[union-attr]
        return
    with tempfile.TemporaryDirectory(prefix="evidencerails-eval-") as folder:
        yield Path(folder) / "rows.jsonl"


def _plan(dataset: str, data: Path, origin: str, method: list[str], run_file: Path, **rest: Any) -> Plan:
    from evidencerails.evaluation.datasets import Dataset
    from evidencerails.evaluation.methods import known
    from evidencerails.evaluation.session import Plan

    names = [name.strip() for part in method for name in part.split(",") if name.strip()]
    if not names:
        raise CliError("--method names no method; give checks or measures, as in --method grounding,nli")
    opened = Dataset.open(dataset, folder=data, origin=origin)  # type: ignore[arg-type]
    return Plan(dataset=opened, methods=known(names), run_file=run_file, **rest)


def _evaluated(plan: Plan, config: Path | None) -> dict[str, Any]:
    from evidencerails.adapters.nemo_watch import quiet
    from evidencerails.config import GuardConfig
    from evidencerails.evaluation.methods import for_evaluation
    from evidencerails.evaluation.metrics import library
    from evidencerails.evaluation.session import evaluate
    from evidencerails.guard import Guard

    library("sklearn"), library("scipy")  # missing packages are told now, not after the run
    guard = Guard(for_evaluation(GuardConfig.load(config)))  # before it is made: a guard opens its store at once
    progress = ProgressBar("evaluating")

    def start(total: int, done: int) -> None:
        if done:
            say(f"going on with a run of {done} outcomes")
        progress.start(total)

    try:
        with quiet():
            return evaluate(plan, guard, on_start=start, on_outcome=lambda one: progress.step(told=one is not None))
    finally:
        progress.stop()


def _write(
    results: dict[str, Any], plan: Plan, *, json_file: Path | None, html: Path | None, markdown: Path | None
) -> None:
    if json_file is not None:
        json_file.write_text(json.dumps(results, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if markdown is not None:
        from evidencerails.evaluation.report.wording import markdown as as_markdown

        markdown.write_text(as_markdown(results), encoding="utf-8")
    if html is not None:
        from evidencerails.evaluation.report.page import page, worst_items
        from evidencerails.evaluation.runs import outcomes_in

        rows = plan.dataset.rows(sample=plan.sample, seed=plan.seed)
        html.write_text(
            page(results, worst_items(results["details"], outcomes_in(plan.run_file), rows)), encoding="utf-8"
        )


def _print(results: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from evidencerails.evaluation.report.wording import BASELINE_NAMES, SHORT, about, compared, conservative
    from evidencerails.evaluation.report.wording import shown as in_words

    shown = ("n", "unverified", "f1", "balanced_accuracy", "auroc", "ece", "latency_ms_p50")
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for name in shown:
        table.add_column(SHORT.get(name, name), justify="right", no_wrap=True)
    for method, found in results["methods"].items():
        table.add_row(Text(method), *(_cell(name, in_words(name, found.get(name))) for name in shown))
        if any("conservative" in metric for metric in found.values()):
            second = (_cell(name, conservative(name, found.get(name))) for name in shown)
            table.add_row(Text("  unverified as wrong", style="dim"), *second)
    for baseline, found in results["baselines"].items():
        cells = (_cell(name, in_words(name, found.get(name))) for name in shown)
        table.add_row(Text(BASELINE_NAMES[baseline], style="dim"), *cells)
    out = console()
    out.print(Text(f"{results['run']['dataset']}: {about(results)}"))
    out.print(table)
    for one in results.get("comparisons", ()):
        out.print(Text(compared(one)))


def _cell(name: str, words: str) -> Text:
    """A value with its interval below it; latency without one."""
    from rich.text import Text

    value, _, interval = words.partition(" ")
    return Text(value) if not interval or name.startswith("latency") else Text(f"{value}\n{interval}")
