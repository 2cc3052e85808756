"""One server with a stub in the place of its NLI model; run by service.py, once in each environment.

    python benchmarks/service_stubs.py evidencerails|chaincheck WAIT_S

Both stubs take WAIT_S seconds a call and find every claim supported, so that what differs is the server around them.
ChainCheck takes claims apart by its own offline splitter, its limit of 60 requests a minute is off, and it keeps its
history as it always does. Prints the address, then serves.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

ENTAILED = 0.98, 0.01, 0.01


def serve_evidencerails(wait_s: float) -> None:
    """Our service, with a store as ChainCheck has one."""
    import numpy as np

    from evidencerails import Guard
    from evidencerails.service.server import serve

    class Stub:
        name, version, max_tokens = "stub", "1", 512
        languages: tuple[str, ...] = ("en",)

        def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
            time.sleep(wait_s)
            return np.array([ENTAILED] * len(pairs), np.float32).reshape(-1, 3)

        def token_offsets(self, text: str) -> list[tuple[int, int]]:
            return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]

    service = {"port": 0, "max_concurrency": 64}
    serve(Guard({"checks": ["grounding"], "store": {"url": "sqlite:///reports.db"}, "service": service}, nli=Stub()))


def serve_chaincheck(wait_s: float) -> None:
    """ChainCheck's service."""
    os.environ["CACHE_PATH"] = os.path.join(os.getcwd(), "cache")
    import numpy as np
    import uvicorn
    from chaincheck import detect, server
    from chaincheck.methods import consistency, nli

    class Stub:
        def predict(self, pairs: Any, **_: Any) -> Any:
            time.sleep(wait_s)
            return np.array([(0.01, 0.98, 0.01)] * len(list(pairs)))

    async def split(response: str, *_: Any, **__: Any) -> list[str]:
        return [part.strip() for part in re.split(r"(?<=[.!?])\s+", response) if part.strip()]

    nli._model, nli._label_map = Stub(), {0: "contradicted", 1: "supported", 2: "unknown"}
    consistency._get_embed_model = lambda: None  # loaded at its start, never used here
    sys.modules["chaincheck.detect"].decompose = split  # type: ignore[attr-defined]
    assert detect is not None
    server.limiter.enabled = False
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        print(f"serving at http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        config = uvicorn.Config(server.app, log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    {"evidencerails": serve_evidencerails, "chaincheck": serve_chaincheck}[sys.argv[1]](float(sys.argv[2]))
