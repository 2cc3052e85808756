"""The one boundary where providers' errors become ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from evidencerails.errors import LlmError, LlmReplyError, LlmTimeoutError, with_cause

RETRYABLE_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_NOT_ABOUT_THE_REQUEST = frozenset({401, 408, 409, 425, 429})
"""Client errors about the key or the moment; no other request would fare better. Gateways say 403 ("not in your plan")
and 404 ("no endpoint supports these parameters") of a request's parameters, too."""
MAX_MESSAGE_CHARS = 300
_SECRET = re.compile(r"(sk-|nvapi-|AIza|bearer\s+)[\w\-.*]+", re.IGNORECASE)
# Names instead of classes: the SDKs of OpenAI, Anthropic and NVIDIA share them, and none has to be imported here.
_TIMEOUTS = frozenset({"TimeoutError", "APITimeoutError", "TimeoutException", "LLMTimeoutError", "ReadTimeout"})
_CONNECTION = frozenset({"APIConnectionError", "TransportError", "LLMConnectionError", "ConnectionError"})
_UNREADABLE = frozenset({"JSONDecodeError", "APIResponseValidationError", "LLMResponseValidationError"})


def as_llm_error(error: BaseException, model: str) -> LlmError:
    """A provider's error as ours, with the original as its cause.

    The message names the model, the kind of error and what the provider said, without keys.
    """
    if isinstance(error, LlmError):
        return error
    root = _telling(error)
    status = status_of(root)
    shown_status = f", status {status}" if status is not None else ""
    message = with_cause(f"model {model!r} failed: {type(root).__name__}{shown_status}", _cleaned(str(root)))
    ours = _classified(root, message, status)
    ours.retry_after_s = _retry_after(root)
    ours.__cause__ = error
    return ours


def _classified(error: BaseException, message: str, status: int | None) -> LlmError:
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & _TIMEOUTS or status == 408:
        return LlmTimeoutError(message, retryable=True, status=status)
    if names & _UNREADABLE:
        return LlmReplyError(message, retryable=True, status=status)
    if status is not None:
        return LlmError(message, retryable=status in RETRYABLE_STATUSES, status=status)
    return LlmError(message, retryable=bool(names & _CONNECTION))


def _telling(error: BaseException) -> BaseException:
    """The error that knows most: wrappers such as NeMo's `LLMCallException` keep it inside."""
    chain = list(_chain(error))
    return next((e for e in chain if status_of(e) is not None or _is_known(e)), chain[-1])


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        inner = getattr(error, "inner_exception", None)
        error = inner if isinstance(inner, BaseException) else error.__cause__


def _is_known(error: BaseException) -> bool:
    if type(error).__name__ == "LLMCallException":
        return False
    return bool({cls.__name__ for cls in type(error).__mro__} & (_TIMEOUTS | _CONNECTION | _UNREADABLE))


def status_of(error: BaseException) -> int | None:
    """The HTTP status an error carries; None if there was no answer."""
    for holder in (error, getattr(error, "response", None)):
        status = getattr(holder, "status_code", None)
        if isinstance(status, int) and status >= 100:
            return status
    return None


def refused_parameter(error: BaseException, sent: tuple[str, ...]) -> str | None:
    """Which of the sent parameters the provider refuses; None if the error is about something else.

    Read from the error's `param`, else from its words: a quoted name, or one at the start of a rule (`n must be 1`).
    """
    for link in _chain(error):
        if status_of(link) not in (400, 404, 422):
            continue
        param = _param(link)
        if param in sent:
            return param
        words = f"{getattr(link, 'message', '')} {link}"
        return next((name for name in sent if _names(words, name)), None)
    return None


def may_refuse_n(error: BaseException) -> bool:
    """True if a request for several completions may have failed because of their number, whatever the words say.

    Providers refuse `n` by 400, 403, 404, 422 or 501 and in words of their own; only a single request shows whether
    it was that.
    """
    status = error.status if isinstance(error, LlmError) else status_of(_telling(error))
    if status is None:
        return False
    return status == 501 or (400 <= status < 500 and status not in _NOT_ABOUT_THE_REQUEST)


def _param(error: BaseException) -> str | None:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    found = getattr(error, "param", None) or (inner.get("param") if isinstance(inner, dict) else None)
    return str(found) if found else None


def _names(words: str, name: str) -> bool:
    quoted = rf"""['"`]{re.escape(name)}['"`]"""
    ruled = rf"(?<![\w.]){re.escape(name)}\s*(?:[:=><]|must|forces|is not|is unsupported|parameter|should)"
    return re.search(f"{quoted}|{ruled}", words) is not None


def _retry_after(error: BaseException) -> float | None:
    known = getattr(error, "retry_after_seconds", None)
    if isinstance(known, (int, float)):
        return max(0.0, float(known))
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    try:
        return max(0.0, float(headers["retry-after"]))
    except (KeyError, ValueError):  # not asked for, or as a date, which no provider of models sends
        return None


def _cleaned(message: str) -> str:
    message = _SECRET.sub(r"\1***", " ".join(message.split()))
    return message if len(message) <= MAX_MESSAGE_CHARS else message[: MAX_MESSAGE_CHARS - 1] + "…"
