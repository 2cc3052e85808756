"""The hallucination error budget: the share of answers that may go wrong, less what has, over a window (control stack
20.8.6, with the verdict in the place of the score)."""

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


class Counted(NamedTuple):
    """Reports as the budget counts them."""

    status: str
    weight: float = 1.0
    """How many answers one of them stands for: 1 / its sample rate."""
    reports: int = 1


class Budget(NamedTuple):
    """Where the budget stands. All but the state are numbers of answers, those that samples stand for included."""

    state: BudgetState
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


def budget_of(reports: Iterable[Counted], settings: ErrorBudgetSettings) -> Budget:
    """The budget over these reports.

    What is counted is the verdict and not the score: a right answer has a score above 0, so that enough of them would
    spend any budget of scores.
    """
    answers = spent = unverified = 0.0
    seen = 0
    for report in reports:
        seen += report.reports
        weight = report.weight * report.reports
        answers += weight
        spent += weight if report.status in settings.counts else 0.0
        unverified += weight if report.status == "unverified" else 0.0
    allowed = settings.max_share * answers
    state: BudgetState = (
        "too_few_reports" if seen < settings.min_reports else "exhausted" if allowed - spent <= 0 else "ok"
    )
    return Budget(state, answers, allowed, spent, unverified)
