"""Claims taken out of an answer by a model, and aligned back to the answer's own words.

A claim that the answer does not make is dropped and reported; a sentence that the model left out is extracted by the
rules.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, Field

from evidencerails.errors import EvidencerailsError, LlmReplyError, reason_of
from evidencerails.exchange import Span
from evidencerails.llm.cache import ask_cached
from evidencerails.llm.parsing import items_of, parse_json
from evidencerails.scoring.asking import list_schema
from evidencerails.text.claimable import claim_sentences, clean
from evidencerails.text.claims import ExtractedClaim, sentence_claims
from evidencerails.text.values import Quantity, values_of

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.llm.session import LlmSession

BATCH_SENTENCES = 40
"""Sentences in one extraction call."""
MIN_ALIGNED = 60.0
"""Least likeness, 0 to 100, of a claim to the words it is said to come from (rapidfuzz, token set ratio)."""
NARROW_FROM = 0.5
"""A stretch of the sentence is taken as the claim's span if it has at least this part of the claim's length."""


class Extraction(NamedTuple):
    """Claims of a response, and what did not become one."""

    claims: list[ExtractedClaim]
    dropped: list[str]
    """Claims of the model that the answer does not make."""
    uncovered: int = 0
    """Sentences that the model made no claim of, though they make one; the rules extracted them."""
    failures: tuple[str, ...] = ()
    """Calls that brought nothing; the rules extracted their sentences."""


class _Drawn(BaseModel):
    sentence: int | None = None
    claim: str = Field(min_length=1)


_EXTRACTION_SCHEMA = list_schema("claims", {"sentence": {"type": "integer"}, "claim": {"type": "string"}})
_EXTRACTION_REPAIR = (
    "That reply could not be read. Reply with the JSON object alone: "
    '{"claims": [{"sentence": 1, "claim": "..."}]}, the number of the sentence and the claim.'
)


def _read_drawn(reply: str) -> list[_Drawn]:
    """The claims of an extraction reply; an object with `claims`, or a bare list, of objects or strings.

    Raises:
        LlmReplyError: it holds no claim. The sentences asked about make some, so an empty list is no answer.
    """
    drawn = items_of(parse_json(reply), "claims", _Drawn, as_text="claim")
    if not drawn:
        raise LlmReplyError("the reply holds no claim; expected a list 'claims' with at least one")
    return drawn


async def extract_with_model(response: str, context: CheckContext, session: LlmSession) -> Extraction:
    """The claims that the model finds in a response, in the order of their places.

    A failed call costs nothing but precision: its sentences are extracted by the rules, and the failure is reported.
    """
    sentences = await context.nli.run(claim_sentences, response)
    batches = [sentences[first : first + BATCH_SENTENCES] for first in range(0, len(sentences), BATCH_SENTENCES)]
    drawn = await asyncio.gather(*(_draw(batch, context, session) for batch in batches))
    return await context.nli.run(_aligned, response, list(zip(batches, drawn, strict=True)))


async def _draw(batch: Sequence[Span], context: CheckContext, session: LlmSession) -> list[_Drawn] | str:
    """The model's claims about some sentences; the reason if there are none."""
    numbered = "\n".join(f"{number}. {clean(sentence.text)}" for number, sentence in enumerate(batch, start=1))
    try:
        return await ask_cached(
            context.cache,
            session,
            context.prompts.render("extract_claims", sentences=numbered),
            _read_drawn,
            prompt_version=context.prompts.version("extract_claims"),
            repair=_EXTRACTION_REPAIR,
            json_schema=_EXTRACTION_SCHEMA,
        )
    except EvidencerailsError as error:
        return reason_of(error)


def _aligned(response: str, batches: list[tuple[Sequence[Span], list[_Drawn] | str]]) -> Extraction:
    everything = _Told(response)
    claims: list[ExtractedClaim] = []
    dropped: list[str] = []
    failures: list[str] = []
    uncovered = 0
    for sentences, drawn in batches:
        if isinstance(drawn, str):
            failures.append(drawn)
            drawn = []
        found = [(one.claim, _place(one, sentences, everything)) for one in drawn]
        dropped += [text for text, place in found if place is None]
        for number, sentence in enumerate(sentences):
            own = [_as_claim(response, text, sentence) for text, place in found if place == number]
            uncovered += not own
            claims += list(dict.fromkeys(own)) or sentence_claims(response, sentence)
    return Extraction(claims, dropped, uncovered, tuple(dict.fromkeys(failures)))


class _Told:
    """Words, numbers and names of a whole response: a claim may take a name from another sentence, and nothing new."""

    def __init__(self, response: str) -> None:
        self.lower = clean(response).lower()
        self.numbers = {_number(quantity) for quantity in values_of(response).quantities}

    def has_all_of(self, claim: str) -> bool:
        values = values_of(claim)
        names = (word for name in values.names for word in name.words)
        return all(_number(quantity) in self.numbers for quantity in values.quantities) and all(
            word in self.lower for word in names
        )


def _number(quantity: Quantity) -> float:
    return round(quantity.value, 9)


def _place(drawn: _Drawn, sentences: Sequence[Span], told: _Told) -> int | None:
    """Place of the sentence that makes the claim; None if none does."""
    from rapidfuzz import fuzz

    if not told.has_all_of(drawn.claim):
        return None
    likeness = [fuzz.token_set_ratio(drawn.claim.lower(), clean(sentence.text).lower()) for sentence in sentences]
    named = (drawn.sentence or 0) - 1
    if 0 <= named < len(sentences) and likeness[named] >= MIN_ALIGNED:
        return named
    best = max(range(len(sentences)), key=likeness.__getitem__, default=0)
    return best if likeness and likeness[best] >= MIN_ALIGNED else None


def _as_claim(response: str, text: str, sentence: Span) -> ExtractedClaim:
    """The claim with its span: the stretch of the sentence that is most like it, at word borders."""
    from rapidfuzz import fuzz

    aligned = fuzz.partial_ratio_alignment(text.lower(), sentence.text.lower())
    span = sentence
    if aligned is not None and aligned.dest_end - aligned.dest_start >= NARROW_FROM * len(text):
        start, end = _at_words(sentence.text, aligned.dest_start, aligned.dest_end)
        span = Span.of(response, sentence.start + start, sentence.start + end)
    return ExtractedClaim(" ".join(text.split()), span, sentence, extractor="llm")


def _at_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch, widened to whole words, without white space and commas around it."""
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    while start < end - 1 and text[start] in " ,;\n\t":
        start += 1
    while end > start + 1 and text[end - 1] in " ,;\n\t":
        end -= 1
    return start, end
