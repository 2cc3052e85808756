"""Settings of what runs around the engine: store, review, monitoring, telemetry, and the HTTP service."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from evidencerails.errors import SettingsError
from evidencerails.report import Redaction
from evidencerails.settings.base import Count, HttpUrl, Positive, Section, Share, ascending
from evidencerails.settings.environment import variable

DEFAULT_URL = "sqlite:///evidencerails.db"
"""A file in the current directory."""


class SampleRates(Section):
    """Share of answers with these stakes; statistics weight each report by the inverse."""

    low: Share = 1.0
    medium: Share = 1.0
    high: Share = 1.0


class StoreSettings(Section):
    """Where reports and reviews are kept; an empty mapping keeps them in a file of the current directory."""

    url: str = Field(default=DEFAULT_URL, repr=False)
    """SQLAlchemy URL of an SQLite file or a PostgreSQL database."""
    url_env: str | None = None
    """Environment variable with the URL, if it contains a password."""
    redaction: Redaction | None = None
    """Redaction of answer and evidence texts in the store; unset: that of `redaction`."""
    keep_days: Positive | None = 90.0
    """Days until a report is deleted; null: never."""
    sample: SampleRates = SampleRates()
    """Share of reports kept, by stakes."""
    queue_size: Count = 10_000
    """Reports that may wait in memory while the database is unavailable; with more, the oldest are lost, counted and
    logged."""
    lock_timeout_s: Positive = 5.0
    """Seconds to wait for another writer's lock."""

    @property
    def address(self) -> str:
        """The URL in force."""
        url = self.url if self.url_env is None else variable(self.url_env)
        if not url:
            raise SettingsError(f"store.url_env: the environment variable {self.url_env!r} is not set; set it to a URL")
        return url


ReviewFallback = Literal["allow", "warn", "abstain", "block", "raise"]


class TierThresholds(Section):
    """Risk above which an answer goes to each tier."""

    asynchronous: Share = 0.3
    """Risk above which an answer is reviewed afterwards, without changing it."""
    synchronous: Share = 0.5
    """Risk above which the answer is withheld until the review."""
    blocking: Share = 0.7
    """Risk above which the turn waits for the reviewer."""

    _in_order = ascending("asynchronous", "synchronous", "blocking")


class TierDeadlines(Section):
    """Seconds until a review of this tier is due; a turn waits no longer than that for a blocking one."""

    asynchronous: Positive = 28_800.0
    synchronous: Positive = 900.0
    blocking: Positive = 120.0


class WebhookSettings(Section):
    """Where a signed call goes. It contains no text of answer or evidence."""

    url: HttpUrl
    """`https://...`; plain `http` only with `allow_private`."""
    secret_env: str
    """Environment variable with the base64 secret that signs the calls."""
    allow_private: bool = False
    """Allow addresses that are not public: loopback, private and link-local networks."""

    @model_validator(mode="after")
    def _encrypted(self) -> WebhookSettings:
        if self.url.startswith("http://") and not self.allow_private:
            raise ValueError("a webhook without encryption needs allow_private: true; expected an https URL")
        return self


class EscalationSettings(Section):
    """Human review of answers that are risky: stakes * (1 - confidence) above a threshold."""

    by_risk: bool = True
    """Escalate every answer whose risk is above a tier's threshold; false: only by policy."""
    tiers: TierThresholds = TierThresholds()
    deadlines_s: TierDeadlines = TierDeadlines()
    fallback: ReviewFallback = "block"
    """Decision if nobody decides in time or the answer cannot be queued."""
    webhook: WebhookSettings | None = None
    """Called for each new review; unset: no calls."""
    keep_days: Positive | None = 365.0
    """Days until a decided review is deleted; null: never. If `redaction` is on, its texts are deleted a day after the
    decision."""


class CusumSettings(Section):
    """When a change of the mean hallucination score is an alarm."""

    baseline: Share | None = None
    """Expected mean score; unset: that of the first `baseline_size` reports."""
    baseline_size: int = Field(default=500, ge=50)
    """Reports from which the distribution of scores is estimated; no alarm before that."""
    shift: float = Field(default=0.1, gt=0.0, le=1.0)
    """Smallest change of the mean to detect; the slack is half of it."""
    false_alarm_every: float = Field(default=10_000.0, ge=100.0)
    """Mean number of reports between false alarms (ARL0), from which the threshold is derived."""


