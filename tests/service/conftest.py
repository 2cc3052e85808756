"""The real service: `evidencerails serve` as a process of its own, spoken to over HTTP."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from commands import evidencerails
from service_process import Service

from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store
from evidencerails.settings.operations import StoreSettings

__all__ = ["evidencerails"]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a service with settings; stopped at the end of the test."""
    running: list[Service] = []

    def start(settings: dict[str, Any] | None = None, *, ready: bool = True, **options: Any) -> Service:
        service = Service(tmp_path / f"service-{len(running)}", settings, **options)
        running.append(service)
        return service.wait_until_ready() if ready else service

    yield start
    for service in running:
        service.stop()


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service on loopback with a store, shared by the tests of a module, whose `SETTINGS` hold as well."""
    folder = tmp_path_factory.mktemp("service")
    settings = {"store": {"url": f"sqlite:///{folder}/reports.db"}, **getattr(request.module, "SETTINGS", {})}
    running = Service(folder, settings).wait_until_ready()
    yield running
    running.stop()


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    """A client of that service."""
    with service.client() as client:
        yield client


@pytest.fixture
def queue(service: Service) -> Iterator[ReviewQueue]:
    """Its review queue, as another process sees it."""
    with Store(StoreSettings(url=f"sqlite:///{service.log.parent}/reports.db")) as store:
        yield ReviewQueue(store)
