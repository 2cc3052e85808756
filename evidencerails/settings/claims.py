"""Settings of evidence and of the checks that read it: consistency, grounding, claims, citations; of root causes."""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from evidencerails.settings.base import Count, Section, Share, Weight

MAX_SAMPLES = 100
"""Samples of one answer; SelfCheckGPT draws 20. More is a slip, and every one is paid for."""


class ConsistencySettings(Section):
    """Self-consistency: how many samples, how drawn, how compared (SelfCheckGPT, arXiv 2303.08896)."""

    samples: Annotated[int, Field(strict=True)] | Literal["by_risk"] = 2
    """Number of samples, or `by_risk`: 1, 3 or 5 for low, medium or high risk (`scoring.risk`), estimated from the
    entailment by the evidence and the log probabilities of the answer; 3 without either."""
    temperature: Weight = 1.0
    """Temperature of the samples; omitted if the provider rejects it."""
    agreement: Literal["nli", "judge", "bertscore", "ngram"] = "nli"
    """How answer and samples are compared: by the NLI model, an LLM with NeMo's prompt, token similarity, or word
    statistics."""
    sampling: Literal["auto", "n", "parallel", "piggyback"] = "auto"
    """How samples are requested: `n`: in one request; `parallel`: in concurrent requests; `piggyback`: with the
    answer's own request; `auto`: `n` if the provider supports it, else `parallel`."""
    early_stop: bool = True
    """Stop requesting samples once no further one can change the verdict."""

    @model_validator(mode="after")
    def _risk_is_known_after_the_answer(self) -> ConsistencySettings:
        if self.samples == "by_risk" and self.sampling == "piggyback":
            raise ValueError("samples: by_risk needs the answer first, which sampling: piggyback cannot wait for")
        return self

    @field_validator("samples")
    @classmethod
    def _a_number_that_can_be_paid(cls, value: int | str) -> int | str:
        if isinstance(value, int) and not 1 <= value <= MAX_SAMPLES:
            raise ValueError(f"needs 1 to {MAX_SAMPLES} samples")
        return value


class ClaimsSettings(Section):
    """Claims: how they are found in a response, and who puts them into the five classes."""

    extractor: Literal["auto", "offline", "llm"] = "auto"
    """Who extracts claims. `offline`: rules; `llm`: a model; `auto`: rules, or the model under `llm` for languages that
    the rules do not support."""
    classifier: Literal["auto", "offline", "llm"] = "auto"
    """Who classifies claims. `offline`: the NLI model; `llm`: a model; `auto`: the NLI model, and for unsure claims the
    model under `llm`, or without one a NeMo app's main model (`own_model_calls`)."""
    own_model_calls: int = Field(default=1, ge=0)
    """Calls per turn that `check claims` may make to a NeMo app's main model with `classifier: auto` and no model under
    `llm`; one call has all unsure claims. 0: none."""
    calls: Literal["batch", "per_claim"] = "batch"
    """All claims in one call to the model, or one call per claim."""
    judge_over_local_doubt: Literal["supported", "escalate"] = "supported"
    """Label if a model says `supported` and local checks doubt that its quote proves it: `supported`, or `escalate` to
    a person. A quote that contradicts the claim is never accepted."""
    examples: str | None = None
    """YAML or JSON file of few-shot examples that replaces the built-in ones; those most similar to the claims are
    used."""


EvidencePlace = Literal["variable", "relevant_chunks", "tool_messages", "knowledge_base", "system_context"]


class EvidenceSettings(Section):
    """Where evidence comes from inside NeMo: the first place that has any wins, and the report names it."""

    places: tuple[EvidencePlace, ...] = Field(
        default=("variable", "relevant_chunks", "tool_messages", "knowledge_base", "system_context"), alias="from"
    )
    """Sources of evidence, in the order in which they are tried."""
    variable: str = "evidence"
    """Name of the context variable for `variable`, set in a flow or a context message."""

    @field_validator("variable")
    @classmethod
    def _without_dollar(cls, value: str) -> str:
        name = value.removeprefix("$")  # as it is written in a flow
        if not name.isidentifier():
            raise ValueError("expected the name of a context variable")
        return name


class GroundingSettings(Section):
    """Evidence NLI: thresholds, and what else is looked for; unset thresholds come with the model."""

    max_false_warnings: Share = 0.10
    """Share of correct answers that may get a warning; sets the score from which a claim is not supported."""
    max_false_blocks: Share = 0.02
    """Share of correct answers that may be blocked; sets the score from which a claim is contradicted."""
    max_unsupported_score: Share | None = None
    """Score from which a claim is not supported; overrides `max_false_warnings`."""
    contradiction_threshold: Share | None = None
    """P(contradiction) from which a claim that is not supported is contradicted, if it is above the support; overrides
    `max_false_blocks`."""
    self_contradiction: bool = True
    """Find sentences of the answer that contradict each other."""
    prompt_divergence: bool = True
    """Find sentences of the answer that contradict the user's message."""


class ExposeSettings(Section):
    """What may leave the app in exceptions and reports."""

    evidence: bool = False
    """Include evidence text in exceptions and in reports that leave the app."""


CitationLevel = Literal["soft", "required", "verified", "strict"]
EntailmentLevel = Literal["sentence", "passage", "document"]


class CitationSettings(Section):
    """What an answer owes its sources."""

    level: CitationLevel = "verified"
    """`soft`: cited sources exist; `required`: also, every claim cites; `verified`: also, the cited passages entail the
    claim and quotations are verbatim; `strict`: also, a claim that restates a source omits nothing of it."""
    scope: Literal["sentence", "paragraph", "answer"] = "sentence"
    """What a citation covers: its `sentence`; also the uncited sentences before it in the `paragraph`; or, for a list
    of sources at the end, every uncited sentence of the `answer`."""


class RootCauseSettings(Section):
    """What is known about the generator, for the causes of a finding."""

    context_tokens: Count = 8_000
    """Context length in tokens that the generating model reads reliably; in longer contexts it may overlook evidence in
    the middle."""
    training_cutoff: datetime.date | None = None
    """Date of the generating model's training cutoff; unset: `staleness` by date is never reported."""
    max_evidence_age_days: Count | None = None
    """Age from which dated evidence is stale; unset: only if a newer passage contradicts it."""


class GranularitySettings(Section):
    """Sizes at which entailment is reported beside the verdicts."""

    levels: tuple[EntailmentLevel, ...] = ()
    """Sizes at which entailment is reported; each costs about as much as `check grounding` and affects no decision."""
