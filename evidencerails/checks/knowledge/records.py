"""Records in memory, found by one value or by the parts of an entity."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evidencerails.checks.knowledge.base import Answer, Lookup, folded, plain, shown
from evidencerails.checks.knowledge.lexical_overlap import MAX_COMPARED, MAX_SHOWN, MIN_OVERLAP, nearest_of

MAX_SHARING = 5_000
"""Records that one search for near misses compares."""
_WORD = re.compile(r"\w+")


class Records:
    """A list of records with the indexes that look-ups need.

    Args:
        values: the record's value under `field`, each as text.
        rows: the same records with their columns, where there are any.
        fields: column of each part of an entity.
        is_named: whether it is known what the values are: the column of a table says so, a plain list does not.
    """

    def __init__(
        self, values: Sequence[str], rows: Sequence[Mapping[str, Any]], fields: Mapping[str, str], *, is_named: bool
    ) -> None:
        self._values = values
        self._rows = rows
        self._fields = fields
        self._is_named = is_named
        self._exact = {value: place for place, value in enumerate(values) if value}
        self._folded = {folded(value): place for place, value in enumerate(values) if folded(value)}
        self._words = _word_index(rows, fields)

    def __len__(self) -> int:
        return len(self._values)

    def find(self, lookup: Lookup) -> Answer | None:
        """Is it there? None if the records lack the columns that would tell."""
        parts = known_parts(lookup, self._fields)
        if parts:
            place = next((p for p in self._candidates(parts) if fits(self._rows[p], parts, self._fields)), None)
        elif lookup.parts and self._is_named:
            return None
        else:
            place = (self._folded if lookup.is_folded else self._exact).get(_key(lookup))
        if place is not None:
            return Answer(True, self._shown(place))
        return None if lookup.parts and not parts else Answer(False)

    def near(self, lookup: Lookup) -> tuple[str, ...]:
        """Values that resemble it; for the parts of an entity, records that share a word with it."""
        parts = known_parts(lookup, self._fields)
        if not parts:
            return nearest_of(lookup, self._values)
        wanted = Lookup(text=" ".join(parts.values()))
        known = {self._joined(place, parts): place for place in self._sharing(parts)}
        near = nearest_of(wanted, known) or (tuple(known) if parts.get("author") else ())
        return tuple(self._shown(known[text]) for text in near[:3])

    def _shown(self, place: int) -> str:
        return shown(self._rows[place]) if self._rows else shown(self._values[place])

    def _joined(self, place: int, parts: Mapping[str, str]) -> str:
        return " ".join(plain(self._rows[place].get(self._fields[name], "")) for name in parts)

    def _candidates(self, parts: Mapping[str, str]) -> Iterable[int]:
        """Records in which some part has all its words; the rest is compared record by record."""
        found: set[int] | None = None
        for name, value in parts.items():
            for word in _words(value):
                places = self._words[name].get(word, set())
                found = places if found is None else found & places
        return sorted(found or ())

    def _sharing(self, parts: Mapping[str, str]) -> list[int]:
        places: set[int] = set()
        for name, value in parts.items():
            if name != "year":
                for word in _words(value):
                    places |= self._words[name].get(word, set())
        return sorted(places or self._sharing_nearly(parts))[:MAX_SHARING]

    def _sharing_nearly(self, parts: Mapping[str, str]) -> set[int]:
        """Records with a word that is one of the entity's, misspelt: the author of "(Vaswni et al., 2017)"."""
        from itertools import islice

        from rapidfuzz import fuzz, process

        places: set[int] = set()
        for name, value in parts.items():
            known = list(islice(self._words[name], MAX_COMPARED))
            for word in _words(value) if name != "year" else ():
                alike = process.extract(word, known, scorer=fuzz.ratio, score_cutoff=MIN_OVERLAP, limit=MAX_SHOWN)
                places.update(place for other, _, _ in alike for place in self._words[name][other])
        return places


PARTS = ("author", "year", "title", "doi", "arxiv")
"""Parts that the shipped extractors give."""


def part_columns(fields: Mapping[str, str], field: str | None) -> dict[str, str]:
    """Column of each part: those that the settings name, and that of the values where it has the name of a part."""
    return {**({field: field} if field in PARTS else {}), **fields}


def known_parts(lookup: Lookup, fields: Mapping[str, str]) -> dict[str, str]:
    """The parts that these fields can tell; empty if a year would be all."""
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


def _key(lookup: Lookup) -> str:
    return folded(lookup.text) if lookup.is_folded else lookup.text


def _word_index(rows: Sequence[Mapping[str, Any]], fields: Mapping[str, str]) -> dict[str, dict[str, set[int]]]:
    index: dict[str, dict[str, set[int]]] = {name: defaultdict(set) for name in fields}
    for place, row in enumerate(rows):
        for name, column in fields.items():
            for word in _words(plain(row.get(column, ""))):
                index[name][word].add(place)
    return index


def _words(text: str) -> list[str]:
    return _WORD.findall(folded(text))
