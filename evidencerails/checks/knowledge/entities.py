"""Entities that must exist, and the extractors that find them in a text, by kind."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evidencerails.errors import SettingsError
from evidencerails.report import Severity
from evidencerails.settings.knowledge import EntitySettings
from evidencerails.settings.problems import nearest

MAX_ENTITIES = 500
"""More entities of one kind in one response are not looked up; the result says so."""
PATTERN_TIMEOUT_S = 0.5
"""Seconds for a pattern of the user's on one text: it may backtrack without end."""


@dataclass(frozen=True)
class Entity:
    """One mention of something that must exist."""

    kind: str
    start: int
    end: int
    """Offsets in the text it was found in."""
    text: str
    """What is looked up; the mention itself unless the extractor gives a plainer form."""
    parts: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    """Named parts, such as the author and the year of a paper."""


Extract = Callable[[str], Iterable[Entity]]


class Kind(NamedTuple):
    """One kind of entity."""

    name: str
    extract: Extract
    severity: Severity
    is_folded: bool
    """Compare without case, accents and punctuation."""


_SHIPPED: Mapping[str, tuple[str, Severity, bool]] = {
    "drugs": ("evidencerails.checks.knowledge.extractors.drugs:drugs", "critical", True),
    "ids": ("evidencerails.checks.knowledge.extractors.ids:ids", "high", False),
    "papers": ("evidencerails.checks.knowledge.extractors.papers:papers", "high", True),
    "statutes": ("evidencerails.checks.knowledge.extractors.statutes:statutes", "high", True),
    "tickers": ("evidencerails.checks.knowledge.extractors.tickers:tickers", "medium", False),
}
"""Extractor, severity and way of comparison of each kind that is shipped."""
KINDS = tuple(_SHIPPED)


def kind_of(name: str, settings: EntitySettings) -> Kind:
    """The kind of entity that these settings describe.

    Raises:
        SettingsError: it is no shipped kind and has neither a pattern nor a function.
    """
    extract, severity, is_folded = _extractor(name, settings)
    if settings.match is not None:
        is_folded = settings.match == "folded"
    return Kind(name, extract, settings.severity or severity, is_folded)


def _extractor(name: str, settings: EntitySettings) -> tuple[Extract, Severity, bool]:
    if settings.pattern is not None:
        return _by_pattern(name, settings.pattern), "high", False
    if settings.function is not None:
        from evidencerails.checks.knowledge.functions import imported

        return _by_function(name, imported(f"knowledge.entities.{name}.function", settings.function)), "high", False
    if name not in _SHIPPED:
        raise SettingsError(
            f"knowledge.entities.{name}: unknown kind{nearest(name, KINDS)}; shipped: {', '.join(KINDS)}; give a "
            "'pattern' or a 'function' for one of your own"
        )
    place, severity, is_folded = _SHIPPED[name]
    module, _, function = place.partition(":")
    return getattr(importlib.import_module(module), function), severity, is_folded


def _by_pattern(name: str, pattern: str) -> Extract:
    import regex

    compiled = regex.compile(pattern)
    group = "value" if "value" in compiled.groupindex else 0

    def extract(text: str) -> Iterator[Entity]:
        for match in compiled.finditer(text, timeout=PATTERN_TIMEOUT_S, concurrent=True):
            if match[group]:
                start, end = match.span(group)
                yield Entity(name, start, end, match[group])

    return extract


def _by_function(name: str, function: Callable[[str], Any]) -> Extract:
    def extract(text: str) -> Iterator[Entity]:
        for found in function(text):
            if isinstance(found, Entity):
                yield found
                continue
            start, end = found
            if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text)):
                raise ValueError(
                    f"knowledge.entities.{name}.function gave {found!r}; expected (start, end) in the text"
                )
            yield Entity(name, start, end, text[start:end])

    return extract


def without_overlaps(entities: Iterable[Entity]) -> list[Entity]:
    """Entities in order of place; of two of one kind that overlap, the longer."""
    kept: list[Entity] = []
    for entity in sorted(entities, key=lambda e: (e.start, e.start - e.end)):
        if not kept or entity.start >= kept[-1].end:
            kept.append(entity)
    return kept
