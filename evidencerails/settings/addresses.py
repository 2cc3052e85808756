"""Where a request may go whose address stands in the settings: to public addresses, unless the settings allow others.

The name is resolved here and the request goes to the address that was checked, so that a name that resolves differently
the second time ("DNS rebinding") leads nowhere.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.errors import EvidencerailsError

if TYPE_CHECKING:
    import httpx

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class AddressError(EvidencerailsError):
    """A request may not go to its address, or the name has none."""


class Target(NamedTuple):
    """What httpx needs to call the checked address under its name: `client.post(url, headers=..., extensions=...)`."""

    url: httpx.URL
    headers: dict[str, str]
    extensions: dict[str, Any]


def checked_target(url: str, *, allow_private: bool) -> Target:
    """The address to call for a URL. Blocking: it asks the resolver. `AddressError`: the URL has no host or holds a
    user name, the name cannot be resolved, or one of its addresses is not public."""
    import httpx

    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise AddressError(f"the URL cannot be read: {error}") from None
    if parsed.scheme not in ("https", "http") or not parsed.host or parsed.userinfo:
        raise AddressError("expected a URL like https://host/path, without a user name in it")
    port = parsed.port or (443 if parsed.scheme == "https" else 80)
    addresses = _resolved(parsed.host, port)
    refused = [ip for ip in addresses if not allow_private and not is_public(ip)]
    if refused:
        raise AddressError(
            f"the host {parsed.host!r} has the address {refused[0]}, which is not public; "
            "set allow_private: true if that is meant"
        )
    extensions = {"sni_hostname": parsed.host} if parsed.scheme == "https" else {}
    return Target(parsed.copy_with(host=addresses[0]), {"Host": parsed.netloc.decode("ascii")}, extensions)


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


def _resolved(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressError(f"the host {host!r} cannot be resolved: {error}") from None
    return list(dict.fromkeys(str(item[4][0]).partition("%")[0] for item in found))
