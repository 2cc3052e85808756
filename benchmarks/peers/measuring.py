"""How every peer is measured: time a row, the event loop's longest stop, and the shared NLI model behind HTTP.

Only the standard library: every peer's environment can import it.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any

AT_ONCE = 8
MODEL_S = 0.5
"""What the stub model takes where the event loop is watched."""


async def timed(rows: list[dict[str, Any]], check: Callable[[dict[str, Any]], Awaitable[Any]]) -> dict[str, float]:
    """Median milliseconds a row, and rows a second, one after the other."""
    times = []
    for row in rows:
        begin = time.perf_counter()
        await check(row)
        times.append((time.perf_counter() - begin) * 1000)
    return {"overhead_ms": statistics.median(times), "responses_per_s": len(rows) / (sum(times) / 1000)}


async def stall(check: Callable[[int], Awaitable[Any]]) -> dict[str, float]:
    """Longest stop of the event loop and seconds in all, with eight checks at once and a model that takes 0.5 s."""
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(0.001)
            worst = max(worst, time.perf_counter() - begin - 0.001)

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0.05)
    worst, begin = 0.0, time.perf_counter()
    await asyncio.gather(*(check(number) for number in range(AT_ONCE)))
    seconds = time.perf_counter() - begin
    await asyncio.sleep(0.01)  # a check that never yields is seen only now
    watcher.cancel()
    return {"stall_ms": worst * 1000, "eight_checks_s": seconds}


def scores_over_http(url: str, pairs: list[Any]) -> list[Any]:
    """Contradiction, entailment and neutral of each pair, from the runner's NLI model."""
    request = urllib.request.Request(url, json.dumps(pairs).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return list(json.load(answer))
