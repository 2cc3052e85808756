"""A context with real parts for each test."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from scoring_tools import MakeContext, Row, TableNli

from evidencerails.checks.base import CheckContext
from evidencerails.config import GuardConfig
from evidencerails.exchange import Message
from evidencerails.llm.cache import cache_from_settings
from evidencerails.llm.prompts import PromptLibrary
from evidencerails.llm.sampling import Sampler
from evidencerails.llm.session import LlmSession, client_from_settings
from evidencerails.nli.service import ExchangeNli, NliService
from evidencerails.testing import ReplayServer


@pytest.fixture
def make_context() -> Iterator[MakeContext]:
    """Makes a context: `rows` is what the NLI model knows, `server` answers for the LLM, the rest are settings."""
    services: list[NliService] = []

    def make(
        rows: Mapping[tuple[str, str], Row] | None = None,
        server: ReplayServer | None = None,
        prompt: str = "",
        nli_languages: tuple[str, ...] = ("*",),
        **settings: Any,
    ) -> CheckContext:
        endpoint = {"base_url": server.base_url, "model": "replay", "max_retries": 0} if server else {}
        config = GuardConfig.load({**settings, "llm": {**endpoint, **settings.get("llm", {})}})
        session = LlmSession.of(client_from_settings(config.llm), config.llm)
        services.append(NliService(TableNli(rows or {}, nli_languages)))
        messages = (Message(role="user", content=prompt),) if prompt else ()
        return CheckContext(
            config=config,
            nli=ExchangeNli(services[-1]),
            prompts=PromptLibrary.load(),
            llm=session,
            sampler=Sampler(session, messages, config.consistency),
            cache=cache_from_settings(config.llm.cache),
        )

    yield make
    for service in services:
        service.close()
