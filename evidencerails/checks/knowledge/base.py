"""What a source of knowledge offers, what it is asked, what it can answer, and how values are compared."""

from __future__ import annotations

import asyncio
import re
import threading
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from evidencerails.errors import KnowledgeError
from evidencerails.settings.knowledge import SourceSettings

T = TypeVar("T")
Outcome = Literal["verified", "refuted", "unverifiable"]
MAX_VALUE_CHARACTERS = 1_000
"""Longer values are not looked up: nothing that has to exist is longer."""
MAX_SHOWN_CHARACTERS = 200
MIN_NEARNESS = 75.0
"""rapidfuzz ratio, 0 to 100, from which a near miss is shown: one letter wrong in four, two in eight."""
MAX_NEAR = 3
"""Near misses that are shown."""
MAX_COMPARED = 200_000
"""Values that one search for near misses compares; about a tenth of a second."""
PARTS = ("author", "year", "title", "doi", "arxiv")
"""Parts of an entity that the shipped extractors give."""


@dataclass(frozen=True)
class Lookup:
    """One thing that must exist."""

    text: str
    """The value as text; numbers in their plain form."""
    value: str | int | float | bool | None = None
    """The value as it was given, for functions: 1 and "1" are two look-ups."""
    parts: tuple[tuple[str, str], ...] = ()
    """Named parts of an entity, such as author and year of a paper."""
    is_folded: bool = False
    """Compare without case, accents and punctuation."""

    @classmethod
    def of(cls, value: str | int | float | bool, *, parts: Mapping[str, str] | None = None, is_folded: bool) -> Lookup:
        """A look-up of a plain value."""
        return cls(plain(value), value, tuple((parts or {}).items()), is_folded)


class Answer(NamedTuple):
    """What one source says about one look-up."""

    is_found: bool
    record: str = ""
    """The record that was found, as text."""
    near: tuple[str, ...] = ()
    """What it gave instead, if the search itself gives that."""


class Verdict(NamedTuple):
    """What all sources together say about one look-up."""

    outcome: Outcome
    reason: str
    source: str = ""
    """The source that decided; empty if none did."""
    record: str = ""
    near: tuple[str, ...] = ()
    """What the source has that resembles a refuted value, the most similar first."""


class KnowledgeSource(Protocol):
    """Something that knows what exists."""

    name: str
    priority: int
    """1 to 5; 1 is asked first."""
    is_complete: bool
    """True if what it does not have does not exist."""

    async def lookup(self, lookup: Lookup) -> Answer | None:
        """Is it there? None if this source does not know. May raise; whatever it raises means "no answer"."""
        ...

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """At most three values it has that resemble the one looked up; empty if it cannot search so."""
        ...


MAX_THREADS = 64
"""Threads of one source at once, those that hang included."""


