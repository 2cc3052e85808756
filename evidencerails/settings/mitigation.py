"""Settings of severity and of what answers a finding: repair, verification, abstention, annotation, quality gate."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from evidencerails.exchange import Stakes
from evidencerails.report import Decision
from evidencerails.settings.base import Positive, Section, Share, ascending

RepairFallback = Literal["auto", "annotate", "warn", "abstain", "escalate", "block", "raise"]
AnnotationFormat = Literal["plain", "markdown", "html"]


class ProtocolSettings(Section):
    """What each severity level leads to where no policy rule matches."""

    critical: Decision = "escalate"
    """Stop, a person looks at it."""
    high: Decision = "block"
    """Quarantined; a claim that the chain of verification upholds is let through with a warning."""
    medium: Decision = "regenerate"
    """Flagged, written again with corrective context."""
    low: Decision = "allow"
    """Logged, and kept in the regression set."""


class SeveritySettings(Section):
    """How severe a finding is, and what follows from it."""

    stakes: Stakes = "medium"
    """What depends on the answers; `$stakes` in a flow or `stakes=` of `check` sets it for one answer."""
    protocol: ProtocolSettings | None = None
    """Decide by severity level what no policy rule decides; unset: by the kind of the finding."""
    regression_set: str | None = None
    """JSONL file to which answers with findings of low severity are appended; it holds answer and evidence text."""


class RegenerationSettings(Section):
    """Repair of an answer: only flagged sentences are written again."""

    max_rounds: int = Field(default=2, ge=1, le=10)
    """Attempts; it also stops when an attempt leaves as many flagged claims as before."""
    fallback: RepairFallback = "auto"
    """What a repair that fails becomes. `auto`: escalate where that is set up, else block."""


class VerificationSettings(Section):
    """Chain of verification: two further LLM calls for the claims that deserve them."""

    enabled: bool = False
    """Verify claims by questions that are answered without sight of the answer."""
    min_severity: Share = 0.5
    """Expected severity from which a claim is verified; above 0.5 the two further calls are worth their cost."""


class AnswerabilitySettings(Section):
    """When a question is not answered at all, before anything is generated."""

    min_relevance: Share = 0.2
    """Likeness of a passage to the question from which it is relevant (cosine of the embedded sentence encoder)."""
    min_answer_score: Share = 0.5
    """1 - P(neutral) of the question beside the evidence from which that answers it; 0: it is only reported."""
    min_coverage: Share = 0.0
    """Share of the question's content words the relevant passages must contain together; 0: it is only reported."""
    domain: tuple[str, ...] = ()
    """What the app is about, in a few phrases; unset: every question is in its domain."""
    min_domain_match: Share = 0.2
    """Likeness to the nearest of these phrases below which a question is out of domain."""
    max_age_days: Positive | None = None
    """Age of the relevant passages, by their metadata, above which the evidence is stale; unset: none is."""
    date_keys: tuple[str, ...] = ("updated_at", "updated", "date", "published", "as_of", "timestamp")
    """Keys of a passage's metadata that may hold its date; the first that can be read counts."""


class AbstentionSettings(Section):
    """When the app says that it does not know."""

    enabled: bool = False
    """Weigh the confidence of every answer; `then: abstain` in a policy works without it."""
    answer_from: Share = 0.75
    """Confidence from which the answer stands as it is."""
    partial_from: Share = 0.4
    """Confidence from which it is shown with its uncertain claims marked; below, the app abstains."""
    before: AnswerabilitySettings = AnswerabilitySettings()
    """The input rail `check answerability`."""

    _in_order = ascending("partial_from", "answer_from")


class GenerationSettings(Section):
    """Generation from evidence alone, a source for each claim."""

    max_evidence_tokens: int = Field(default=3000, ge=64)
    """Tokens of evidence in the prompt, counted by the NLI model's tokenizer; the most relevant passages come first."""
    max_ungrounded_share: Share = 0.3
    """Share of claims without a source that bears them out above which the answer is generated again, more strictly."""
    max_rounds: int = Field(default=2, ge=1, le=5)
    """Attempts."""


class AnnotationSettings(Section):
    """How uncertain claims are marked in an answer."""

    format: AnnotationFormat = "plain"
    """`plain`: numbered marks and notes; `markdown`: footnotes; `html`: `<mark>` elements in escaped text."""


class QualityGateSettings(Section):
    """The last gate: no answer above a score leaves without a decision."""

    max_hallucination_score: Share | None = None
    """Highest `hallucination_score` of an answer that may leave; unset: no such gate."""
    max_composite_score: Share | None = None
    """The same for `metrics.composite_score`, over the parts that were measured."""
    then: Decision = "block"
    """Least decision on an answer above."""

    @model_validator(mode="after")
    def _decides(self) -> QualityGateSettings:
        if self.then == "allow":
            raise ValueError("a gate that allows is none; expected one of the decisions beyond allow")
        return self
