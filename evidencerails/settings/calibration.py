"""Settings that `evidencerails calibrate` writes: how raw scores become probabilities, alone and together."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evidencerails.settings.base import Positive, Section


class MethodCalibration(Section):
    """How the raw score of one check or measure becomes a probability: by its log-odds (Platt 1999)."""

    slope: Positive = 1.0
    """Multiplies the log-odds."""
    intercept: float = 0.0
    """Is added to them."""


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
