"""`evidencerails doctor`: does each rail of a guardrails config really fire?

It plants a hallucination and a clean answer in a copy of the user's app, and sees what each rail makes of them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.text import Text

from evidencerails.adapters.nemo_install import import_path_problem
from evidencerails.adapters.nemo_rails import RAILS, TOOL_FLOW, flow_name
from evidencerails.adapters.nemo_source import Source, called_in_output_rails, copied, custom_callers
from evidencerails.adapters.nemo_watch import effect_on, quiet, recorded, started
from evidencerails.cli.common import CliError, console, plain_table, refuse_no_folder, say
from evidencerails.cli.doctor_plants import (
    CLEAN,
    HALLUCINATION,
    LIVE_CLEAN,
    LIVE_HALLUCINATION,
    SPECIAL_PLANTS,
    TOOL,
    Plant,
    StandIn,
    as_message,
    stand_in_for_documents,
    stand_in_for_models,
    stand_in_for_settings,
)
from evidencerails.cli.doctor_problems import Problem, action_problems, problem, static_problems
from evidencerails.cli.installation import load_config, make_plugin_visible
from evidencerails.config import GuardConfig
from evidencerails.errors import SettingsError
from evidencerails.report import DECISIONS, Report
from evidencerails.testing import ReplayServer
from evidencerails.text.visible import visible


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

    Loads a copy of the config, replaces its models with a local stand-in, plants a hallucination and a clean
    answer for each rail in each mode, and looks for what would keep a rail silent. Nothing of yours is changed.

    Exit code: 0 all fire, 1 one does not, 2 wrong usage.
    """
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
    try:
        with ReplayServer() as server:
            if live:
                prober = Prober(source, settings, None, (LIVE_HALLUCINATION, LIVE_CLEAN))
            else:
                stand_in_for_models(source.config, server.base_url)
                prober = Prober(source, settings, StandIn(server), (HALLUCINATION, CLEAN))
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


TURN_TIMEOUT_S = 60.0
LEFTOVER_TIMEOUT_S = 10.0
_EFFECTS = {"allow": "passed", "annotate": "warned", "warn": "warned", "block": "blocked", "raise": "raised"}
_NO_FLAG = "no context message, so no flag, in passthrough: set `activation: always`"
_COLANG_2_FILE = "evidencerails_doctor.co"
_OWN_ENTRY = re.compile(r"^flow (main|input rails|output rails)\b", re.MULTILINE)
_COLANG_2_MAIN = """
flow main
  activate evidencerails doctor turns

flow evidencerails doctor turns
  user said something as $said
  global ${variable}
{flags}
  ${variable} = {evidence}
  if "#1" in $said.transcript
    bot say {first}
  else
    bot say {second}

flow output rails $output_text
  {flow}
"""


class Seen(NamedTuple):
    """What one planted turn came to."""

    effect: str
    """`passed`, `blocked`, `warned`, `raised`, `failed` or `impossible`."""
    reports: tuple[Report, ...] = ()
    detail: str = ""


class Row(NamedTuple):
    flow: str
    flag: str
    mode: str
    planted: Seen
    clean: Seen
    why: str
    """Why the rail does not fire as configured; empty if it does."""

    @property
    def fires(self) -> bool:
        return not self.why


Messages = list[dict[str, Any]]
Run = Callable[[Any, Plant, Messages], Awaitable[Any]]
"""From the app, the plant and what the program sends before the question to what the user saw."""


class Mode(NamedTuple):
    """One way in which an app can be called."""

    name: str
    run: Run
    writes_answer: bool = True
    """True if the model writes the answer in this mode."""
    carries: tuple[str, ...] = ("variable", "relevant_chunks", "tool_messages", "system_context")
    """Places of evidence that the program can fill in this mode."""


