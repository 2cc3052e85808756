"""Names with a number in several spellings: Louis XIV and the 14th, World War II, WW2 and the Second World War."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from evidencerails.text.temporal import ORDINALS

Style = Literal["roman", "digits", "ordinal", "short"]

_ORDINAL = rf"(?:\d{{1,3}}(?:st|nd|rd|th)|(?i:{'|'.join(ORDINALS)}))\b"
_ROMAN = r"(?:X{1,3}(?:IX|IV|V?I{0,3})|IX|IV|V?I{1,3}|V)\b"
_CLASSES = (
    r"(?:chapter|part|type|phase|volume|act|section|stage|grade|article|level|class|title|book|category|appendix)"
)
_WORD = r"[A-Z][\w'’-]*[a-z][\w'’-]*"
_AFTER = re.compile(
    rf"\b(?P<head>(?:{_WORD}\s){{0,2}}{_WORD}|{_CLASSES})\s(?P<number>(?:the\s)?{_ORDINAL}|{_ROMAN}|\d{{1,3}}\b(?![.,]\d|\s?%))"
)
_BEFORE = re.compile(rf"\b(?P<number>{_ORDINAL})\s(?P<head>World\sWar)\b")
_SHORT = re.compile(r"\bWW\s?(?P<number>II|I|1|2)\b")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}


class NumberedName(NamedTuple):
    """A name and its number."""

    key: str
    """Last word of the name, in lower case."""
    number: int
    style: Style
    head: str
    """The name as it is written, without its number; empty for an abbreviation."""
    written: str
    """The number as it is written, `the` included."""
    start: int
    end: int
    is_first: bool = False
    """True if the number stands before the name."""

    def worded_after(self, other: NumberedName) -> str:
        """This way to write the number, put to the other's name; the whole of it where the order differs."""
        if self.is_first or other.is_first or not self.head or not other.head:
            return f"{self.written} {self.head}".strip() if self.is_first else f"{self.head} {self.written}".strip()
        return f"{other.head} {self.written}"


def numbered_names(text: str) -> Iterator[NumberedName]:
    """All of them, those with the number before the name first."""
    for match in _SHORT.finditer(text):
        yield NumberedName("war", _value(match["number"]), "short", "", match[0], *match.span())
    for match in _BEFORE.finditer(text):
        number = match["number"]
        yield NumberedName("war", _value(number), "ordinal", match["head"], number, *match.span(), is_first=True)
    for match in _AFTER.finditer(text):
        key, written = match["head"].split()[-1].lower(), match["number"]
        number = _value(written)
        if number and not (number == 1 and written == "I" and not _is_counted(key, text, match.end())):
            yield NumberedName(key, number, _style(written), match["head"], written, *match.span())


def _is_counted(key: str, text: str, end: int) -> bool:
    """False where "I" is the speaker: "When Anna I ...", "what Tom I think"."""
    return (
        key == "war"
        or re.match(_CLASSES, key) is not None
        or re.match(r"[.,;)]|'s|’s|\s(?:was|of|in)\b", text[end:]) is not None
    )


def _style(written: str) -> Style:
    if written[0].isdigit() and written.isdigit():
        return "digits"
    return "roman" if written.isupper() else "ordinal"


def _value(written: str) -> int:
    bare = written.lower().removeprefix("the ").strip()
    if bare in ORDINALS:
        return ORDINALS.index(bare) + 1
    if digits := re.sub(r"\D", "", bare):
        return int(digits)
    return _roman(bare.upper())


def _roman(numeral: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in numeral]
    return sum(-v if later > v else v for v, later in zip(values, [*values[1:], 0], strict=True))
