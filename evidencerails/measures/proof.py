"""Whether the words that a judge quotes can prove its verdict: one rule for `claims` and the measure `judge`.

In: the quote as the judge wrote it, the claim, the passages. Out: where the evidence has it, or what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evidencerails.errors import EvidencerailsError
from evidencerails.exchange import Passage
from evidencerails.measures.evidence import find_quotes, is_about, sentences_of
from evidencerails.report import Quote
from evidencerails.text.claimable import clean
from evidencerails.text.sentences import split_sentences

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
