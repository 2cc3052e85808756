"""Whether the words that a model quotes for a claim prove it.

A model that was manipulated into a verdict still quotes something: an order to the judge, words about another thing,
words that say otherwise. Only the last is an objection, by the local model's own threshold. That the quoted words lack
a value or most words of the claim is a doubt: an honest inference looks like that, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evidencerails.checks.error_types import error_types
from evidencerails.errors import EvidencerailsError
from evidencerails.exchange import Passage
from evidencerails.measures.base import Statement
from evidencerails.measures.lexical import content_of
from evidencerails.nli.base import CONTRADICTION, ENTAILMENT
from evidencerails.report import ErrorType, Quote
from evidencerails.text.claimable import clean
from evidencerails.text.language import unknown_language
from evidencerails.text.sentences import split_sentences

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.nli.base import Scores

CONTEXT_SENTENCES = 4
"""Sentences before a quote that are read with it."""
NO_SUPPORT = 0.5
"""P(entailment) of the words around a quote below which a verdict `supported` on it can be doubted at all."""
OVERRULING = 0.9
"""P(contradiction) by the quoted sentence from which the local model overrules a judge; set by hand."""
SAYS_OTHERWISE = "quote_says_otherwise"
"""Code of the one objection that overrules a judge."""
UNPROVEN_ENTAILMENT = 0.3
"""P(entailment) below which these words are not about what the claim says, if they also lack most of its words."""
MAX_SHARED_WORDS = 0.5
"""Share of the claim's content words that they have, up to which this is so."""
COMPARED_SENTENCES = 60
"""Sentences around a quote that may be nearer in meaning to the claim."""
LEAST_LIKENESS = 0.3
"""Cosine of two sentences' vectors below which they have nothing to do with each other, however far the others are."""
MAX_COMPARED_CHARACTERS = 60_000
"""Of longer evidence only so much is compared with the numbers, dates and names of a claim."""


_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|rule|prompt|above|previous)"
    r"|\b(?:reply|answer|respond|output|return|say|label|mark|classify|rate|judge)\b.{0,40}"
    r"\b(?:supported|contradicted|absent|unevaluatable|grounded|verdict|label)\b",
    re.IGNORECASE | re.DOTALL,
)


def is_order(text: str) -> bool:
    """True for words that instruct a judge what to reply; they prove no claim."""
    return _ORDER.search(text) is not None


async def objections_to(
    quotes: Mapping[int, Quote], claims: Sequence[Statement], passages: Sequence[Passage], context: CheckContext
) -> dict[int, str]:
    """The claims that are called supported by words that may not say so, each with the code of objection or doubt.

    Args:
        quotes: by the place of the claim that each is said to support.
    """
    places = list(quotes)
    text = "\n".join(claims[place].text for place in places)
    unreadable = await context.nli.run(unknown_language, text, context.nli.languages) if places else ""
    if not places or unreadable:
        return {}
    proofs = [_Proof(quotes[place], passages, claims[place].text) for place in places]
    pairs = [pair for proof in proofs for pair in proof.pairs]
    try:
        rows = await context.nli.scores(pairs)
    except EvidencerailsError:  # a second look at a verdict that stands on its quote already
        return {}
    everything = "\n\n".join(passage.text for passage in passages)[:MAX_COMPARED_CHARACTERS]
    bar = context.config.grounding.contradiction_threshold
    threshold = OVERRULING if bar is None else bar
    codes = await context.nli.run(_objections, proofs, rows, everything, threshold)
    return {place: code for place, code in zip(places, codes, strict=True) if code}


