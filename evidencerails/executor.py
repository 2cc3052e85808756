"""Work that would hold up an event loop, done in one thread for the whole process.

In: a function, from any event loop. Out: its result. More threads would not help: taking texts apart holds the
interpreter lock. What is asked for together goes to the thread together, and comes back together.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

LET_IN_EVERY_S = 0.003
"""Work in a row that goes on without a pause: less than `switchinterval`, and long enough for many short pieces."""
LET_IN_S = 0.0002
"""Pause before a piece of work while there are more of them. A thread that wants the interpreter lock waits
`switchinterval` (5 ms) before it is given up, and begins to wait anew whenever the lock is let go of for a moment in
between: many pieces of 4 ms one after the other kept the event loop out for all of them together."""


class _Piece(NamedTuple):
    """Work of one caller."""

    work: Callable[[], Any]
    future: asyncio.Future[Any]


class _Worker:
    """The thread and what waits for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting: deque[_Piece] = deque()
        self.is_serving = False
        self.pool = ThreadPoolExecutor(1, "evidencerails-work")

    def serve(self) -> None:
        done: list[tuple[_Piece, Any, BaseException | None]] = []
        paused_at = time.monotonic()
        while True:
            with self.lock:
                if not self.waiting:
                    self.is_serving = False
                    break
                piece = self.waiting.popleft()
                has_others = bool(done or self.waiting)
            if has_others and time.monotonic() - paused_at >= LET_IN_EVERY_S:
                _give_back(done)
                done = []
                time.sleep(LET_IN_S)
                paused_at = time.monotonic()
            if piece.future.cancelled():
                continue
            try:
                done.append((piece, piece.work(), None))
            except StopIteration as error:  # no future takes one
                done.append((piece, None, RuntimeError(f"StopIteration: {error}")))
            except BaseException as error:  # the caller's to handle
                done.append((piece, None, error))
        _give_back(done)


def _give_back(done: list[tuple[_Piece, Any, BaseException | None]]) -> None:
    for loop in dict.fromkeys(piece.future.get_loop() for piece, _, _ in done):
        own = [one for one in done if one[0].future.get_loop() is loop]
        try:
            loop.call_soon_threadsafe(_settle, own)
        except RuntimeError:  # the loop is closed: nobody waits
            continue


def _settle(done: list[tuple[_Piece, Any, BaseException | None]]) -> None:
    for piece, result, error in done:
        if piece.future.done():
            continue
        if error is None:
            piece.future.set_result(result)
        else:
            piece.future.set_exception(error)


_worker = _Worker()


async def run(fn: Callable[..., T], *args: object) -> T:
    """Result of `fn(*args)`, done in the thread."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    with _worker.lock:
        _worker.waiting.append(_Piece(partial(fn, *args), future))
        is_asleep, _worker.is_serving = not _worker.is_serving, True
    if is_asleep:
        try:
            _worker.pool.submit(_worker.serve)
        except RuntimeError:  # the process ends, and what it still has to check takes no thread any more
            _worker.serve()
    return await future


def begin(fn: Callable[[], object]) -> None:
    """Have `fn()` done in the thread some time; nobody hears of what it gives or raises."""
    _worker.pool.submit(fn)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_worker.__init__)  # type: ignore[misc]
