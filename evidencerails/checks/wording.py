"""Errors that show in a claim's wording beside the evidence: how much, how strong, who says so, when."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from evidencerails.measures.lexical import stem_of
from evidencerails.report import ErrorType
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import Name, Values, bare_word, is_function_word, values_of

MIN_SHARED_IN_TIME = 0.5
"""Least part of a claim's content words that a sentence must share for tenses to be compared."""

_UNIVERSAL = re.compile(
    r"\b(?:all(?! of a sudden| in all|-)|every(?:one|body|thing|where)?|always|never|none|no ?one|nobody|nothing|"
    r"entire(?:ly)?|"
    r"without exception|invariably|universally|in every case|each and every|any(?:one|body)?|only|at all times)\b",
    re.IGNORECASE,
)
_PARTIAL = re.compile(
    r"\b(?:some(?:times|what)?|several|many|most(?:ly)?|few|often|usually|typically|generally|rarely|seldom|"
    r"occasionally|frequently|"
    r"can|could|may|might|a (?:number|minority|majority|handful|portion|part) of|in some cases|tends? to|likely|"
    r"possibly|"
    r"certain|partly|partially|almost|nearly|half|per cent|percent|%|a third|in (?:sensitive|certain|some) \w+|"
    r"one of|parts of)\b|%",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\b(?:spectacular\w*|groundbreaking|revolution(?:ary|i[sz]\w+)|incredibl[ey]|unbelievabl[ey]|amazing\w*|"
    r"astonishing\w*|"
    r"astounding\w*|breathtaking\w*|mind-?blowing|jaw-dropping|miracul\w+|phenomenal\w*|extraordinar\w+|"
    r"unprecedented|unparalleled|"
    r"unrivall?ed|unmatched|legendary|epic|perfect(?:ly)?|flawless\w*|triumph\w*|masterpiece|sensational\w*|"
    r"stunning\w*|catastroph\w+|"
    r"disastrous\w*|devastat\w+|annihilat\w+|obliterat\w+|decimat\w+|destroy\w*|explod\w+|skyrocket\w*|soar\w*|"
    r"plummet\w*|"
    r"colossal|gigantic|enormous\w*|monumental\w*|immense\w*|massive\w*|huge(?:ly)?|tremendous\w*|overwhelming\w*|"
    r"utter(?:ly)?|completely|totally|absolutely|extremely|insane\w*|wildly|infinite\w*|countless|endless\w*|"
    r"undisputed|"
    r"world-class|game-chang\w+|life-chang\w+|best-ever|greatest|finest|worst|best|by far|of all time|ever seen|"
    r"in the world|"
    r"in history|most (?!of\b|people\b|likely\b|recent\w*\b|the\b|other\b|common\w*\b|residents\b|voters\b|"
    r"patients\b|users\b)[a-z]+(?:ful|ous|ic|ing|ive|ant|ible|able|ed))\b",
    re.IGNORECASE,
)
_SAYS = (
    r"(?:sa(?:id|ys|y)|sa(?:id|ys) that|claim(?:ed|s)?|stat(?:ed|es)|report(?:ed|s)?|announc(?:ed|es)|told|tells|"
    r"argu(?:ed|es)|believ(?:ed|es)|"
    r"den(?:ied|ies)|warn(?:ed|s)?|insist(?:ed|s)?|confirm(?:ed|s)?|suggest(?:ed|s)?|reveal(?:ed|s)?|explain(?:ed|"
    r"s)?|not(?:ed|es)|"
    r"found that|finds|show(?:ed|s)? that|prov(?:ed|es)|discover(?:ed|s)?|conclud(?:ed|es)|estimat(?:ed|es)|"
    r"predict(?:ed|s)?|"
    r"suspect(?:ed|s)?|alleg(?:ed|es|e)|speculat(?:ed|es)|admit(?:ted|s)?|declar(?:ed|es)|wrote|writes|"
    r"recommend(?:ed|s)?|add(?:ed|s)?)"
)
_SPEAKER_FIRST = re.compile(
    rf"^(?P<speaker>.{{1,90}}?)\s(?:has\s|had\s|have\s|also\s|later\s)*(?P<verb>{_SAYS})\b", re.IGNORECASE | re.DOTALL
)
_SPEAKER_LAST = re.compile(
    rf"[,”\"']\s(?P<verb>{_SAYS})\s(?P<speaker>[^,.;]{{1,60}})|"
    rf"[,”\"']\s(?P<speaker2>[^,.;]{{1,60}}?)\s(?P<verb2>{_SAYS})\b[^,;]{{0,30}}$",
    re.IGNORECASE,
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
_CLAUSE = re.compile(r"[;:]\s|,?\s(?:but|while|whereas|although|though)\s", re.IGNORECASE)
_PRONOUNS = frozenset(["he", "she", "they", "it", "we", "i", "you", "who"])
_FUTURE = re.compile(
    r"\b(?:will|won't|shall|going to|plans? to|planned to|is expected to|are expected to|is due to|are due to|"
    r"is set to|are set to|"
    r"intends? to|aims? to|is to be|are to be|would|from next|upcoming|is scheduled to|are scheduled to|"
    r"scheduled for)\b",
    re.IGNORECASE,
)
_PAST = re.compile(r"\b(?:was|were|had|did|has|have|already|has been|have been|took|became|\w{3,}ed)\b", re.IGNORECASE)
_NOW = re.compile(r"\b(?:already|now|currently|is|are|has|have)\b", re.IGNORECASE)
_ORDER_WORDS = (
    ("before", "after"),
    ("until", "since"),
    ("earlier", "later"),
    ("former", "current"),
    ("formerly", "currently"),
    ("previous", "next"),
    ("prior to", "following"),
    ("first", "last"),
    ("began", "ended"),
    ("start", "end"),
)


def worded_errors(claim: str, evidence: Evidence, nearest: Sentence, found: set[ErrorType]) -> set[ErrorType]:
    """Types that show in the wording, against the nearest sentence."""
    rules: tuple[tuple[ErrorType, Callable[[str, Evidence, Sentence], bool]], ...] = (
        ("overgeneralization", _is_overgeneral),
        ("hyperbole", _is_hyperbolic),
        ("attribution_failure", _is_misattributed),
    )
    worded: set[ErrorType] = {name for name, rule in rules if rule(claim, evidence, nearest)}
    if not found and _is_shifted_in_time(claim, nearest):
        worded.add("temporal")
    return worded


def _is_overgeneral(claim: str, evidence: Evidence, nearest: Sentence) -> bool:
    """True if the claim speaks of all or never where the evidence speaks of some or sometimes."""
    words = {match.lower() for match in _UNIVERSAL.findall(claim)}
    if not words or _UNIVERSAL.search(nearest.text):
        return False
    return bool(_PARTIAL.search(nearest.text)) and len(stems_of(claim) & nearest.stems) > 0


def _is_hyperbolic(claim: str, evidence: Evidence, nearest: Sentence) -> bool:
    """True if the claim uses a strong word that the evidence, strong words of the nearest sentence included, lacks."""
    strong = [match.lower() for match in _STRONG.findall(claim)]
    return any(
        word not in evidence.lower and stem_of(word.split()[-1]) not in evidence.stems for word in strong
    ) and not _STRONG.search(nearest.text)


def _is_misattributed(claim: str, evidence: Evidence, nearest: Sentence) -> bool:
    """True if the claim names another speaker than the evidence, or turns a suspicion into a finding."""
    speaker = _speaker(claim)
    if speaker is None:
        return False
    rest = stems_of(claim) - stems_of(speaker)
    clause = max(_CLAUSE.split(nearest.text), key=lambda part: len(stems_of(part) & rest), default="")
    if _SURE.search(claim) and not _SURE.search(clause) and _UNSURE.search(clause):
        return True
    other = _speaker(clause) or _speaker(nearest.text)
    ours = _speaker_words(speaker)
    if not ours:
        return False
    if other is not None:
        theirs = _speaker_words(other)
        return bool(theirs) and not _agree(ours, theirs)
    return not any(word in evidence.words for word in ours)


def _agree(ours: set[str], theirs: set[str]) -> bool:
    if {stem_of(word) for word in ours} & {stem_of(word) for word in theirs}:
        return True
    return any(
        "".join(word[0] for word in sorted_words) in other for sorted_words, other in ((ours, theirs), (theirs, ours))
    )


def _speaker(text: str) -> str | None:
    """Who is said to have said it; None if nobody is."""
    for pattern in (_ACCORDING, _SPEAKER_LAST, _SPEAKER_FIRST):
        match = pattern.search(text.strip())
        if match:
            groups = match.groupdict()
            return groups.get("speaker") or groups.get("speaker2")
    return None


def _speaker_words(speaker: str) -> set[str]:
    words = {bare_word(word) for word in WORD.findall(speaker)}
    return set() if words & _PRONOUNS else {word for word in words if not is_function_word(word) and len(word) > 1}


def _is_shifted_in_time(claim: str, nearest: Sentence) -> bool:
    """True if the claim states a future event as past, a past one as future, or turns before into after."""
    if len(stems_of(claim) & nearest.stems) < MIN_SHARED_IN_TIME * max(1, len(stems_of(claim))):
        return False
    low, there = claim.lower(), nearest.text.lower()
    for pair in _ORDER_WORDS:
        for ours, theirs in (pair, pair[::-1]):
            if (
                _has_word(low, ours)
                and not _has_word(low, theirs)
                and _has_word(there, theirs)
                and not _has_word(there, ours)
            ):
                return True
    comes, came = bool(_FUTURE.search(claim)), bool(_FUTURE.search(nearest.text))
    if comes == came:
        return False
    return bool(_NOW.search(claim) or _PAST.search(claim)) if came else bool(_PAST.search(nearest.text))


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"\b{word}\b", text) is not None


CACHED_EVIDENCES = 8
WORD = re.compile(r"[^\W_](?:[\w'’.&-]*\w)?")


class Sentence(NamedTuple):
    """One sentence of the evidence, read once."""

    text: str
    stems: frozenset[str]
    values: Values


class Evidence:
    """A text that claims are compared with, read once for all of them."""

    def __init__(self, text: str) -> None:
        self.values = values_of(text)
        self.stems = stems_of(text)
        self.words = frozenset(bare_word(word) for word in WORD.findall(text))
        self.lower = text.lower()
        self.acronyms = _acronyms(self.values.names)
        self.capitalised = frozenset(word for name in self.values.names if not name.is_initial for word in name.words)
        self._texts = [span.text for span in split_sentences(text)]
        self._stems = [stems_of(sentence) for sentence in self._texts]
        self._values: dict[int, Values] = {}
        counts = Counter(stem for stems in self._stems for stem in stems)
        self._weights = {stem: 1.0 / count for stem, count in counts.items()}

    def nearest(self, claim: str, values: Values) -> Sentence:
        """The sentence that shares the most distinctive words with the claim."""
        names = {stem_of(word) for name in values.names for word in name.words}
        wanted = stems_of(claim)
        weights = {stem: self._weights.get(stem, 0.0) * (0.5 if stem in names else 1.0) for stem in wanted}
        best = max(  # a name may be the very error: it counts half
            range(len(self._texts)),
            key=lambda n: (sum(weights[stem] for stem in wanted & self._stems[n]), -n),
            default=None,
        )
        if best is None:
            return Sentence("", frozenset(), Values((), (), ()))
        if best not in self._values:
            self._values[best] = values_of(self._texts[best])
        return Sentence(self._texts[best], self._stems[best], self._values[best])


@lru_cache(maxsize=CACHED_EVIDENCES)
def read_evidence(text: str) -> Evidence:
    """The evidence, ready for comparison; the last few are kept."""
    return Evidence(text)


def _acronyms(names: Iterable[Name]) -> dict[str, str]:
    """Acronyms of the evidence's long names, and its acronyms themselves, each with its letters."""
    found = {
        "".join(word[0] for word in name.words): "".join(w[0] for w in name.words)
        for name in names
        if len(name.words) > 1
    }
    for name in names:
        for word, shown in zip(name.words, name.text.split(), strict=False):
            if 2 <= len(word) <= 6 and shown.replace(".", "").isupper():
                found[word] = word
    return found


def stems_of(text: str) -> frozenset[str]:
    """The stems of a text's content words."""
    words = (bare_word(word) for word in WORD.findall(text))
    return frozenset(stem_of(word) for word in words if not is_function_word(word) and len(word) > 1) - {""}
