"""Against values worked by hand and those of other programs."""

import itertools
import sys
from typing import Any

import numpy as np
import pytest
import sklearn.metrics

from evidencerails.errors import MissingExtraError
from evidencerails.evaluation import metrics as m

METRICS = {**m.FLAG_METRICS, **m.SCORE_METRICS}


@pytest.mark.parametrize(
    ("name", "labels", "scores", "value"),
    [
        # Bins [.0,.1): 0.05, clean, gap .05; [.8,.9): .8 and .8, one of two, gap .3; weights 1/3, 2/3.
        ("ece", [0, 1, 0], [0.05, 0.8, 0.8], 0.05 / 3 + 0.3 * 2 / 3),
        # A bound belongs to the bin above, and 1 to the last: bins of .0, of .1 and .15, of 1.0.
        ("ece", [0, 0, 1, 1], [0.0, 0.1, 0.15, 1.0], 0.75 / 4),
        ("f1", [1, 0], [0, 0], 0.0),
    ],
)
def test_by_hand(name: str, labels: list[int], scores: list[float], value: float) -> None:
    assert METRICS[name](labels, scores) == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "labels", "reason"),
    [
        *(
            (name, labels, "all 2 rows are")
            for name in ("auroc", "auprc", "balanced_accuracy")
            for labels in ([1, 1], [0, 0])
        ),
        ("precision", [1, 0], "no row was flagged"),
    ],
)
def test_what_has_no_value_says_why_and_gives_no_number(name: str, labels: list[int], reason: str) -> None:
    with pytest.raises(m.UndefinedMetricError, match=f"is undefined: {reason}"):
        METRICS[name](labels, [0.2, 0.4])
    found = m.bootstrap_interval(labels, [0.2, 0.4], METRICS[name])
    assert found[:3] == (None, None, None) and reason in found.reason


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([1, 0], [0.5, float("nan")], "score 1 is nan"),
        ([1, 0], [0.5, float("inf")], "score 1 is inf"),
        ([1, 0], [1.2, 0.5], "score 0 is 1.2; expected from 0 to 1"),
        ([1, 2], [0.5, 0.5], "labels must be true or false"),
        ([1], [0.5, 0.5], "of one length"),
        ([], [], "no rows"),
    ],
)
def test_bad_input_is_an_error(labels: list[int], scores: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        m.brier(labels, scores)


REFERENCES: dict[str, Any] = {
    "auroc": sklearn.metrics.roc_auc_score,
    "auprc": sklearn.metrics.average_precision_score,
    "brier": sklearn.metrics.brier_score_loss,
    "ece": m.ece,  # scikit-learn has none
    **{name: lambda labels, scores, name=name: getattr(sklearn.metrics, f"{name}_score")(labels, scores >= 0.5)
       for name in m.FLAG_METRICS},
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCES)
def test_metrics_and_their_resamples_are_scikit_learns(name: str) -> None:
    metric, reference = METRICS[name], REFERENCES[name]
    generator = np.random.default_rng(3)
    labels = generator.random(40) < 0.4
    scores = np.round(generator.random(40), 1)  # many ties
    assert metric(labels, scores) == pytest.approx(reference(labels, scores))
    for chosen in itertools.islice(m.resamples(40, None, seed=5), 25):
        value = metric.estimate(labels, scores).of_places(chosen)
        assert value == pytest.approx(reference(labels[chosen], scores[chosen]))


def width(found: m.Interval) -> float:
    assert found.low is not None and found.high is not None and found.value is not None
    assert found.low < found.value < found.high
    return found.high - found.low


def test_the_interval_covers_and_is_reproducible() -> None:
    generator = np.random.default_rng(1)
    labels = generator.random(400) < 0.5
    scores = np.clip(labels * 0.3 + generator.random(400) * 0.7, 0, 1)
    first, second = (m.bootstrap_interval(labels, scores, seed=4) for _ in range(2))
    # Hanley and McNeil's standard error at this AUC and these counts is about .02.
    assert first == second and 0.04 < width(first) < 0.12


def test_documents_are_drawn_whole_so_copies_add_no_certainty() -> None:
    generator = np.random.default_rng(2)
    labels = generator.random(60) < 0.5
    scores = np.clip(labels * 0.2 + generator.random(60) * 0.8, 0, 1)
    tenfold = np.repeat(labels, 10), np.repeat(scores, 10)
    plain, naive = width(m.bootstrap_interval(labels, scores)), width(m.bootstrap_interval(*tenfold))
    grouped = width(m.bootstrap_interval(*tenfold, groups=np.repeat(np.arange(60), 10).tolist()))
    assert grouped == pytest.approx(plain, rel=0.15) and naive < plain / 2


@pytest.mark.parametrize("module", ["sklearn.metrics", "scipy.stats"])
def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as Python marks a module that cannot be imported
    with pytest.raises(MissingExtraError, match=r'pip install "evidencerails\[eval\]"'):
        m.library(module)
