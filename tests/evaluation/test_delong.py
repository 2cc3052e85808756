from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from evidencerails.evaluation import metrics
from evidencerails.evaluation.delong import delong

LABELS = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
FIRST = [0.9, 0.8, 0.7, 0.4, 0.6, 0.3, 0.5, 0.4, 0.2, 0.1, 0.3, 0.6, 0.2, 0.1]
SECOND = [0.6, 0.9, 0.3, 0.5, 0.2, 0.4, 0.7, 0.4, 0.3, 0.8, 0.1, 0.5, 0.6, 0.2]


def by_definition(labels: list[bool], first: list[float], second: list[float]) -> tuple[float, float]:
    """Difference and its variance from the kernel itself, pair by pair (DeLong 1988, equations 2 to 6)."""
    truth = np.array(labels)
    columns = [np.array(first), np.array(second)]
    kernels = [(one[truth][:, None] > one[~truth]) + 0.5 * (one[truth][:, None] == one[~truth]) for one in columns]
    areas = [kernel.mean() for kernel in kernels]
    bad, good = truth.sum(), (~truth).sum()
    s10 = np.array([[((a.mean(1) - x) @ (b.mean(1) - y)) / (bad - 1) for b, y in zip(kernels, areas, strict=True)]
                    for a, x in zip(kernels, areas, strict=True)])  # fmt: skip
    s01 = np.array([[((a.mean(0) - x) @ (b.mean(0) - y)) / (good - 1) for b, y in zip(kernels, areas, strict=True)]
                    for a, x in zip(kernels, areas, strict=True)])  # fmt: skip
    covariance = s10 / bad + s01 / good
    return areas[1] - areas[0], float(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])


def test_a_small_case_by_hand() -> None:
    """Hallucinated 2, 4 and clean 1, 3 by the first score: 3 of 4 pairs right; by the second all are.

    Placements of the hallucinated rows: first 0.5 and 1, second 1 and 1; of the clean ones: first 1 and 0.5, second 1
    and 1. Their differences 0.5 and 0 have variance 0.125, so the difference 0.25 has 0.125 / 2 + 0.125 / 2 = 0.125.
    """
    found = delong([1, 1, 0, 0], [2, 4, 1, 3], [3, 4, 1, 2])
    assert found.difference == pytest.approx(0.25)
    assert found.standard_error == pytest.approx(math.sqrt(0.125))
    assert found.z == pytest.approx(0.25 / math.sqrt(0.125))
    assert found.p == pytest.approx(2 * norm.sf(0.25 / math.sqrt(0.125)))


@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.floats(0, 1)), min_size=6, max_size=40
    ).filter(lambda rows: 2 <= sum(row[0] for row in rows) <= len(rows) - 2)
)
@settings(max_examples=100, deadline=None)
def test_as_the_definition_pair_by_pair_with_ties(rows: list[tuple[bool, float, float]]) -> None:
    labels, first, second = (list(column) for column in zip(*rows, strict=True))
    difference, variance = by_definition(labels, first, second)
    if variance < 1e-12:
        return  # told apart below
    found = delong(labels, first, second)
    assert found.difference == pytest.approx(difference, abs=1e-12)
    assert found.difference == pytest.approx(metrics.auroc(labels, second) - metrics.auroc(labels, first), abs=1e-12)
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_as_r_s_proc() -> None:
    """`roc.test(..., method = "delong", paired = TRUE)` of pROC 1.18.0 on these columns."""
    found = delong(LABELS, FIRST, SECOND)
    assert found.z == pytest.approx(-1.92537655699414, rel=1e-12)
    assert found.p == pytest.approx(0.0541822662438208, rel=1e-12)


def test_the_same_scores_differ_by_nothing_and_the_other_way_round_is_the_negative() -> None:
    assert delong(LABELS, FIRST, FIRST)[1:] == (0.0, 0.0, 1.0)
    there, back = delong(LABELS, FIRST, SECOND), delong(LABELS, SECOND, FIRST)
    assert (there.z, there.p) == pytest.approx((-back.z, back.p))


@pytest.mark.parametrize(
    ("labels", "first", "second", "told"),
    [
        ([1, 0, 0], [1, 0, 0], [0, 1, 0], "two rows of each label"),
        ([1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], "the same on all rows"),  # 1 against 0, without any spread
    ],
)
def test_what_has_no_test_is_said(labels: list[int], first: list[float], second: list[float], told: str) -> None:
    with pytest.raises(metrics.UndefinedMetricError, match=told):
        delong(labels, first, second)
