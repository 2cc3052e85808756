"""Real `LLMRails` over real HTTP: the model behind every app is a `ReplayServer`, the NLI model the embedded one."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nemo_apps import app_yaml, make_app
from parsed_once import colang_is_parsed_once

from evidencerails.testing import ReplayServer

__all__ = ["colang_is_parsed_once"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One event loop for all tests of this folder: the apps are shared, and NeMo's connections belong to a loop."""
    for item in items:
        if item.path.parent == Path(__file__).parent and inspect.iscoroutinefunction(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session")
def _server() -> Iterator[ReplayServer]:
    with ReplayServer() as server:
        yield server


@pytest.fixture
def server(_server: ReplayServer) -> ReplayServer:
    """The model's server, with an empty script."""
    _server.reset()
    return _server


@pytest.fixture(autouse=True)
def _key(_empty_directory: None, colang_is_parsed_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")  # NeMo looks for it when a config is read


_apps: dict[tuple[str, str], Any] = {}


@pytest.fixture
def app(server: ReplayServer) -> Callable[..., Any]:
    """Apps by their config, made once: an `LLMRails` takes a second to make, and keeps nothing of a turn."""

    def get(yaml: str = "", colang: str = "", **options: str) -> Any:
        text = app_yaml(server.base_url, yaml, **options)
        if (text, colang) not in _apps:
            _apps[text, colang] = make_app(text, colang)
        return _apps[text, colang]

    return get
