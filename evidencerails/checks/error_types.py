"""What kind of error an unsupported claim makes, where a comparison with its evidence shows it.

The ten types are HalluMeasure's. Rules decide six of them: `number`, `temporal`, `entity`, `overgeneralization`,
`hyperbole`, `attribution_failure`. The other types need an understanding of the text: the LLM classifier names them.
`other` says that no rule saw the error. A claim may have several types.

First the values of the claim that the whole evidence lacks are looked for; only if there are none, values that the
evidence has, but in other places than the sentence that the claim repeats. The lists of words are short: a synonym that
is in none of them leaves the type `other`, never a wrong one.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from evidencerails.nli.windows import stems_of
from evidencerails.report import ErrorType, Label
from evidencerails.text.same_values import in_units_of
from evidencerails.text.sentences import split_sentences
from evidencerails.text.temporal import TemporalExpression, masked
from evidencerails.text.values import Quantity, Values, bare_word, is_function_word, values_of

APPROXIMATELY = 0.1
"""How far a number said to be approximate may lie from the evidence's."""
MIN_SHARED = 0.5
"""Least part of a claim's content words, its values aside, that a sentence must share to be the one it repeats."""
MIN_REPEATED = 0.6
"""Part of the claim's words that a sentence repeats in their order if what differs is a replacement."""
MAX_REPLACED_WORDS = 5
CACHED_EVIDENCES = 8

_ORDER: tuple[ErrorType, ...] = (
    "number", "temporal", "entity", "attribution_failure", "overgeneralization", "hyperbole", "false_concatenation",
    "reasoning", "context_based_meaning", "other",
)  # fmt: skip
_WORD = re.compile(r"[^\W_](?:[\w'’.&-]*\w)?")


def error_types(claim_text: str, evidence_text: str, label: Label) -> tuple[ErrorType, ...]:
    """Types of the error that a claim with this label makes against its evidence, in a fixed order.

    Empty for `supported` and `unevaluatable`; `("other",)` if no rule sees the error. Blocks: long evidence takes some
    milliseconds for each 10 kB, once.
    """
    if label in ("supported", "unevaluatable"):
        return ()
    claim = in_units_of(claim_text, (evidence_text,)) if values_of(claim_text).quantities else claim_text
    evidence, values = _read(evidence_text), values_of(claim)
    nearest = evidence.nearest(claim, values)
    found = _lacking(values, evidence) or _misplaced(claim, values, evidence, nearest)
    if not found and _is_shifted_in_time(claim, nearest):
        found.add("temporal")
    if _UNIVERSAL.search(claim) and _is_overgeneral(claim, nearest):
        found.add("overgeneralization")
    if (strong := _STRONG.findall(claim)) and _is_hyperbolic(strong, evidence, nearest):
        found.add("hyperbole")
    if (speaker := _speaker(claim)) and _is_misattributed(claim, speaker, evidence, nearest):
        found.add("attribution_failure")
    return tuple(name for name in _ORDER if name in found) or ("other",)


# ---- the evidence, read once


class _Sentence(NamedTuple):
    """One sentence of the evidence."""

    text: str
    stems: frozenset[str]
    words: frozenset[str]


class _Evidence:
    """A text that claims are compared with, read once for all of them."""

    def __init__(self, text: str) -> None:
        self.values = values_of(text)
        self.lower = text.lower()
        self.words = _words_of(text)
        self.stems = stems_of(text)
        self.capitalised = frozenset(word for name in self.values.names if not name.is_initial for word in name.words)
        texts = [span.text for span in split_sentences(text)]
        self._sentences = [_Sentence(one, stems_of(one), _words_of(one)) for one in texts]
        self._counts = Counter(stem for sentence in self._sentences for stem in sentence.stems)

    def nearest(self, claim: str, values: Values) -> _Sentence:
        """The sentence that shares the most distinctive words with the claim; a name, which may be the very error,
        counts half."""
        names = stems_of(" ".join(word for name in values.names for word in name.words))
        wanted = stems_of(claim) & self._counts.keys()
        weights = {stem: (0.5 if stem in names else 1.0) / self._counts[stem] for stem in wanted}
        empty = _Sentence("", frozenset(), frozenset())
        return max(self._sentences, key=lambda one: sum(weights[s] for s in wanted & one.stems), default=empty)


_read = lru_cache(maxsize=CACHED_EVIDENCES)(_Evidence)


