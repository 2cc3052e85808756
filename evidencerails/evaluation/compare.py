"""Two runs over the same rows: is the difference more than chance?

McNemar's exact test on the rows that only one of them tells right (unverified is wrong), and paired bootstrap intervals
of the differences of the metrics, whole documents drawn. DeLong's test of the AUROCs stands beside them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from evidencerails.evaluation import metrics
from evidencerails.evaluation.delong import delong
from evidencerails.evaluation.metrics import Bools, Floats, Interval, UndefinedMetricError
from evidencerails.evaluation.outcomes import Outcome
from evidencerails.evaluation.resampling import ends, resamples_for, weight_blocks
from evidencerails.evaluation.weighted import WEIGHTED


class Said(NamedTuple):
    """What one run said about a row."""

    label: bool
    right: bool
    flag: bool
    score: float
    document: str


def said(outcomes: Iterable[Outcome], method: str) -> dict[str, Said]:
    """What a method said, by row; unverified rows get the wrong flag and the wrong score."""
    found = {}
    for one in outcomes:
        if one.method == method:
            verified = one.status != "unverified" and one.score is not None
            flag = one.flagged if one.status != "unverified" else not one.hallucinated
            score = one.score if verified and one.score is not None else float(not one.hallucinated)
            found[one.id] = Said(one.hallucinated, flag == one.hallucinated, flag, score, one.document)
    return found


def comparison(first: dict[str, Said], second: dict[str, Said], names: tuple[str, str]) -> dict[str, Any]:
    """The comparison of the second with the first, on the rows that both have and label alike.

    `differences` are second minus first; `p_mcnemar` is None where they are right on the same rows, `p_delong` where
    AUROC has no value.
    """
    common = [row for row in first if row in second and first[row].label == second[row].label]
    only_first = sum(first[row].right and not second[row].right for row in common)
    only_second = sum(second[row].right and not first[row].right for row in common)
    discordant = only_first + only_second
    one, other = [first[row] for row in common], [second[row] for row in common]
    p = metrics.scipy_stats().binomtest(only_second, discordant, 0.5).pvalue if discordant else None
    return {
        "first": names[0],
        "second": names[1],
        "rows": len(common),
        "only_first_right": only_first,
        "only_second_right": only_second,
        "p_mcnemar": None if p is None else float(p),
        "p_delong": _p_delong(one, other),
        "differences": _differences(one, other),
    }


def _p_delong(first: list[Said], second: list[Said]) -> float | None:
    try:
        return delong([one.label for one in first], [one.score for one in first], [one.score for one in second]).p
    except UndefinedMetricError:
        return None


def _differences(first: list[Said], second: list[Said]) -> dict[str, dict[str, Any]]:
    labels = np.array([one.label for one in first], dtype=np.bool_)
    groups = [one.document for one in first]
    found = {}
    for name in ("f1", "balanced_accuracy", "auroc", "auprc"):
        field = "flag" if name in ("f1", "balanced_accuracy") else "score"
        pair = [np.array([getattr(one, field) for one in run], dtype=np.float64) for run in (first, second)]
        found[name] = _difference(name, labels, pair[0], pair[1], groups).as_dict()
    return found


def _difference(name: str, labels: Bools, first: Floats, second: Floats, groups: list[str]) -> Interval:
    metric = getattr(metrics, name)
    try:
        value = metric(labels, second) - metric(labels, first)
    except UndefinedMetricError as error:
        return Interval(None, reason=str(error))
    of_first, of_second = (WEIGHTED[metric](labels, one) for one in (first, second))
    blocks = weight_blocks(labels.size, groups, resamples_for(labels.size), 0)
    drawn = [of_second(block) - of_first(block) for block in blocks]
    return ends(value, np.concatenate(drawn), metrics.DEFAULT_CONFIDENCE)
