"""Contradictions without evidence: between two sentences of an answer, and between the answer and what the user said.

Both are probabilistic pointers with no ground truth (four types: "log them and route for review"), so they need a high
certainty of the model, both ways where both are possible, and default to a warning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from evidencerails.exchange import Span
from evidencerails.nli.base import CONTRADICTION
from evidencerails.nli.windows import stems_of
from evidencerails.text.claimable import clean, makes_claim
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import values_of
from evidencerails.text.verbs import first_verb

if TYPE_CHECKING:
    from evidencerails.nli.service import Steps

MAX_PAIRS = 60
"""Pairs of sentences that are compared, those that share most words first."""
MIN_SHARED = 2
MIN_OVERLAP = 0.4
"""Two sentences are about the same thing if they share so many of the shorter one's content words, at least two."""
THRESHOLD = 0.9
"""Certainty that counts: most pairs of one answer are neutral, a lower one would mostly find errors of the model."""
CONFIRMED_FROM = 0.7
"""What the other direction must reach: "none did" against "all did" is less sure than "all did" against "none did"."""
MAX_SENTENCES = 400
"""Sentences of an answer that are compared with each other; a longer one is compared in its beginning."""


class Contradiction(NamedTuple):
    """Two texts that contradict each other."""

    first: Span
    """In the answer; or in the user's message, for a contradiction with the prompt."""
    second: Span
    """In the answer."""
    score: float
    """P(contradiction): of the less certain direction where both were read."""


def self_contradictions(sentences: Sequence[Span], supported: Set[Span] = frozenset()) -> Steps[list[Contradiction]]:
    """Pairs of sentences of one answer that contradict each other, but for pairs of two that are supported.

    Each has to contradict the other, one of them surely; the second direction is read where the first one does.
    """
    pairs = _pairs_about_the_same(list(sentences[:MAX_SENTENCES]), supported)
    there = yield [(clean(a.text), clean(b.text)) for a, b in pairs]
    firsts = [(pair, float(row[CONTRADICTION])) for pair, row in zip(pairs, there, strict=True)]
    likely = [(pair, score) for pair, score in firsts if score >= CONFIRMED_FROM]
    rows = yield [(clean(b.text), clean(a.text)) for (a, b), _ in likely]
    back = [float(row[CONTRADICTION]) for row in rows]
    return [
        Contradiction(a, b, min(score, other))
        for ((a, b), score), other in zip(likely, back, strict=True)
        if min(score, other) >= CONFIRMED_FROM and max(score, other) >= THRESHOLD
    ]


def contradictions_with_prompt(
    sentences: Sequence[Span], user_input: str, supported: Set[Span] = frozenset()
) -> Steps[list[Contradiction]]:
    """Sentences of the answer, but for those that are supported, that contradict what the user stated.

    Questions and requests state nothing. An answer that sets the user right ("No, ...", "Actually ...") is no
    divergence. `I` in the prompt and `you` in the answer are the same person.
    """
    if not sentences or _SETS_RIGHT.match(sentences[0].text):
        return []
    doubtful = [sentence for sentence in sentences[:MAX_SENTENCES] if sentence not in supported]
    pairs = _pairs_with_prompt(doubtful, user_input)
    rows = yield [(_as_second_person(clean(said.text)), clean(s.text)) for said, s in pairs]
    found = (Contradiction(said, s, float(row[CONTRADICTION])) for (said, s), row in zip(pairs, rows, strict=True))
    return [one for one in found if one.score >= THRESHOLD]


def _pairs_about_the_same(sentences: list[Span], supported: Set[Span]) -> list[tuple[Span, Span]]:
    words = [_subject_words(s) for s in sentences]
    places: dict[str, list[int]] = {}
    for place, some in enumerate(words):
        for word in some:
            places.setdefault(word, []).append(place)
    shared: dict[tuple[int, int], int] = {}
    for where in places.values():
        for i, first in enumerate(where[:40]):  # a word in every sentence no longer separates pairs
            for second in where[i + 1 : 40]:
                shared[first, second] = shared.get((first, second), 0) + 1
    qualifiers = [_qualifiers(s) for s in sentences]
    near = [
        pair
        for pair, count in shared.items()
        if not {sentences[pair[0]], sentences[pair[1]]} <= supported
        and _is_near(count, *(words[at] for at in pair))
        and _are_about_the_same(*(qualifiers[at] for at in pair))
    ]
    near.sort(key=lambda pair: -shared[pair] / max(1, min(len(words[pair[0]]), len(words[pair[1]]))))
    return [(sentences[a], sentences[b]) for a, b in near[:MAX_PAIRS]]


