"""One stand-in provider for each test; every client talks to it over real HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from evidencerails.testing import ReplayServer


@pytest.fixture
def server() -> Iterator[ReplayServer]:
    """A running server with an empty script."""
    with ReplayServer() as running:
        yield running


@pytest.fixture(autouse=True)
async def _closed_pool() -> AsyncIterator[None]:
    """NeMo keeps its connections in a pool of the process and never closes them itself."""
    yield
    from nemoguardrails.llm.frameworks import get_framework

    # Apps of other tests leave connections of loops that are gone by now; they cannot be closed from this one.
    with contextlib.suppress(RuntimeError):
        await get_framework("default").aclose()
