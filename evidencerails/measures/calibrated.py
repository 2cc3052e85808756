"""Scores as the settings' calibration turns them into probabilities. Labels, findings and statuses are not touched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evidencerails.report import CheckResult
from evidencerails.settings.scoring import CalibrationSettings, EnsembleCalibration, MethodCalibration
from evidencerails.verdict.model import sigmoid

CLIP = 1e-6
"""Probabilities are kept this far from 0 and 1 before their log-odds are taken."""


def log_odds(probability: float) -> float:
    """Log-odds of a probability, finite for 0 and 1."""
    bounded = min(1.0 - CLIP, max(CLIP, probability))
    return math.log(bounded / (1.0 - bounded))


def calibrated(score: float, how: MethodCalibration) -> float:
    """The probability of a raw score, in [0, 1]; it never falls as the score rises."""
    return sigmoid(how.slope * log_odds(score) + how.intercept)


def with_calibration(results: Sequence[CheckResult], settings: CalibrationSettings) -> list[CheckResult]:
    """The results with calibrated scores; the raw one stays in the details as `raw_score`."""
    found = []
    for result in results:
        how, score = settings.methods.get(result.name), result.score
        if how is not None and score is not None and "raw_score" not in result.details:
            details = {**result.details, "raw_score": score}
            result = result.model_copy(update={"score": calibrated(score, how), "details": details})
        found.append(result)
    return found


OWN_SCORE = "own_score"
"""Key in the details of a check that left its claims to a finer one: the raw score that it had of them."""


def scores_by_name(
    results: Sequence[CheckResult], settings: CalibrationSettings | None = None
) -> dict[str, float | None]:
    """Calibrated scores of the checks and, from their metrics `measure_<name>`, of the measures that ran beside them.

    A check that left its claims to another one counts with the score that it had: an ensemble has a weight for both.
    """
    measured = {name: value for result in results for name, value in result.metrics.items()}
    found: dict[str, float | None] = {
        name.removeprefix("measure_"): value for name, value in measured.items() if name.startswith("measure_")
    }
    for result in results:
        own, how = result.details.get(OWN_SCORE), settings.methods.get(result.name) if settings else None
        found[result.name] = result.score if own is None else own if how is None else calibrated(own, how)
    return found


def ensemble_score(scores: Mapping[str, float | None], settings: EnsembleCalibration | None) -> float | None:
    """The ensemble's probability from calibrated scores by name; None without one, or where a part has no score."""
    if settings is None:
        return None
    parts = {name: scores.get(name) for name in settings.weights}
    known = {name: value for name, value in parts.items() if value is not None}
    if len(known) < len(parts):
        return None
    total = sum(weight * log_odds(known[name]) for name, weight in settings.weights.items())
    return sigmoid(total + settings.intercept)
