"""groundrails, measured as the others are. Run by run.py."""

from __future__ import annotations

import asyncio
import re
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
before = time.perf_counter()
from groundrails import Guard  # noqa: E402

IMPORT_S = time.perf_counter() - before
import numpy as np  # noqa: E402
from cases import CASES, TEN, TEN_EVIDENCE, done, rows_in, stub_scores  # noqa: E402


class StubNli:
    """An NLI model that says what the case wants; columns entailment, neutral, contradiction."""

    name, version, max_tokens = "stub", "1", 512
    languages: tuple[str, ...] = ("en",)

    def __init__(self, kind: str, wait_s: float = 0.0) -> None:
        self.kind, self.wait_s = kind, wait_s

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
        time.sleep(self.wait_s)
        return np.array([(e, n, c) for c, e, n in stub_scores(self.kind, list(pairs))], np.float32).reshape(-1, 3)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


GROUNDING = {"checks": ["grounding"]}


async def said(one: dict[str, Any], llm: dict[str, Any]) -> str:
    """What a user sees: only `grounded` passes."""
    if one["nli"]:
        guard = Guard(GROUNDING, nli=StubNli(one["nli"]))
    else:
        key = {} if one["judge"] else {"api_key_env": "NO_SUCH_KEY"}
        settings = {"checks": ["claims"], "claims": {"classifier": "llm"}, "llm": {**llm, **key}}
        if not one["judge"]:
            settings["llm"].pop("api_key")
        guard = Guard(settings)
    try:
        report = await guard.check(one["answer"], evidence=one["evidence"])
    except Exception as error:
        return f"raised {type(error).__name__}"
    return {"grounded": "passed", "hallucinated": "flagged"}.get(report.status, report.status)


async def stall() -> tuple[float, float]:
    """Longest stop of the event loop and seconds in all, with 8 checks at once and a model that takes 0.5 s."""
    guard, worst = Guard(GROUNDING, nli=StubNli("entailment", 0.5)), 0.0
    await guard.check(TEN, evidence=TEN_EVIDENCE)  # loads what is loaded once

    async def watch() -> None:
        nonlocal worst
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(0.001)
            worst = max(worst, time.perf_counter() - begin - 0.001)

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0.05)
    worst, begin = 0.0, time.perf_counter()
    await asyncio.gather(*(guard.check(f"{TEN} Text {n} is here.", evidence=TEN_EVIDENCE) for n in range(8)))
    seconds = time.perf_counter() - begin
    watcher.cancel()
    return worst * 1000, seconds


async def main() -> None:
    """All measurements."""
    llm = {"model": "replay", "base_url": sys.argv[3], "api_key": "any", "max_retries": 0}
    found: dict[str, Any] = {"import_s": IMPORT_S, "cases": {name: await said(one, llm) for name, one in CASES.items()}}
    rows = rows_in(sys.argv[1])
    guard, times = Guard(GROUNDING, nli=StubNli("entailment")), []
    await guard.check("The first call loads what is loaded once.", evidence=TEN_EVIDENCE)
    for row in rows:
        begin = time.perf_counter()
        await guard.check(row["response"], evidence=row["evidence"])
        times.append((time.perf_counter() - begin) * 1000)
    found["overhead_ms"] = statistics.median(times)
    found["responses_per_s"] = len(rows) / (sum(times) / 1000)
    found["stall_ms"], found["eight_checks_s"] = await stall()
    guard, found["scores"] = Guard(GROUNDING), []
    for row in rows:
        report = await guard.check(row["response"], evidence=row["evidence"])
        found["scores"].append([report.status == "hallucinated", report.hallucination_score])
    done(found)


async def ten_claims() -> None:
    """One judged answer of ten claims; the runner counts the requests."""
    llm = {"model": "replay", "base_url": sys.argv[3], "api_key": "any"}
    settings = {"checks": ["claims"], "claims": {"classifier": "llm"}, "llm": llm}
    await Guard(settings).check(TEN, evidence=TEN_EVIDENCE)
    done({})


asyncio.run(ten_claims() if sys.argv[4] == "calls" else main())
