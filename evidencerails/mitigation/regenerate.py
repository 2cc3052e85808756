"""Targeted repair: only flagged sentences are written again, and what comes back is checked like the answer itself.

The model returns the flagged sentences alone, so the rest stays word for
word by construction, and is compared once more. A correction that does more than correct, or only hedges, is refused
before any check sees it. A text that could not be verified again is no repair, nor is one whose new sentences are
flagged by whatever rule, or of which no claim is supported; only milder findings on untouched sentences may stay.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.errors import EvidencerailsError, reason_of
from evidencerails.exchange import Exchange
from evidencerails.mitigation.pieces import Piece, changes_of, diff_of, is_kept, joined, rewritten, whole, with_flags
from evidencerails.mitigation.rewriting import RewriteRefusedError, refusal, rewrite
from evidencerails.policy import rule_for
from evidencerails.report import DECISIONS, Finding, Repair, RepairStatus, Report

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.config import GuardConfig
    from evidencerails.llm.session import LlmSession

Recheck = Callable[[Exchange], Awaitable[Report]]
"""Runs the same checks on another text and decides over it, without any mitigation."""
REFUSED_NOTE = "Your last correction was refused: {reason}. Correct the numbered sentences, and nothing else."
_FROM = DECISIONS.index("regenerate")


class _State(NamedTuple):
    pieces: tuple[Piece, ...]
    flagged: tuple[Finding, ...]
    report: Report
    """Of the text as it stands now."""


async def regenerate(report: Report, exchange: Exchange, context: CheckContext, recheck: Recheck) -> Repair:
    """The outcome of at most `regeneration.max_rounds` attempts to repair a response.

    Never raises for what a model or provider does: that is an outcome with its reason.
    """
    session = context.llm or context.judge
    flagged = flagged_findings(report, context.config)
    begun = Repair(status="no_model", flagged=len(flagged), remaining=len(flagged))
    if session is None:
        return _ended(begun, "no_model", "no_model: there is no language model to write it again")
    if not any(finding.span for finding in flagged):
        return _ended(begun, "nothing_to_repair", "nothing_to_repair: no finding says where in the answer it is")
    state = _State(whole(exchange.response), flagged, report)
    return await _rounds(state, begun, exchange, context, session, recheck)


def flagged_findings(report: Report, config: GuardConfig) -> tuple[Finding, ...]:
    """The findings that have to go before the text may be shown: those ruled `regenerate` or beyond.

    Where no finding asks for the repair but the response as a whole does (the quality gate), it is all of them.
    """
    ruled = tuple(f for f in report.findings if DECISIONS.index(rule_for(f, config).decision) >= _FROM)
    return report.findings if not ruled and DECISIONS.index(report.decision) >= _FROM else ruled


async def _rounds(
    state: _State, begun: Repair, exchange: Exchange, context: CheckContext, session: LlmSession, recheck: Recheck
) -> Repair:
    first, outcome, note = state.report, begun, ""
    for number in range(1, context.config.regeneration.max_rounds + 1):
        outcome = begun.model_copy(update={"rounds": number, "remaining": len(state.flagged)})
        try:
            pieces = await _attempt(state, exchange, context, session, note)
        except RewriteRefusedError as refused:
            outcome, note = _ended(outcome, "refused", str(refused)), REFUSED_NOTE.format(reason=refused)
            continue
        except EvidencerailsError as error:
            return _ended(outcome, "failed", reason_of(error))
        text = joined(pieces)
        new = await recheck(exchange.model_copy(update={"response": text, "logprobs": ()}))  # those are of other tokens
        left = flagged_findings(new, context.config)
        checks = {name: result.status for name, result in new.checks.items()}
        outcome = outcome.model_copy(update={"remaining": len(left), "checks": checks})
        if lost := _lost_verdict(first, new):
            return _ended(outcome, "unverified", lost)
        if not left and DECISIONS.index(new.decision) < _FROM:
            if problem := _not_grounded(pieces, first, new):
                return _ended(outcome, "unverified" if new.status == "unverified" else "not_converged", problem)
            return _ended(
                outcome,
                "repaired",
                f"all {outcome.flagged} flagged findings are gone",
                text=text,
                diff=diff_of(exchange.response, text),
                changes=changes_of(pieces),
                decision=new.decision,
                findings=new.findings,
            )
        if not left:
            return _ended(
                outcome, "not_converged", f"not_converged: the new text gets {new.decision} by {new.decided_by}"
            )
        if len(left) >= len(state.flagged):
            remaining = f"{len(left)} flagged findings are left of {len(state.flagged)}"
            return _ended(outcome, "not_converged", f"not_converged: {remaining}")
        state = _State(pieces, left, new)
    if outcome.status == "refused":
        return outcome
    return _ended(outcome, "not_converged", f"not_converged: {len(state.flagged)} flagged findings are left")


async def _attempt(
    state: _State, exchange: Exchange, context: CheckContext, session: LlmSession, note: str
) -> tuple[Piece, ...]:
    pieces = with_flags(state.pieces, state.flagged)
    texts = await rewrite(pieces, exchange, context, session, note=note)
    if problem := await refusal(pieces, texts, state.report.claims, exchange, context):
        raise RewriteRefusedError(problem)
    pieces = rewritten(pieces, texts)
    if not is_kept(exchange.response, pieces):
        raise RewriteRefusedError("not_kept: words outside the flagged sentences would change")
    return pieces


def _lost_verdict(before: Report, after: Report) -> str | None:
    """The check that had a verdict on the response and has none on the new text; None if all still have theirs."""
    decided = ("grounded", "hallucinated")
    for name, result in before.checks.items():
        now = after.checks.get(name)  # the chain of verification has no result of its own where it refutes nothing
        if now and result.status in decided and now.status not in decided:
            return f"not_verified_again: {name}: {now.reason or now.status}"
    return None


def _not_grounded(pieces: Sequence[Piece], before: Report, after: Report) -> str | None:
    """Why a text that no rule asks to repair any more is none repaired; None if it is."""
    if after.status == "unverified":
        return f"not_verified_again: {after.reason}"
    if any(piece.is_touched and piece.findings for piece in with_flags(pieces, after.findings)):
        return "not_converged: a corrected sentence is flagged again"
    if before.claims and not any(claim.label == "supported" for claim in after.claims):
        return "not_converged: the new text answers nothing: no claim of it is supported"
    return None


def _ended(repair: Repair, status: RepairStatus, reason: str, **more: Any) -> Repair:
    return repair.model_copy(update={"status": status, "reason": reason, **more})
