"""Scores pairs off the event loop: one worker thread per model merges the pairs of all callers into batches."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from evidencerails import executor
from evidencerails.errors import EvidencerailsError, NliError, traceback_summary, with_cause
from evidencerails.exchange import Passage
from evidencerails.nli.base import LABELS, NliModel, Pair
from evidencerails.nli.windows import EvidenceIndex
from evidencerails.settings.llm import NliSettings

if TYPE_CHECKING:
    from evidencerails.nli.base import Scores

log = logging.getLogger("evidencerails.nli")

MAX_STEP_PAIRS = 64
"""Pairs of one call of the model. Between two calls cancelled work is dropped and newcomers join."""
GATHER_S = 0.001
"""How long an idle worker waits for the other callers of the same moment before it starts."""
END_S = 10.0
"""A thread may take to end with the process."""
IDLE_S = 10.0
"""An idle worker thread ends after so long; the next request starts another."""
BESIDE_EVIDENCE = 64
"""Tokens of a pair that evidence is cut to leave free: a claim of ordinary length, and `<s> evidence </s> <s> claim
</s>`. Beside a very long claim the model reads a window in parts."""


class _Request:
    """The pairs of one caller; each different pair is scored once, long ones first."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.future: Future[Scores] = Future()
        self.pairs = list(pairs)
        self.scored: dict[Pair, Scores] = {}
        self.waiting = deque(sorted(dict.fromkeys(pairs), key=lambda pair: -len(pair[0]) - len(pair[1])))

    def fail(self, error: BaseException) -> None:
        self.waiting.clear()
        if not self.future.done() and self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)


