"""Sources that are functions: kind `callable`, and `knowledge_base`, the search of the guardrails app's own texts."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from evidencerails.checks.knowledge.base import Answer, Lookup, folded, shown
from evidencerails.checks.knowledge.threads import Threads
from evidencerails.errors import KnowledgeError, SettingsError
from evidencerails.exchange import as_passages
from evidencerails.settings.knowledge import SourceSettings

T = TypeVar("T")
Search = Callable[[str], Awaitable[Any]]


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
            return _answer(await _in_time(self._function(lookup.value), self._timeout_s))
        return _answer(await self._threads.run(lambda: self._function(lookup.value), timeout_s=self._timeout_s))

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """A function cannot be searched."""
        return ()


class TextSource:
    """A search that gives texts in any shape of evidence.

    A text that names a thing shows that it exists; that no text names it shows nothing, unless the settings say so.
    """

    def __init__(self, name: str, settings: SourceSettings) -> None:
        self.name = name
        self.priority = settings.priority
        self.is_complete = settings.is_complete
        self.find_search: Callable[[], Search | None] = lambda: None
        """Gives the search once there is one: an app builds its knowledge base late."""
        self._timeout_s = settings.timeout_s

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`.

        Raises:
            KnowledgeError: there is no knowledge base, or it does not answer in time.
            InputError: it answers with something that has no text.
        """
        search = self.find_search()
        if search is None:
            raise KnowledgeError("no_knowledge_base: the app has none")
        words = [value for _, value in lookup.parts if value] or [lookup.text]
        for passage in as_passages(await _in_time(search(" ".join(words)), self._timeout_s)):
            text = f" {folded(passage.text)} "
            if all(f" {folded(word)} " in text for word in words):
                return Answer(True, shown(passage.text))
        return Answer(False)

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """Texts are no list of values."""
        return ()


async def _in_time(work: Awaitable[T], timeout_s: float) -> T:
    try:
        return await asyncio.wait_for(work, timeout_s)
    except asyncio.TimeoutError:
        raise KnowledgeError(f"timeout: no answer in {timeout_s:.3g} s") from None


def _answer(found: Any) -> Answer:
    """What a function returned, as an answer.

    Raises:
        KnowledgeError: it is nothing that says yes or no. An empty list, 0 and "" say neither.
    """
    if found is None or isinstance(found, bool):
        return Answer(bool(found))
    if (isinstance(found, Mapping) and found) or (isinstance(found, str) and found.strip()):
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
