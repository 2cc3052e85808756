"""What a judge costs a thousand answers: calls, tokens and seconds of each setting, from recorded replies.

    python benchmarks/judge_cost.py [--first-token 0.5] [--tokens-a-second 80]

The table is in docs/reference/benchmarks.md. Calls and tokens are those of the requests that the rail sends and of the
replies of a real model that it gets (`judge_replies.py`). A model's seconds are not recorded, so they are worked out
for a model of the given speed; the rail's own are those of `latency.py`. `per_claim` gets each claim's entry of the
recorded list."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from judge import CASCADE, JUDGED, SETTINGS, Case, cases, outcomes_of
from judge_curve import accuracy_of
from judge_replies import Recorded, Spent, asked_in
from tables import publish

from evidencerails import Guard, Report
from evidencerails.exchange import Exchange, Message
from evidencerails.llm.session import estimated_tokens
from evidencerails.testing import ReplayRequest, ReplayServer

SETS = {"rag answers": "one or two sentences", "held out": "six sentences"}
STEPS = {"rag answers": 9, "held out": 8}
"""Every so many answers of a set; odd beside its order of two right and two wrong ones, so that all are drawn."""
CONSISTENCY = {"checks": ["consistency"]}


def one_by_one(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with a call for each claim."""
    return {**settings, "claims": {**settings["claims"], "calls": "per_claim"}}


ROWS: dict[str, dict[str, Any]] = {
    "always (`llm`), `batch`": JUDGED,  # first: its recorded lists hold the entries that the others are answered by
    "always (`llm`), `per_claim`": one_by_one(JUDGED),
    "cascade (`auto`), `batch`": CASCADE,
    "cascade (`auto`), `per_claim`": one_by_one(CASCADE),
    "never (`classifier: offline`)": SETTINGS["no claim"],
    "self-consistency, two samples": CONSISTENCY,
}


class ByClaim(Recorded):
    """Recorded replies; a claim that is asked about alone, beside less of the evidence, gets its entry of the list."""

    def reply_to(self, messages: list[dict[str, Any]]) -> str | None:
        if reply := super().reply_to(messages):
            return reply
        context, claims = asked_in(messages)
        if len(claims) != 1:
            return None
        asked = (claims[0], _answer_of(context))
        alike = (entry for (other, claim), entry in self._entries.items() if (claim, _answer_of(other)) == asked)
        entry = next(alike, None)
        return None if entry is None else json.dumps({"verdicts": [{**entry, "claim": 1}]})


def _answer_of(context: str) -> str:
    return context.partition("<answer>")[2].partition("</answer>")[0]


class Cost(NamedTuple):
    """What some answers took."""

    answers: int
    calls: int
    spent: list[Spent]
    """Of the calls that were answered; the others count like these."""
    waits: float
    """Calls one after the other, for one answer."""
    accuracy: float | None

    def row(self, name: str, first_token: float, speed: float) -> list[str]:
        """For a thousand answers."""
        answered = max(1, len(self.spent))
        shown, written = (sum(one.shown for one in self.spent), sum(one.written for one in self.spent))
        calls = self.calls / self.answers
        model = self.waits * (first_token + written / answered / speed)
        thousands = (1000 * calls, calls * shown / answered, calls * written / answered)
        figures = [*(f"{value:,.0f}" for value in thousands), f"{self.waits:.2f}"]
        figures.append(f"{1000 * model:,.0f}")
        return [name, *figures, "" if self.accuracy is None else f"{self.accuracy:.3f}"]


