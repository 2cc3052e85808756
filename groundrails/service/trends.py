"""What the trends page and `groundrails report` show: rates over time, findings, scores, cost, budget, the worst."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from groundrails.monitoring.budget import CONSEQUENCES
from groundrails.monitoring.monitor import Shift
from groundrails.service import views
from groundrails.service.watch import Watch, watch
from groundrails.store import queries

if TYPE_CHECKING:
    from groundrails.config import GuardConfig
    from groundrails.store import Store
    from groundrails.store.queries import FindingGroup, GroupBy

MAX_ROWS = 20_000
"""Reports that scores, latency and cost are of."""
STRETCHES = 48
"""Bars of the trend."""
WORST = 10
FINDINGS: tuple[tuple[str, FindingGroup], ...] = (
    ("Kinds", "kind"),
    ("Categories", "category"),
    ("Labels of claims", "label"),
)
GROUPS: tuple[tuple[str, GroupBy], ...] = (
    ("Flow", "flow"),
    ("Agent", "agent"),
    ("Model", "model"),
    ("Version", "version"),
)


def trends(store: Store, config: GuardConfig, since: float) -> dict[str, Any]:
    """All of it for the templates, from `since` (seconds since 1970) until now. Blocking.

    Raises:
        StoreError: the database cannot be read.
    """
    engine, where = store.engine, queries.Filter(since=since)
    points = queries.trend(engine, where, step_s=max(1.0, (time.time() - since) / STRETCHES))
    rows = list(islice(queries.summaries(engine, where), MAX_ROWS))
    verified = [row for row in rows if row.status != "unverified"]
    rates = [
        (views.moment(p.start), p.hallucinated / p.reports, views.share(p.hallucinated, p.reports)) for p in points
    ]
    return {
        "reports": queries.count(engine, where),
        "is_cut": len(rows) == MAX_ROWS,
        "rate": views.share(sum(row.status == "hallucinated" for row in verified), len(verified)),
        "unverified": views.share(len(rows) - len(verified), len(rows)),
        "trend": views.bars(rates),
        "faithfulness": views.bars(_histogram(rows, "faithfulness")),
        "scores": views.bars(_histogram(rows, "hallucination_score")),
        "cost": views.latency_and_cost(rows),
        "findings": {name: list(queries.finding_counts(engine, by, where).items()) for name, by in FINDINGS},
        "groups": {name: _group(engine, by, where) for name, by in GROUPS},
        "worst": [views.harmless(row._asdict()) for row in queries.worst(engine, where, limit=WORST)],
        **_watched(watch(store, config.monitoring)),
    }


def _group(engine: Any, by: GroupBy, where: Any) -> list[tuple[str, int, str]]:
    return [
        (views.harmless(count.value or "not named"), count.reports, views.share(count.hallucinated, count.reports))
        for count in queries.counts(engine, by, where)
    ]


def _histogram(rows: list[Any], column: str) -> list[tuple[str, float, str]]:
    return views.histogram([value for row in rows if (value := getattr(row, column)) is not None])


def _harmless_shift(shift: Shift) -> Shift:
    if shift.change is None:
        return shift
    return shift._replace(change=shift.change._replace(description=views.harmless(shift.change.description)))


def _watched(seen: Watch) -> dict[str, Any]:
    """The watch with its line and its markers in the coordinates of a drawing."""
    changes = [
        c._replace(description=views.harmless(c.description), author=views.harmless(c.author)) for c in seen.changes
    ]
    shifts = tuple(_harmless_shift(shift) for shift in seen.view.shifts)
    shown = seen._replace(changes=changes, view=seen.view._replace(shifts=shifts))
    given: dict[str, Any] = {"watch": shown, "consequences": CONSEQUENCES, "line": "", "markers": [], "threshold_y": 0}
    if seen.view.chart is None or not seen.line:
        return given
    begin, end = seen.line[0][0], seen.line[-1][0]
    wide, high = max(1.0, end - begin), 1.1 * max(seen.view.chart.threshold_up, *(value for _, value in seen.line))

    def x_of(at: float) -> float:
        return round(views.CHART_WIDTH * (at - begin) / wide, 1)

    def y_of(value: float) -> float:
        return round(views.CHART_HEIGHT * (1 - value / high), 1)

    return given | {
        "line": " ".join(f"{x_of(at)},{y_of(value)}" for at, value in seen.line),
        "markers": [(x_of(c.at), c.description) for c in shown.changes if begin <= c.at <= end],
        "threshold_y": y_of(seen.view.chart.threshold_up),
    }
