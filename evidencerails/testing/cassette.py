"""Recorded conversations with a provider, in one readable JSON file without any header or key."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from evidencerails.testing.script import ReplayRequest, Reply

CASSETTE_VERSION = 1
RECORD_TIMEOUT_S = 120.0


class Cassette:
    """Requests and their answers, in the order they were recorded.

    A request is answered by the first recording of an equal body that was not played yet; when all were played, the
    last of them plays again.
    """

    def __init__(self, tracks: list[dict[str, Any]] | None = None) -> None:
        self.tracks = tracks or []
        self._played: set[int] = set()
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: str | Path) -> Cassette:
        """A cassette from its file.

        Raises:
            ValueError: the file is no cassette of this version.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            version, tracks = data["version"], list(data["tracks"])
            complete = all({"path", "request", "status", "body"} <= track.keys() for track in tracks)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{str(path)!r} is no cassette: {error}") from error
        if version != CASSETTE_VERSION or not complete:
            raise ValueError(f"{str(path)!r} is no complete cassette of version {CASSETTE_VERSION}; record it again")
        return cls(tracks)

    def save(self, path: str | Path) -> None:
        """Write all tracks to a file."""
        with self._lock:
            data = {"version": CASSETTE_VERSION, "tracks": self.tracks}
        Path(path).write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def answer(self, request: ReplayRequest) -> Reply | None:
        """The recorded reply to an equal request; None if there is none."""
        with self._lock:
            equal = [i for i, t in enumerate(self.tracks) if t["request"] == request.body and _same(t, request)]
            if not equal:
                return None
            place = next((i for i in equal if i not in self._played), equal[-1])
            self._played.add(place)
            return _reply(self.tracks[place])

    def record(self, request: ReplayRequest, base_url: str) -> Reply:
        """Pass a request on to the provider, with its own key, and keep the answer."""
        import httpx

        names = ("authorization", "api-key", "content-type")
        headers = {name: request.headers[name] for name in names if name in request.headers}
        route = request.path.partition("/v1")[2] or request.path
        answer = httpx.post(base_url.rstrip("/") + route, json=request.body, headers=headers, timeout=RECORD_TIMEOUT_S)
        track = {
            "path": request.path,
            "request": request.body,
            "status": answer.status_code,
            "content_type": answer.headers.get("content-type", "application/json"),
            "body": answer.text,
        }
        with self._lock:
            self._played.add(len(self.tracks))
            self.tracks.append(track)
        return _reply(track)


def _same(track: dict[str, Any], request: ReplayRequest) -> bool:
    return bool(track["path"].rsplit("/v1", 1)[-1] == request.path.rsplit("/v1", 1)[-1])


def _reply(track: dict[str, Any]) -> Reply:
    return Reply(status=track["status"], raw=track["body"], content_type=track.get("content_type", "application/json"))
