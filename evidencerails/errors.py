"""Every error evidencerails raises.

EvidencerailsError
├── SettingsError          a setting is unknown, malformed or not available in this version
├── InputError             an argument of `check` has a shape that cannot be read
├── PromptError            a prompt template is broken or lacks a variable
├── ModelFileError         a model file is missing, damaged or of another version
├── MissingExtraError      a feature needs an optional package
├── ResponseBlockedError   outside NeMo, a guard set to raise, and a response is blocked; `.report`
├── StoreError             the store cannot be opened, written or read; `.retryable`
├── ReviewError            a review cannot be found, or not be decided or released as asked
│   └── ReviewConflictError   somebody else has decided it first; `.state`, `.reviewer`
├── KnowledgeError         a source of knowledge could not be asked
├── NliError               an NLI backend failed; `.retryable`
└── LlmError               an LLM provider failed; `.retryable`
    ├── LlmTimeoutError    no answer in time
    ├── LlmReplyError      an answer came but is empty or unreadable
    └── BudgetExceededError   the response's budget of calls, tokens or seconds is spent

Inside a rail none of these reaches the app: a check turns them into an `unverified` result with its reason.
"""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class EvidencerailsError(Exception):
    """Base class of every error that evidencerails raises on purpose."""


class SettingsError(EvidencerailsError, ValueError):
    """A setting is unknown, malformed or not available in this version."""


class InputError(EvidencerailsError, TypeError):
    """An argument has a shape that cannot be read."""


class PromptError(EvidencerailsError, ValueError):
    """A prompt template is broken or lacks a variable."""


class ModelFileError(EvidencerailsError):
    """A model file is missing, damaged or of another version."""


EXTRA_OF_MODULE = {
    "fastapi": "service",
    "itsdangerous": "service",
    "opentelemetry": "telemetry",
    "prometheus_client": "service",
    "psycopg": "postgresql",
    "pyarrow": "parquet",
    "python_multipart": "service",
    "scipy": "eval",
    "sklearn": "eval",
    "sqlalchemy": "store",
    "standardwebhooks": "store",
    "starlette": "service",
    "torch": "transformers",
    "transformers": "transformers",
    "uvicorn": "service",
    "vl_convert": "charts",
}
"""The extra that brings each optional package, by the name under which it is imported."""


class MissingExtraError(EvidencerailsError, ImportError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        # The pip of this very environment finds evidencerails installed; any other would look for the name on an index.
        pip = f"{shlex.quote(sys.executable)} -m pip"
        super().__init__(
            f'{feature} needs the package {package!r}; install it with: {pip} install "evidencerails[{extra}]"'
        )
        self.package = package
        self.extra = extra

    @classmethod
    def of(cls, error: ImportError, feature: str) -> MissingExtraError | None:
        """The error for a module that an extra brings; None for any other, whose absence is a bug."""
        module = (error.name or "").partition(".")[0]
        extra = EXTRA_OF_MODULE.get(module)
        return cls(feature, module, extra) if extra else None


@contextmanager
def extra_for(feature: str) -> Iterator[None]:
    """Around imports: a missing package that an extra brings is a `MissingExtraError` that names the feature."""
    try:
        yield
    except ImportError as error:
        missing = MissingExtraError.of(error, feature)
        if missing is None:
            raise
        raise missing from None


class ResponseBlockedError(EvidencerailsError):
    """A response may not be shown; `report` (a `Report`) says why. The message holds no word of answer or evidence."""

    def __init__(self, report: Any) -> None:
        checks = ", ".join(name for name, check in report.checks.items() if check.status == report.status)
        super().__init__(
            f"the response is {report.status} ({checks}): {report.decision} by {report.decided_by}; see `report`"
        )
        self.report = report

    def __reduce__(self) -> tuple[type[ResponseBlockedError], tuple[Any]]:
        return type(self), (self.report,)


class StoreError(EvidencerailsError):
    """The store cannot be opened, written or read; `retryable` says whether another try can help."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class ReviewError(EvidencerailsError):
    """A review cannot be found, or not be decided or released as asked."""


class ReviewConflictError(ReviewError):
    """Somebody else has decided the review first; nothing was changed."""

    def __init__(self, message: str, *, state: str, reviewer: str | None) -> None:
        super().__init__(message)
        self.state = state
        self.reviewer = reviewer


class KnowledgeError(EvidencerailsError):
    """A source of knowledge could not be asked, or its answer cannot be read; the message begins with a code."""


class NliError(EvidencerailsError):
    """An NLI backend failed; the cause is kept."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class LlmError(EvidencerailsError):
    """An LLM provider failed; the cause is kept and `retryable` says whether another try can help."""

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.status = status
        self.retry_after_s = retry_after_s
        """How long the provider asks to wait before another try; None if it does not say."""


class LlmTimeoutError(LlmError):
    """The provider did not answer in time."""


class LlmReplyError(LlmError):
    """The provider answered, but the answer is empty or cannot be read."""


class BudgetExceededError(LlmError):
    """The response's budget of LLM calls, tokens or seconds is spent."""


SAID = "; its own words: "
"""Stands in an error's message before the words of others (a provider, a library): they may quote what was checked."""


DID_YOU_MEAN = "; did you mean "
"""Stands in a finding's reason before what a source of knowledge has instead: words of the source."""


def with_cause(outline: str, words: object) -> str:
    """A message of ours followed by external text (`words`), marked so that it can be redacted."""
    return f"{outline}{SAID}{words}"


def reason_of(error: BaseException) -> str:
    """An error as a reason: its kind and message; of an error that is not ours the message is words of others."""
    kind = type(error).__name__
    return f"{kind}: {error}" if isinstance(error, EvidencerailsError) else with_cause(kind, error)


def redact_external_text(text: str) -> str:
    """What may leave the app, or be logged, of a message or reason."""
    return text.split(SAID)[0].split(DID_YOU_MEAN)[0]


def traceback_summary(error: BaseException) -> str:
    """Type of an error and the frames it came through, for logs: its message may quote an answer or evidence."""
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(
        [type(error).__name__, *(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))]
    )
