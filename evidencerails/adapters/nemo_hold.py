"""Keeps `process_events_async` free of turns that wait for a person: NeMo runs it under one lock a process."""

from __future__ import annotations

from typing import Any

from evidencerails.mitigation.escalate import no_turn_is_held


def hold_no_events(app: Any) -> None:
    """Let blocking reviews inside `app.process_events_async` go to the synchronous tier.

    The semaphore is the module's, not the app's: one held turn would stop every app of the process.
    """
    original = app.process_events_async

    async def without_holding(*args: Any, **options: Any) -> Any:
        with no_turn_is_held():
            return await original(*args, **options)

    app.process_events_async = without_holding
