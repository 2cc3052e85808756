"""How a request fails: a status, a code for programs, a sentence for people, and the request's id."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import HTTPException

from evidencerails.errors import traceback_summary

log = logging.getLogger("evidencerails.service")


class Problem(HTTPException):
    """A request that cannot be served; the message says what was expected."""

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.code, self.message = code, message


def problem_body(code: str, message: str, request_id: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "request_id": request_id}}


def problem_of(error: BaseException, what: str) -> Problem:
    """What a caller is sent of a failure: nothing of one that is not ours, whose place the log has."""
    if isinstance(error, Problem):
        return error
    log.error("%s failed: %s", what, traceback_summary(error))
    return Problem(500, "internal_error", "the service failed; its log has the reason")


def first_problem(errors: Sequence[Any]) -> str:
    """Place and nature of the first mistake, without the value: it may be a text that nobody else should read."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    return f"{place[:200]}: {first['msg']}"
