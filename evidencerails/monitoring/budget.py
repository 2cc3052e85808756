"""The hallucination error budget: HEB(T) = H_max * |O| - sum of scores, over a window (control stack 20.8.6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from evidencerails.settings.monitoring import ErrorBudgetSettings

BudgetState = Literal["ok", "exhausted", "too_few_reports"]
CONSEQUENCES = (
    "freeze deployments that could raise the risk: `evidencerails gate` exits with 1",
    "keep more reports, tighten thresholds, send more answers to people: `monitoring.budget.when_exhausted` does it",
    "look at the worst outputs: `evidencerails monitor`",
)
"""What an exhausted budget asks for (control stack 20.8.6)."""


class Scored(NamedTuple):
    """One report as the budget counts it."""

    score: float | None
    """None for a report that could not be checked."""
    weight: float = 1.0
    """How many reports it stands for: 1 / its sample rate."""


class Budget(NamedTuple):
    """Where the budget stands."""

    state: BudgetState
    reports: float
    """Checked reports in the window, those that the kept ones stand for included."""
    allowed: float
    spent: float
    unverified: float
    """Reports that could not be checked; they spend nothing and are never counted as good."""

    @property
    def left(self) -> float:
        """What is left; negative when overspent."""
        return self.allowed - self.spent

    @property
    def share_spent(self) -> float | None:
        """Part of the budget that is spent; None before there are reports."""
        return self.spent / self.allowed if self.allowed else None


def budget_of(reports: Iterable[Scored], settings: ErrorBudgetSettings) -> Budget:
    """The budget over these reports."""
    checked = spent = unverified = 0.0
    seen = 0
    for report in reports:
        if report.score is None:
            unverified += report.weight
            continue
        seen += 1
        checked += report.weight
        spent += report.weight * report.score
    allowed = settings.max_score * checked
    state: BudgetState = (
        "too_few_reports" if seen < settings.min_reports else "exhausted" if allowed - spent <= 0 else "ok"
    )
    return Budget(state, checked, allowed, spent, unverified)