class _Proof:
    """A quote with what stands around it, and the claim that it is said to support."""

    def __init__(self, quote: Quote, passages: Sequence[Passage], claim: str) -> None:
        self.claim = claim
        self.around = context_of(quote, passages)
        self.sentence = clean(sentence_of(quote, passages))
        self._quote, self._passages = quote, passages

    @property
    def pairs(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """What the model reads: other sentences help to understand the quoted one, and drown it."""
        return (self.around, self.claim), (self.sentence, self.claim)

    @property
    def is_nearest(self) -> bool:
        """See `is_nearest`."""
        return is_nearest(self._quote, self.claim, self._passages)


def context_of(quote: Quote, passages: Sequence[Passage]) -> str:
    """The sentence that holds the quote, with those before it: "It is in Paris" says little by itself."""
    text = next((p.text for p in passages if p.id == quote.passage_id), "")
    sentences = split_sentences(text)
    at = next((n for n, s in enumerate(sentences) if s.end > quote.span.start), None)
    if at is None:
        return clean(quote.span.text)
    return clean(" ".join(sentence.text for sentence in sentences[max(0, at - CONTEXT_SENTENCES) : at + 1]))


def sentence_of(quote: Quote, passages: Sequence[Passage]) -> str:
    """The whole sentences that hold the quote: "built in 1889" alone shares no word with "it went up in 1889"."""
    text = next((p.text for p in passages if p.id == quote.passage_id), "")
    around = [s.text for s in split_sentences(text) if s.start < quote.span.end and s.end > quote.span.start]
    return " ".join(around) or quote.span.text


def is_nearest(quote: Quote, claim: str, passages: Sequence[Passage]) -> bool:
    """True if no sentence around is nearer in meaning to the claim than the one that holds the quote.

    A claim worded anew may share no word with what proves it. Blocks: the embedded encoder reads the sentences; False
    where it cannot be loaded.
    """
    from evidencerails.measures.encoder import default_encoder

    text = next((p.text for p in passages if p.id == quote.passage_id), "")
    sentences = split_sentences(text)
    own = [n for n, s in enumerate(sentences) if s.start < quote.span.end and s.end > quote.span.start]
    if not own:
        return False
    first = max(0, own[0] - COMPARED_SENTENCES // 2)
    near = sentences[first : first + COMPARED_SENTENCES]
    try:
        vectors = default_encoder().sentence_vectors([claim, *(clean(sentence.text) for sentence in near)])
    except EvidencerailsError:
        return False
    likeness = vectors[1:] @ vectors[0]
    best = max(float(likeness[n - first]) for n in own if n - first < len(near))
    return best >= max(LEAST_LIKENESS, float(likeness.max()))


def _objections(proofs: Sequence[_Proof], rows: Scores, everything: str, threshold: float) -> list[str]:
    """For each proof the code of what speaks against the verdict; mostly empty. `rows` has two for each."""
    return [_objection(proof, rows[2 * n], rows[2 * n + 1], everything, threshold) for n, proof in enumerate(proofs)]


def _objection(proof: _Proof, around: Any, alone: Any, everything: str, threshold: float) -> str:
    if alone[ENTAILMENT] >= NO_SUPPORT:
        return ""
    if alone[CONTRADICTION] >= threshold:
        return SAYS_OTHERWISE
    differing = _differing_values(proof.claim, proof.around)
    if differing and _differing_values(proof.claim, everything):
        return "evidence_lacks_values"
    if differing - ({"entity"} if _NAMES_BACK.search(proof.sentence) else set()):
        return "quote_lacks_values"
    if not _DATES_BACK.search(proof.sentence) and _differing_values(proof.claim, proof.sentence) - {"entity"}:
        return "quote_lacks_values"
    if around[ENTAILMENT] >= NO_SUPPORT:
        return ""
    is_unproven = (
        around[ENTAILMENT] < UNPROVEN_ENTAILMENT and _shared_words(proof.claim, proof.around) <= MAX_SHARED_WORDS
    )
    return "quote_lacks_claim" if is_unproven and not proof.is_nearest else ""


_NAMES_BACK = re.compile(r"\b(?:he|she|it|they|his|her|hers|its|their|theirs|him|them|this|these)\b", re.IGNORECASE)
"""Words of a sentence whose names may stand far before it."""
_DATES_BACK = re.compile(
    r"^\W*(?:he|she|it|they|his|her|its|their|this|these|that|those)\b"
    r"|\b(?:then|(?:that|the same) (?:year|month|week|day|time))\b",
    re.IGNORECASE,
)
"""Words of a sentence whose numbers and dates may stand before it."""


def _shared_words(claim: str, text: str) -> float:
    """Share of the claim's content words that the text has; 1.0 for a claim without any."""
    words = {*content_of(claim)}
    return len(words & {*content_of(text)}) / len(words) if words else 1.0


def _differing_values(claim: str, text: str) -> set[ErrorType]:
    """`number`, `temporal`, `entity`: what the claim has of these and the text has not, or has for something else."""
    values: set[ErrorType] = {"number", "temporal", "entity"}
    return values & {*error_types(claim, text, "contradicted")}
