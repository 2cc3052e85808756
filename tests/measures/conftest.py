"""A context with real parts for each test."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from scoring_tools import MakeContext, Row, TableNli

from evidencerails import Exchange, Guard
from evidencerails.checks.base import CheckContext
from evidencerails.testing import ReplayServer


@pytest.fixture
def make_context() -> Iterator[MakeContext]:
    """Makes a guard's context: `rows` is what its NLI model knows, `server` answers for its LLM; the rest: settings."""
    guards: list[Guard] = []

    def make(
        rows: Mapping[tuple[str, str], Row] | None = None,
        server: ReplayServer | None = None,
        prompt: str | None = None,
        nli_languages: tuple[str, ...] = ("*",),
        **settings: Any,
    ) -> CheckContext:
        if server:
            endpoint = {"base_url": server.base_url, "model": "replay", "api_key": "none", "max_retries": 0}
            settings["llm"] = {**endpoint, **settings.get("llm", {})}
        guards.append(Guard(settings, nli=TableNli(rows or {}, nli_languages)))
        return guards[-1].context(Exchange.of("", prompt=prompt))[0]

    yield make
    for guard in guards:
        guard.close()
