"""`evidencerails doctor`: does each rail of a guardrails config really fire?"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evidencerails.cli.common import CliError, plain_table, refuse_no_folder
from evidencerails.cli.terminal import console, say
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from evidencerails.adapters.nemo_source import Source
    from evidencerails.cli.doctor_probe import Row
    from evidencerails.cli.doctor_problems import Problem
    from evidencerails.config import GuardConfig


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

    refuse_no_folder(folder)
    if not any(file.suffix in (".yml", ".yaml") for file in folder.iterdir()):
        raise CliError(f"no YAML file in {str(folder)!r}; give the folder that holds your config.yml")
    with quiet(level=logging.NOTSET if verbose else logging.CRITICAL):
        rows, problems = examine(folder, live=live, flags_in_app=flags_in_app)
    if as_json:
        effects = [{"planted": row.planted.effect, "clean": row.clean.effect, "fires": row.fires} for row in rows]
        rails = [{**row._asdict(), **effect} for row, effect in zip(rows, effects, strict=True)]
        print(json.dumps({"rails": rails, "problems": [one._asdict() for one in problems]}, indent=2))
    else:
        _print(rows, problems)
    return 0 if all(row.fires for row in rows) and not any(one.level == "error" for one in problems) else 1


def examine(folder: Path, *, live: bool, flags_in_app: bool) -> tuple[list[Row], list[Problem]]:
    """All that is known about a config: the proven rows, and the problems. `CliError`: NeMo cannot load the config."""
    from evidencerails.adapters.nemo_install import import_path_problem
    from evidencerails.adapters.nemo_source import Source, copied
    from evidencerails.cli.doctor_problems import problem, static_problems
    from evidencerails.cli.installation import load_config, make_plugin_visible
    from evidencerails.config import GuardConfig
    from evidencerails.errors import SettingsError

    line, half = make_plugin_visible(), import_path_problem()
    problems = [problem("plugin_not_found", line)] if line else []
    problems += [problem("half_a_plugin", half)] if half else []
    with copied(folder) as copy:
        source = Source.read(copy, load_config(copy))
        try:
            settings = GuardConfig.load(source.config.custom_data.get("evidencerails") or {})
        except SettingsError as error:
            return [], [*problems, problem("settings", error)]
        problems += static_problems(source, settings, flags_in_app=flags_in_app)
        rows, found = asyncio.run(_probe(source, settings, live=live))
    allowed = ", ".join(dict.fromkeys(row.flow for row in rows if row.fires and row.planted.effect == "passed"))
    if allowed:  # as configured, and yet worth saying
        found.append(problem("shadow" if settings.activation == "shadow" else "found_but_allowed", allowed))
    return rows, [*problems, *found]


async def _probe(source: Source, settings: GuardConfig, *, live: bool) -> tuple[list[Row], list[Problem]]:
    from evidencerails.cli import doctor_plants as plants
    from evidencerails.cli.doctor_probe import Prober
    from evidencerails.cli.doctor_problems import action_problems, problem
    from evidencerails.testing import ReplayServer

    try:
        with ReplayServer() as server:
            if live:
                prober = Prober(source, settings, None, (plants.LIVE_HALLUCINATION, plants.LIVE_CLEAN))
            else:
                plants.stand_in_for_models(source.config, server.base_url)
                prober = Prober(source, settings, plants.StandIn(server), (plants.HALLUCINATION, plants.CLEAN))
            problems = list(action_problems(source))
            rows = prober.rows_of_colang_2(server.base_url) if source.is_colang_2 else prober.rows(source.config)
            return await rows, problems
    except CliError:
        raise
    except Exception as error:  # boundary: NeMo, the plugin's own checks at the start, and the user's config.py
        return [], [problem("does_not_start", _causes(error))]


def _causes(error: BaseException) -> str:
    """NeMo wraps an error of `init` in one that names only the file, so the whole chain is shown."""
    parts: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(parts) < 5:
        parts.append(f"{type(seen).__name__}: {seen}")
        seen = seen.__cause__ or seen.__context__
    return " <- ".join(re.sub(r"\s+", " ", part) for part in parts)


def _print(rows: list[Row], problems: list[Problem]) -> None:
    from rich.text import Text

    table = plain_table("flow", "flag", "mode", "planted", "clean", "fires")
    for column in table.columns:
        column.no_wrap, column.overflow = False, "fold"
    for row in rows:
        verdict = Text("yes", style="green") if row.fires else Text("NO", style="bold red")
        table.add_row(*map(visible, (row.flow, row.flag, row.mode, row.planted.effect, row.clean.effect)), verdict)
    if rows:
        console().print(table)
    for row in rows:
        if row.why:
            say(f"{row.flow}, {row.mode}: {row.why}")
    for one in problems:
        say(f"{one.level} [{one.code}] {one.message}" + (f"; {one.remedy}" if one.remedy else ""))
