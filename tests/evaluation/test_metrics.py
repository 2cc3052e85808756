"""Against values worked by hand and those of other programs."""

import sys
from typing import Any

import numpy as np
import pytest
import sklearn.metrics

from evidencerails.errors import MissingExtraError
from evidencerails.evaluation import metrics as m
from evidencerails.evaluation.bootstrap import of_metric, weight_blocks
from evidencerails.evaluation.compare import delong

# By hand: bad scores .9 .4, clean .4 .1; pairs .9>.4, .9>.1, .4=.4 (half), .4>.1 -> 3.5 of 4.
LABELS, SCORES = [1, 1, 0, 0], [0.9, 0.4, 0.4, 0.1]


def test_auroc_counts_ties_half() -> None:
    assert m.auroc(LABELS, SCORES) == 3.5 / 4


def test_auprc_by_hand() -> None:
    # .9 first: precision 1, recall 1/2; then the tie of two: precision 2/3, recall 1. 1/2 * 1 + 1/2 * 2/3.
    assert m.auprc(LABELS, SCORES) == pytest.approx(0.5 + 1 / 3)


def test_ece_by_hand() -> None:
    # bins [.0,.1): 0.05 -> clean, gap .05; [.8,.9): .8 and .8 -> one of two, gap .3; weights 1/3, 2/3.
    assert m.ece([0, 1, 0], [0.05, 0.8, 0.8]) == pytest.approx(0.05 / 3 + 0.3 * 2 / 3)


def test_two_values_by_mass_are_two_bins_however_many_rows_have_them() -> None:
    # eight 0.0 of which all are hallucinated, two 1.0 that are clean: as wrong as can be
    assert m.ece([1] * 8 + [0] * 2, [0.0] * 8 + [1.0] * 2, binning="mass") == 1.0


def test_bounds_belong_to_the_bin_above_and_one_to_the_last() -> None:
    assert [one.rows for one in m.reliability([0, 0, 0, 1], [0.0, 0.1, 0.3, 1.0])] == [1, 1, 1, 1]


def test_threshold_metrics_by_hand() -> None:
    labels, flagged = [1, 1, 1, 0, 0], [1, 1, 0, 1, 0]  # TP 2 FN 1 FP 1 TN 1
    assert m.confusion(labels, flagged) == (2, 1, 1, 1)
    assert m.precision(labels, flagged) == 2 / 3
    assert m.recall(labels, flagged) == 2 / 3
    assert m.f1(labels, flagged) == 2 / 3
    assert m.balanced_accuracy(labels, flagged) == pytest.approx((2 / 3 + 1 / 2) / 2)


@pytest.mark.parametrize("name", ["auroc", "auprc", "balanced_accuracy"])
@pytest.mark.parametrize("labels", [[1, 1], [0, 0]])
def test_one_class_is_said_and_no_number(name: str, labels: list[int]) -> None:
    with pytest.raises(m.UndefinedMetricError, match="is undefined: all 2 rows are"):
        getattr(m, name)(labels, [0.2, 0.7])
    found = m.bootstrap_interval(labels, [0.2, 0.7], name)
    assert found[:3] == (None, None, None)
    assert "undefined" in found.reason


def test_precision_of_nothing_flagged_is_undefined_and_f1_is_zero() -> None:
    with pytest.raises(m.UndefinedMetricError, match="no row was flagged"):
        m.precision([1, 0], [0, 0])
    assert m.f1([1, 0], [0, 0]) == 0.0