def _pairs_with_prompt(sentences: list[Span], user_input: str) -> list[tuple[Span, Span]]:
    stated = [s for s in split_sentences(user_input[-50_000:]) if _states(s.text)][:MAX_SENTENCES]
    subjects = [(s, _subject_words(s)) for s in sentences]
    pairs = []
    for said in stated:
        words = _subject_words(said)
        for sentence, others in subjects:
            count = len(words & others)
            if _is_near(count, words, others):
                pairs.append((count / min(len(words), len(others)), said, sentence))
    pairs.sort(key=lambda item: -item[0])
    return [(said, sentence) for _, said, sentence in pairs[:MAX_PAIRS]]


def _is_near(count: int, first: set[str], second: set[str]) -> bool:
    shorter = min(len(first), len(second))
    return count >= min(MIN_SHARED, shorter) and count >= MIN_OVERLAP * shorter and shorter > 0


class _Qualifiers(NamedTuple):
    """The values of a sentence: those of its subject or before it, and all."""

    of_subject: frozenset[str]
    every: frozenset[str]


def _qualifiers(sentence: Span) -> _Qualifiers:
    text = clean(sentence.text)
    values = values_of(text)
    found = [(one.start, text[one.start : one.end].lower()) for one in values.quantities]
    found += [(one.start, text[one.start : one.end].lower()) for one in values.temporal]
    found += [(one.start, " ".join(one.words).lower()) for one in values.names]
    verb = first_verb(text)
    verb = len(text) if verb is None else verb
    return _Qualifiers(frozenset(v for at, v in found if at < verb), frozenset(v for _, v in found))


def _are_about_the_same(first: _Qualifiers, second: _Qualifiers) -> bool:
    """False where the subjects differ in a value ("Plan A costs 10, Plan B 15"), or the sentences in two or more: one
    that is changed contradicts, two are another case ("5 million in 2019", "7 million in 2020")."""
    subjects_differ = first.of_subject - second.every and second.of_subject - first.every
    differing = min(len(first.every - second.every), len(second.every - first.every))
    return not subjects_differ and differing < 2


def _subject_words(sentence: Span) -> set[str]:
    return {stem for stem in stems_of(clean(sentence.text)) if not stem[0].isdigit()}


_SETS_RIGHT = re.compile(
    r"\W*(?:no\b|actually\b|in fact\b|contrary to\b|that(?:'s| is) (?:not|in)|i (?:think|believe) there|"
    r"unfortunately\b|(?:just )?to clarify|correction\b|it seems|there (?:seems|appears)|(?:i'm )?sorry\b)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\W*(?:please|write|tell|give|explain|summari[sz]e|describe|list|show|find|translate|answer|use|make|create|"
    r"provide|compare|rewrite|generate|help|let|can|could|would|do|does|is|are|was|were|what|who|when|where|why|how|which)\b",
    re.IGNORECASE,
)


def _states(sentence: str) -> bool:
    """True if a sentence of the user says something that an answer could contradict."""
    bare = sentence.strip()
    after_colon = bare.split(":", 1)[1] if _REQUEST.match(bare) and ":" in bare else bare
    is_short_or_asks = len(after_colon.split()) < 3 or "?" in after_colon or _REQUEST.match(after_colon)
    return not is_short_or_asks and makes_claim(after_colon)


_PERSONS = {"i": "you", "my": "your", "me": "you", "mine": "yours", "am": "are", "myself": "yourself", "i'm": "you're"}
_PERSON = re.compile(r"\b(?:I'm|i'm|I|i|my|My|me|mine|am|myself)\b")


def _as_second_person(text: str) -> str:
    return _PERSON.sub(lambda match: _PERSONS[match[0].lower()], text)
