"""What the stored reports say: windows, shifts and the changes behind them, budget, breakdowns. Blocking: call it in a
thread. Everything that shows or tells it (commands, dashboard, alerts) takes it from here."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from evidencerails.operations.monitoring.budget import Budget, Counted, budget_of
from evidencerails.operations.monitoring.changes import Change, changes
from evidencerails.operations.monitoring.estimates import spearman, wilson
from evidencerails.operations.monitoring.regressions import Regression, regressions
from evidencerails.operations.monitoring.shifts import Charted, charted
from evidencerails.operations.store import queries
from evidencerails.operations.store.queries import Count, Filter, Summary
from evidencerails.settings.monitoring import MonitoringSettings

if TYPE_CHECKING:
    from evidencerails.operations.store.store import Store

DAY_S = 86_400.0
HOUR_S = 3600.0
MAX_REPORTS = 50_000
"""Newest reports that charts and windows are of: any store can be looked at in a second or two and some 50 MB."""
BREAKDOWNS: tuple[queries.GroupBy, ...] = ("flow", "agent", "model", "stakes")


class Window(NamedTuple):
    """The last reports."""

    reports: int
    hallucinated: int
    unverified: int
    mean_score: float | None
    low: float | None
    """Lower end of the 95% interval (Wilson) of the share of hallucinated ones among those checked."""
    high: float | None


class GateFailures(NamedTuple):
    """Answers that failed the quality gate lately."""

    answers: int
    newest_seq: int
    """Of the newest of them; 0 if there is none."""
    worst: tuple[Summary, ...]


class View(NamedTuple):
    """What the monitor sees."""

    window: Window
    cusum: Charted
    changes: tuple[Change, ...]
    regressions: tuple[Regression, ...]
    budget: Budget
    gate: GateFailures
    """In the window of its alert."""
    worst: tuple[Summary, ...]
    """In the window of the budget, the highest score first."""
    breakdowns: dict[str, list[Count]]
    findings: dict[str, int]
    """Reports by category of their findings, in the window of the budget."""
    retrieval_correlation: float | None
    """Spearman's, of hallucination score and retrieval quality, over the window; None if too few have both."""


def view_of(store: Store, settings: MonitoringSettings, *, max_reports: int = MAX_REPORTS) -> View:
    """Look at the store: the newest `max_reports`, and the oldest ones that the chart learns from.

    Raises:
        StoreError: it cannot be read.
    """
    engine = store.engine
    older = queries.seq_before_newest(engine, max_reports)
    rows = list(queries.summaries(engine, after_seq=older))
    scored = [row for row in rows if row.hallucination_score is not None]
    if older:
        known_good = (row for row in queries.summaries(engine) if row.hallucination_score is not None)
        scored = [row for row in islice(known_good, settings.cusum.baseline_size) if row.seq <= older] + scored
    recent, known = _recent(store, settings), changes(store)
    return View(
        window=window_of(rows[-settings.window :]),
        cusum=charted(scored, settings, known),
        changes=tuple(known),
        regressions=regressions(scored, known, settings.regression),
        budget=budget_now(store, settings),
        gate=gate_failures(store, settings),
        worst=tuple(queries.worst(engine, recent, limit=settings.worst)) if settings.worst else (),
        breakdowns={name: queries.counts(engine, name, recent) for name in BREAKDOWNS},
        findings=queries.finding_counts(engine, "category", recent),
        retrieval_correlation=retrieval_correlation(rows[-settings.window :]),
    )


def budget_now(store: Store, settings: MonitoringSettings) -> Budget:
    """The error budget alone, which is cheap to ask for.

    Raises:
        StoreError: the store cannot be read.
    """
    rates = queries.sample_rates(store.engine, _recent(store, settings))
    return budget_of(
        (Counted(status, 1.0 / rate if rate > 0 else 1.0, count) for status, rate, count in rates),
        settings.budget,
    )


def gate_failures(store: Store, settings: MonitoringSettings) -> GateFailures:
    """What failed the quality gate in the last `alerts.gate_window_h` hours (control stack 20.7.2, per output).

    Raises:
        StoreError: the store cannot be read.
    """
    failed = Filter(since=store.clock.now() - settings.alerts.gate_window_h * HOUR_S, gate_passed=False)
    return GateFailures(
        queries.count(store.engine, failed),
        queries.newest_seq(store.engine, failed),
        tuple(queries.worst(store.engine, failed, limit=settings.worst)) if settings.worst else (),
    )


def window_of(rows: Sequence[Summary]) -> Window:
    """Counts, mean and interval of some reports."""
    scores = [row.hallucination_score for row in rows if row.hallucination_score is not None]
    bad = sum(1 for row in rows if row.status == "hallucinated")
    unverified = sum(1 for row in rows if row.status == "unverified")
    low, high = wilson(bad, len(rows) - unverified)
    return Window(len(rows), bad, unverified, statistics.fmean(scores) if scores else None, low, high)


def retrieval_correlation(rows: Sequence[Summary]) -> float | None:
    """Of those reports whose abstention weighed the retrieval."""
    return spearman(
        [
            (row.retrieval_quality, row.hallucination_score)
            for row in rows
            if row.retrieval_quality is not None and row.hallucination_score is not None
        ]
    )


def _recent(store: Store, settings: MonitoringSettings) -> Filter:
    return Filter(since=store.clock.now() - settings.budget.window_days * DAY_S)
