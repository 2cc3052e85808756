"""Citations in brackets, raised numbers, and names in parentheses; brackets of data left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evidencerails.checks.citations.mark_addresses import address_of, is_address
from evidencerails.checks.citations.mark_authors import author_year
from evidencerails.checks.citations.mark_types import MAX_BRACKET, KnowsName, Mark, Ref

_BRACKET = re.compile(rf"\[\[?\s*([^\[\]\n]{{1,{MAX_BRACKET}}}?)\s*\]\]?|【\s*(\d{{1,4}})(?:†[^】\n]{{0,100}})?】")

_LABEL = (
    r"(?:sources?|refs?|references?|docs?|documents?|passages?|evidence|chunks?|citations?|cite|contexts?|"
    r"articles?|no|id)"
)

_NUMBER_ITEM = re.compile(
    rf"(?:{_LABEL}\s*[.:#]?\s*|\^|#)?(\d{{1,9}})(?:\s*(?:-|–|—|\.\.|to)\s*(?:{_LABEL}\s*)?(\d{{1,9}}))?", re.IGNORECASE
)

_LOCATION = re.compile(
    r"(?:,\s*|\s+|:\s*)(?:pp?|pages?|§+|sec|sections?|ch|chapters?|para|lines?)\.?\s*[\d–-]+$|†.*$", re.IGNORECASE
)

_PREFIX = re.compile(rf"(?:{_LABEL}|see|cf\.?|from|e\.g\.,?)\s*[:#]?\s+|{_LABEL}:", re.IGNORECASE)

_DATA_BEFORE = re.compile(
    r"(?:[=\[{<+\\]|\b(?:list|lists|array|vector|tuple|matrix|range|interval|set|sequence|values?|index|"
    r"indices|coordinates?|between|within|element|slice|input|output|returns?|prints?))\s*$",
    re.IGNORECASE,
)

_EDITORIAL = frozenset(
    """sic emphasis added mine ours omitted redacted note nb ed eds citation needed edit link image figure table todo
    tbd placeholder name date insert applause laughter inaudible unclear who when whom x""".split()  # noqa: SIM905
)

_YEARS = range(1500, 2101)


def brackets(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Citations in square brackets: numbers, ranges, ids, names."""
    for match in _BRACKET.finditer(text):
        inner = match[1] or match[2]
        refs = _bracket_refs(inner, knows)
        if refs and not _is_data(text, match, refs, knows):
            yield Mark(match.start(), match.end(), refs, ((match.start(), match.end()),))


def _bracket_refs(inner: str, knows: KnowsName) -> tuple[Ref, ...]:
    """What a bracket names; empty if it names nothing."""
    if knows(inner) and not _NUMBER_ITEM.fullmatch(inner):
        return (Ref("name", inner),)
    refs: list[Ref] = []
    for item in re.split(r"\s*[,;]\s*|\s+(?:and|&)\s+", _LOCATION.sub("", inner)):
        ref = _item_ref(item.strip(), knows)
        if ref is None:
            return ()
        refs.append(ref)
    return tuple(refs)


def _item_ref(item: str, knows: KnowsName) -> Ref | None:
    item = _LOCATION.sub("", item)
    number = _NUMBER_ITEM.fullmatch(item)
    if number:
        first = int(number[1])
        last = int(number[2]) if number[2] else first
        return Ref("number", item, min(first, last), max(first, last))
    if knows(item):
        return Ref("name", item)
    bare = _PREFIX.sub("", item, count=1)
    if bare != item and (is_address(bare) or knows(bare)):
        return address_of(bare) if is_address(bare) else Ref("name", bare)
    if author_year(item) is not None:
        return author_year(item)
    return Ref("name", bare) if _looks_like_id(bare) else None


def ref_of(name: str, knows: KnowsName) -> Ref:
    """What a bare name refers to: "2", "doc-3", "https://...", "Ortiz, 2019"; any other text is a name."""
    return address_of(name) if is_address(name) else _item_ref(name, knows) or Ref("name", name)