def _words_of(text: str) -> frozenset[str]:
    return frozenset(bare_word(word) for word in _WORD.findall(text))


# ---- values that the evidence lacks, or has in another place


def _lacking(own: Values, evidence: _Evidence) -> set[ErrorType]:
    """Types of the values that the whole evidence lacks."""
    found: set[ErrorType] = set()
    if any(not _has_quantity(q, evidence.values.quantities) for q in own.quantities):
        found.add("number")
    if any(not _has_temporal(m, evidence.values.temporal) for m in own.temporal):
        found.add("temporal")
    # A capital at the beginning of a sentence says nothing.
    words = [word for name in own.names if not name.is_initial for word in name.words]
    for name in (name for name in own.names if name.is_initial and len(name.words) > 1):
        words += name.words[1:] if name.words[0].endswith("ing") else name.words
    if any(word not in evidence.words for word in words):
        found.add("entity")
    return found


def _misplaced(claim: str, own: Values, evidence: _Evidence, nearest: _Sentence) -> set[ErrorType]:
    """Types of the values that the nearest sentence has otherwise, though they stand elsewhere in the evidence."""
    stems = stems_of(masked(claim, [(one.start, one.end) for some in own for one in some]))
    if len(stems & nearest.stems) < MIN_SHARED * len(stems):
        return set()
    found: set[ErrorType] = set()
    there, words = values_of(nearest.text), _words_of(claim)
    numbers = {o.kind for o in there.quantities if not _has_quantity(o, own.quantities, is_exact=True)}
    if any(q.kind in numbers and not _has_quantity(q, there.quantities, is_exact=True) for q in own.quantities):
        found.add("number")
    if any(_is_recounted(quantity, evidence.values.quantities) for quantity in own.quantities):
        found.add("number")
    dates = {o.part for o in there.temporal if not _has_temporal(o, own.temporal)}
    if any(m.part in dates and not _has_temporal(m, there.temporal) for m in own.temporal):
        found.add("temporal")
    names = [name for name in own.names if not name.is_initial and not any(w in nearest.words for w in name.words)]
    if names and any(not any(word in words for word in name.words) for name in there.names):
        found.add("entity")
    if not found and (_has_replaced_name(claim, nearest, evidence) or _is_reordered(own, there)):
        found.add("entity")
    return found


def _is_recounted(own: Quantity, theirs: tuple[Quantity, ...]) -> bool:
    """True if the evidence counts the same things, and never comes to the claim's number."""
    same = [one for one in theirs if own.unit and one.unit == own.unit and one.kind == own.kind]
    return bool(same) and not any(_same_quantity(own, other) for other in same)


def _has_quantity(own: Quantity, there: tuple[Quantity, ...], *, is_exact: bool = False) -> bool:
    if own.kind == "ordinal" and own.value == 1.0 and not any(other.kind == "ordinal" for other in there):
        return True  # "first" is as often an adverb as a number
    return any(_same_quantity(own, other, is_exact=is_exact) for other in there)


def _same_quantity(a: Quantity, b: Quantity, *, is_exact: bool = False) -> bool:
    if not _kinds_agree(a, b):
        return False
    if a.value == b.value or abs(a.value - b.value) <= 1e-9 * max(abs(a.value), abs(b.value)):
        return True
    is_rounded = (a.is_approximate or b.is_approximate) and not is_exact and a.kind not in ("score", "ordinal")
    return is_rounded and abs(a.value - b.value) <= APPROXIMATELY * max(abs(a.value), abs(b.value))


