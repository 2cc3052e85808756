"""Source of kind `callable`: a Python function, plain or async, that knows what exists."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from evidencerails.checks.knowledge.base import Answer, Lookup, shown
from evidencerails.checks.knowledge.threads import Threads
from evidencerails.errors import KnowledgeError, SettingsError


class FunctionSource:
    """A function of the value that returns True or a record if it exists, False or None if it does not."""

    def __init__(
        self,
        name: str,
        function: Callable[[Any], Any],
        *,
        priority: int = 2,
        is_complete: bool = True,
        timeout_s: float = 2.0,
    ) -> None:
        self.name = name
        self.priority = priority
        self.is_complete = is_complete
        self._function = function
        self._timeout_s = timeout_s
        self._threads = Threads()

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`."""
        if inspect.iscoroutinefunction(self._function):
            try:
                found = await asyncio.wait_for(self._function(lookup.value), self._timeout_s)
            except asyncio.TimeoutError:
                raise KnowledgeError(f"timeout: no answer in {self._timeout_s:.3g} s") from None
        else:
            found = await self._threads.run(lambda: self._function(lookup.value), timeout_s=self._timeout_s)
        return _answer(found)

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """A function cannot be searched."""
        return ()


def _answer(found: Any) -> Answer:
    """What a function returned, as an answer.

    Raises:
        KnowledgeError: it is nothing that says yes or no. An empty list, 0 and "" say neither.
    """
    if found is None or found is False:
        return Answer(False)
    if found is True:
        return Answer(True)
    if isinstance(found, Mapping) and found:
        return Answer(True, shown(found))
    if isinstance(found, str) and found.strip():
        return Answer(True, shown(found))
    if inspect.isawaitable(found):
        getattr(found, "close", lambda: None)()
        raise KnowledgeError("bad_answer: the function returned an awaitable; define it with 'async def'")
    raise KnowledgeError(
        f"bad_answer: the function returned {type(found).__name__}; expected True, False, a record (mapping or text) "
        "or None"
    )


def imported(place: str, function: Any) -> Callable[..., Any]:
    """The function itself, or the one of an import path.

    Raises:
        SettingsError: there is none, naming the key `place` of the settings.
    """
    if callable(function):
        return function  # type: ignore[no-any-return]
    module, _, name = str(function).partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"{place}: cannot import {function!r}: {error}") from error
    if not callable(found):
        raise SettingsError(f"{place}: {function!r} is {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]
