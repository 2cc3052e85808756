"""A client that costs little: it shares the machine with the server, and a heavy one would be measured along."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from urllib.parse import urlsplit

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Wire:
    """Connections to one server that are kept open; as many as requests are under way at once."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._address = (parts.hostname, parts.port)
        self._host = parts.netloc
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: dict[str, Any]) -> bytes:
        """The content of the answer, which must have status 200 and a length."""
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        reader, writer = await self._connection()
        writer.write(head.encode() + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = LENGTH.search(answer)
        assert length is not None, answer
        content = await reader.readexactly(int(length[1]))
        assert answer.startswith(b"HTTP/1.1 200 "), answer + content
        self._idle.append((reader, writer))
        return content

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """One that the server has not closed meanwhile, as it does after some seconds without a request."""
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(*self._address)

    async def __aenter__(self) -> Wire:
        return self

    async def __aexit__(self, *_: object) -> None:
        for _reader, writer in self._idle:
            writer.close()
            await writer.wait_closed()
        self._idle.clear()
