"""Ticker symbols: with a dollar sign, behind the name of an exchange, or called a symbol or stock."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.knowledge.entities import Entity, without_overlaps

_SYMBOL = r"[A-Z]{1,5}(?:\.[A-Z]{1,2})?"
_EXCHANGES = (
    "NASDAQ|Nasdaq|NYSE(?: American| Arca)?|AMEX|OTC(?:MKTS|QB|QX)?|LSE|TSX(?:V)?|ASX|HKEX|SEHK|XETRA|FRA|ETR|SIX|EPA"
    "|AMS|TSE|NSE|BSE|SGX"
)
_CALLED = (
    r"(?:ticker symbol|stock symbol|ticker|symbol|trad(?:es|ed|ing) (?:as|under))(?:s| of| is|:| the symbol){0,2}:?"
)
_PATTERNS = (
    re.compile(rf"(?<![\w$])\$(?P<symbol>{_SYMBOL})\b(?!\$)"),
    re.compile(rf"\b(?:{_EXCHANGES}) ?: ?(?P<symbol>{_SYMBOL}|\d{{3,6}})\b"),
    re.compile(rf"\b{_CALLED} [\"“'(]?(?P<symbol>{_SYMBOL})\b"),
    re.compile(r"\b(?P<symbol>[A-Z]{2,5}(?:\.[A-Z])?) (?:stock|shares|share price|common stock|puts|calls|options)\b"),
    re.compile(r"\b(?:shares|stock|units) (?:of|in) (?P<symbol>[A-Z]{3,5}(?:\.[A-Z])?)\b(?! [A-Z][a-z])"),
)
_NO_SYMBOL = frozenset(
    """US USA UK EU IPO CEO CFO ETF SEC GDP API AI IT THE AND TECH USD EUR GBP ESG FDA NASDAQ NYSE""".split()  # noqa: SIM905
)


def tickers(text: str) -> Iterator[Entity]:
    """The ticker symbols that a text names."""
    found = []
    for place, pattern in enumerate(_PATTERNS):
        for match in pattern.finditer(text):
            if place < 2 or match["symbol"] not in _NO_SYMBOL:
                found.append(Entity("tickers", *match.span("symbol"), match["symbol"]))
    yield from without_overlaps(found)
