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
from evidencerails.measures.evidence import context_of, sentences_of
from evidencerails.nli.base import CONTRADICTION, ENTAILMENT
from evidencerails.nli.windows import stems_of
from evidencerails.report import ErrorType, Quote
from evidencerails.text.claimable import clean
from evidencerails.text.language import unknown_language

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext

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
MAX_COMPARED_CHARACTERS = 60_000
"""Of longer evidence only so much is compared with the numbers, dates and names of a claim."""


async def objections_to(
    quotes: Mapping[int, Sequence[Quote]],
    claims: Sequence[Statement],
    passages: Sequence[Passage],
    context: CheckContext,
) -> dict[int, str]:
    """The claims that are called supported by words that may not say so, each with the code of objection or doubt.

    Args:
        quotes: by the place of the claim that they are said to support.
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

    def codes() -> list[str]:
        each = zip(proofs, rows[::2], rows[1::2], strict=True)
        return [_objection(*one, everything, threshold) for one in each]

    return {place: code for place, code in zip(places, await context.nli.run(codes), strict=True) if code}


class _Proof:
    """Quotes with what stands around them, and the claim that they are said to support."""

    def __init__(self, quotes: Sequence[Quote], passages: Sequence[Passage], claim: str) -> None:
        self.claim = claim
        self.around = context_of(quotes, passages)
        self.sentence = clean(sentences_of(quotes, passages))

    @property
    def pairs(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """What the model reads: other sentences help to understand the quoted one, and drown it."""
        return (self.around, self.claim), (self.sentence, self.claim)


def _objection(proof: _Proof, around: Any, alone: Any, everything: str, threshold: float) -> str:
    """The code of what speaks against the verdict; mostly empty."""
    if alone[ENTAILMENT] >= NO_SUPPORT:
        return ""
    if alone[CONTRADICTION] >= threshold:
        return SAYS_OTHERWISE
    differing = _differing_values(proof.claim, proof.around)
    if differing and _differing_values(proof.claim, everything):
        return "evidence_lacks_values"
    if differing - ({"entity"} if NAMES_BACK.search(proof.sentence) else set()):
        return "quote_lacks_values"
    if not _DATES_BACK.search(proof.sentence) and _differing_values(proof.claim, proof.sentence) - {"entity"}:
        return "quote_lacks_values"
    if around[ENTAILMENT] >= NO_SUPPORT:
        return ""
    is_unproven = (
        around[ENTAILMENT] < UNPROVEN_ENTAILMENT and _shared_words(proof.claim, proof.around) <= MAX_SHARED_WORDS
    )
    return "quote_lacks_claim" if is_unproven else ""


NAMES_BACK = re.compile(r"\b(?:he|she|it|they|his|her|hers|its|their|theirs|him|them|this|these)\b", re.IGNORECASE)
"""Words of a sentence whose names may stand far before it."""
_DATES_BACK = re.compile(
    r"^\W*(?:he|she|it|they|his|her|its|their|this|these|that|those)\b"
    r"|\b(?:then|(?:that|the same) (?:year|month|week|day|time))\b",
    re.IGNORECASE,
)
"""Words of a sentence whose numbers and dates may stand before it."""


def _shared_words(claim: str, text: str) -> float:
    """Share of the claim's content words that the text has; 1.0 for a claim without any."""
    words = stems_of(claim)
    return len(words & stems_of(text)) / len(words) if words else 1.0


def _differing_values(claim: str, text: str) -> set[ErrorType]:
    """`number`, `temporal`, `entity`: what the claim has of these and the text has not, or has for something else."""
    values: set[ErrorType] = {"number", "temporal", "entity"}
    return values & {*error_types(claim, text, "contradicted")}
