"""How cost grows: long evidence, concurrent checks, LLM round trips, import time and memory.

python benchmarks/scaling.py [--positions 50]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from tables import publish

from evidencerails import Guard
from evidencerails.exchange import Exchange
from evidencerails.testing import ReplayServer

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
FACT = "The Halden bridge was opened by the mayor in 1932."
SUPPORTED = "The Halden bridge was opened in 1932."
CONTRADICTED = "The Halden bridge was opened in 1875."
PLACES = ("Alta", "Bodo", "Drammen", "Egersund", "Floro", "Grimstad", "Hamar", "Jessheim", "Kragero", "Larvik", "Molde")
THINGS = ("harbour", "station", "library", "theatre", "market", "museum", "school", "tunnel", "stadium", "hospital")
DEEDS = (
    "was enlarged",
    "was painted",
    "was sold",
    "was closed for a year",
    "burned down",
    "was moved to the east side",
)
CONCURRENT = 64
SHADE_S = 0.15
"""Delay of the stand-in's replies, so that sequential and concurrent requests can be distinguished."""


def filler(size: int, rng: random.Random) -> list[str]:
    """Sentences about other things, together about `size` characters."""
    sentences: list[str] = []
    while sum(map(len, sentences)) < size:
        place, thing, deed = rng.choice(PLACES), rng.choice(THINGS), rng.choice(DEEDS)
        sentences.append(f"The {thing} of {place} {deed} in {rng.randrange(1900, 2020)}.")
    return sentences


def evidence(size: int, position: float, rng: random.Random) -> str:
    """Text of that size with the fact at that relative position."""
    sentences = filler(size, rng)
    sentences.insert(round(position * len(sentences)), FACT)
    return " ".join(sentences)


async def long_evidence(guard: Guard, positions: int) -> list[dict[str, Any]]:
    """Time and findings for each size: support and contradiction planted at many positions."""
    rng = random.Random(1)
    out = []
    for size in SIZES:
        times, found = [], {"supported": 0, "flagged": 0, "contradicted": 0}
        for place in range(positions):
            text = evidence(size, place / max(1, positions - 1), rng)
            for label, response in (("supported", SUPPORTED), ("contradicted", CONTRADICTED)):
                started = time.perf_counter()
                report = await guard.check_exchange(Exchange.of(response, evidence=text), checks=["grounding"])
                times.append((time.perf_counter() - started) * 1000)
                found[label] += [claim.label for claim in report.claims] == [label]
                found["flagged"] += label == "contradicted" and report.status == "hallucinated"
        out.append(
            {
                "bytes": size,
                "median_ms": statistics.median(times),
                "support_found": found["supported"] / positions,
                "wrong_value_flagged": found["flagged"] / positions,
                "contradiction_found": found["contradicted"] / positions,
            }
        )
    return out


async def concurrency(guard: Guard) -> dict[str, float]:
    """Checks a second, one at a time and 64 at once; the better of three runs each."""
    rng = random.Random(2)
    exchanges = [
        Exchange.of(
            f"The {thing} of {place} was opened in {year}.", evidence=f"The {thing} of {place} opened in {year}."
        )
        for thing, place, year in (
            (rng.choice(THINGS), rng.choice(PLACES), rng.randrange(1800, 2020)) for _ in range(CONCURRENT)
        )
    ]

    async def one_at_a_time() -> None:
        for exchange in exchanges:
            await guard.check_exchange(exchange, checks=["grounding"])

    async def at_once() -> None:
        await asyncio.gather(*(guard.check_exchange(exchange, checks=["grounding"]) for exchange in exchanges))

    rates = {}
    for name, run in (("sequential_per_s", one_at_a_time), ("concurrent_per_s", at_once)):
        best = 0.0
        for _ in range(3):
            started = time.perf_counter()
            await run()
            best = max(best, CONCURRENT / (time.perf_counter() - started))
        rates[name] = best
    return {**rates, "ratio": rates["concurrent_per_s"] / rates["sequential_per_s"]}


YAML = """
models:
  - {type: main, engine: openai, model: replay, parameters: {base_url: BASE_URL, api_key: none}}
import_paths: [evidencerails/plugin]
rails: {output: {flows: [self check hallucination]}}
custom_data: {evidencerails: {activation: always, consistency: {sampling: SAMPLING}}}
"""


async def round_trips(sampling: str) -> int:
    """Sequential waits for the model beyond the answer's own, counted at the server."""
    from nemoguardrails import LLMRails, RailsConfig

    with ReplayServer() as server:
        server.reply([SUPPORTED], when="Halden", delay_s=SHADE_S)
        yaml = YAML.replace("BASE_URL", server.base_url).replace("SAMPLING", sampling)
        app = LLMRails(RailsConfig.from_content(yaml_content=yaml))
        message = await app.generate_async(messages=[{"role": "user", "content": "When was the Halden bridge opened?"}])
        assert message["content"] == SUPPORTED, message
        return waves(server.requests) - 1


