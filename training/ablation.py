"""What each feature of the verdict, and each rule of the reading, is worth: everything measured again without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.metrics import roc_auc_score

from groundrails.checks import evidence_nli
from groundrails.scoring.verdict import CLAIM_FEATURES
from training.reading import CachedModel, ReadRow
from training.verdict import left_out_fit, read_all

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
    "all windows are read": {"FAR_SHARE": 0.0, "SURE_ENTAILMENT": 1.1},
}
"""Rules of `checks/evidence_nli.py` that are changed, by name."""


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
            found[told] = left_out_auroc(read_all(data, work_dir, model, limit))
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
