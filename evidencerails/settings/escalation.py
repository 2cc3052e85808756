"""Settings of escalation: when an answer goes to a person, how long it waits, who is notified."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from evidencerails.settings.base import HttpUrl, Positive, Section, Share, ascending

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
