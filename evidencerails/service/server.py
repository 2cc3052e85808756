"""Running the service: where it may listen, how long it waits for slow clients, and how it stops."""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
from typing import TYPE_CHECKING, Any

from evidencerails.errors import SettingsError, extra_for
from evidencerails.operations.telemetry.emit import exporting
from evidencerails.operations.telemetry.logs import log_to_stderr
from evidencerails.service.keys import keys_of

if TYPE_CHECKING:
    import uvicorn

    from evidencerails.guard import Guard
    from evidencerails.settings.operations import ServiceSettings

LISTEN_BACKLOG = 2048
MAX_HEADER_BYTES = 64 * 1024
"""Of a request that has not reached its body; more is answered with 400."""


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def require_keys(settings: ServiceSettings) -> None:
    """Refuse to serve other machines without API keys."""
    if not is_loopback(settings.host) and not keys_of(settings):
        raise SettingsError(
            f"service.host is {settings.host!r}, which other machines can reach, and there are no API keys; make one "
            "with `evidencerails serve --new-key NAME --role check` and put it under service.keys, or listen at "
            "127.0.0.1"
        )


def serve(guard: Guard) -> None:
    """Serve until SIGINT or SIGTERM; then finish what is under way, at most `drain_s` seconds."""
    settings = guard.config.service
    require_keys(settings)
    server = _server(guard)
    bound = _bound(settings)
    log_to_stderr(guard.config.telemetry.log_format)
    with bound, exporting():
        bound.listen(LISTEN_BACKLOG)  # before the line below: whoever waits for it connects at once
        host, port = bound.getsockname()[:2]
        for signum in (signal.SIGINT, signal.SIGTERM):
            # uvicorn stops at its own handlers and then raises the signal again for those it found: without ours the
            # process would end by the signal although it stopped in good order.
            signal.signal(signum, lambda *_: setattr(server, "should_exit", True))
        print(f"evidencerails: serving at http://{f'[{host}]' if ':' in host else host}:{port}", flush=True)
        server.run(sockets=[bound])


def _server(guard: Guard) -> uvicorn.Server:
    with extra_for("the service"):
        import uvicorn
    from evidencerails.service.app import create_app

    settings = guard.config.service
    config = uvicorn.Config(
        create_app(guard),
        http=_protocol(settings.client_timeout_s),
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,  # anybody could send them
        timeout_graceful_shutdown=max(1, round(settings.drain_s)),
        backlog=LISTEN_BACKLOG,
    )
    return uvicorn.Server(config)


def _bound(settings: ServiceSettings) -> socket.socket:
    """A listening socket; bound before anything else so that a taken port is one line, not a trace."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"cannot listen at {settings.host}:{settings.port}: {error.strerror}; choose another with --port"
        ) from None
    return listener


def _protocol(header_timeout_s: float) -> Any:
    """uvicorn's HTTP/1.1, which also closes a connection whose request does not come, or whose head does not end."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class TimedProtocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._timer = self.loop.call_later(header_timeout_s, self._give_up)

        def data_received(self, data: bytes) -> None:
            if self._timer is None and self._is_idle():
                self._timer = self.loop.call_later(header_timeout_s, self._give_up)
            super().data_received(data)
            if not self._is_idle():
                self._stop()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _should_upgrade(self) -> bool:  # Java's client asks in every request; uvicorn would warn in each
            return False

        def _is_idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            self._timer = None
            if self._is_idle() and not self.transport.is_closing():
                self.transport.close()

    return TimedProtocol
