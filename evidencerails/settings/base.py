"""The base of all settings, apart from them so that each topic's settings can have a file of their own."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Base of all settings: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


def http_url(value: str | None) -> str | None:
    """The value, if it is unset or an address of HTTP; else a `ValueError` that shows one."""
    if value is not None and not (value.startswith(("http://", "https://")) and urlsplit(value).hostname):
        raise ValueError("expected a URL such as http://localhost:8080")
    return value


def regular_expression(value: str | None) -> str | None:
    """The value, if it is unset or a pattern that compiles; else a `ValueError` that says where it fails."""
    if value is not None:
        import regex

        try:
            regex.compile(value)
        except regex.error as error:
            raise ValueError(f"{value!r} is no regular expression: {error}") from None
    return value
