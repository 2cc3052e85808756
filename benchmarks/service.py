"""The service against the engine alone: answers a second and latency, at 1, 8 and 64 clients.

    python benchmarks/service.py            # the service against the engine; about 3 minutes
    python benchmarks/service.py --soak 600 # only its memory, under load for so many seconds
    python benchmarks/service.py --chaincheck DIR   # only the servers: ChainCheck's, in an environment made in DIR

Each writes its part of the documentation and of benchmarks/service.json, from which docs/operations.md has its sizing.
Engine and service run the same answers with the same number under way, in turns, so that other work on the machine
slows both alike. The service is a process of its own; its clients share the machine with it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from tables import machine, publish
from wire import Wire

from evidencerails import Guard
from evidencerails.exchange import Exchange

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
RESULTS = Path(__file__).resolve().parent / "service.json"
STUB_WAIT_S = 0.02
"""What the stub takes a call, in both servers."""
PARTS = 20
"""Of a soak: memory is read at the end of each."""
FLAT_MB_PER_HOUR = 20.0
"""Growth of memory over the second half of a soak, at most, that counts as flat: an allocator's noise over minutes."""
MIN_SOAK_S = 300.0
"""Seconds below which a soak is too short to say."""
CHAINCHECK = ["--no-deps", "chaincheck==0.6.0"]
LIGHT = [
    "openai",
    "anthropic",
    "diskcache",
    "numpy",
    "pydantic",
    "fastapi",
    "slowapi",
    "typer",
    "rich",
    "httpx",
    "uvicorn",
]
"""What ChainCheck imports besides torch, sentence-transformers and datasets, which the stub makes unnecessary."""

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
    rows = []
    async with Wire(url) as client:

        async def to_engine(body: dict[str, Any]) -> None:
            (await guard.check_exchange(Exchange.of(body["response"], evidence=body["evidence"]))).plain()

        async def to_service(body: dict[str, Any]) -> None:
            await client.post("/v1/check", body)

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


