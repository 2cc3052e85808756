"""`groundrails redteam`: attacks made from the user's own evidence, on the engine or a whole app."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from groundrails.cli.check import _refuse_unwritable
from groundrails.cli.errors import EXIT_UNVERIFIED, CliError
from groundrails.cli.progress import ProgressBar
from groundrails.cli.redteam_target import Attacked, documents_in, opened
from groundrails.cli.terminal import console, say, visible

if TYPE_CHECKING:
    from groundrails.evaluation.redteam.attacks import Attack, Category
    from groundrails.evaluation.redteam.session import Run

EXIT_BELOW = 1


def redteam(
    evidence: list[Path] = typer.Option(
        [], "--evidence", "-e", metavar="PATH", help="Text files and folders of them that attacks are made from."
    ),
    config: Path | None = typer.Option(
        None,
        "--config",
        "-c",
        metavar="PATH",
        help="Settings of the engine: a YAML file or a guardrails config folder.",
    ),
    app: Path | None = typer.Option(
        None, "--app", metavar="DIR", help="Attack a whole guardrails config with its rails instead of the engine."
    ),
    ask: bool | None = typer.Option(
        None, "--ask/--no-ask", help="Put the questions to the model, too. Default: if one is configured."
    ),
    categories: list[str] = typer.Option([], "--category", metavar="NAMES", help="Only these. Default: all."),
    per_category: int = typer.Option(3, "--per-category", "-n", min=1, help="Attacks made a category."),
    seed: int = typer.Option(0, "--seed", help="Of the attacks."),
    suite: list[Path] = typer.Option([], "--suite", metavar="FILE", help="Further attacks that stay the same."),
    static: bool = typer.Option(True, "--static/--no-static", help="Use the suite that ships, too."),
    save_suite: Path | None = typer.Option(None, "--save-suite", metavar="FILE", help="Write all attacks as a suite."),
    propose: Path | None = typer.Option(
        None, "--propose", metavar="FILE", help="Append new attacks that got through: candidates for your suite."
    ),
    history: Path | None = typer.Option(
        None, "--history", metavar="FILE", help="A line a run; later runs aim at what changed and notice a fall."
    ),
    only_changes: bool = typer.Option(False, "--only-changes", help="Make attacks only from what changed."),
    max_drop: float = typer.Option(0.05, "--max-drop", min=0.0, max=1.0, help="A fall beyond this is an alarm."),
    min_score: float | None = typer.Option(None, "--min-score", min=0.0, max=1.0, help="A lower score is exit code 1."),
    schedule: str | None = typer.Option(
        None, "--schedule", metavar="TIME", help="Run again every 30m, 12h, 7d, until Ctrl-C."
    ),
    runs: int | None = typer.Option(None, "--runs", min=1, help="With --schedule: end after so many runs."),
    store: str | None = typer.Option(
        None, "--store", metavar="URL", help="Store that keeps alerts and the change log. Default: the settings'."
    ),
    json_file: Path | None = typer.Option(None, "--json", metavar="FILE", help="Write everything as JSON."),
    html: Path | None = typer.Option(None, "--html", metavar="FILE", help="Write the report as one HTML page."),
    markdown: Path | None = typer.Option(None, "--markdown", metavar="FILE", help="Write the report as Markdown."),
) -> int:
    """Attack the guard with answers and questions made from your own evidence, and score what it does.

    groundrails redteam --evidence docs/ --html redteam.html

    Exit code: 0 done, 1 below --min-score or fallen since the last run, 3 nothing could be told, 2 wrong usage.
    """
    for file in (json_file, html, markdown, save_suite, propose, history):
        if file is not None:
            _refuse_unwritable(file)
    if config is not None and app is not None:
        raise CliError("give --config for the engine or --app for a whole app, not both")
    every_s = _seconds(schedule, runs)
    wanted, kept = _categories(categories), _static(suite, static)
    number, worst = 0, 0
    while True:
        number += 1
        attacked = opened(config, app, ask=ask, store=store, history=history)  # anew: settings may have changed
        run = _run(
            attacked, documents_in(evidence, app), kept, categories=wanted, per_category=per_category, seed=seed,
            history=history, only_changes=only_changes, max_drop=max_drop,
        )  # fmt: skip
        if save_suite is not None:
            _save(save_suite, run)
        _write(run, json_file=json_file, html=html, markdown=markdown)
        _print(run)
        _propose(run, propose)
        attacked.tell(run)
        code = _exit_code(run, min_score)
        worst = max(worst, code)
        if every_s is None:
            return code
        if runs is not None and number >= runs:
            return worst
        time.sleep(every_s)


def _seconds(schedule: str | None, runs: int | None) -> float | None:
    from groundrails.cli.span import seconds_of

    if schedule is None and runs is not None:
        raise CliError("--runs needs --schedule, as in --schedule 12h --runs 10")
    return None if schedule is None else seconds_of(schedule)


def _categories(given: Sequence[str]) -> Sequence[Category]:
    from groundrails.config_problems import nearest
    from groundrails.evaluation.redteam.attacks import CATEGORIES

    names = [name.strip().replace("-", "_") for part in given for name in part.split(",") if name.strip()]
    for name in names:
        if name not in CATEGORIES:
            raise CliError(f"unknown category {name!r}{nearest(name, CATEGORIES)}; available: {', '.join(CATEGORIES)}")
    return tuple(name for name in CATEGORIES if name in names) if names else CATEGORIES


def _static(files: Sequence[Path], shipped: bool) -> list[Attack]:
    from groundrails.evaluation.redteam.suite import SHIPPED, read_suite, together

    return together(*([read_suite(SHIPPED)] if shipped else []), *(read_suite(file) for file in files))


def _run(attacked: Attacked, documents: Any, static: Sequence[Attack], **options: Any) -> Run:
    from groundrails.cli.recording import quiet
    from groundrails.evaluation.redteam.session import Plan, run

    progress = ProgressBar("attacking")
    plan = Plan(
        documents=documents, static=static, target=attacked.target, name=attacked.name, config=attacked.config,
        change_log=attacked.change_log, **options,
    )  # fmt: skip
    if attacked.target.can_be_asked:
        say("questions go to the configured model, too; --no-ask leaves them out")
    try:
        with quiet():
            return asyncio.run(run(plan, on_start=progress.start, on_shot=progress.step))
    finally:
        progress.stop()


def _save(file: Path, run: Run) -> None:
    from groundrails.evaluation.redteam.suite import write_suite

    write_suite(file, [one.attack for one in run.results])


def _write(run: Run, *, json_file: Path | None, html: Path | None, markdown: Path | None) -> None:
    if json_file is not None:
        json_file.write_text(json.dumps(run.data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if markdown is not None:
        from groundrails.evaluation.redteam.told import markdown as as_markdown

        markdown.write_text(as_markdown(run.data), encoding="utf-8")
    if html is not None:
        from groundrails.evaluation.redteam.page import page

        html.write_text(page(run.data), encoding="utf-8")


def _print(run: Run) -> None:
    from rich.table import Table
    from rich.text import Text

    from groundrails.evaluation.redteam.told import TITLES, category_rows, dimension_rows, summary

    out, table = console(), Table(show_edge=False, pad_edge=False)
    expected = TITLES.index("expected behaviour")  # stands in the files: a terminal is too narrow for it
    for place, title in enumerate(TITLES):
        if place != expected:
            table.add_column(title, no_wrap=True)
    for row in category_rows(run.data):
        table.add_row(*(Text(cell) for place, cell in enumerate(row) if place != expected))
    out.print(table)
    for name, score, n in dimension_rows(run.data):
        out.print(Text(f"{name}: {score} (n = {n})"))
    for line in summary(run.data):
        out.print(Text(visible(line, one_line=True)))


def _propose(run: Run, file: Path | None) -> None:
    from groundrails.evaluation.redteam import suite

    failures = suite.new_failures(run.results)
    if not failures:
        return
    if file is None:
        say(f"{len(failures)} new attacks show a weakness; --propose FILE keeps them for your suite")
        return
    fresh = suite.propose(file, failures)
    say(f"{fresh} new attacks proposed in {str(file)!r}: look at them, then add that file by --suite")


def _exit_code(run: Run, min_score: float | None) -> int:
    score = run.data["score"]["value"]
    if score is None:
        say("nothing could be told: no attack got a verdict")
        return EXIT_UNVERIFIED
    if run.fall is not None:
        say(run.fall.told())
        return EXIT_BELOW
    if min_score is not None and score < min_score:
        say(f"the robustness score {score:.3f} is below {min_score:g}")
        return EXIT_BELOW
    return 0