class Threads:
    """Blocking work off the event loop, in daemon threads that may be left behind: one for each look-up under way.

    `asyncio.to_thread` would not do: `asyncio.run` waits for its threads when it ends, so a function that hangs would
    keep the whole program from ending.
    """

    def __init__(self) -> None:
        self._free = threading.BoundedSemaphore(MAX_THREADS)

    async def run(self, work: Callable[[], T], timeout_s: float) -> T:
        """The result of `work()`, run in a thread.

        Raises:
            KnowledgeError: no result in time, or too many look-ups of this source are under way.
        """
        if not self._free.acquire(blocking=False):
            raise KnowledgeError(f"busy: {MAX_THREADS} look-ups are under way")
        future: Future[T] = Future()
        threading.Thread(target=self._do, args=(work, future), name="evidencerails-knowledge", daemon=True).start()
        return await in_time(asyncio.wrap_future(future), timeout_s)

    def _do(self, work: Callable[[], T], future: Future[T]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(work())
        except BaseException as error:  # boundary to the user's function or driver: handed to the caller
            is_plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
            future.set_exception(error if is_plain else KnowledgeError(f"failed: {type(error).__name__}"))
        finally:
            self._free.release()


async def in_time(work: Awaitable[T], timeout_s: float) -> T:
    """The result of the work.

    Raises:
        KnowledgeError: there is none in time.
    """
    try:
        return await asyncio.wait_for(work, timeout_s)
    except asyncio.TimeoutError:
        raise KnowledgeError(f"timeout: no answer in {timeout_s:.3g} s") from None


class SettingsSource:
    """What the sources that settings describe have in common."""

    def __init__(self, name: str, settings: SourceSettings) -> None:
        self.name = name
        self.priority = settings.priority
        self.is_complete = settings.is_complete
        self._settings = settings
        self._threads = Threads()

    async def near(self, lookup: Lookup) -> tuple[str, ...]:
        """See `KnowledgeSource.near`; empty, unless a kind of source can be searched so."""
        return ()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await self._threads.run(work, self._settings.timeout_s)


# ---- comparing


def plain(value: Any) -> str:
    """A scalar as text, the same for a number however it was written in JSON: 42 and 42.0 are "42"."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: ""}[value]
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def folded(text: str) -> str:
    """A text without case, accents, punctuation and doubled spaces, to compare names: "Müller-Lüdenscheidt, K.",
    "muller ludenscheidt k" and "Mueller-Luedenscheidt K" are the same."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    plain_letters = _SPELT_WITH_E.sub(r"\1", bare.casefold().translate(_LETTERS))
    return " ".join("".join(c if c.isalnum() else " " for c in plain_letters).split())


_LETTERS = str.maketrans({"ø": "o", "œ": "oe", "æ": "ae", "ł": "l", "đ": "d"})
"""Letters that no normal form takes apart."""
_SPELT_WITH_E = re.compile(r"(?<![aeiouq])([aou])e(?=\w)")
"""How ä, ö and ü are spelt without a dot: "Mueller", "Schroeder"; not in "Bauer", "queen" or "Joe"."""


def same(found: str, lookup: Lookup) -> bool:
    """True if a value that a source gave is the one looked up."""
    return folded(found) == folded(lookup.text) if lookup.is_folded else found == lookup.text


def shown(record: Any) -> str:
    """A record as one line for people, at most 200 characters."""
    if isinstance(record, Mapping):
        record = ", ".join(f"{key}: {plain(value)}" for key, value in record.items() if value not in (None, ""))
    text = " ".join(str(record).split())
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[: MAX_SHOWN_CHARACTERS - 1] + "…"


def nearest_of(text: str, values: Iterable[str]) -> tuple[str, ...]:
    """At most three values that resemble a text, the most similar first; itself is left out."""
    from rapidfuzz import fuzz, process

    choices = list(dict.fromkeys(islice(values, MAX_COMPARED)))
    limits: dict[str, Any] = {"score_cutoff": MIN_NEARNESS, "limit": MAX_NEAR + 1}
    found = process.extract(text, choices, scorer=fuzz.ratio, processor=folded, **limits)
    return tuple(value for value, _, _ in found if value != text)[:MAX_NEAR]


Parts = Mapping[str, tuple[str, str]]
"""Column and value of each part of an entity that a table has a column for."""


def known_parts(lookup: Lookup, fields: Mapping[str, str], field: str | None) -> Parts:
    """The parts that a table with these columns holds; none if a year would be all. Its own column may be a part."""
    columns = {**({field: field} if field in PARTS else {}), **fields}
    parts = {name: (columns[name], value) for name, value in lookup.parts if columns.get(name) and value}
    return parts if set(parts) - {"year"} else {}


def fits(row: Mapping[str, Any], parts: Parts) -> bool:
    """True if the record has every part: a title word for word, an author among its authors, the very year."""
    return all(
        part_fits(name, folded(plain(row.get(field, ""))), folded(want)) for name, (field, want) in parts.items()
    )


def part_fits(name: str, have: str, want: str) -> bool:
    """True if a folded part of a record is the folded part that was asked for."""
    if name == "author":
        return f" {want} " in f" {have} "
    return have == want or (name == "year" and have[:4] == want[:4])
