"""What the check `claims` costs: LLM calls and tokens for ten claims, event-loop stall, extraction throughput.

    python benchmarks/claims.py [--json out.json]

ChainCheck (0.6.0) beside it where it has a figure: it makes one call to split the answer and one a claim, sends the
evidence each time, and runs its NLI model on the event loop. Its plan is counted here from our own prompts' sizes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from groundrails import Guard
from groundrails.testing import ReplayRequest, ReplayServer
from groundrails.text.claims import extract_claims

WORDS = "the harbour was extended by two basins and a lock that larger ships can use at any state of the tide ".split()  # noqa: SIM905
EVIDENCE = " ".join(WORDS[n % len(WORDS)] for n in range(600)).capitalize() + "."
ANSWER = " ".join(f"The basin number {n} of the harbour was opened in {1900 + n}." for n in range(10))
SLOW_S = 0.5
CONCURRENT = 8


class SlowNli:
    """Takes half a second for each call, as a big model does; holds no lock meanwhile."""

    name, version, max_tokens = "slow", "1", 512
    languages: tuple[str, ...] = ("en",)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
        time.sleep(SLOW_S)
        return np.tile(np.array([[0.9, 0.08, 0.02]], np.float32), (len(pairs), 1))

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def judge(request: ReplayRequest) -> str:
    """Says `absent` of every claim."""
    numbers = re.findall(r"^(\d+)\. ", request.last_user_text.split("<claims>")[1], re.MULTILINE)
    verdict = {"facts": "one fact", "quote": "", "comparison": "not told", "label": "absent", "error_types": ["other"]}
    return json.dumps({"verdicts": [{"claim": int(number), **verdict} for number in numbers]})


def llm_cost(calls: str) -> dict[str, float]:
    """Calls, round trips and prompt characters for ten claims over evidence of 600 words."""
    with ReplayServer() as server:
        server.default(judge)
        llm = {"model": "replay", "base_url": server.base_url, "api_key": "none"}
        guard = Guard({"checks": ["claims"], "claims": {"classifier": "llm", "calls": calls}, "llm": llm})
        report = guard.check_sync(ANSWER, evidence=EVIDENCE)
        characters = sum(len(request.prompt_text) for request in server.requests)
    usage = report.llm
    return {
        "claims": len(report.claims),
        "calls": usage.calls,
        "round_trips": usage.round_trips,
        "prompt_chars": characters,
    }


class Stall(NamedTuple):
    """How long the event loop stood still with eight checks at once, in milliseconds, and the seconds they took."""

    worst_ms: float
    median_ms: float
    """Of the waits of a task that sleeps a millisecond: what other programs on the machine cost is in it too."""
    own_ms: float
    """Longest processor time of one callback on the loop: what the checks themselves hold it for."""
    seconds: float


@contextmanager
def callback_times() -> Iterator[list[float]]:
    """Processor seconds of every callback that the loop of this thread runs meanwhile."""
    times: list[float] = []
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        before = time.thread_time()
        run(handle)
        times.append(time.thread_time() - before)

    asyncio.Handle._run = timed  # type: ignore[method-assign]
    try:
        yield times
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]


async def stall() -> Stall:
    """Eight checks at once beside a task that wants to run every millisecond."""
    guard = Guard({"checks": ["claims"]}, nli=SlowNli())
    await guard.check(ANSWER, evidence=EVIDENCE)  # loads what is loaded once, such as the language detector
    waits: list[float] = []

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            waits.append(time.perf_counter() - before - 0.001)

    with callback_times() as times:
        watcher = asyncio.create_task(watch())
        await asyncio.sleep(0.05)
        waits.clear(), times.clear()
        started = time.perf_counter()
        await asyncio.gather(*(guard.check(f"{ANSWER} Answer {n}.", evidence=EVIDENCE) for n in range(CONCURRENT)))
        seconds = time.perf_counter() - started
        watcher.cancel()
    return Stall(max(waits) * 1000, statistics.median(waits) * 1000, max(times) * 1000, seconds)


def throughput() -> float:
    """Kilobytes of answer a second that the rules take apart, on one thread."""
    text = "The tower, which was built in 1889, is in Paris and attracts visitors. It cost 7.8 million francs. " * 500
    started = time.perf_counter()
    extract_claims(text)
    return len(text) / 1000 / (time.perf_counter() - started)


def main() -> int:
    """Print the figures; write them as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    stalled = asyncio.run(stall())
    figures: dict[str, Any] = {
        "processor": platform.processor() or platform.machine(),
        "batch": llm_cost("batch"),
        "per_claim": llm_cost("per_claim"),
        "chaincheck_calls": 11,
        "stall_ms": round(stalled.worst_ms, 1),
        "stall_median_ms": round(stalled.median_ms, 1),
        "longest_callback_ms": round(stalled.own_ms, 1),
        "seconds_for_8_checks_over_a_0.5_s_model": round(stalled.seconds, 2),
        "extraction_kB_per_s": round(throughput(), 1),
    }
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
