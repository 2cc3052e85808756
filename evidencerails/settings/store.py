"""Settings of the store: where reports are kept, for how long, and with how much of their text."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from evidencerails.report import Redaction
from evidencerails.settings.base import Section
from evidencerails.settings.environment import variable

DEFAULT_URL = "sqlite:///evidencerails.db"
"""A file in the current directory."""


class SampleRates(Section):
    """Share of answers, by stakes; a kept report stands for 1/rate of them."""

    low: float = Field(default=1.0, ge=0.0, le=1.0)
    medium: float = Field(default=1.0, ge=0.0, le=1.0)
    high: float = Field(default=1.0, ge=0.0, le=1.0)


class StoreSettings(Section):
    """Where reports and reviews are kept; an empty mapping keeps them in a file of the current directory."""

    url: str = Field(default=DEFAULT_URL, repr=False)
    """SQLAlchemy URL of an SQLite file or a PostgreSQL database."""
    url_env: str | None = None
    """Environment variable with that URL, for one that holds a password."""
    redaction: Redaction | None = None
    """What is kept of answer and evidence texts; unset: what `redaction` says."""
    keep_days: float | None = Field(default=90.0, gt=0)
    """Days until a report is deleted; null keeps all."""
    sample: SampleRates = SampleRates()
    """Share of reports kept, by stakes."""
    queue_size: int = Field(default=10_000, ge=1)
    """Reports that may wait for the writer in memory; more go to the spool at once."""
    spool: str | None = None
    """Folder for reports that the database did not take; unset: beside the SQLite file, or `evidencerails.spool`."""
    spool_max_mb: float = Field(default=512.0, gt=0)
    """Size of the spool beyond which reports are lost, counted and logged."""
    lock_timeout_s: float = Field(default=5.0, gt=0)
    """Seconds to wait for another writer's lock."""
    retry_s: float = Field(default=5.0, gt=0)
    """Seconds between tries to write again once the database has failed."""

    @field_validator("redaction", mode="before")
    @classmethod
    def _yaml_off_is_a_word(cls, value: Any) -> Any:
        return "off" if value is False else value  # YAML 1.1 reads a bare `off` as false

    @property
    def address(self) -> str:
        """The URL in force.

        Raises:
            SettingsError: the variable of `url_env` is not set.
        """
        if self.url_env is None:
            return self.url
        url = variable(self.url_env)
        if not url:
            from evidencerails.errors import SettingsError

            raise SettingsError(f"store.url_env: the environment variable {self.url_env!r} is not set; set it to a URL")
        return url
