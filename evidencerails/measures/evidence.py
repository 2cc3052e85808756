"""Evidence made ready for measures: excerpts for a prompt, dates of passages, quotes found again, and whether the words
that a judge quotes can prove its verdict: one rule for `claims` and the measure `judge`."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timezone
from typing import Any, NamedTuple

from evidencerails.errors import EvidencerailsError
from evidencerails.exchange import Passage, Span
from evidencerails.measures.base import Statement
from evidencerails.nli.windows import Window, WindowIndex, build_windows
from evidencerails.report import Quote
from evidencerails.text.claimable import clean
from evidencerails.text.sentences import split_sentences

MAX_PROMPT_CHARACTERS = 24_000
"""Evidence that goes into one prompt, some 6,000 tokens; what is left out is chosen by shared words and reported."""
EXCERPT_WORDS = 200
NEAR_CHARACTERS = 900
"""Evidence that goes with a claim which is asked about alone: what is near to it, some 200 tokens."""
NEAR_WORDS = 40
NEAR_OVERLAP_WORDS = 0
"""Excerpts around a single claim are short, so that several places of the evidence fit in."""
_WORD = re.compile(r"\w+")
_LOOSE = re.compile(r"[\W_]+")
_CJK = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u3040-\u30ff]")
_LETTER = r"[^\W\u2e80-\u9fff\uac00-\ud7af\u3040-\u30ff]"  # of a script that puts gaps between words
_ELLIPSIS = re.compile(r"\.{3}|…")
_STEM = 5
"""Letters in which two words must agree to be of one family: built, building."""
_TRIVIAL = frozenset(
    """a an the this that these those it its he she they his her their is are was were be been being of in on at to
    for from by with and or but not no as has have had do does did will would can could may might must i you
    we there""".split()  # noqa: SIM905 - words read better than a list of strings
)


def excerpts_for(
    claims: Sequence[Statement], passages: Sequence[Passage], limit: int = MAX_PROMPT_CHARACTERS
) -> tuple[Passage, ...]:
    """All passages if they fit into `limit` characters, else the windows that share most with the claims, in order."""
    if fit_into(passages, limit):
        return tuple(passages)
    words, overlap = (EXCERPT_WORDS, None) if limit > NEAR_CHARACTERS else (NEAR_WORDS, NEAR_OVERLAP_WORDS)
    windows = build_windows(passages, 0, _word_offsets, window_tokens=words, overlap_tokens=overlap)
    kept = _best_windows(claims, windows, limit, words)
    return tuple(window.passage.model_copy(update={"text": window.text}) for window in kept)


def fit_into(passages: Sequence[Passage], limit: int) -> bool:
    """True if the passages have at most `limit` characters, so that nothing of them is left out."""
    return sum(len(passage.text) for passage in passages) <= limit


def _best_windows(claims: Sequence[Statement], windows: Sequence[Window], limit: int, words: int) -> list[Window]:
    """Windows in evidence order; each claim gets its best one before any gets its second."""
    index = WindowIndex(windows)
    per_claim = [index.select(claim.text, max(1, limit // (words * 5))) for claim in claims]
    kept: set[Window] = set()
    room = limit
    for rank in range(max(map(len, per_claim), default=0)):
        for chosen in per_claim:
            if rank < len(chosen) and chosen[rank] not in kept and len(chosen[rank].text) <= room:
                kept.add(chosen[rank])
                room -= len(chosen[rank].text)
    return [window for window in windows if window in kept]


def _word_offsets(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _WORD.finditer(text)]


def find_quotes(quote: str, passages: Sequence[Passage], *, score: float = 1.0) -> tuple[Quote, ...]:
    """Where the evidence says these words, with its own offsets; empty if it does not.

    Case, white space and marks may differ; the words and their order may not. Parts with an ellipsis between are found
    in one passage or, where none has them all, each in its own. A judge that quotes what nobody wrote has made its
    verdict up.
    """
    parts = [part for part in (_words_pattern(piece) for piece in _ELLIPSIS.split(quote)) if part is not None]
    found = [[(passage, part.search(passage.text)) for passage in passages] for part in parts]
    by_passage = ([row[place] for row in found] for place in range(len(passages)))
    whole = next((places for places in by_passage if all(match for _, match in places)), None)
    places = whole or [hit for row in found if (hit := next((one for one in row if one[1]), None))]
    quotes = [_quote(passage, match.span(), score) for passage, match in places if match]
    return tuple(dict.fromkeys(quotes)) if len(quotes) == len(parts) else ()


def _quote(passage: Passage, place: tuple[int, int], score: float) -> Quote:
    span = Span.of(passage.text, *place)
    return Quote(passage_id=passage.id, source=passage.source, span=span, score=score)


def sentences_of(quotes: Iterable[Quote], passages: Sequence[Passage]) -> str:
    """The whole sentences that hold the quotes: "built in 1889" alone shares no word with "it went up in 1889"."""
    return " ".join(dict.fromkeys(_sentence_of(quote, passages) for quote in quotes))


def _sentence_of(quote: Quote, passages: Sequence[Passage]) -> str:
    text = next((p.text for p in passages if p.id == quote.passage_id), "")
    around = [s.text for s in split_sentences(text) if s.start < quote.span.end and s.end > quote.span.start]
    return " ".join(around) or quote.span.text


def is_about(quote: str, claim: str) -> bool:
    """True if the two share a telling word: a quote of anything at all proves nothing (nor does one of an order)."""
    return bool(_telling(quote) & _telling(claim))


def _telling(text: str) -> set[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return {word if word.isdigit() else word[:_STEM] for word in words if word not in _TRIVIAL}


def _words_pattern(text: str) -> re.Pattern[str] | None:
    """Finds the words of `text` in this order with anything but words between them; None if it has no word."""
    words = [re.escape(word) for word in _LOOSE.split(text) if word]
    if not words:
        return None
    body = r"[\W_]+".join(words)
    before = "" if _CJK.fullmatch(body[0]) else f"(?<!{_LETTER})"
    after = "" if _CJK.fullmatch(body[-1]) else f"(?!{_LETTER})"
    return re.compile(before + body + after, re.IGNORECASE)


def date_in(metadata: Mapping[str, Any], keys: Sequence[str], *, latest: bool = False) -> datetime | None:
    """Date of a passage by the first of these keys of its metadata that can be read as one: a date, text that begins
    with one in ISO 8601, a year, or seconds since 1970; in UTC unless it says else. None without one.

    Args:
        latest: a year or month alone stands for its last day, not its first.
    """
    found = next((one for key in keys if (one := _as_date(metadata.get(key), latest)) is not None), None)
    return found.replace(tzinfo=timezone.utc) if found is not None and found.tzinfo is None else found


def _as_date(value: Any, latest: bool) -> datetime | None:
    if isinstance(value, (int, float)):
        if 1e8 < value < 1e10:
            return datetime.fromtimestamp(value, timezone.utc)
        value = f"{value:.0f}"
    # Python 3.10 reads no Z.
    text = value.isoformat() if isinstance(value, date) else str(value).strip().replace("Z", "+00:00")
    if text.isdecimal() and len(text) > 8:  # `fromisoformat` takes milliseconds for a date and a time
        return None
    match = re.match(r"(1[5-9]\d\d|2[01]\d\d)\b(?:-(\d{2})(?:-(\d{2}))?)?", text)
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    if match is None:
        return None
    with suppress(ValueError):
        year, month = int(match[1]), int(match[2] or (12 if latest else 1))
        return datetime(year, month, int(match[3] or (monthrange(year, month)[1] if latest else 1)))
    return None


CONTEXT_SENTENCES = 4
"""Sentences before a quote that are read with it."""
LEAST_LIKENESS = 0.3
"""Cosine of two sentences' vectors from which they may be about the same thing. Set by hand: the 28 quotes of a real
judge that nothing else let through and this does all belonged to right verdicts; wrong ones were not looked for."""
NEAREST = 3
"""So many sentences of the evidence, and at most a quarter of it, are about the claim whatever the others are like."""
LEAST_OF_NEAREST = 0.15
"""Cosine that one of these needs. Of 64 recorded quotes of right verdicts that share no word with their claim, 25 are
alike and 45 with the nearest; of 500 other sentences of the same evidence 49 and 58."""
SAME = 1e-4
"""Cosines that differ by less are those of one sentence, read in two batches."""
MAX_RANKED = 200
"""Sentences of the evidence among which the nearest are looked for; of more, none are."""

_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|rule|prompt|above|previous)"
    r"|\b(?:reply|answer|respond|output|return|say|label|mark|classify|rate|judge)\b.{0,40}"
    r"\b(?:supported|contradicted|absent|unevaluatable|grounded|verdict|label)\b",
    re.IGNORECASE | re.DOTALL,
)


ABOUT_ELSE = "quote_about_something_else"
OBJECTIONS = ("no_quote", "invented_quote", ABOUT_ELSE, "quote_is_an_instruction")


class Proof(NamedTuple):
    """Where the evidence has the words of a quote, and why they prove nothing; no objection if they may."""

    quotes: tuple[Quote, ...]
    objection: str = ""
    """One of `OBJECTIONS`."""


def proof_of(quote: str, claim: str, passages: Sequence[Passage], *, is_support: bool, score: float = 1.0) -> Proof:
    """What a quote is worth for a verdict on a claim. Blocks.

    Args:
        is_support: the verdict lets the claim through. A claim may be denied by words that only stand beside those
            about its subject; let through it may not be so.
    """
    quotes = find_quotes(quote, passages, score=score)
    if not quotes:
        return Proof((), "invented_quote" if quote.strip() else "no_quote")
    sentence = sentences_of(quotes, passages)
    shown = sentence if is_support else context_of(quotes, passages)
    if not is_about(shown, claim) and not _is_like(quotes, claim, passages):
        return Proof(quotes, ABOUT_ELSE)
    if is_order(sentence) and not is_order(claim):
        return Proof(quotes, "quote_is_an_instruction")
    return Proof(quotes)


def is_order(text: str) -> bool:
    """True for words that instruct a judge what to reply; they prove no claim."""
    return _ORDER.search(text) is not None


def context_of(quotes: Iterable[Quote], passages: Sequence[Passage]) -> str:
    """The sentences that hold the quotes, with those before them: "It is in Paris" says little by itself."""
    return " ".join(dict.fromkeys(_context_of(quote, passages) for quote in quotes))


def _context_of(quote: Quote, passages: Sequence[Passage]) -> str:
    text = next((p.text for p in passages if p.id == quote.passage_id), "")
    sentences = split_sentences(text)
    at = next((n for n, s in enumerate(sentences) if s.end > quote.span.start), None)
    if at is None:
        return clean(quote.span.text)
    return clean(" ".join(sentence.text for sentence in sentences[max(0, at - CONTEXT_SENTENCES) : at + 1]))


def _is_like(quotes: Sequence[Quote], claim: str, passages: Sequence[Passage]) -> bool:
    """True if a sentence that holds a quote is near to the claim in meaning, or nearer than nearly all others.

    A claim worded anew may share no word with what proves it. Blocks: the embedded encoder reads the sentences; False
    where it cannot be loaded.
    """
    from evidencerails.measures.encoder import default_encoder

    sentences = [clean(sentences_of([quote], passages)) for quote in quotes]
    others = [clean(sentence.text) for passage in passages for sentence in split_sentences(passage.text)]
    try:
        vectors = default_encoder().sentence_vectors([claim, *sentences])
        best = float((vectors[1:] @ vectors[0]).max())
        if best >= LEAST_LIKENESS or best < LEAST_OF_NEAREST or len(others) > MAX_RANKED:
            return best >= LEAST_LIKENESS
        likeness = default_encoder().sentence_vectors(others) @ vectors[0]
    except EvidencerailsError:
        return False
    return int((likeness > best + SAME).sum()) < min(NEAREST, len(others) // 4)
