"""Settings of evidence: where it comes from, how sentences are held against it, and whether it may leave the app."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from evidencerails.settings.base import Section

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
    """Evidence NLI: windows and thresholds; unset thresholds come with the model."""

    window_tokens: int | None = Field(default=None, ge=16)
    """Length of an evidence window; unset: what the model reads besides the claim."""
    overlap_tokens: int | None = Field(default=None, ge=0)
    """Tokens that neighbouring windows share."""
    max_windows: int = Field(default=24, ge=1)
    """Windows of long evidence that reach the model for each sentence, after the lexical prefilter."""
    max_unsupported_score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Score above which a sentence counts as not supported; unset: the verdict model's own threshold."""
    contradiction_threshold: float | None = Field(default=None, ge=0.0, le=1.0)
    """Contradiction score above which a sentence is contradicted; unset: the one of the verdict model."""
    self_contradiction: bool = True
    """Look for sentences of the answer that contradict each other."""
    prompt_divergence: bool = True
    """Look for sentences of the answer that contradict what the user said."""

    @model_validator(mode="after")
    def _windows_move_on(self) -> GroundingSettings:
        if self.window_tokens and self.overlap_tokens and self.overlap_tokens >= self.window_tokens:
            raise ValueError(f"overlap_tokens must be below window_tokens ({self.window_tokens})")
        return self


class ExposeSettings(Section):
    """What may leave the app in exceptions and reports."""

    evidence: bool = False
    """Let exceptions and reports that leave the app carry evidence text."""
