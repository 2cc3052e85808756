"""Further samples of a response: drawn once a turn, shared by all its checks and chunks."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import threading
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from evidencerails.errors import LlmError, redact_external_text
from evidencerails.exchange import Message, Sample
from evidencerails.llm.parsing import without_reasoning
from evidencerails.llm.session import LlmSession, Requests
from evidencerails.report import LlmUsage
from evidencerails.settings.claims import ConsistencySettings

log = logging.getLogger("evidencerails")

_REQUESTS: dict[str, Requests] = {"auto": "auto", "n": "one", "parallel": "many", "piggyback": "auto"}
_SPEAKER = re.compile(r"^\s*(?:bot message|bot|assistant)\s*:\s*", re.IGNORECASE)
_NEXT_TURN = re.compile(r"\n[ \t]*user[ \t]*[:\"]", re.IGNORECASE)


class PrefetchedSamples(NamedTuple):
    """Raw completions, and what they cost beyond the answer's own request."""

    texts: tuple[str, ...] = ()
    usage: LlmUsage = LlmUsage()


class Sampler:
    """Draws samples of one response, as many as are needed and no more.

    Args:
        session: the model that wrote the response; None if there is none.
        prompt: what that model was asked; empty if it is not known.
        settings: temperature, and how samples are asked for: `auto` (one request with `n` where the provider has it,
            else concurrent single ones), `n` (one request, whatever comes), `parallel` (single ones), `piggyback`
            (those that came with the answer, then as `auto`).
    """

    def __init__(self, session: LlmSession | None, prompt: tuple[Message, ...], settings: ConsistencySettings) -> None:
        self.session = session
        self._prompt = prompt
        self._settings = settings
        self._samples: list[Sample] = []
        self._asked_for = 0
        self._failure: LlmError | None = None
        self._drawing = asyncio.Lock()

    @property
    def unavailable(self) -> str | None:
        """Why no sample can be drawn: `no_model` or `no_prompt`; None if one can."""
        if self.session is None:
            return "no_model"
        return None if self._prompt else "no_prompt"

    async def draw(self, k: int) -> tuple[Sample, ...]:
        """All samples so far, after trying to have at least `k`.

        What was asked for once is not asked for again: fewer than `k` come back if a part failed.

        Raises:
            LlmError: none could be drawn.
        """
        async with self._drawing:  # a cancelled caller leaves nothing behind: the next one draws
            missing = k - self._asked_for
            if missing > 0 and self._failure is None:
                await self._draw_more(k)
            if not self._samples:
                raise self._failure or LlmError(f"no sample was drawn: {self.unavailable or 'none was asked for'}")
            return tuple(self._samples)

    async def _draw_more(self, k: int) -> None:
        if self._settings.sampling == "piggyback" and self._asked_for == 0:
            self._take_along(await samples_of_turn())
        missing = k - self._asked_for
        if missing <= 0 or self.session is None or not self._prompt:
            return
        try:
            reply = await self.session.complete(
                self._prompt,
                n=missing,
                temperature=self._settings.temperature,
                requests=_REQUESTS[self._settings.sampling],
            )
        except LlmError as error:
            log.warning("no further samples: %s", redact_external_text(str(error)))
            self._failure = error
            return
        self._asked_for += missing
        self._keep([completion.text for completion in reply.completions])
        if len(reply.completions) < missing:
            log.warning("%d of %d samples came", len(reply.completions), missing)

    def _take_along(self, left: PrefetchedSamples) -> None:
        self._keep(list(left.texts))
        self._asked_for += len(left.texts)
        if self.session is not None:
            self.session.note_spent(left.usage)
            self.session.note_saved(len(left.texts) - left.usage.calls)

    def _keep(self, texts: list[str]) -> None:
        cleaned = (clean_sample(text) for text in texts)
        self._samples += [Sample(text=text) for text in cleaned if text]


def clean_sample(text: str) -> str:
    """The answer in a raw completion: without reasoning, a speaker's name, outer quotes and an invented next turn.

    NeMo's dialog prompts ask for `Bot message: "..."` and show a conversation, which small models go on with.
    """
    text = _SPEAKER.sub("", without_reasoning(text))
    next_turn = _NEXT_TURN.search(text)
    text = (text[: next_turn.start()] if next_turn else text).strip()
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        text = text[1:-1]
    return text.strip()


# ---- samples that came together with the answer, kept until the turn ends

# NeMo makes a new `LLMStats` for every turn and keeps it in a context variable that all tasks of the turn see; the
# `ExplainInfo` would not do, for it lives on through the later turns of one task. With the stats the samples go.
_by_turn: WeakKeyDictionary[Any, asyncio.Future[PrefetchedSamples]] = WeakKeyDictionary()
_lock = threading.Lock()


def leave_samples(samples: asyncio.Future[PrefetchedSamples]) -> None:
    """Keep the samples, which may still be on their way, for the checks of this turn."""
    turn = _turn()
    if turn is not None:
        with _lock:
            _by_turn[turn] = samples


async def samples_of_turn() -> PrefetchedSamples:
    """The samples that came with this turn's answer; without texts if there are none."""
    turn = _turn()
    with _lock:
        samples = _by_turn.get(turn) if turn is not None else None
    if samples is None or samples.get_loop() is not asyncio.get_running_loop():
        return PrefetchedSamples()
    return await asyncio.shield(samples)  # one cancelled check must not take them from the others


def _turn() -> Any:
    context = sys.modules.get("nemoguardrails.context")  # outside NeMo there is no turn, and nothing to import
    return context.llm_stats_var.get() if context is not None else None
