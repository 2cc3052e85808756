"""A batch job: rows in, one line out for each, in their order; what is done already is left alone."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from evidencerails import __version__
from evidencerails.errors import EvidencerailsError, InputError, reason_of
from evidencerails.operations.batch.exchanges import exchange_of, renamed
from evidencerails.operations.batch.output import Output, Result
from evidencerails.operations.batch.rows import Row

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.guard import Guard

ANY_SIZE = 2**62
DEFAULT_CONCURRENCY = 16
"""Rows under way at once; the model merges their pairs, so more than fill a batch bring nothing."""


class Done(NamedTuple):
    """How far a job is."""

    rows: int
    """Rows written by this run."""
    skipped: int
    """Rows that an earlier run had written."""
    rejected: int
    """Of the rows of this run."""
    seconds: float

    @property
    def rows_per_s(self) -> float:
        """Rows of this run by its seconds; 0 before the first."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0


class Engine(Protocol):
    """Turns rows into results, in their order."""

    def results(self, rows: Iterable[Row]) -> AsyncIterator[Result]:
        """A result for each row."""
        ...


@dataclass
class LocalEngine:
    """Checks rows in this process."""

    guard: Guard
    concurrency: int = DEFAULT_CONCURRENCY
    names: Mapping[str, str] = field(default_factory=dict)

    async def results(self, rows: Iterable[Row]) -> AsyncIterator[Result]:
        """A result for each row, in their order; `concurrency` of them are under way."""
        under_way: deque[asyncio.Task[Result]] = deque()
        upcoming = iter(rows)
        try:
            while True:
                while len(under_way) < self.concurrency and (row := next(upcoming, None)) is not None:
                    under_way.append(asyncio.create_task(checked(self.guard, row, self.names)))
                if not under_way:
                    return
                yield await under_way[0]
                under_way.popleft()
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)


async def checked(guard: Guard, row: Row, names: Mapping[str, str]) -> Result:
    """What becomes of one row. A row that cannot be read is rejected with the reason; nothing else is."""
    fields = renamed(row.fields, names)
    identity = fields.get("id")
    if row.problem:
        return Result(row.number, row.digest, identity, None, row.problem)
    try:
        exchange = exchange_of(fields)
    except InputError as error:
        return Result(row.number, row.digest, identity, None, str(error))
    try:
        report = await guard.check_exchange(exchange)
    except EvidencerailsError as error:
        return Result(row.number, row.digest, identity, None, reason_of(error))
    return Result(row.number, row.digest, identity, plain(guard.config, report))


def plain(config: GuardConfig, report: Any) -> dict[str, Any]:
    """The report as it is written: whoever runs the job has the evidence, so its words are in it unless hidden."""
    hides = "evidence" in config.expose.model_fields_set and not config.expose.evidence
    data: dict[str, Any] = report.plain(max_bytes=ANY_SIZE, redaction=config.redaction, expose_evidence=not hides)
    return data


def fingerprint_of(config: GuardConfig, names: Mapping[str, str], source: str) -> dict[str, Any]:
    """What the lines of an output depend on."""
    settings = config.model_dump_json(exclude={"service", "telemetry", "store"})
    return {
        "input": source,
        "settings": hashlib.sha256(settings.encode()).hexdigest()[:16],
        "columns": dict(names),
        "version": __version__,
    }


async def run_job(
    rows: Iterable[Row], engine: Engine, output: Output, tell: Callable[[Done], None] = lambda done: None
) -> Done:
    """Check what is not done yet and write it; `tell` hears of each row.

    Raises:
        InputError: a row that is done was another one then.
    """
    started = time.monotonic()
    done = Done(0, 0, 0, 0.0)

    def upcoming() -> Iterator[Row]:
        nonlocal done
        for row in rows:
            if row.number not in output.done:
                yield row
                continue
            if output.done[row.number] != row.digest:
                raise InputError(
                    f"row {row.number} of the input is another one than when the output was begun; give another "
                    "output, or --restart to begin anew"
                )
            done = done._replace(skipped=done.skipped + 1)

    async for result in engine.results(upcoming()):
        output.write(result)
        done = Done(done.rows + 1, done.skipped, done.rejected + (result.report is None), time.monotonic() - started)
        tell(done)
    return done._replace(seconds=time.monotonic() - started)
