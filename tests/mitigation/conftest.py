"""A model behind real HTTP that corrects sentences, and guards that ask it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from groundrails import Guard
from groundrails.testing import ReplayServer

EVIDENCE = (
    "The Halden bridge opened in 1932. It is 412 metres long. It was designed by Ove Lund, an engineer from Oslo. "
    "Tolls were abolished in 1974."
)
QUESTION = "What do you know about the Halden bridge?"
RESPONSE = "The Halden bridge was designed by Ove Lund. It opened in 1911. It is 412 metres long."
REPAIRED = "The Halden bridge was designed by Ove Lund. It opened in 1932. It is 412 metres long."
REWRITE_PROMPT = "You correct single sentences"


@pytest.fixture
def server() -> Iterator[ReplayServer]:
    with ReplayServer() as server:
        yield server


@pytest.fixture
def guard(server: ReplayServer) -> Callable[..., Guard]:
    """Makes a guard; whatever a claim is, it is written again unless the settings say something else."""

    def make(*, model: bool = True, **settings: Any) -> Guard:
        settings.setdefault("checks", ["grounding"])
        settings.setdefault("policies", [{"when": {"kind": "unsupported_claim"}, "then": "regenerate"}])
        if model:
            settings["llm"] = {"model": "replay", "base_url": server.base_url, "api_key": "none", "max_retries": 0}
        return Guard(settings)

    return make


def rewrites(*texts: str) -> str:
    """A reply of a model that writes these sentences in the places of the flagged ones."""
    return json.dumps({"sentences": [{"number": n, "text": text} for n, text in enumerate(texts, start=1)]})
