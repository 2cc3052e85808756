"""Settings of monitoring: which shift is an alarm, how much may go wrong, who is notified."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from evidencerails.settings.base import Count, Positive, Section, Share
from evidencerails.settings.escalation import TierThresholds, WebhookSettings
from evidencerails.settings.store import SampleRates


class CusumSettings(Section):
    """When a change of the mean hallucination score is an alarm."""

    baseline: Share | None = None
    """Mean score while all is well; unset: that of the first `baseline_size` reports."""
    baseline_size: int = Field(default=500, ge=50)
    """Reports from which the distribution of scores is learnt; no alarm before there are so many."""
    shift: float = Field(default=0.1, gt=0.0, le=1.0)
    """Smallest shift of the mean that matters; the slack is half of it, which finds that shift soonest."""
    false_alarm_every: float = Field(default=10_000.0, ge=100.0)
    """Reports between two false alarms, on average (ARL0); the threshold follows from it."""


class RegressionSettings(Section):
    """When a change of the change log has made scores worse at once."""

    window: int = Field(default=200, ge=10)
    """Reports compared before and after a change, at most."""
    min_increase: float = Field(default=0.1, gt=0.0, le=1.0)
    """Increase of the mean score that counts, if it is also beyond chance (95%)."""


class WhenExhausted(Section):
    """What holds while the error budget is exhausted, wherever it is stricter than the settings it stands for."""

    sample: SampleRates | None = None
    """For `store.sample`: keep more reports."""
    max_unsupported_score: Share | None = None
    """For `grounding.max_unsupported_score`: sentences count as unsupported sooner."""
    max_hallucination_score: Share | None = None
    """For `quality_gate.max_hallucination_score`: hold back answers above it."""
    answer_from: Share | None = None
    """For `abstention.answer_from`, which is then weighed even if it is off: abstain sooner."""
    tiers: TierThresholds | None = None
    """For `escalation.tiers`: send more answers to people."""
    on_unverified: Literal["allow", "warn", "escalate", "block", "raise"] | None = None
    """For `on_unverified`."""


class ErrorBudgetSettings(Section):
    """How much may go wrong in a while (hallucination error budget)."""

    max_share: float = Field(default=0.2, gt=0.0, le=1.0)
    """Highest acceptable share of answers that go wrong; above 0.1, since one in ten right answers may be flagged."""
    counts: tuple[Literal["hallucinated", "unverified"], ...] = Field(
        default=("hallucinated", "unverified"), min_length=1
    )
    """Statuses that count as going wrong."""
    window_days: Positive = 28.0
    """Length of the window."""
    min_reports: Count = 50
    """Reports below which nothing is said."""
    when_exhausted: WhenExhausted | None = None
    """What an exhausted budget changes by itself, until it has recovered; unset: nothing."""


class EmailSettings(Section):
    """Who gets alerts by mail."""

    host: str
    """SMTP server."""
    port: int = Field(default=587, ge=1, le=65535)
    """Its port."""
    sender: str
    """Address the mail comes from."""
    to: tuple[str, ...] = Field(min_length=1)
    """Addresses it goes to."""
    starttls: bool = True
    """Encrypt; a server that cannot is refused."""
    user: str | None = None
    """Name to log in with; unset: without."""
    password_env: str | None = None
    """Environment variable with the password."""


class AlertSettings(Section):
    """Where alerts go besides the log: once when they open, again after a while, and once they are over."""

    webhook: WebhookSettings | None = None
    """Called for each alert; unset: nobody is."""
    email: EmailSettings | None = None
    """Mailed for each alert; unset: nobody is."""
    repeat_h: Positive = 24.0
    """Hours until an alert that stays open is sent again."""


class MonitoringSettings(Section):
    """What is watched in the stored reports, off the path of any turn."""

    shadow_sample: SampleRates = SampleRates()
    """Share of answers that `activation: shadow` checks, by stakes."""
    cusum: CusumSettings = CusumSettings()
    regression: RegressionSettings = RegressionSettings()
    budget: ErrorBudgetSettings = ErrorBudgetSettings()
    alerts: AlertSettings = AlertSettings()