def _looks_like_id(item: str) -> bool:
    """True for what nothing else than an id looks like: no spaces, letters and digits or a file's ending."""
    if " " in item or len(item) < 2 or item.lower() in _EDITORIAL:
        return False
    has_both = re.search(r"\d", item) is not None and re.search(r"[^\W\d_]", item) is not None
    is_file = re.fullmatch(r"[\w./-]+\.(?:pdf|md|txt|html?|docx?|csv|json|xml)(?:#[\w-]+)?", item, re.IGNORECASE)
    return bool(is_file) or (has_both and re.fullmatch(r"\^?[\w.:/#-]+", item) is not None)


def _is_data(text: str, match: re.Match[str], refs: tuple[Ref, ...], knows: KnowsName) -> bool:
    """True for brackets that hold data: an index, a vector, an interval, a year that an editor put in."""
    numbers = [ref for ref in refs if ref.kind == "number"]
    if not numbers:
        return False
    before, after = text[max(0, match.start() - 24) : match.start()], text[match.end() : match.end() + 2]
    if len(numbers) == 1 and numbers[0].low in _YEARS and numbers[0].text.isdigit():
        return not knows(numbers[0].text)
    if after[:1] in ("(", "=") or (after[:1] == "[" and numbers[0].low == 0):
        return True
    if before[-1:] == "]":  # [1][2]: as the bracket before it
        return False
    if len(refs) > 1 or numbers[0].low == 0:
        is_data = _DATA_BEFORE.search(before) is not None
        return is_data or (numbers[0].low == 0 and len(refs) > 1) or (numbers[0].low == 0 and _is_attached(before))
    return _DATA_BEFORE.search(before) is not None or _is_index(before, after)


def _is_attached(before: str) -> bool:
    return before[-1:].isalnum() or before[-1:] == "_"


def _is_index(before: str, after: str) -> bool:
    """True for `items[3] is`, but not for `in Paris[3].` or `in Paris[3] and`."""
    word = re.search(r"[\w.]+$", before)
    if word is None:
        return False
    is_code_name = re.search(r"_|\w\.\w|^[a-z]$|^arr|[a-z][A-Z]", word[0].rstrip(".")) is not None
    return is_code_name or (after[:1] == "." and after[1:2].isalpha())


_RAISED = r"[¹²³⁴-⁹][⁰¹²³⁴-⁹]{0,2}"

_SUPERSCRIPT = re.compile(
    rf"(?:(?<=[.,;:!?)”\"])|(?<=[^\W\d_]{{3}})){_RAISED}(?:[⁻˒, ]{{0,2}}{_RAISED}){{0,8}}(?![\w⁰¹²³⁴-⁹])"
)

_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def superscripts(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Raised numbers behind a word or a full stop; not those of a unit, "km²"."""
    for match in _SUPERSCRIPT.finditer(text):
        numbers = re.findall(r"[⁰¹²³⁴-⁹]+", match[0])
        refs = tuple(
            Ref("number", n.translate(_DIGITS), int(n.translate(_DIGITS)), int(n.translate(_DIGITS))) for n in numbers
        )
        yield Mark(match.start(), match.end(), refs, (match.span(),))


_IN_PARENTHESES = re.compile(
    r"\((?:(?P<labelled>(?:sources?|refs?|references?|cited from|citing|quoted from|via)\s*:\s*[^()\n]{1,200})"
    r"|(?P<id>[\w.:/#-]{2,60}))\)",
    re.IGNORECASE,
)

_SOURCE_LABEL = re.compile(r"^[^:]{1,20}:\s*")


def named_in_parentheses(text: str, knows: KnowsName) -> Iterator[Mark]:
    """Whatever stands behind "Source:" is meant as a source; alone between parentheses only the id of one is."""
    for match in _IN_PARENTHESES.finditer(text):
        if match["id"] and (match["id"].isdigit() or not knows(match["id"])):
            continue
        named = match["id"] or _SOURCE_LABEL.sub("", match["labelled"])
        items = [item.strip() for item in named.split(";") if item.strip()]
        refs = tuple(ref_of(item, knows) for item in items)
        if refs:
            yield Mark(match.start(), match.end(), refs, ((match.start(), match.end()),))
