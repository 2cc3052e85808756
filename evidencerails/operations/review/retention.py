"""How long decided reviews, and the texts in them, are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evidencerails.config import GuardConfig
from evidencerails.settings.escalation import EscalationSettings

if TYPE_CHECKING:
    from evidencerails.operations.store.store import Store

DAY_S = 86_400.0
TEXT_DAYS = 1.0
"""Where texts are redacted, a reviewer still has to read one, and an app to fetch it after a crash."""


class Tidied(NamedTuple):
    """What was deleted."""

    deleted: int
    emptied: int


def tidy_reviews(store: Store, config: GuardConfig) -> Tidied:
    """Delete decided reviews that are old, and the texts of those whose texts may not be kept.

    Raises:
        StoreError: the database does not answer.
    """
    from evidencerails.operations.store.retention import delete_reviews_before, drop_review_texts_before

    settings = config.escalation or EscalationSettings()
    now = store.clock.now()
    emptied = deleted = 0
    if store.redaction != "off":
        emptied = drop_review_texts_before(store.engine, now - TEXT_DAYS * DAY_S)
    if settings.keep_days is not None and store.clock.is_settled:
        deleted = delete_reviews_before(store.engine, now - settings.keep_days * DAY_S)
    return Tidied(deleted, emptied)
