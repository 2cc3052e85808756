"""Settings of the store: where reports are kept, for how long, and with how much of their text."""

from __future__ import annotations

from pydantic import Field

from evidencerails.errors import SettingsError
from evidencerails.report import Redaction
from evidencerails.settings.base import Count, Positive, Section, Share
from evidencerails.settings.environment import variable

DEFAULT_URL = "sqlite:///evidencerails.db"
"""A file in the current directory."""


class SampleRates(Section):
    """Share of answers, by stakes; a kept report stands for 1/rate of them."""

    low: Share = 1.0
    medium: Share = 1.0
    high: Share = 1.0


class StoreSettings(Section):
    """Where reports and reviews are kept; an empty mapping keeps them in a file of the current directory."""

    url: str = Field(default=DEFAULT_URL, repr=False)
    """SQLAlchemy URL of an SQLite file or a PostgreSQL database."""
    url_env: str | None = None
    """Environment variable with that URL, for one that holds a password."""
    redaction: Redaction | None = None
    """What is kept of answer and evidence texts; unset: what `redaction` says."""
    keep_days: Positive | None = 90.0
    """Days until a report is deleted; null keeps all."""
    sample: SampleRates = SampleRates()
    """Share of reports kept, by stakes."""
    queue_size: Count = 10_000
    """Reports that may wait for the writer in memory; more go to the spool at once."""
    spool: str | None = None
    """Folder for reports that the database did not take; unset: beside the SQLite file, or `evidencerails.spool`."""
    spool_max_mb: Positive = 512.0
    """Size of the spool beyond which reports are lost, counted and logged."""
    lock_timeout_s: Positive = 5.0
    """Seconds to wait for another writer's lock."""

    @property
    def address(self) -> str:
        """The URL in force."""
        url = self.url if self.url_env is None else variable(self.url_env)
        if not url:
            raise SettingsError(f"store.url_env: the environment variable {self.url_env!r} is not set; set it to a URL")
        return url
