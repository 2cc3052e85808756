"""From a run to settings: fits a calibrator for each method, an ensemble and thresholds, and measures them.

In: labelled scores. Out: `CalibrationSettings`. Documents are split once: most train, the rest are
held out. A logistic model of the log-odds (Platt 1999) is fitted on the training documents; it is refused where the raw
score has a lower log loss on the held-out ones. The ensemble is an L2-regularised logistic model over calibrated
log-odds, its strength cross-validated; it is refused where the best single method is as good on the held-out documents.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from evidencerails.errors import InputError
from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Bools, Floats, intervals, of_ratio
from evidencerails.evaluation.outcomes import Outcome, outcomes_of
from evidencerails.measures.calibrated import CLIP, calibrated, ensemble_score
from evidencerails.settings.policies import CHECKS
from evidencerails.settings.scoring import EnsembleCalibration, MethodCalibration
from evidencerails.version import __version__

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
    return Fitted(name, settings, conclusion, first, second)


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


BY_CLAIM = ("grounding", "claims")
"""Checks that flag a response by its worst claim: their threshold is the setting `grounding.max_unsupported_score`."""
REPORT = "report score"
"""Name of the threshold on `hallucination_score` among those chosen."""
Outcomes = Mapping[str, Sequence[Outcome]]
"""By method, those with a score."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to fit, and how the threshold is chosen: by false warnings, else by recall, by precision, by costs."""

    false_abstention_cost: float = 1.0
    leak_cost: float = 1.0
    precision: float | None = None
    recall: float | None = None
    false_warnings: float | None = None
    """Share of right answers that may be flagged. Only the threshold is chosen then: no wrong answer is needed."""
    held_out: float = 0.3
    seed: int = 0
    gate: bool = False
    """Also write the threshold of the report's score as `quality_gate.max_hallucination_score`."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    fitted: list[Fitted]
    settings: dict[str, Any]
    thresholds: dict[str, dict[str, Any]]
    """By method: what was chosen on training documents, and what it does on held-out ones."""
    rows: int
    hallucinated_rows: int
    held_out_rows: int


def calibrate(run: Path, methods: Sequence[str], wanted: Wanted) -> Calibration:
    """Fit the methods of a run, or of exported traffic; all of them if none is named. `InputError`: too few rows, a
    method the run does not have, or scores that are calibrated already."""
    header, outcomes = outcomes_of(run)
    if header.get("calibrated"):
        raise InputError(f"the scores of {str(run)!r} are calibrated already; evaluate without a calibration first")
    found = _chosen(run, outcomes, methods)
    names = list(found)
    by_claim = [name for name in names if name in BY_CLAIM]
    is_fitted = wanted.false_warnings is None
    if not by_claim and not is_fitted and not wanted.gate:
        raise InputError(f"a budget of false warnings sets the threshold of claims; {', '.join(names)} has none")
    rows = {name: _rows(found[name]) for name in names}
    outside = {name: _split(rows[name], wanted) for name in names}
    fitted = [fit_method(name, rows[name], outside[name]) for name in names if is_fitted]
    kept = {one.name: one.settings for one in fitted if isinstance(one.settings, MethodCalibration)}
    if len(names) > 1 and is_fitted:
        common = _together(names, found, kept)
        if common is None:
            raise InputError("no row was verified by all methods; calibrate them one by one with --method")
        fitted.append(fit_ensemble(names, common, _split(common, wanted), wanted.seed))
    ensemble = next((one.settings for one in fitted if isinstance(one.settings, EnsembleCalibration)), None)

    judged = {name: one._replace(scores=applied(kept.get(name), one.scores)) for name, one in rows.items() if is_fitted}
    judged |= {f"{name}, worst claim": _worst_claims(found[name]) for name in by_claim}
    if is_fitted or wanted.gate:
        judged |= _report_rows(names, found, kept, ensemble)
    if wanted.gate and REPORT not in judged:
        raise InputError("--gate limits the score of reports, which comes from checks; the run has only measures")
    thresholds = {name: _threshold(one, wanted) for name, one in judged.items()}

    labels = rows[names[0]].labels
    settings: dict[str, Any] = {}
    if is_fitted:
        about = f"{labels.size} rows of {header['dataset']}, evidencerails {__version__}"
        settings["calibration"] = {
            "fitted_on": f"{about}, {datetime.date.today().isoformat()}",
            "methods": {name: one.model_dump(mode="json", exclude_defaults=True) for name, one in kept.items()},
            **({} if ensemble is None else {"ensemble": ensemble.model_dump(mode="json")}),
        }
    if by_claim:
        limit = thresholds[f"{by_claim[0]}, worst claim"]["training"]["value"]
        settings["grounding"] = {"max_unsupported_score": round(min(1.0, limit), 4)}
    if wanted.gate:
        limit = thresholds[REPORT]["training"]["value"]
        settings["quality_gate"] = {"max_hallucination_score": round(min(1.0, limit), 6)}
    counts = {
        "rows": labels.size,
        "hallucinated_rows": int(labels.sum()),
        "held_out_rows": int(outside[names[0]].sum()),
    }
    return Calibration(fitted=fitted, settings=settings, thresholds=thresholds, **counts)


def _chosen(run: Path, outcomes: Iterable[Outcome], methods: Sequence[str]) -> Outcomes:
    found: dict[str, list[Outcome]] = {}
    for one in outcomes:
        if one.status != "unverified" and one.score is not None:
            found.setdefault(one.method, []).append(one)
    missing = [name for name in methods if name not in found]
    if missing or not found:
        wanted = ", ".join(missing) or "any method"
        raise InputError(f"{str(run)!r} has no outcome of {wanted}; it has {', '.join(found)}")
    return {name: found[name] for name in methods or found}


def _rows(outcomes: Sequence[Outcome]) -> Rows:
    """A document is a number that is the same for every method, so that all have the same split."""
    digests = (hashlib.blake2b(one.document.encode("utf-8", "surrogatepass"), digest_size=6) for one in outcomes)
    return Rows(
        np.array([one.hallucinated for one in outcomes], dtype=np.bool_),
        np.array([one.score for one in outcomes], dtype=np.float64),
        np.array([float(int.from_bytes(digest.digest(), "big")) for digest in digests]),
    )


def _worst_claims(outcomes: Sequence[Outcome]) -> Rows:
    """Each response with the score of its worst claim; one without claims has 0."""
    worst = [max((p.score for p in one.parts if p.score is not None), default=0.0) for one in outcomes]
    return _rows(outcomes)._replace(scores=np.array(worst, dtype=np.float64))


def _together(names: Sequence[str], found: Outcomes, kept: Mapping[str, MethodCalibration]) -> Rows | None:
    """The rows that every method verified, a column of calibrated scores for each; None if there is none."""
    by_row = [{one.id: one for one in found[name]} for name in names]
    common = [row for row in by_row[0] if all(row in other for other in by_row)] if by_row else []
    if not common:
        return None
    each = [_rows([by[row] for row in common]) for by in by_row]
    columns = [applied(kept.get(name), one.scores) for name, one in zip(names, each, strict=True)]
    return each[0]._replace(scores=np.stack(columns, axis=1))


def _report_rows(
    names: Sequence[str],
    found: Outcomes,
    kept: Mapping[str, MethodCalibration],
    ensemble: EnsembleCalibration | None,
) -> dict[str, Rows]:
    """The score that a report would have, for the rows that all verified: the ensemble's, else the highest of the
    checks; nothing if there is no check."""
    wanted = [name for name in names if ensemble is not None or name in CHECKS]
    rows = _together(wanted, found, kept)
    if rows is None:
        return {}
    scores = ensemble_scores(ensemble, wanted, rows.scores) if ensemble else rows.scores.max(axis=1)
    return {REPORT: rows._replace(scores=scores)}


def _split(rows: Rows, wanted: Wanted) -> Bools:
    least_wrong = LEAST_PER_CLASS if wanted.false_warnings is None else 0
    return split(rows, wanted.held_out, wanted.seed, least_wrong=least_wrong)


def _threshold(rows: Rows, wanted: Wanted) -> dict[str, Any]:
    """The threshold chosen on the training documents, and what it does on the held-out ones."""
    outside = _split(rows, wanted)
    labels, scores, _ = rows.at(~outside)
    if wanted.false_warnings is not None:
        chosen = for_false_warnings(labels, scores, wanted.false_warnings)
    elif wanted.recall is not None:
        chosen = for_recall(labels, scores, wanted.recall)
    elif wanted.precision is not None:
        chosen = for_precision(labels, scores, wanted.precision)
    else:
        chosen = cheapest(labels, scores, wanted.false_abstention_cost, wanted.leak_cost)
    held = at(rows.labels[outside], rows.scores[outside], chosen.value)
    return {"training": chosen._asdict(), "held_out": held._asdict()}


def as_yaml(calibration: Calibration) -> str:
    """The settings as a file that `Guard`, `--config` and a guardrails app's `custom_data` read."""
    return yaml.safe_dump({"evidencerails": calibration.settings}, sort_keys=False, allow_unicode=False)
