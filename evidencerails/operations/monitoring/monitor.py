"""What the stored reports say: windows, shifts and the changes behind them, error budget. Blocking: call it
in a thread. Commands, dashboard and alerts take it from here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from evidencerails.operations.monitoring.changes import Change, Regression, changes, regressions
from evidencerails.operations.monitoring.charts import Charted, charted
from evidencerails.operations.store import queries
from evidencerails.operations.store.queries import Filter, Summary
from evidencerails.operations.store.store import DAY_S
from evidencerails.settings.operations import ErrorBudgetSettings, MonitoringSettings

if TYPE_CHECKING:
    from evidencerails.operations.store.store import Store

HOUR_S = 3600.0
GATE_WINDOW_H = 1.0
"""For which answers that failed the quality gate keep their alert open; each is sent once."""
WINDOW = 500
"""The last reports, of which the share of hallucinated ones is shown."""
WORST = 5
"""Reports named in an alert."""
MAX_REPORTS = 50_000
"""Newest reports that charts and windows are of: any store can be read in a second or two and some 50 MB."""
MIN_PAIRS = 20
"""Pairs below which a correlation says nothing."""
CONSEQUENCES = (
    "freeze deployments that could raise the risk: `evidencerails gate` exits with 1",
    "keep more reports, tighten thresholds, send more answers to people: `monitoring.budget.when_exhausted` does it",
    "inspect the worst outputs: `evidencerails monitor`",
)
"""What an exhausted budget asks for."""


class Budget(NamedTuple):
    """Where the budget stands. All but the state are numbers of answers, those that samples stand for included."""

    state: Literal["ok", "exhausted", "too_few_reports"]
    reports: float
    """In the window."""
    allowed: float
    spent: float
    unverified: float
    """Those that could not be checked."""

    @property
    def left(self) -> float:
        """What is left; negative when overspent."""
        return self.allowed - self.spent

    @property
    def share_spent(self) -> float | None:
        """Part of the budget that is spent; None before there are reports."""
        return self.spent / self.allowed if self.allowed else None


class Window(NamedTuple):
    """The last reports, and the 95% interval (Wilson) of the share of hallucinated ones among those checked."""

    reports: int
    low: float | None
    high: float | None


class GateFailures(NamedTuple):
    """Answers that failed the quality gate lately, and the `seq` of the newest of them."""

    answers: int
    newest_seq: int
    worst: tuple[Summary, ...]


class View(NamedTuple):
    """What the monitor sees; the worst reports are of the window of the budget."""

    window: Window
    cusum: Charted
    changes: tuple[Change, ...]
    regressions: tuple[Regression, ...]
    budget: Budget
    gate: GateFailures
    worst: tuple[Summary, ...]


def view_of(store: Store, settings: MonitoringSettings, *, max_reports: int = MAX_REPORTS) -> View:
    """What the store holds: the newest `max_reports`, and the oldest ones that the chart learns from."""
    engine = store.engine
    older = queries.seq_before_newest(engine, max_reports)
    rows = list(queries.summaries(engine, after_seq=older))
    scored = [row for row in rows if row.hallucination_score is not None]
    if older:
        known_good = (row for row in queries.summaries(engine) if row.hallucination_score is not None)
        scored = [row for row in islice(known_good, settings.cusum.baseline_size) if row.seq <= older] + scored
    known = changes(store)
    failed = Filter(since=store.now() - GATE_WINDOW_H * HOUR_S, gate_passed=False)
    return View(
        window=_window_of(rows[-WINDOW:]),
        cusum=charted(scored, settings, known),
        changes=tuple(known),
        regressions=regressions(scored, known),
        budget=budget_now(store, settings),
        gate=GateFailures(
            queries.count(engine, failed),
            queries.newest_seq(engine, failed),
            tuple(queries.worst(engine, failed, limit=WORST)),
        ),
        worst=tuple(queries.worst(engine, _recent(store, settings), limit=WORST)),
    )


def _window_of(rows: Sequence[Summary]) -> Window:
    checked = [row for row in rows if row.status != "unverified"]
    if not checked:
        return Window(len(rows), None, None)
    from scipy.stats import binomtest

    bad = sum(row.status == "hallucinated" for row in checked)
    return Window(len(rows), *binomtest(bad, len(checked)).proportion_ci(method="wilson"))


def budget_now(store: Store, settings: MonitoringSettings) -> Budget:
    return budget_of(queries.sample_rates(store.engine, _recent(store, settings)), settings.budget)


def _recent(store: Store, settings: MonitoringSettings) -> Filter:
    return Filter(since=store.now() - settings.budget.window_days * DAY_S)


def budget_of(reports: Iterable[tuple[str, float, int]], settings: ErrorBudgetSettings) -> Budget:
    """The budget over these reports: status, sample rate (one stands for 1 / rate answers), and how many have both.

    What is counted is the verdict and not the score: a right answer has a score above 0, so that enough of them would
    spend any budget of scores.
    """
    rows = [(status, count, count / rate if rate > 0 else float(count)) for status, rate, count in reports]
    answers = sum(weight for _, _, weight in rows)
    spent = sum(weight for status, _, weight in rows if status in settings.counts)
    unverified = sum(weight for status, _, weight in rows if status == "unverified")
    allowed = settings.max_share * answers
    if sum(count for _, count, _ in rows) < settings.min_reports:
        return Budget("too_few_reports", answers, allowed, spent, unverified)
    return Budget("ok" if spent < allowed else "exhausted", answers, allowed, spent, unverified)


def retrieval_correlation(rows: Sequence[Summary]) -> float | None:
    """Spearman's, of retrieval quality and score; None of fewer than 20 reports with both, or if one is constant."""
    pairs = [
        (row.retrieval_quality, row.hallucination_score)
        for row in rows
        if row.retrieval_quality is not None and row.hallucination_score is not None
    ]
    if len(pairs) < MIN_PAIRS or any(len(set(values)) < 2 for values in zip(*pairs, strict=True)):
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(pairs).statistic)
