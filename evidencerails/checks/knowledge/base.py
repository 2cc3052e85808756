"""What a source of knowledge offers, what it is asked, how values are compared, and how all sources are asked.

They are asked in the order of authority, within a latency budget. A hit in any source verifies. A miss refutes only if
a source that claims to be complete has answered, and none that might have known better failed or was left unasked: a
look-up that fails is never a verdict.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from evidencerails.errors import EvidencerailsError, KnowledgeError, SettingsError, traceback_summary
from evidencerails.settings.knowledge import SourceSettings
from evidencerails.settings.own_parts import imported

log = logging.getLogger("evidencerails")

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


# ---- asking all of them

CONCURRENT_LOOKUPS = 8
MAX_NEAR_SEARCHES = 20
"""Refuted values of one response for which near misses are searched."""


async def verdicts(lookups: Mapping[Lookup, Sequence[KnowledgeSource]], budget_s: float) -> dict[Lookup, Verdict]:
    """One verdict for each look-up; those that the budget does not reach are unverifiable."""
    deadline = time.monotonic() + budget_s
    slots = asyncio.Semaphore(CONCURRENT_LOOKUPS)

    async def one(lookup: Lookup, sources: Sequence[KnowledgeSource]) -> Verdict:
        async with slots:
            await asyncio.sleep(0)  # the event loop gets a turn, even if all are answered from memory
            return await _verdict(lookup, sources, deadline)

    answers = await asyncio.gather(*(one(lookup, sources) for lookup, sources in lookups.items()))
    found = dict(zip(lookups, answers, strict=True))
    refuted = [lookup for lookup, verdict in found.items() if verdict.outcome == "refuted" and verdict.source]
    for lookup in refuted[:MAX_NEAR_SEARCHES]:
        source = next(s for s in lookups[lookup] if s.name == found[lookup].source)
        near = found[lookup].near or await _near(source, lookup, deadline)
        found[lookup] = found[lookup]._replace(near=near)
    return found


async def _verdict(lookup: Lookup, sources: Sequence[KnowledgeSource], deadline: float) -> Verdict:
    """What the sources say about one look-up; `deadline` is a time of the monotonic clock."""
    if not lookup.text.strip() and not lookup.parts:
        return Verdict("refuted", "it is empty")
    if len(lookup.text) > MAX_VALUE_CHARACTERS:
        return Verdict("unverifiable", f"too_long: over {MAX_VALUE_CHARACTERS} characters")
    unanswered: list[str] = []
    refuted: Verdict | None = None
    for source in sorted(sources, key=lambda source: source.priority):
        try:
            answer = await _answer(source, lookup, deadline)
        except EvidencerailsError as error:
            unanswered.append(f"{source.name}: {error}")
            continue
        except Exception as error:  # boundary to the user's function, file, database or endpoint
            log.error("evidencerails: source %s failed: %s", source.name, traceback_summary(error))
            unanswered.append(f"{source.name}: failed: {type(error).__name__}")
            continue
        if answer is None:
            unanswered.append(f"{source.name}: cannot_tell: it has no column for this")
        elif answer.is_found:
            return Verdict("verified", f"found in {source.name!r}", source.name, answer.record)
        elif source.is_complete:
            refuted = refuted or Verdict("refuted", f"no record in {source.name!r}", source.name, near=answer.near)
    if unanswered:
        return Verdict("unverifiable", "; ".join(unanswered))
    return refuted or Verdict("unverifiable", "no_authoritative_source: no source is complete, and none has it")


async def _answer(source: KnowledgeSource, lookup: Lookup, deadline: float) -> Answer | None:
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise KnowledgeError("budget_spent")
    try:
        answer = await asyncio.wait_for(source.lookup(lookup), left_s)
    except asyncio.TimeoutError:
        raise KnowledgeError("budget_spent: no answer within the budget of this response") from None
    if answer is not None and not isinstance(answer, Answer):
        raise TypeError(f"source {source.name!r} answered {type(answer).__name__}; expected Answer or None")
    return answer


async def _near(source: KnowledgeSource, lookup: Lookup, deadline: float) -> tuple[str, ...]:
    """What the source has that resembles the value; empty if there is no time, or the search fails: it is a hint."""
    try:
        return tuple(await asyncio.wait_for(source.near(lookup), max(0.0, deadline - time.monotonic())))
    except asyncio.TimeoutError:
        return ()
    except Exception as error:  # boundary, as above
        log.warning("evidencerails: source %s has no near values: %s", source.name, traceback_summary(error))
        return ()
