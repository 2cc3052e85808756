"""What the trends page and `evidencerails report` show: rates over time, findings, scores, cost, budget, the worst."""

from __future__ import annotations

import bisect
import statistics
import time
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from evidencerails.operations.monitoring.changes import Change
from evidencerails.operations.monitoring.charts import Charted
from evidencerails.operations.monitoring.monitor import CONSEQUENCES, View, retrieval_correlation, view_of
from evidencerails.operations.store import queries
from evidencerails.operations.store.records import ATTRIBUTION
from evidencerails.service import views
from evidencerails.text.visible import all_visible

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.operations.store import Store
    from evidencerails.operations.store.queries import Count, FindingGroup, GroupBy, Summary
    from evidencerails.settings.monitoring import WhenExhausted

MAX_ROWS = 20_000
"""Reports that scores, latency and cost are of."""
BARS = 48
"""Of the trend."""
WORST = 10
MAX_CLAIMS = 5
"""Shown of each of the worst."""
QUALITY_STEPS = (0.0, 0.25, 0.5, 0.75)
"""Where the classes of retrieval quality begin."""
FINDINGS: tuple[tuple[str, FindingGroup], ...] = (
    ("Categories", "category"),
    ("Error types", "error_types"),
    ("Kinds", "kind"),
    ("Labels of claims", "label"),
)
GROUPS: tuple[tuple[str, GroupBy], ...] = (
    ("Flow", "flow"),
    ("Agent", "agent"),
    ("Model", "model"),
    ("Stakes", "stakes"),
    ("Version", "version"),
)


def trends(store: Store, config: GuardConfig, since: float) -> dict[str, Any]:
    """All of it for templates and terminals, its texts made visible, from `since` (seconds since 1970) on. Blocking.

    Raises:
        StoreError: the database cannot be read.
    """
    engine, where = store.engine, queries.Filter(since=since)
    points = queries.trend(engine, where, step_s=max(1.0, (time.time() - since) / BARS))
    rows = list(islice(queries.summaries(engine, where), MAX_ROWS))
    verified = [row for row in rows if row.status != "unverified"]
    view = view_of(store, config.monitoring)
    reports = queries.count(engine, where)
    allowed = config.monitoring.budget.max_share
    found: dict[str, Any] = {
        "reports": reports,
        "is_cut": len(rows) == MAX_ROWS,
        "rate": views.share(sum(row.status == "hallucinated" for row in verified), len(verified)),
        "unverified": views.share(len(rows) - len(verified), len(rows)),
        "trend": views.chart(
            [(views.moment(p.value), *_rate(p)) for p in points],
            "share",
            threshold=(allowed, f"error budget {allowed:.0%}"),
        ),
        "mean_scores": views.chart(
            [(views.moment(p.value), p.mean_score, f"{p.mean_score:.3f}") for p in points if p.mean_score is not None],
            "score",
        ),
        "gauge": views.gauge(view.budget.spent, view.budget.allowed),
        "trend_markers": _markers([p.value for p in points], view.changes),
        "mean_markers": _markers([p.value for p in points if p.mean_score is not None], view.changes),
        "faithfulness": views.chart(_histogram(rows, "faithfulness"), "count"),
        "scores": views.chart(_histogram(rows, "hallucination_score"), "count"),
        "attribution": _attribution(rows),
        "retrieval": {"correlation": retrieval_correlation(rows), "classes": _by_quality(rows)},
        "cost": views.latency_and_cost(rows),
        "findings": {name: list(queries.finding_counts(engine, by, where).items()) for name, by in FINDINGS},
        "groups": {name: _group(engine, by, where) for name, by in GROUPS},
        "worst": [_worst(engine, row) for row in queries.worst(engine, where, limit=WORST)],
        "consequences": CONSEQUENCES,
        "when_exhausted": _plain_settings(config.monitoring.budget.when_exhausted),
        "wanted": config.monitoring.cusum.baseline_size,
        "view": view,
        **_drawn(view),
    }
    return all_visible(found)  # type: ignore[no-any-return]


def _plain_settings(settings: WhenExhausted | None) -> dict[str, Any]:
    return settings.model_dump(exclude_none=True) if settings is not None else {}


def _rate(point: Count) -> tuple[float, str]:
    """Share of hallucinated answers among those verified, as height and in words."""
    verified = point.reports - point.unverified
    return (point.hallucinated / verified if verified else 0.0), views.share(point.hallucinated, verified)


