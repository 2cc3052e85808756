"""Hostile inputs over every surface: how many pass in silence, crash something, or lose a row?

    python benchmarks/audit.py [SURFACE ...]

The inputs, with what must come of each, are in `audit_cases.py`. Prints what came otherwise and the counts, and exits 1
if any is not 0. If all surfaces ran, the counts are written into docs/reference/audit.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import audit_cases as cases
import audit_nemo
import httpx
from tables import publish

from evidencerails import Guard, errors
from evidencerails.cli.main import run
from evidencerails.exchange import Exchange
from evidencerails.operations.store import Store, queries
from evidencerails.report import Report
from evidencerails.settings.operations import StoreSettings
from evidencerails.testing import ReplayServer

FAULTS = ("silent pass", "crash", "lost row", "false alarm")
COMMAND = [sys.executable, "-m", "evidencerails"]
EXITS = {0: "passed", 1: "caught", 3: "caught", 2: "refused", 74: "refused"}
SLOW_S = 120.0
"""An input that takes longer counts as a crash."""
KILLS = 4


class Outcome(NamedTuple):
    """What came of one input."""

    shown: str
    expected: str
    found: str
    lost: int = 0

    @property
    def fault(self) -> str | None:
        """Which count it raises; None if all is well."""
        if self.lost:
            return "lost row"
        if self.found.startswith("crash"):
            return "crash"
        if self.expected in ("any", self.found):
            return None
        return "silent pass" if self.found == "passed" else "false alarm" if self.expected == "passed" else None


def verdict(report: Report | Mapping[str, Any]) -> str:
    """A report in one word; a check that ended by an error which is none of ours is a crash."""
    plain = report.plain() if isinstance(report, Report) else report
    for check in plain["checks"].values():
        kind = (check.get("details") or {}).get("error")
        if kind and not hasattr(errors, kind):
            return f"crash: {check['name']}: {check['reason']}"
    return "passed" if plain["status"] == "grounded" and plain["decision"] == "allow" else "caught"


def attempt(call: Callable[..., str], *positional: Any, **named: Any) -> str:
    """What a call comes to; errors of ours are refusals, all others crashes."""
    started = time.perf_counter()
    try:
        found = call(*positional, **named)
    except errors.ResponseBlockedError:
        found = "caught"
    except errors.EvidencerailsError:
        found = "refused"
    except Exception as error:  # what is looked for
        found = f"crash: {type(error).__name__}: {error}"
    seconds = time.perf_counter() - started
    return found if seconds < SLOW_S else f"crash: took {seconds:.0f} s"


def pairs(table: Mapping[str, Iterable[Any]]) -> Iterator[tuple[str, Any]]:
    """Expectation and input, one by one."""
    return ((expected, one) for expected, inputs in table.items() for one in inputs)


def engine() -> Iterator[Outcome]:
    """`Guard`: answers, arguments, settings, and checks that are cancelled."""
    guard = Guard()

    def check(arguments: Mapping[str, Any]) -> str:
        return verdict(guard.check_sync(**arguments))

    answers = ((expected, {"response": one, "evidence": cases.EVIDENCE}) for expected, one in pairs(cases.ANSWERS))
    for expected, arguments in (*answers, *pairs(cases.ARGUMENTS)):
        yield Outcome(repr(arguments), expected, attempt(check, arguments))
    for settings in cases.SETTINGS:
        if isinstance(settings, str):
            Path("settings.yml").write_text(settings, encoding="utf-8")
        made = "settings.yml" if isinstance(settings, str) else settings
        yield Outcome(repr(settings), "refused", attempt(lambda given: repr(Guard(given)) and "passed", made))

    async def cancelled() -> str:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(guard.check(cases.BAD * 500, evidence=cases.EVIDENCE * 500), 0.05)
        reports = await asyncio.gather(*(guard.check(cases.BAD, evidence=cases.EVIDENCE) for _ in range(50)))
        return next(iter({verdict(one) for one in reports} - {"caught"}), "caught")

    yield Outcome("one is cancelled, then 50 at once", "caught", attempt(lambda: asyncio.run(cancelled())))


def judge() -> Iterator[Outcome]:
    """Models that ramble, lie or fail, asked about BAD."""
    asked = {"evidence": cases.EVIDENCE, "prompt": cases.QUESTION, "samples": [cases.BAD]}
    with ReplayServer() as server:
        llm = {"base_url": server.base_url, "model": "replay", "api_key": "any", "max_retries": 0}
        for expected, (settings, reply) in pairs(cases.JUDGES):
            server.reset()
            server.reply(**({"text": reply} if isinstance(reply, str) else reply), when=lambda _: True)
            guard = Guard({**settings, "llm": llm})
            found = attempt(lambda made: verdict(made.check_sync(cases.BAD, **asked)), guard)
            guard.close()
            yield Outcome(f"{settings['checks']} {reply!r}", expected, found)


def langchain() -> Iterator[Outcome]:
    """A step behind strings, messages, mappings, objects, and what is none of these."""
    from langchain_core.runnables import RunnableLambda

    step = Guard().as_runnable(evidence=cases.EVIDENCE, on="raise")

    def invoke(value: Any) -> str:
        answer = (RunnableLambda(lambda _: value) | step).invoke(cases.QUESTION)
        given = getattr(answer, "response_metadata", answer if isinstance(answer, dict) else {})
        if report := given.get("hallucination_report"):
            return verdict(report)
        return "passed" if answer == value else "caught"

    for expected, value in pairs(cases.chain_values()):
        yield Outcome(repr(value), expected, attempt(invoke, value))


def command_line() -> Iterator[Outcome]:
    """Commands, with what Python prints of an error as the sign of a crash."""
    for name, data in cases.FILES.items():
        Path(name).write_bytes(data)

    def exit_code(arguments: list[str]) -> str:
        with contextlib.ExitStack() as stack:
            out, err = (stack.enter_context(open(name, "w", encoding="utf-8")) for name in ("out", "err"))
            stack.enter_context(contextlib.redirect_stdout(out))
            stack.enter_context(contextlib.redirect_stderr(err))
            try:
                run(arguments)
            except SystemExit as end:
                code = end.code
        said = Path("err").read_text(encoding="utf-8")
        return EXITS[code] if code in EXITS and "Traceback" not in said else f"crash: {code} {said[-300:]}"

    for expected, arguments in pairs(cases.COMMANDS):
        yield Outcome(repr(arguments), expected, attempt(exit_code, arguments))
    with open("/dev/full", "wb") as full:
        command = [*COMMAND, "check", "-r", cases.GOOD, "-t", cases.EVIDENCE]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    found = "crash" if b"Traceback" in done.stderr else EXITS.get(done.returncode, "crash")
    yield Outcome("check > /dev/full", "refused", found)


def batch() -> Iterator[Outcome]:
    """A file of hostile rows, once in one go, once killed again and again."""
    rows = [*cases.ROWS] * 3
    Path("rows.jsonl").write_bytes(b"\n".join(row for _, row in rows) + b"\n")
    for name, kills in (("whole", 0), ("killed", KILLS)):
        command = [*COMMAND, "batch", "rows.jsonl", f"{name}.jsonl"]
        for _ in range(kills):
            _killed_at_the_next_row(command, Path(f"{name}.jsonl"))
        subprocess.run(command, capture_output=True, check=False)
        found: dict[int, list[str]] = {}
        for path in Path().glob(f"{name}*.jsonl"):
            for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                found.setdefault(row["row"], []).append(verdict(row["report"]) if "report" in row else "refused")
        for number, (expected, data) in enumerate(rows, start=1):
            here = found.get(number, [])
            yield Outcome(f"{name} {data!r}", expected, here[0] if here else "refused", lost=int(len(here) != 1))


def _killed_at_the_next_row(command: list[str], output: Path) -> None:
    before = output.stat().st_size if output.exists() else 0
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while job.poll() is None and not (output.exists() and output.stat().st_size > before):
        time.sleep(0.01)
    job.kill()
    job.wait()


def store() -> Iterator[Outcome]:
    """Reports kept while the database is locked, deleted or cannot be made, and by a process that is killed."""
    report = Guard().check_sync(cases.BAD, evidence=cases.EVIDENCE)
    exchange = Exchange.of(cases.BAD, evidence=cases.EVIDENCE)

    def kept(name: str, trouble: Callable[[Path], Callable[[], None]], count: int = 200) -> Outcome:
        folder = Path(name)
        settings = StoreSettings(url=f"sqlite:///{folder}/s.db", queue_size=1_000)
        end = trouble(folder)
        with Store(settings) as it:
            for number in range(count):
                it.put(report.model_copy(update={"id": f"{name}-{number}"}), exchange)
            it.flush(10)
            end()
            deadline = time.monotonic() + 60
            while (found := _count(it)) < count and time.monotonic() < deadline:
                time.sleep(0.2)
            return Outcome(f"store {name}", "caught", "caught", lost=count - found)

    def locked(folder: Path) -> Callable[[], None]:
        folder.mkdir()
        other = sqlite3.connect(folder / "s.db", isolation_level=None, check_same_thread=False)
        other.execute("BEGIN EXCLUSIVE")
        return other.close

    def nowhere(folder: Path) -> Callable[[], None]:
        folder.write_text("a file where the folder should be")
        return folder.unlink

    yield kept("locked", locked)
    yield kept("nowhere", nowhere)
    for kills in range(KILLS):
        yield _killed_writer(Path(f"killed-{kills}"))


def _count(it: Store) -> int:
    try:
        return queries.count(it.engine)
    except errors.StoreError:
        return 0


WRITER = """
import sys
from evidencerails import Guard
guard = Guard({"store": {"url": f"sqlite:///{sys.argv[1]}.db"}})
for number in range(1000):
    guard.check_sync("It opened.", evidence="It opened in 1889.")
    guard.store.flush(10)
    print(number, flush=True)
