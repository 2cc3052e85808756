"""Two runs over the same rows: is the difference more than chance?

McNemar's exact test on the rows that only one of them judges rightly (unverified is wrong), and paired bootstrap
intervals of the differences of the metrics, whole documents drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from evidencerails.evaluation import metrics
from evidencerails.evaluation.metrics import Estimate, Interval, intervals
from evidencerails.evaluation.outcomes import Outcome

COMPARED = {"f1": "flag", "balanced_accuracy": "flag", "auroc": "score", "auprc": "score"}


class RowVerdict(NamedTuple):
    """The verdict of one run on a row; an unverified row has the wrong flag and the wrong score."""

    label: bool
    flag: bool
    score: float
    document: str


def verdicts_of(outcomes: Iterable[Outcome], method: str) -> dict[str, RowVerdict]:
    found = {}
    for one in outcomes:
        if one.method == method:
            is_blind, wrong = one.status == "unverified", not one.hallucinated
            score = float(wrong) if is_blind or one.score is None else one.score
            found[one.id] = RowVerdict(one.hallucinated, wrong if is_blind else one.flagged, score, one.document)
    return found


def comparison(first: dict[str, RowVerdict], second: dict[str, RowVerdict], names: tuple[str, str]) -> dict[str, Any]:
    """The comparison of the second with the first, on the rows that both have and label alike.

    `differences` are second minus first; `p_mcnemar` is None where they are right on the same rows.
    """
    common = [row for row in first if row in second and first[row].label == second[row].label]
    one, other = [first[row] for row in common], [second[row] for row in common]
    right = [(a.flag == a.label, b.flag == b.label) for a, b in zip(one, other, strict=True)]
    only_first, only_second = right.count((True, False)), right.count((False, True))
    discordant, binomtest = only_first + only_second, metrics.library("scipy.stats").binomtest
    return {
        "first": names[0],
        "second": names[1],
        "rows": len(common),
        "only_first_right": only_first,
        "only_second_right": only_second,
        "p_mcnemar": float(binomtest(only_second, discordant, 0.5).pvalue) if discordant else None,
        "differences": {name: _difference(name, one, other).as_dict() for name in COMPARED},
    }


def _difference(name: str, first: Sequence[RowVerdict], second: Sequence[RowVerdict]) -> Interval:
    labels = np.array([one.label for one in first], dtype=np.bool_)
    metric = {**metrics.FLAG_METRICS, **metrics.SCORE_METRICS}[name]
    before, after = (
        metric.estimate(labels, np.array([getattr(one, COMPARED[name]) for one in run], dtype=np.float64))
        for run in (first, second)
    )
    change = Estimate(lambda at: after.of_places(at) - before.of_places(at), len(first), before.reason)
    return intervals({"": change}, [one.document for one in first])[""]