class Prober:
    """Runs every rail of one config in every mode it has.

    Args:
        stand_in: for the models; None for the real ones.
        plants: a false and a true answer for the rails that have none of their own.
    """

    def __init__(self, source: Source, settings: GuardConfig, stand_in: StandIn | None, plants: tuple[Plant, Plant]):
        self.source, self.settings, self.stand_in, self.plants = source, settings, stand_in, plants

    async def rows(self, config: Any) -> list[Row]:
        """One row for each flow and mode of a Colang 1.0 config; `config` is the copy that may be changed."""
        rows = []
        # Input flows of the app that set one of our flags, which a passthrough app has to do that way.
        flags = "|".join(rail.flag for rail in RAILS.values())
        setters = {name for name, body in self.source.flows if re.search(rf"\$({flags})\s*=\s*True", body)}
        for flow in self.source.config.rails.output.flows:
            name = flow_name(flow)
            if name in RAILS or flow in custom_callers(self.source):
                own = config.model_copy(deep=True)
                stand_in_for_settings(own, name)
                stand_in_for_documents(own, self.plants[0])
                own.rails.output.flows, own.rails.retrieval.flows = [flow], []
                own.rails.input.flows = [flow for flow in own.rails.input.flows if flow in setters]
                app = started(own)
                rows += [await self._row(app, name, mode) for mode in _modes_of(own, live=self.stand_in is None)]
        for flow in config.rails.tool_output.flows:
            if flow_name(flow) == TOOL_FLOW:
                own = config.model_copy(deep=True)
                own.rails.tool_output.flows, own.rails.output.flows, own.rails.input.flows = [flow], [], []
                app = started(own)
                pair = [await _tool_call(app, name) for name in ("evidencerails_no_such_tool", TOOL["name"])]
                rows.append(self._judged(TOOL_FLOW, "tool call of a message", *pair))
        return rows

    async def rows_of_colang_2(self, base_url: str) -> list[Row]:
        """One row for each flow of a Colang 2.x config, in the one mode that it has."""
        rows = []
        for flow in called_in_output_rails(self.source):
            if flow in RAILS or flow in custom_callers(self.source):
                flags, plants = _flags_of(flow), SPECIAL_PLANTS.get(flow, self.plants)
                _write_colang_2_probe(self.source, flow, plants, flags, self._variable)
                own = load_config(self.source.folder)
                stand_in_for_settings(own, flow)
                stand_in_for_documents(own, plants[0])
                if self.stand_in is not None:
                    stand_in_for_models(own, base_url)
                app, modes = started(own), (_colang_2_mode(1), _colang_2_mode(2))
                pair = [await self._seen(app, mode, plant, flags) for mode, plant in zip(modes, plants, strict=True)]
                rows.append(self._judged(flow, "Colang 2.x", *pair))
        return rows

    async def _row(self, app: Any, flow: str, mode: Mode) -> Row:
        cannot_flag = self.settings.activation == "per_response" and not app.config.rails.input.flows and flow in RAILS
        if mode.name == "passthrough" and cannot_flag:
            seen = Seen("impossible", detail=_NO_FLAG)
            return self._judged(flow, mode.name, seen, seen)._replace(why=_NO_FLAG)
        plants = SPECIAL_PLANTS.get(flow, self.plants)
        pair = [await self._seen(app, mode, plant, _flags_of(flow)) for plant in plants]
        return self._judged(flow, mode.name, *pair)

    def _judged(self, flow: str, mode: str, planted: Seen, clean: Seen) -> Row:
        shown = f"${RAILS[flow].flag}" if flow in RAILS else "(none)" if flow == TOOL_FLOW else "(its own)"
        return Row(flow, shown, mode, planted, clean, _problem_with(planted, clean, self.settings))

    async def _seen(self, app: Any, mode: Mode, plant: Plant, flags: list[str]) -> Seen:
        intent, bot, sets_flag = self._dialog_turn(flags)
        if self.stand_in is not None:
            self.stand_in.plant(plant, writes_answer=mode.writes_answer, intent=intent, bot=bot)
        before = self._before(plant, mode, [] if sets_flag and mode.name.startswith("dialog") else flags)
        with recorded(app) as reports:
            try:
                shown = await asyncio.wait_for(mode.run(app, plant, before), TURN_TIMEOUT_S)
            except Exception as error:  # boundary to NeMo and to the user's own actions
                return Seen("failed", tuple(reports), f"{type(error).__name__}: {error}")
        return Seen(effect_on(plant.answer, shown), tuple(reports))

    @property
    def _variable(self) -> str:
        """The context variable that may hold evidence."""
        return self.settings.evidence.variable if "variable" in self.settings.evidence.places else "relevant_chunks"

    def _before(self, plant: Plant, mode: Mode, flags: list[str]) -> Messages:
        """What the program sends before the question: the flags, and evidence in the first place that it can fill."""
        place = next((one for one in self.settings.evidence.places if one in mode.carries), "relevant_chunks")
        message = as_message(plant, place)
        context = dict.fromkeys(flags, True) | ({} if message else {self._variable: plant.evidence})
        return [*([{"role": "context", "content": context}] if "variable" in mode.carries else []), *message]

    def _dialog_turn(self, flags: list[str]) -> tuple[str, str, bool]:
        """User intent and bot message of the dialog flow that sets one of the flags, and whether there is one."""
        for block in (b for text in self.source.colang.values() for b in re.split(r"^(?=define )", text, flags=re.M)):
            if block.startswith("define flow") and re.search(rf"\$({'|'.join(flags)})\s*=\s*True", block):
                user, bot = (re.search(rf"^\s+{who} (.+)$", block, re.MULTILINE) for who in ("user", "bot"))
                if user:
                    return user.group(1).strip(), bot.group(1).strip() if bot else "provide response", True
        return "ask something", "provide response", False


