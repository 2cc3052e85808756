"""Settings that `evidencerails calibrate` writes: how raw scores become probabilities, alone and together."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from evidencerails.settings.base import Positive, Section, Share

CalibratorName = Literal["temperature", "platt", "isotonic"]


class MethodCalibration(Section):
    """How the raw score of one check or measure becomes a probability."""

    method: CalibratorName
    """`temperature` and `platt` work on log-odds; `isotonic` is a staircase."""
    temperature: Positive = 1.0
    """Divides the log-odds (Guo et al. 2017)."""
    slope: Positive = 1.0
    """Multiplies the log-odds (Platt 1999)."""
    intercept: float = 0.0
    """Is added to them."""
    scores: tuple[Share, ...] = ()
    """Raw scores, rising; between two of them the probability is interpolated, beyond the ends it stays."""
    probabilities: tuple[Share, ...] = ()
    """Probability at each of `scores`."""

    @model_validator(mode="after")
    def _staircase_fits(self) -> MethodCalibration:
        if self.method == "isotonic":
            if len(self.scores) < 2 or len(self.scores) != len(self.probabilities):
                raise ValueError("isotonic needs `scores` and `probabilities` of one length, at least 2")
            if list(self.scores) != sorted(self.scores) or list(self.probabilities) != sorted(self.probabilities):
                raise ValueError("the `scores` and `probabilities` of isotonic must rise")
        return self


class EnsembleCalibration(Section):
    """Several checks as one probability: a logistic model over the log-odds of their calibrated scores."""

    weights: Annotated[dict[str, float], Field(min_length=2)]
    """Weight of each check's log-odds; the ensemble speaks only where all of them have a score."""
    intercept: float = 0.0
    """Is added to the weighted log-odds."""


class CalibrationSettings(Section):
    """What `evidencerails calibrate` fitted. Labels and findings stay as they are; scores become probabilities."""

    methods: dict[str, MethodCalibration] = Field(default_factory=dict)
    """By the name of a check or measure."""
    ensemble: EnsembleCalibration | None = None
    """In place of the highest score of the checks; unset: the highest counts."""
    fitted_on: str = ""
    """What it was fitted on, for people."""
