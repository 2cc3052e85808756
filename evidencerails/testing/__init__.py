"""Stand-ins for tests and demos that real clients talk to over real HTTP."""

from __future__ import annotations

from evidencerails.testing.http_server import UNSCRIPTED_STATUS
from evidencerails.testing.replay_server import ReplayServer
from evidencerails.testing.script import ReplayRequest

__all__ = ["UNSCRIPTED_STATUS", "ReplayRequest", "ReplayServer"]
