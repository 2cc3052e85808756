"""Hands an answer to a person when too much depends on it for how sure it is.

escalate(O) when stakes(O) * (1 - confidence(O)) > threshold, or when a policy says so. Three tiers: an asynchronous
review changes nothing; a synchronous one withholds the answer until a person has let it through; a blocking one holds
the turn. What cannot be queued, or is not decided in time, becomes the settings' fallback: never an answer unchecked.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError
from evidencerails.exchange import Exchange
from evidencerails.operations.review.package import package_of, risk_of, stakes_of, tier_of
from evidencerails.policy import severest
from evidencerails.report import DECISIONS, Decision, Report, Review, ReviewState, ReviewTier

if TYPE_CHECKING:
    from evidencerails.operations.review.desk import ReviewDesk
    from evidencerails.operations.review.package import Item, Released

log = logging.getLogger("evidencerails")

WITHOUT_QUEUE: Decision = "block"
"""What `escalate` becomes where no review queue is set up."""
_may_hold: ContextVar[bool] = ContextVar("evidencerails_may_hold", default=True)


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
    desk: ReviewDesk | None = None,
    cap: Decision | None = None,
) -> Report:
    """The report after a person has been asked, if one has to be; never raises.

    Args:
        desk: of the guard; one is opened for this call if None.
        cap: the severest decision the calling flow may take; below `escalate` a review never changes the answer.
    """
    if config.activation == "shadow":
        return report
    if config.escalation is None:
        if report.decision != "escalate":
            return report
        return _unavailable(report, "asynchronous", 0.0, "no_review_queue: set `escalation`", WITHOUT_QUEUE)
    risk = risk_of(report, exchange, config)
    tier = _tier(report, risk, config, exchange, cap)
    if tier is None:
        return report
    try:
        return await _reviewed(report, exchange, config, desk, tier, risk)
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


def _is_repaired(report: Report) -> bool:
    """True if the text that leaves is not the one that the score is about."""
    return report.repair is not None and report.repair.status == "repaired" and report.answer == report.repair.text


async def _reviewed(
    report: Report, exchange: Exchange, config: GuardConfig, desk: ReviewDesk | None, tier: ReviewTier, risk: float
) -> Report:
    from evidencerails.operations.review.desk import ReviewDesk
    from evidencerails.operations.store.store import new_id

    report = report if report.id else report.model_copy(update={"id": new_id()})
    own = None if desk is not None else ReviewDesk(config)
    used = desk if desk is not None else own
    assert used is not None
    try:
        item = await asyncio.to_thread(_submit, used, report, exchange, tier, risk)
        if used.notifier is not None:
            used.notifier.wake()
        if tier == "blocking":
            return await _held(report, exchange, item, used)
        return _queued(report, item)
    finally:
        if own is not None:
            await asyncio.to_thread(own.close)


def _submit(desk: ReviewDesk, report: Report, exchange: Exchange, tier: ReviewTier, risk: float) -> Item:
    desk.tidy_if_due()
    return desk.queue.submit(
        package_of(report, exchange),
        tier=tier,
        risk=risk,
        stakes=stakes_of(exchange, desk.config),
        within_s=float(getattr(desk.settings.deadlines_s, tier)),
        report_id=report.id,
    )


def _queued(report: Report, item: Item) -> Report:
    """An asynchronous review leaves the decision as it is; a synchronous one withholds the answer."""
    review = Review(id=item.id, tier=item.tier, state="pending", risk=item.risk)
    if item.tier == "asynchronous":
        return report.model_copy(update={"review": review})
    withheld = {"decision": "escalate", "decided_by": _decider(report, item), "answer": None}
    return report.model_copy(update={"review": review, **withheld})


async def _held(report: Report, exchange: Exchange, item: Item, desk: ReviewDesk) -> Report:
    """The report once a person has decided, or nobody has in time."""
    started = time.perf_counter()
    decided = await desk.watch.decided(item.id, desk.settings.deadlines_s.blocking)
    if decided is None:
        decided = await asyncio.to_thread(desk.queue.expire, item.id)  # a decision of the last moment stands
    released = None
    if decided.state in ("approved", "edited"):
        released = await asyncio.to_thread(desk.queue.release, item.id)
    waited_ms = (time.perf_counter() - started) * 1000
    report = report.model_copy(update={"timings_ms": {**report.timings_ms, "review": waited_ms}})
    return _concluded(report, exchange, decided, released, desk.settings.fallback)


def _concluded(report: Report, exchange: Exchange, item: Item, released: Released | None, fallback: Decision) -> Report:
    review = Review(id=item.id, tier=item.tier, state=item.state, risk=item.risk, reviewer=item.reviewer)
    changes = {"review": review, "decided_by": _decider(report, item)}
    if released is not None:
        answer = None if released.text == exchange.response else released.text
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


def _decider(report: Report, item: Item) -> str:
    who = f" by {item.reviewer}" if item.reviewer else ""
    return f"{report.decided_by}, {item.tier} review {item.state}{who}"
