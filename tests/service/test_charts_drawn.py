"""Charts of the pages: an axis with units from zero, thresholds, one bar that stays a bar, an overspent budget."""

from __future__ import annotations

import pytest

from evidencerails.service.templating import _environment
from evidencerails.service.views import CHART_HEIGHT, CHART_LEFT, CHART_TOP, MAX_BAR_WIDTH, chart, gauge


@pytest.mark.parametrize(
    ("unit", "highest", "ticks"),
    [
        ("share", 0.158, ["0 %", "5 %", "10 %", "15 %", "20 %", "25 %"]),
        ("share", 1.0, ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        ("share", 0.0, ["0 %", "1 %", "2 %", "3 %", "4 %", "5 %"]),
        ("score", 0.215, ["0", "0.05", "0.1", "0.15", "0.2", "0.25"]),
        ("count", 3.0, ["0", "1", "2", "3", "4", "5"]),
        ("count", 1234.0, ["0", "500", "1000", "1500", "2000", "2500"]),
    ],
)
def test_the_axis_ends_at_a_round_number_above_the_highest(unit: str, highest: float, ticks: list[str]) -> None:
    drawn = chart([("a", highest, "words"), ("b", 0.0, "words")], unit)  # type: ignore[arg-type]
    assert [words for _, words in drawn.ticks] == ticks
    assert (drawn.ticks[0][0], drawn.ticks[-1][0]) == (CHART_HEIGHT, CHART_TOP)
    assert drawn.bars[0].y >= CHART_TOP and drawn.bars[1].height == 0


def test_one_bar_is_a_bar_and_its_height_is_its_part_of_the_axis() -> None:
    (bar,) = chart([("today", 0.1, "10 %")], "share").bars
    assert bar.width == MAX_BAR_WIDTH and bar.x > CHART_LEFT
    (lower,) = chart([("today", 0.05, "5 %")], "share", threshold=(0.1, "limit")).bars
    assert lower.height == pytest.approx(bar.height / 2, abs=0.1)


@pytest.mark.parametrize(
    ("spent", "state", "share"),
    [
        (0.0, "good", "0 %"),
        (7.0, "good", "70 %"),
        (9.0, "near", "90 %"),
        (10.0, "near", "100 %"),
        (32.5, "over", "325 %"),
    ],
)
def test_a_budget_has_its_limit_in_the_picture(spent: float, state: str, share: str) -> None:
    found = gauge(spent, 10.0)
    assert found is not None and (found.state, found.share) == (state, share)
    assert (found.width > found.limit_x) == (spent > 10)
    assert gauge(spent, 0.0) is None


def test_the_drawings_name_axis_threshold_and_state() -> None:
    parts = _environment().get_template("parts.html").module
    drawn = chart([("<today>", 0.158, "15.8 %")], "share", threshold=(0.2, "limit: 20 %"))
    text = str(parts.chart("id", "Title", drawn, "From (UTC)"))
    assert ">15 %<" in text and ">line: limit: 20 %<" in text and "&lt;today&gt;" in text and "<today>" not in text
    assert 'class="level over"' in str(parts.gauge(gauge(32.5, 10.0), "Spent"))
