"""Fits what `settings.calibration` holds: a calibrator for each method, an ensemble, thresholds. Nothing is kept that
is worse on documents it was not fitted on.

Documents are split once: most train, the rest are held out. Among the calibrators (temperature, Platt, isotonic) the
one with the lowest cross-validated log loss over the training documents is fitted; it is refused where the raw score
has a lower log loss on the held-out ones. The ensemble is an L2-regularised logistic model over calibrated log-odds,
its strength cross-validated; it is refused where the best single method is as good on the held-out documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np

from evidencerails.errors import InputError
from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Bools, Floats, Interval
from evidencerails.evaluation.resampling import ratio_interval
from evidencerails.measures.calibrated import CLIP, calibrated, ensemble_score, log_odds
from evidencerails.settings.calibration import CalibratorName, EnsembleCalibration, MethodCalibration

CALIBRATORS: tuple[CalibratorName, ...] = get_args(CalibratorName)
FOLDS = 5
STRENGTHS = (0.01, 0.1, 1.0, 10.0)
"""Inverse strengths of the ensemble's regularisation that are tried."""
LEAST_PER_CLASS = 15
"""Rows of either label that the training and the held-out documents each need."""
ISOTONIC_FLOOR = 0.01
"""A staircase never says 0 or 1: a few training rows cannot show certainty."""


class Rows(NamedTuple):
    """Verified rows of one or several methods; `scores` has a column for each."""

    labels: Bools
    scores: Floats
    groups: Floats

    def at(self, chosen: Bools) -> Rows:
        """Some of the rows."""
        return Rows(self.labels[chosen], self.scores[chosen], self.groups[chosen])


class Fitted(NamedTuple):
    """What came of one method or of the ensemble."""

    name: str
    settings: MethodCalibration | EnsembleCalibration | None
    """None where it was refused."""
    told: str
    """Why it was taken or refused, in words."""
    before: dict[str, Any]
    """Held-out log loss, Brier score and ECE of what it is compared with: the raw score, or the best single method."""
    after: dict[str, Any]
    bins_before: list[dict[str, float]]
    bins_after: list[dict[str, float]]


def split(rows: Rows, held_out: float, seed: int) -> Bools:
    """True for rows of held-out documents.

    Raises:
        InputError: a side would have fewer than `LEAST_PER_CLASS` rows of a label.
    """
    outside = np.array([_share(group, seed) < held_out for group in rows.groups], dtype=np.bool_)
    for side, inside in (("training", ~outside), ("held-out", outside)):
        bad, good = int(rows.labels[inside].sum()), int((~rows.labels[inside]).sum())
        if min(bad, good) < LEAST_PER_CLASS:
            raise InputError(
                f"too few rows to calibrate: {side} documents have {bad} hallucinated and {good} clean rows, at least "
                f"{LEAST_PER_CLASS} of each are needed; evaluate more rows"
            )
    return outside


def _share(group: float, seed: int) -> float:
    """A number in [0, 1) that a document keeps whatever other documents there are: methods share their split."""
    digest = hashlib.blake2b(f"{seed}:{group!r}".encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def log_loss(labels: Bools, probabilities: Floats) -> float:
    """Mean negative log probability of the label; probabilities are kept `CLIP` away from 0 and 1."""
    return float(row_losses(labels, probabilities).mean())


def row_losses(labels: Bools, probabilities: Floats) -> Floats:
    """The log loss of each row."""
    bounded = np.clip(probabilities, CLIP, 1 - CLIP)
    losses: Floats = -np.where(labels, np.log(bounded), np.log(1 - bounded))
    return losses


def odds(scores: Floats) -> Floats:
    """Log-odds of many scores."""
    return np.vectorize(log_odds, otypes=[np.float64])(scores)  # type: ignore[no-any-return]


def applied(how: MethodCalibration, scores: Floats) -> Floats:
    """Calibrated scores, by the very function that the engine uses."""
    return np.array([calibrated(float(score), how) for score in scores])


def fit_one(kind: CalibratorName, labels: Bools, scores: Floats) -> MethodCalibration:
    """A calibrator of one kind.

    Raises:
        InputError: the scores fall as hallucinations get more, or they are all equal.
    """
    if kind == "temperature":
        return _temperature(labels, scores)
    if kind == "platt":
        return _platt(labels, scores)
    return _isotonic(labels, scores)


def _temperature(labels: Bools, scores: Floats) -> MethodCalibration:
    from scipy.optimize import minimize_scalar

    raw = odds(scores)

    def loss(log_temperature: float) -> float:
        return log_loss(labels, 1 / (1 + np.exp(-raw / np.exp(log_temperature))))

    found = minimize_scalar(loss, bounds=(np.log(0.05), np.log(20.0)), method="bounded")
    return MethodCalibration(method="temperature", temperature=round(float(np.exp(found.x)), 6))


def _platt(labels: Bools, scores: Floats) -> MethodCalibration:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=100.0).fit(odds(scores)[:, None], labels)
    slope = float(model.coef_[0, 0])
    if slope <= 0:
        raise InputError(f"higher scores do not mean more hallucinations here (slope {slope:.3f})")
    return MethodCalibration(method="platt", slope=round(slope, 6), intercept=round(float(model.intercept_[0]), 6))


def _isotonic(labels: Bools, scores: Floats) -> MethodCalibration:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=ISOTONIC_FLOOR, y_max=1 - ISOTONIC_FLOOR, out_of_bounds="clip")
    model.fit(scores, labels.astype(np.float64))
    steps = [
        (round(float(x), 6), round(float(y), 6)) for x, y in zip(model.X_thresholds_, model.y_thresholds_, strict=True)
    ]
    distinct = dict(steps)
    if len(distinct) < 2:
        raise InputError("all scores are equal")
    return MethodCalibration(method="isotonic", scores=tuple(distinct), probabilities=tuple(distinct.values()))


