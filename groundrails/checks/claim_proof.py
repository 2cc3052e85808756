"""Whether the words that a model quotes for a claim prove it.

A model that was talked into a verdict, or sleeps, quotes something all the same: an order to the judge, words about
another thing, words that say otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from groundrails.checks.error_types import error_types
from groundrails.errors import GroundrailsError
from groundrails.exchange import Passage
from groundrails.nli.base import CONTRADICTION, ENTAILMENT
from groundrails.report import Quote
from groundrails.scoring.base import Statement
from groundrails.scoring.languages import unknown_language
from groundrails.text.claimable import clean
from groundrails.text.sentences import split_sentences

if TYPE_CHECKING:
    from groundrails.checks.base import CheckContext
    from groundrails.nli.base import Scores

CONTEXT_SENTENCES = 4
"""Sentences before a quote that are read with it."""
NO_SUPPORT = 0.5
"""P(entailment) of the words around a quote below which a verdict `supported` on it can be doubted at all."""
MISQUOTE_CONTRADICTION = 0.7
"""P(contradiction) of these words and the claim from which that verdict is not believed."""
MISQUOTE_WITH_VALUES = 0.2
"""The same where they also differ in a number, date or name."""
MAX_COMPARED_CHARACTERS = 60_000
"""Of longer evidence only so much is compared with the numbers, dates and names of a claim."""


_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|rule|prompt|above|previous)"
    r"|\b(?:reply|answer|respond|output|return|say|label|mark|classify|rate|judge)\b.{0,40}"
    r"\b(?:supported|contradicted|absent|unevaluatable|grounded|verdict|label)\b",
    re.IGNORECASE | re.DOTALL,
)


def is_order(text: str) -> bool:
    """True for words that tell a judge what to reply; no evidence proves a claim by them."""
    return _ORDER.search(text) is not None


async def objections_to(
    quotes: Mapping[int, Quote], claims: Sequence[Statement], passages: Sequence[Passage], context: CheckContext
) -> dict[int, str]:
    """The claims that are called supported by words that do not say so, each with the code of the objection.

    Args:
        quotes: by the place of the claim that each is said to support.
    """
    places = list(quotes)
    told = "\n".join(claims[place].text for place in places)
    unreadable = await context.nli.run(unknown_language, told, context.nli.languages) if places else ""
    if not places or unreadable:
        return {}
    pairs = [(_around(quotes[place], passages), claims[place].text) for place in places]
    try:
        rows = await context.nli.scores(pairs)
    except GroundrailsError:  # a second look at a verdict that stands on its quote already
        return {}
    everything = "\n\n".join(passage.text for passage in passages)[:MAX_COMPARED_CHARACTERS]
    codes = await context.nli.run(_objections, pairs, rows, everything)
    return {place: code for place, code in zip(places, codes, strict=True) if code}


def _around(quote: Quote, passages: Sequence[Passage]) -> str:
    """The sentence that holds the quote, with those before it: "It is in Paris" alone tells little."""
    text = next((p.text for p in passages if p.id == quote.passage_id), "")
    sentences = split_sentences(text)
    at = next((n for n, s in enumerate(sentences) if s.end > quote.span.start), None)
    if at is None:
        return clean(quote.span.text)
    return clean(" ".join(sentence.text for sentence in sentences[max(0, at - CONTEXT_SENTENCES) : at + 1]))


def sentence_of(quote: Quote, passages: Sequence[Passage]) -> str:
    """The quote with the sentence around it: "built in 1889" alone shares no word with "the tower went up in 1889"."""
    text = next((p.text for p in passages if p.id == quote.passage_id), "")
    around = (s.text for s in split_sentences(text) if s.start < quote.span.end and s.end > quote.span.start)
    return " ".join([quote.span.text, *around])


def _objections(pairs: Sequence[tuple[str, str]], rows: Scores, everything: str) -> list[str]:
    """For each claim, beside the words around its quote, the code of what speaks against the verdict; mostly empty."""
    return [_objection(premise, claim, row, everything) for (premise, claim), row in zip(pairs, rows, strict=True)]


def _objection(premise: str, claim: str, row: Any, everything: str) -> str:
    if row[ENTAILMENT] >= NO_SUPPORT:
        return ""
    if row[CONTRADICTION] >= MISQUOTE_CONTRADICTION:
        return "quote_says_otherwise"
    if row[CONTRADICTION] >= MISQUOTE_WITH_VALUES and _has_other_values(claim, premise):
        return "quote_says_otherwise"
    return "evidence_lacks_values" if _has_other_values(claim, everything) else ""


def _has_other_values(claim: str, text: str) -> bool:
    """True if the claim has a number, date or name that the text has not, or has for something else."""
    return bool({"number", "temporal", "entity"} & {*error_types(claim, text, "contradicted")})
