"""The checks of one exchange, run at the same time.

In: checks, an exchange, what they may use. Out: a report that is decided over but not yet acted on (see `guard` for
that, `reporting` for how results become a report).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

from evidencerails.checks.base import Check, CheckContext
from evidencerails.checks.granularity import with_levels
from evidencerails.errors import EvidencerailsError, reason_of, traceback_summary
from evidencerails.exchange import Exchange
from evidencerails.measures.metrics import with_measures
from evidencerails.mitigation.answerability import retrieval_quality
from evidencerails.mitigation.chain_of_verification import verify_claims
from evidencerails.report import CheckResult, Decision, Report, VerifiedClaim, reason_code
from evidencerails.reporting import build_report, deduplicate
from evidencerails.trace import current_check

log = logging.getLogger("evidencerails")

SHORT_CHARACTERS = 2_000
"""Response and evidence that take no more than some 2 ms to be reported on: less than it costs to leave the loop."""
READS_ARGUMENTS = ("grounding", "claims")
"""Checks for which the arguments of tool calls are claims, as the fields of an answer in JSON are."""


class CheckOfInput:
    """A check that the settings do not name, run because its input is given; without a verdict, its reason names that
    input."""

    def __init__(self, check: Check, given: str) -> None:
        self._check, self._given = check, given
        self.name, self.version = check.name, check.version

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """The result of the check itself."""
        return await self._check.run(exchange, context)

    def named(self, result: CheckResult) -> CheckResult:
        """The result with the input in its reason, if nobody could look at that."""
        if result.status != "unverified":
            return result
        return result.model_copy(update={"reason": f"unchecked_{self._given}: {result.reason}"})


async def checked_report(
    checks: Sequence[Check],
    exchange: Exchange,
    context: CheckContext,
    *,
    cap: Decision | None,
    listeners: Sequence[Callable[[CheckResult], None]],
    arguments: str,
) -> Report:
    """`run_checks`, with an unverified report where the results cannot be brought together."""
    try:
        return await run_checks(checks, exchange, context, cap=cap, listeners=listeners, arguments=arguments)
    except Exception as error:  # boundary to verification and measures, whose models fail too: no verdict then
        log.error("evidencerails: the checks could not be brought together: %s", traceback_summary(error))
        reason = f"check_failed: {reason_of(error)}"
        results = [CheckResult(name=check.name, status="unverified", reason=reason) for check in checks]
        return build_report(results, context.config, exchange, cap=cap)


async def run_checks(
    checks: Sequence[Check],
    exchange: Exchange,
    context: CheckContext,
    *,
    cap: Decision | None = None,
    listeners: Sequence[Callable[[CheckResult], None]] = (),
    arguments: str = "",
) -> Report:
    """The report of these checks, decided over but not acted on.

    Args:
        arguments: what the arguments of tool calls state, as text that stands behind the response.
    """
    whole = with_text(exchange, arguments) if arguments else exchange
    runs = (_run_check(c, whole if c.name in READS_ARGUMENTS else exchange, context, listeners) for c in checks)
    results = await asyncio.gather(*runs)
    found, config = deduplicate(results), context.config
    verified: tuple[VerifiedClaim, ...] = ()
    quality = None
    if not exchange.is_chunk:  # of a part of an answer none of these would be worth its cost
        if config.verification.enabled:
            found, verified = await verify_claims(found, exchange, context)
        if config.scoring.measures:
            found = await with_measures(found, exchange, context)
        if config.granularity.levels:
            found = await with_levels(found, exchange, context)
        if config.abstention.enabled:
            quality = await context.nli.run(retrieval_quality, exchange)
    report = partial(
        build_report, found, context.config, exchange, cap=cap, verification=verified, retrieval_quality=quality
    )
    if len(exchange.response) + sum(len(passage.text) for passage in exchange.evidence) < SHORT_CHARACTERS:
        return report()
    return await context.nli.run(report)  # a long answer has a thousand claims: the event loop must not stand still


def with_text(exchange: Exchange, more: str) -> Exchange:
    """The exchange with more text behind its response."""
    return exchange.model_copy(update={"response": exchange.response + more})


async def _run_check(
    check: Check, exchange: Exchange, context: CheckContext, listeners: Sequence[Callable[[CheckResult], None]] = ()
) -> CheckResult:
    """Run one check; what goes wrong inside becomes an unverified result, never a score. `listeners` get the result."""
    current_check.set(check.name)
    started = time.perf_counter()
    try:
        result = await check.run(exchange, context)
    except EvidencerailsError as error:
        result = _failed(check, error)
        log.warning("evidencerails: check %s: %s", check.name, reason_code(result.reason))
    except Exception as error:  # boundary to checks, models and providers: nothing of theirs may reach the app
        log.error("evidencerails: check %s failed: %s", check.name, traceback_summary(error))
        result = _failed(check, error)
    if isinstance(check, CheckOfInput):
        result = check.named(result)
    result = result.model_copy(update={"duration_ms": (time.perf_counter() - started) * 1000})
    for notify in listeners:
        notify(result)
    return result


def _failed(check: Check, error: Exception) -> CheckResult:
    kind = type(error).__name__
    return CheckResult(
        name=check.name,
        status="unverified",
        reason=f"check_failed: {reason_of(error)}",
        version=check.version,
        details={"error": kind},
    )