def _markers(starts: Sequence[float], changes: Sequence[Change]) -> list[tuple[float, str]]:
    """Where changes stand among bars of equal width that begin at `starts`; intervals without a report have no bar."""
    if not starts:
        return []
    width, found = (views.CHART_WIDTH - views.CHART_LEFT) / len(starts), []
    for change in changes:
        place = bisect.bisect_right(starts, change.at)
        if place:
            x = views.CHART_LEFT + place * width
            found.append((round(min(views.CHART_WIDTH - 1.0, x), 1), change.description))
    return found


def _attribution(rows: Sequence[Summary]) -> list[tuple[str, float, int]]:
    """Mean of attribution precision and of its parts, and how many reports had it."""
    found = []
    for name in ATTRIBUTION:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        if values:
            found.append((name.removeprefix("attribution_"), statistics.fmean(values), len(values)))
    return found


def _by_quality(rows: Sequence[Summary]) -> list[tuple[str, int, str, str]]:
    """Reports, share of hallucinated ones and mean score by class of retrieval quality."""
    found = []
    for begin, end in zip(QUALITY_STEPS, (*QUALITY_STEPS[1:], 1.01), strict=True):
        inside = [row for row in rows if row.retrieval_quality is not None and begin <= row.retrieval_quality < end]
        scores = [row.hallucination_score for row in inside if row.hallucination_score is not None]
        verified = [row for row in inside if row.status != "unverified"]
        if inside:
            rate = views.share(sum(row.status == "hallucinated" for row in verified), len(verified))
            mean = f"{statistics.fmean(scores):.2f}" if scores else "-"
            found.append((f"{begin:.2f} to {min(end, 1.0):.2f}", len(inside), rate, mean))
    return found


def _group(engine: Any, by: GroupBy, where: Any) -> list[tuple[str, int, str]]:
    return [
        (
            count.value or "not named",
            count.reports,
            views.share(count.hallucinated, count.reports - count.unverified),
        )
        for count in queries.counts(engine, by, where)
    ]


def _worst(engine: Any, row: Summary) -> dict[str, Any]:
    """One of the worst reports with the claims that made it so, as far as the store's redaction left their words."""
    kept = queries.report(engine, row.id)
    claims = kept.body["report"].get("claims") or [] if kept is not None else []
    flagged = [
        {"label": claim["label"], "score": claim.get("score"), "text": claim.get("text") or "(not kept)"}
        for claim in claims
        if claim["label"] != "supported"
    ]
    return {**row._asdict(), "claims": flagged[:MAX_CLAIMS]}


def _histogram(rows: Sequence[Summary], column: str) -> list[tuple[str, float, str]]:
    return views.histogram([value for row in rows if (value := getattr(row, column)) is not None])


def _drawn(view: View) -> dict[str, Any]:
    """The chart's lines, ticks and markers in the coordinates of a drawing; each statistic a part of its threshold."""
    cusum: Charted = view.cusum
    if cusum.chart is None or not cusum.line:
        return {"lines": {}, "markers": [], "ticks": [], "span": ("", ""), "threshold_y": 0}
    begin, end = cusum.line[0][0], cusum.line[-1][0]
    wide = max(1.0, end - begin)
    up = [(at, value / cusum.chart.threshold_up) for at, value, _ in cusum.line]
    down = [(at, value / cusum.chart.threshold_down) for at, _, value in cusum.line]
    high = 1.1 * max(1.0, *(value for _, value in (*up, *down)))

    def x_of(at: float) -> float:
        return round(views.CHART_LEFT + (views.CHART_WIDTH - views.CHART_LEFT) * (at - begin) / wide, 1)

    def y_of(value: float) -> float:
        return views.level_y(value, high)

    def line(values: list[tuple[float, float]]) -> str:
        return " ".join(f"{x_of(at)},{y_of(value)}" for at, value in values)

    marked = [c for c in view.changes if begin <= c.at <= end]
    return {
        "lines": {"up": line(up), "down": line(down)},
        "markers": [(x_of(c.at), c.description) for c in marked],
        "ticks": [(y_of(part * high / 1.1), f"{100 * part * high / 1.1:.0f} %") for part in (0.0, 0.5, 1.0)],
        "span": (views.moment(begin), views.moment(end)),
        "threshold_y": y_of(1.0),
    }
