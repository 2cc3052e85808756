"""Keeps reports: written off the turn, read by service, monitor and people. Needs the extra `store`.

`Store` writes; `evidencerails.operations.store.queries` reads from `Store.engine`.
"""

from evidencerails.operations.store.store import Store
from evidencerails.settings.operations import StoreSettings

__all__ = ["Store", "StoreSettings"]