class WhenExhausted(Section):
    """What holds while the error budget is exhausted, wherever it is stricter than the settings it stands for."""

    sample: SampleRates | None = None
    """Replaces `store.sample`, to keep more reports."""
    max_unsupported_score: Share | None = None
    """Replaces `grounding.max_unsupported_score`, to flag more."""
    max_hallucination_score: Share | None = None
    """Replaces `quality_gate.max_hallucination_score`, to withhold more answers."""
    answer_from: Share | None = None
    """Replaces `abstention.answer_from`, also if abstention is off, to abstain more often."""
    tiers: TierThresholds | None = None
    """Replaces `escalation.tiers`, to send more answers to review."""
    on_unverified: Literal["allow", "warn", "escalate", "block", "raise"] | None = None
    """Replaces `on_unverified`."""


class ErrorBudgetSettings(Section):
    """How much may go wrong in a while (hallucination error budget)."""

    max_share: float = Field(default=0.2, gt=0.0, le=1.0)
    """Highest acceptable share of failed answers; set it above 0.1, since up to one in ten correct answers may be
    flagged."""
    counts: tuple[Literal["hallucinated", "unverified"], ...] = Field(
        default=("hallucinated", "unverified"), min_length=1
    )
    """Statuses that count as failed."""
    window_days: Positive = 28.0
    """Length of the window."""
    min_reports: Count = 50
    """Minimum number of reports for a statement."""
    when_exhausted: WhenExhausted | None = None
    """Stricter settings while the budget is exhausted; unset: none."""


class AlertSettings(Section):
    """Where alerts go besides the log: once when they open, again after a while, and once they are over."""

    webhook: WebhookSettings | None = None
    """Called for each alert; unset: no calls."""
    repeat_h: Positive = 24.0
    """Hours until an open alert is sent again."""


class MonitoringSettings(Section):
    """What is watched in the stored reports, off the path of any turn."""

    shadow_sample: SampleRates = SampleRates()
    """Share of answers that `activation: shadow` checks, by stakes."""
    cusum: CusumSettings = CusumSettings()
    budget: ErrorBudgetSettings = ErrorBudgetSettings()
    alerts: AlertSettings = AlertSettings()


class TelemetrySettings(Section):
    """What is exported to OpenTelemetry, and how `serve` logs."""

    spans: Literal["auto", "off"] = "auto"
    """Spans for each check, claim and LLM call if the process has an OpenTelemetry tracer provider."""
    content: bool = False
    """Include the text of claims, prompts and replies in spans."""
    log_format: Literal["text", "json"] = "text"
    """Plain text or one JSON object per line, each with request and trace id."""


Role = Literal["check", "read", "review", "admin"]
DEFAULT_PORT = 8484


class ApiKey(Section):
    """One API key, by its hash: the key itself stands nowhere."""

    name: str = Field(min_length=1, max_length=64)
    """Name of the holder, shown in logs."""
    role: Role
    """`check` may check, `read` may see history and metrics, `review` may also decide reviews, `admin` may do
    everything."""
    sha256: str
    """SHA-256 of the key as 64 hexadecimal digits; `evidencerails serve --new-key NAME` creates both."""

    @field_validator("sha256")
    @classmethod
    def _is_a_hash(cls, value: str) -> str:
        if not re.fullmatch(r"[0-9a-f]{64}", value.lower()):
            raise ValueError("expected 64 hexadecimal digits; make a key with: evidencerails serve --new-key NAME")
        return value.lower()


class ServiceSettings(Section):
    """The HTTP service. Without keys it serves this machine alone."""

    host: str = "127.0.0.1"
    """Address to listen on; any but a loopback address requires keys."""
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    """Port to listen on; 0 chooses a free one and prints it."""
    keys: tuple[ApiKey, ...] = ()
    """API keys and their roles."""
    keys_file: str | None = None
    """YAML file with more keys, in the form of `keys`."""
    max_body_bytes: int = Field(default=2 * 1024 * 1024, ge=1024)
    """Maximum size of a request body."""
    max_items: Count = 100
    """Maximum items of a batch, and passages, samples or messages of a check."""
    max_concurrency: Count = 32
    """Concurrent checks; the model merges their pairs into batches."""
    max_waiting: int = Field(default=96, ge=0)
    """Requests that may wait; more are refused with 429 and Retry-After."""
    client_timeout_s: Positive = 15.0
    """Seconds for a client to send the head of a request, and again for its body."""
    check_timeout_s: Positive = 120.0
    """Seconds for one check, including waiting; after that, the response is 504."""
    drain_s: float = Field(default=30.0, ge=0)
    """Seconds for requests in progress to finish when the service stops."""
