"""`evidencerails demo`: a guarded conversation from start to end, offline."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import typer
import yaml
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from evidencerails.adapters.nemo_watch import quiet, recorded
from evidencerails.cli.common import CliError, console, say
from evidencerails.cli.installation import make_plugin_visible
from evidencerails.cli.render import print_report
from evidencerails.report import Report
from evidencerails.settings.paths import data_folder
from evidencerails.testing import ReplayServer
from evidencerails.text.visible import visible

DATA = Path(__file__).with_name("demo.yml")
CONFIGS = ("grounded_rag", "strict")


class Played(NamedTuple):
    """A turn of the conversation and what came of it."""

    turn: dict[str, Any]
    """As `demo.yml` has it: `title`, `config`, `question`, `answer`, and the names of the `articles` retrieved."""
    evidence: str
    """Their texts."""
    shown: dict[str, Any]
    reports: list[Report]


def demo(as_json: bool = typer.Option(False, "--json", help="Print what happened as JSON.")) -> int:
    """Watch a guarded conversation: a real NeMo Guardrails app, no key, no network, no download.

    evidencerails demo

    The model is a local stand-in that speaks the OpenAI protocol and says what the script has; NeMo Guardrails,
    the rail and the verdicts are the real ones.
    """
    started, home = time.perf_counter(), os.getcwd()
    with quiet(), tempfile.TemporaryDirectory(prefix="evidencerails-demo-") as empty:
        os.chdir(empty)  # NeMo loads ./actions of the current directory and looks there first for import paths
        try:
            played = asyncio.run(_play())
        finally:
            os.chdir(home)
    if as_json:
        plain = [
            {"question": one.turn["question"], "articles": one.turn["articles"], "model": one.turn["answer"],
             "user_sees": one.shown, "reports": [report.plain() for report in one.reports]} for one in played
        ]  # fmt: skip
        print(json.dumps(plain, indent=2))
    else:
        out = console()
        for number, one in enumerate(played, start=1):
            _show(out, number, one)
    say(f"{len(played)} turns in {time.perf_counter() - started:.1f} s; next: evidencerails init ./your-config")
    return 0


async def _play() -> list[Played]:
    make_plugin_visible()
    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    with ReplayServer() as server:
        apps = {name: _app(name, server.base_url) for name in CONFIGS}
        played = []
        for turn in data["turns"]:
            turn["answer"] = turn["answer"].strip()
            evidence = "\n".join(data["articles"][name] for name in turn["articles"])
            context = [{"role": "context", "content": {"relevant_chunks": evidence}}] if evidence else []
            server.say(turn["answer"])
            app = apps[turn["config"]]
            with recorded(app) as reports:
                question = {"role": "user", "content": turn["question"]}
                shown = await app.generate_async(messages=[*context, question])
            played.append(Played(turn, evidence, shown, list(reports)))
    return played


def _app(name: str, base_url: str) -> Any:
    """A guardrails app of a packaged config, with the stand-in for its model."""
    from nemoguardrails import LLMRails, RailsConfig

    try:
        config = RailsConfig.from_path(str(Path(data_folder("configs")) / name))
    except (FileNotFoundError, ValueError) as error:
        raise CliError(f"cannot load the packaged config {name!r}: {error}; install evidencerails again") from None
    config.models[0].parameters = {"base_url": base_url, "api_key": "none"}
    return LLMRails(config)


def _show(out: Console, number: int, played: Played) -> None:
    turn, content = played.turn, played.shown["content"]
    articles = ", ".join(f"{name}.md" for name in turn["articles"])
    out.print(Rule(Text(f"{number}. {turn['title']}"), align="left"))
    _line(out, "user", turn["question"])
    _line(out, "sources", f"{articles} ({len(played.evidence.split())} words)" if articles else "(none)")
    _line(out, "model", turn["answer"])
    for report in played.reports:
        reason = f": {report.reason}" if report.status == "unverified" else ""
        _line(out, "rail", f"{report.status}, {report.decision}{reason}")
        print_report(report, turn["answer"], to=out, heading=False)
    is_exception = played.shown["role"] == "exception"
    _line(out, "user sees", f"exception {content['type']}: {content['message']}" if is_exception else str(content))
    out.print()


def _line(out: Console, who: str, text: str) -> None:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=10)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"{who}:", style="bold"), Text(visible(text)))
    out.print(grid)
