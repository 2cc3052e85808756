"""The same job on Ray Data: each actor loads the model once; the driver reads the rows and writes the results.

Rows travel as JSON text, so that Arrow need not guess types that differ from row to row. A worker that dies takes its
blocks with it; Ray starts another and runs them again, which is safe, since a check changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from evidencerails.errors import ClusterError, EvidencerailsError, MissingExtraError
from evidencerails.operations.batch.output import Result
from evidencerails.operations.batch.rows import Row
from evidencerails.operations.batch.runner import DEFAULT_CONCURRENCY, LocalEngine, RowChecker
from evidencerails.settings.environment import set_unless_given

WAVE_ROWS = 50_000
"""Rows given to Ray at once: the driver holds them in memory, and each wave starts its actors anew."""
BLOCK_ROWS = 64
"""Rows of one call of an actor; what a dying worker has to do again."""
STARTS = 3
"""Of a cluster of our own: Ray gives a machine thirty seconds to start one, and a busy machine may need more."""
MAX_REASON = 300
"""Characters of an error of Ray's that are shown."""
GuardMaker = Callable[[Mapping[str, Any]], RowChecker]


class Checker:
    """One actor: a guard of its own, made once."""

    def __init__(self, make: GuardMaker, settings: str, names: Mapping[str, str], concurrency: int) -> None:
        self._engine = LocalEngine(make(json.loads(settings)), concurrency, names)

    def __call__(self, block: dict[str, Any]) -> dict[str, Any]:
        """Results of a block of rows, both as JSON text."""
        return {"result": asyncio.run(self._results(Row(**json.loads(str(text))) for text in block["row"]))}

    async def _results(self, rows: Iterable[Row]) -> list[str]:
        return [json.dumps(result, default=str) async for result in self._engine.results(rows)]


@dataclass
class RayEngine:
    """Checks rows on a Ray cluster: the one at `address`, else one on this machine."""

    make_guard: GuardMaker
    settings: Mapping[str, Any]
    workers: int = 2
    concurrency: int = DEFAULT_CONCURRENCY
    names: Mapping[str, str] = field(default_factory=dict)
    address: str | None = None

    def __post_init__(self) -> None:
        try:
            import ray.data  # noqa: F401
        except ImportError:
            raise MissingExtraError("--engine ray", "ray", "ray") from None

    async def results(self, rows: Iterable[Row]) -> AsyncIterator[Result]:
        """A result for each row, in their order."""
        with _errors_as_ours("Ray could not be started"):
            self._start()
        upcoming = iter(rows)
        while wave := list(islice(upcoming, WAVE_ROWS)):
            results = self._wave(wave)
            while True:
                with _errors_as_ours("Ray could not go on"):
                    text = await asyncio.to_thread(next, results, None)
                if text is None:
                    break
                yield Result(*json.loads(text))

    def _start(self) -> None:
        import ray
        from tenacity import Retrying, stop_after_attempt

        if ray.is_initialized():
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address:
            ray.init(address=self.address, **quiet)
            return
        set_unless_given("RAY_USAGE_STATS_ENABLED", "0")  # else the cluster reports its use to Ray's makers
        # Whoever may talk to a cluster can run code on it: since 2.59 Ray gives its local clusters a token by itself.
        for attempt in Retrying(stop=stop_after_attempt(STARTS), after=lambda _: ray.shutdown(), reraise=True):
            with attempt:
                ray.init(address="local", num_cpus=self.workers, include_dashboard=False, **quiet)

    def _wave(self, rows: list[Row]) -> Iterator[str]:
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.ERROR)
        ray.data.DataContext.get_current().execution_options.preserve_order = True
        ray.data.DataContext.get_current().enable_progress_bars = False
        texts = [{"row": json.dumps(vars(row), default=str)} for row in rows]
        blocks = max(self.workers, -(-len(texts) // BLOCK_ROWS))
        data = ray.data.from_items(texts, override_num_blocks=blocks).map_batches(
            Checker,
            fn_constructor_args=(self.make_guard, json.dumps(self.settings), dict(self.names), self.concurrency),
            batch_size=BLOCK_ROWS,
            concurrency=self.workers,
            num_cpus=1,
        )  # Ray Data starts an actor that died again, and gives it its blocks again, as often as it takes
        for row in data.iter_rows():
            yield row["result"]


@contextmanager
def _errors_as_ours(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # boundary to Ray, whose failures are of many types; the last line names the cause
        if isinstance(error, EvidencerailsError):
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = f"{type(error).__name__}: {lines[-1][:MAX_REASON]}" if lines else type(error).__name__
        raise ClusterError(f"{what}: {reason}; the same command again goes on with the rows that are left") from error
