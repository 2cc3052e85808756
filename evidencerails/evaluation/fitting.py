"""From a run to settings: reads the scores, fits, chooses thresholds, and measures them on held-out documents."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from evidencerails import __version__
from evidencerails.config import CHECKS
from evidencerails.errors import InputError
from evidencerails.evaluation.calibration import (
    LEAST_PER_CLASS,
    Fitted,
    Rows,
    applied,
    at,
    cheapest,
    ensemble_scores,
    fit_ensemble,
    fit_method,
    for_false_warnings,
    for_precision,
    for_recall,
    split,
)
from evidencerails.evaluation.metrics import Bools, Floats
from evidencerails.evaluation.outcomes import Outcome
from evidencerails.evaluation.runs import outcomes_in, read_header
from evidencerails.evaluation.traffic import is_traffic, outcomes_of_traffic
from evidencerails.settings.calibration import CalibratorName, EnsembleCalibration, MethodCalibration

BY_CLAIM = ("grounding", "claims")
"""Checks that flag a response by its worst claim: their threshold is the setting `grounding.max_unsupported_score`."""


REPORT = "report score"
"""Name of the threshold on `hallucination_score` among those chosen."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What to fit, and how the threshold is chosen: by false warnings, else by recall, by precision, by costs."""

    kind: CalibratorName | None = None
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
    """What was fitted, and the settings of it."""

    fitted: list[Fitted]
    settings: dict[str, Any]
    thresholds: dict[str, dict[str, Any]]
    """By method: what was chosen on training documents, and what it does on held-out ones."""
    rows: int
    hallucinated_rows: int
    held_out_rows: int


def calibrate(run: Path, methods: Sequence[str], wanted: Wanted) -> Calibration:
    """Fit the methods of a run, or of exported traffic; all of them if none is named.

    Raises:
        InputError: too few rows, a method the run does not have, or scores that are calibrated already.
    """
    if is_traffic(run):
        header, found = {"dataset": run.name}, _by_method(outcomes_of_traffic(run))
    else:
        header, found = read_header(run), _by_method(outcomes_in(run))
    if header.get("calibrated"):
        raise InputError(f"the scores of {str(run)!r} are calibrated already; evaluate without a calibration first")
    missing = [name for name in methods if name not in found]
    if missing or not found:
        raise InputError(
            f"{str(run)!r} has no outcome of {', '.join(missing) or 'any method'}; it has {', '.join(found)}"
        )
    names = list(methods) or list(found)
    rows = {name: _rows(found[name]) for name in names}
    by_claim = [name for name in names if name in BY_CLAIM]
    is_fitted = wanted.false_warnings is None
    if not by_claim and not is_fitted and not wanted.gate:
        raise InputError(f"a budget of false warnings sets the threshold of claims; {', '.join(names)} has none")
    outside = {name: _split(rows[name], wanted) for name in names}
    fitted = [fit_method(name, rows[name], outside[name], wanted.kind) for name in names if is_fitted]
    kept = {one.name: one.settings for one in fitted if isinstance(one.settings, MethodCalibration)}
    if len(names) > 1 and is_fitted:
        common = _together(names, found, kept)
        if common is None:
            raise InputError("no row was verified by all methods; calibrate them one by one with --method")
        fitted.append(fit_ensemble(names, common, split(common, wanted.held_out, wanted.seed), wanted.seed))
    ensemble = next((one.settings for one in fitted if isinstance(one.settings, EnsembleCalibration)), None)
    settings = _settings(fitted, header, len(rows[names[0]].labels)) if is_fitted else {}

    judged = {name: one._replace(scores=_calibrated(one.scores, kept.get(name))) for name, one in rows.items()}
    judged = judged if is_fitted else {}
    judged |= {f"{name}, worst claim": _worst_claims(found[name]) for name in by_claim}
    report = _report_rows(names, found, kept, ensemble)
    if report is not None and (is_fitted or wanted.gate):
        judged[REPORT] = report
    elif wanted.gate:
        raise InputError("--gate limits the score of reports, which comes from checks; the run has only measures")
    chosen = {name: _threshold(one, wanted) for name, one in judged.items()}
    if by_claim:
        limit = chosen[f"{by_claim[0]}, worst claim"]["training"]["value"]
        settings["grounding"] = {"max_unsupported_score": round(min(1.0, limit), 4)}
    if wanted.gate:
        limit = chosen[REPORT]["training"]["value"]
        settings["quality_gate"] = {"max_hallucination_score": round(min(1.0, limit), 6)}
    first = names[0]
    return Calibration(
        fitted=fitted,
        settings=settings,
        thresholds=chosen,
        rows=len(rows[first].labels),
        hallucinated_rows=int(rows[first].labels.sum()),
        held_out_rows=int(outside[first].sum()),
    )