def waves(requests: Sequence[Any]) -> int:
    """How many groups of requests ran one after the other; requests at the same time count as one."""
    count, free_at = 0, 0.0
    for request in sorted(requests, key=lambda r: r.received_at):
        if request.received_at >= free_at:
            count += 1
            free_at = request.finished_at or float("inf")
        else:
            free_at = max(free_at, request.finished_at or 0.0)
    return count


def import_seconds(repeats: int = 15) -> float:
    """Seconds that `import evidencerails` adds to an empty interpreter: difference of the best runs."""
    return _best("import evidencerails", repeats) - _best("pass", repeats)


def _best(code: str, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - started)
    return min(times)


_LOAD = """
import json, time
import numpy, onnxruntime, tokenizers
from evidencerails.nli.embedded import EmbeddedModel

def resident_mb():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024

before, started = resident_mb(), time.perf_counter()
model = EmbeddedModel()
loaded = time.perf_counter() - started
at_rest = resident_mb()
model.scores([("the harbour bridge " * 200, f"it has {n} lanes") for n in range(16)])
print(json.dumps({"s": loaded, "mb": at_rest - before, "mb_after_longest_pairs": resident_mb() - before}))
"""


def model_load(repeats: int = 5) -> dict[str, float]:
    """Seconds and resident memory that the NLI model takes in a process that has its libraries; the best run counts."""
    runs = []
    for _ in range(repeats):
        done = subprocess.run([sys.executable, "-c", _LOAD], check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(done.stdout))
    return {name: min(run[name] for run in runs) for name in runs[0]}


_MEMORY = """
import resource, sys
from evidencerails import Guard
text = " ".join(f"The hall of town {i} was opened in {1900 + i % 100}." for i in range(int(sys.argv[1])))
Guard().check_sync("The hall of town 7 was opened in 1907.", evidence=text)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def peak_memory_mb(sentences: int) -> float:
    """Peak resident memory of a process that checks one sentence against that many sentences of evidence."""
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(sentences)], check=True, stdout=subprocess.PIPE, text=True
    )
    return float(done.stdout)


async def measure(positions: int) -> dict[str, Any]:
    """All figures."""
    guard = Guard()
    await guard.check("Warm up.", evidence="This warms up the model.")
    sizes = await long_evidence(guard, positions)
    return {
        "long_evidence": sizes,
        "time_ratio_1kB_to_100kB": sizes[-1]["median_ms"] / sizes[0]["median_ms"],
        "concurrency": await concurrency(guard),
        "round_trips": {mode: await round_trips(mode) for mode in ("n", "parallel", "piggyback")},
        "import_s": import_seconds(),
        "model_load": model_load(),
        "peak_memory_mb": {"1 kB": peak_memory_mb(25), "100 kB": peak_memory_mb(2_500)},
    }


def rows_of(data: dict[str, Any]) -> list[tuple[str, str]]:
    """The table: one figure a line."""
    rows = [("measure", "value")]
    for size in data["long_evidence"]:
        found = (
            f"support found {size['support_found']:.0%}, wrong value flagged {size['wrong_value_flagged']:.0%} "
            f"(called contradicted: {size['contradiction_found']:.0%})"
        )
        rows.append((f"one sentence against {size['bytes'] // 1000} kB", f"{size['median_ms']:.0f} ms, {found}"))
    speed, memory, load = data["concurrency"], data["peak_memory_mb"], data["model_load"]
    trips = ", ".join(f"`{name}` {count}" for name, count in data["round_trips"].items())
    return [
        *rows,
        ("time at 100 kB as a ratio to 1 kB", f"{data['time_ratio_1kB_to_100kB']:.1f}"),
        ("checks a second, one at a time", f"{speed['sequential_per_s']:.0f}"),
        (f"checks a second, {CONCURRENT} at once", f"{speed['concurrent_per_s']:.0f} ({speed['ratio']:.1f} times)"),
        ("self-consistency: further LLM round trips one after the other (NeMo's own rail: 2)", trips),
        ("`import evidencerails` beyond the interpreter", f"{data['import_s'] * 1000:.0f} ms"),
        ("loading the NLI model", f"{load['s']:.2f} s, {load['mb']:.0f} MB"),
        ("its memory after pairs of the greatest length", f"{load['mb_after_longest_pairs']:.0f} MB"),
        ("peak memory of a check, 1 kB and 100 kB of evidence", f"{memory['1 kB']:.0f} MB, {memory['100 kB']:.0f} MB"),
    ]


def main() -> None:
    """Measure, print, write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=50)
    positions = parser.parse_args().positions
    os.environ["DO_NOT_TRACK"] = "1"
    logging.disable(logging.WARNING)
    os.chdir(tempfile.mkdtemp())  # NeMo also loads ./actions of the current directory
    data = asyncio.run(measure(positions))
    publish("scaling", rows_of(data), data)


if __name__ == "__main__":
    main()
