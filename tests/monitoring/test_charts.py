"""CUSUM against published run lengths and against simulation; window, budget, correlation worked out by hand."""

import numpy as np
import pytest
from scipy.stats import norm

from evidencerails.errors import InputError
from evidencerails.operations.monitoring.bisection import Scored, bisected
from evidencerails.operations.monitoring.changes import Change, least_increase, nearest_change
from evidencerails.operations.monitoring.charts import (
    Alarm,
    Chart,
    Cusum,
    average_run_length,
    chart_of,
    empirical,
    threshold_for,
)
from evidencerails.operations.monitoring.monitor import budget_of
from evidencerails.settings.operations import CusumSettings, ErrorBudgetSettings


@pytest.mark.parametrize(
    ("threshold", "shift", "published"),
    # Montgomery, Introduction to Statistical Quality Control, table 9.3: two-sided, slack 0.5. One-sided at shift 0 is
    # twice that; at a shift the other side hardly matters.
    [(4.0, 0.0, 2 * 168), (5.0, 0.0, 2 * 465), (4.0, 1.0, 8.38), (5.0, 1.0, 10.4), (4.0, 2.0, 3.34), (5.0, 0.5, 38.0)],
)
def test_run_lengths_are_the_published_ones(threshold: float, shift: float, published: float) -> None:
    found = average_run_length(norm(shift, 1.0).cdf, 0.5, threshold)
    assert found == pytest.approx(published, rel=0.01)


def test_the_threshold_keeps_the_wanted_run_length() -> None:
    below = norm(0.0, 1.0).cdf
    found = threshold_for(below, 0.5, 930.0)
    assert found == pytest.approx(5.0, abs=0.01)
    assert average_run_length(below, 0.5, found) >= 930.0
    # none if the reference is below the mean
    with pytest.raises(ValueError, match="alarms too soon with any threshold"):
        threshold_for(norm(1.0, 0.1).cdf, 0.5, 1e6)


def test_theory_agrees_with_simulation_for_scores_that_accumulate_at_both_ends() -> None:
    generator = np.random.default_rng(20261121)
    scores = np.where(generator.random(4000) < 0.15, generator.beta(8, 2, 4000), generator.beta(1, 12, 4000))
    reference, threshold = float(scores.mean()) + 0.05, 2.0
    chart = Chart(reference, slack=0.0, threshold_up=threshold, threshold_down=np.inf, arl0=0, arl1=0)
    lengths = []
    for _ in range(300):
        cusum, series = Cusum(chart), generator.choice(scores, 20_000)
        lengths.append(next(place for place, score in enumerate(series, start=1) if cusum.add(score)))
    expected = average_run_length(empirical(scores), reference, threshold)
    assert np.mean(lengths) == pytest.approx(expected, rel=0.2)  # 3 standard errors of a geometric-like length


CHART = Chart(baseline=0.1, slack=0.05, threshold_up=0.6, threshold_down=0.6, arl0=0, arl1=0)


def alarms_in(scores: list[float], chart: Chart) -> tuple[list[Alarm], Cusum]:
    """All alarms of a series, and the chart as it stands at its end."""
    cusum = Cusum(chart)
    return [alarm for score in scores if (alarm := cusum.add(score)) is not None], cusum


def test_an_alarm_says_where_the_shift_began() -> None:
    alarms, cusum = alarms_in([0.1] * 10 + [0.4] * 3, CHART)
    ((alarm),) = alarms
    # 0.4 - 0.1 - 0.05 = 0.25 a step: above 0.6 at the third
    assert (alarm.direction, alarm.began, alarm.at) == ("up", 10, 12)
    assert alarm.statistic == pytest.approx(0.75)
    assert cusum.up == 0.0  # it starts again


def test_a_chart_of_a_baseline_keeps_its_promise() -> None:
    scores = list(np.random.default_rng(1).beta(1, 8, 500))
    chart = chart_of(scores, CusumSettings(false_alarm_every=2000))
    assert chart.arl0 == pytest.approx(2000, rel=0.1) and chart.arl0 >= 2000
    assert chart.slack == 0.05 and 5 < chart.arl1 < 60
    assert chart.baseline == pytest.approx(sum(scores) / 500)