def _flags_of(flow: str) -> list[str]:
    """The flag of one of our rails; all flags for a flow of the user's, which may ask for any."""
    return [RAILS[flow].flag] if flow in RAILS else [rail.flag for rail in RAILS.values()]


def _problem_with(planted: Seen, clean: Seen, settings: GuardConfig) -> str:
    """Why the rail does not fire as configured; empty if it does."""
    for name, seen in (("the planted hallucination", planted), ("the clean answer", clean)):
        if seen.effect == "failed":
            return f"the turn with {name} failed: {seen.detail or 'NeMo answers with an internal error (see -v)'}"
        if not seen.reports:
            return f"the check did not run on {name}"
    # In a stream NeMo also checks the whole text, and what the user sees is what came of the chunks.
    found = [r for r in planted.reports if r.status == "hallucinated"]
    worst = max(found, key=lambda report: DECISIONS.index(report.decision), default=None)
    if worst is None:
        return f"the planted hallucination was {planted.reports[-1].status}: {planted.reports[-1].reason}"
    wanted = "passed" if settings.activation == "shadow" else _EFFECTS.get(worst.decision, "blocked")
    if planted.effect != wanted and not (wanted in ("blocked", "raised") and planted.effect in ("blocked", "raised")):
        return f"the planted hallucination was found (decision {worst.decision}) but {planted.effect}"
    bad = next((r for r in clean.reports if r.status != "grounded"), None)
    if bad is not None:
        return f"the clean answer was {bad.status}: {bad.reason}"
    return "" if clean.effect == "passed" else f"the clean answer was {clean.effect}"


def _modes_of(config: Any, *, live: bool) -> list[Mode]:
    """The modes that this config can be called in; with the real model only those with a planted answer."""
    ready = [Mode("ready answer (output rails only)", _ready_answer, writes_answer=False)]
    if not config.enable_rails_exceptions:  # NeMo's check_async fails on an exception message
        ready.append(Mode("check_async", _check_async, writes_answer=False))
    if live:
        return ready
    if config.passthrough:
        whole = Mode("passthrough", _whole_turn, carries=_WITHOUT_CONTEXT)
    elif config.user_messages:
        whole = Mode("dialog, single call" if config.rails.dialog.single_call.enabled else "dialog", _whole_turn)
    else:
        whole = Mode("general", _whole_turn)
    return [whole, *([Mode("stream_async", _stream)] if config.rails.output.streaming.enabled else []), *ready]


