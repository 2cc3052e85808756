"""One stand-in provider for each test; every client talks to it over real HTTP."""

from collections.abc import AsyncIterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def _pool() -> Any:
    """NeMo keeps its connections in a pool of the process; these tests have one of their own, as they close it: the
    apps of other tests hold clients of the usual one."""
    from nemoguardrails.llm.frameworks import register_framework
    from nemoguardrails.llm.frameworks.default import DefaultFramework

    own = DefaultFramework()
    register_framework("closed after each test", own)
    return own


@pytest.fixture(autouse=True)
async def _closed_pool(_pool: Any) -> AsyncIterator[None]:
    from nemoguardrails.llm.frameworks import get_default_framework, set_default_framework

    usual = get_default_framework()
    set_default_framework("closed after each test")
    yield
    set_default_framework(usual)
    await _pool.aclose()
