"""What anyone can do without a detector. A method is as good as what it adds to these.

`everything_flagged` calls every response hallucinated. `length` looks only at the number of words of the response,
`unseen_words` only at the share of its content words that the evidence lacks. The last two get the best threshold (and
length the best direction) on the very rows they are measured on, which flatters them: a method that does not beat them
adds nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evidencerails.evaluation.metrics import Bools, Floats
from evidencerails.evaluation.rows import Row
from evidencerails.nli.windows import stems_of

FEATURES = ("length", "unseen_words")


def features(row: Row) -> dict[str, float]:
    """What the baselines see of a row; without evidence no word can be unseen."""
    found = {"length": float(len(row.response.split()))}
    if row.evidence:
        words = {stem for stem in stems_of(row.response) if not stem[0].isdigit()}
        known = {word for text in row.evidence for word in stems_of(text)}
        found["unseen_words"] = len(words - known) / max(1, len(words))
    return found


def best_direction(labels: ArrayLike, values: ArrayLike) -> Floats:
    """The values, turned so that hallucinated rows have the higher ones on average."""
    truth, seen = np.asarray(labels, dtype=np.bool_), np.asarray(values, dtype=np.float64)
    if truth.all() or not truth.any():
        return seen
    return seen if seen[truth].mean() >= seen[~truth].mean() else -seen


def best_flags(labels: ArrayLike, values: ArrayLike) -> Bools:
    """Flags at the threshold with the highest F1; the lowest such threshold where several are as good."""
    truth, seen = np.asarray(labels, dtype=np.bool_), np.asarray(values, dtype=np.float64)
    order = np.argsort(-seen, kind="stable")
    last = np.flatnonzero(np.r_[seen[order][1:] != seen[order][:-1], True])
    scores = 2 * np.cumsum(truth[order])[last] / np.maximum(truth.sum() + last + 1, 1)
    flags: Bools = seen >= seen[order][last[np.flatnonzero(scores == scores.max())[-1]]]
    return flags