def cost(settings: dict[str, Any], chosen: Sequence[Case], recorded: Recorded) -> Cost:
    """The settings over some answers."""
    reports: list[Report] = []
    with ReplayServer() as server:
        guard = Guard({**settings, "llm": {"base_url": server.base_url, "model": "recorded", "api_key": "none"}})
        is_sampled = settings is CONSISTENCY
        samples: list[Spent] = []
        answer = ""

        def sample(request: ReplayRequest) -> list[str]:
            count = int(request.body.get("n") or 1)
            shown = sum(len(str(one["content"])) for one in request.body["messages"])
            samples.append(Spent("sample", estimated_tokens(shown), count * estimated_tokens(len(answer))))
            return [answer] * count

        if is_sampled:
            server.reply(sample, when=lambda _: True)
        else:
            recorded.serve(server)
        guard.check_sync("The shop is open.", evidence=["The shop is open on Monday."])  # loads what is loaded once
        recorded.spent.clear()
        samples.clear()
        for case in chosen:
            answer = case.answer
            asked = "\n\n".join([*case.evidence, case.question]) if is_sampled else case.question
            reports.append(guard.check_sync(answer, evidence=list(case.evidence), prompt=asked or None))
    outcomes = [one for case, report in zip(chosen, reports, strict=True) for one in outcomes_of(case, report)]
    used = [report.llm for report in reports if report.llm]
    waits = sum(one.round_trips for one in used) / len(chosen)
    spent = samples if is_sampled else recorded.spent
    accuracy = None if is_sampled else accuracy_of(outcomes)
    calls = sum(one.calls for one in used)
    return Cost(len(chosen), calls, list(spent), waits, accuracy)


TIMED = 12
"""Requests by which a model's speed is measured, from the shortest to the longest recorded reply."""


async def speed_of(base_url: str, model: str) -> tuple[float, float]:
    """Seconds until a reply begins, and tokens a second, of a model behind an OpenAI-compatible endpoint.

    Requests go out one after the other; a line through tokens written and seconds gives both. The replies are not kept.
    """
    rows = sorted((row for row in Recorded().rows.values() if row["messages"]), key=lambda row: len(row["reply"]))
    llm = {"base_url": base_url, "model": model, "api_key": os.environ.get("OPENAI_API_KEY", "none")}
    budget = {"calls": TIMED, "tokens": 10**7, "seconds": 3_600}
    session = Guard({"llm": {**llm, "budget": budget, "cache": {"backend": "off"}}}).context(Exchange.of(""))[0].llm
    assert session is not None
    written, seconds = [], []
    for row in rows[:: len(rows) // TIMED][:TIMED]:
        before = time.perf_counter()
        reply = (await session.complete([Message(**one) for one in row["messages"]], temperature=0.0)).completions[0]
        seconds.append(time.perf_counter() - before)
        written.append(estimated_tokens(len(reply.text)))
    a_token, first = np.polyfit(written, seconds, 1)
    return max(0.0, float(first)), 1 / max(1e-6, float(a_token))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first-token", type=float, default=0.5, help="seconds until a reply begins")
    parser.add_argument("--tokens-a-second", type=float, default=80.0, help="how fast a reply is written")
    parser.add_argument("--measure", nargs=2, metavar=("BASE_URL", "MODEL"), help="measure these two instead")
    arguments = parser.parse_args()
    if arguments.measure:
        first, rate = asyncio.run(speed_of(*arguments.measure))
        print(f"python benchmarks/judge_cost.py --first-token {first:.2f} --tokens-a-second {rate:.0f}")
        return
    speed = f"begins after {arguments.first_token:g} s, writes {arguments.tokens_a_second:g} tokens a second"
    head = ["judge asked", "calls", "thousand tokens shown", "thousand tokens written", "calls in a row, one answer"]
    table = [[*head, f"seconds of a model that {speed}", "bal. acc."]]
    recorded = ByClaim()
    every = list(cases(None))
    for part, length in SETS.items():
        chosen = [case for case in every if case.set == part][:: STEPS[part]]
        for name, settings in ROWS.items():
            print(f"{part}: {name} ...", file=sys.stderr, flush=True)
            found = cost(settings, chosen, recorded)
            table.append(found.row(f"{length}: {name}", arguments.first_token, arguments.tokens_a_second))
    publish("judge cost", table, {"requests without a reply": len(recorded.missing)})


if __name__ == "__main__":
    main()
