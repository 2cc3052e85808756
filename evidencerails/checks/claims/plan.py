"""What the parts of the claims check hand on: who reads which claims over which evidence, and their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from evidencerails.exchange import Passage
from evidencerails.report import CheckResult, Claim, Label
from evidencerails.text.claims import ExtractedClaim

if TYPE_CHECKING:
    from evidencerails.llm.session import LlmSession


LABELS: tuple[Label, ...] = get_args(Label)
UNSUPPORTED: tuple[Label, ...] = ("partially_supported", "contradicted", "absent")


class Plan(NamedTuple):
    """Who does what, over which evidence."""

    extracted: list[ExtractedClaim]
    """What the rules find in the response."""
    passages: tuple[Passage, ...] = ()
    unread: tuple[str, ...] = ()
    extractor: LlmSession | None = None
    """The model that extracts; None for the rules."""
    classifier: LlmSession | None = None
    """The model that classifies every claim; None for NLI."""
    judge: LlmSession | None = None
    """The model that is asked about claims which NLI leaves unsure."""
    is_named: bool = True
    """False if nobody named that model a judge: it has one call for all claims, and what it cannot decide stays as the
    local reading has it."""
    unreadable: str = ""
    """Why NLI could not read answer or evidence, where a model does in its place."""
    result: CheckResult | None = None
    """What to answer at once, because nothing can be checked."""
    question: str = ""
    answer: str = ""
    """Question and answer, for a judge to see what a claim refers to."""


class ClassifiedClaims(NamedTuple):
    """The claims in their classes."""

    claims: list[Claim]
    score: float | None
    """Probability that at least one claim is not supported; None if none could be evaluated."""
    method: str
    """What classified them, with its version."""
    details: dict[str, Any]
    """For the details of the check's result."""
