"""Extractors of your own: drugs, statutes and cases, and ticker symbols, for the check `knowledge`.

    knowledge:
      sources: {labels: {kind: csv, path: labels.csv}}
      entities:
        drugs: {sources: [labels], function: "entity_extractors:drugs", severity: critical, match: folded}

An extractor gets the text and yields (start, end) pairs. Run this file to see what each of them finds.
"""

# ruff: noqa: SIM905
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

Found = tuple[int, int]


def _without_overlaps(found: Iterable[Found]) -> list[Found]:
    """In order of place; of two that overlap, the one that begins first, the longer if they begin together."""
    kept: list[Found] = []
    for start, end in sorted(found, key=lambda f: (f[0], -f[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


# Drugs: names with an INN stem, and words that are given as a dose or called a drug. The stems are those of the World
# Health Organization's "The use of stems in the selection of International Nonproprietary Names" (2018 edition) that
# end a name and no common English word.
_STEMS = (
    "mab|statin|sartan|dipine|olol|azole|cillin|mycin|micin|cycline|floxacin|ciclovir|buvir|previr|tegravir|navir|asvir|"
    "tinib|ciclib|rafenib|parib|zomib|prazole|tidine|setron|triptan|gliptin|gliflozin|glutide|glitazone|gliclazide|"
    "glinide|azepam|azolam|zodone|oxetine|traline|apine|peridone|piprazole|barbital|profen|coxib|fenac|oxicam|parin|"
    "xaban|gatran|grel|lukast|terol|tropium|sonide|olone|metasone|dronate|thiazide|semide|lactone|curium|curonium|"
    "caine|flurane|fentanil|vaptan|gepant|orexant|bactam|penem|oxacin|cef\\w{3,9}|sulfa\\w{4,12}|\\w{3,10}afil|"
    "\\w{3,10}pril|\\w{3,10}prilat|\\w{3,12}formin|\\w{4,12}rubicin|\\w{3,12}taxel|\\w{3,12}platin|\\w{3,12}bicin"
)
_BY_STEM = re.compile(rf"\b(?:cef[a-z]{{3,9}}|sulfa[a-z]{{4,12}}|[A-Za-z][a-z]{{1,18}}(?:{_STEMS}))\b", re.IGNORECASE)
_UNIT = r"(?:mg|mcg|µg|μg|milligrams?|micrograms?)(?:/(?:kg|day|ml|mL|d))?"
_AMOUNT = rf"\d+(?:[.,]\d+)?(?:[-–]\d+)? ?{_UNIT}"
_BEFORE_DOSE = re.compile(rf"\b(?P<name>[A-Za-z][a-z]{{4,24}}(?:[ -][a-z]{{5,20}})?),?(?: \(?at| in)? \(?{_AMOUNT}\b")
_AFTER_DOSE = re.compile(rf"\b{_AMOUNT} (?:of )?(?:oral |intravenous |IV )?(?P<name>[A-Za-z][a-z]{{4,24}})\b")
_BY_CALL = re.compile(
    r"\b(?:drug|medication|medicine|antibiotic|antidepressant|antiviral|anticoagulant|opioid|vaccine|statin)s?"
    r"(?:,? (?:called|named|known as|such as))? (?P<name>[A-Z][a-z]{4,24})\b"
)
_NO_DRUG = frozenset(
    """profen dose doses dosage daily tablet tablets capsule capsules about approximately above below under over least
    most than maximum minimum total contains containing contain taking take takes given receive received with every
    after before between during adults children patients patient sodium calcium potassium magnesium iron protein sugar
    caffeine water alcohol vitamin weight limit limits intake levels level cholesterol glucose starting initial usual
    recommended typical single maintenance loading which would should could their these those other another increase
    increased reduce reduced exceed exceeding averaged around nearly roughly exactly only cocaine novel chocolate
    scheduled hospital carbon dioxide lithium serving salt fibre fiber acetone twice once three times nightly tonight
    today first orally morning evening until while again instead""".split()
)
_NO_NAME = ("ly", "ed", "ing")
"""Ends of adverbs and verbs before a dose: "usually started at 5 mg"."""


def drugs(text: str) -> Iterator[Found]:
    """The drugs that a text names."""
    found = [match.span() for match in _BY_STEM.finditer(text)]
    for pattern in (_BEFORE_DOSE, _AFTER_DOSE, _BY_CALL):
        for match in pattern.finditer(text):
            start, end = match.span("name")
            words = match["name"].split()
            while words and words[0].lower() in _NO_DRUG:
                start += len(words.pop(0)) + 1
            if words and not any(word.lower() in _NO_DRUG or word.endswith(_NO_NAME) for word in words):
                found.append((start, end))
    yield from _without_overlaps((start, end) for start, end in found if text[start:end].lower() not in _NO_DRUG)


_SECTION = r"\d+[a-zA-Z]{0,2}(?:[.–-]\d+[a-zA-Z]?)*(?:\([\w]{1,4}\))*"
_WORDS = (
    r"[A-Z][\w'’&-]{0,40}(?:,? (?:of|and|for|the|on|in|to|with|against|[A-Z][\w'’&-]{0,40}|\([A-Z][\w ]{2,40}\))){0,14}"
)
_PARTY = r"\b[A-Z][\w.'’&-]{0,40}(?: (?:of|the|and|[A-Z][\w.'’&-]{0,40})){0,5}"
_REPORTER = r"(?:U\.S\.|F\.[23]d|F\.4th|F\. Supp\.(?: [23]d)?|S\. ?Ct\.)"
_STATUTES = (
    re.compile(rf"\b\d{{1,2}} ?(?:U\. ?S\. ?C\.|USC|C\. ?F\. ?R\.|CFR)(?: ?§{{1,2}})? ?(?:§ ?)?{_SECTION}"),
    re.compile(
        rf"(?:§{{1,2}} ?|\b(?:Sections?|Sec\.|Articles?|Art\.) ){_SECTION}(?:,? of)?(?: the)?"
        rf" (?:{_WORDS} (?:Act|Code|Law|Constitution|Ordinance|Statute)(?:,? (?:of )?\d{{4}})?"
        rf"|GDPR|BGB|StGB|HGB|GG|ZPO|UCC|FRCP|TFEU|ECHR|EPC|OR|ZGB)\b"
    ),
    re.compile(rf"\b(?:{_WORDS} )(?:Act|Ordinance)(?:,? of)?,? \d{{4}}\b"),
    re.compile(
        r"\b(?:Directive|Regulation|Decision)(?: \((?:EU|EC|EEC)\))?(?: No\.?)? \d{2,4}/\d{1,4}(?:/(?:EU|EC|EEC))?\b"
    ),
    re.compile(r"\b(?:Public Law|Pub\. ?L\.)(?: No\.)? \d{2,3}[-–]\d{1,4}\b"),
    re.compile(
        rf"{_PARTY} v\.? {_PARTY}(?:, \d{{1,4}} {_REPORTER} \d{{1,5}}(?: \([\w. ]{{0,20}}\d{{4}}\))?| \(\d{{4}}\))"
    ),
)
_LEAD = re.compile(
    r"^(?:(?:The|This|That|Under|In|By|Since|As|With|According to|Pursuant to|Per|See|Both|Although|While|However,?"
    r"|Its?|And|But|For|If|When|Because|After|Before|Unlike|Like) )+(?:the )?"
)


def statutes(text: str) -> Iterator[Found]:
    """The statutes and cases that a text names, without the words that lead to them."""
    found = []
    for pattern in _STATUTES:
        for match in pattern.finditer(text):
            lead = _LEAD.match(match[0])
            start = match.start() + (lead.end() if lead else 0)
            found.append((start, match.end()))
    yield from _without_overlaps(found)


_SYMBOL = r"[A-Z]{1,5}(?:\.[A-Z]{1,2})?"
_EXCHANGES = (
    "NASDAQ|Nasdaq|NYSE(?: American| Arca)?|AMEX|OTC(?:MKTS|QB|QX)?|LSE|TSX(?:V)?|ASX|HKEX|SEHK|XETRA|FRA|ETR|SIX|EPA"
    "|AMS|TSE|NSE|BSE|SGX"
)
_CALLED = (
    r"(?:ticker symbol|stock symbol|ticker|symbol|trad(?:es|ed|ing) (?:as|under))(?:s| of| is|:| the symbol){0,2}:?"
)
_TICKERS = (
    re.compile(rf"(?<![\w$])\$(?P<symbol>{_SYMBOL})\b(?!\$)"),
    re.compile(rf"\b(?:{_EXCHANGES}) ?: ?(?P<symbol>{_SYMBOL}|\d{{3,6}})\b"),
    re.compile(rf"\b{_CALLED} [\"“'(]?(?P<symbol>{_SYMBOL})\b"),
    re.compile(r"\b(?P<symbol>[A-Z]{2,5}(?:\.[A-Z])?) (?:stock|shares|share price|common stock|puts|calls|options)\b"),
    re.compile(r"\b(?:shares|stock|units) (?:of|in) (?P<symbol>[A-Z]{3,5}(?:\.[A-Z])?)\b(?! [A-Z][a-z])"),
)
_NO_SYMBOL = frozenset(
    """US USA UK EU IPO CEO CFO ETF SEC GDP API AI IT THE AND TECH USD EUR GBP ESG FDA NASDAQ NYSE""".split()
)


def tickers(text: str) -> Iterator[Found]:
    """The ticker symbols that a text names."""
    found = []
    for place, pattern in enumerate(_TICKERS):
        for match in pattern.finditer(text):
            if place < 2 or match["symbol"] not in _NO_SYMBOL:
                found.append(match.span("symbol"))
    yield from _without_overlaps(found)


if __name__ == "__main__":
    TEXT = (
        "Take 20 mg of zolmitrexan. Section 12 of the Data Protection Act 2018 applies. $AAPL rose; so did NYSE: BRK.B."
    )
    for extractor in (drugs, statutes, tickers):
        print(extractor.__name__, [TEXT[start:end] for start, end in extractor(TEXT)])