@pytest.mark.parametrize(
    ("labels", "scores", "told"),
    [
        ([1, 0], [0.5, float("nan")], "score 1 is nan"),
        ([1, 0], [0.5, float("inf")], "score 1 is inf"),
        ([1, 2], [0.5, 0.5], "labels must be true or false"),
        ([1], [0.5, 0.5], "of one length"),
        ([], [], "no rows"),
    ],
)
def test_bad_input_is_an_error(labels: list[int], scores: list[float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        m.auroc(labels, scores)


def test_a_probability_out_of_range_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"probability 0 is 1\.2"):
        m.ece([1, 0], [1.2, 0.5])
    with pytest.raises(ValueError, match="bins must be at least 1"):
        m.ece([1, 0], [0.2, 0.5], bins=0)


REFERENCES: dict[str, Any] = {
    "auroc": sklearn.metrics.roc_auc_score,
    "auprc": sklearn.metrics.average_precision_score,
    "brier": sklearn.metrics.brier_score_loss,
    "ece": m.ece,  # scikit-learn has none
    **{name: lambda labels, scores, name=name: getattr(sklearn.metrics, f"{name}_score")(labels, scores >= 0.5)
       for name in ("precision", "recall", "f1", "balanced_accuracy")},
}  # fmt: skip


@pytest.mark.parametrize("name", m.INTERVAL_METRICS)
def test_metrics_and_their_resamples_are_scikit_learns(name: str) -> None:
    metric, reference = m.INTERVAL_METRICS[name], REFERENCES[name]
    generator = np.random.default_rng(3)
    labels = generator.random(40) < 0.4
    scores = np.round(generator.random(40), 1)  # many ties
    assert metric(labels, scores) == pytest.approx(reference(labels, scores))
    weights = next(weight_blocks(40, None, 25, seed=5))
    for row, value in zip(weights, of_metric(metric, labels, scores).of_weights(weights), strict=True):
        chosen = np.repeat(np.arange(40), row.astype(int))
        assert value == pytest.approx(reference(labels[chosen], scores[chosen]))


def test_the_interval_covers_and_is_reproducible() -> None:
    generator = np.random.default_rng(1)
    labels = generator.random(400) < 0.5
    scores = np.clip(labels * 0.3 + generator.random(400) * 0.7, 0, 1)
    first, second = (m.bootstrap_interval(labels, scores, "auroc", seed=4) for _ in range(2))
    assert first == second
    assert first.low < first.value < first.high  # type: ignore[operator]
    # Hanley and McNeil's standard error at this AUC and these counts is about .02.
    assert 0.04 < first.high - first.low < 0.12  # type: ignore[operator]


def test_documents_are_drawn_whole_so_copies_add_no_certainty() -> None:
    generator = np.random.default_rng(2)
    labels = generator.random(60) < 0.5
    scores = np.clip(labels * 0.2 + generator.random(60) * 0.8, 0, 1)
    tenfold = np.repeat(labels, 10), np.repeat(scores, 10)
    plain = m.bootstrap_interval(labels, scores)
    naive = m.bootstrap_interval(*tenfold)
    grouped = m.bootstrap_interval(*tenfold, groups=np.repeat(np.arange(60), 10).tolist())

    def width(found: m.Interval) -> float:
        return found.high - found.low  # type: ignore[operator]

    assert width(grouped) == pytest.approx(width(plain), rel=0.15)
    assert width(naive) < width(plain) / 2


def test_any_function_of_labels_and_scores_gets_an_interval() -> None:
    def mean_score(labels: np.ndarray, scores: np.ndarray) -> float:
        return float(scores.mean())

    found = m.bootstrap_interval([1, 0, 1], [0.2, 0.4, 0.6], mean_score, resamples=200)
    assert found.value == pytest.approx(0.4)
    assert 0.2 <= found.low <= found.high <= 0.6  # type: ignore[operator]


def test_an_unknown_metric_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown metric 'auc'; available: auroc"):
        m.bootstrap_interval([1, 0], [0.1, 0.2], "auc")


@pytest.mark.parametrize("module", ["sklearn.metrics", "scipy.stats"])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as Python marks a module that cannot be imported
    with pytest.raises(MissingExtraError, match=r'pip install "evidencerails\[eval\]"'):
        m.library(module)


def test_delongs_test_by_hand() -> None:
    """Hallucinated 2, 4 and clean 1, 3 by the first score: 3 of 4 pairs right; by the second all are.

    Placements of the hallucinated rows: first 0.5 and 1, second 1 and 1; of the clean ones: first 1 and 0.5, second 1
    and 1. Their differences 0.5 and 0 have variance 0.125, so the difference 0.25 has 0.125 / 2 + 0.125 / 2 = 0.125.
    """
    found = delong([1, 1, 0, 0], [2, 4, 1, 3], [3, 4, 1, 2])
    assert found.difference == pytest.approx(0.25)
    assert found.standard_error == pytest.approx(0.125**0.5)


LABELS_14 = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
FIRST = [0.9, 0.8, 0.7, 0.4, 0.6, 0.3, 0.5, 0.4, 0.2, 0.1, 0.3, 0.6, 0.2, 0.1]
SECOND = [0.6, 0.9, 0.3, 0.5, 0.2, 0.4, 0.7, 0.4, 0.3, 0.8, 0.1, 0.5, 0.6, 0.2]


def test_delongs_test_as_r_s_proc() -> None:
    """`roc.test(..., method = "delong", paired = TRUE)` of pROC 1.18.0 on these columns."""
    found = delong(LABELS_14, FIRST, SECOND)
    assert found.z == pytest.approx(-1.92537655699414, rel=1e-12)
    assert found.p == pytest.approx(0.0541822662438208, rel=1e-12)
    assert delong(LABELS_14, FIRST, FIRST)[1:] == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("labels", "first", "second", "told"),
    [
        ([1, 0, 0], [1, 0, 0], [0, 1, 0], "two rows of each label"),
        ([1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], "the same on all rows"),  # 1 against 0, without any spread
    ],
)
def test_what_has_no_test_is_said(labels: list[int], first: list[float], second: list[float], told: str) -> None:
    with pytest.raises(m.UndefinedMetricError, match=told):
        delong(labels, first, second)
