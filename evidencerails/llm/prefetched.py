"""Samples that came together with the answer, kept until the turn ends."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from evidencerails.report import LlmUsage


class PrefetchedSamples(NamedTuple):
    """Raw completions, and what they cost beyond the answer's own request."""

    texts: tuple[str, ...] = ()
    usage: LlmUsage = LlmUsage()


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
