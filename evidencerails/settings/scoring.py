"""Settings of the measures: which run, how they are put together, and where risk begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import Field, field_validator, model_validator

from evidencerails.settings.base import Section

MeasureName = Literal[
    "nli",
    "judge",
    "qa",
    "bertscore",
    "ngram",
    "embedding",
    "semantic_entropy",
    "self_consistency",
    "logprobs",
]
MEASURES: tuple[MeasureName, ...] = get_args(MeasureName)
DEFAULT_MEASURE_WEIGHTS: Mapping[MeasureName, float] = {
    "judge": 0.76,
    "nli": 0.72,
    "self_consistency": 0.72,
    "logprobs": 0.54,
    "ngram": 0.47,
    "qa": 0.42,
    "bertscore": 0.33,
    "semantic_entropy": 0.33,
    "embedding": 0.2,
}
"""How far each is above chance on WikiBio: (AUC-PR NonFact - 72.96) / 27.04 of SelfCheckGPT's table 2. Its QA is
another method than ours; self-consistency stands as NLI, on which it rests; the paper has no row for semantic
entropy (put beside BERTScore) and embedding (below it: one vector carries less than its tokens)."""


class RiskSettings(Section):
    """Thresholds of the risk levels: below `low` is low, `high` and above is high."""

    low: float = Field(default=0.3, ge=0.0, le=1.0)
    high: float = Field(default=0.7, ge=0.0, le=1.0)

    @model_validator(mode="after")
    def _in_order(self) -> RiskSettings:
        if self.low > self.high:
            raise ValueError(f"low ({self.low:g}) must not be above high ({self.high:g})")
        return self


class CascadeSettings(RiskSettings):
    """Which claims go to a judge: those whose local score is from `low` to `high`, is missing, or means `absent`."""

    low: float = Field(default=0.2, ge=0.0, le=1.0)
    high: float = Field(default=0.8, ge=0.0, le=1.0)
    judge: Literal["judge", "qa"] = "judge"


class SeverityWeights(Section):
    """How much a claim of each severity counts: the upper bounds of the severity bands."""

    low: float = Field(default=0.3, ge=0.0, le=1.0)
    medium: float = Field(default=0.6, ge=0.0, le=1.0)
    high: float = Field(default=0.8, ge=0.0, le=1.0)
    critical: float = Field(default=1.0, ge=0.0, le=1.0)


class CompositeWeights(Section):
    """Weights of the composite score; they are made to sum to 1 over what was measured."""

    faithfulness: float = Field(default=0.25, ge=0.0)
    attribution_precision: float = Field(default=0.25, ge=0.0)
    groundedness: float = Field(default=0.25, ge=0.0)
    self_consistency: float = Field(default=0.25, ge=0.0)


class ScoringSettings(Section):
    """Which measures score the claims, how they are put together, and where risk begins."""

    measures: tuple[MeasureName, ...] = ()
    """Measures to run beside the checks' own verdicts; their scores stand in the report's metrics, for people."""
    weights: dict[MeasureName, float] = Field(default_factory=dict)
    """Of the measures in a claim's score; those not named keep their default. Only measures that ran count."""
    aggregation: Literal["worst", "weighted"] = "worst"
    """Claims to response: the worst claim's score, however many right ones stand beside it. `weighted`, a mean, lets
    one false claim among many true ones look harmless."""
    severity: SeverityWeights = SeverityWeights()
    risk: RiskSettings = RiskSettings()
    cascade: CascadeSettings = CascadeSettings()
    composite: CompositeWeights = CompositeWeights()

    @field_validator("weights")
    @classmethod
    def _not_negative(cls, value: dict[MeasureName, float]) -> dict[MeasureName, float]:
        for name, weight in value.items():
            if not 0.0 <= weight <= 1.0:
                raise ValueError(f"the weight of {name} is {weight:g}; expected 0 to 1")
        return value

    @property
    def all_weights(self) -> dict[str, float]:
        """The weight of every measure, defaults included."""
        weights: dict[str, float] = {str(name): weight for name, weight in DEFAULT_MEASURE_WEIGHTS.items()}
        weights.update((str(name), weight) for name, weight in self.weights.items())
        return weights
