"""Fits a calibrator for each method of a run, an ensemble, and thresholds.

In: labelled scores. Out: the settings of `settings.calibration`. Nothing is kept that is worse on documents it was not
fitted on.

Documents are split once: most train, the rest are held out. A logistic model of the log-odds (Platt 1999) is fitted on
the training documents; it is refused where the raw score has a lower log loss on the held-out ones. The ensemble is an
L2-regularised logistic model over calibrated log-odds, its strength cross-validated; it is refused where the best
single method is as good on the held-out documents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evidencerails.errors import InputError
from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Bools, Floats, intervals, of_ratio
from evidencerails.measures.calibrated import CLIP, calibrated, ensemble_score
from evidencerails.settings.calibration import EnsembleCalibration, MethodCalibration

FOLDS = 5
STRENGTHS = (0.01, 0.1, 1.0, 10.0)
"""Inverse strengths of the ensemble's regularisation that are tried."""
LEAST_PER_CLASS = 15
"""Rows of either label that the training and the held-out documents each need."""
MOST_CANDIDATES = 2000


class Rows(NamedTuple):
    """Verified rows of one or several methods; `scores` has a column for each."""

    labels: Bools
    scores: Floats
    groups: Floats

    def at(self, chosen: NDArray[Any]) -> Rows:
        return Rows(self.labels[chosen], self.scores[chosen], self.groups[chosen])


class Fitted(NamedTuple):
    """What came of one method or of the ensemble."""

    name: str
    settings: MethodCalibration | EnsembleCalibration | None
    """None where it was refused."""
    conclusion: str
    """Why it was taken or refused, in words."""
    before: dict[str, Any]
    """Held-out log loss, Brier score, ECE and AUROC of what it is compared with: the raw score, or the best method."""
    after: dict[str, Any]
    bins_before: list[dict[str, float]]
    bins_after: list[dict[str, float]]


def split(rows: Rows, held_out: float, seed: int, *, least_wrong: int = LEAST_PER_CLASS) -> Bools:
    """True for rows of held-out documents. A document keeps its side whatever others there are: methods share a split.
    `InputError`: a side would have fewer than `LEAST_PER_CLASS` clean or `least_wrong` hallucinated rows."""
    digests = (hashlib.blake2b(f"{seed}:{group!r}".encode(), digest_size=6).digest() for group in rows.groups)
    outside = np.array([int.from_bytes(digest, "big") / 2**48 < held_out for digest in digests], dtype=np.bool_)
    for side, inside in (("training", ~outside), ("held-out", outside)):
        bad, good = int(rows.labels[inside].sum()), int((~rows.labels[inside]).sum())
        if bad < least_wrong or good < LEAST_PER_CLASS:
            needed = "of each" if least_wrong else "clean ones"
            raise InputError(
                f"too few rows to calibrate: {side} documents have {bad} hallucinated and {good} clean rows, at least "
                f"{LEAST_PER_CLASS} {needed} are needed; evaluate more rows"
            )
    return outside


def row_losses(labels: Bools, probabilities: Floats) -> Floats:
    """The log loss of each row; probabilities are kept `CLIP` away from 0 and 1."""
    bounded = np.clip(probabilities, CLIP, 1 - CLIP)
    losses: Floats = -np.log(np.where(labels, bounded, 1 - bounded))
    return losses


def odds(scores: Floats) -> Floats:
    bounded = np.clip(scores, CLIP, 1 - CLIP)
    found: Floats = np.log(bounded / (1 - bounded))
    return found


def applied(how: MethodCalibration | None, scores: Floats) -> Floats:
    """Calibrated scores, by the very function that the engine uses; the raw ones without a calibration."""
    return scores if how is None else np.array([calibrated(float(score), how) for score in scores])


def fit_platt(labels: Bools, scores: Floats) -> MethodCalibration:
    """A logistic model of the log-odds. `InputError`: the scores fall as hallucinations get more, or they are all
    equal."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=100.0).fit(odds(scores)[:, None], labels)
    slope = float(model.coef_[0, 0])
    if slope <= 0:
        raise InputError(f"higher scores do not mean more hallucinations here (slope {slope:.3f})")
    return MethodCalibration(slope=round(slope, 6), intercept=round(float(model.intercept_[0]), 6))


def fit_method(name: str, rows: Rows, outside: Bools) -> Fitted:
    train, held = rows.at(~outside), rows.at(outside)
    try:
        how = fit_platt(train.labels, train.scores)
    except InputError as error:
        return _fitted(name, None, f"refused: {error}", held, held.scores, held.scores)
    found = _fitted(name, how, "fitted on training documents", held, held.scores, applied(how, held.scores))
    if any(found.after[metric]["value"] > found.before[metric]["value"] for metric in ("log_loss", "brier")):
        return found._replace(settings=None, conclusion="refused: worse than the raw score on held-out documents")
    return found


def fit_ensemble(names: Sequence[str], rows: Rows, outside: Bools, seed: int) -> Fitted:
    """Weights over calibrated scores, a column a method; compared with the best method on held-out documents."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, GroupKFold

    train, held = rows.at(~outside), rows.at(outside)
    folds = GroupKFold(min(FOLDS, np.unique(train.groups).size)).split(train.scores, groups=train.groups)
    search = GridSearchCV(LogisticRegression(), {"C": STRENGTHS}, cv=list(folds), scoring="neg_log_loss")
    model = search.fit(odds(train.scores), train.labels).best_estimator_
    weights = dict(zip(names, model.coef_[0].round(6).tolist(), strict=True))
    how = EnsembleCalibration(weights=weights, intercept=round(float(model.intercept_[0]), 6))
    best = min(range(len(names)), key=lambda place: row_losses(train.labels, train.scores[:, place]).mean())
    together, single = ensemble_scores(how, names, held.scores), held.scores[:, best]
    gain = row_losses(held.labels, together) - row_losses(held.labels, single)
    change = intervals({"": of_ratio(gain, np.ones(gain.size))}, held.groups, seed=seed)[""]
    is_better = change.value is not None and change.value < 0
    conclusion = (
        f"{'taken' if is_better else 'refused'}: log loss {change.value:+.4f} [{change.low:+.4f}, {change.high:+.4f}] "
        f"against {names[best]} alone on held-out documents"
    )
    return _fitted("ensemble", how if is_better else None, conclusion, held, single, together)


