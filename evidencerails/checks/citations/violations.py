"""The violations of a citation, each with how a finding of it is classed."""

from __future__ import annotations

from typing import NamedTuple

from evidencerails.report import Category, Origin, Severity
from evidencerails.settings.violations import VIOLATIONS

MISSING_CITATION, UNCITED_CLAIM, NONEXISTENT_SOURCE, MISQUOTED, NON_ENTAILING = VIOLATIONS["citations"]


class Violation(NamedTuple):
    """How findings of one violation are classed."""

    category: Category
    severity: Severity
    origin: Origin


CLASSES: dict[str, Violation] = {
    MISSING_CITATION: Violation("structural", "medium", "extrinsic"),  # claims in an answer that cites nothing at all
    UNCITED_CLAIM: Violation("structural", "low", "extrinsic"),  # a claim without a citation where others have one
    NONEXISTENT_SOURCE: Violation("confabulatory", "high", "extrinsic"),  # no evidence answers to the cited name
    MISQUOTED: Violation("contextual", "high", "intrinsic"),  # words in quotation marks that the source does not have
    NON_ENTAILING: Violation("contextual", "medium", "extrinsic"),  # the cited passages do not support the claim
}
