"""Settings of escalation: when an answer goes to a person, how long it waits, who is notified."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from evidencerails.settings.base import Section

ReviewFallback = Literal["allow", "warn", "abstain", "block", "raise"]


class StakesWeights(Section):
    """What stakes count in the risk. With the default tiers low stakes never escalate, and only high ones block."""

    low: float = Field(default=0.3, ge=0.0, le=1.0)
    medium: float = Field(default=0.6, ge=0.0, le=1.0)
    high: float = Field(default=1.0, ge=0.0, le=1.0)


class TierThresholds(Section):
    """Risk above which an answer goes to each tier."""

    asynchronous: float = Field(default=0.3, ge=0.0, le=1.0)
    """Reviewed within hours; the answer is not changed by it."""
    synchronous: float = Field(default=0.5, ge=0.0, le=1.0)
    """Reviewed within minutes; the answer is withheld until then."""
    blocking: float = Field(default=0.7, ge=0.0, le=1.0)
    """The turn waits for the reviewer."""

    @model_validator(mode="after")
    def _in_order(self) -> TierThresholds:
        if not self.asynchronous <= self.synchronous <= self.blocking:
            given = f"{self.asynchronous:g}, {self.synchronous:g}, {self.blocking:g}"
            raise ValueError(f"expected asynchronous <= synchronous <= blocking, got {given}")
        return self


class TierDeadlines(Section):
    """Seconds until a review of each tier is due; a blocking one holds the turn no longer than that."""

    asynchronous: float = Field(default=28_800.0, gt=0)
    synchronous: float = Field(default=900.0, gt=0)
    blocking: float = Field(default=120.0, gt=0)


class WebhookSettings(Section):
    """Where a signed call goes. It contains no text of answer or evidence."""

    url: str
    """`https://...`; plain `http` only with `allow_private`."""
    secret_env: str
    """Environment variable with the secret that signs the call, in base64."""
    allow_private: bool = False
    """Let it go to addresses that are not public: loopback, private and link-local networks."""
    timeout_s: float = Field(default=5.0, gt=0)
    """Seconds to wait for one call."""
    max_attempts: int = Field(default=8, ge=1)
    """Calls until it is given up, with growing pauses: 8 take about 2 minutes."""

    @field_validator("url")
    @classmethod
    def _http(cls, value: str) -> str:
        if not value.startswith(("https://", "http://")):
            raise ValueError("expected an https URL")
        return value

    @model_validator(mode="after")
    def _encrypted(self) -> WebhookSettings:
        if self.url.startswith("http://") and not self.allow_private:
            raise ValueError("a webhook without encryption needs allow_private: true; expected an https URL")
        return self


class EscalationSettings(Section):
    """Human review of answers that are risky: stakes * (1 - confidence) above a threshold."""

    by_risk: bool = True
    """Escalate every answer whose risk is above a tier's threshold; false: only what a policy says."""
    stakes: StakesWeights = StakesWeights()
    tiers: TierThresholds = TierThresholds()
    deadlines_s: TierDeadlines = TierDeadlines()
    fallback: ReviewFallback = "block"
    """What becomes of an answer that nobody decided in time, or that cannot be queued."""
    poll_s: float = Field(default=0.5, gt=0)
    """Seconds between queries for a decision while a turn is held."""
    webhook: WebhookSettings | None = None
    """Called for each new review; unset: no call."""
    keep_days: float | None = Field(default=365.0, gt=0)
    """Days until a decided review is deleted; null keeps all. Where `redaction` is on, its texts go a day after it."""
