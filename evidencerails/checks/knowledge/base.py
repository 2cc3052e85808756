"""What a source of knowledge offers, what it is asked, and what it can answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol

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
    value: Any = field(default=None, compare=False)
    """The value as it was given, for functions."""
    type_name: str = "str"
    """Type of `value`, so that 1 and "1" are two look-ups."""
    parts: tuple[tuple[str, str], ...] = ()
    """Named parts of an entity, such as author and year of a paper."""
    is_folded: bool = False
    """Compare without case, accents and punctuation."""

    @classmethod
    def of(cls, value: str | int | float | bool, *, parts: Mapping[str, str] | None = None, is_folded: bool) -> Lookup:
        """A look-up of a plain value."""
        return cls(plain(value), value, type(value).__name__, tuple((parts or {}).items()), is_folded)


class Answer(NamedTuple):
    """What one source says about one look-up."""

    is_found: bool
    record: str = ""
    """The record that was found, as text."""


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
    """Something that knows what exists. A source of your own needs these five."""

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


def nearest_of(text: str, values: Iterable[str], *, is_text: bool = False) -> tuple[str, ...]:
    """At most three values that resemble a text, the most similar first; itself is left out.

    Args:
        is_text: the values are texts, of which the most similar part counts.
    """
    from rapidfuzz import fuzz, process

    choices = list(dict.fromkeys(islice(values, MAX_COMPARED)))
    scorer = fuzz.partial_ratio if is_text else fuzz.ratio
    found = process.extract(
        text, choices, scorer=scorer, processor=folded, score_cutoff=MIN_NEARNESS, limit=MAX_NEAR + 1
    )
    return tuple(value for value, _, _ in found if value != text)[:MAX_NEAR]


def part_columns(fields: Mapping[str, str], field: str | None) -> dict[str, str]:
    """Column of each part: those that the settings name, and that of the values where it has the name of a part."""
    return {**({field: field} if field in PARTS else {}), **fields}


def known_parts(lookup: Lookup, fields: Mapping[str, str]) -> dict[str, str]:
    """The parts that these fields hold; empty if a year would be all."""
    parts = {name: value for name, value in lookup.parts if name in fields and value}
    return parts if set(parts) - {"year"} else {}


def fits(row: Mapping[str, Any], parts: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    """True if the record has every part: a title word for word, an author among its authors, the very year."""
    for name, value in parts.items():
        have, want = folded(plain(row.get(fields[name], ""))), folded(value)
        if name == "author":
            if f" {want} " not in f" {have} ":
                return False
        elif have != want and not (name == "year" and have[:4] == want[:4]):
            return False
    return True
