"""The NLI service as the checks of one exchange see it: what one of them has had done, the others need not ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from evidencerails import executor
from evidencerails.nli.base import LABELS, Pair
from evidencerails.nli.windows import Window, build_windows

if TYPE_CHECKING:
    from evidencerails.exchange import Passage
    from evidencerails.nli.base import Scores
    from evidencerails.nli.service import NliService

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

Steps: TypeAlias = "Generator[Sequence[Pair], Scores, T]"
"""Work that blocks: it yields the pairs that it wants read, is sent their scores, and returns its result."""


class ExchangeNli:
    """An `NliService` for the checks of one exchange, in one event loop. No pair is scored twice.

    A failure is not kept: who asks again has another try. A cancelled check takes along what it was waiting for.
    """

    def __init__(self, service: NliService) -> None:
        self._service = service
        self._asked: dict[Hashable, dict[Any, tuple[asyncio.Future[Sequence[Any]], int]]] = {}
        self._made: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, nli: NliService | ExchangeNli) -> ExchangeNli:
        """The same if it is one, else one of its own."""
        return nli if isinstance(nli, ExchangeNli) else cls(nli)

    @property
    def name(self) -> str:
        """See `NliService.name`."""
        return self._service.name

    @property
    def version(self) -> str:
        """See `NliService.version`."""
        return self._service.version

    @property
    def languages(self) -> tuple[str, ...]:
        """See `NliService.languages`."""
        return self._service.languages

    @property
    def max_tokens(self) -> int:
        """See `NliService.max_tokens`."""
        return self._service.max_tokens

    def windows(self, passages: Sequence[Passage], claim_tokens: int) -> list[Window]:
        """Windows of the passages that fit the model beside a claim of `claim_tokens`. Blocks: see `run`."""
        return build_windows(passages, claim_tokens, self.token_offsets, max_tokens=self.max_tokens)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """See `NliService.token_offsets`."""
        return self._service.token_offsets(text)

    run = staticmethod(executor.run)

    async def follow(self, steps: Steps[T]) -> T:
        """The result of some steps, each done off the event loop.

        Raises:
            NliError: the backend failed; the steps end there.
        """
        import numpy as np

        scores: Scores | None = None
        while True:
            pairs, result = await executor.run(_step, steps, scores, np.zeros((0, len(LABELS)), dtype=np.float32))
            if not pairs:
                return cast("T", result)
            scores = await self.scores(pairs)

    async def scores(self, pairs: Sequence[Pair]) -> Scores:
        """See `NliService.scores`."""
        import numpy as np

        if not pairs:
            return await self._service.scores(pairs)
        rows: list[Any] = await self.each("scores", pairs, self._rows)
        return np.stack(rows)

    async def _rows(self, pairs: list[Pair]) -> list[Any]:
        return list(await self._service.scores(pairs))

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made once for the exchange. Blocks: run it by `run`."""
        if key not in self._made:
            self._made[key] = make()
        return cast("T", self._made[key])

    async def each(
        self, name: Hashable, keys: Sequence[K], work: Callable[[list[K]], Awaitable[Sequence[T]]]
    ) -> list[T]:
        """A result for each key, in order. `work` is called with the keys that nobody has asked for under this name.

        Raises:
            Exception: whatever `work` raises, to all who wait for it.
        """
        asked = self._asked.setdefault(name, {})
        fresh = [key for key in dict.fromkeys(keys) if key not in asked or _has_failed(asked[key][0])]
        if fresh:
            future = asyncio.ensure_future(work(fresh))
            asked.update((key, (future, place)) for place, key in enumerate(fresh))
        places = [asked[key] for key in keys]
        await asyncio.gather(*dict.fromkeys(future for future, _ in places))
        return [future.result()[place] for future, place in places]


def _has_failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def _step(steps: Steps[T], scores: Scores | None, nothing: Scores) -> tuple[Sequence[Pair], T | None]:
    """The pairs that are wanted next, or none and the result."""
    try:
        pairs = steps.send(scores)  # type: ignore[arg-type] - a generator begins with None
        while not pairs:
            pairs = steps.send(nothing)
    except StopIteration as end:
        return (), end.value
    return pairs, None
