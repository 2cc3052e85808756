"""What the check `claims` costs: LLM calls and tokens for ten claims, event-loop stall, extraction throughput.

    python benchmarks/claims.py [--only costs | --only speed]

ChainCheck (0.6.0) beside it: it makes one call to split the answer and one a claim, and sends the evidence with each of
these; the tokens of its plan are those of evidence and claims alone, without its instructions. It runs its NLI model on
the event loop, which stands still for as long as that takes (`benchmarks/peers`).

How long our loop waits depends on the machine too: a bystander, a process that does nothing but sleep a millisecond at
a time, is measured at the same moment.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import tables

from evidencerails import Guard
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.testing import ReplayRequest, ReplayServer
from evidencerails.text.claims import extract_claims

WORDS = "the harbour was extended by two basins and a lock that larger ships can use at any state of the tide ".split()  # noqa: SIM905
CLAIMS = 10
SENTENCES = [f"The basin number {n} of the harbour was opened in {1900 + n}." for n in range(CLAIMS)]
ANSWER = " ".join(SENTENCES)
FILLER = " ".join(WORDS[n % len(WORDS)] for n in range(50)).capitalize() + "."
EVIDENCE = " ".join(f"{sentence} {FILLER}" for sentence in SENTENCES)
"""Some 600 words; what decides about each claim stands in another place."""
SLOW_S = 0.5
CONCURRENT = 8
RUNS = 5
CHAINCHECK_CALLS = 1 + CLAIMS
CHAINCHECK_STALL_MS = 1000 * SLOW_S * CONCURRENT
"""Its model runs on the event loop: the loop stands still for all eight."""
BYSTANDER = """
import sys, time
waits = []
while not sys.stdin.closed and len(waits) < 1_000_000:
    before = time.perf_counter()
    time.sleep(0.001)
    waits.append(time.perf_counter() - before - 0.001)
    if time.perf_counter() > float(sys.argv[1]): break
print(max(waits) * 1000)
"""


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
    """Says `supported` of each claim that stands in the evidence it was sent, and quotes it; `absent` of the others."""
    evidence, claims = request.last_user_text.split("<claims>")
    numbered = re.findall(r"^(\d+)\. (.*)$", claims, re.MULTILINE)
    return json.dumps({"verdicts": [{"claim": int(n), **verdict(text, evidence)} for n, text in numbered]})


def verdict(claim: str, evidence: str) -> dict[str, Any]:
    """What the stand-in for a model says about one claim."""
    if claim in evidence:
        found = {"quote": claim, "comparison": "the same", "label": "supported", "error_types": []}
    else:
        found = {"quote": "", "comparison": "not stated", "label": "absent", "error_types": ["other"]}
    return {"facts": "one fact", **found}


def tokens(*texts: str) -> int:
    """Tokens of the embedded model's vocabulary: near enough to any other's to compare plans."""
    return sum(len(EmbeddedModel().token_offsets(text)) for text in texts)


def llm_cost(calls: str) -> dict[str, int]:
    """Calls, round trips and tokens for ten claims over evidence of 600 words."""
    with ReplayServer() as server:
        server.default(judge)
        llm = {"model": "replay", "base_url": server.base_url, "api_key": "none"}
        guard = Guard({"checks": ["claims"], "claims": {"classifier": "llm", "calls": calls}, "llm": llm})
        report = guard.check_sync(ANSWER, evidence=EVIDENCE)
        assert len(report.claims) == CLAIMS
        sent = [request.prompt_text for request in server.requests]
    usage = report.llm
    return {"calls": usage.calls, "round_trips": usage.round_trips, "prompt_tokens": tokens(*sent)}


def chaincheck_tokens() -> int:
    """Of its plan: the answer once, the evidence and a claim ten times."""
    return tokens(ANSWER) + CLAIMS * tokens(EVIDENCE) + tokens(ANSWER)


class Stall(NamedTuple):
    """How long the event loop stood still with eight checks at once, in milliseconds, and the seconds they took."""

    worst_ms: float
    median_ms: float
    """Of the waits of a task that sleeps a millisecond: what other programs on the machine cost is in it too."""
    own_ms: float
    """Longest processor time of one callback on the loop: what the checks themselves hold it for."""
    bystander_ms: float
    """Longest wait of a process that does nothing, at the same time."""
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

    until = time.perf_counter() + 3.0  # one clock for all processes of the machine
    command = [sys.executable, "-c", BYSTANDER, str(until)]
    bystander = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    with callback_times() as times:
        watcher = asyncio.create_task(watch())
        await asyncio.sleep(0.05)
        waits.clear(), times.clear()
        started = time.perf_counter()
        await asyncio.gather(*(guard.check(f"{ANSWER} Answer {n}.", evidence=EVIDENCE) for n in range(CONCURRENT)))
        seconds = time.perf_counter() - started
        watcher.cancel()
    others_ms = float((await bystander.communicate())[0])
    return Stall(max(waits) * 1000, statistics.median(waits) * 1000, max(times) * 1000, others_ms, seconds)


def throughput() -> float:
    """Kilobytes of answer a second that the rules take apart, on one thread."""
    text = "The tower, which was built in 1889, is in Paris and attracts visitors. It cost 7.8 million francs. " * 500
    started = time.perf_counter()
    extract_claims(text)
    return len(text) / 1000 / (time.perf_counter() - started)


def costs() -> None:
    """Calls and tokens: the same on every machine."""
    batch, single = llm_cost("batch"), llm_cost("per_claim")
    rows = [
        ["", "ChainCheck 0.6.0", "`calls: batch`", "`calls: per_claim`"],
        ["LLM calls for 10 claims", str(CHAINCHECK_CALLS), str(batch["calls"]), str(single["calls"])],
        [
            f"tokens of the prompts, {len(EVIDENCE.split())} words of evidence",
            f"{chaincheck_tokens():,}",
            f"{batch['prompt_tokens']:,}",
            f"{single['prompt_tokens']:,}",
        ],
        ["calls one after the other", "2", str(batch["round_trips"]), str(single["round_trips"])],
    ]
    tables.publish("claims", rows, {"batch": batch, "per_claim": single})


def speed() -> None:
    """Event loop and extraction: wants a quiet machine."""
    stalls = [asyncio.run(stall()) for _ in range(RUNS)]
    middle = Stall(*(statistics.median(values) for values in zip(*stalls, strict=True)))
    kilobytes = statistics.median(throughput() for _ in range(RUNS))
    rows = [
        ["", "ChainCheck 0.6.0", "evidencerails"],
        [
            "event loop stands still at the longest, 8 checks, 0.5 s model",
            f"{CHAINCHECK_STALL_MS:.0f} ms",
            f"{middle.worst_ms:.0f} ms",
        ],
        ["the same for a process that does nothing", "-", f"{middle.bystander_ms:.0f} ms"],
        ["longest callback on the loop, processor time", "-", f"{middle.own_ms:.1f} ms"],
        ["8 checks take", "4.0 s", f"{middle.seconds:.1f} s"],
        ["claims extracted by rules, text a second", "-", f"{kilobytes:.0f} kB"],
    ]
    figures = {"stalls": [one._asdict() for one in stalls], "extraction_kB_per_s": kilobytes}
    tables.publish("claims_speed", rows, figures)


def main() -> int:
    """Print the figures; write the tables in docs/reference/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", choices=["costs", "speed"], help="one of the two tables")
    only = parser.parse_args().only
    for name, measured in (("costs", costs), ("speed", speed)):
        if only in (None, name):
            measured()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
