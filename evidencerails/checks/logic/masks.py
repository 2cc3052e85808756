"""What of a text is not read as arithmetic: code, addresses, versions, telephone numbers, dates, times."""

from __future__ import annotations

import re

from evidencerails.text.claimable import without_reasoning

HIDDEN = "\x1f"
"""Stands for each character that is not read; it ends every expression."""
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_LONG_RUN = re.compile(r"[!-~]{300,}|\d{300,}")
"""No word and no number that anybody reads is so long; patterns would take quadratic time on it."""
_INLINE_CODE = re.compile(r"(`{1,2})([^`\n]{1,400})\1(?!`)")
_BARE_EQUATION = re.compile(r"[\d\s.,+*/()^×÷−–$€£%-]+=[\s$€£]*-?[\d.,]+%?\s*")
_ALWAYS = re.compile(
    r"""
    https?://\S+ | www\.\S+ | [\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}
    | </?[A-Za-z][^<>\n]{0,200}>
    | \b[vV]\.?\d+(?:\.\d+)*\b
    | (?<![\d.])(?!\d{1,3}(?:\.\d{3})+(?![\d.]))\d+(?:\.\d+){2,}(?![\d.]*\d)
    | (?<!\w)\#\d+
    """,
    re.VERBOSE,
)
_NOT_ARITHMETIC = re.compile(
    r"""
    (?<![\d-])\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?![\d-])
    | (?<![\d/])\d{1,2}/\d{1,2}/\d{2,4}(?![\d/])
    | (?<![\d:])\d{1,2}:\d{2}(?::\d{2})?(?![\d:])(?:\s?[ap]\.?m\.?\b)?
    | \+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,6}(?!\s*[=≈\d])
    | \(\d{3}\)\s?\d{3}[-.\s]\d{4}\b
    | (?<![\d.,-])\d+(?:-\d+){2,}(?!\s*[=≈\d])
    | (?<![\d.,-])\d{3}-\d{4}(?!\s*[=≈\d-])
    """,
    re.VERBOSE,
)
_FOOTNOTE = re.compile(r"\[\^?\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]")


def masked(text: str, *, keeps_dates: bool = False) -> str:
    """The text with all that is not read hidden, as long as before; footnote marks become blanks.

    `keeps_dates` leaves dates and times readable.
    """
    shown = [HIDDEN] * len(text)
    for span in without_reasoning(text):
        shown[span.start : span.end] = span.text
    text = "".join(shown)
    text = _LONG_RUN.sub(_hidden, text)
    text = _FENCED.sub(_hidden, text)
    text = _INLINE_CODE.sub(_hidden_unless_equation, text)
    text = _ALWAYS.sub(_hidden, text)
    if not keeps_dates:
        text = _NOT_ARITHMETIC.sub(_hidden, text)
    return _FOOTNOTE.sub(lambda match: " " * len(match[0]), text)


def _hidden(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", HIDDEN, match[0])


def _hidden_unless_equation(match: re.Match[str]) -> str:
    """Models put formulas in backticks too; `x = 5` and other code they are not."""
    if _BARE_EQUATION.fullmatch(match[2]) and "==" not in match[2]:
        return " " * len(match[1]) + match[2] + " " * len(match[1])
    return _hidden(match)
