"""How a request fails: a status, a code for programs, a sentence for people, and the request's id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import HTTPException


class Problem(HTTPException):
    """A request that cannot be served; the message says what was expected."""

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.code, self.message = code, message


def problem_body(code: str, message: str, request_id: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "request_id": request_id}}


def busy(retry_after_s: float, code: str, message: str) -> Problem:
    """429 with the seconds after which another try is worth it."""
    return Problem(429, code, message, headers={"Retry-After": str(max(1, round(retry_after_s + 0.5)))})


def first_problem(errors: Sequence[Any]) -> str:
    """Place and nature of the first mistake, without the value: it may be a text that nobody else should read."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
    return f"{place[:200]}: {first['msg']}"
