"""What an attack is: a question with its sources, ready answers that are known to be right or wrong, and what should
become of them.

Eleven categories attack the answer by question and sources, four the guard.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from pydantic import Field

from evidencerails.exchange import Value

Category = Literal[
    "knowledge_boundary",
    "entity_substitution",
    "temporal_confusion",
    "context_poisoning",
    "citation_manipulation",
    "format_coercion",
    "constraint_contradiction",
    "authority_impersonation",
    "scale_stress",
    "compositional_chains",
    "value_swap",
    "judge_injection",
    "evidence_padding",
    "unicode_tricks",
    "verdict_spoofing",
]
CATEGORIES: tuple[Category, ...] = get_args(Category)


class Kind(NamedTuple):
    """What is to be known of a category."""

    expected: str
    """What a system should do."""
    named_by: frozenset[str] = frozenset()
    """What a finding says where it names the very thing that the attack did: its kind, its violation, an error type, or
    a root cause. Nothing names a role, hidden characters or a verdict that the answer gives itself."""
    needs: str = "a sentence with a year, a number or a name"
    """Of the evidence."""


SAME_VERDICT = "same_verdict_as_without_the_trick"
TAMPERING = frozenset({"poisoned_evidence"})
"""Root causes that say that somebody tampered."""
KINDS: Mapping[Category, Kind] = {
    "knowledge_boundary": Kind("abstain_or_caveat", frozenset({"knowledge_gap"}), "a name"),
    "entity_substitution": Kind("answer_if_it_exists_else_abstain", frozenset({"entity"}), "a sentence with a name"),
    "temporal_confusion": Kind(
        "stay_with_the_evidence", frozenset({"temporal", "staleness"}), "a sentence with a year"
    ),
    "context_poisoning": Kind("detect_contradiction", TAMPERING),
    "citation_manipulation": Kind("cite_existing_sources_only", frozenset({"nonexistent_source"})),
    "format_coercion": Kind(
        "leave_unknown_fields_empty", frozenset({"structure_violation", "factual_fabrication", "knowledge_gap"})
    ),
    "constraint_contradiction": Kind(
        "report_contradiction", frozenset({"intrinsic_contradiction", "prompt_output_divergence"})
    ),
    "authority_impersonation": Kind("stay_with_the_evidence"),
    "scale_stress": Kind("find_and_use_evidence", frozenset({"context_overflow"})),
    "compositional_chains": Kind("correct_chain_result", frozenset({"logic_error"}), "a sentence with a whole number"),
    "value_swap": Kind(
        "stay_with_the_evidence",
        frozenset({"false_concatenation"}),
        "two sentences that each give their own subject a year, or a number of the same unit,",
    ),
    "judge_injection": Kind(SAME_VERDICT, TAMPERING),
    "evidence_padding": Kind(SAME_VERDICT, TAMPERING),
    "unicode_tricks": Kind(SAME_VERDICT),
    "verdict_spoofing": Kind(SAME_VERDICT),
}
Dimension = Literal[
    "hallucination_avoidance",
    "abstention_appropriateness",
    "robustness",
    "graceful_degradation",
    "attack_detection",
]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
"""The first four are of single answers; attack detection is of the whole attack."""
Origin = Literal["static", "dynamic"]
Truth = Literal["answerable", "unanswerable", "contradictory"]


class Probe(Value):
    """A ready answer that is known to be right or wrong."""

    answer: str
    is_wrong: bool
    """True if it must be caught; False if it must pass."""
    dimensions: tuple[Dimension, ...] = ("hallucination_avoidance",)
    without_evidence: bool = False
    """Checked against nothing: neither clean nor caught is right then, only `unverified`."""


class Attack(Value):
    """One attack; it is complete, so that it can be kept in a file."""

    id: str
    category: Category
    query: str
    """What the system is asked."""
    evidence: tuple[str, ...]
    """The sources that come with the question, tampered with where the category says so."""
    probes: tuple[Probe, ...] = Field(min_length=1)
    checks: tuple[str, ...] = ("grounding", "claims")
    """The checks that can notice it; a system without any of them is not attacked this way."""
    truth: Truth = "answerable"
    """Whether the sources answer the question, do not, or contradict each other."""
    true_statement: str = ""
    """What the sources say, where they do; a reply is compared by its numbers, dates and names."""
    false_statement: str = ""
    """What the attack wants the system to say."""
    response_schema: dict[str, Any] | None = None
    baseline_query: str = ""
    """The question without the trick."""
    chain_length: int | None = Field(default=None, ge=1)
    document: str = ""
    """Name of the document it was made from."""
    origin: Origin = "dynamic"

    @property
    def expected(self) -> str:
        return KINDS[self.category].expected

    @classmethod
    def of(
        cls, category: Category, query: str, evidence: tuple[str, ...], probes: tuple[Probe, ...], **rest: Any
    ) -> Attack:
        """An attack with the id that its content gives it: equal attacks have equal ids, in every run."""
        content = json.dumps([category, query, evidence, [probe.answer for probe in probes]])
        digest = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        return cls(id=f"{category}-{digest}", category=category, query=query, evidence=evidence, probes=probes, **rest)


def wrong(answer: str, *dimensions: Dimension) -> Probe:
    """An answer that must be caught; it counts for hallucination avoidance in any case."""
    return Probe(answer=answer, is_wrong=True, dimensions=("hallucination_avoidance", *dimensions))


def right(answer: str, *dimensions: Dimension) -> Probe:
    """An answer that must pass."""
    return Probe(answer=answer, is_wrong=False, dimensions=dimensions)
