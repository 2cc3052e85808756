"""What every check offers and what it is given. No check knows which source called it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evidencerails.exchange import Exchange
from evidencerails.measures.base import MeasureContext
from evidencerails.report import CheckResult, CheckStatus, Finding
from evidencerails.settings.own_parts import part_named

if TYPE_CHECKING:
    from evidencerails.checks.knowledge.sources import Sources
    from evidencerails.llm.session import LlmSession


@dataclass(frozen=True, kw_only=True)
class CheckContext(MeasureContext):
    """What a check may use beside the exchange."""

    sources: Sources | None = None
    """Sources of knowledge that the settings name."""
    own_model: LlmSession | None = None
    """The model of a NeMo app, with the calls that a turn may put to it though nobody named it a judge."""


class Check(Protocol):
    """One detector. An exception from `run`, such as `NliError`, becomes an unverified result with the error."""

    name: str
    version: str

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Check one exchange. Returns a result with status `skipped` if there is nothing to do."""
        ...


_HOMES = {
    "citations": "evidencerails.checks.citations.check:CitationsCheck",
    "claims": "evidencerails.checks.claims.check:ClaimsCheck",
    "consistency": "evidencerails.checks.consistency:ConsistencyCheck",
    "grounding": "evidencerails.checks.grounding:GroundingCheck",
    "knowledge": "evidencerails.checks.knowledge.check:KnowledgeCheck",
    "logic": "evidencerails.checks.logic.check:LogicCheck",
    "structure": "evidencerails.checks.structure.check:StructureCheck",
    "tools": "evidencerails.checks.tools:ToolsCheck",
}


def get_check(name: str) -> Check:
    """The check of that name; one of the user's own is `module:Class`.

    Raises:
        SettingsError: there is no such check.
    """
    check: Check = part_named(name, _HOMES, "check", "run")
    return check


def concluded(
    check: Check, found: Sequence[Finding], gaps: Sequence[str], right: str, *, counts: Iterable[str] = (), **more: Any
) -> CheckResult:
    """What a check found: any finding wins, else anything that it could not look at, else the response is right.

    Args:
        gaps: what was not looked at, and why.
        right: the reason where there is neither.
        counts: names that the reason counts; by default the violations of what was found.
        more: further fields of the result.
    """
    status: CheckStatus = "hallucinated" if found else "unverified" if gaps else "grounded"
    counted = Counter(counts or (str(finding.violation) for finding in found))
    reasons = [f"{count} {name}" for name, count in counted.items()] if found else []
    scores = {"unverified": None, "grounded": 0.0}
    fields: dict[str, Any] = {
        "name": check.name,
        "version": check.version,
        "status": status,
        "reason": ", ".join(reasons) or "; ".join(gaps) or right,
        "score": scores.get(status, max((one.score or 0.0 for one in found), default=0.0)),
        "findings": tuple(found),
    }
    return CheckResult(**{**fields, **more})
