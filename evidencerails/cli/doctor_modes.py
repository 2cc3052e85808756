"""The ways in which an app can be called: each is asked for a planted turn."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from evidencerails.cli.doctor_colang2 import ask
from evidencerails.cli.doctor_standin import Plant


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


def colang_2_mode(number: int) -> Mode:
    """The one way of Colang 2.x, for the planted turn of this number."""

    async def run(app: Any, turn: Turn) -> Any:
        return await ask(app, turn.plant, number)

    return Mode("colang 2.x", run, False)


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