def folds(groups: Floats, seed: int) -> Floats:
    """The fold of each row; rows of one document share it."""
    documents, index = np.unique(groups, return_inverse=True)
    numbers = np.random.default_rng(seed).permutation(len(documents)) % min(FOLDS, len(documents))
    return numbers[index].astype(np.float64)


def cross_validated(kind: CalibratorName, rows: Rows, seed: int) -> float:
    """Mean log loss over the folds; infinite where it cannot be fitted in one."""
    parts, losses = folds(rows.groups, seed), []
    for part in np.unique(parts):
        inside = rows.at(parts != part)
        outside = rows.at(parts == part)
        try:
            how = fit_one(kind, inside.labels, inside.scores)
        except (InputError, ValueError):  # scikit-learn raises ValueError for a fold of one class
            return float("inf")
        losses.append(log_loss(outside.labels, applied(how, outside.scores)))
    return float(np.mean(losses))


def fit_method(name: str, rows: Rows, outside: Bools, kind: CalibratorName | None, seed: int) -> Fitted:
    """The calibrator of a method: of `kind`, or of the one that cross-validates best."""
    train, held = rows.at(~outside), rows.at(outside)
    losses = {one: cross_validated(one, train, seed) for one in ((kind,) if kind else CALIBRATORS)}
    best = min(losses, key=lambda one: losses[one])
    before = quality(held.labels, held.scores, held.groups)
    bins = bins_of(held.labels, held.scores)
    if not np.isfinite(losses[best]):
        return Fitted(name, None, "refused: its scores do not rise with hallucinations", before, before, bins, bins)
    how = fit_one(best, train.labels, train.scores)
    after_scores = applied(how, held.scores)
    after = quality(held.labels, after_scores, held.groups)
    if any(after[name]["value"] > before[name]["value"] for name in ("log_loss", "brier")):
        told = f"refused: {best} is worse than the raw score on held-out documents"
        return Fitted(name, None, told, before, after, bins, bins_of(held.labels, after_scores))
    return Fitted(
        name, how, f"{best}, chosen on training documents", before, after, bins, bins_of(held.labels, after_scores)
    )


def fit_ensemble(names: Sequence[str], rows: Rows, outside: Bools, seed: int) -> Fitted:
    """Weights over calibrated scores, a column a method; compared with the best method on held-out documents."""
    train, held = rows.at(~outside), rows.at(outside)
    singles = [log_loss(train.labels, train.scores[:, place]) for place in range(len(names))]
    best = int(np.argmin(singles))
    strength = min(STRENGTHS, key=lambda one: _ensemble_loss(train, one, seed))
    how = _ensemble(names, train, strength)
    together = ensemble_scores(how, names, held.scores)
    single = held.scores[:, best]
    before, after = (quality(held.labels, one, held.groups) for one in (single, together))
    change = ratio_interval(row_losses(held.labels, together) - row_losses(held.labels, single),
                          np.ones(held.labels.size), groups=held.groups, seed=seed)  # fmt: skip
    told = (
        f"log loss {_signed(change)} against {names[best]} alone on held-out documents"
        if change.value is not None
        else "no held-out rows"
    )
    settings = how if change.value is not None and change.value < 0 else None
    word = "taken" if settings else "refused"
    bins = [bins_of(held.labels, one) for one in (single, together)]
    return Fitted("ensemble", settings, f"{word}: {told}", before, after, bins[0], bins[1])


def _signed(change: Interval) -> str:
    return f"{change.value:+.4f} [{change.low:+.4f}, {change.high:+.4f}]"


def _ensemble(names: Sequence[str], rows: Rows, strength: float) -> EnsembleCalibration:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=strength).fit(odds(rows.scores), rows.labels)
    weights = {name: round(float(weight), 6) for name, weight in zip(names, model.coef_[0], strict=True)}
    return EnsembleCalibration(weights=weights, intercept=round(float(model.intercept_[0]), 6))


def ensemble_scores(how: EnsembleCalibration, names: Sequence[str], scores: Floats) -> Floats:
    """The ensemble's probability for each row of calibrated scores, a column a name."""
    found = [ensemble_score(dict(zip(names, map(float, row), strict=True)), how) for row in scores]
    return np.array([float("nan") if one is None else one for one in found])


def _ensemble_loss(rows: Rows, strength: float, seed: int) -> float:
    parts, losses = folds(rows.groups, seed), []
    names = [str(place) for place in range(rows.scores.shape[1])]
    for part in np.unique(parts):
        inside, outside = rows.at(parts != part), rows.at(parts == part)
        if inside.labels.all() or not inside.labels.any():
            return float("inf")
        how = _ensemble(names, inside, strength)
        losses.append(log_loss(outside.labels, ensemble_scores(how, names, outside.scores)))
    return float(np.mean(losses))


def quality(labels: Bools, probabilities: Floats, groups: Floats) -> dict[str, Any]:
    """Log loss, Brier score, ECE and AUROC with their intervals."""
    losses = ratio_interval(row_losses(labels, probabilities), np.ones(labels.size), groups=groups)
    found: Mapping[str, Interval] = {
        "log_loss": losses,
        **{
            name: metrics.bootstrap_interval(labels, probabilities, name, groups=groups.tolist())
            for name in ("brier", "ece", "auroc")
        },
    }
    return {name: one.as_dict() for name, one in found.items()}


def bins_of(labels: Bools, probabilities: Floats) -> list[dict[str, float]]:
    """Bins of the reliability diagram."""
    return [one._asdict() for one in metrics.reliability(labels, probabilities)]
