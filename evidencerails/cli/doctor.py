"""`evidencerails doctor`: does each rail of a guardrails config really fire?"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from evidencerails.cli.common import CliError
from evidencerails.cli.terminal import console, say
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from evidencerails.adapters.nemo_source import Source
    from evidencerails.cli.doctor_probe import Row
    from evidencerails.cli.doctor_problems import Problem
    from evidencerails.config import GuardConfig

EXIT_FIRES = 0
EXIT_DOES_NOT_FIRE = 1


def doctor(
    folder: Path = typer.Argument(..., metavar="FOLDER", help="A guardrails config folder: the one with config.yml."),
    live: bool = typer.Option(False, "--live", help="Use the config's real models instead of the local stand-in."),
    flags_in_app: bool = typer.Option(
        False, "--flags-in-app", help="My program sets the flags in context messages; no flow has to."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Show the log of NeMo Guardrails."),
) -> int:
    """Prove that each rail of a guardrails config fires.

    evidencerails doctor ./config

    Loads a copy of the config, puts a local stand-in in the place of its models, plants a hallucination and a clean
    answer for each rail in each mode, and looks for what would keep a rail silent. Nothing of yours is changed.

    Exit code: 0 all fire, 1 one does not, 2 wrong usage.
    """
    from evidencerails.adapters.nemo_watch import quiet

    if not folder.is_dir():
        raise CliError(f"no folder {str(folder)!r}; give the folder that holds your config.yml")
    if not any(file.suffix in (".yml", ".yaml") for file in folder.iterdir()):
        raise CliError(f"no YAML file in {str(folder)!r}; give the folder that holds your config.yml")
    with quiet(level=logging.NOTSET if verbose else logging.CRITICAL):
        rows, problems = examine(folder, live=live, flags_in_app=flags_in_app)
    if as_json:
        print(json.dumps(_plain(rows, problems), indent=2))
    else:
        _print(rows, problems)
    fires = all(row.fires for row in rows) and not any(problem.level == "error" for problem in problems)
    return EXIT_FIRES if fires else EXIT_DOES_NOT_FIRE


def examine(folder: Path, *, live: bool, flags_in_app: bool) -> tuple[list[Row], list[Problem]]:
    """All that is known about a config: the proven rows, and the problems.

    Raises:
        CliError: NeMo cannot load the config.
    """
    from evidencerails.adapters.nemo_source import Source, copied
    from evidencerails.cli.doctor_problems import Problem, langchain_limits, static_problems
    from evidencerails.cli.installation import load_config
    from evidencerails.config import GuardConfig
    from evidencerails.errors import SettingsError

    problems = _installation_problems()
    with copied(folder) as copy:
        source = Source.read(copy, load_config(copy))
        try:
            settings = GuardConfig.load(source.config.custom_data.get("evidencerails") or {})
        except SettingsError as error:
            refused = Problem("error", "settings", str(error), "the app refuses to start with these settings")
            return [], [*problems, refused]
        problems += langchain_limits(folder)
        problems += static_problems(source, settings, flags_in_app=flags_in_app)
        rows, found = asyncio.run(_probe(source, settings, live=live))
    return rows, [*problems, *found, *_let_through(rows, settings)]


def _installation_problems() -> list[Problem]:
    from evidencerails.adapters.nemo_install import import_path_problem
    from evidencerails.cli.doctor_problems import Problem
    from evidencerails.cli.installation import make_plugin_visible, stale_files

    problems = []
    if line := make_plugin_visible():
        message = "NeMo does not find `evidencerails/plugin`"
        problems.append(Problem("error", "plugin_not_found", message, f"run: {line}"))
    if half := import_path_problem():
        problems.append(Problem("error", "half_a_plugin", half, "run the app from a folder of its own"))
    if stale := stale_files():
        message = f"the installed plugin is older than this package: {', '.join(stale[:3])}"
        problems.append(Problem("error", "stale_plugin", message, "install again"))
    return problems


def _let_through(rows: Sequence[Row], settings: GuardConfig) -> list[Problem]:
    """What a rail finds and the settings let pass: as configured, and yet worth saying."""
    from evidencerails.cli.doctor_problems import Problem

    flows = ", ".join(dict.fromkeys(row.flow for row in rows if row.fires and row.planted.effect == "passed"))
    if not flows:
        return []
    if settings.activation == "shadow":
        return [Problem("note", "shadow", f"{flows}: what is found is only recorded (activation: shadow)")]
    message = f"{flows}: the planted hallucination was found, and your policies let it pass"
    return [Problem("warning", "found_but_allowed", message, "see `policies:` under custom_data.evidencerails")]


async def _probe(source: Source, settings: GuardConfig, *, live: bool) -> tuple[list[Row], list[Problem]]:
    from evidencerails.cli import doctor_plants as plants
    from evidencerails.cli.doctor_probe import Prober
    from evidencerails.cli.doctor_problems import Problem, action_problems
    from evidencerails.testing import ReplayServer

    try:
        with ReplayServer() as server:
            if live:
                prober = Prober(source, settings, None, (plants.LIVE_HALLUCINATION, plants.LIVE_CLEAN))
            else:
                plants.stand_in_for_models(source.config, server.base_url)
                stand_in = plants.StandIn(server)
                prober = Prober(source, settings, stand_in, (plants.HALLUCINATION, plants.CLEAN))
            problems = action_problems(source)
            if source.is_colang_2:
                return await prober.rows_of_colang_2(server.base_url), problems
            return await prober.rows(source.config), problems
    except CliError:
        raise
    except Exception as error:  # boundary: NeMo, the plugin's own checks at the start, and the user's config.py
        return [], [Problem("error", "does_not_start", f"the app does not start: {_causes(error)}")]


def _causes(error: BaseException) -> str:
    """NeMo wraps an error of `init` in one that names only the file, so the whole chain is shown."""
    parts: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(parts) < 5:
        parts.append(f"{type(seen).__name__}: {seen}")
        seen = seen.__cause__ or seen.__context__
    return " <- ".join(re.sub(r"\s+", " ", part) for part in parts)


def _plain(rows: Sequence[Row], problems: Sequence[Problem]) -> dict[str, Any]:
    effects = ({"planted": row.planted.effect, "clean": row.clean.effect, "fires": row.fires} for row in rows)
    return {
        "rails": [{**row._asdict(), **effect} for row, effect in zip(rows, effects, strict=True)],
        "problems": [problem._asdict() for problem in problems],
    }


def _print(rows: Sequence[Row], problems: Sequence[Problem]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    if rows:
        table = Table(show_edge=False, pad_edge=False)
        for name in ("flow", "flag", "mode", "planted", "clean", "fires"):
            table.add_column(name, overflow="fold")
        for row in rows:
            verdict = Text("yes", style="green") if row.fires else Text("NO", style="bold red")
            cells = (row.flow, row.flag, row.mode, row.planted.effect, row.clean.effect)
            table.add_row(*map(visible, cells), verdict)
        out.print(table)
    for row in rows:
        if row.why:
            say(f"{row.flow}, {row.mode}: {row.why}")
    for problem in problems:
        remedy = f"; {problem.remedy}" if problem.remedy else ""
        say(f"{problem.level} [{problem.code}] {problem.message}{remedy}")
