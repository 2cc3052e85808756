"""Stand-ins for tests and demos that real clients talk to over real HTTP."""

from __future__ import annotations

from groundrails.testing.http_server import UNSCRIPTED_STATUS
from groundrails.testing.replay_server import ReplayServer
from groundrails.testing.script import ReplayRequest

__all__ = ["UNSCRIPTED_STATUS", "ReplayRequest", "ReplayServer"]
