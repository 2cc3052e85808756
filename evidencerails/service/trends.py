"""What the trends page and `evidencerails report` show: rates over time, findings, scores, cost, budget, the worst."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from evidencerails.operations.monitoring.monitor import CONSEQUENCES, retrieval_correlation, view_of
from evidencerails.operations.store import queries
from evidencerails.operations.store.records import ATTRIBUTION
from evidencerails.service import views
from evidencerails.service.charts import Bar
from evidencerails.text.visible import all_visible

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.operations.store import Store
    from evidencerails.operations.store.queries import Count, FindingGroup, GroupBy, Summary

MAX_ROWS = 20_000
"""Reports that scores, latency and cost are of."""
BARS = 48
"""Of the trend."""
BINS = 10
"""Of a histogram."""
WORST = 10
MAX_CLAIMS = 5
"""Shown of each of the worst."""
QUALITY_STEPS = (0.0, 0.25, 0.5, 0.75)
"""Where the classes of retrieval quality begin."""
FINDINGS: dict[str, FindingGroup] = {
    "Categories": "category", "Error types": "error_types", "Kinds": "kind", "Labels of claims": "label",
}  # fmt: skip
GROUPS: tuple[GroupBy, ...] = ("flow", "agent", "model", "stakes", "version")


def trends(store: Store, config: GuardConfig, since: float) -> dict[str, Any]:
    """All of it for pages and terminals, its texts made visible, from `since` (seconds since 1970) on. Blocking."""
    engine, where = store.engine, queries.Filter(since=since)
    stricter = config.monitoring.budget.when_exhausted
    step_s = max(1.0, (time.time() - since) / BARS)
    points = queries.trend(engine, where, step_s=step_s)
    rows = list(islice(queries.summaries(engine, where), MAX_ROWS))
    verified = [row for row in rows if row.status != "unverified"]
    reports = queries.count(engine, where)
    found: dict[str, Any] = {
        "reports": reports,
        "is_cut": len(rows) == MAX_ROWS,
        "rate": views.share(sum(row.status == "hallucinated" for row in verified), len(verified)),
        "unverified": views.share(len(rows) - len(verified), len(rows)),
        "trend": [_bar(point, step_s, *_rate(point)) for point in points],
        "mean_scores": [
            _bar(p, step_s, p.mean_score, f"{p.mean_score:.3f}") for p in points if p.mean_score is not None
        ],
        "allowed": config.monitoring.budget.max_share,
        "faithfulness": _histogram(rows, "faithfulness"),
        "scores": _histogram(rows, "hallucination_score"),
        "attribution": _attribution(rows),
        "retrieval": {"correlation": retrieval_correlation(rows), "classes": _by_quality(rows)},
        "cost": views.latency_and_cost(rows),
        "findings": {name: list(queries.finding_counts(engine, by, where).items()) for name, by in FINDINGS.items()},
        "groups": {by.capitalize(): _group(engine, by, where) for by in GROUPS},
        "worst": [_worst(engine, row) for row in queries.worst(engine, where, limit=WORST)],
        "consequences": CONSEQUENCES,
        "when_exhausted": stricter.model_dump(exclude_none=True) if stricter is not None else {},
        "wanted": config.monitoring.cusum.baseline_size,
        "view": view_of(store, config.monitoring),
    }
    return all_visible(found)  # type: ignore[no-any-return]


def _bar(point: Count, step_s: float, value: float | None, words: str) -> Bar:
    return Bar(point.value, point.value + step_s, value, views.moment(point.value), words)


def _rate(point: Count) -> tuple[float | None, str]:
    """Share of hallucinated answers among those verified, as a number and in words."""
    verified = point.reports - point.unverified
    return (point.hallucinated / verified if verified else None), views.share(point.hallucinated, verified)


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
    return [(one.value or "not named", one.reports, _rate(one)[1]) for one in queries.counts(engine, by, where)]


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


def _histogram(rows: Sequence[Summary], column: str) -> list[Bar]:
    """Counts of values from 0 to 1 in ten bins, the last of which holds 1; empty without any."""
    values = [value for row in rows if (value := getattr(row, column)) is not None]
    counts, edges = np.histogram(np.clip(values, 0.0, 1.0), bins=BINS, range=(0.0, 1.0))
    bins = zip(edges.tolist(), edges[1:].tolist(), counts.tolist(), strict=False) if values else ()
    return [Bar(low, high, n, f"{low:.1f} to {high:.1f}", f"{n} reports") for low, high, n in bins]
