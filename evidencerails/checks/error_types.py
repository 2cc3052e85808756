"""What kind of error an unsupported claim makes, where a comparison with its evidence shows it.

The ten types are HalluMeasure's. Rules decide six of them: `number`, `temporal`, `entity`, `overgeneralization`,
`hyperbole`, `attribution_failure`. The other types need an understanding of the text: the LLM classifier names them.
`other` says that no rule saw the error. A claim may have several types.

First the values of the claim that the whole evidence lacks are looked for; only if there are none, values that the
evidence has, but in other places than the sentence that the claim repeats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from functools import partial
from typing import TypeVar

from evidencerails.checks.wording import WORD, Evidence, Sentence, read_evidence, stems_of, worded_errors
from evidencerails.measures.lexical import stem_of
from evidencerails.report import ErrorType, Label
from evidencerails.text.same_values import in_units_of, names_another
from evidencerails.text.temporal import TemporalExpression, masked
from evidencerails.text.values import Name, Quantity, Values, bare_word, is_function_word, is_title, values_of

MIN_SHARED = 0.5
"""Least part of a claim's other content words that a sentence must share to be the one that the claim repeats."""
APPROXIMATELY = 0.1
"""How far a number said to be approximate may lie from the evidence's."""
MIN_REPEATED = 0.6
"""Part of the claim's words that a sentence repeats in their order if what differs is a replacement."""
MAX_REPLACED_WORDS = 5

_V = TypeVar("_V", Quantity, TemporalExpression)
_ORDER: tuple[ErrorType, ...] = (
    "number", "temporal", "entity", "attribution_failure", "overgeneralization", "hyperbole", "false_concatenation",
    "reasoning", "context_based_meaning", "other",
)  # fmt: skip


def error_types(claim_text: str, evidence_text: str, label: Label) -> tuple[ErrorType, ...]:
    """Types of the error that a claim with this label makes against its evidence, in a fixed order.

    Empty for `supported` and `unevaluatable`; `("other",)` if no rule sees the error. Blocks: long evidence takes some
    milliseconds for each 10 kB, once.
    """
    if label in ("supported", "unevaluatable"):
        return ()
    claim_text = in_units_of(claim_text, (evidence_text,))
    evidence = read_evidence(evidence_text)
    values = values_of(claim_text)
    nearest = evidence.nearest(claim_text, values)
    found = (
        _lacking(claim_text, values, evidence, nearest)
        or _misplaced(claim_text, values, evidence, nearest)
        or _slightly_off(values, nearest)
    )
    if names_another(claim_text, nearest.text):
        found.add("entity")
    found |= worded_errors(claim_text, evidence, nearest, found)
    return tuple(name for name in _ORDER if name in found) or ("other",)


# ---- values that the evidence lacks, or has in another place


def _lacking(claim: str, values: Values, evidence: Evidence, nearest: Sentence) -> set[ErrorType]:
    """Types of the values that the whole evidence lacks."""
    found: set[ErrorType] = set()
    if any(not _has_quantity(q, evidence.values.quantities, evidence) for q in values.quantities):
        found.add("number")
    if any(not _has_temporal(m, evidence.values.temporal) for m in values.temporal):
        found.add("temporal")
    if any(not _has_name(name, evidence, values, nearest) for name in values.names):
        found.add("entity")
    return found


def _misplaced(claim: str, values: Values, evidence: Evidence, nearest: Sentence) -> set[ErrorType]:
    """Types of the values that the nearest sentence has otherwise, though they stand elsewhere in the evidence."""
    found: set[ErrorType] = set()
    if _shared(claim, values, nearest) < MIN_SHARED:
        return found
    there = nearest.values
    has = partial(_has_quantity, evidence=None)
    if _differ(values.quantities, there.quantities, has, lambda a, b: a.kind == b.kind):
        found.add("number")
    if _recounted(values.quantities, evidence.values.quantities):
        found.add("number")
    if _differ(values.temporal, there.temporal, _has_temporal, lambda a, b: a.part == b.part):
        found.add("temporal")
    if _other_names(claim, values, nearest, evidence):
        found.add("entity")
    return found


def _slightly_off(values: Values, nearest: Sentence) -> set[ErrorType]:
    """`number` if the nearest sentence has another number where the claim's was excused as approximate or idiomatic."""
    there = nearest.values.quantities
    found = any(
        not any(_kinds_agree(q, o) and q.value == o.value for o in there) and any(o.kind == q.kind for o in there)
        for q in values.quantities
    )
    return {"number"} if found else set()


def _differ(ours: Iterable[_V], theirs: tuple[_V, ...], has: Callable[..., bool], alike: Callable[..., bool]) -> bool:
    """True if one of our values is missing there while a value of its kind stands there in its place."""
    ours = list(ours)
    spare = [other for other in theirs if not has(other, tuple(ours))]
    return any(not has(value, theirs) and any(alike(value, other) for other in spare) for value in ours)


