"""From a run to settings: reads the scores, fits, chooses thresholds, and measures them on held-out documents."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from evidencerails import __version__
from evidencerails.config import CHECKS
from evidencerails.errors import InputError
from evidencerails.evaluation import calibration as fits
from evidencerails.evaluation.calibration import LEAST_PER_CLASS, Fitted, Rows, applied
from evidencerails.evaluation.metrics import Bools
from evidencerails.evaluation.outcomes import Outcome
from evidencerails.evaluation.runs import outcomes_of
from evidencerails.settings.calibration import EnsembleCalibration, MethodCalibration

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
    fitted = [fits.fit_method(name, rows[name], outside[name]) for name in names if is_fitted]
    kept = {one.name: one.settings for one in fitted if isinstance(one.settings, MethodCalibration)}
    if len(names) > 1 and is_fitted:
        common = _together(names, found, kept)
        if common is None:
            raise InputError("no row was verified by all methods; calibrate them one by one with --method")
        fitted.append(fits.fit_ensemble(names, common, _split(common, wanted), wanted.seed))
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
    scores = fits.ensemble_scores(ensemble, wanted, rows.scores) if ensemble else rows.scores.max(axis=1)
    return {REPORT: rows._replace(scores=scores)}


def _split(rows: Rows, wanted: Wanted) -> Bools:
    least_wrong = LEAST_PER_CLASS if wanted.false_warnings is None else 0
    return fits.split(rows, wanted.held_out, wanted.seed, least_wrong=least_wrong)


def _threshold(rows: Rows, wanted: Wanted) -> dict[str, Any]:
    """The threshold chosen on the training documents, and what it does on the held-out ones."""
    outside = _split(rows, wanted)
    labels, scores, _ = rows.at(~outside)
    if wanted.false_warnings is not None:
        chosen = fits.for_false_warnings(labels, scores, wanted.false_warnings)
    elif wanted.recall is not None:
        chosen = fits.for_recall(labels, scores, wanted.recall)
    elif wanted.precision is not None:
        chosen = fits.for_precision(labels, scores, wanted.precision)
    else:
        chosen = fits.cheapest(labels, scores, wanted.false_abstention_cost, wanted.leak_cost)
    held = fits.at(rows.labels[outside], rows.scores[outside], chosen.value)
    return {"training": chosen._asdict(), "held_out": held._asdict()}


def as_yaml(calibration: Calibration) -> str:
    """The settings as a file that `Guard`, `--config` and a guardrails app's `custom_data` read."""
    return yaml.safe_dump({"evidencerails": calibration.settings}, sort_keys=False, allow_unicode=False)
