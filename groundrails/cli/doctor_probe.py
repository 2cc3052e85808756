"""Plants a hallucination and a clean answer in a copy of the user's app, and sees what each rail makes of them."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from groundrails.cli.catalog import RAILS
from groundrails.cli.doctor_standin import Plant, StandIn
from groundrails.cli.doctor_static import Source, custom_callers, flows_in
from groundrails.cli.recording import recorded
from groundrails.config import GuardConfig
from groundrails.report import Report

NOT_COPIED = shutil.ignore_patterns(".git", "__pycache__", ".venv", "venv", "node_modules", ".groundrails-init.json")
TURN_TIMEOUT_S = 60.0
INTERNAL_ERROR = "an internal error has occurred"
"""NeMo answers so when anything in a turn raised."""


class Seen(NamedTuple):
    """What one planted turn came to."""

    effect: str
    """`passed`, `blocked`, `warned`, `raised`, `failed` or `impossible`."""
    reports: tuple[Report, ...] = ()
    detail: str = ""


class Row(NamedTuple):
    """One rail in one mode."""

    flow: str
    flag: str
    mode: str
    planted: Seen
    clean: Seen
    fires: bool
    why: str


class Turn(NamedTuple):
    """What a mode is asked to carry."""

    plant: Plant
    context: dict[str, Any]

    @property
    def user(self) -> dict[str, str]:
        """The user's message."""
        return {"role": "user", "content": self.plant.question}

    @property
    def ready(self) -> list[dict[str, Any]]:
        """Context, question and a ready answer."""
        return [*self.asked, {"role": "assistant", "content": self.plant.answer}]

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Context and question."""
        return [{"role": "context", "content": self.context}, self.user]


class Mode(NamedTuple):
    """One way in which an app can be called; `run` gives what the user saw."""

    name: str
    run: Callable[[Any, Turn], Awaitable[Any]]
    writes_answer: bool
    """True if the model writes the answer in this mode."""


async def _ready_answer(app: Any, turn: Turn) -> Any:
    result = await app.generate_async(messages=turn.ready, options={"rails": ["output"]})
    return (
        result.response[-1] if isinstance(result.response, list) else {"role": "assistant", "content": result.response}
    )


async def _check_async(app: Any, turn: Turn) -> Any:
    from nemoguardrails.rails.llm.options import RailType

    result = await app.check_async(messages=turn.ready, rail_types=[RailType.OUTPUT])
    return {"role": "assistant", "content": result.content}


async def _whole_turn(app: Any, turn: Turn) -> Any:
    return await app.generate_async(messages=turn.asked)


async def _passthrough(app: Any, turn: Turn) -> Any:
    # A context message dies in passthrough mode ("Unknown role: context"), so the source travels in a system message.
    system = {"role": "system", "content": f"Answer from this.\n\nContext:\n{turn.plant.evidence}"}
    return await app.generate_async(messages=[system, turn.user])


async def _stream(app: Any, turn: Turn) -> Any:
    shown = ""
    async for chunk in app.stream_async(messages=turn.asked):
        text = chunk if isinstance(chunk, str) else str(getattr(chunk, "text", chunk))
        if text.startswith('{"error"'):
            return {"role": "assistant", "content": shown, "blocked": json.loads(text)["error"].get("message", "")}
        shown += text
    return {"role": "assistant", "content": shown}


def _colang_2(number: int) -> Callable[[Any, Turn], Awaitable[Any]]:
    from groundrails.cli.doctor_colang2 import ask

    async def run(app: Any, turn: Turn) -> Any:
        return await ask(app, turn.plant, number)

    return run


def modes_of(config: Any, *, live: bool) -> list[Mode]:
    """The modes that this config can be called in; with the real model only those with a planted answer."""
    ready = [Mode("ready answer (output rails only)", _ready_answer, False)]
    if not config.enable_rails_exceptions:  # NeMo's check_async fails on an exception message
        ready.append(Mode("check_async", _check_async, False))
    if live:
        return ready
    if config.passthrough:
        whole = Mode("passthrough", _passthrough, True)
    elif config.user_messages:
        single = config.rails.dialog.single_call.enabled
        whole = Mode("dialog, single call" if single else "dialog", _whole_turn, True)
    else:
        whole = Mode("general", _whole_turn, True)
    streams = [Mode("stream_async", _stream, True)] if config.rails.output.streaming.enabled else []
    return [whole, *streams, *ready]


@contextmanager
def copied(folder: Path) -> Iterator[Path]:
    """A copy of the config folder that the probes may change."""
    place = Path(tempfile.mkdtemp(prefix="groundrails-doctor-"))
    try:
        yield Path(shutil.copytree(folder, place / "config", ignore=NOT_COPIED, symlinks=False))
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def started(config: Any) -> Iterator[Any]:
    """The app of a config.

    Raises:
        Exception: whatever NeMo, the plugin or the user's own code raises at the start.
    """
    from nemoguardrails import LLMRails

    yield LLMRails(config)  # in this thread: in another one NeMo makes an event loop that nobody closes


class Prober:
    """Runs every rail of one config in every mode it has."""

    def __init__(self, source: Source, settings: GuardConfig, stand_in: StandIn | None, plants: tuple[Plant, Plant]):
        self.source = source
        self.settings = settings
        self.stand_in = stand_in
        self.plants = plants

    async def rows(self, config: Any) -> list[Row]:
        """One row for each flow and mode of a Colang 1.0 config; `config` is the copy that may be changed."""
        from groundrails.cli.doctor_form import STRUCTURE_FLOW, with_own_schema
        from groundrails.cli.doctor_tools import KNOWLEDGE_FLOW, tool_rows, with_own_knowledge

        rows = []
        for flow in flows_to_probe(self.source):
            own = config.model_copy(deep=True)
            if flow.split("$")[0].strip() == KNOWLEDGE_FLOW:
                with_own_knowledge(own)
            if flow.split("$")[0].strip() == STRUCTURE_FLOW:
                with_own_schema(own)
            own.rails.output.flows = [flow]
            own.rails.input.flows = [flow for flow in own.rails.input.flows if flow in self.flag_setters]
            own.rails.retrieval.flows = []
            with started(own) as app:
                rows += [await self.row(app, flow, mode) for mode in modes_of(own, live=self.stand_in is None)]
        return [*rows, *await tool_rows(config, self.settings)]

    async def rows_of_colang_2(self, base_url: str) -> list[Row]:
        """One row for each flow of a Colang 2.x config, in the one mode that it has."""
        from groundrails.cli import doctor_colang2
        from groundrails.cli.doctor_form import STRUCTURE_FLOW, with_own_schema
        from groundrails.cli.doctor_standin import stand_in_for_models
        from groundrails.cli.installation import load_config

        rows = []
        for flow in doctor_colang2.flows_to_probe(self.source):
            flags = flags_of(flow)
            plants = self._plants_of(flow)
            doctor_colang2.write_probe(self.source, flow, plants, flags)
            own = load_config(self.source.folder)
            if flow == STRUCTURE_FLOW:
                with_own_schema(own)
            if self.stand_in is not None:
                stand_in_for_models(own, base_url)
            with started(own) as app:
                planted, clean = [
                    await self._seen(app, Mode("colang 2.x", _colang_2(number), False), plant, flags)
                    for number, plant in enumerate(plants, start=1)
                ]
            why = problem_with(planted, clean, self.settings)
            rows.append(Row(flow, _shown(flags, flow), "Colang 2.x", planted, clean, not why, why))
        return rows

    @property
    def flag_setters(self) -> set[str]:
        """Input flows of the app that set one of our flags, which a passthrough app has to do that way."""
        flags = "|".join(rail.flag for rail in RAILS.values())
        flows = (flow for text in self.source.colang.values() for flow in flows_in(text))
        return {name for name, body in flows if re.search(rf"\$({flags})\s*=\s*True", body)}

    async def row(self, app: Any, flow: str, mode: Mode) -> Row:
        """Plant both answers in one mode."""
        name = flow.split("$")[0].strip()
        flags = flags_of(name)
        cannot_flag = self.settings.activation == "per_response" and not app.config.rails.input.flows and name in RAILS
        if mode.name == "passthrough" and cannot_flag:
            seen = Seen("impossible", detail="no context message, so no flag, in passthrough: set `activation: always`")
            return Row(name, _shown(flags, name), mode.name, seen, seen, False, seen.detail)
        planted, clean = [await self._seen(app, mode, plant, flags) for plant in self._plants_of(name)]
        why = problem_with(planted, clean, self.settings)
        return Row(name, _shown(flags, name), mode.name, planted, clean, not why, why)

    def _plants_of(self, flow: str) -> tuple[Plant, Plant]:
        from groundrails.cli.doctor_form import FORM_PLANTS
        from groundrails.cli.doctor_tools import KNOWLEDGE_FLOW, KNOWLEDGE_PLANTS

        return KNOWLEDGE_PLANTS if flow == KNOWLEDGE_FLOW else FORM_PLANTS.get(flow, self.plants)

    async def _seen(self, app: Any, mode: Mode, plant: Plant, flags: list[str]) -> Seen:
        intent, bot, sets_flag = self._dialog_turn(flags)
        if self.stand_in is not None:
            self.stand_in.plant(plant, writes_answer=mode.writes_answer, intent=intent, bot=bot)
        context: dict[str, Any] = {self._evidence_variable: plant.evidence}
        if not (sets_flag and mode.name.startswith("dialog")):
            context |= dict.fromkeys(flags, True)
        with recorded(app) as reports:
            try:
                shown = await asyncio.wait_for(mode.run(app, Turn(plant, context)), TURN_TIMEOUT_S)
            except Exception as error:  # boundary to NeMo and to the user's own actions
                return Seen("failed", tuple(reports), f"{type(error).__name__}: {error}")
        return Seen(effect_on(plant.answer, shown), tuple(reports))

    @property
    def _evidence_variable(self) -> str:
        places = self.settings.evidence.places
        return self.settings.evidence.variable if "variable" in places else "relevant_chunks"

    def _dialog_turn(self, flags: list[str]) -> tuple[str, str, bool]:
        """User intent and bot message of the dialog flow that sets one of the flags, and whether there is one."""
        for text in self.source.colang.values():
            for block in re.split(r"^(?=define )", text, flags=re.MULTILINE):
                if block.startswith("define flow") and re.search(rf"\$({'|'.join(flags)})\s*=\s*True", block):
                    user = re.search(r"^\s+user (.+)$", block, re.MULTILINE)
                    bot = re.search(r"^\s+bot (.+)$", block, re.MULTILINE)
                    if user:
                        return user.group(1).strip(), bot.group(1).strip() if bot else "provide response", True
        return "ask something", "provide response", False


def flags_of(name: str) -> list[str]:
    """The flag of one of our rails; all flags for a flow of the user's, which may ask for any."""
    return [RAILS[name].flag] if name in RAILS else [rail.flag for rail in RAILS.values()]


