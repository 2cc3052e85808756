"""What each feature of the verdict, and each rule of the reading, is worth: everything measured again without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.metrics import roc_auc_score

from evidencerails.checks import evidence_nli
from evidencerails.report import NliScores
from evidencerails.scoring.verdict import CLAIM_FEATURES, logit
from training import verdict
from training.reading import CachedModel, ReadRow
from training.verdict import left_out_fit, read_sets

console = Console(stderr=True)

FEATURES: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "entailment": ("entailment",),
    "contradiction": ("contradiction",),
    "missing words": ("missing_words", "missing_near"),
    "word pairs": ("missing_bigrams",),
    "numbers, dates, names": ("missing_numbers", "missing_dates", "missing_names"),
    "scattered words, negation": ("scattered", "negation"),
}
"""Features that the verdict lacks."""

READING: dict[str, dict[str, Any]] = {
    "as shipped": {},
    "contradictions of near-copies believed": {"shows_cause": lambda *_, **__: True},
    "a swapped value or name denies nothing": {"shows_swap": lambda *_: False},
    "windows are not cleared by their nearest sentence": {"_is_cleared": lambda *_: False},
    "no claim is settled by its nearest sentence": {"SURE_ENTAILMENT": 1.1},
    "settled from 0.9 instead of 0.8": {"SURE_ENTAILMENT": 0.9},
    "windows are read from half the nearest one's words": {"FAR_SHARE": 0.5},
    "wording counts in full, however sure the model is": {"DOUBT_EXPONENT": 0.0},
    "wording counts by the doubt, not by its root": {"DOUBT_EXPONENT": 1.0},
    "words of a question count as those of its answer": {"ANSWER_WEIGHT": 0.0},
    "all windows are read": {"FAR_SHARE": 0.0, "SURE_ENTAILMENT": 1.1},
}
"""Rules of `checks/evidence_nli.py` that are changed, by name."""

FURTHER: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "second best and mean over windows": ("entailment_second", "entailment_mean"),
    "nearest sentence alone": ("entailment_alone", "contradiction_alone"),
    "entailment of a near-copy": ("entailment_near",),
    "all of these": (
        "entailment_second", "entailment_mean", "entailment_alone", "contradiction_alone", "entailment_near",
    ),
}  # fmt: skip
"""Features that were tried in the verdict and left out: what the windows say together (SummaC-Conv, Laban 2022)."""


def further(data: Path, work_dir: Path, model: CachedModel, limit: int) -> dict[str, dict[str, float]]:
    """AUROC of each set, left out of the fit, when the verdict sees more of the windows; `limit` rows a set."""
    read = evidence_nli._reading

    def with_more(claim: Any, seen: Any, alone: Any, thresholds: Any) -> evidence_nli.Reading:
        made = read(claim, seen, alone, thresholds)
        made.features.update(_of_windows([s.nli for s in seen], alone, made.features))
        return made

    falling = (*verdict.FALLING, *(name for names in FURTHER.values() for name in names if name.startswith("entail")))
    with changed(evidence_nli, {"_reading": with_more}):
        sets = read_sets(data, model, limit)
    with changed(verdict, {"FALLING": falling}):
        return {told: left_out_auroc(sets, (*CLAIM_FEATURES, *names)) for told, names in FURTHER.items()}


def _of_windows(scores: Sequence[NliScores], alone: Any, told: Mapping[str, float]) -> dict[str, float]:
    """What a claim's windows say together, as log-odds; the lowest ones without a window."""
    ranked = sorted((score.entailment for score in scores), reverse=True) or [0.0]
    return {
        "entailment_second": logit(ranked[min(1, len(ranked) - 1)]),
        "entailment_mean": logit(float(np.mean(ranked))),
        "entailment_alone": logit(alone.nli.entailment if alone else 0.0),
        "contradiction_alone": logit(alone.nli.contradiction if alone else 0.0),
        "entailment_near": told["entailment"] * (1 - told["missing_words"]) ** 2,
    }


def features(sets: dict[str, list[ReadRow]], most: int = 500) -> dict[str, dict[str, float]]:
    """AUROC of each set, left out of the fit, when the verdict lacks some features; at most `most` rows a set."""
    some = {name: rows[:most] for name, rows in sets.items()}
    return {
        dropped: left_out_auroc(some, [name for name in CLAIM_FEATURES if name not in lacking])
        for dropped, lacking in FEATURES.items()
    }


def reading(data: Path, work_dir: Path, model: CachedModel, limit: int) -> dict[str, dict[str, float]]:
    """AUROC of each set, left out of the fit, with a rule of the reading changed; `limit` rows a set."""
    found = {}
    for told, changes in READING.items():
        with changed(evidence_nli, changes):
            found[told] = left_out_auroc(read_sets(data, model, limit))
        console.log(f"{told}: {found[told]}")
    return found


@contextmanager
def changed(module: Any, values: Mapping[str, Any]) -> Iterator[None]:
    """The module with these names bound to other values, for the time of the block.

    Raises:
        AttributeError: the module has no such name; a rule that was renamed is not measured by accident.
    """
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def left_out_auroc(sets: dict[str, list[ReadRow]], names: Any = CLAIM_FEATURES) -> dict[str, float]:
    """AUROC of each set by a verdict fitted on the others, and their mean."""
    found = {}
    for target, rows in sets.items():
        fitted = left_out_fit(sets, target, names)
        labels = [row.is_hallucinated for row in rows]
        found[target] = round(float(roc_auc_score(labels, [fitted.response_logit(row) for row in rows])), 4)
    return found | {"mean": round(float(np.mean(list(found.values()))), 4)}


def figures(evaluated: Mapping[str, Any]) -> dict[str, float]:
    """NLI accuracies and left-out AUROCs of one `evaluation.json`, and the mean of the latter."""
    sets = {name: part["left_out"]["auroc"]["value"] for name, part in evaluated["bench"].items()}
    nli = {name: part["accuracy"]["value"] for name, part in evaluated["nli"].items()}
    return {**nli, **sets, "mean": round(float(np.mean(list(sets.values()))), 4)}
