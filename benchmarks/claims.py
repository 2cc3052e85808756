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
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


async def worst_stall_ms() -> tuple[float, float]:
    """The longest time the event loop stood still with eight checks at once, and the seconds they took in all."""
    guard = Guard({"checks": ["claims"]}, nli=SlowNli())
    await guard.check(ANSWER, evidence=EVIDENCE)  # loads what is loaded once, such as the language detector
    worst = 0.0

    async def watch() -> None:
        nonlocal worst
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            worst = max(worst, time.perf_counter() - before - 0.001)

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0.05)
    worst, started = 0.0, time.perf_counter()
    await asyncio.gather(*(guard.check(f"{ANSWER} Answer {n}.", evidence=EVIDENCE) for n in range(CONCURRENT)))
    seconds = time.perf_counter() - started
    watcher.cancel()
    return worst * 1000, seconds


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
    stall_ms, seconds = asyncio.run(worst_stall_ms())
    figures: dict[str, Any] = {
        "processor": platform.processor() or platform.machine(),
        "batch": llm_cost("batch"),
        "per_claim": llm_cost("per_claim"),
        "chaincheck_calls": 11,
        "stall_ms": round(stall_ms, 1),
        "seconds_for_8_checks_over_a_0.5_s_model": round(seconds, 2),
        "extraction_kB_per_s": round(throughput(), 1),
    }
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
