"""Charts of the pages: axes with units from zero, thresholds, one bar that stays a bar, an overspent budget."""

import re
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from evidencerails.operations.monitoring.changes import Change
from evidencerails.operations.monitoring.charts import Chart, Charted
from evidencerails.service.charts import Bar, charts

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>alert(1)</script>"
BEGIN, DAY = 1_700_000_000.0, 86_400.0
CHANGE = Change(3, BEGIN + 2 * DAY, 5, HOSTILE, HOSTILE)
CUSUM = Charted(
    Chart(0.1, 0.05, 2.0, 1.0, 1000.0, 60.0), 1.0, 0.0, (), False,
    ((BEGIN, 0.0, 0.5), (BEGIN + DAY, 2.5, 0.0), (BEGIN + 3 * DAY, 1.0, 0.2)), 60,
)  # fmt: skip


def drawn(
    *, share: float = 0.158, allowed: float = 0.2, spent: float | None = 0.7, width: float = DAY / 7
) -> dict[str, Any]:
    bar = Bar(BEGIN + DAY, BEGIN + DAY + width, share, "label", "words")
    found = {
        "trend": [bar, Bar(bar.end, bar.end + width, None, "none", "-")],
        "mean_scores": [bar],
        "faithfulness": [Bar(n / 10, (n + 1) / 10, 3 * n, "label", "words") for n in range(10)],
        "scores": [],
        "allowed": allowed,
        "view": SimpleNamespace(changes=[CHANGE], budget=SimpleNamespace(share_spent=spent), cusum=CUSUM),
    }
    return {name: ElementTree.fromstring(text) for name, text in charts(found, BEGIN, BEGIN + 7 * DAY).items()}


def words(svg: Any) -> list[str]:
    return [element.text for element in svg.iter(f"{SVG}text") if element.text]


def boxes(svg: Any, colour: str) -> list[list[float]]:
    """Left, top, width and height of the bars of a colour, within the plot."""
    marks = [e for e in svg.iter(f"{SVG}g") if "mark-rect role-mark" in e.get("class", "")]
    paths = [e.get("d") for mark in marks for e in mark.iter(f"{SVG}path") if e.get("fill") == f"var(--{colour})"]
    found = [re.match(r"M([-\d.]+),([-\d.]+)h([-\d.]+)v([-\d.]+)h-[\d.]+Z", path) for path in paths]
    return [[float(number) for number in one.groups()] for one in found if one]


def rules(svg: Any, colour: str) -> list[list[float]]:
    """Place and extent of the lines of a colour, within the plot."""
    lines = [e for e in svg.iter(f"{SVG}line") if e.get("stroke") == f"var(--{colour})"]
    return [[*map(float, re.findall(r"[-\d.]+", e.get("transform"))), float(e.get("x2")), float(e.get("y2"))]
            for e in lines]  # fmt: skip


@pytest.mark.parametrize(
    ("share", "ticks"),
    [
        (0.158, ["0%", "10%", "20%", "30%", "40%"]),
        (0.0, ["0%", "10%", "20%", "30%", "40%"]),
        (1.0, ["0%", "20%", "40%", "60%", "80%", "100%"]),
    ],
)
def test_the_axis_has_units_and_holds_the_budget(share: float, ticks: list[str]) -> None:
    svg = drawn(share=share)["trend"]
    assert [word for word in words(svg) if re.fullmatch(r"\d+%", word)] == ticks
    assert {"share of answers", "time (UTC)", "hallucinated, of those verified", "error budget 20%"} <= set(words(svg))
    (_, top, _, height), *_ = boxes(svg, "link")
    (_, budget, *_), *_ = rules(svg, "bad")
    bottom = top + height
    assert height / (bottom - budget) == pytest.approx(share / 0.2, abs=0.01)
    ((left, _, width, _),) = boxes(svg, "link")  # one interval is a bar and not the whole chart
    whole = abs(rules(svg, "bad")[0][2])
    assert 0 < width < 0.03 * whole and left == pytest.approx(whole / 7, rel=0.01)


def test_changes_are_numbered_lines_and_the_cusum_has_its_threshold() -> None:
    made = drawn()
    for name in ("trend", "mean_scores", "cusum"):
        assert "3" in words(made[name]) and rules(made[name], "unsure"), name
    assert "100%" in words(made["cusum"]) and rules(made["cusum"], "text")
    assert not any(HOSTILE in word for svg in made.values() for word in words(svg))
    assert "budget" not in drawn(spent=None)


@pytest.mark.parametrize(
    ("spent", "colour", "share"),
    [(0.7, "good", "70%"), (1.0, "unsure", "100%"), (3.25, "bad", "325%")],
)
def test_a_budget_has_its_limit_in_the_picture(spent: float, colour: str, share: str) -> None:
    svg = drawn(spent=spent)["budget"]
    assert svg.get("aria-label") == f"{share} of the error budget is spent"
    assert {"0%", "50%", "100%", f"{share} spent"} <= set(words(svg))
    ((left, _, width, _),) = boxes(svg, colour)
    (limit, *_), *_ = rules(svg, "text")
    assert (left + width > limit + 1) == (spent > 1)


def test_a_chart_takes_its_colours_from_the_page_and_loads_nothing() -> None:
    for name, svg in drawn().items():
        colours = {e.get(key) for e in svg.iter() for key in ("fill", "stroke")} - {None, "none", "transparent"}
        assert colours and all(re.fullmatch(r"var\(--\w+\)", str(colour)) for colour in colours), (name, colours)
        assert not [e.tag for e in svg.iter() if e.get("style") or e.tag.endswith(("style", "script", "image", "a"))]
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", ElementTree.tostring(svg, encoding="unicode"))
