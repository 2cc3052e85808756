"""The service against the engine alone: answers a second and latency, at 1, 8 and 64 clients.

    python benchmarks/service.py            # writes docs/benchmarks.md, prints JSON; about 3 minutes
    python benchmarks/service.py --soak 600 # and how much memory it takes over so many seconds

Engine and service run the same answers with the same number under way, in turns, so that other work on the machine
slows both alike. The service is a process of its own; its clients share the machine with it.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import psutil
from tables import publish

from groundrails import Guard
from groundrails.exchange import Exchange

FACTS = [
    "Items can be returned within 30 days of delivery. Refunds are paid within 5 business days.",
    "The warranty lasts 24 months from the day of purchase and covers parts and labour.",
    "Support is open from 8:00 to 18:00 on working days, and by mail at the weekend.",
]
ANSWERS = [
    "Refunds are paid within {n} business days.",
    "The warranty lasts {n} months and covers labour.",
    "Support is open from {n}:00 to 18:00.",
]
CLIENTS = (1, 8, 64)
SECONDS = 8.0
ROUNDS = 2

Send = Callable[[dict[str, Any]], Awaitable[None]]


def bodies() -> Any:
    """Different answers for ever: no cache can help."""
    for n in itertools.count(2):
        yield {"response": ANSWERS[n % 3].format(n=n), "evidence": FACTS}


async def measured(send: Send, clients: int, seconds: float) -> list[float]:
    """Latencies in seconds of all answers that a number of clients got in the given time."""
    times: list[float] = []
    upcoming, end = bodies(), time.perf_counter() + seconds

    async def one() -> None:
        while (started := time.perf_counter()) < end:
            await send(next(upcoming))
            times.append(time.perf_counter() - started)

    await asyncio.gather(*(one() for _ in range(clients)))
    return times


def figures(times: list[float], seconds: float) -> dict[str, float]:
    """Answers a second, and latencies in ms."""
    ordered = sorted(times)
    at = {f"p{q}_ms": round(1000 * ordered[min(len(ordered) - 1, len(ordered) * q // 100)], 1) for q in (50, 95, 99)}
    return {"per_s": round(len(ordered) / seconds, 1), **at}


async def compare(url: str, seconds: float, rounds: int) -> list[dict[str, Any]]:
    """Engine and service, in turns, at each number of clients."""
    guard = Guard()
    limits = httpx.Limits(max_connections=max(CLIENTS))
    rows = []
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits, trust_env=False) as client:

        async def to_engine(body: dict[str, Any]) -> None:
            (await guard.check_exchange(Exchange.of(body["response"], evidence=body["evidence"]))).plain()

        async def to_service(body: dict[str, Any]) -> None:
            reply = await client.post("/v1/check", json=body)
            assert reply.status_code == 200, reply.text

        await measured(to_engine, 8, 2)
        await measured(to_service, 8, 2)
        for clients in CLIENTS:
            times: dict[str, list[float]] = {"engine": [], "service": []}
            for _ in range(rounds):
                times["engine"] += await measured(to_engine, clients, seconds)
                times["service"] += await measured(to_service, clients, seconds)
            found = {name: figures(taken, seconds * rounds) for name, taken in times.items()}
            rows.append({"clients": clients, **found, "ratio": found["service"]["per_s"] / found["engine"]["per_s"]})
    return rows


async def soak(url: str, pid: int, seconds: float) -> list[dict[str, float]]:
    """Memory of the service while 8 clients keep it busy."""
    async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False) as client:

        async def send(body: dict[str, Any]) -> None:
            await client.post("/v1/check", json=body)

        seen = []
        for part in range(10):
            count = len(await measured(send, 8, seconds / 10))
            rss_mb = psutil.Process(pid).memory_info().rss / 1e6
            seen.append({"second": round((part + 1) * seconds / 10), "answers": count, "rss_mb": round(rss_mb, 1)})
        return seen


def main() -> None:
    """Start a service, measure, publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--soak", type=float, default=0.0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "s.yml"
        settings.write_text("service: {max_running: 64, requests_per_minute: 1000000}\n", encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "groundrails", "serve", "--port", "0", "--config", str(settings)],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        url = re.findall(r"http://\S+", process.stdout.readline())[0]
        try:
            rows = asyncio.run(compare(url, arguments.seconds, arguments.rounds))
            memory = asyncio.run(soak(url, process.pid, arguments.soak)) if arguments.soak else []
        finally:
            process.terminate()
            process.wait(60)
    table = [["clients", "engine alone, answers/s", "service, answers/s", "ratio", "service p50 / p95 / p99 ms"]]
    for row in rows:
        of = row["service"]
        table.append(
            [str(row["clients"]), f"{row['engine']['per_s']:.1f}", f"{of['per_s']:.1f}", f"{row['ratio']:.2f}",
             f"{of['p50_ms']:.0f} / {of['p95_ms']:.0f} / {of['p99_ms']:.0f}"]
        )  # fmt: skip
    publish("service", table, {"rows": rows, "soak": memory})


if __name__ == "__main__":
    main()
