"""`evidencerails redteam`: attacks made from the user's own evidence, on the engine or a whole app."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.text import Text

from evidencerails.adapters.nemo_watch import quiet, started_for_trial
from evidencerails.cli.common import (
    EXIT_UNVERIFIED,
    JSON_FILE,
    CliError,
    ProgressBar,
    console,
    folder_of,
    names_in,
    one_of,
    plain_table,
    refuse_no_folder,
    refuse_unwritable,
    say,
    text_of,
    with_store,
    write_json,
    write_text,
)
from evidencerails.cli.installation import load_config, make_plugin_visible
from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError
from evidencerails.evaluation.methods import for_trial
from evidencerails.evaluation.redteam import wording
from evidencerails.evaluation.redteam.attacks import CATEGORIES, Category
from evidencerails.evaluation.redteam.corpus import Document
from evidencerails.evaluation.redteam.history import (
    SHIPPED,
    entries,
    last_of,
    new_failures,
    read_suite,
    together,
    write_suite,
)
from evidencerails.evaluation.redteam.history import propose as add_to_suite
from evidencerails.evaluation.redteam.session import Plan, Run, run
from evidencerails.evaluation.redteam.targets import WITHOUT_SETTINGS, AppTarget, EngineTarget, Target
from evidencerails.evaluation.redteam.wording import coverage_line
from evidencerails.guard import Guard
from evidencerails.text.visible import visible

EXIT_BELOW = 1
SUFFIXES = (".txt", ".md", ".rst", ".markdown", ".text")
ALERT = "redteam"
"""Key of the alert that a fall of the score opens."""
_EVIDENCE = "Text files and folders of them that attacks are made from."
_CONFIG = "Settings of the engine: a YAML file or a guardrails config folder."
_APP = "Attack a whole guardrails config with its rails instead of the engine."
_ASK = "Also ask the model the questions. Default: if one is configured."
_PROPOSE = "Append new attacks that succeeded: candidates for your suite."
_HISTORY = "Keeps one line per run; later runs attack what changed and report a drop of the score."
_COVERAGE = "Share of the categories that must get a verdict, or exit code 3."
_STORE = "Store that keeps alerts and the change log. Default: the settings'."


def redteam(
    evidence: list[Path] = typer.Option([], "--evidence", "-e", metavar="PATH", help=_EVIDENCE),
    config: Path | None = typer.Option(None, "--config", "-c", metavar="PATH", help=_CONFIG),
    app: Path | None = typer.Option(None, metavar="DIR", help=_APP),
    ask: bool | None = typer.Option(None, "--ask/--no-ask", help=_ASK),
    categories: list[str] = typer.Option([], "--category", metavar="NAMES", help="Only these. Default: all."),
    per_category: int = typer.Option(3, "--per-category", "-n", min=1, help="Attacks per category."),
    seed: int = typer.Option(0, help="Of the attacks."),
    suite: list[Path] = typer.Option([], metavar="FILE", help="Further attacks that stay the same."),
    static: bool = typer.Option(True, "--static/--no-static", help="Also use the shipped suite."),
    save_suite: Path | None = typer.Option(None, metavar="FILE", help="Write all attacks as a suite."),
    propose: Path | None = typer.Option(None, metavar="FILE", help=_PROPOSE),
    history: Path | None = typer.Option(None, metavar="FILE", help=_HISTORY),
    only_changes: bool = typer.Option(False, "--only-changes", help="Make attacks only from what changed."),
    max_drop: float = typer.Option(0.05, min=0.0, max=1.0, help="A larger drop of the score is reported."),
    min_score: float | None = typer.Option(None, min=0.0, max=1.0, help="A lower score is exit code 1."),
    min_coverage: float = typer.Option(1.0, min=0.0, max=1.0, help=_COVERAGE),
    store: str | None = typer.Option(None, metavar="URL", help=_STORE),
    json_file: Path | None = JSON_FILE,
    markdown: Path | None = typer.Option(None, metavar="FILE", help="Write the report as Markdown."),
) -> int:
    """Attack the guard with answers and questions made from your own evidence, and score what it does.

    evidencerails redteam --evidence docs/ --markdown redteam.md

    Exit code: 0 done, 1 below --min-score or dropped since the last run, 3 fewer categories got a verdict than
    --min-coverage asks for, 2 wrong usage.
    """
    if config is not None and app is not None:
        raise CliError("give --config for the engine or --app for a whole app, not both")
    files, documents = [*([SHIPPED] if static else []), *suite], documents_in(evidence, app)
    read = [*(Path(one.name) for one in documents), config, app]
    refuse_unwritable(json_file, markdown, save_suite, history, inputs=[*read, *files])
    refuse_unwritable(propose, inputs=read)  # a suite may grow
    options = {"categories": _categories(categories), "per_category": per_category, "seed": seed, "history": history,
               "only_changes": only_changes, "max_drop": max_drop,
               "static": together(*map(read_suite, files))}  # fmt: skip
    attacked = _app(app, ask) if app is not None else _engine(config, ask)
    if store is not None:
        attacked = attacked._replace(settings=with_store(attacked.settings, store))
    if attacked.settings.store is not None:
        import sqlalchemy  # noqa: F401 - a missing extra is named before the attacks, not after
    found = _run(attacked, documents=documents, **options)
    if save_suite is not None:
        write_suite(save_suite, [one.attack for one in found.results])
    _write(found, json_file, markdown)
    _propose(found, propose)
    _alert(found, attacked)
    return _exit_code(found, min_score, min_coverage)


def _categories(given: Sequence[str]) -> Sequence[Category]:
    names = [name.replace("-", "_") for name in names_in(given)]
    for name in names:
        one_of("category", name, CATEGORIES)
    return tuple(name for name in CATEGORIES if name in names) if names else CATEGORIES


def documents_in(paths: Sequence[Path], app: Path | None) -> list[Document]:
    """The evidence: files, the text files of folders, and the knowledge base of the app if nothing else is given.
    `CliError`: a path is not there, or a folder has no text file."""
    found = []
    for path in list(paths) or ([app / "kb"] if app is not None and (app / "kb").is_dir() else []):
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES) if path.is_dir() else [path]
        if not files:
            raise CliError(f"no text file in {str(path)!r}; expected one of {', '.join(SUFFIXES)}")
        found += [Document(str(file), text_of(file)) for file in files]
    return found


class Attacked(NamedTuple):
    """The target, with the settings that hold in it."""

    target: Target
    name: str
    config: GuardConfig
    settings: GuardConfig
    """With the store that alerts go to, if there is one."""


def _engine(config: Path | None, ask: bool | None) -> Attacked:
    settings = GuardConfig.load(config)
    quiet = for_trial(settings)
    target = EngineTarget(Guard(quiet, folder=folder_of(config)), checks=WITHOUT_SETTINGS if config is None else None)
    if ask and not target.can_be_asked:
        raise CliError("--ask needs a model: set llm.model and llm.base_url in the settings")
    target.can_be_asked = target.can_be_asked and ask is not False
    return Attacked(target, "the engine" if config is None else f"the engine with {config}", quiet, settings)


def _app(folder: Path, ask: bool | None) -> Attacked:
    refuse_no_folder(folder)
    make_plugin_visible()
    loaded = load_config(folder)
    settings = GuardConfig.load(dict((loaded.custom_data or {}).get("evidencerails") or {}))
    has_model = any(model.type == "main" for model in loaded.models)
    if loaded.colang_version != "1.0":  # it takes no ready answer
        raise CliError(f"{str(folder)!r} is in Colang {loaded.colang_version}; attack its settings with --config")
    if ask and not has_model:
        raise CliError(f"--ask needs a main model, and {str(folder)!r} has none")

    async def start() -> Target:  # in an event loop: outside of one NeMo makes its own and leaves it open
        return AppTarget(started_for_trial(loaded), settings, ask=has_model and ask is not False)

    try:
        with quiet():
            target = asyncio.run(start())
    except EvidencerailsError as error:
        raise CliError(str(error)) from None
    except Exception as error:  # boundary to NeMo, the plugin and the user's own code
        raise CliError(f"the app does not start: {type(error).__name__}: {error}") from None
    return Attacked(target, f"the app {folder}", for_trial(settings), settings)


def _run(attacked: Attacked, **options: Any) -> Run:
    progress, changed = ProgressBar("attacking"), _changes_since_last_run(attacked, options["history"])
    plan = Plan(target=attacked.target, name=attacked.name, config=attacked.config, change_log=changed, **options)
    if attacked.target.can_be_asked:
        say("questions go to the configured model, too; --no-ask leaves them out")
    try:
        with quiet():
            return asyncio.run(run(plan, on_start=progress.start, on_shot=progress.step))
    finally:
        progress.stop()


def _changes_since_last_run(attacked: Attacked, history: Path | None) -> list[str]:
    """Changes that people wrote down since the last run against the target."""
    if attacked.settings.store is None or history is None:
        return []
    from evidencerails.operations.monitoring.changes import changes
    from evidencerails.operations.store import Store

    last = last_of(entries(history), attacked.name)
    since = None if last is None else datetime.fromisoformat(last["date"]).timestamp()
    with Store(attacked.settings.store, redaction=attacked.settings.redaction) as store:
        return [change.description for change in changes(store, since=since)]


def _exit_code(run: Run, min_score: float | None, min_coverage: float) -> int:
    score = run.data["score"]["value"]
    if score is None:
        say("no attack got a verdict")
        return EXIT_UNVERIFIED
    if run.fall is not None:
        say(run.fall.described())
        return EXIT_BELOW
    if min_score is not None and score < min_score:
        say(f"the robustness score {score:.3f} is below {min_score:g}")
        return EXIT_BELOW
    if run.data["coverage"]["value"] < min_coverage:
        say(f"{coverage_line(run.data)}; --category names the ones you want, --min-coverage accepts fewer")
        return EXIT_UNVERIFIED
    return 0


def _write(run: Run, json_file: Path | None, markdown: Path | None) -> None:
    if json_file is not None:
        write_json(json_file, run.data)
    if markdown is not None:
        write_text(markdown, wording.markdown(run.data))
    out = console()
    expected = wording.TITLES.index("expected behaviour")  # stands in the files: a terminal is too narrow for it
    table = plain_table(*wording.TITLES[:expected], *wording.TITLES[expected + 1 :])
    for row in wording.category_rows(run.data):
        table.add_row(*(Text(cell) for place, cell in enumerate(row) if place != expected))
    out.print(table)
    lines = [f"{name}: {score} (n = {n})" for name, score, n in wording.dimension_rows(run.data)]
    for line in [*lines, *wording.summary(run.data)]:
        out.print(Text(visible(line, one_line=True)))


def _propose(run: Run, file: Path | None) -> None:
    failures = new_failures(run.results)
    if failures and file is None:
        say(f"{len(failures)} new attacks show a weakness; --propose FILE keeps them for your suite")
    elif failures and file is not None:
        fresh = add_to_suite(file, failures)
        say(f"{fresh} new attacks proposed in {str(file)!r}: look at them, then add that file by --suite")


def _alert(run: Run, attacked: Attacked) -> None:
    """Open, repeat or close the alert about the score, where the settings have a store."""
    settings = attacked.settings
    if settings.store is None:
        return
    from evidencerails.operations.monitoring.alerts import Condition, notify
    from evidencerails.operations.store import Store

    conditions = []
    if run.fall is not None:
        data = {"failing": [one["attack"] for one in run.data["failures"]], "target": attacked.name}
        conditions.append(Condition(ALERT, run.fall.described(), data))
    with Store(settings.store, redaction=settings.redaction) as store:
        for sent in notify(store, conditions, settings.monitoring.alerts, only=ALERT):
            say(f"alert {sent.event}: {sent.message}")
