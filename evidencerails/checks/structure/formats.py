"""The values of the JSON Schema keyword `format` that are checked; others are annotations, as the standard has it."""

from __future__ import annotations

import datetime
import ipaddress
import re
import uuid
from collections.abc import Callable
from urllib.parse import urlsplit

_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
_TIME = re.compile(_CLOCK)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_TIME = re.compile(rf"(\d{{4}}-\d\d-\d\d)[Tt ]{_CLOCK}")
_EMAIL = re.compile(r"[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")


def is_date(text: str) -> bool:
    """A full-date of RFC 3339 that exists."""
    return _DATE.fullmatch(text) is not None and _reads(datetime.date.fromisoformat, text)


def is_date_time(text: str) -> bool:
    """A date-time of RFC 3339 on a day that exists."""
    found = _DATE_TIME.fullmatch(text)
    return found is not None and is_date(found[1])


def is_uri(text: str) -> bool:
    """A URI with a scheme (RFC 3986)."""
    return _URI.fullmatch(text) is not None and _reads(urlsplit, text)


def _reads(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": is_date,
    "date-time": is_date_time,
    "time": lambda text: _TIME.fullmatch(text) is not None,
    "email": lambda text: len(text) <= 320 and _EMAIL.fullmatch(text) is not None,
    "ipv4": lambda text: _reads(ipaddress.IPv4Address, text),
    "ipv6": lambda text: _reads(ipaddress.IPv6Address, text),
    "uri": is_uri,
    "uuid": lambda text: _UUID.fullmatch(text) is not None and _reads(uuid.UUID, text),
}
