"""Guards with the check `claims` over the embedded model, and a model behind real HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from evidencerails import Guard
from evidencerails.testing import ReplayServer


@pytest.fixture
def guard(server: ReplayServer) -> Callable[..., Guard]:
    """Makes a guard: `guard(classifier="llm")`; a model is named in the settings if any part asks for one, and asked
    about claims up to the score `high`."""

    def make(
        *, checks: tuple[str, ...] = ("claims",), model: bool | None = None, high: float | None = None, **claims: Any
    ) -> Guard:
        settings: dict[str, Any] = {"checks": list(checks), "claims": claims}
        if high is not None:
            settings["scoring"] = {"cascade": {"high": high}}
        if model or (model is None and "llm" in claims.values()):
            settings["llm"] = {"model": "replay", "base_url": server.base_url, "api_key": "none", "max_retries": 0}
        return Guard(settings)

    return make
