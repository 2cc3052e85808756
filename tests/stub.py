"""An HTTP server of the test's own: it keeps the requests and answers as the test says."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Received(NamedTuple):
    path: str
    body: bytes
    headers: dict[str, str]


class Stub:
    """A running server.

    Args:
        answer: status and body for a request; of a redirect the body is the address.
    """

    def __init__(self, answer: Callable[[Received], tuple[int, str]]) -> None:
        self.requests: list[Received] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                request = Received(self.path, body, dict(self.headers))
                stub.requests.append(request)
                status, text = answer(request)
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", text)
                self.end_headers()
                self.wfile.write(text.encode())

            do_POST = do_GET

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def serving(answer: Callable[[Received], tuple[int, str]]) -> Iterator[Stub]:
    """A server that ends with the block."""
    stub = Stub(answer)
    thread = threading.Thread(target=stub.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.server.shutdown()
        stub.server.server_close()
        thread.join()
