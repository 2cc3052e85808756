"""Where a webhook may go: to public addresses, unless the settings allow others; and to none but the one that was
looked at, so that a name that resolves differently the second time ("DNS rebinding") gets nowhere."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from evidencerails.errors import EvidencerailsError


class AddressError(EvidencerailsError):
    """A webhook may not go to its address, or the name has none."""


class Target(NamedTuple):
    """One address to call."""

    ip: str
    host: str
    """The name in the URL: for the `Host` header and the certificate."""
    port: int
    is_encrypted: bool
    path: str

    @property
    def url(self) -> str:
        """The URL with the address in the place of the name."""
        host = f"[{self.ip}]" if ":" in self.ip else self.ip
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{self.port}{self.path}"

    @property
    def host_header(self) -> str:
        """The `Host` header."""
        is_default = self.port == (443 if self.is_encrypted else 80)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if is_default else f"{host}:{self.port}"


def target_of(url: str, *, allow_private: bool) -> Target:
    """The address of a URL. Blocking: it asks the resolver.

    Raises:
        AddressError: the URL has no host, the name cannot be resolved, or any of its addresses is not public.
    """
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        raise AddressError(f"the webhook {parts.hostname!r} has a port that is no number") from None
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.username is not None:
        raise AddressError("a webhook needs a URL like https://host/path, without a user name in it")
    is_encrypted = parts.scheme == "https"
    port = port or (443 if is_encrypted else 80)
    addresses = _resolved(parts.hostname, port)
    refused = [ip for ip in addresses if not allow_private and not is_public(ip)]
    if refused:
        raise AddressError(
            f"the webhook's host {parts.hostname!r} has the address {refused[0]}, which is not public; "
            "set allow_private: true if that is meant"
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(addresses[0], parts.hostname, port, is_encrypted, path)


def is_public(ip: str) -> bool:
    """False for loopback, private, link-local (cloud metadata), shared, reserved and multicast addresses, also where
    an IPv6 address wraps an IPv4 one."""
    address = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return address.is_global and not address.is_multicast and not address.is_reserved and not address.is_unspecified


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def _resolved(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressError(f"the webhook's host {host!r} cannot be resolved: {error}") from None
    return list(dict.fromkeys(str(item[4][0]) for item in found))
