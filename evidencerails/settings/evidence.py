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
    max_false_warnings: float = Field(default=0.10, ge=0.0, le=1.0)
    """Share of honest answers that may be warned about; sets the score from which a claim is not supported."""
    max_false_blocks: float = Field(default=0.02, ge=0.0, le=1.0)
    """Share of honest answers that may be blocked; sets the contradiction from which a claim is contradicted."""
    max_unsupported_score: float | None = Field(default=None, ge=0.0, le=1.0)
    """Score from which a claim counts as not supported, in the place of `max_false_warnings`."""
    contradiction_threshold: float | None = Field(default=None, ge=0.0, le=1.0)
    """P(contradiction) from which a claim is contradicted, in the place of `max_false_blocks`."""
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
