"""What a citation in a text is: where it stands and what it names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

RefKind = Literal["number", "name", "author_year", "url", "doi"]

MAX_BRACKET = 300
"""Characters of the longest bracket that is read as a citation."""


class Ref(NamedTuple):
    """One thing that a citation names."""

    kind: RefKind
    text: str
    low: int = 0
    high: int = 0
    """A number, or a range of them (`low` to `high`, both included), whatever its length."""
    authors: tuple[str, ...] = ()
    year: str = ""


class Mark(NamedTuple):
    """One citation in a text."""

    start: int
    end: int
    refs: tuple[Ref, ...]
    hidden: tuple[tuple[int, int], ...]
    """What is no part of the sentence it stands in: all of it, or a link without its words."""
    is_spoken: bool = False
    """True if the sentence speaks of its source by name: "Ortiz (2019) found that ..."."""


KnowsName = Callable[[str], bool]
"""Whether a name is that of a source, or has the shape of one."""

AUTHORS_AND_YEARS = "(author, year)"
"""The shape of name that is asked for where "(Barcelona, 1992)" may be a citation or the place and year of a thing."""
