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
    """Share of answers, by stakes; a kept report stands for 1/rate of them."""

    low: Share = 1.0
    medium: Share = 1.0
    high: Share = 1.0


class StoreSettings(Section):
    """Where reports and reviews are kept; an empty mapping keeps them in a file of the current directory."""

    url: str = Field(default=DEFAULT_URL, repr=False)
    """SQLAlchemy URL of an SQLite file or a PostgreSQL database."""
    url_env: str | None = None
    """Environment variable with that URL, for one that holds a password."""
    redaction: Redaction | None = None
    """What is kept of answer and evidence texts; unset: what `redaction` says."""
    keep_days: Positive | None = 90.0
    """Days until a report is deleted; null keeps all."""
    sample: SampleRates = SampleRates()
    """Share of reports kept, by stakes."""
    queue_size: Count = 10_000
    """Reports that may wait in memory while the database is busy or away; beyond it the oldest are lost, counted and
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
    """Reviewed within hours; the answer is not changed by it."""
    synchronous: Share = 0.5
    """Reviewed within minutes; the answer is withheld until then."""
    blocking: Share = 0.7
    """The turn waits for the reviewer."""

    _in_order = ascending("asynchronous", "synchronous", "blocking")


class TierDeadlines(Section):
    """Seconds until a review of each tier is due; a blocking one holds the turn no longer than that."""

    asynchronous: Positive = 28_800.0
    synchronous: Positive = 900.0
    blocking: Positive = 120.0


class WebhookSettings(Section):
    """Where a signed call goes. It contains no text of answer or evidence."""

    url: HttpUrl
    """`https://...`; plain `http` only with `allow_private`."""
    secret_env: str
    """Environment variable with the secret that signs the call, in base64."""
    allow_private: bool = False
    """Let it go to addresses that are not public: loopback, private and link-local networks."""

    @model_validator(mode="after")
    def _encrypted(self) -> WebhookSettings:
        if self.url.startswith("http://") and not self.allow_private:
            raise ValueError("a webhook without encryption needs allow_private: true; expected an https URL")
        return self


class EscalationSettings(Section):
    """Human review of answers that are risky: stakes * (1 - confidence) above a threshold."""

    by_risk: bool = True
    """Escalate every answer whose risk is above a tier's threshold; false: only what a policy says."""
    tiers: TierThresholds = TierThresholds()
    deadlines_s: TierDeadlines = TierDeadlines()
    fallback: ReviewFallback = "block"
    """What becomes of an answer that nobody decided in time, or that cannot be queued."""
    webhook: WebhookSettings | None = None
    """Called for each new review; unset: no call."""
    keep_days: Positive | None = 365.0
    """Days until a decided review is deleted; null keeps all. Where `redaction` is on, its texts go a day after it."""


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


class AlertSettings(Section):
    """Where alerts go besides the log: once when they open, again after a while, and once they are over."""

    webhook: WebhookSettings | None = None
    """Called for each alert; unset: nobody is."""
    repeat_h: Positive = 24.0
    """Hours until an alert that stays open is sent again."""


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
    """Spans for each check, claim and LLM call, as soon as the process has an OpenTelemetry tracer provider."""
    content: bool = False
    """Put the words of claims, prompts and replies into spans."""
    log_format: Literal["text", "json"] = "text"
    """Lines for people or one JSON object a line, each with request and trace id."""


Role = Literal["check", "read", "review", "admin"]
DEFAULT_PORT = 8484


class ApiKey(Section):
    """One API key, by its hash: the key itself stands nowhere."""

    name: str = Field(min_length=1, max_length=64)
    """Who holds it; stands in logs."""
    role: Role
    """`check` may check, `read` may see history and metrics, `review` also decides in the queue, `admin` may all."""
    sha256: str
    """SHA-256 of the key as 64 hexadecimal digits; `evidencerails serve --new-key NAME` makes both."""

    @field_validator("sha256")
    @classmethod
    def _is_a_hash(cls, value: str) -> str:
        if not re.fullmatch(r"[0-9a-f]{64}", value.lower()):
            raise ValueError("expected 64 hexadecimal digits; make a key with: evidencerails serve --new-key NAME")
        return value.lower()


class ServiceSettings(Section):
    """The HTTP service. Without keys it serves this machine alone."""

    host: str = "127.0.0.1"
    """Address to listen at; any but a loopback address needs keys."""
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    """Port to listen at; 0 takes a free one and prints it."""
    keys: tuple[ApiKey, ...] = ()
    """Who may do what."""
    keys_file: str | None = None
    """YAML file with further keys: a list like `keys`."""
    max_body_bytes: int = Field(default=2 * 1024 * 1024, ge=1024)
    """Longest request body."""
    max_items: Count = 100
    """Items of one batch, and passages, samples or messages of one check."""
    max_concurrency: Count = 32
    """Checks at work at once; the model merges their pairs into batches."""
    max_waiting: int = Field(default=96, ge=0)
    """Requests that wait for a place; beyond that the answer is 429 with Retry-After."""
    client_timeout_s: Positive = 15.0
    """Seconds a client may take to send the head of a request, and again its body."""
    check_timeout_s: Positive = 120.0
    """Seconds one check may take, waiting included; then the answer is 504."""
    drain_s: float = Field(default=30.0, ge=0)
    """Seconds that requests under way may take to end when the service stops."""
