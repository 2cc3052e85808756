"""Settings of `evidencerails serve`."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from evidencerails.settings.base import Count, Positive, Section

Role = Literal["check", "read", "review", "admin"]
DEFAULT_PORT = 8484


class ApiKey(Section):
    """One API key, by its hash: the key itself stands nowhere."""

    name: str = Field(min_length=1, max_length=64)
    """Who holds it; stands in logs."""
    role: Role
    """`check` may check, `read` may see history and metrics, `review` also decides in the queue, `admin` may all."""
    sha256: str
    """SHA-256 of the key as 64 hexadecimal digits; `evidencerails serve --new-key NAME` makes both."""

    @field_validator("sha256")
    @classmethod
    def _is_a_hash(cls, value: str) -> str:
        if not re.fullmatch(r"[0-9a-f]{64}", value.lower()):
            raise ValueError("expected 64 hexadecimal digits; make a key with: evidencerails serve --new-key NAME")
        return value.lower()


class ServiceSettings(Section):
    """The HTTP service. Without keys it serves this machine alone."""

    host: str = "127.0.0.1"
    """Address to listen at; any but a loopback address needs keys."""
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    """Port to listen at; 0 takes a free one and prints it."""
    keys: tuple[ApiKey, ...] = ()
    """Who may do what."""
    keys_file: str | None = None
    """YAML file with further keys: a list like `keys`."""
    max_body_bytes: int = Field(default=2 * 1024 * 1024, ge=1024)
    """Longest request body."""
    max_items: Count = 100
    """Items of one batch, and passages, samples or messages of one check."""
    max_concurrency: Count = 32
    """Checks at work at once; the model merges their pairs into batches."""
    max_waiting: int = Field(default=96, ge=0)
    """Requests that wait for a place; beyond that the answer is 429 with Retry-After."""
    requests_per_minute: Count = 1200
    """Requests of one key, or of one address where there are no keys; an item of a batch counts as one."""
    client_timeout_s: Positive = 15.0
    """Seconds a client may take to send the head of a request, and again its body."""
    check_timeout_s: Positive = 120.0
    """Seconds one check may take, waiting included; then the answer is 504."""
    drain_s: float = Field(default=30.0, ge=0)
    """Seconds that requests under way may take to end when the service stops."""