def ensemble_scores(how: EnsembleCalibration, names: Sequence[str], scores: Floats) -> Floats:
    """The ensemble's probability for each row of calibrated scores, a column a name."""
    found = [ensemble_score(dict(zip(names, map(float, row), strict=True)), how) for row in scores]
    return np.array([float("nan") if one is None else one for one in found])


def _fitted(name: str, settings: Any, conclusion: str, held: Rows, before: Floats, after: Floats) -> Fitted:
    first, second = (_quality(held.labels, scores, held.groups) for scores in (before, after))
    bins = [metrics.reliability(held.labels, scores) for scores in (before, after)]
    return Fitted(name, settings, conclusion, first, second, *bins)


def _quality(labels: Bools, probabilities: Floats, groups: Floats) -> dict[str, Any]:
    kept = {name: metrics.SCORE_METRICS[name].estimate(labels, probabilities) for name in ("brier", "ece", "auroc")}
    log_loss = of_ratio(row_losses(labels, probabilities), np.ones(labels.size))
    return metrics.measured({"log_loss": log_loss, **kept}, groups)


class Threshold(NamedTuple):
    """A threshold with what it does to some rows; a row is flagged from the threshold on."""

    value: float
    false_abstention_rate: float
    """Share of clean rows that are flagged."""
    leak_rate: float | None
    """Share of hallucinated rows that pass; None if there is no such row."""
    precision: float | None


def at(labels: Bools, scores: Floats, value: float) -> Threshold:
    flagged = scores >= value
    hit, wrong = int((flagged & labels).sum()), int(labels.sum())
    return Threshold(
        float(value),
        float((flagged & ~labels).sum() / max(1, labels.size - wrong)),
        1 - hit / wrong if wrong else None,
        hit / int(flagged.sum()) if flagged.any() else None,
    )


def thresholds(labels: Bools, scores: Floats) -> list[Threshold]:
    """What each threshold between two distinct scores, below all and above all does, rising; of very many,
    `MOST_CANDIDATES` evenly chosen."""
    distinct = np.unique(scores)
    cuts: Floats = np.r_[distinct[0], (distinct[1:] + distinct[:-1]) / 2, min(1.0, float(distinct[-1]) + 1e-6)]
    if cuts.size > MOST_CANDIDATES:
        cuts = cuts[np.linspace(0, cuts.size - 1, MOST_CANDIDATES).round().astype(int)]
    return [at(labels, scores, float(cut)) for cut in cuts]


def cheapest(labels: Bools, scores: Floats, false_abstention: float, leak: float) -> Threshold:
    """The threshold with the least `false_abstention * false abstention rate + leak * leak rate`; the middle of ties.
    `InputError`: a cost is negative, or both are 0."""
    if min(false_abstention, leak) < 0 or false_abstention + leak == 0:
        raise InputError(f"costs must not be negative, nor both 0; got {false_abstention:g} and {leak:g}")
    each = thresholds(labels, scores)
    costs = np.array([false_abstention * one.false_abstention_rate + leak * (one.leak_rate or 0.0) for one in each])
    best = np.flatnonzero(np.isclose(costs, costs.min()))
    return each[int(best[len(best) // 2])]


def for_recall(labels: Bools, scores: Floats, wanted: float) -> Threshold:
    """The highest threshold that still finds this share of the hallucinated rows."""
    return [one for one in thresholds(labels, scores) if 1 - (one.leak_rate or 0.0) >= wanted][-1]


def for_precision(labels: Bools, scores: Floats, wanted: float) -> Threshold:
    """The lowest threshold at which this share of the flagged rows is hallucinated. `InputError`: no threshold reaches
    it."""
    each = [(one.precision or 0.0, one) for one in thresholds(labels, scores) if one.precision is not None]
    found = next((one for precision, one in each if precision >= wanted), None)
    if found is None:
        best = max((precision for precision, _ in each), default=0.0)
        raise InputError(f"no threshold has a precision of {wanted:g} on the training rows; the best is {best:.3f}")
    return found


def for_false_warnings(labels: Bools, scores: Floats, most: float) -> Threshold:
    """The lowest threshold at which at most this share of the clean rows is flagged; the highest of all if none is."""
    each = thresholds(labels, scores)
    return next((one for one in each if one.false_abstention_rate <= most), each[-1])