def _kinds_agree(a: Quantity, b: Quantity) -> bool:
    """True if the two numbers may stand for the same thing; a bare number agrees with most."""
    if a.kind == b.kind:
        return a.kind not in ("money", "measure") or a.unit == b.unit
    special = {"ordinal", "score", "percent"}
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
    years = [int(other.value) for other in there if other.part == "year"]
    if moment.part == "decade":
        return any(year // 10 == int(moment.value) // 10 for year in years)
    if moment.part == "century":
        return any((year - 1) // 100 + 1 == int(moment.value) for year in years)
    if moment.part == "time":
        return moment.value.replace(":00", "") in {v.replace(":00", "") for v in same}
    if moment.part == "season":
        return not same  # with nothing of its kind to compare it with, it is a way of speaking
    return False


def _has_replaced_name(claim: str, nearest: _Sentence, evidence: _Evidence) -> bool:
    """True if, read word by word, the claim has another name in the place of one of the sentence's."""
    ours, theirs = _WORD.findall(claim), _WORD.findall(nearest.text)
    matcher = SequenceMatcher(a=[w.lower() for w in theirs], b=[w.lower() for w in ours], autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < MIN_REPEATED * len(ours):
        return False
    return any(
        tag == "replace"
        and max(a2 - a1, b2 - b1) <= MAX_REPLACED_WORDS
        and _names_one(ours[b1:b2], evidence, is_first=b1 == 0)
        and _names_one(theirs[a1:a2], evidence, is_first=a1 == 0)
        for tag, a1, a2, b1, b2 in matcher.get_opcodes()
    )


def _names_one(words: list[str], evidence: _Evidence, *, is_first: bool) -> bool:
    found = [word for word in words if not is_function_word(word.lower())]
    capitals = [word for word in found if word[0].isupper() and not (is_first and word == words[0])]
    return bool(capitals) or any(bare_word(word) in evidence.capitalised for word in found)


def _is_reordered(own: Values, there: Values) -> bool:
    """True if claim and sentence have the same names in another order: who beat whom."""
    ours = [name.words[-1] for name in own.names]
    theirs = [name.words[-1] for name in there.names if name.words[-1] in ours]
    return len(ours) > 1 and len(set(ours)) == len(ours) and sorted(ours) == sorted(theirs) and ours != theirs


# ---- what shows in the wording

_UNIVERSAL = re.compile(
    r"\b(?:all(?! of a sudden| in all|-)|every(?:one|body|thing|where)?|always|never|none|no ?one|nobody|nothing|"
    r"entire(?:ly)?|"
    r"without exception|invariably|universally|in every case|each and every|any(?:one|body)?|only|at all times)\b",
    re.IGNORECASE,
)
_PARTIAL = re.compile(
    r"\b(?:some(?:times|what)?|several|many|most(?:ly)?|few|often|usually|typically|generally|rarely|seldom|"
    r"occasionally|frequently|can|could|may|might|a (?:number|minority|majority|handful|portion|part) of|"
    r"in some cases|tends? to|likely|possibly|certain|partly|partially|almost|nearly|half|per cent|percent|%|a third|"
    r"in (?:sensitive|certain|some) \w+|one of|parts of)\b|%",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\b(?:spectacular\w*|groundbreaking|revolution(?:ary|i[sz]\w+)|incredibl[ey]|unbelievabl[ey]|amazing\w*|"
    r"astonishing\w*|astounding\w*|breathtaking\w*|mind-?blowing|jaw-dropping|miracul\w+|phenomenal\w*|"
    r"extraordinar\w+|unprecedented|unparalleled|unrivall?ed|unmatched|legendary|epic|perfect(?:ly)?|flawless\w*|"
    r"triumph\w*|masterpiece|sensational\w*|stunning\w*|catastroph\w+|disastrous\w*|devastat\w+|annihilat\w+|"
    r"obliterat\w+|decimat\w+|destroy\w*|explod\w+|skyrocket\w*|soar\w*|plummet\w*|colossal|gigantic|enormous\w*|"
    r"monumental\w*|immense\w*|massive\w*|huge(?:ly)?|tremendous\w*|overwhelming\w*|utter(?:ly)?|completely|totally|"
    r"absolutely|extremely|insane\w*|wildly|infinite\w*|countless|endless\w*|undisputed|world-class|game-chang\w+|"
    r"life-chang\w+|best-ever|greatest|finest|worst|best|by far|of all time|ever seen|in the world|in history|"
    r"most (?!of\b|people\b|likely\b|recent\w*\b|the\b|other\b|common\w*\b|residents\b|voters\b|patients\b|"
    r"users\b)[a-z]+(?:ful|ous|ic|ing|ive|ant|ible|able|ed))\b",
    re.IGNORECASE,
)
_SAYS = (
    r"(?:sa(?:id|ys|y)|sa(?:id|ys) that|claim(?:ed|s)?|stat(?:ed|es)|report(?:ed|s)?|announc(?:ed|es)|told|tells|"
    r"argu(?:ed|es)|believ(?:ed|es)|den(?:ied|ies)|warn(?:ed|s)?|insist(?:ed|s)?|confirm(?:ed|s)?|suggest(?:ed|s)?|"
    r"reveal(?:ed|s)?|explain(?:ed|s)?|not(?:ed|es)|found that|finds|show(?:ed|s)? that|prov(?:ed|es)|discover(?:ed|"
    r"s)?|conclud(?:ed|es)|estimat(?:ed|es)|predict(?:ed|s)?|suspect(?:ed|s)?|alleg(?:ed|es|e)|speculat(?:ed|es)|"
    r"admit(?:ted|s)?|declar(?:ed|es)|wrote|writes|recommend(?:ed|s)?|add(?:ed|s)?)"
)
_SPEAKER_FIRST = re.compile(
    rf"^(?P<speaker>.{{1,90}}?)\s(?:has\s|had\s|have\s|also\s|later\s)*{_SAYS}\b", re.IGNORECASE | re.DOTALL
)
_ACCORDING = re.compile(
    r"\b(?:according to|in the words of|as reported by|as stated by|quoted by)\s(?P<speaker>[^,.;]{1,80})",
    re.IGNORECASE,
)
_SURE = re.compile(r"\b(?:confirm|prov|found|discover|conclud|show|establish|demonstrat|verif)\w*\b", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:suspect|alleg|claim|speculat|believ|rumou?r|think|thought|suggest|guess|fear|accus|unconfirmed|reportedly|"
    r"assum|hope)\w*\b",
    re.IGNORECASE,
)
_PRONOUNS = frozenset(["he", "she", "they", "it", "we", "i", "you", "who"])
_BEFORE_OR_AFTER = re.compile(r"\b(?:before|after)\b", re.IGNORECASE)
_FUTURE = re.compile(
    r"\b(?:will|won't|shall|going to|plans? to|planned to|is expected to|are expected to|is due to|are due to|"
    r"is set to|are set to|intends? to|aims? to|is to be|are to be|would|from next|upcoming|is scheduled to|"
    r"are scheduled to|scheduled for)\b",
    re.IGNORECASE,
)


def _is_overgeneral(claim: str, nearest: _Sentence) -> bool:
    """True if the claim speaks of all or never where the evidence speaks of some or sometimes."""
    if _UNIVERSAL.search(nearest.text):
        return False
    return bool(_PARTIAL.search(nearest.text)) and bool(stems_of(claim) & nearest.stems)


def _is_hyperbolic(strong: list[str], evidence: _Evidence, nearest: _Sentence) -> bool:
    """True if the claim uses a strong word that the evidence, strong words of the nearest sentence included, lacks."""
    unknown = [word for word in map(str.lower, strong) if word not in evidence.lower]
    return not _STRONG.search(nearest.text) and any(not stems_of(one.split()[-1]) & evidence.stems for one in unknown)


def _is_misattributed(claim: str, speaker: str, evidence: _Evidence, nearest: _Sentence) -> bool:
    """True if the claim names another speaker than the evidence, or turns a suspicion into a finding."""
    if _SURE.search(claim) and not _SURE.search(nearest.text) and _UNSURE.search(nearest.text):
        return True
    other = _speaker(nearest.text)
    ours = _speaker_words(speaker)
    if not ours:
        return False
    if other is not None:
        theirs = _speaker_words(other)
        return bool(theirs) and not stems_of(" ".join(ours)) & stems_of(" ".join(theirs))
    return not any(word in evidence.words for word in ours)


def _speaker(text: str) -> str | None:
    """Who is said to have said it; None if nobody is."""
    match = _ACCORDING.search(text) or _SPEAKER_FIRST.search(text.strip())
    return match["speaker"] if match else None


def _speaker_words(speaker: str) -> set[str]:
    words = {bare_word(word) for word in _WORD.findall(speaker)}
    return set() if words & _PRONOUNS else {word for word in words if not is_function_word(word) and len(word) > 1}


def _is_shifted_in_time(claim: str, nearest: _Sentence) -> bool:
    """True if the claim states a future event as past, a past one as future, or turns before into after."""
    if len(stems_of(claim) & nearest.stems) < MIN_SHARED * max(1, len(stems_of(claim))):
        return False
    orders = [{word.lower() for word in _BEFORE_OR_AFTER.findall(text)} for text in (claim, nearest.text)]
    turns_round = len(orders[0]) == len(orders[1]) == 1 and orders[0] != orders[1]
    return turns_round or bool(_FUTURE.search(claim)) != bool(_FUTURE.search(nearest.text))
