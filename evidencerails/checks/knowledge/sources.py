"""The sources of a guard: made once from the settings, kept for its life."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidencerails.checks.knowledge.base import (
    Answer,
    KnowledgeSource,
    Lookup,
    SettingsSource,
    Threads,
    callable_of,
    folded,
    in_time,
    shown,
)
from evidencerails.checks.knowledge.entities import kind_of
from evidencerails.errors import InputError, KnowledgeError, SettingsError
from evidencerails.exchange import as_passages
from evidencerails.settings.knowledge import ResolverSettings, SourceSettings
from evidencerails.settings.paths import existing_file
from evidencerails.settings.problems import nearest

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig

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


# ---- the sources of a guard


class Sources:
    """Every source that the settings name, and who may be asked about what.

    Args:
        folders: where relative paths are looked for, in this order.

    Raises:
        SettingsError: a source cannot be used: no file, no table, no column, no function, no address.
        MissingExtraError: a source needs a package that is not installed.
    """

    def __init__(self, config: GuardConfig, folders: Sequence[Path] = ()) -> None:
        places = (*folders, Path.cwd())
        both = {**config.knowledge.sources, **config.tools.sources}
        for name in config.knowledge.sources.keys() & config.tools.sources.keys():
            if config.knowledge.sources[name] != config.tools.sources[name]:
                raise SettingsError(f"source {name!r} is in knowledge.sources and in tools.sources, not the same")
        self._by_name: dict[str, KnowledgeSource] = {
            name: make_source(name, settings, places) for name, settings in both.items()
        }
        self.by_entity = {kind: self._named(e.sources) for kind, e in config.knowledge.entities.items()}
        """Sources of each kind of entity."""
        self.kinds = tuple(kind_of(kind, entity) for kind, entity in config.knowledge.entities.items())
        self.threads = Threads()
        """For extractors, which may be the user's own."""
        self.by_argument = {
            argument: self._of_resolver(argument, resolver) for argument, resolver in config.tools.resolvers.items()
        }
        """Sources of each argument of a tool that has a resolver."""

        self.tools = _tools_of(config.tools.definitions, places)
        """Tools of `tools.definitions`, for calls that come without them."""

    def bind_knowledge_base(self, find_search: Callable[[], Search | None]) -> None:
        """Give the sources of kind `knowledge_base` their search."""
        for source in self._by_name.values():
            if isinstance(source, TextSource):
                source.find_search = find_search

    def _named(self, names: Sequence[str]) -> tuple[KnowledgeSource, ...]:
        return tuple(self._by_name[name] for name in names)

    def _of_resolver(self, argument: str, resolver: ResolverSettings) -> tuple[KnowledgeSource, ...]:
        if resolver.function is not None:
            settings = SourceSettings(kind="callable", function=resolver.function)
            return (FunctionSource(f"{argument} resolver", settings),)
        for name in resolver.names:
            if name not in self._by_name:
                raise SettingsError(
                    f"tools.resolvers.{argument} names the source {name!r}, which is neither in tools.sources nor in "
                    f"knowledge.sources{nearest(name, tuple(self._by_name))}"
                )
        return self._named(resolver.names)


def make_source(name: str, settings: SourceSettings, folders: Sequence[Path] = ()) -> KnowledgeSource:
    """The source that these settings describe.

    Raises:
        SettingsError, MissingExtraError: as said at `Sources`.
    """
    if settings.kind == "sqlalchemy":
        from evidencerails.checks.knowledge.sql import SqlSource

        return SqlSource(name, settings, folders)
    if settings.kind == "http":
        from evidencerails.checks.knowledge.http import HttpSource

        return HttpSource(name, settings)
    if settings.kind in ("csv", "jsonl"):
        from evidencerails.checks.knowledge.lists import ListSource

        return ListSource(name, settings, existing_file(f"source {name!r}", str(settings.path), folders))
    return FunctionSource(name, settings) if settings.kind == "callable" else TextSource(name, settings)


def _tools_of(definitions: str | None, folders: Sequence[Path]) -> tuple[dict[str, Any], ...]:
    """The tools of a JSON file."""
    if definitions is None:
        return ()
    from evidencerails.exchange import as_tools

    path = existing_file("tools.definitions", definitions, folders)
    try:
        return as_tools(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError, InputError) as error:
        raise SettingsError(f"tools.definitions: cannot read {str(path)!r}: {error}") from error