def _shown(flags: list[str], name: str) -> str:
    return f"${flags[0]}" if name in RAILS else "(its own)"


def effect_on(answer: str, shown: Any) -> str:
    """What became of the answer on its way to the user."""
    message = shown if isinstance(shown, dict) else {"role": "assistant", "content": str(shown)}
    if message.get("role") == "exception":
        return "raised"
    text = str(message.get("content") or "").strip()
    if INTERNAL_ERROR in text:
        return "failed"
    if "blocked" in message or answer not in text:
        return "blocked" if message.get("blocked", "Blocked").startswith("Blocked") else "failed"
    return "passed" if text == answer else "warned"


_EFFECTS = {"allow": "passed", "annotate": "warned", "warn": "warned", "block": "blocked", "raise": "raised"}


def problem_with(planted: Seen, clean: Seen, settings: GuardConfig) -> str:
    """Why the rail does not fire as configured; empty if it does."""
    for name, seen in (("the planted hallucination", planted), ("the clean answer", clean)):
        if seen.effect == "failed":
            return f"the turn with {name} failed: {seen.detail or 'NeMo answers with an internal error (see -v)'}"
        if not seen.reports:
            return f"the check did not run on {name}"
    worst = next((r for r in planted.reports if r.status == "hallucinated"), None)
    if worst is None:
        return f"the planted hallucination was {planted.reports[-1].status}: {planted.reports[-1].reason}"
    wanted = "passed" if settings.activation == "shadow" else _EFFECTS.get(worst.decision, "blocked")
    if planted.effect != wanted and not (wanted in ("blocked", "raised") and planted.effect in ("blocked", "raised")):
        return f"the planted hallucination was found (decision {worst.decision}) but {planted.effect}"
    bad = next((r for r in clean.reports if r.status != "grounded"), None)
    if bad is not None:
        return f"the clean answer was {bad.status}: {bad.reason}"
    return "" if clean.effect == "passed" else f"the clean answer was {clean.effect}"


def flows_to_probe(source: Source) -> list[str]:
    """The output flows that are ours or call our actions, as the config writes them."""
    own = set(custom_callers(source))
    return [flow for flow in source.config.rails.output.flows if flow.split("$")[0].strip() in RAILS or flow in own]
