"""Source of kind `http`: an endpoint that is asked about one value at a time.

The address comes from the settings, and the value is percent-encoded into it, so an answer of a model cannot send the
request elsewhere. Redirects and proxies of the environment are not followed.
"""

from __future__ import annotations

import ipaddress
import json
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from evidencerails.checks.knowledge.base import Answer, Lookup, SettingsSource, folded, nearest_of, plain, same, shown
from evidencerails.errors import KnowledgeError, SettingsError
from evidencerails.settings.addresses import checked_target, is_public
from evidencerails.settings.environment import variable
from evidencerails.settings.knowledge import SourceSettings
from evidencerails.version import __version__

if TYPE_CHECKING:
    import ssl

MAX_ANSWER_BYTES = 1_000_000
USER_AGENT = f"evidencerails/{__version__}"
"""Public services such as Wikidata refuse programs that do not say who they are."""


class HttpSource(SettingsSource):
    """An endpoint that says by its answer whether a value exists.

    Status 200 is an answer: it is there unless what `results` leads to is empty (`[]`, `{}`, `""`, `null`, `false`);
    with `field`, one of the matches must be the value itself. A status in `missing_status` means it is not there. All
    else is no answer.

    Raises:
        SettingsError: the URL is no http(s) address, or private without `allow_private`; the key is not set.
    """

    def __init__(self, name: str, settings: SourceSettings) -> None:
        super().__init__(name, settings)
        self._tls: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self._headers = {"Accept": "application/json", "User-Agent": USER_AGENT, **_authorization(name, settings)}
        self._check_address()

    def _check_address(self) -> None:
        parts = urlsplit(self._settings.secret_url.replace("{value}", "x"))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SettingsError(f"source {self.name!r}: the url must begin with http:// or https:// and a host")
        if "{value}" in urlsplit(self._settings.secret_url).netloc:
            raise SettingsError(f"source {self.name!r}: '{{value}}' must not be in the host of the url")
        if not self._settings.allow_private and _is_private_literal(parts.hostname):
            raise SettingsError(
                f"source {self.name!r}: {parts.hostname} is a private address; set allow_private: true if that is meant"
            )

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`."""
        status, body = await self._in_thread(lambda: self._ask(lookup.text))
        if status in self._settings.missing_status:
            return Answer(False)
        if status != 200:
            raise KnowledgeError(f"bad_status: {status}")
        return self._read(_parsed(body), lookup)

    def _ask(self, value: str) -> tuple[int, bytes]:
        import httpx

        url = self._settings.secret_url
        if value in (".", "..") and "{value}" in urlsplit(url).path:
            raise KnowledgeError("bad_value: it would leave the path of the address")
        with self._lock:
            self._tls = self._tls or httpx.create_ssl_context()
        target = checked_target(
            url.replace("{value}", quote(value, safe="")), allow_private=self._settings.allow_private
        )
        headers = {**self._headers, **target.headers}
        with (
            httpx.Client(
                timeout=self._settings.timeout_s, follow_redirects=False, trust_env=False, verify=self._tls
            ) as client,
            client.stream("GET", target.url, headers=headers, extensions=target.extensions) as response,
        ):
            body = b""
            for piece in response.iter_bytes():
                body += piece
                if len(body) > MAX_ANSWER_BYTES:
                    raise KnowledgeError("bad_answer: over 1 MB")
            return response.status_code, body

    def _read(self, data: Any, lookup: Lookup) -> Answer:
        if self._settings.results:
            data = _inside(data, self._settings.results, "it")
        matches = data if isinstance(data, list) else [data] if data else []
        if self._settings.field is None:
            return Answer(bool(matches), shown(matches[0]) if matches and not isinstance(matches[0], bool) else "")
        values = [plain(_inside(match, self._settings.field, "a match")) for match in matches]
        place = next((n for n, value in enumerate(values) if same(value, lookup)), None)
        if place is None:
            return Answer(False, near=nearest_of(lookup.text, (value for value in values if folded(value))))
        return Answer(True, shown(matches[place]))


def _inside(data: Any, path: str, what: str) -> Any:
    for key in path.split("."):
        if not isinstance(data, dict) or key not in data:
            raise KnowledgeError(f"bad_answer: {what} has no {path!r}")
        data = data[key]
    return data


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise KnowledgeError(f"bad_answer: not JSON: {error}") from None


def _authorization(name: str, settings: SourceSettings) -> dict[str, str]:
    if settings.api_key_env is None:
        return {}
    key = variable(settings.api_key_env)
    if not key:
        raise SettingsError(f"source {name!r}: api_key_env names {settings.api_key_env!r}, which is not set")
    return {"Authorization": f"Bearer {key}"}


def _is_private_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return not is_public(host)
