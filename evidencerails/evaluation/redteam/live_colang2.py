"""An app of Colang 2.x under attack: a program, so copies of it get flows that plant answers and watch its rails.

NeMo takes no ready answer and gives no log in Colang 2.x. In the copies `input rails` and `output rails` are the app's
own ones with an event before and after: an event that is missing after them means that they stopped the turn.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from evidencerails.adapters.nemo_rails import RAILS
from evidencerails.adapters.nemo_source import Source, called_in_output_rails, copied
from evidencerails.config import GuardConfig
from evidencerails.errors import InputError
from evidencerails.evaluation.redteam.live import AppTarget, Turn

FILE = "evidencerails_redteam.co"
ANSWER = "evidencerails_redteam_answer"
"""Variable of the context that carries the ready answer."""
_MAIN = re.compile(r"^flow main\b", re.MULTILINE)
_RAILS = re.compile(r"^flow (input|output) rails\b", re.MULTILINE)
_WRAPPED = """
flow {side} rails $text
  send RedTeam{event}Seen(text=$text)
{own}  send RedTeam{event}Passed()
"""
_PLANTED = f"""
flow main
  activate evidencerails redteam turns

flow evidencerails redteam turns
  global ${ANSWER}
  user said something
  bot say ${ANSWER}
"""
Start = Callable[[Path], Any]
"""From a config folder to its running `LLMRails`."""


class Colang2Target(AppTarget):
    """An app of Colang 2.x: one copy of it says the ready answers, one is asked.

    Args:
        folder: of the app.
        config: as NeMo loads it.
        settings: of the plugin in it.
        ask: put the questions to the app's model, too.
        start: starts the app of a folder.

    Raises:
        InputError: its rails stand in `config.yml`, where nothing can be put around them.
    """

    def __init__(self, folder: Path, config: Any, settings: GuardConfig, *, ask: bool, start: Start) -> None:
        source = Source.read(folder, config)
        self._copies = ExitStack()
        weakref.finalize(self, self._copies.close)
        if config.rails.input.flows or config.rails.output.flows:
            raise InputError(
                "the rails of this Colang 2.x app stand under `rails:` in its settings; write them as `flow input "
                "rails $input_text` and `flow output rails $output_text` in a .co file, as the plugin needs them"
            )
        sides = {side for text in source.colang.values() for side in _RAILS.findall(text)}
        called = called_in_output_rails(source)
        self._asked_app = start(self._copy(folder, config, sides, planted=False)) if ask else None
        super().__init__(start(self._copy(folder, config, sides, planted=True)), settings, ask=ask)
        self.checks = tuple(dict.fromkeys(RAILS[flow].check for flow in called if flow in RAILS))
        self._has_input_rails = "input" in sides

    def _copy(self, folder: Path, config: Any, sides: set[str], *, planted: bool) -> Path:
        """A copy that lives as long as the target, since an app may read its files at any time."""
        kept = self._copies.enter_context(copied(folder))
        for file, text in Source.read(kept, config).colang.items():
            changed = _RAILS.sub(r"flow own \1 rails of the app", text)
            file.write_text(_MAIN.sub("flow own main of the app", changed) if planted else changed, encoding="utf-8")
        parts = [_wrapped(side, side in sides) for side in (("output",) if planted else ("input", "output"))]
        (kept / FILE).write_text("\n".join([*parts, _PLANTED if planted else ""]), encoding="utf-8")
        return kept

    async def _ready(self, context: dict[str, Any], query: str, answer: str) -> Turn:
        return await _turn(self._app, {**context, ANSWER: answer}, query)

    async def _question(self, context: dict[str, Any], query: str, sources: tuple[str, ...]) -> Turn:
        return await _turn(self._asked_app, context, query)

    def _recorded_app(self, *, planted: bool) -> Any:
        return self._app if planted else self._asked_app


def _wrapped(side: str, exists: bool) -> str:
    event = {"input": "Question", "output": "Answer"}[side]
    return _WRAPPED.format(side=side, event=event, own=f"  await own {side} rails of the app $text\n" if exists else "")


async def _turn(app: Any, context: dict[str, Any], query: str) -> Turn:
    messages = [{"role": "context", "content": context}, {"role": "user", "content": query}]
    reply = await app.generate_async(messages=messages)
    seen = [str(event.get("type", "")) for event in reply.get("events") or ()]
    stopped = tuple(
        side
        for side, event in (("input", "Question"), ("output", "Answer"))
        if seen.count(f"RedTeam{event}Seen") > seen.count(f"RedTeam{event}Passed")
    )
    is_exception = any(name.endswith("RailException") for name in seen)
    role = "exception" if is_exception else "assistant"
    return Turn({"role": role, "content": str(reply.get("content") or "")}, stopped)
