"""A batch job: rows in, one line out for each, in their order; what is done already is left alone."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from evidencerails.errors import EvidencerailsError, InputError, reason_of, traceback_summary
from evidencerails.exchange import Exchange, Labels
from evidencerails.operations.batch.output import Output, Result
from evidencerails.operations.batch.rows import Row
from evidencerails.settings.problems import nearest
from evidencerails.version import __version__

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.report import Report

log = logging.getLogger("evidencerails")

LABELS = ("flow", "agent", "model", "session")
FIELDS = ("response", "evidence", "prompt", "samples", "tool_calls", "tools", "schema", "logprobs", "stakes", *LABELS)
"""Fields that are read; `id` is copied, others are left alone."""


class Done(NamedTuple):
    rows: int = 0
    seconds: float = 0.0

    @property
    def rows_per_s(self) -> float:
        """Rows of this run by its seconds; 0 before the first."""
        return self.rows / self.seconds if self.seconds > 0 else 0.0


class RowChecker(Protocol):
    """What a job needs of a `Guard`."""

    config: GuardConfig

    async def check_exchange(self, exchange: Exchange) -> Report: ...


def renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The fields with columns of other names under ours; `names` leads from our name to theirs."""
    taken = set(names.values())
    kept = {name: value for name, value in fields.items() if name not in taken}
    return {**kept, **{ours: fields[theirs] for ours, theirs in names.items() if theirs in fields}}


def exchange_of(fields: Mapping[str, Any]) -> Exchange:
    if fields.get("response") is None and fields.get("tool_calls") is None:
        hint = nearest("response", tuple(fields)).removeprefix("; ")
        raise InputError("no field 'response'" + (f"; {hint} (--map response=NAME)" if hint else ""))
    given = {name: fields[name] for name in FIELDS if fields.get(name) is not None}
    labels = {name: str(given.pop(name)) for name in LABELS if name in given}
    if "schema" in given:
        given["response_schema"] = given.pop("schema")
    for name, value in given.items():
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise InputError(f"{name}: holds half a character (a lone surrogate)")
    return Exchange.of(given.pop("response", ""), **given, labels=Labels(**labels))


async def checked(guard: RowChecker, row: Row, names: Mapping[str, str]) -> Result:
    """What becomes of one row. A row that cannot be read is rejected with the reason; nothing else is."""
    fields = renamed(row.fields, names)
    report, reason = None, row.problem
    if not reason:
        try:
            report = plain(guard.config, await guard.check_exchange(exchange_of(fields)))
        except InputError as error:
            reason = str(error)
        except Exception as error:  # boundary to the engine: what one row brings about costs no other
            reason = reason_of(error)
            if not isinstance(error, EvidencerailsError):
                log.error("evidencerails: row %d failed: %s", row.number, traceback_summary(error))
    return Result(row.number, row.digest, fields.get("id"), report, reason)


def plain(config: GuardConfig, report: Report) -> dict[str, Any]:
    """The report as it is written: whoever runs the job has the evidence, so its words are in it unless hidden."""
    hides = "evidence" in config.expose.model_fields_set and not config.expose.evidence
    return report.plain(max_bytes=None, redaction=config.redaction, expose_evidence=not hides)


def fingerprint_of(config: GuardConfig, names: Mapping[str, str], source: str) -> dict[str, Any]:
    settings = config.model_dump_json(exclude={"service", "telemetry", "store"})
    return {
        "input": source,
        "settings": hashlib.sha256(settings.encode()).hexdigest()[:16],
        "columns": dict(names),
        "version": __version__,
    }


async def _results(
    rows: Iterator[Row], guard: RowChecker, names: Mapping[str, str], concurrency: int
) -> AsyncIterator[Result]:
    """A result for each row, in their order; `concurrency` of them are under way."""
    under_way: deque[asyncio.Task[Result]] = deque()
    try:
        while True:
            while len(under_way) < concurrency and (row := next(rows, None)) is not None:
                under_way.append(asyncio.create_task(checked(guard, row, names)))
            if not under_way:
                return
            yield await under_way[0]
            under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def run_job(
    rows: Iterable[Row],
    guard: RowChecker,
    output: Output,
    on_done: Callable[[Done], None],
    *,
    names: Mapping[str, str],
    concurrency: int,
) -> Done:
    """Check what is not done yet and write it; `on_done` is called for each row. `concurrency` rows are under way."""
    started, done = time.monotonic(), Done()

    def upcoming() -> Iterator[Row]:
        for row in rows:
            if row.number not in output.done:
                yield row
                continue
            if output.done[row.number] != row.digest:
                raise InputError(
                    f"row {row.number} of the input is another one than when the output was begun; give another "
                    "output, or --restart to begin anew"
                )

    async for result in _results(upcoming(), guard, names, concurrency):
        output.write(result)
        done = Done(done.rows + 1, time.monotonic() - started)
        on_done(done)
    return done._replace(seconds=time.monotonic() - started)
