"""Settings of the NLI model."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from evidencerails.settings.base import Section, http_url


class NliSettings(Section):
    """Which NLI model scores the pairs, and how it is run."""

    backend: Literal["embedded", "transformers", "remote"] = "embedded"
    """The model inside the wheel, a Hugging Face one (extra `transformers`), or a server."""
    model: str | None = None
    """Hugging Face id or local path (backend `transformers`)."""
    url: str | None = None
    """Base URL of a text-embeddings-inference server (backend `remote`)."""
    api_key_env: str | None = None
    """Environment variable with the key of that server."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Seconds to wait for that server."""
    threads: int | None = Field(default=None, ge=1)
    """Threads of the embedded model; None lets it use the processors the process may run on."""
    batch_size: int = Field(default=32, ge=1)
    """Pairs scored at once; pairs of concurrent requests share a batch."""
    languages: tuple[str, ...] = ("en",)
    """ISO 639-1 codes the backend knows; `("*",)` for a multilingual model. Text in others is unverified."""

    @field_validator("url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        return http_url(value)

    @model_validator(mode="after")
    def _backend_has_its_address(self) -> NliSettings:
        needed = {"transformers": "model", "remote": "url"}.get(self.backend)
        if needed and getattr(self, needed) is None:
            raise ValueError(f"backend {self.backend!r} needs the key {needed!r}")
        return self
