"""The worker behind `NliService`: batching, fairness, cancellation, faults, loops, threads and forks."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from scripted_nli import ScriptedNli

from evidencerails.errors import ModelFileError, NliError
from evidencerails.nli.base import Pair
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.service import MAX_STEP_PAIRS, NliService
from evidencerails.settings.llm import NliSettings


class WordModel(ScriptedNli):
    """Entailed if the premise holds the hypothesis; records its calls, can be held up and can fail."""

    languages = ("en",)

    def __init__(self) -> None:
        super().__init__(lambda premise, claim: (0.9, 0.05, 0.05) if claim in premise else (0.05, 0.9, 0.05))
        self.calls: list[list[Pair]] = []
        self.threads: set[int] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.error: Callable[[Sequence[Pair]], BaseException | None] = lambda pairs: None

    def scores(self, pairs: Sequence[Pair]) -> np.ndarray:
        self.calls.append(list(pairs))
        self.threads.add(threading.get_ident())
        assert self.gate.wait(10)
        if error := self.error(pairs):
            raise error
        return super().scores(pairs)


@pytest.fixture
def model() -> WordModel:
    return WordModel()


@pytest.fixture
def service(model: WordModel) -> NliService:
    return NliService(model)


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(2500):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("waited 5 s for nothing")


async def held(service: NliService, model: WordModel, *pairs: Pair) -> "asyncio.Task[np.ndarray]":
    """A request whose first call of the model lasts until `model.gate` is set."""
    model.gate.clear()
    running = asyncio.create_task(service.scores(pairs or [("running", "running")]))
    await _until(lambda: len(model.calls) == 1)
    return running


async def release(model: WordModel) -> None:
    """Let the model go on, once all that was asked for waits."""
    await asyncio.sleep(0.01)
    model.gate.set()


async def test_rows_come_in_input_order_and_duplicates_are_scored_once(service: NliService, model: WordModel) -> None:
    scores = await service.scores([("a b", "c"), ("a b", "a"), ("a b", "c")])
    assert scores.argmax(axis=1).tolist() == [1, 0, 1]
    assert sorted(model.calls[0]) == [("a b", "a"), ("a b", "c")]


async def test_no_pairs_need_no_model(service: NliService, model: WordModel) -> None:
    assert (await service.scores([])).shape == (0, 3)
    assert model.calls == []


async def test_concurrent_callers_share_the_calls_of_the_model(service: NliService, model: WordModel) -> None:
    first = await held(service, model)
    callers = [asyncio.create_task(service.scores([(f"premise {n}", f"{n}")])) for n in range(64)]
    await release(model)
    results = await asyncio.gather(first, *callers)
    assert all(result[0].argmax() == 0 for result in results)
    assert len(model.calls) <= 4
    assert len(model.threads) == 1
    assert threading.get_ident() not in model.threads


async def test_the_same_pair_of_two_callers_is_scored_once(service: NliService, model: WordModel) -> None:
    first = await held(service, model)
    others = [asyncio.create_task(service.scores([("a", "a")])) for _ in range(5)]
    await release(model)
    await asyncio.gather(first, *others)
    assert model.calls[1] == [("a", "a")]


def test_many_event_loops_share_one_worker(service: NliService, model: WordModel) -> None:
    found: list[int] = []

    def caller(number: int) -> None:
        scores = asyncio.run(service.scores([(f"p {number}", str(number))]))
        found.append(int(scores[0].argmax()))

    threads = [threading.Thread(target=caller, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == [0] * 8
    assert len(model.threads) == 1


async def test_a_big_request_does_not_keep_a_small_one_waiting(service: NliService, model: WordModel) -> None:
    big = await held(service, model, *((f"premise {n}", "x") for n in range(20 * MAX_STEP_PAIRS)))
    small = asyncio.create_task(service.scores([("small", "small")]))
    await release(model)
    await asyncio.gather(big, small)
    assert ("small", "small") in model.calls[1]
    assert max(len(call) for call in model.calls) <= MAX_STEP_PAIRS


async def test_a_cancelled_callers_pairs_never_run(service: NliService, model: WordModel) -> None:
    running = await held(service, model)
    cancelled = asyncio.create_task(service.scores([("cancelled", "x")]))
    kept = asyncio.create_task(service.scores([("kept", "kept")]))
    await asyncio.sleep(0.01)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    model.gate.set()
    await asyncio.gather(running, kept)
    assert [pair for call in model.calls for pair in call] == [("running", "running"), ("kept", "kept")]


async def test_cancelling_stops_a_request_between_two_calls(service: NliService, model: WordModel) -> None:
    big = await held(service, model, *((f"premise {n}", "x") for n in range(10 * MAX_STEP_PAIRS)))
    big.cancel()
    await asyncio.sleep(0)
    model.gate.set()
    await service.scores([("after", "after")])
    assert len(model.calls) == 2


async def test_an_error_of_one_callers_pairs_reaches_only_that_caller(service: NliService, model: WordModel) -> None:
    model.error = lambda pairs: ValueError("bad pair") if ("bad", "x") in pairs else None
    first = await held(service, model)
    asked = [asyncio.create_task(service.scores([pair])) for pair in (("good", "good"), ("bad", "x"))]
    await release(model)
    _, good, bad = await asyncio.gather(first, *asked, return_exceptions=True)
    assert len(model.calls[1]) == 2, "they were asked about together"
    assert isinstance(good, np.ndarray) and good[0].argmax() == 0
    assert isinstance(bad, NliError) and str(bad) == "NLI model failed: ValueError; its own words: bad pair"
    assert isinstance(bad.__cause__, ValueError)


async def test_a_backend_that_is_down_fails_all_callers_at_once(service: NliService, model: WordModel) -> None:
    model.error = lambda pairs: NliError("no answer", retryable=True)
    model.gate.clear()
    callers = [asyncio.ensure_future(service.scores([(str(n), "x")])) for n in range(8)]
    await asyncio.sleep(0.05)  # all of them wait
    model.gate.set()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert all(isinstance(result, NliError) and result.retryable for result in results)
    assert len(model.calls) < 8  # those that came while it failed once fail together


async def test_the_service_recovers_after_an_error(service: NliService, model: WordModel) -> None:
    model.error = lambda pairs: NliError("once")
    with pytest.raises(NliError, match="once"):
        await service.scores([("a", "a")])
    model.error = lambda pairs: None
    assert (await service.scores([("a", "a")])).argmax() == 0


async def test_what_is_no_exception_reaches_the_caller_too(service: NliService, model: WordModel) -> None:
    class Panic(BaseException):  # as a panic in Rust is
        pass

    model.error = lambda pairs: Panic("tokenizer panicked")
    with pytest.raises(NliError, match="Panic; its own words: tokenizer panicked"):
        await service.scores([("a", "a")])


@pytest.mark.parametrize(
    ("answer", "message"),
    [(np.zeros((1, 2)), "shape"), (np.full((1, 3), np.nan), "not finite"), (np.zeros(3), "shape")],
)
async def test_a_malformed_answer_is_an_error(answer: np.ndarray, message: str) -> None:
    class Broken(WordModel):
        def scores(self, pairs: Sequence[Pair]) -> np.ndarray:
            return answer

    with pytest.raises(NliError, match=message):
        await NliService(Broken()).scores([("a", "a")])


async def test_close_fails_the_waiting_and_the_later_callers(service: NliService, model: WordModel) -> None:
    running = await held(service, model)
    waiting = asyncio.create_task(service.scores([("waiting", "x")]))
    await asyncio.sleep(0.01)
    service.close()
    model.gate.set()
    assert (await running).argmax() == 0
    with pytest.raises(NliError, match="was closed"):
        await waiting
    with pytest.raises(NliError, match="is closed"):
        await service.scores([("later", "x")])


async def test_the_worker_thread_ends_when_idle_and_comes_back(
    service: NliService, model: WordModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evidencerails.nli.service.IDLE_S", 0.02)
    await service.scores([("a", "a")])
    await _until(
        lambda: not any(t.name == "evidencerails-nli" and t.ident in model.threads for t in threading.enumerate())
    )
    assert (await service.scores([("a", "a")])).argmax() == 0


async def test_run_keeps_the_event_loop_free(service: NliService) -> None:
    thread = await service.run(threading.get_ident)
    assert thread != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await service.run(lambda: 1 / 0)


def test_settings_share_one_service_and_different_ones_do_not(service: NliService) -> None:
    one, same = NliService.from_settings(NliSettings()), NliService.from_settings(NliSettings())
    other = NliService.from_settings(NliSettings(threads=1))
    assert one is same
    assert one is not other
    assert one.languages == ("en",)


async def test_a_shared_service_outlives_the_guard_that_used_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = WordModel()
    monkeypatch.setattr("evidencerails.nli.service.load_model", lambda settings: model)
    service = NliService.from_settings(NliSettings(batch_size=7))
    service.close()
    assert (await service.scores([("a", "a")])).argmax() == 0


async def test_a_model_that_cannot_be_loaded_fails_each_caller_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_folder: Path
) -> None:
    folder = tmp_path / "absent"
    monkeypatch.setattr("evidencerails.nli.service.load_model", lambda settings: EmbeddedModel(folder))
    service = NliService.from_settings(NliSettings(batch_size=8))
    assert (service.name, service.version) == ("embedded", "not loaded")
    results = await asyncio.gather(*(service.scores([("paris", "yes")]) for _ in range(3)), return_exceptions=True)
    assert [type(result) for result in results] == [ModelFileError] * 3
    os.rename(tiny_folder, folder)
    assert (await service.scores([("paris", "yes")])).argmax() == 0
    assert (service.name, service.loaded().max_tokens, service.version[:2]) == ("tiny", 32, "1+")


async def test_loading_happens_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def load(settings: NliSettings) -> WordModel:
        threads.append(threading.get_ident())
        time.sleep(0.05)
        return WordModel()

    monkeypatch.setattr("evidencerails.nli.service.load_model", load)
    service = NliService.from_settings(NliSettings(batch_size=9))
    await asyncio.gather(service.load(), service.scores([("a", "a")]), service.run(service.loaded))
    assert len(threads) == 1
    assert threads[0] != threading.get_ident()


async def test_the_loop_runs_between_most_pieces_of_work(service: NliService) -> None:
    turns = 0
    seen: list[int] = []

    async def tick() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.0005)

    def piece() -> None:
        """Holds the interpreter lock, for less than the 5 ms after which Python takes it from a thread."""
        seen.append(turns)
        ends = time.thread_time() + 0.004
        while time.thread_time() < ends:
            pass

    ticking = asyncio.create_task(tick())
    try:
        await asyncio.gather(*(service.run(piece) for _ in range(60)))
    finally:
        ticking.cancel()
    # Without the pause before a piece 20 to 30 of the 60 saw a turn of the loop since the one before.
    assert len(set(seen)) > 45
