"""How long a validation may run, and patterns that can be stopped."""

from __future__ import annotations

import time
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, NamedTuple

import regex


class SchemaProblem(ValueError):
    """A schema that cannot be used: it is invalid, refers to what is not there, or takes too long."""


class Clock(NamedTuple):
    """Until when a validation may run, and how long one match of a pattern may take."""

    ends_at: float
    pattern_timeout_s: float

    @classmethod
    def start(cls, timeout_s: float, pattern_timeout_s: float) -> Clock:
        """A clock that runs from now."""
        return cls(time.monotonic() + timeout_s, pattern_timeout_s)

    def check(self) -> float:
        """Seconds that are left.

        Raises:
            SchemaProblem: none.
        """
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise SchemaProblem("timeout: the validation took longer than structure.timeout_s")
        return left


running_clock: ContextVar[Clock] = ContextVar("evidencerails_structure_clock")


class BoundedRe:
    """Stands in for the module `re` inside the library's keywords."""

    @staticmethod
    def search(pattern: str, text: str) -> Any:
        clock = running_clock.get()
        limit = min(clock.pattern_timeout_s, clock.check())
        try:
            return compiled_pattern(pattern).search(text, timeout=limit, concurrent=True)
        except TimeoutError:
            raise SchemaProblem(
                f"pattern_timeout: the pattern {pattern[:80]!r} took longer than structure.pattern_timeout_s on a text "
                f"of {len(text)} characters; it may backtrack without end"
            ) from None


@lru_cache(maxsize=512)
def compiled_pattern(pattern: str) -> Any:
    """The pattern, compiled once, in the module that can stop a match. `$` is the very end, as JSON Schema has it: in
    Python it also stands before a last line break."""
    if _IS_MULTILINE.search(pattern):
        return regex.compile(pattern)
    return regex.compile(_END.sub(lambda match: r"\Z" if match[0] == "$" else match[0], pattern))


_END = regex.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", regex.DOTALL)
"""`$`, or what it is an ordinary character in: an escape, a class."""
_IS_MULTILINE = regex.compile(r"\(\?[a-zA-Z]*m")


def bounded_search(pattern: str, text: str, clock: Clock) -> bool:
    """Whether a pattern is found, within the clock's limits.

    Raises:
        SchemaProblem: the limit is reached.
    """
    token = running_clock.set(clock)
    try:
        return BoundedRe.search(pattern, text) is not None
    finally:
        running_clock.reset(token)