"""


def _killed_writer(name: Path) -> Outcome:
    """Whatever a killed process had seen written is there."""
    job = subprocess.Popen([sys.executable, "-c", WRITER, str(name)], stdout=subprocess.PIPE, text=True)
    assert job.stdout is not None
    seen = [job.stdout.readline() for _ in range(5)]
    job.kill()
    seen += job.stdout.readlines()
    job.wait()
    with Store(StoreSettings(url=f"sqlite:///{name}.db")) as it:
        return Outcome(f"store {name}", "caught", "caught", lost=max(0, len(seen) - _count(it)))


@contextlib.contextmanager
def serving() -> Iterator[tuple[str, Path]]:
    """`evidencerails serve` with a store: its address and its log."""
    log = Path("service.log")
    Path("service.yml").write_text("evidencerails: {store: {url: 'sqlite:///service.db'}}", encoding="utf-8")
    command = [*COMMAND, "serve", "-c", "service.yml", "--port", "0"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, text=True)
    assert process.stdout is not None
    try:
        yield re.findall(r"http://\S+", process.stdout.readline())[0], log
    finally:
        process.terminate()
        process.wait(60)


def service() -> Iterator[Outcome]:
    """Requests of every shape, a batch in which most items are bad, callers who leave; the log in the end."""
    bad = {"response": cases.BAD, "evidence": cases.EVIDENCE}
    with serving() as (url, log), httpx.Client(base_url=url, timeout=SLOW_S, trust_env=False) as client:
        while client.get("/readyz").status_code != 200:
            time.sleep(0.2)
        for expected, (path, body) in pairs(cases.BODIES):
            yield Outcome(f"{path} {body!r}", expected, attempt(_answered, client, path, body))
        items = [bad, 3, {**bad, "response": cases.GOOD}, {"response": cases.HALF}, None] * 20
        results = _post(client, "/v1/batch", {"items": items}).json()["results"]
        found = [verdict(one["report"]) if "report" in one else "refused" for one in results]
        is_right = found == ["caught", "refused", "passed", "refused", "refused"] * 20
        lost = len(items) - len(results)
        yield Outcome("batch of all kinds", "passed", "passed" if is_right else f"crash: {found}", lost=lost)

        def leave(number: int) -> None:
            body = {"response": cases.BAD * 200, "evidence": cases.EVIDENCE * 20}
            with contextlib.suppress(httpx.HTTPError):
                httpx.post(f"{url}/v1/check", json=body, timeout=0.02 * (1 + number % 5), trust_env=False)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(leave, range(40)))
        yield Outcome("after 40 callers who left", "caught", attempt(_answered, client, "/v1/check", bad))
    traces = re.findall(r"Traceback.*|request failed.*", log.read_text(encoding="utf-8"))
    yield Outcome("the log of the service", "passed", f"crash: {traces[:3]}" if traces else "passed")


def _post(client: httpx.Client, path: str, body: Any) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, content=content, headers={"content-type": "application/json"})


def _answered(client: httpx.Client, path: str, body: Any) -> str:
    answer = client.get(path) if body is None else _post(client, path, body)
    if answer.status_code >= 400:
        return "refused" if answer.status_code < 500 else f"crash: {answer.status_code} {answer.text[:200]}"
    data = [line for line in answer.text.split("\n") if line.startswith("data: ")] or [answer.text]
    return verdict(json.loads(data[-1].removeprefix("data: ")))


def rail() -> Iterator[Outcome]:
    """NeMo apps in each mode, whose model says what it is made to say."""
    for mode, expected, answer, evidence, text in audit_nemo.turns():
        found = "passed" if text.strip() == answer.strip() else "caught"
        is_crash = text.startswith("crash") or "internal error" in text
        yield Outcome(f"{mode} {answer!r} {evidence!r}", expected, f"crash: {text[:300]}" if is_crash else found)


SURFACES: dict[str, Callable[[], Iterator[Outcome]]] = {
    name.__name__: name for name in (engine, judge, langchain, command_line, batch, store, service, rail)
}


def main() -> None:
    """Run, print, write."""
    names = sys.argv[1:] or list(SURFACES)
    os.environ["OPENAI_API_KEY"] = "any"
    logging.getLogger("evidencerails").setLevel(logging.CRITICAL)
    rows, total = [["surface", "inputs", *FAULTS]], Counter[str | None]()
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            found = list(SURFACES[name]())
            os.chdir("/")
        for one in found:
            if one.fault:
                line = f"{one.fault}: {name}: expected {one.expected}, was {one.found}: {one.shown[:200]}"
                print(line, file=sys.stderr)
        counts = Counter(one.fault for one in found)
        rows.append([name.replace("_", " "), str(len(found)), *(str(counts[fault]) for fault in FAULTS)])
        total += counts
    rows.append(["**all**", str(sum(total.values())), *(str(total[fault]) for fault in FAULTS)])
    if names == list(SURFACES):
        publish("audit", rows, {"counts": {fault: total[fault] for fault in FAULTS}})
    else:
        print(*rows, sep="\n")
    sys.exit(any(total[fault] for fault in FAULTS))


if __name__ == "__main__":
    main()
