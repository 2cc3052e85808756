"""What a decision does, beyond being made: repair, abstain, keep what is minor for later."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from evidencerails.exchange import Exchange
from evidencerails.mitigation.abstain import abstention_for
from evidencerails.mitigation.regenerate import Recheck, regenerate
from evidencerails.mitigation.severity import record_low
from evidencerails.report import Decision, Report

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.config import GuardConfig

log = logging.getLogger("evidencerails")


async def respond(report: Report, exchange: Exchange, context: CheckContext, recheck: Recheck) -> Report:
    """The report with what became of its decision.

    A repaired response stands in `answer`. A repair that failed leaves with the settings' fallback in place of the
    decision, and with its reason.
    """
    config = context.config
    if exchange.is_chunk or config.activation == "shadow":  # a chunk is not rewritten, and shadow never costs a repair
        return report
    if any(finding.severity == "low" for finding in report.findings):
        await context.nli.run(record_low, report, exchange, config.severity)
    if report.decision == "regenerate":
        report = await _repaired(report, exchange, context, recheck)
    return with_abstention(report)


def without_second_repair(report: Report, *, is_repaired: bool) -> Report:
    """The report, which blocks instead of a repair where another rail has repaired the same text at the same time:
    each repair lacks the other's corrections, so neither may leave."""
    if report.decision != "regenerate" or not is_repaired:
        return report
    return blocked(report, "repaired by two rails at once: block (set rails.output.parallel to false)")


def without_repair_of_calls(report: Report, exchange: Exchange) -> Report:
    """The report, which blocks instead of a repair of what is no text of the response: arguments of a tool call are not
    written again, and a call that was found wrong must not go out."""
    length = len(exchange.response)
    in_arguments = any(finding.span and finding.span.start >= length for finding in report.findings)
    if report.decision != "regenerate" or not in_arguments:
        return report
    return blocked(report, "calls are not written again: block")


def blocked(report: Report, because: str) -> Report:
    """The report with the decision to block in place of its own."""
    decided_by = f"{report.decided_by}, {because}"
    return report.model_copy(update={"decision": "block", "decided_by": decided_by, "answer": None})


def with_abstention(report: Report) -> Report:
    """The report of a decision to abstain, with the message for the user."""
    if report.decision != "abstain":
        return report
    abstention = abstention_for(report)
    return report.model_copy(update={"abstention": abstention, "answer": abstention.message})


async def _repaired(report: Report, exchange: Exchange, context: CheckContext, recheck: Recheck) -> Report:
    repair = await regenerate(report, exchange, context, recheck)
    log.info("evidencerails: repair %s after %d rounds", repair.status, repair.rounds)
    if repair.status == "repaired":
        return report.model_copy(update={"repair": repair, "answer": repair.text})
    fallback = repair_fallback(context.config)
    decided_by = f"{report.decided_by}, repair {repair.status}: regeneration.fallback"
    return report.model_copy(update={"repair": repair, "decision": fallback, "decided_by": decided_by})


def repair_fallback(config: GuardConfig) -> Decision:
    """What a failed repair becomes: the settings' word; `auto` is escalate where reviews are set up, else block."""
    fallback = config.regeneration.fallback
    if fallback != "auto":
        return fallback
    return "block" if config.escalation is None else "escalate"
