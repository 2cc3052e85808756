"""All that a guard needs for reviews: the queue, the wait for decisions, the webhook."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from evidencerails.config import GuardConfig
from evidencerails.errors import MissingExtraError
from evidencerails.exchange import Exchange
from evidencerails.mitigation.severity import stakes_of
from evidencerails.operations.review.package import RELEASABLE, Item, package_of
from evidencerails.operations.store.store import DAY_S, Store, new_id
from evidencerails.report import Report, ReviewTier
from evidencerails.settings.escalation import EscalationSettings
from evidencerails.settings.store import StoreSettings

if TYPE_CHECKING:
    from evidencerails.operations.review.queue import ReviewQueue
    from evidencerails.operations.review.watch import DecisionWatch
    from evidencerails.operations.review.webhook import Notifier

TIDY_EVERY_S = 3600.0
TEXT_DAYS = 1.0
"""Where texts are redacted, a reviewer still has to read one, and an app to fetch it after a crash."""


class ReviewDesk:
    """The reviews of one guard. Nothing is opened before the first of them.

    Args:
        store: of the guard; the one that the settings name, or the default one, if None.

    Raises:
        SettingsError: a webhook is set and the variable with its secret is not.
    """

    def __init__(self, config: GuardConfig, store: Store | None = None) -> None:
        if config.escalation is None:
            raise ValueError("a review desk needs the settings of escalation")
        self.config, self.settings = config, config.escalation
        self._owns_store = store is None
        self.store = store or Store(config.store or StoreSettings(), redaction=config.redaction)
        self.notifier: Notifier | None = None
        if self.settings.webhook is not None:
            from evidencerails.operations.review.webhook import Notifier

            self.notifier = Notifier(self.store, self.settings.webhook)
        self._queue: ReviewQueue | None = None
        self._watch: DecisionWatch | None = None
        self._lock = threading.Lock()
        self._tidied_at = time.monotonic()

    @property
    def queue(self) -> ReviewQueue:
        """The queue.

        Raises:
            MissingExtraError: SQLAlchemy is not installed.
        """
        with self._lock:
            if self._queue is None:
                try:
                    from evidencerails.operations.review.queue import ReviewQueue
                except ModuleNotFoundError:
                    raise MissingExtraError("the review queue", "sqlalchemy", "store") from None
                self._queue = ReviewQueue(self.store, notifies=self.notifier is not None)
            return self._queue

    @property
    def watch(self) -> DecisionWatch:
        """The wait for decisions."""
        queue = self.queue
        with self._lock:
            if self._watch is None:
                from evidencerails.operations.review.watch import DecisionWatch

                self._watch = DecisionWatch(queue, self.settings.poll_s)
            return self._watch

    async def submit(self, report: Report, exchange: Exchange, tier: ReviewTier, risk: float) -> Item:
        """Put an answer into the queue; a report that the store does not keep gets an id.

        Raises:
            EvidencerailsError: the queue cannot be opened or written.
        """
        item = await asyncio.to_thread(self._submit, report, exchange, tier, risk)
        if self.notifier is not None:
            self.notifier.wake()
        return item

    def _submit(self, report: Report, exchange: Exchange, tier: ReviewTier, risk: float) -> Item:
        self.tidy_if_due()
        return self.queue.submit(
            package_of(report, exchange),
            tier=tier,
            risk=risk,
            stakes=stakes_of(exchange, self.config.severity),
            within_s=float(getattr(self.settings.deadlines_s, tier)),
            report_id=report.id or new_id(),
        )

    async def decision(self, review_id: str) -> tuple[Item, str | None]:
        """A blocking review once it is decided or its time is over, and the text that a person let through.

        Raises:
            EvidencerailsError: the queue cannot be read.
        """
        decided = await self.watch.decided(review_id, self.settings.deadlines_s.blocking)
        if decided is None:
            decided = await asyncio.to_thread(self.queue.expire, review_id)  # a decision of the last moment stands
        if decided.state not in RELEASABLE:
            return decided, None
        return decided, (await asyncio.to_thread(self.queue.release, review_id)).text

    def tidy_if_due(self) -> None:
        """Once an hour delete what was decided long ago. Blocking."""
        if time.monotonic() - self._tidied_at < TIDY_EVERY_S:
            return
        self._tidied_at = time.monotonic()
        tidy_reviews(self.store, self.config)

    def close(self) -> None:
        """Stop waiting and calling; what is in the queue stays there."""
        if self._watch is not None:
            self._watch.close()
        if self.notifier is not None:
            self.notifier.close()
        if self._owns_store:
            self.store.close()


class Tidied(NamedTuple):
    """What was deleted."""

    deleted: int
    emptied: int


def tidy_reviews(store: Store, config: GuardConfig) -> Tidied:
    """Delete decided reviews that are old, and the texts of those whose texts may not be kept.

    Raises:
        StoreError: the database does not answer.
    """
    from evidencerails.operations.store.writes import delete_reviews_before, drop_review_texts_before

    settings = config.escalation or EscalationSettings()
    now = store.clock.now()
    emptied = deleted = 0
    if store.redaction != "off":
        emptied = drop_review_texts_before(store.engine, now - TEXT_DAYS * DAY_S)
    if settings.keep_days is not None and store.clock.is_settled:
        deleted = delete_reviews_before(store.engine, now - settings.keep_days * DAY_S)
    return Tidied(deleted, emptied)