_WITHOUT_CONTEXT = ("tool_messages", "system_context")
"""A context message dies in passthrough mode ("Unknown role: context")."""


def _messages(plant: Plant, before: Messages, *, ready: bool = False) -> Messages:
    """What comes before the question, the question, and the answer where it is ready."""
    asked = [*before, {"role": "user", "content": plant.question}]
    return [*asked, {"role": "assistant", "content": plant.answer}] if ready else asked


async def _ready_answer(app: Any, plant: Plant, before: Messages) -> Any:
    result = await app.generate_async(messages=_messages(plant, before, ready=True), options={"rails": ["output"]})
    return result.response[-1] if isinstance(result.response, list) else result.response


async def _check_async(app: Any, plant: Plant, before: Messages) -> Any:
    from nemoguardrails.rails.llm.options import RailType

    messages = _messages(plant, before, ready=True)
    return (await app.check_async(messages=messages, rail_types=[RailType.OUTPUT])).content


async def _whole_turn(app: Any, plant: Plant, before: Messages) -> Any:
    return await app.generate_async(messages=_messages(plant, before))


async def _stream(app: Any, plant: Plant, before: Messages) -> Any:
    shown, others = "", asyncio.all_tasks()
    async for chunk in app.stream_async(messages=_messages(plant, before)):
        text = chunk if isinstance(chunk, str) else str(getattr(chunk, "text", chunk))
        if text.startswith('{"error"'):
            # NeMo goes on with the whole text of a blocked stream; a repair of it would use up the next plant.
            if leftover := asyncio.all_tasks() - others:
                await asyncio.wait(leftover, timeout=LEFTOVER_TIMEOUT_S)
            return {"role": "assistant", "content": shown, "blocked": json.loads(text)["error"].get("message", "")}
        shown += text
    return shown


async def _tool_call(app: Any, name: Any) -> Seen:
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": "{}"}}
    messages = [{"role": "user", "content": "Ping."}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    options = {"rails": ["tool_output"], "llm_params": {"tools": [{"type": "function", "function": TOOL}]}}
    with recorded(app) as reports:
        try:
            turn = app.generate_async(messages=messages, options=options)
            response = await asyncio.wait_for(turn, TURN_TIMEOUT_S)
        except Exception as error:  # boundary to NeMo and to the user's own actions
            return Seen("failed", tuple(reports), f"{type(error).__name__}: {error}")
    is_raised = any(message.get("role") == "exception" for message in response.response)
    return Seen("passed" if response.tool_calls else "raised" if is_raised else "blocked", tuple(reports))


def _write_colang_2_probe(
    source: Source, flow: str, plants: Sequence[Plant], flags: Sequence[str], variable: str
) -> None:
    """In Colang 2.x an app is a program: in the copy another `main` plants the answers in the place of its own."""
    for file, text in source.colang.items():
        if file.name != _COLANG_2_FILE:
            file.write_text(_OWN_ENTRY.sub(r"flow own \1 of the app", text), encoding="utf-8")
    text = _COLANG_2_MAIN.format(
        flags="\n".join(f"  global ${flag}\n  ${flag} = True" for flag in flags),
        variable=variable,
        evidence=json.dumps(plants[0].evidence),
        first=json.dumps(plants[0].answer),
        second=json.dumps(plants[1].answer),
        flow=flow,
    )
    (source.folder / _COLANG_2_FILE).write_text(text, encoding="utf-8")


def _colang_2_mode(number: int) -> Mode:
    """The one way of Colang 2.x, for the planted turn of this number; a rail exception comes as an event."""

    async def run(app: Any, plant: Plant, before: Messages) -> Any:
        question = {"role": "user", "content": f"{plant.question} #{number}"}
        reply = await app.generate_async(messages=[*before, question])
        for event in reply.get("events") or ():
            if str(event.get("type", "")).endswith("RailException"):
                return {"role": "exception", "content": event}
        return dict(reply)

    return Mode("colang 2.x", run, writes_answer=False, carries=("system_context",))
