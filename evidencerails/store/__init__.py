"""Keeps reports: written off the turn, read by service, monitor and people. Needs the extra `store`.

`Store` writes; `evidencerails.store.queries` reads from `Store.engine`.
"""

from evidencerails.settings.store import StoreSettings
from evidencerails.store.store import Store

__all__ = ["Store", "StoreSettings"]
