"""One guard behind the service: single checks, batches and streams, bounded, and cancelled with their caller."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from evidencerails.errors import EvidencerailsError
from evidencerails.operations.batch.runner import plain
from evidencerails.operations.telemetry.logs import request_id
from evidencerails.service.bodies import BatchItem, refuse_half_characters
from evidencerails.service.problems import Problem, problem_body, problem_of

if TYPE_CHECKING:
    from starlette.requests import Request

    from evidencerails.exchange import Exchange
    from evidencerails.guard import Guard
    from evidencerails.operations.telemetry.prometheus import ServiceMetrics
    from evidencerails.report import CheckResult, Report

FIRST_GUESS_S = 0.5
"""Duration of a check before one was measured."""
MEMORY = 0.9
"""Weight of the past in the running mean of durations."""


class Gate:
    """Lets `running` checks work at once and `waiting` requests wait; refuses the rest at once. For one event loop."""

    def __init__(self, *, running: int, waiting: int) -> None:
        self._places = asyncio.Semaphore(running)
        self._max_running, self._max_admitted = running, running + waiting
        self._mean_s = FIRST_GUESS_S
        self.admitted = 0
        """Requests inside, waiting or at work."""
        self.running = 0
        """Checks at work."""

    @contextmanager
    def admission(self) -> Iterator[None]:
        """A place for one request, whatever number of checks it brings; 429 if all are taken."""
        if self.admitted >= self._max_admitted:
            left_s = self._mean_s * self.admitted / self._max_running
            wait = {"Retry-After": str(max(1, round(left_s + 0.5)))}
            raise Problem(429, "busy", f"{self.admitted} requests are under way", headers=wait)
        self.admitted += 1
        try:
            yield
        finally:
            self.admitted -= 1

    @asynccontextmanager
    async def work(self) -> AsyncIterator[None]:
        """A turn to check, as soon as one is free."""
        async with self._places:
            self.running += 1
            started = time.monotonic()
            try:
                yield
            finally:
                self.running -= 1
                self._mean_s = MEMORY * self._mean_s + (1 - MEMORY) * (time.monotonic() - started)


log = logging.getLogger("evidencerails.service")

T = TypeVar("T")
Events: TypeAlias = "asyncio.Queue[tuple[str, dict[str, Any]] | None]"

RETRY_LOAD_S = 15.0
"""Seconds between tries to load a model that could not be loaded: a volume may be mounted late."""
HEARTBEAT_S = 15.0
"""Seconds of silence after which a stream sends a comment, so that proxies keep it open."""
CLIENT_GONE = 499
"""What nginx logs for a caller who left; nobody receives it."""


class Checker:
    """Runs the checks of requests on one guard: `Problem` 429 says that too much is under way, 504 that a check took
    too long."""

    def __init__(self, guard: Guard, metrics: ServiceMetrics) -> None:
        self.guard, self._settings, self._metrics = guard, guard.config.service, metrics
        self.gate = Gate(running=self._settings.max_concurrency, waiting=self._settings.max_waiting)
        self.not_ready = "the model is being loaded"
        """Why no check can succeed yet; empty once the model is there."""

    async def load(self) -> None:
        """Load the model, trying again until it is there."""
        while self.not_ready:
            try:
                await self.guard.load()
                self.not_ready = ""
                log.info("model loaded")
            except EvidencerailsError as error:
                self.not_ready = f"{type(error).__name__}: {error}"
                log.error("not ready: %s", self.not_ready)
                await asyncio.sleep(RETRY_LOAD_S)

    async def one(self, exchange: Exchange) -> dict[str, Any]:
        with self.gate.admission():
            return await self._checked(exchange)

    async def batch(self, items: Sequence[Any]) -> dict[str, Any]:
        """The reports on several, in their order; an item that cannot be read has an error in place of its report."""
        most = self._settings.max_items
        if len(items) > most:
            raise Problem(422, "too_many_items", f"the batch has {len(items)} items; at most {most}")
        with self.gate.admission():
            results = await asyncio.gather(*(self._item(item, place) for place, item in enumerate(items, start=1)))
        statuses = [result["report"]["status"] if "report" in result else "failed" for result in results]
        return {"results": results, "summary": {status: statuses.count(status) for status in sorted(set(statuses))}}

    async def stream(self, exchange: Exchange) -> AsyncIterator[str]:
        """Server-sent events: `check` as each check ends, then `report`; `error` if there is none."""
        admission = self.gate.admission()
        admission.__enter__()
        events: Events = asyncio.Queue()
        task = asyncio.create_task(self._fill(events, exchange))
        # The place is given back when the work ends, not when a caller who reads slowly has read it.
        task.add_done_callback(lambda _: admission.__exit__(None, None, None))
        try:
            yield ": started\n\n"
            while (line := await _next_line(events)) is not None:
                yield line
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _fill(self, events: Events, exchange: Exchange) -> None:
        try:
            on_check = lambda result: events.put_nowait(("check", _plain_check(result)))  # noqa: E731
            events.put_nowait(("report", await self._checked(exchange, on_check)))
        except Exception as error:  # the headers are sent: the failure must be an event, or it would be lost
            problem = problem_of(error, "stream")
            events.put_nowait(("error", problem_body(problem.code, problem.message, request_id())))
        finally:
            events.put_nowait(None)

    async def _item(self, item: Any, place: int) -> dict[str, Any]:
        given = item.get("id") if isinstance(item, dict) else None
        given = given.encode("utf-8", "replace").decode() if isinstance(given, str) else given  # a half is sent as "?"
        identity = {"id": given if isinstance(given, (str, int)) else place}
        try:
            refuse_half_characters(item)
            return {**identity, "report": await self._checked(BatchItem.of(item).exchange(self._settings.max_items))}
        except Exception as error:  # the reports of the other items must not be lost with it
            problem = problem_of(error, f"item {place} of a batch")
            return {**identity, "error": {"code": problem.code, "message": problem.message}}

    async def _checked(self, exchange: Exchange, on_check: Any = None) -> dict[str, Any]:
        async def in_turn() -> Report:
            async with self.gate.work():
                return await self.guard.check_exchange(exchange, on_check=on_check)

        timeout_s = self._settings.check_timeout_s
        try:
            report = await asyncio.wait_for(in_turn(), timeout_s)
        except (asyncio.TimeoutError, TimeoutError):
            raise Problem(504, "timeout", f"the check took longer than {timeout_s:g} seconds") from None
        self._metrics.record(report)
        return plain(self.guard.config, report)


def _plain_check(result: CheckResult) -> dict[str, Any]:
    """A check that has ended, without texts: they stand in the report."""
    claims = [{"label": c.label, "score": c.score, "start": c.span.start, "end": c.span.end} for c in result.claims]
    return {
        **{name: getattr(result, name) for name in ("name", "status", "score")},
        "claims": claims,
        "finding_kinds": sorted({finding.kind for finding in result.findings}),
        "duration_ms": round(result.duration_ms, 1),
    }


async def _next_line(events: Events) -> str | None:
    try:
        event = await asyncio.wait_for(events.get(), HEARTBEAT_S)
    except (asyncio.TimeoutError, TimeoutError):
        return ": working\n\n"
    # JSON in ASCII has no line breaks: no text of the answer can begin an event of its own.
    return None if event is None else f"event: {event[0]}\ndata: {json.dumps(event[1])}\n\n"


async def unless_gone(request: Request, work: Awaitable[T]) -> T:
    """The result of `work`, which is cancelled when the caller goes away (499)."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Problem(CLIENT_GONE, "client_gone", "the caller went away")
    finally:
        for part in (task, gone):
            part.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
