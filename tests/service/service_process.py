"""`evidencerails serve` as a process of its own, and the bodies its tests send."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx

from evidencerails.operations.review.package import Package
from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.service.keys import hash_of

T = TypeVar("T")
FACT = "Rhenium melts at 3186 degrees Celsius. It was discovered in 1925."
GOOD = {"response": "Rhenium melts at 3186 degrees Celsius.", "evidence": FACT}
BAD = {"response": "Rhenium melts at 1200 degrees Celsius.", "evidence": FACT}
KEYS = {role: f"gr_test-key-of-{role}" for role in ("check", "read", "review", "admin")}
KEYED = {"keys": [{"name": role, "role": role, "sha256": hash_of(key)} for role, key in KEYS.items()]}


def until(look: Callable[[], T], timeout_s: float = 60.0) -> T:
    """What `look` gives as soon as it is true: the store writes off the turn, and a service takes its time."""
    end = time.monotonic() + timeout_s
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.05)
    assert found, f"not within {timeout_s} s"
    return found


class Service:
    """One running `evidencerails serve`."""

    def __init__(
        self, folder: Path, settings: dict[str, Any] | None = None, *, environment: dict[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "service.log"
        config = folder / "settings.yml"
        config.write_text(json.dumps({"evidencerails": settings or {}}), encoding="utf-8")
        with self.log.open("w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "evidencerails", "serve", "--config", str(config), "--port", "0"],
                cwd=folder, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"{line}\n{self.log_text}"
        self.url = found[0]

    @property
    def log_text(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, **options)

    def is_ready(self) -> bool:
        try:
            with self.client() as client:
                return client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def wait_until_ready(self) -> "Service":
        until(self.is_ready)
        return self

    def metrics(self) -> str:
        with self.client() as client:
            return client.get("/metrics").text

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        finally:
            if self.process.stdout is not None:
                self.process.stdout.close()


def submitted(queue: ReviewQueue, output: str, **more: Any) -> str:
    """Put an answer into the queue; its id."""
    context = {"question": "Where?", "response": output}
    package = Package(output=output, status="hallucinated", reason="1 contradicted", context=context, **more)
    return queue.submit(package, tier="blocking", risk=0.9, stakes="high", within_s=3600).id
