"""A model behind real HTTP that corrects sentences, and guards that ask it."""

from collections.abc import Callable
from typing import Any

import pytest

from evidencerails import Guard
from evidencerails.testing import ReplayServer


@pytest.fixture
def guard(server: ReplayServer) -> Callable[..., Guard]:
    """Makes a guard; whatever a claim is, it is written again unless the settings say something else."""

    def make(*, model: bool = True, budget: dict[str, int] | None = None, **settings: Any) -> Guard:
        settings.setdefault("checks", ["grounding"])
        settings.setdefault("policies", [{"when": {"kind": "unsupported_claim"}, "then": "regenerate"}])
        if model:
            llm = {"model": "replay", "base_url": server.base_url, "api_key": "none", "max_retries": 0}
            settings["llm"] = {**llm, "budget": budget or {}}
        return Guard(settings)

    return make
