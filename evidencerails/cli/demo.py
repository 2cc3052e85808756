"""`evidencerails demo`: a guarded conversation from start to end, offline."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from evidencerails.cli.errors import CliError
from evidencerails.cli.terminal import console, say
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

SOURCE = (
    "Items can be returned within 30 days of delivery. Refunds are paid to the original payment method within 5 "
    "business days. Return shipping is free in Germany and France."
)
CONFIGS = ("grounded_rag", "strict")


class Scene(NamedTuple):
    """One turn of the conversation."""

    title: str
    config: str
    question: str
    answer: str
    evidence: str = SOURCE


SCENES = (
    Scene(
        "An answer that its source supports",
        "grounded_rag",
        "How long do I have to return an item?",
        "You can return items within 30 days of delivery.",
    ),
    Scene(
        "An answer that contradicts its source",
        "grounded_rag",
        "How fast is the refund?",
        "Refunds are paid to the original payment method within 20 business days.",
    ),
    Scene(
        "An answer that says more than its source",
        "grounded_rag",
        "Who pays for return shipping?",
        "Return shipping is free in Germany and France. Every customer also receives a voucher of 10 euros.",
    ),
    Scene(
        "A strict app, which raises an exception for its caller to handle",
        "strict",
        "Can I still return what was delivered ten weeks ago?",
        "Yes, items can be returned within 90 days of delivery.",
    ),
    Scene(
        "An answer without any source: nobody can tell, and it says so",
        "grounded_rag",
        "Do you have a shop in Oslo?",
        "Our shop in Oslo opened in 2019.",
        evidence="",
    ),
)


def demo(
    as_json: bool = typer.Option(False, "--json", help="Print what happened as JSON."),
) -> int:
    """Watch a guarded conversation: a real NeMo Guardrails app, no key, no network, no download.

    evidencerails demo

    The model is a local stand-in that speaks the OpenAI protocol and says what the script tells it; NeMo Guardrails,
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
        import json

        print(json.dumps([turn.plain() for turn in turns], indent=2))
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

    def plain(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "question": self.scene.question,
            "model": self.scene.answer,
            "user_sees": self.shown,
            "reports": [report.plain() for report in self.reports],
        }


async def _play() -> list[Played]:
    from evidencerails.adapters.nemo_watch import recorded
    from evidencerails.cli.installation import make_plugin_visible
    from evidencerails.testing import ReplayServer

    make_plugin_visible()
    with ReplayServer() as server:
        apps = {name: _app(name, server.base_url) for name in CONFIGS}
        turns = []
        for scene in SCENES:
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
    _line(out, "source", turn.scene.evidence or "(none)")
    _line(out, "model", turn.scene.answer)
    for report in turn.reports:
        _line(out, "rail", f"{report.status}, {report.decision}" + _reason(report))
        print_report(report, turn.scene.answer, to=out, heading=False)
    _line(out, "user sees", _seen(turn.shown))
    out.print()


def _reason(report: Any) -> str:
    return f": {report.reason}" if report.status == "unverified" else ""


def _seen(shown: dict[str, Any]) -> str:
    content = shown["content"]
    if shown["role"] != "exception":
        return str(content)
    return f"exception {content['type']}: {content['message']}"


def _line(out: Console, who: str, text: str) -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=10)
    grid.add_column(overflow="fold")
    grid.add_row(Text(f"{who}:", style="bold"), Text(visible(text)))
    out.print(grid)
