"""`evidencerails demo`: a guarded conversation from start to end, offline."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from evidencerails.cli.common import CliError
from evidencerails.cli.terminal import console, say
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

DATA = Path(__file__).with_name("demo.yml")
CONFIGS = ("grounded_rag", "strict")


class Scene(NamedTuple):
    """One turn of the conversation."""

    title: str
    config: str
    question: str
    answer: str
    articles: tuple[str, ...]
    """Names of those that were retrieved."""
    evidence: str
    """Their texts."""


def scenes() -> list[Scene]:
    """The conversation: a part of `examples/support_bot`."""
    import yaml

    data = yaml.safe_load(DATA.read_text(encoding="utf-8"))
    return [
        Scene(
            **{name: turn[name] for name in ("title", "config", "question")},
            answer=turn["answer"].strip(),
            articles=tuple(turn["articles"]),
            evidence="\n".join(data["articles"][name] for name in turn["articles"]),
        )
        for turn in data["turns"]
    ]


def demo(
    as_json: bool = typer.Option(False, "--json", help="Print what happened as JSON."),
) -> int:
    """Watch a guarded conversation: a real NeMo Guardrails app, no key, no network, no download.

    evidencerails demo

    The model is a local stand-in that speaks the OpenAI protocol and says what the script has; NeMo Guardrails,
    the rail and the verdicts are the real ones.
    """
    from evidencerails.adapters.nemo_watch import quiet

    started = time.perf_counter()
    home = os.getcwd()
    with quiet(), tempfile.TemporaryDirectory(prefix="evidencerails-demo-") as empty:
        os.chdir(empty)  # NeMo loads ./actions of the current directory and looks there first for import paths
        try:
            turns = asyncio.run(_play())
        finally:
            os.chdir(home)
    if as_json:
        print(json.dumps([_plain(turn) for turn in turns], indent=2))
    else:
        out = console()
        for number, turn in enumerate(turns, start=1):
            _show(out, number, turn)
    say(f"{len(turns)} turns in {time.perf_counter() - started:.1f} s; next: evidencerails init ./your-config")
    return 0


class Played(NamedTuple):
    """A scene and what came of it."""

    scene: Scene
    shown: dict[str, Any]
    reports: list[Any]


def _plain(turn: Played) -> dict[str, Any]:
    return {
        "question": turn.scene.question,
        "articles": turn.scene.articles,
        "model": turn.scene.answer,
        "user_sees": turn.shown,
        "reports": [report.plain() for report in turn.reports],
    }


async def _play() -> list[Played]:
    from evidencerails.adapters.nemo_watch import recorded
    from evidencerails.cli.installation import make_plugin_visible
    from evidencerails.testing import ReplayServer

    make_plugin_visible()
    with ReplayServer() as server:
        apps = {name: _app(name, server.base_url) for name in CONFIGS}
        turns = []
        for scene in scenes():
            server.say(scene.answer)
            app = apps[scene.config]
            with recorded(app) as reports:
                shown = await app.generate_async(messages=_messages(scene))
            turns.append(Played(scene, shown, list(reports)))
    return turns


def _app(name: str, base_url: str) -> Any:
    """A guardrails app of a packaged config, with the stand-in for its model."""
    from nemoguardrails import LLMRails, RailsConfig

    from evidencerails.settings.paths import data_folder

    try:
        config = RailsConfig.from_path(str(Path(data_folder("configs")) / name))
    except (FileNotFoundError, ValueError) as error:
        raise CliError(f"cannot load the packaged config {name!r}: {error}; install evidencerails again") from None
    config.models[0].parameters = {"base_url": base_url, "api_key": "none"}
    return LLMRails(config)


def _messages(scene: Scene) -> list[dict[str, Any]]:
    context = [{"role": "context", "content": {"relevant_chunks": scene.evidence}}] if scene.evidence else []
    return [*context, {"role": "user", "content": scene.question}]


def _show(out: Console, number: int, turn: Played) -> None:
    from rich.rule import Rule
    from rich.text import Text

    from evidencerails.cli.render import print_report

    out.print(Rule(Text(f"{number}. {turn.scene.title}"), align="left"))
    _line(out, "user", turn.scene.question)
    _line(out, "sources", _listed(turn.scene))
    _line(out, "model", turn.scene.answer)
    for report in turn.reports:
        reason = f": {report.reason}" if report.status == "unverified" else ""
        _line(out, "rail", f"{report.status}, {report.decision}{reason}")
        print_report(report, turn.scene.answer, to=out, heading=False)
    content = turn.shown["content"]
    is_exception = turn.shown["role"] == "exception"
    _line(out, "user sees", f"exception {content['type']}: {content['message']}" if is_exception else str(content))
    out.print()


def _listed(scene: Scene) -> str:
    words = len(scene.evidence.split())
    return f"{', '.join(f'{name}.md' for name in scene.articles)} ({words} words)" if scene.articles else "(none)"


def _line(out: Console, who: str, text: str) -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=10)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"{who}:", style="bold"), Text(visible(text)))
    out.print(grid)
