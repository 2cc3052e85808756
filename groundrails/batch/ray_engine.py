"""The same job on Ray Data: each actor loads the model once; the driver reads the rows and writes the results.

Rows travel as JSON text, so that Arrow need not guess types that differ from row to row. A worker that dies takes its
blocks with it; Ray starts another and runs them again, which is safe, since a check changes nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from groundrails.batch.output import Result
from groundrails.batch.rows import Row
from groundrails.batch.runner import DEFAULT_CONCURRENCY, checked
from groundrails.errors import MissingExtraError

WAVE_ROWS = 50_000
"""Rows given to Ray at once: the driver holds them in memory, and each wave starts its actors anew."""
BLOCK_ROWS = 64
"""Rows of one call of an actor; what a dying worker has to do again."""


class Checker:
    """One actor: a guard of its own, made once."""

    def __init__(self, settings: str, names: Mapping[str, str], concurrency: int) -> None:
        from groundrails.guard import Guard

        self._guard = Guard(json.loads(settings))
        self._names = names
        self._concurrency = concurrency

    def __call__(self, block: dict[str, Any]) -> dict[str, Any]:
        """Results of a block of rows, both as JSON text."""
        return {"result": asyncio.run(self._results([str(text) for text in block["row"]]))}

    async def _results(self, texts: list[str]) -> list[str]:
        places = asyncio.Semaphore(self._concurrency)

        async def one(text: str) -> str:
            async with places:
                return json.dumps(await checked(self._guard, Row(**json.loads(text)), self._names), default=str)

        return list(await asyncio.gather(*(one(text) for text in texts)))


@dataclass
class RayEngine:
    """Checks rows on a Ray cluster: the one at `address`, else one on this machine.

    Raises:
        MissingExtraError: Ray is not installed.
    """

    settings: Mapping[str, Any]
    """Plain settings of the guards."""
    workers: int = 2
    concurrency: int = DEFAULT_CONCURRENCY
    names: Mapping[str, str] = field(default_factory=dict)
    address: str | None = None
    wave_rows: int = WAVE_ROWS

    def __post_init__(self) -> None:
        try:
            import ray.data  # noqa: F401
        except ImportError:
            raise MissingExtraError("--engine ray", "ray", "ray") from None

    async def results(self, rows: Iterable[Row]) -> AsyncIterator[Result]:
        """A result for each row, in their order."""
        self._start()
        upcoming = iter(rows)
        while wave := list(islice(upcoming, self.wave_rows)):
            results = self._wave(wave)
            while (text := await asyncio.to_thread(next, results, None)) is not None:
                yield Result(*json.loads(text))

    def _start(self) -> None:
        import ray

        if not ray.is_initialized():
            cpus = None if self.address else self.workers  # one cannot tell a cluster that runs how big it is
            ray.init(address=self.address, num_cpus=cpus, log_to_driver=False, include_dashboard=False)

    def _wave(self, rows: list[Row]) -> Iterator[str]:
        import ray.data

        ray.data.DataContext.get_current().execution_options.preserve_order = True
        ray.data.DataContext.get_current().enable_progress_bars = False
        texts = [{"row": json.dumps(vars(row), default=str)} for row in rows]
        blocks = max(self.workers, -(-len(texts) // BLOCK_ROWS))
        data = ray.data.from_items(texts, override_num_blocks=blocks).map_batches(
            Checker,
            fn_constructor_args=(json.dumps(self.settings), dict(self.names), self.concurrency),
            batch_size=BLOCK_ROWS,
            concurrency=self.workers,
            num_cpus=1,
            max_restarts=-1,
            max_task_retries=-1,
        )
        for row in data.iter_rows():
            yield row["result"]
