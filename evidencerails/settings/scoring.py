"""Settings of the measures: which run, how they are put together, where risk begins, and what `evidencerails calibrate`
writes: how raw scores become probabilities, alone and together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field

from evidencerails.settings.base import Positive, Section, Share, Weight, ascending
from evidencerails.settings.own_parts import OwnName

MeasureName = Literal[
    "nli", "judge", "qa", "bertscore", "ngram", "embedding", "semantic_entropy", "self_consistency", "logprobs"
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
SEVERITY_WEIGHTS: Mapping[str, float] = {"low": 0.3, "medium": 0.6, "high": 0.8, "critical": 1.0}
"""How much a claim of each severity counts: the upper bounds of the severity bands."""


class RiskSettings(Section):
    """Risk levels: a score below `low` is low, from `high` on it is high."""

    low: Share = 0.3
    high: Share = 0.7

    _in_order = ascending("low", "high")


class CascadeSettings(RiskSettings):
    """Claims sent to a judge: those with a local score from `low` to `high` or without one; with measures, also
    `absent` ones."""

    low: Share = 0.15
    high: Share = 0.9
    judge: Literal["judge", "qa"] = "judge"


class CompositeWeights(Section):
    """Weight in the composite score; weights are normalised over what was measured."""

    faithfulness: Weight = 0.25
    attribution_precision: Weight = 0.25
    groundedness: Weight = 0.25
    self_consistency: Weight = 0.25


class ScoringSettings(Section):
    """Which measures score the claims, how they are put together, and where risk begins."""

    measures: tuple[MeasureName | OwnName, ...] = ()
    """Measures to run in addition to the checks; their scores are in the report's metrics and affect no decision. Your
    own measure as `module:Class`, without a weight."""
    weights: dict[MeasureName, Share] = Field(default_factory=dict)
    """Weights of the measures in a claim's score; unnamed ones keep their default. Only measures that ran count."""
    aggregation: Literal["worst", "weighted"] = "worst"
    """Score of a response: that of its worst claim, or a weighted mean, in which many true claims hide a false one."""
    risk: RiskSettings = RiskSettings()
    cascade: CascadeSettings = CascadeSettings()
    composite: CompositeWeights = CompositeWeights()

    @property
    def all_weights(self) -> dict[str, float]:
        """The weight of every measure, defaults included."""
        return dict([*DEFAULT_MEASURE_WEIGHTS.items(), *self.weights.items()])


class MethodCalibration(Section):
    """How the raw score of one check or measure becomes a probability: by its log-odds (Platt 1999)."""

    slope: Positive = 1.0
    """Factor of the score's log-odds."""
    intercept: float = 0.0
    """Added to the log-odds."""


class EnsembleCalibration(Section):
    """Several checks as one probability: a logistic model over the log-odds of their calibrated scores."""

    weights: Annotated[dict[str, float], Field(min_length=2)]
    """Weight of each check's log-odds; used only if all of them have a score."""
    intercept: float = 0.0
    """Added to the weighted log-odds."""


class CalibrationSettings(Section):
    """What `evidencerails calibrate` fitted. Labels and findings stay as they are; scores become probabilities."""

    methods: dict[str, MethodCalibration] = Field(default_factory=dict)
    """Calibration of each check or measure, by its name."""
    ensemble: EnsembleCalibration | None = None
    """Combines the scores of several checks; unset: the highest score counts."""
    fitted_on: str = ""
    """Description of the data it was fitted on."""