def _recounted(ours: tuple[Quantity, ...], theirs: tuple[Quantity, ...]) -> bool:
    """True if the evidence counts the same things, and never comes to the claim's number."""
    for quantity in ours:
        same = [o for o in theirs if quantity.unit and o.unit == quantity.unit and o.kind == quantity.kind]
        if same and not any(_same_quantity(quantity, other) for other in same):
            return True
    return False


def _has_quantity(quantity: Quantity, there: tuple[Quantity, ...], evidence: Evidence | None) -> bool:
    if quantity.kind == "ordinal" and quantity.value == 1.0 and not any(other.kind == "ordinal" for other in there):
        return True  # "first" is as often an adverb as a number
    if quantity.kind == "count" and quantity.value in (1.0, 2.0) and evidence is not None:
        words = (
            ("a", "an", "single", "one", "the")
            if quantity.value == 1.0
            else ("both", "two", "pair", "couple", "double", "twin")
        )
        if any(word in evidence.words for word in words):
            return True
    return any(_same_quantity(quantity, other) for other in there)


def _same_quantity(a: Quantity, b: Quantity) -> bool:
    if not _kinds_agree(a, b):
        return False
    if a.value == b.value or abs(a.value - b.value) <= 1e-9 * max(abs(a.value), abs(b.value)):
        return True
    if a.kind in ("score", "ordinal", "vague"):
        return False
    if a.is_approximate or b.is_approximate:
        return abs(a.value - b.value) <= APPROXIMATELY * max(abs(a.value), abs(b.value))
    return False


def _kinds_agree(a: Quantity, b: Quantity) -> bool:
    """True if the two numbers may stand for the same thing; a bare number agrees with most."""
    if a.kind == b.kind:
        return a.kind not in ("money", "measure") or a.unit == b.unit
    special = {"ordinal", "score", "vague", "percent"}
    if a.kind in special or b.kind in special:
        return False
    count = a if a.kind == "count" else b
    return "count" in (a.kind, b.kind) and not count.unit  # "six points" is not six years