def _by_method(outcomes: Any) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for one in outcomes:
        if one.status != "unverified" and one.score is not None:
            found.setdefault(one.method, []).append(one)
    return found


def _groups(outcomes: Sequence[Outcome]) -> Floats:
    """A number for each document that is the same for every method, so that all have the same split."""
    digests = (hashlib.blake2b(one.document.encode("utf-8", "surrogatepass"), digest_size=6) for one in outcomes)
    return np.array([float(int.from_bytes(digest.digest(), "big")) for digest in digests])


def _rows(outcomes: Sequence[Outcome]) -> Rows:
    labels = np.array([one.hallucinated for one in outcomes], dtype=np.bool_)
    return Rows(labels, np.array([one.score for one in outcomes], dtype=np.float64), _groups(outcomes))


def _worst_claims(outcomes: Sequence[Outcome]) -> Rows:
    """Each response with the score of its worst claim; one without claims has 0."""
    worst = [max((p.score for p in one.parts if p.score is not None), default=0.0) for one in outcomes]
    return _rows(outcomes)._replace(scores=np.array(worst, dtype=np.float64))


def _calibrated(scores: Floats, how: MethodCalibration | None) -> Floats:
    return scores if how is None else applied(how, scores)


def _together(
    names: Sequence[str], found: Mapping[str, list[Outcome]], kept: Mapping[str, MethodCalibration]
) -> Rows | None:
    """The rows that every method verified, a column of calibrated scores for each; None if there is none."""
    by_row = [{one.id: one for one in found[name]} for name in names]
    common = [row for row in by_row[0] if all(row in other for other in by_row)] if by_row else []
    if not common:
        return None
    columns = [
        _calibrated(np.array([by[row].score for row in common], dtype=np.float64), kept.get(name))
        for name, by in zip(names, by_row, strict=True)
    ]
    return _rows([by_row[0][row] for row in common])._replace(scores=np.stack(columns, axis=1))


def _report_rows(
    names: Sequence[str],
    found: Mapping[str, list[Outcome]],
    kept: Mapping[str, MethodCalibration],
    ensemble: EnsembleCalibration | None,
) -> Rows | None:
    """The score that a report would have, for the rows that all verified: the ensemble's, else the highest of the
    checks; None if there is no check."""
    wanted = [name for name in names if ensemble is not None or name in CHECKS]
    rows = _together(wanted, found, kept)
    if rows is None:
        return None
    return rows._replace(scores=ensemble_scores(ensemble, wanted, rows.scores) if ensemble else rows.scores.max(axis=1))


def _split(rows: Rows, wanted: Wanted) -> Bools:
    least_wrong = LEAST_PER_CLASS if wanted.false_warnings is None else 0
    return split(rows, wanted.held_out, wanted.seed, least_wrong=least_wrong)


def _threshold(rows: Rows, wanted: Wanted) -> dict[str, Any]:
    """The threshold chosen on the training documents, and what it does on the held-out ones."""
    outside = _split(rows, wanted)
    labels, scores = rows.labels[~outside], rows.scores[~outside]
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


def _settings(fitted: Sequence[Fitted], header: Mapping[str, Any], rows: int) -> dict[str, Any]:
    methods = {
        one.name: one.settings.model_dump(mode="json", exclude_defaults=True)
        for one in fitted
        if isinstance(one.settings, MethodCalibration)
    }
    about = f"{rows} rows of {header['dataset']}, evidencerails {__version__}, {datetime.date.today().isoformat()}"
    calibration: dict[str, Any] = {"fitted_on": about, "methods": methods}
    ensemble = next((one.settings for one in fitted if isinstance(one.settings, EnsembleCalibration)), None)
    if ensemble is not None:
        calibration["ensemble"] = ensemble.model_dump(mode="json")
    return {"calibration": calibration}


def as_yaml(calibration: Calibration) -> str:
    """The settings as a file that `Guard`, `--config` and a guardrails app's `custom_data` read."""
    return yaml.safe_dump({"evidencerails": calibration.settings}, sort_keys=False, allow_unicode=False)
