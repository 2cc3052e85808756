"""Which of several configurations made the answers worse, by bisection on an evaluation set."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from evidencerails.errors import InputError
from evidencerails.exchange import Exchange
from evidencerails.report import Report

MAX_UNVERIFIED = 0.5
"""Share of rows that may end unverified before a configuration cannot be scored."""


class Case(NamedTuple):
    """One row of the evaluation set: without a response where the configuration's own app is to answer, and what
    people say about the response, if anybody did."""

    exchange: Exchange
    hallucinated: bool | None


class Scored(NamedTuple):
    """A configuration on the evaluation set. The score is from 0 to 1, higher is worse: the share of rows judged
    wrongly where they are labelled, else the mean hallucination score."""

    score: float
    rows: int
    unverified: int


class Found(NamedTuple):
    """The place of the first bad configuration, None if the last one is not worse than the first; the score above which
    one was taken for bad; and the scores of those that were evaluated, by place."""

    first_bad: int | None
    max_score: float
    scores: dict[int, Scored]


async def bisected(
    count: int, evaluate: Callable[[int], Awaitable[Scored]], *, max_score: float | None = None, min_rise: float = 0.05
) -> Found:
    """The first bad one of `count` configurations in the order in which they came, the first of which was good.

    It takes about log2(count) + 1 evaluations, and holds if every configuration after the first bad one is bad too.
    One is bad above `max_score`, or halfway between the first and the last; nothing is looked for if these are less
    than `min_rise` apart.
    """
    if count < 2:
        raise InputError(f"{count} configurations; bisection needs a good one and at least one after it")
    scores: dict[int, Scored] = {}

    async def score(place: int) -> float:
        if place not in scores:
            scores[place] = await evaluate(place)
        return scores[place].score

    first, last = await score(0), await score(count - 1)
    limit = (first + last) / 2.0 if max_score is None else max_score
    if first > limit and last > limit:
        raise InputError(f"the first configuration is bad itself: score {first:.3f} above {limit:.3f}; begin earlier")
    if last - first < min_rise or last <= limit:
        return Found(None, limit, scores)
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if await score(middle) > limit else (middle + 1, high)
    return Found(high, limit, scores)


def scored(cases: Sequence[Case], reports: Sequence[Report]) -> Scored:
    """The score of a configuration by what it made of each case; a labelled one that could not be verified counts as
    judged wrongly."""
    unverified = sum(report.status == "unverified" for report in reports)
    labelled = [case.hallucinated is not None for case in cases]
    if any(labelled) and not all(labelled):
        raise InputError(f"{sum(labelled)} of {len(cases)} rows have a label; give all of them one, or none")
    if cases and all(labelled):
        right = {True: "hallucinated", False: "grounded"}
        wrong = [right[bool(case.hallucinated)] != report.status for case, report in zip(cases, reports, strict=True)]
        return Scored(statistics.fmean(wrong), len(cases), unverified)
    if unverified >= max(1.0, MAX_UNVERIFIED * len(cases)):
        why = next(report.reason for report in reports if report.status == "unverified")
        raise InputError(f"{unverified} of {len(cases)} rows could not be verified ({why})")
    found = [report.hallucination_score for report in reports if report.hallucination_score is not None]
    return Scored(statistics.fmean(found), len(cases), unverified)


def case_of(fields: dict[str, Any]) -> Case:
    """A row: `response` or a `prompt` to be answered, `evidence`, and optionally `hallucinated`."""
    from evidencerails.operations.batch.runner import exchange_of

    label = fields.get("hallucinated")
    if label is not None and not isinstance(label, bool):
        raise InputError(f"hallucinated is {label!r}; expected true or false")
    if fields.get("response") is None and not fields.get("prompt"):
        raise InputError("a row needs a response, or a prompt for the configuration's app to answer")
    if fields.get("response") is None and label is not None:
        raise InputError("hallucinated is about a response; this row has none")
    return Case(exchange_of({**fields, "response": fields.get("response") or ""}), label)
