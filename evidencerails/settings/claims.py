"""Settings of the two checks that take an answer apart: self-consistency and claims."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from evidencerails.settings.base import Section

MAX_SAMPLES = 100
"""Samples of one answer; SelfCheckGPT draws 20. More is a slip, and every one is paid for."""


class ConsistencySettings(Section):
    """Self-consistency: how many samples, how drawn, how compared (SelfCheckGPT, arXiv 2303.08896)."""

    samples: int | Literal["by_risk"] = 2
    """Number of samples, or `by_risk`: 1, 3 or 5 by the estimated risk."""
    temperature: float = Field(default=1.0, ge=0.0)
    """Temperature of the samples; left out where a provider refuses it."""
    agreement: Literal["nli", "judge", "bertscore", "ngram"] = "nli"
    """Who says whether answer and samples agree: the NLI model, an LLM with the upstream prompt, likeness of tokens, or
    word statistics."""
    sampling: Literal["auto", "n", "parallel", "piggyback"] = "auto"
    """One request with `n`, single requests at once, together with the answer itself, or what the provider can."""
    early_stop: bool = True
    """Stop asking once no further sample can change the verdict."""

    @field_validator("samples", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("expected a number or 'by_risk'")
        return value

    @field_validator("samples")
    @classmethod
    def _at_least_one(cls, value: int | str) -> int | str:
        if isinstance(value, int) and not 1 <= value <= MAX_SAMPLES:
            raise ValueError(f"needs 1 to {MAX_SAMPLES} samples")
        return value


class ClaimsSettings(Section):
    """Claims: how they are found in a response, and who puts them into the five classes."""

    extractor: Literal["auto", "offline", "llm"] = "auto"
    """Rules or a model. `auto`: rules; a model for languages that the rules do not know, if the settings name one."""
    classifier: Literal["auto", "offline", "llm"] = "auto"
    """NLI or a model. `auto`: NLI; what it leaves unsure goes to a model, if the settings name one."""
    calls: Literal["batch", "per_claim"] = "batch"
    """All claims in one call of a model, or one call a claim."""
    judge_over_local_doubt: Literal["supported", "escalate"] = "supported"
    """What a claim becomes that a model calls supported by words of the evidence, where the local reading doubts that
    they say so. `escalate`: a person decides. A quote that contradicts the claim is never accepted."""
    examples: str | None = None
    """YAML or JSON file of examples for the model, in place of ours; those nearest to the claims are shown to it."""
