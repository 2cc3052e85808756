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
    """Number of samples, or `by_risk`: 1, 3 or 5 by how little the evidence entails the answer and how unsure its own
    tokens were (log probabilities), at the thresholds of `scoring.risk`; 3 without either."""
    temperature: Weight = 1.0
    """Temperature of the samples; left out where a provider refuses it."""
    agreement: Literal["nli", "judge", "bertscore", "ngram"] = "nli"
    """Who says whether answer and samples agree: the NLI model, an LLM with the upstream prompt, likeness of tokens, or
    word statistics."""
    sampling: Literal["auto", "n", "parallel", "piggyback"] = "auto"
    """One request with `n`, single requests at once, together with the answer itself, or what the provider can."""
    early_stop: bool = True
    """Stop asking once no further sample can change the verdict."""

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
    """Rules or a model. `auto`: rules; a model for languages that the rules do not know, if the settings name one."""
    classifier: Literal["auto", "offline", "llm"] = "auto"
    """NLI or a model. `auto`: NLI; what it leaves unsure goes to the model that the settings name, and in a NeMo app
    that names none to its main model (`own_model_calls`)."""
    own_model_calls: int = Field(default=1, ge=0)
    """Calls a turn that `check claims` may make to a NeMo app's own main model with `classifier: auto`, where the
    settings name no model; all unsure claims go in one. 0: none."""
    calls: Literal["batch", "per_claim"] = "batch"
    """All claims in one call of a model, or one call a claim."""
    judge_over_local_doubt: Literal["supported", "escalate"] = "supported"
    """What a claim becomes that a model calls supported by words of the evidence, where the local reading doubts that
    they say so. `escalate`: a person decides. A quote that contradicts the claim is never accepted."""
    examples: str | None = None
    """YAML or JSON file of examples for the model, in place of ours; those nearest to the claims are shown to it."""


EvidencePlace = Literal["variable", "relevant_chunks", "tool_messages", "knowledge_base", "system_context"]


class EvidenceSettings(Section):
    """Where evidence comes from inside NeMo: the first place that has any wins, and the report names it."""

    places: tuple[EvidencePlace, ...] = Field(
        default=("variable", "relevant_chunks", "tool_messages", "knowledge_base", "system_context"), alias="from"
    )
    """Places to look in, in this order."""
    variable: str = "evidence"
    """Context variable of the place `variable`: set `$evidence` in a flow or a context message."""

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
    """Share of honest answers that may be warned about; sets the score from which a claim is not supported."""
    max_false_blocks: Share = 0.02
    """Share of honest answers that may be blocked; sets the score from which a claim is contradicted."""
    max_unsupported_score: Share | None = None
    """Score from which a claim counts as not supported, in the place of `max_false_warnings`."""
    contradiction_threshold: Share | None = None
    """P(contradiction) from which a claim is contradicted, in the place of `max_false_blocks`."""
    self_contradiction: bool = True
    """Look for sentences of the answer that contradict each other."""
    prompt_divergence: bool = True
    """Look for sentences of the answer that contradict what the user said."""


class ExposeSettings(Section):
    """What may leave the app in exceptions and reports."""

    evidence: bool = False
    """Let exceptions and reports that leave the app carry evidence text."""


CitationLevel = Literal["soft", "required", "verified", "strict"]
EntailmentLevel = Literal["sentence", "passage", "document"]


class CitationSettings(Section):
    """What an answer owes its sources."""

    level: CitationLevel = "verified"
    """`soft`: what is cited exists; `required`: and every claim cites; `verified`: and the cited passages entail the
    claim, quotations are verbatim; `strict`: and a claim that restates a source leaves nothing of it out."""
    scope: Literal["sentence", "paragraph", "answer"] = "sentence"
    """What a citation covers: its sentence; also those before it in its `paragraph` that have none; or, of a list of
    sources at the end, every sentence of the `answer` that has none."""


class RootCauseSettings(Section):
    """What is known about the generator, for the causes of a finding."""

    context_tokens: Count = 8_000
    """Tokens of context that the generator reads reliably; beyond, evidence in the middle may be lost."""
    training_cutoff: datetime.date | None = None
    """Date up to which the generator knows the world; unset: staleness of its knowledge is never named."""
    max_evidence_age_days: Count | None = None
    """Age from which dated evidence counts as stale; unset: only evidence that a newer passage contradicts."""


class GranularitySettings(Section):
    """Sizes at which entailment is reported beside the verdicts."""

    levels: tuple[EntailmentLevel, ...] = ()
    """`sentence`, `passage`, `document`; each costs about as much as the check `grounding`. Numbers for people."""