def _has_temporal(moment: TemporalExpression, there: tuple[TemporalExpression, ...]) -> bool:
    same = {other.value for other in there if other.part == moment.part}
    if moment.value in same:
        return True
    if moment.part == "date":
        dates = [other.value.split("|") for other in there if other.part == "date"]
        return not dates or any(
            all(not a or not b or a == b for a, b in zip(moment.value.split("|"), date, strict=True)) for date in dates
        )
    years = [int(re.sub(r"\D", "", other.value)) for other in there if other.part == "year" and "bc" not in other.value]
    if moment.part == "decade":
        return any(year // 10 == int(moment.value) // 10 for year in years)
    if moment.part == "century":
        return any((year - 1) // 100 + 1 == int(moment.value) for year in years)
    if moment.part == "time":
        return moment.value.replace(":00", "") in {v.replace(":00", "") for v in same}
    if moment.part in ("relative", "season", "pace"):
        return not same  # with nothing of its kind to compare it with, it is a way of speaking
    return False


def _has_name(name: Name, evidence: Evidence, values: Values, nearest: Sentence) -> bool:
    words = [word for word in name.words if not is_title(word)] or list(name.words)
    missing = [word for word in words if not _known_word(word, evidence)]
    if not missing:
        return True
    if len(missing) == len(words) and "".join(word[0] for word in words) in evidence.acronyms.values():
        return True
    if len(words) == 1 and words[0] in evidence.acronyms:
        return True
    if name.is_initial and missing == [name.words[0]]:  # a capital at the beginning of a sentence says nothing
        return not (len(words) == 1 and _stands_for_a_name(name, evidence, values, nearest)) and not (
            len(words) > 1 and _is_replaced(words, missing, evidence)
        )
    is_prefix = words[: len(missing)] == missing and len(missing) < len(words)
    if is_prefix and all(word in evidence.capitalised for word in words[len(missing) :]):
        # "Michael Brown" where the evidence has "Brown" alone is no error
        return not _is_replaced(words, missing, evidence)
    return _is_ordinary(missing)


def _known_word(word: str, evidence: Evidence) -> bool:
    if word in evidence.words or stem_of(word) in evidence.stems or word in evidence.acronyms:
        return True
    parts = re.split(r"[-'/]", word)
    if len(parts) > 1 and all(len(p) < 2 or p in evidence.words or stem_of(p) in evidence.stems for p in parts):
        return True
    return any(_is_derived(word, other) for other in evidence.capitalised)


def _is_derived(a: str, b: str) -> bool:
    """True for a country and its adjective and the like: "Germany", "German"."""
    short, long = sorted((a, b), key=len)
    need = max(4, len(short) - 1)
    return len(short) < len(long) <= len(short) + 3 and len(short) >= 4 and short[:need] == long[:need]


def _is_ordinary(missing: list[str]) -> bool:
    """True for capitalised words that are no names of their own."""
    return all(is_title(word) or is_function_word(word) for word in missing)


def _is_replaced(words: list[str], missing: list[str], evidence: Evidence) -> bool:
    """True if the evidence has another word before the part of the name that it knows."""
    known = words[-1] if words[-1] not in missing else next((word for word in words if word not in missing), None)
    if known is None:
        return False
    before = {
        name.words[place - 1]
        for name in evidence.values.names
        for place, word in enumerate(name.words)
        if word == known and place > 0 and not is_title(name.words[place - 1])
    }
    after = {
        name.words[place + 1]
        for name in evidence.values.names
        for place, word in enumerate(name.words[:-1])
        if word == known
    }
    is_last = words[-1] == known
    return bool(before - set(words)) if is_last else bool(after - set(words))


_COMMON_ENDINGS = (
    "tion",
    "ment",
    "ness",
    "ings",
    "ing",
    "ers",
    "ists",
    "ities",
    "ity",
    "ism",
    "ly",
    "ance",
    "ence",
    "ors",
    "ees",
)
_COMMON_NOUNS = frozenset(
    """police people officials authorities men women children doctors experts scientists coffee critics sales""".split()  # noqa: SIM905
)


def _stands_for_a_name(name: Name, evidence: Evidence, values: Values, nearest: Sentence) -> bool:
    """True if the first word of a sentence, unknown to the evidence, takes the place of a name there."""
    word = name.words[0]
    if word in _COMMON_NOUNS or word.endswith(_COMMON_ENDINGS) or is_function_word(word):
        return False
    ours = {w for other in values.names for w in other.words}
    return any(
        not other.is_initial or len(other.words) > 1 or other.words[0] not in ours
        for other in _unmatched(nearest, ours)
    )


def _unmatched(nearest: Sentence, ours: set[str]) -> list[Name]:
    """Names of the sentence of which the claim has no word."""
    return [
        name
        for name in nearest.values.names
        if not any(word in ours or any(_is_derived(word, our) for our in ours) for word in name.words)
    ]


def _other_names(claim: str, values: Values, nearest: Sentence, evidence: Evidence) -> bool:
    """True if a name of the claim is missing in the nearest sentence, which has another name the claim lacks."""
    names = values.names
    claim_words = {bare_word(word) for word in WORD.findall(claim)}
    sentence_words = {bare_word(word) for word in WORD.findall(nearest.text)}
    missing = [n for n in names if not n.is_initial and not any(word in sentence_words for word in n.words)]
    missing += [
        n
        for n in names
        if n.is_initial and n.words[0] in evidence.capitalised and not any(w in sentence_words for w in n.words)
    ]
    if missing and _unmatched(nearest, claim_words):
        return True
    return _has_replaced_name(claim, nearest, evidence) or (not missing and _is_reordered(names, nearest))


def _has_replaced_name(claim: str, nearest: Sentence, evidence: Evidence) -> bool:
    """True if, read word by word, the claim has another name in the place of one of the sentence's."""
    ours, theirs = WORD.findall(claim), WORD.findall(nearest.text)
    matcher = SequenceMatcher(a=[w.lower() for w in theirs], b=[w.lower() for w in ours], autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < MIN_REPEATED * len(ours):
        return False
    return any(
        tag == "replace"
        and max(a2 - a1, b2 - b1) <= MAX_REPLACED_WORDS
        and _has_name_word(ours[b1:b2], evidence, is_first=b1 == 0)
        and _has_name_word(theirs[a1:a2], evidence, is_first=a1 == 0)
        for tag, a1, a2, b1, b2 in matcher.get_opcodes()
    )


def _has_name_word(words: list[str], evidence: Evidence, *, is_first: bool) -> bool:
    found = (word for word in words if not is_function_word(word.lower()))
    return any(
        bare_word(word) in evidence.capitalised or (word[0].isupper() and not (is_first and word == words[0]))
        for word in found
    )


def _is_reordered(names: Iterable[Name], nearest: Sentence) -> bool:
    """True if claim and sentence have the same names in another order: who beat whom."""
    ours = [name.words[-1] for name in names]
    theirs = [name.words[-1] for name in nearest.values.names if name.words[-1] in ours]
    return len(ours) > 1 and len(set(ours)) == len(ours) and sorted(ours) == sorted(theirs) and ours != theirs


def _shared(claim: str, values: Values, nearest: Sentence) -> float:
    """Part of the claim's content words, its values aside, that the sentence has too."""
    stems = stems_of(masked(claim, [(value.start, value.end) for group in values for value in group]))
    return len(stems & nearest.stems) / len(stems) if stems else 1.0