async def soak(url: str, pid: int, seconds: float) -> dict[str, Any]:
    """Memory of the service while 8 clients keep it busy, and how it moves over the second half."""
    async with Wire(url) as client:

        async def send(body: dict[str, Any]) -> None:
            await client.post("/v1/check", body)

        seen, started = [], time.perf_counter()
        for _ in range(PARTS):
            count = len(await measured(send, 8, seconds / PARTS))
            rss_mb = psutil.Process(pid).memory_info().rss / 1e6
            at = time.perf_counter() - started
            seen.append({"second": round(at, 1), "answers": count, "rss_mb": round(rss_mb, 1)})
    later = seen[PARTS // 2 :]
    slope = statistics.linear_regression([part["second"] for part in later], [part["rss_mb"] for part in later]).slope
    hourly = round(slope * 3600.0, 1)
    return {
        "seconds": round(seen[-1]["second"]),
        "answers": sum(part["answers"] for part in seen),
        "rss_mb_first": seen[0]["rss_mb"],
        "rss_mb_half": later[0]["rss_mb"],
        "rss_mb_last": seen[-1]["rss_mb"],
        "mb_per_hour_second_half": hourly,
        "is_flat": None if seconds < MIN_SOAK_S else hourly <= FLAT_MB_PER_HOUR,
        "parts": seen,
    }


@contextlib.contextmanager
def serving(command: list[str], folder: Path) -> Iterator[tuple[str, int]]:
    """A server that prints its address first: address and process id. It is stopped with the block."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield re.findall(r"http://\S+", process.stdout.readline())[0], process.pid
    finally:
        process.terminate()
        process.wait(60)


async def peers(servers: dict[str, tuple[str, str]], seconds: float, rounds: int) -> list[dict[str, Any]]:
    """Servers by name, with address and path of a check, in turns, at each number of clients."""
    rows = []
    for url, path in servers.values():
        await at_server(url, path, 4, 2.0)
    for clients in CLIENTS:
        times: dict[str, list[float]] = {name: [] for name in servers}
        for _ in range(rounds):
            for name, (url, path) in servers.items():
                times[name] += await at_server(url, path, clients, seconds)
        rows.append({"clients": clients, **{n: figures(taken, seconds * rounds) for n, taken in times.items()}})
    return rows


async def at_server(url: str, path: str, clients: int, seconds: float) -> list[float]:
    """Latencies at one server, over connections of their own: servers close those that rest for a few seconds."""
    async with Wire(url) as client:

        async def send(body: dict[str, Any]) -> None:
            theirs = {"response": body["response"], "context": " ".join(body["evidence"]), "methods": ["nli"]}
            await client.post(path, body if path.startswith("/v1") else theirs)

        return await measured(send, clients, seconds)


def environment_in(folder: Path) -> str:
    """The Python of an environment with ChainCheck, made if it is not there."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        for packages in (CHAINCHECK, LIGHT):
            subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    return str(python)


def keep(name: str, data: Any) -> None:
    """Put a part into the file of results, with the machine it was measured on."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    kept[name] = {"machine": machine(), "result": data}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def publish_load(rows: list[dict[str, Any]], rss_mb: float) -> None:
    """The table of the service against the engine."""
    table = [["clients", "engine alone, answers/s", "service, answers/s", "ratio", "service p50 / p95 / p99 ms"]]
    for row in rows:
        of = row["service"]
        table.append(
            [str(row["clients"]), f"{row['engine']['per_s']:.1f}", f"{of['per_s']:.1f}", f"{row['ratio']:.2f}",
             f"{of['p50_ms']:.0f} / {of['p95_ms']:.0f} / {of['p99_ms']:.0f}"]
        )  # fmt: skip
    data = {"rows": rows, "rss_mb": rss_mb}
    publish("service", table, data)
    keep("load", data)


def publish_soak(found: dict[str, Any]) -> None:
    """The line of the soak."""
    table = [["seconds", "answers", "MB at first / half-way / at the end", "MB an hour, second half", "flat"]]
    rss = " / ".join(f"{found[name]:.0f}" for name in ("rss_mb_first", "rss_mb_half", "rss_mb_last"))
    flat = {True: "yes", False: "no", None: "too short to say"}[found["is_flat"]]
    table.append([str(found["seconds"]), str(found["answers"]), rss, f"{found['mb_per_hour_second_half']:+.1f}", flat])
    publish("soak", table, found)
    keep("soak", found)


def publish_peers(rows: list[dict[str, Any]]) -> None:
    """The table of the servers with a stub model."""
    names = [name for name in rows[0] if name != "clients"]
    table = [["clients", *(f"{name}: answers/s, p50 / p95 / p99 ms" for name in names)]]
    for row in rows:
        cells = [
            "{per_s:.1f}, {p50_ms:.0f} / {p95_ms:.0f} / {p99_ms:.0f}".format(**row[name])  # ours and theirs alike
            for name in names
        ]
        table.append([str(row["clients"]), *cells])
    publish("servers", table, {"rows": rows, "stub_wait_s": STUB_WAIT_S})
    keep("servers", {"rows": rows, "stub_wait_s": STUB_WAIT_S})


def main() -> None:
    """Start what is to be measured, measure, publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--soak", type=float, default=0.0)
    parser.add_argument("--chaincheck", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        if given.chaincheck is not None:
            stub, wait = str(Path(__file__).resolve().parent / "service_stubs.py"), str(STUB_WAIT_S)
            places = {}
            for peer, python, path in (
                ("evidencerails", sys.executable, "/v1/check"),
                ("chaincheck", environment_in(given.chaincheck), "/check"),
            ):
                (folder / peer).mkdir()
                url, _ = stack.enter_context(serving([python, stub, peer, wait], folder / peer))
                places[peer] = (url, path)
            publish_peers(asyncio.run(peers(places, given.seconds, given.rounds)))
            return
        settings = folder / "s.yml"
        store = "store: {url: 'sqlite:///reports.db'}\n" if given.soak else ""
        limits = "service: {max_concurrency: 64}\n"
        settings.write_text(store + limits, encoding="utf-8")
        command = [sys.executable, "-m", "evidencerails", "serve", "--port", "0", "--config", str(settings)]
        url, pid = stack.enter_context(serving(command, folder))
        if given.soak:
            publish_soak(asyncio.run(soak(url, pid, given.soak)))
            return
        rows = asyncio.run(compare(url, given.seconds, given.rounds))
        publish_load(rows, round(psutil.Process(pid).memory_info().rss / 1e6, 1))


if __name__ == "__main__":
    main()
