"""Source of kind `knowledge_base`: the search of the guardrails app's own knowledge base, or any search for texts.

A text that names a thing shows that it exists; that no text names it shows nothing, unless the settings say so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from evidencerails.checks.knowledge.base import Answer, Lookup, folded, shown
from evidencerails.errors import KnowledgeError
from evidencerails.exchange import as_passages
from evidencerails.settings.knowledge import SourceSettings

Search = Callable[[str], Awaitable[Any]]


class TextSource:
    """A search that gives texts in any shape of evidence."""

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
        try:
            found = await asyncio.wait_for(search(" ".join(words)), self._timeout_s)
        except asyncio.TimeoutError:
            raise KnowledgeError(f"timeout: no answer in {self._timeout_s:.3g} s") from None
        for passage in as_passages(found):
            text = f" {folded(passage.text)} "
            if all(f" {folded(word)} " in text for word in words):
                return Answer(True, shown(passage.text))
        return Answer(False)

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """Texts are no list of values."""
        return ()
