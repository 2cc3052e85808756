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
    """Decision for findings of level critical."""
    high: Decision = "block"
    """Decision for level high; a claim that the chain of verification upholds gets a warning instead."""
    medium: Decision = "regenerate"
    """Decision for level medium."""
    low: Decision = "allow"
    """Decision for level low; these findings are logged and kept in the regression set."""


class SeveritySettings(Section):
    """How severe a finding is, and what follows from it."""

    stakes: Stakes = "medium"
    """Stakes of the app's answers; `$stakes` in a flow or `stakes=` of `check` sets those of one answer."""
    protocol: ProtocolSettings | None = None
    """Decisions by severity level for findings that no policy rule matches; unset: by the kind of finding."""
    regression_set: str | None = None
    """JSONL file to which answers with findings of low severity are appended; it holds answer and evidence text."""


class RegenerationSettings(Section):
    """Repair of an answer: only flagged sentences are written again."""

    max_rounds: int = Field(default=2, ge=1, le=10)
    """Maximum attempts; an attempt that does not reduce the number of flagged findings is the last."""
    fallback: RepairFallback = "auto"
    """Decision if the repair fails. `auto`: escalate if `escalation` is set, else block."""


class VerificationSettings(Section):
    """Chain of verification: two further LLM calls for the claims that deserve them."""

    enabled: bool = False
    """Verify claims by questions that a model answers without seeing the answer."""
    min_severity: Share = 0.5
    """Expected severity from which a claim is verified."""


class AnswerabilitySettings(Section):
    """When a question is not answered at all, before anything is generated."""

    min_relevance: Share = 0.2
    """Similarity of a passage to the question from which it is relevant (cosine of the embedded sentence encoder)."""
    min_answer_score: Share = 0.5
    """1 - P(neutral) of the evidence and the question from which the evidence answers it; 0: only reported."""
    min_coverage: Share = 0.0
    """Share of the question's content words that the relevant passages together must contain; 0: only reported."""
    domain: tuple[str, ...] = ()
    """Phrases that describe the app's subject; unset: every question is in the domain."""
    min_domain_match: Share = 0.2
    """Similarity to the most similar of these phrases below which a question is out of domain."""
    max_age_days: Positive | None = None
    """Age of the newest relevant passage, from its metadata, above which the evidence is stale; unset: no limit."""
    date_keys: tuple[str, ...] = ("updated_at", "updated", "date", "published", "as_of", "timestamp")
    """Metadata keys that may hold a passage's date; the first readable one counts."""


class AbstentionSettings(Section):
    """When the app says that it does not know."""

    enabled: bool = False
    """Compute the confidence of every answer and abstain by it; `then: abstain` in a policy works without it."""
    answer_from: Share = 0.75
    """Confidence from which the answer is unchanged."""
    partial_from: Share = 0.4
    """Confidence from which the answer is shown with its uncertain claims marked; below it, the app abstains."""
    before: AnswerabilitySettings = AnswerabilitySettings()
    """The input rail `check answerability`."""

    _in_order = ascending("partial_from", "answer_from")


class GenerationSettings(Section):
    """Generation from evidence alone, a source for each claim."""

    max_evidence_tokens: int = Field(default=3000, ge=64)
    """Tokens of evidence in the prompt, counted by the NLI model's tokenizer; the most relevant passages come first."""
    max_ungrounded_share: Share = 0.3
    """Share of claims without a supporting source above which the answer is generated again with a stricter prompt."""
    max_rounds: int = Field(default=2, ge=1, le=5)
    """Maximum attempts."""


class AnnotationSettings(Section):
    """How uncertain claims are marked in an answer."""

    format: AnnotationFormat = "plain"
    """`plain`: numbered marks and notes; `markdown`: footnotes; `html`: `<mark>` elements in escaped text."""


class QualityGateSettings(Section):
    """The last gate: no answer above a score leaves without a decision."""

    max_hallucination_score: Share | None = None
    """Highest allowed `hallucination_score`; unset: no limit."""
    max_composite_score: Share | None = None
    """Highest allowed `metrics.composite_score`, over the parts that were measured; unset: no limit."""
    then: Decision = "block"
    """Minimum decision for an answer above a limit."""

    @model_validator(mode="after")
    def _decides(self) -> QualityGateSettings:
        if self.then == "allow":
            raise ValueError("a gate that allows is none; expected one of the decisions beyond allow")
        return self
