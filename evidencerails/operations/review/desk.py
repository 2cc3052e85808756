"""All that a guard needs for reviews: the queue, the wait for decisions, the webhook, retention."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import NamedTuple

from evidencerails.config import GuardConfig
from evidencerails.errors import StoreError, extra_for
from evidencerails.exchange import Exchange
from evidencerails.operations.review.package import RELEASABLE, Item, package_of
from evidencerails.operations.store.store import DAY_S, Store, new_id
from evidencerails.report import Report, ReviewTier
from evidencerails.settings.operations import EscalationSettings, StoreSettings

log = logging.getLogger("evidencerails")

TIDY_EVERY_S = 3600.0
POLL_S = 0.5
"""Between queries for a decision while a turn is held."""
TEXT_DAYS = 1.0
"""Where texts are redacted, a reviewer still has to read one, and an app to fetch it after a crash."""


class ReviewDesk:
    """The reviews of one guard, in its store, else in the one that the settings name. The database is not opened before
    the first of them."""

    def __init__(self, config: GuardConfig, store: Store | None = None) -> None:
        self.config, self.settings = config, config.escalation or EscalationSettings()
        self._owns_store = store is None
        self.store = store or Store(config.store or StoreSettings(), redaction=config.redaction)
        with extra_for("the review queue"):
            from evidencerails.operations.review.queue import ReviewQueue
            from evidencerails.operations.review.webhook import Notifier

        webhook = self.settings.webhook
        self.notifier = None if webhook is None else Notifier(webhook)
        self.queue = ReviewQueue(self.store)
        self._tidied_at = time.monotonic()

    async def submit(self, report: Report, exchange: Exchange, tier: ReviewTier, risk: float) -> Item:
        """Put an answer into the queue; a report that the store does not keep gets an id."""
        item = await asyncio.to_thread(self._submit, report, exchange, tier, risk)
        if self.notifier is not None:
            fields = ("id", "tier", "risk", "stakes", "report_id", "deadline_at")
            about = {name: getattr(item, name) for name in fields}
            self.notifier.send_soon({"event": "review.submitted", **about})
        return item

    def _submit(self, report: Report, exchange: Exchange, tier: ReviewTier, risk: float) -> Item:
        if time.monotonic() - self._tidied_at >= TIDY_EVERY_S:
            self._tidied_at = time.monotonic()
            tidy_reviews(self.store, self.config)
        return self.queue.submit(
            package_of(report, exchange),
            tier=tier,
            risk=risk,
            stakes=exchange.stakes or self.config.severity.stakes,
            within_s=float(getattr(self.settings.deadlines_s, tier)),
            report_id=report.id or new_id(),
        )

    async def decision(self, review_id: str) -> tuple[Item, str | None]:
        """A blocking review once it is decided or its time is over, and the text that a person let through.

        A cancelled wait leaves it in the queue."""
        end = time.monotonic() + self.settings.deadlines_s.blocking
        item = None
        while (left := end - time.monotonic()) > 0 and (item is None or item.state == "pending"):
            await asyncio.sleep(min(POLL_S, left))
            try:
                item = await asyncio.to_thread(self.queue.item, review_id)
            except StoreError as error:
                log.error("evidencerails: decisions cannot be read, trying again: %s", error)
        if item is None or item.state == "pending":
            item = await asyncio.to_thread(self.queue.expire, review_id)  # a decision of the last moment stands
        if item.state not in RELEASABLE:
            return item, None
        return item, (await asyncio.to_thread(self.queue.release, review_id)).text

    def close(self) -> None:
        """Stop calling the webhook; what is in the queue stays there."""
        if self.notifier is not None:
            self.notifier.close()
        if self._owns_store:
            self.store.close()


class Tidied(NamedTuple):
    deleted: int
    emptied: int


def tidy_reviews(store: Store, config: GuardConfig) -> Tidied:
    """Delete decided reviews that are old, and the texts of those whose texts may not be kept."""
    from evidencerails.operations.store.queries import delete_reviews_before, drop_review_texts_before

    settings, now = config.escalation or EscalationSettings(), store.now()
    emptied = deleted = 0
    if store.redaction != "off":
        emptied = drop_review_texts_before(store.engine, now - TEXT_DAYS * DAY_S)
    if settings.keep_days is not None:
        deleted = delete_reviews_before(store.engine, now - settings.keep_days * DAY_S)
    return Tidied(deleted, emptied)