def test_a_baseline_that_is_given_moves_the_level_only() -> None:
    scores = list(np.random.default_rng(1).beta(1, 8, 500))
    learnt, given = chart_of(scores, CusumSettings()), chart_of(scores, CusumSettings(baseline=0.4))
    assert given.baseline == 0.4
    assert given.threshold_up == pytest.approx(learnt.threshold_up, rel=0.02)


def test_a_constant_baseline_has_a_chart() -> None:
    # The threshold was once halved until it was 0, in a thousand steps, and the page that divides by it failed.
    chart = chart_of([0.02] * 100, CusumSettings())
    assert (chart.threshold_up, chart.threshold_down) == (0.01, 0.01)
    assert alarms_in([0.02] * 1000, chart)[0] == []
    assert alarms_in([0.9] * 10, chart)[0][0].direction == "up"


def test_the_budget_counts_what_the_sample_stands_for() -> None:
    reports = [("hallucinated", 1.0, 1), ("grounded", 0.1, 1), ("unverified", 0.5, 1)]
    found = budget_of(reports, ErrorBudgetSettings(max_share=0.3, min_reports=1))
    # 13 answers allow 3.9; spent 1 + 2
    assert (found.reports, found.unverified) == (13, 2)
    assert (found.allowed, found.spent, found.left) == pytest.approx((3.9, 3.0, 0.9))
    assert (found.state, found.share_spent) == ("ok", pytest.approx(3 / 3.9))
    only = ErrorBudgetSettings(max_share=0.3, min_reports=1, counts=("hallucinated",))
    assert budget_of(reports, only).spent == 1


SPENT = [
    ([("hallucinated", 1.0, 3)], "exhausted"),
    ([("hallucinated", 1.0, 2)], "too_few_reports"),
    ([("unverified", 1.0, 9)], "exhausted"),  # unverified is not good
    ([("grounded", 1.0, 900), ("hallucinated", 1.0, 100)], "ok"),  # one right one in ten is flagged
    ([], "too_few_reports"),
]


@pytest.mark.parametrize(("reports", "state"), SPENT)
def test_the_budget_is_one_of_verdicts(reports: list[tuple[str, float, int]], state: str) -> None:
    found = budget_of(reports, ErrorBudgetSettings(min_reports=3))
    assert (found.state, found.share_spent is None) == (state, not reports)


@pytest.mark.parametrize(
    ("began", "alarm", "expected"),
    [(10, 10, None), (11, 15, "a"), (25, 29, "b"), (99, 120, "c"), (18, 26, "b"), (5, 40, "a")],
)
def test_the_change_behind_a_shift_goes_by_arrival(began: int, alarm: int, expected: str | None) -> None:
    known = [Change(1, 900.0, 10, "a", None), Change(2, 100.0, 20, "b", None), Change(3, 300.0, 30, "c", None)]
    found = nearest_change(known, began, alarm)
    assert (found.description if found else None) == expected


def test_the_increase_after_a_change_is_beyond_chance() -> None:
    # by hand: variance 0.005 of two on one side, none on the other; 0.35 - 1.96 * sqrt(0.005 / 2)
    assert least_increase([0.1, 0.2], [0.5, 0.5]) == pytest.approx(0.252)


@pytest.mark.parametrize("bad_from", [1, 2, 5, 9])
async def test_bisection_finds_the_first_bad_configuration(bad_from: int) -> None:
    asked = []

    async def evaluate(place: int) -> Scored:
        asked.append(place)
        return Scored(0.6 if place >= bad_from else 0.1, 1, 0)

    assert (await bisected(10, evaluate, max_score=0.3)).first_bad == bad_from
    assert len(asked) <= 6


async def test_a_first_configuration_that_is_bad_itself_is_no_start() -> None:
    async def evaluate(place: int) -> Scored:
        return Scored(0.9, 10, 0)

    with pytest.raises(InputError, match=r"bad itself: score 0\.900 above 0\.300"):
        await bisected(4, evaluate, max_score=0.3)
