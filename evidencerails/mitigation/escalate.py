"""Hands an answer to a person when too much depends on it for how sure it is.

escalate(O) when stakes(O) * (1 - confidence(O)) > threshold, or when a policy says so. Three tiers: an asynchronous
review changes nothing; a synchronous one withholds the answer until a person has let it through; a blocking one holds
the turn. What cannot be queued, or is not decided in time, becomes the settings' fallback: never an answer unchecked.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError
from evidencerails.exchange import Exchange
from evidencerails.policy import severest
from evidencerails.report import DECISIONS, Decision, Report, Review, ReviewState, ReviewTier

log = logging.getLogger("evidencerails")

WITHOUT_QUEUE: Decision = "block"
"""What `escalate` becomes where no review queue is set up."""
STAKES = {"low": 0.3, "medium": 0.6, "high": 1.0}
"""What stakes count in the risk: with the default tiers low ones never escalate, and only high ones block."""
_may_hold: ContextVar[bool] = ContextVar("evidencerails_may_hold", default=True)


class ReviewItem(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def report_id(self) -> str | None: ...
    @property
    def state(self) -> ReviewState: ...
    @property
    def tier(self) -> ReviewTier: ...
    @property
    def risk(self) -> float: ...
    @property
    def reviewer(self) -> str | None: ...


class Desk(Protocol):
    """Where answers are handed to people: `operations.review.desk.ReviewDesk`."""

    async def submit(self, report: Report, exchange: Exchange, tier: ReviewTier, risk: float) -> ReviewItem: ...

    async def decision(self, review_id: str) -> tuple[ReviewItem, str | None]:
        """The review once it is decided or its time is over, and the text that a person let through."""
        ...


@contextmanager
def no_turn_is_held() -> Iterator[None]:
    """Inside, blocking reviews are synchronous ones: for callers that hold a lock which other turns need, as NeMo's
    `process_events_async` does."""
    token = _may_hold.set(False)
    try:
        yield
    finally:
        _may_hold.reset(token)


async def escalate(
    report: Report,
    exchange: Exchange,
    config: GuardConfig,
    *,
    desk: Desk | None = None,
    cap: Decision | None = None,
) -> Report:
    """The report after a person has been asked, if one has to be; never raises.

    Args:
        desk: of the guard; required where the settings have `escalation`.
        cap: the severest decision the calling flow may take; below `escalate` a review never changes the answer.
    """
    if config.activation == "shadow":
        return report
    if config.escalation is None or desk is None:
        if report.decision != "escalate":
            return report
        return _unavailable(report, "asynchronous", 0.0, "no_review_queue: set `escalation`", WITHOUT_QUEUE)
    risk = risk_of(report, exchange, config)
    tier = _tier(report, risk, config, exchange, cap)
    if tier is None:
        return report
    try:
        item = await desk.submit(report, exchange, tier, risk)
        report = report.model_copy(update={"id": item.report_id or report.id})
        return _queued(report, item) if tier != "blocking" else await _held(report, exchange, item, config, desk)
    except EvidencerailsError as error:
        log.error("evidencerails: an answer could not be given to a reviewer: %s", error)
        return _unavailable(report, tier, risk, f"no_review_queue: {error}", config.escalation.fallback)


def _tier(
    report: Report, risk: float, config: GuardConfig, exchange: Exchange, cap: Decision | None
) -> ReviewTier | None:
    """The tier of an answer; None if no person has to look at it."""
    assert config.escalation is not None
    by_policy = report.decision == "escalate"
    by_risk = config.escalation.by_risk and not report.is_blocked and not _is_repaired(report)
    if not by_policy and not by_risk:
        return None
    tier = tier_of(risk, config)
    if by_policy and tier in (None, "asynchronous"):
        tier = "synchronous"  # a policy wants the answer withheld; an asynchronous review would not
    if tier is None:
        return None
    if exchange.is_chunk or (cap is not None and DECISIONS.index(cap) < DECISIONS.index("escalate")):
        return "asynchronous"  # a stream cannot wait and cannot be released later; a capped flow may not hold anything
    return "synchronous" if tier == "blocking" and not _may_hold.get() else tier


def confidence_of(report: Report) -> float | None:
    """How sure the answer is, in [0, 1]: the weighted confidence of abstention where measured, else 1 - the score.

    None for an answer that could not be checked.
    """
    if report.abstention is not None and report.abstention.confidence is not None:
        return report.abstention.confidence
    if report.status == "unverified" or report.hallucination_score is None:
        return None
    return 1.0 - report.hallucination_score


def risk_of(report: Report, exchange: Exchange, config: GuardConfig) -> float:
    """stakes * (1 - confidence), in [0, 1]; an unmeasured confidence counts as 0."""
    return STAKES[exchange.stakes or config.severity.stakes] * (1.0 - (confidence_of(report) or 0.0))


def tier_of(risk: float, config: GuardConfig) -> ReviewTier | None:
    """The tier for a risk; None if it is below them all."""
    assert config.escalation is not None
    tiers = config.escalation.tiers
    names: tuple[ReviewTier, ...] = ("blocking", "synchronous", "asynchronous")
    return next((name for name in names if risk > getattr(tiers, name)), None)


def _is_repaired(report: Report) -> bool:
    """True if the text that leaves is not the one that the score is about."""
    return report.repair is not None and report.repair.status == "repaired" and report.answer == report.repair.text


def _queued(report: Report, item: ReviewItem) -> Report:
    """An asynchronous review leaves the decision as it is; a synchronous one withholds the answer."""
    review = Review(id=item.id, tier=item.tier, state="pending", risk=item.risk)
    if item.tier == "asynchronous":
        return report.model_copy(update={"review": review})
    withheld = {"decision": "escalate", "decided_by": _decider(report, item), "answer": None}
    return report.model_copy(update={"review": review, **withheld})


async def _held(report: Report, exchange: Exchange, item: ReviewItem, config: GuardConfig, desk: Desk) -> Report:
    """The report once a person has decided, or nobody has in time."""
    assert config.escalation is not None
    started = time.perf_counter()
    decided, released = await desk.decision(item.id)
    waited_ms = (time.perf_counter() - started) * 1000
    report = report.model_copy(update={"timings_ms": {**report.timings_ms, "review": waited_ms}})
    return _concluded(report, exchange, decided, released, config.escalation.fallback)


def _concluded(
    report: Report, exchange: Exchange, item: ReviewItem, released: str | None, fallback: Decision
) -> Report:
    review = Review(id=item.id, tier=item.tier, state=item.state, risk=item.risk, reviewer=item.reviewer)
    changes = {"review": review, "decided_by": _decider(report, item)}
    if released is not None:
        answer = None if released == exchange.response else released
        return report.model_copy(update={**changes, "decision": "allow", "answer": answer})
    decision = "block" if item.state == "rejected" else _at_least(fallback, report)
    return _without_withheld_text(report.model_copy(update={**changes, "decision": decision}))


def _unavailable(report: Report, tier: ReviewTier, risk: float, reason: str, fallback: Decision) -> Report:
    """The report of an answer that no person can look at now."""
    state: ReviewState = "unavailable"
    review = Review(tier=tier, state=state, risk=risk, reason=reason)
    if tier == "asynchronous" and report.decision != "escalate":
        return report.model_copy(update={"review": review})
    decided_by = f"{report.decided_by}, review {state}"
    changes = {"review": review, "decision": _at_least(fallback, report), "decided_by": decided_by}
    return _without_withheld_text(report.model_copy(update=changes))


def _without_withheld_text(report: Report) -> Report:
    """A blocked report's `answer` is the user's message instead; it must not be the text that nobody approved."""
    return report.model_copy(update={"answer": None}) if report.is_blocked else report


def _at_least(fallback: Decision, report: Report) -> Decision:
    """The fallback, or the report's own decision if that is severer; `escalate` has been tried."""
    return severest([fallback, "allow" if report.decision == "escalate" else report.decision])


def _decider(report: Report, item: ReviewItem) -> str:
    who = f" by {item.reviewer}" if item.reviewer else ""
    return f"{report.decided_by}, {item.tier} review {item.state}{who}"
