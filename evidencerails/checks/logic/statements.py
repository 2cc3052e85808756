"""What of a text is read, where its sentences are, and which of its statements it makes as its own.

In: a response. Out: its text with code, addresses and the like hidden (`masked`), the sentences with a number
(`sentences`), and whether a passage of it is asserted (`is_asserted`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from evidencerails.text.claimable import without_reasoning
from evidencerails.text.temporal import NUMBER_WORDS

Kind = Literal["arithmetic", "percentage", "unit", "number_property", "date", "weekday", "age", "calendar", "ordering"]


class Statement(NamedTuple):
    """A span of the text that states something computable, and whether it is right."""

    kind: Kind
    start: int
    end: int
    is_right: bool | None
    """None: it was understood, but could not be computed."""
    reason: str = ""


# ---- what is read

HIDDEN = "\x1f"
"""Stands for each character that is not read; it ends every expression."""
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LONG_RUN = re.compile(r"[!-~]{300,}|\d{300,}")
"""No word and no number that anybody reads is so long; patterns would take quadratic time on it."""
_INLINE_CODE = re.compile(r"(`{1,2})([^`\n]{1,400})\1(?!`)")
_BARE_EQUATION = re.compile(r"[\d\s.,+*/()^×÷−–$€£%-]+=[\s$€£]*-?[\d.,]+%?\s*")
_NEVER_READ = re.compile(
    r"""
    https?://\S+ | www\.\S+ | [\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}
    | </?[A-Za-z][^<>\n]{0,200}>
    | \b[vV]\.?\d+(?:\.\d+)*\b
    | (?<![\d.])(?!\d{1,3}(?:\.\d{3})+(?![\d.]))\d+(?:\.\d+){2,}(?![\d.]*\d)
    | (?<!\w)\#\d+
    """,
    re.VERBOSE,
)
"""Addresses, tags, versions, numbers of issues."""
_FOOTNOTE = re.compile(r"\[\^?\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]")


def masked(text: str) -> str:
    """The text with all that is not read hidden, as long as before; footnote marks become blanks."""
    shown = [HIDDEN] * len(text)
    for span in without_reasoning(text):
        shown[span.start : span.end] = span.text
    text = "".join(shown)
    for pattern in (_LONG_RUN, _FENCED):
        text = pattern.sub(_hidden, text)
    text = _NEVER_READ.sub(_hidden, _INLINE_CODE.sub(_hidden_unless_equation, text))
    return _FOOTNOTE.sub(lambda match: " " * len(match[0]), text)


def _hidden(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", HIDDEN, match[0])


def _hidden_unless_equation(match: re.Match[str]) -> str:
    """Models put formulas in backticks too; `x = 5` and other code they are not."""
    if _BARE_EQUATION.fullmatch(match[2]) and "==" not in match[2]:
        return " " * len(match[1]) + match[2] + " " * len(match[1])
    return _hidden(match)


# ---- sentences

_SENTENCE = re.compile(r"(?s).+?(?:[.!?](?=\s(?!=))|\n(?!\s*=)|[;\x1f]|\Z)")
MAX_SENTENCE = 1_500
"""A longer text without a sentence end is cut at a blank, as patterns may take quadratic time within it."""
_NUMBER_SIGN = re.compile(rf"\d|\b(?:{'|'.join(NUMBER_WORDS)}|hundred|thousand)\b", re.IGNORECASE)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text that hold a number begin and end; cut carelessly, but in linear time."""
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        while start < end:
            cut = end
            if end - start > MAX_SENTENCE:
                cut = text.rfind(" ", start + 1, start + MAX_SENTENCE)
                cut = start + MAX_SENTENCE if cut < 0 else cut
            if cut - start > 3 and _NUMBER_SIGN.search(text, start, cut):
                yield start, cut
            start = cut


# ---- what is asserted

_NOT_MEANT_BEFORE = re.compile(
    r"(?:\b(?:suppos\w*|assum\w*|imagin\w*|pretend\w*|hypothetical\w*|whether|wrong\w*|incorrect\w*|false\w*|mistak\w*|"
    r"erroneous\w*|myth|instead of|rather than|misconception|claim(?:s|ed|ing)?|let'?s say|someone says?|never|"
    r"not true|isn't true|it is not|it isn't|(?:does|do|did) not|don't|doesn't|cannot|can't|avoid writing)\b"
    r"[^.!?\n]{0,60}|\b(?:if|unless|had)\b[^,.;:!?\n]{0,60})$",
    re.IGNORECASE,
)
_CALLED_WRONG_AFTER = re.compile(
    r"[\s\"'”’,)*_`$]*(?:(?:is|was|are|would be|as|being|which is|which would be)\s+)?(?:clearly |obviously |simply "
    r"|also )?(?:wrong|incorrect|false|not (?:true|correct|right|equal)|a mistake|a common mistake|an error|nonsense|"
    r"impossible|invalid|untrue)\b"
    r"|[\s\"'”’.,;)!*_`$–—-]*(?:wait|no,|no\.|nope|actually|hmm|oops|correction|scratch that|let me (?:redo|recheck)|"
    r"sorry|that(?:'s| is) (?:wrong|not right|incorrect|a mistake))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"\b(?:sa(?:y|ys|id)|wr(?:ite|ites|ote)|claim(?:s|ed)?|answered|repl(?:y|ies|ied)|slogan|insist(?:s|ed)?|"
    r"believ(?:e|es|ed)|thought|argued?)\b[^.!?\n]{0,60}[\"“‘']\s*$",
    re.IGNORECASE,
)
_OTHER_ARITHMETIC = re.compile(
    r"\b(?:binary|hexadecimal|hex|octal|base[- ](?:\d+|two|eight|sixteen|twelve)|modulo|modular|boolean|bitwise|"
    r"integer division|floor(?:ed)? division|floating[- ]point|javascript|in (?:C|C\+\+|Java|Python|Go|Rust|Ruby|"
    r"PHP)\b|xor|clock arithmetic|concatenat\w*|strings?)\b|\(mod\b|\bmod \d",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")


def is_asserted(text: str, start: int, end: int) -> bool:
    """False for what the text does not state as true: questions, suppositions, quotes, errors that it names."""
    before, after = text[max(0, start - 160) : start], text[end : end + 120]
    clause = before[max((match.end() for match in _SENTENCE_END.finditer(before)), default=0) :]
    next_end = _SENTENCE_END.search(after)
    return not (
        (next_end is not None and next_end[0] == "?")
        or _NOT_MEANT_BEFORE.search(clause)
        or _QUOTED.search(clause)
        or _CALLED_WRONG_AFTER.match(after)
        or _OTHER_ARITHMETIC.search(text, max(0, start - 240), min(len(text), end + 60))
    )
