"""`evidencerails serve` as a process of its own, and the bodies its tests send."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

START_TIMEOUT_S = 60.0
FACT = "Rhenium melts at 3186 degrees Celsius. It was discovered in 1925."
GOOD = {"response": "Rhenium melts at 3186 degrees Celsius.", "evidence": FACT}
BAD = {"response": "Rhenium melts at 1200 degrees Celsius.", "evidence": FACT}


class Service:
    """One running `evidencerails serve`."""

    def __init__(
        self, folder: Path, settings: dict[str, Any] | None = None, *, environment: dict[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "service.log"
        config = folder / "settings.yml"
        config.write_text(json.dumps({"evidencerails": settings or {}}), encoding="utf-8")
        errors = self.log.open("w", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "evidencerails", "serve", "--config", str(config), "--port", "0"],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        errors.close()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"{line}\n{self.log.read_text(encoding='utf-8')}"
        self.url = found[0]

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, **options)

    def wait_until_ready(self) -> Service:
        deadline = time.monotonic() + START_TIMEOUT_S
        with self.client() as client:
            while time.monotonic() < deadline:
                try:
                    if client.get("/readyz").status_code == 200:
                        return self
                except httpx.TransportError:
                    pass
                time.sleep(0.1)
        raise AssertionError(self.log.read_text(encoding="utf-8"))

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        finally:
            if self.process.stdout is not None:
                self.process.stdout.close()
