"""Sources that are functions: kind `callable`, and `knowledge_base`, the search of the guardrails app's own texts."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from evidencerails.checks.knowledge.base import Answer, Lookup, SettingsSource, folded, in_time, shown
from evidencerails.errors import KnowledgeError, SettingsError
from evidencerails.exchange import as_passages
from evidencerails.settings.knowledge import SourceSettings
from evidencerails.settings.own_parts import imported

Search = Callable[[str], Awaitable[Any]]


class FunctionSource(SettingsSource):
    """A function of the value that returns True or a record if it exists, False or None if it does not.

    Raises:
        SettingsError: it cannot be imported.
    """

    def __init__(self, name: str, settings: SourceSettings) -> None:
        super().__init__(name, settings)
        self._function = callable_of(f"source {name!r}", settings.function)

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """See `KnowledgeSource.lookup`."""
        if inspect.iscoroutinefunction(self._function):
            return _answer(await in_time(self._function(lookup.value), self._settings.timeout_s))
        return _answer(await self._in_thread(lambda: self._function(lookup.value)))


class TextSource(SettingsSource):
    """A search that gives texts in any shape of evidence.

    A text that names a thing shows that it exists; that no text names it shows nothing, unless the settings say so.
    """

    find_search: Callable[[], Search | None] = staticmethod(lambda: None)
    """Gives the search once there is one: an app builds its knowledge base late."""

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
        for passage in as_passages(await in_time(search(" ".join(words)), self._settings.timeout_s)):
            text = f" {folded(passage.text)} "
            if all(f" {folded(word)} " in text for word in words):
                return Answer(True, shown(passage.text))
        return Answer(False)


def _answer(found: Any) -> Answer:
    """What a function returned, as an answer."""
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


def callable_of(place: str, function: Any) -> Callable[..., Any]:
    """The function itself, or the one of an import path.

    Raises:
        SettingsError: there is none, naming the key `place` of the settings.
    """
    try:
        found: Any = function if callable(function) else imported(str(function))
    except SettingsError as error:
        raise SettingsError(f"{place}: {error}") from error
    if not callable(found):
        raise SettingsError(f"{place}: {function!r} is {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]
