"""Keeps reports: written off the turn, read by service, monitor and people. Needs the extra `store`.

`Store` writes; `groundrails.store.queries` reads from `Store.engine`.
"""

from groundrails.settings.store import StoreSettings
from groundrails.store.store import Store

__all__ = ["Store", "StoreSettings"]
