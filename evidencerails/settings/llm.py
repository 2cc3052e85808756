"""Settings of the models: those that draw samples and judge, and the NLI model."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from evidencerails.settings.base import Count, HttpUrl, Positive, Section


class BudgetSettings(Section):
    """Upper bounds of the LLM work for one response."""

    calls: int = Field(default=40, ge=0)
    """Maximum requests."""
    tokens: int = Field(default=100_000, ge=0)
    """Maximum tokens, prompt and completion together."""
    seconds: Positive = 60.0
    """Maximum seconds of waiting."""


class LlmEndpoint(Section):
    """One OpenAI-compatible model."""

    model: str | None = None
    """Name of the model; without it and `base_url` there is no model outside NeMo."""
    base_url: HttpUrl | None = None
    """Base URL of an OpenAI-compatible API."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable with the key."""
    api_key: SecretStr | None = None
    """The key itself; never printed."""
    timeout_s: Positive = 30.0
    """Seconds to wait for a reply."""


class CacheSettings(Section):
    """Where replies of judges are kept, so that the same question is not paid for twice."""

    backend: Literal["off", "memory", "disk"] = "memory"
    """No cache, one in the process, or one in a file."""
    path: str | None = None
    """File of the backend `disk`; created if missing."""
    ttl_s: Positive = 86_400.0
    """Seconds until an entry expires."""

    @model_validator(mode="after")
    def _disk_has_its_file(self) -> CacheSettings:
        if self.backend == "disk" and not self.path:
            raise ValueError("backend 'disk' needs the key 'path'")
        return self


class LlmSettings(LlmEndpoint):
    """The model that draws samples and judges outside NeMo, and the limits that hold everywhere."""

    judge: LlmEndpoint | None = None
    """A separate model for judging; the main one if unset."""
    max_retries: int = Field(default=2, ge=0)
    """Retries after a temporary error (timeout, 429, 5xx)."""
    max_concurrency: Count = 8
    """Concurrent requests for one response."""
    budget: BudgetSettings = BudgetSettings()
    cache: CacheSettings = CacheSettings()


class NliSettings(Section):
    """Which NLI model scores the pairs, and how it is run."""

    backend: Literal["embedded", "transformers", "remote"] = "embedded"
    """The model in the wheel, a Hugging Face model (extra `transformers`), or a server."""
    model: str | None = None
    """Hugging Face id or local path (backend `transformers`)."""
    url: HttpUrl | None = None
    """Base URL of a text-embeddings-inference server (backend `remote`)."""
    api_key_env: str | None = None
    """Environment variable with the server's key."""
    timeout_s: Positive = 30.0
    """Seconds to wait for the server."""
    threads: Count | None = None
    """Threads of the embedded model; unset: all processors available to the process."""
    batch_size: Count = 32
    """Pairs per batch; concurrent requests share batches."""
    languages: tuple[str, ...] = ("en",)
    """ISO 639-1 codes that the backend supports; `["*"]` for a multilingual model. Text in other languages is
    unverified."""

    @field_validator("languages")
    @classmethod
    def _reads_a_language(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("no text could be read; name at least one code such as 'en', or '*' for any language")
        return value

    @model_validator(mode="after")
    def _backend_has_its_address(self) -> NliSettings:
        for backend, key in (("transformers", "model"), ("remote", "url")):
            if self.backend == backend and getattr(self, key) is None:
                raise ValueError(f"backend {backend!r} needs the key {key!r}")
            if self.backend != backend and getattr(self, key) is not None:
                raise ValueError(
                    f"backend {self.backend!r} does not read the key {key!r}; set 'backend: {backend}', or leave it out"
                )
        return self