class NliService:
    """One NLI model behind an async door, for any number of callers, threads and event loops.

    Args:
        model: called from one thread at a time. The service does not own it: `close` ends only the thread.
    """

    def __init__(self, model: NliModel) -> None:
        self._setup(load=lambda: model, name=model.name, languages=model.languages, is_shared=False)
        self.loaded()

    @classmethod
    def from_settings(cls, settings: NliSettings) -> NliService:
        """The service of this process for these settings; the model is loaded when it is first used."""
        key = settings.model_dump_json()
        with _registry_lock:
            service = _shared.get(key)
            if service is None:
                service = _shared[key] = cls.__new__(cls)
                name = {"transformers": settings.model, "remote": settings.url}.get(settings.backend)
                service._setup(
                    load=lambda: load_model(settings),
                    name=name or settings.backend,
                    languages=settings.languages,
                    is_shared=True,
                )
        return service

    def _setup(self, *, load: Callable[[], NliModel], name: str, languages: tuple[str, ...], is_shared: bool) -> None:
        self._load = load
        self.name = name
        """Name of the model; of the backend as long as the model is not loaded."""
        self.version = "not loaded"
        """Version of the model."""
        self.languages = languages
        """ISO 639-1 codes the model knows; `("*",)` if any."""
        self._is_shared = is_shared
        self._is_closed = False
        self._model: NliModel | None = None
        self._reset_threads()
        _services.add(self)

    def _reset_threads(self) -> None:
        """Locks, queue and thread as new: for the beginning, and for a forked child, where the thread is gone."""
        self._load_lock = threading.Lock()
        self._wake = threading.Condition(threading.Lock())
        self._requests: deque[_Request] = deque()
        self._thread: threading.Thread | None = None

    def loaded(self) -> NliModel:
        """The model. Blocks while it is loaded: use it inside `run`.

        Raises:
            EvidencerailsError: as `scores`.
        """
        with self._load_lock:
            if self._model is None:
                started = time.perf_counter()
                self._model = self._load()
                self.name, self.version, self.languages = self._model.name, self._model.version, self._model.languages
                log.debug("loaded NLI model %s in %.0f ms", self.name, (time.perf_counter() - started) * 1000)
            return self._model

    async def scores(self, pairs: Sequence[Pair]) -> Scores:
        """Probabilities as of `NliModel.scores`, rows in input order.

        A cancelled caller's pairs are dropped before they run.

        Raises:
            NliError: the backend failed, or the service is closed.
            ModelFileError: the model cannot be loaded.
            MissingExtraError: the backend needs a package that is not installed.
        """
        if not pairs:
            import numpy as np

            return np.zeros((0, len(LABELS)), dtype=np.float32)
        request = _Request(pairs)
        with self._wake:
            if self._is_closed:
                raise NliError(f"the NLI service of {self.name!r} is closed; make a new Guard")
            self._requests.append(request)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="evidencerails-nli", daemon=True)
                self._thread.start()
            self._wake.notify_all()
        return await asyncio.wrap_future(request.future)

    run = staticmethod(executor.run)

    async def load(self) -> None:
        """Load the model now instead of at its first use.

        Raises:
            EvidencerailsError: as `scores`.
        """
        await self.run(self.loaded)

    def load_soon(self) -> None:
        """Begin to load the model, beside whatever else is going on. A failure is logged, and met again at its use."""
        executor.begin(self._load_or_log)

    def _load_or_log(self) -> None:
        try:
            self.loaded()
        except Exception as error:  # boundary to the model; who uses it meets the error again
            log.warning("evidencerails: the NLI model cannot be loaded: %s", error)

    def close(self) -> None:
        """End the worker thread of a model that was passed in; its waiting callers get an `NliError`.

        A service from `from_settings` is shared by the whole process and stays.
        """
        if not self._is_shared:
            self._end()

    def _end(self) -> threading.Thread | None:
        with self._wake:
            self._is_closed = True
            self._wake.notify_all()
            return self._thread

    def _work(self) -> None:
        """Body of the worker thread: serve until closed or idle."""
        try:
            while (step := self._next_step()) is not None:
                if step:
                    self._serve(step)
        except BaseException as error:  # a fault of ours: nobody may wait for a thread that is gone
            log.error("the NLI worker failed: %s", traceback_summary(error))
            with self._wake:
                self._thread = None
                self._fail_all(_as_ours(error))

    def _fail_all(self, error: Exception) -> None:
        while self._requests:
            self._requests.popleft().fail(error)

    def _next_step(self) -> dict[_Request, list[Pair]] | None:
        """Pairs of the next call of the model, from all callers in turn so that a big one keeps nobody waiting; None
        when the thread shall end. Waits for a request if there is none."""
        with self._wake:
            if is_idle := not self._requests:
                self._wake.wait_for(lambda: self._requests or self._is_closed, timeout=IDLE_S)
            if self._is_closed:
                self._fail_all(NliError(f"the NLI service of {self.name!r} was closed"))
            if not self._requests:
                self._thread = None
                return None
        if is_idle:
            time.sleep(GATHER_S)
        step: dict[_Request, list[Pair]] = {}
        room = MAX_STEP_PAIRS
        with self._wake:
            self._requests = deque(r for r in self._requests if not r.future.cancelled() and r.waiting)
            while room > 0 and (active := [r for r in self._requests if r.waiting]):
                share = max(1, room // len(active))
                for request in active[:room]:
                    taken = [request.waiting.popleft() for _ in range(min(share, len(request.waiting)))]
                    step.setdefault(request, []).extend(taken)
                    room -= len(taken)
        return step

    def _serve(self, step: dict[_Request, list[Pair]]) -> None:
        """Score one step. If a merged call fails for a reason of its pairs, each caller is served alone."""
        try:
            self._score(step)
        except BaseException as error:  # boundary to the backend; a panic in Rust is no Exception
            if len(step) == 1 or getattr(error, "retryable", False) or self._model is None:
                for request in step:
                    with self._wake:
                        request.fail(_as_ours(error))
            else:
                for request, pairs in step.items():
                    self._serve({request: pairs})

    def _score(self, step: dict[_Request, list[Pair]]) -> None:
        import numpy as np

        pairs = list(dict.fromkeys(pair for taken in step.values() for pair in taken))
        model = self.loaded()
        rows = np.asarray(model.scores(pairs), dtype=np.float32)
        wanted = (len(pairs), len(LABELS) + getattr(model, "probes", 0))
        if rows.shape != wanted:
            raise NliError(f"NLI model returned shape {rows.shape} for {len(pairs)} pairs; expected {wanted}")
        if not np.isfinite(rows).all():
            raise NliError("NLI model returned scores that are not finite numbers; its file may be damaged")
        by_pair = dict(zip(pairs, rows, strict=True))
        for request, taken in step.items():
            request.scored.update((pair, by_pair[pair]) for pair in taken)
            if not request.waiting and request.future.set_running_or_notify_cancel():
                request.future.set_result(np.stack([request.scored[pair] for pair in request.pairs]))


def load_model(settings: NliSettings) -> NliModel:
    """The model that the settings name, loaded.

    Raises:
        ModelFileError: a model file is missing or damaged.
        MissingExtraError: the backend's package is not installed.
        NliError: the model is no NLI model.
    """
    if settings.backend == "embedded":
        from evidencerails.nli.embedded import EmbeddedModel

        return EmbeddedModel(threads=settings.threads, languages=settings.languages)
    if settings.backend == "transformers":
        from evidencerails.nli.transformers_backend import TransformersModel

        return TransformersModel(str(settings.model), batch_size=settings.batch_size, languages=settings.languages)
    from evidencerails.nli.remote import RemoteModel

    return RemoteModel.from_settings(settings)


def _as_ours(error: BaseException) -> EvidencerailsError:
    if isinstance(error, EvidencerailsError):
        return error
    ours = NliError(with_cause(f"NLI model failed: {type(error).__name__}", error))
    ours.__cause__ = error
    return ours


_registry_lock = threading.Lock()
_shared: dict[str, NliService] = {}
_services: weakref.WeakSet[NliService] = weakref.WeakSet()


def _after_fork() -> None:
    """In the child: forget threads and locks of the parent, which may have held them. Models see to themselves."""
    global _registry_lock
    _registry_lock = threading.Lock()
    for service in list(_services):
        service._reset_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


T = TypeVar("T")

Steps: TypeAlias = "Generator[Sequence[Pair], Scores, T]"
"""Work that blocks: it yields the pairs that it wants read, is sent their scores, and returns its result."""


class ExchangeNli:
    """An `NliService` for the checks of one exchange, in one event loop. No pair is scored twice.

    A failure is not kept: who asks again has another try. A cancelled check takes along what it was waiting for.
    """

    def __init__(self, service: NliService) -> None:
        self._service = service
        self.languages = service.languages
        """See `NliService.languages`."""
        self._asked: dict[Pair, tuple[asyncio.Future[Scores], int]] = {}
        self._cut: dict[tuple[Passage, ...], EvidenceIndex] = {}

    @classmethod
    def of(cls, nli: NliService | ExchangeNli) -> ExchangeNli:
        """The same if it is one, else one of its own."""
        return nli if isinstance(nli, ExchangeNli) else cls(nli)

    @property
    def identity(self) -> str:
        """Name and version of the model, as the versions of results have them."""
        return f"{self._service.name}@{self._service.version}"

    @property
    def model(self) -> NliModel:
        """See `NliService.loaded`."""
        return self._service.loaded()

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
            scores = await self._rows(pairs)

    async def scores(self, pairs: Sequence[Pair]) -> Scores:
        """Probabilities, shape (n, 3), in the order of `LABELS`; only pairs that nobody has asked for are scored."""
        return (await self._rows(pairs))[:, : len(LABELS)]

    async def _rows(self, pairs: Sequence[Pair]) -> Scores:
        """Probabilities and probes (see `NliModel.scores`)."""
        import numpy as np

        if not pairs:
            return await self._service.scores(pairs)
        asked = self._asked
        failed = {one for one, _ in asked.values() if one.done() and (one.cancelled() or one.exception() is not None)}
        fresh = [pair for pair in dict.fromkeys(pairs) if pair not in asked or asked[pair][0] in failed]
        if fresh:
            future = asyncio.ensure_future(self._service.scores(fresh))
            asked.update((pair, (future, place)) for place, pair in enumerate(fresh))
        places = [asked[pair] for pair in pairs]
        await asyncio.gather(*dict.fromkeys(future for future, _ in places))
        return np.stack([future.result()[place] for future, place in places])

    def evidence(self, passages: Sequence[Passage]) -> EvidenceIndex:
        """Passages cut for the model, once for all checks. Blocks, also while the model is loaded: run it by `run`."""
        key = tuple(passages)
        if key not in self._cut:
            model = self._service.loaded()
            self._cut[key] = EvidenceIndex(passages, model.token_offsets, max(64, model.max_tokens - BESIDE_EVIDENCE))
        return self._cut[key]


def _step(steps: Steps[T], scores: Scores | None, nothing: Scores) -> tuple[Sequence[Pair], T | None]:
    """The pairs that are wanted next, or none and the result."""
    try:
        pairs = next(steps) if scores is None else steps.send(scores)
        while not pairs:
            pairs = steps.send(nothing)
    except StopIteration as end:
        return (), end.value
    return pairs, None


@atexit.register
def _end_all() -> None:
    """Let the calls of the models that are under way end: ONNX Runtime aborts a process that ends before them."""
    for thread in [service._end() for service in list(_services)]:
        if thread is not None:
            thread.join(END_S)
