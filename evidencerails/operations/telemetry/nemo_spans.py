"""Our spans as children of NeMo's: its OpenTelemetry adapter, which also emits what the guard did inside an action.

NeMo makes the spans of a turn after the turn, from its log. The traces of the turn's checks wait until then; each goes
below the span of the action whose time holds it. Turns differ by NeMo's own object for a turn, which a task
hands down to all it awaits. What NeMo never asks for (streams, `generate_events`) is emitted on its own.
"""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from functools import lru_cache
from typing import Any

from evidencerails.operations.telemetry.emit import emit, has_provider
from evidencerails.trace import Trace

MAX_WAITING_TURNS = 256
"""Turns whose traces wait; beyond that the oldest are emitted without NeMo's parent."""
CLOCK_SLACK_NS = 5_000_000
"""NeMo's times are floats of seconds, read a moment before and after ours."""


class TurnTraces:
    """Finished traces of one app, by the turn they belong to.

    NeMo makes its adapters after the plugin's `init`, so they are exchanged when the first trace comes.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._has_adapters: bool | None = None
        self._lock = threading.Lock()
        self._by_turn: OrderedDict[int, tuple[Any, list[tuple[Trace, Any]]]] = OrderedDict()

    def add(self, trace: Trace) -> None:
        """Keep a trace for the turn that is under way here; emit it at once where NeMo makes no spans."""
        from nemoguardrails.context import llm_stats_var

        if not has_provider():
            return
        if self._has_adapters is None:
            self._has_adapters = _extend_adapters(self._app, self)
        turn = llm_stats_var.get()
        if turn is None or not self._has_adapters:
            emit(trace)
            return
        from opentelemetry import context

        with self._lock:
            self._by_turn.setdefault(id(turn), (turn, []))[1].append((trace, context.get_current()))
            is_full = len(self._by_turn) > MAX_WAITING_TURNS
            late = self._by_turn.popitem(last=False)[1][1] if is_full else []
        for forgotten, parent in late:
            emit(forgotten, parent)

    def take(self) -> list[Trace]:
        """The traces of the turn that is under way here."""
        from nemoguardrails.context import llm_stats_var

        with self._lock:
            _, waiting = self._by_turn.pop(id(llm_stats_var.get()), (None, []))
        return [trace for trace, _ in waiting]


def _extend_adapters(app: Any, traces: TurnTraces) -> bool:
    """Exchange the app's OpenTelemetry adapters for ones that emit our spans, too. True if it has one."""
    adapters = list(getattr(app, "_log_adapters", None) or ())
    extended = [_adapter_class()(a.tracer, traces) if _is_nemos_own(a) else a for a in adapters]
    if extended != adapters:
        app._log_adapters = extended
        return True
    return False


def _is_nemos_own(adapter: Any) -> bool:
    kind = type(adapter)
    return (kind.__module__, kind.__name__) == ("nemoguardrails.tracing.adapters.opentelemetry", "OpenTelemetryAdapter")


@lru_cache(maxsize=1)
def _adapter_class() -> Any:
    from nemoguardrails.tracing.adapters.opentelemetry import OpenTelemetryAdapter

    class WithGuardSpans(OpenTelemetryAdapter):  # type: ignore[misc]
        """NeMo's adapter, and below each action the checks that ran in it. `waiting` are those of the turn whose spans
        are made: each turn has a copy of the adapter, since turns may end at the same time."""

        waiting: tuple[Trace, ...] = ()

        def __init__(self, tracer: Any, traces: TurnTraces) -> None:
            self.tracer, self._traces = tracer, traces

        def transform(self, interaction_log: Any) -> None:
            turn = copy.copy(self)
            turn.waiting = tuple(self._traces.take())
            OpenTelemetryAdapter.transform(turn, interaction_log)
            for trace in turn.waiting:  # of an action that NeMo did not log
                emit(trace)

        async def transform_async(self, interaction_log: Any) -> None:
            self.transform(interaction_log)

        def _create_span(self, span_data: Any, parent_context: Any, spans: dict[str, Any], base_time_ns: int) -> None:
            from opentelemetry import trace as api

            super()._create_span(span_data, parent_context, spans, base_time_ns)
            if getattr(span_data, "action_name", None):
                start_ns = base_time_ns + int(span_data.start_time * 1e9) - CLOCK_SLACK_NS
                end_ns = base_time_ns + int(span_data.end_time * 1e9) + CLOCK_SLACK_NS
                inside = [one for one in self.waiting if start_ns <= one.start_ns and one.end_ns <= end_ns]
                self.waiting = tuple(one for one in self.waiting if one not in inside)
                for one in inside:
                    emit(one, api.set_span_in_context(spans[span_data.span_id]))

    return WithGuardSpans
