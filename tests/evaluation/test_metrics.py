"""Against values worked by hand, and against scikit-learn (1.9) on random and awkward inputs."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from evidencerails.errors import MissingExtraError
from evidencerails.evaluation import metrics as m
from evidencerails.evaluation.resampling import weight_blocks
from evidencerails.evaluation.weighted import WEIGHTED

# By hand: bad scores .9 .4, clean .4 .1; pairs .9>.4, .9>.1, .4=.4 (half), .4>.1 -> 3.5 of 4.
LABELS, SCORES = [1, 1, 0, 0], [0.9, 0.4, 0.4, 0.1]


def test_auroc_counts_ties_half() -> None:
    assert m.auroc(LABELS, SCORES) == 3.5 / 4


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_constant_scores_are_chance_and_not_perfect(value: float) -> None:
    assert m.auroc([1, 0, 1, 0, 0], [value] * 5) == 0.5
    assert m.auprc([1, 0, 1, 0, 0], [value] * 5) == pytest.approx(0.4)


def test_auprc_by_hand() -> None:
    # .9 first: precision 1, recall 1/2; then the tie of two: precision 2/3, recall 1. 1/2 * 1 + 1/2 * 2/3.
    assert m.auprc(LABELS, SCORES) == pytest.approx(0.5 + 1 / 3)


def test_ece_counts_probabilities_of_one() -> None:
    assert m.ece([0] * 10, [1.0] * 10) == 1.0
    assert m.ece([1] * 10, [1.0] * 10) == 0.0


def test_ece_by_hand() -> None:
    # bins [.0,.1): 0.05 -> clean, gap .05; [.8,.9): .8 and .8 -> one of two, gap .3; weights 1/3, 2/3.
    assert m.ece([0, 1, 0], [0.05, 0.8, 0.8]) == pytest.approx(0.05 / 3 + 0.3 * 2 / 3)


def test_ece_by_mass_splits_into_equal_numbers() -> None:
    bins = m.reliability([0, 0, 1, 1], [0.01, 0.02, 0.03, 0.04], 2, binning="mass")
    assert [one.rows for one in bins] == [2, 2]
    assert [one.share_hallucinated for one in bins] == [0.0, 1.0]


def test_ece_of_equal_probabilities_by_mass_is_one_bin() -> None:
    assert m.ece([1, 0], [0.5, 0.5], binning="mass") == 0.0


def test_two_values_by_mass_are_two_bins_however_many_rows_have_them() -> None:
    # eight 0.0 of which all are hallucinated, two 1.0 that are clean: as wrong as can be
    assert m.ece([1] * 8 + [0] * 2, [0.0] * 8 + [1.0] * 2, binning="mass") == 1.0


def test_borders_belong_to_the_bin_above_and_one_to_the_last() -> None:
    assert [one.rows for one in m.reliability([0, 0, 0, 1], [0.0, 0.1, 0.3, 1.0])] == [1, 1, 1, 1]


def test_brier_by_hand() -> None:
    assert m.brier([1, 0], [0.8, 0.4]) == pytest.approx((0.04 + 0.16) / 2)


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


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 1e-12])), min_size=2, max_size=60))
@settings(max_examples=150, deadline=None)
def test_as_scikit_learn_with_ties_and_extremes(rows: list[tuple[bool, float]]) -> None:
    labels, scores = [row[0] for row in rows], [row[1] for row in rows]
    assert m.brier(labels, scores) == pytest.approx(sk.brier_score_loss(labels, scores, pos_label=True))
    if len(set(labels)) == 2:
        assert m.auroc(labels, scores) == pytest.approx(sk.roc_auc_score(labels, scores))
        assert m.auprc(labels, scores) == pytest.approx(sk.average_precision_score(labels, scores))
        flagged = np.array(scores) >= 0.5
        assert m.f1(labels, flagged) == pytest.approx(sk.f1_score(labels, flagged, zero_division=0))


# Left out: ece_by_mass, whose bins stay those of the whole sample, so that one resample differs a little.
@pytest.mark.parametrize(
    "metric", [one for one in WEIGHTED if one is not m.ece_by_mass], ids=lambda metric: metric.__name__
)
def test_each_resample_of_the_fast_bootstrap_is_the_metric_itself(metric: object) -> None:
    generator = np.random.default_rng(3)
    labels = generator.random(40) < 0.4
    scores = np.round(generator.random(40), 1)  # many ties
    if metric in (m.precision, m.recall, m.f1, m.balanced_accuracy):
        scores = (scores >= 0.5).astype(float)
    weights = next(weight_blocks(40, None, 25, seed=5))
    fast = WEIGHTED[metric](labels, scores)(weights)  # type: ignore[index]
    for row, value in zip(weights, fast, strict=True):
        chosen = np.repeat(np.arange(40), row.astype(int))
        assert value == pytest.approx(metric(labels[chosen], scores[chosen]))  # type: ignore[operator]


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


@pytest.mark.parametrize(
    ("module", "function"), [("sklearn.metrics", m.sklearn_metrics), ("scipy.stats", m.scipy_stats)]
)
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, module: str, function: object) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as Python marks a module that cannot be imported
    with pytest.raises(MissingExtraError, match=r'pip install "evidencerails\[eval\]"'):
        function()  # type: ignore[operator]
