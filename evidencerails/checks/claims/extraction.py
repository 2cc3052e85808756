"""Claims taken out of an answer by a model, and aligned back to the answer's own words.

A claim that the answer does not make is dropped and reported; a sentence that the model left out is extracted by the
rules.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel, Field

from evidencerails.checks.claims.proof import NAMES_BACK
from evidencerails.errors import EvidencerailsError, LlmReplyError, reason_of
from evidencerails.exchange import Span
from evidencerails.llm.cache import ask_cached
from evidencerails.llm.parsing import items_of, list_schema, parse_json
from evidencerails.nli.windows import content_terms
from evidencerails.text.claimable import claim_sentences, clean
from evidencerails.text.claims import ExtractedClaim, sentence_claims
from evidencerails.text.temporal import Offsets
from evidencerails.text.values import values_of

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.llm.session import LlmSession

BATCH_SENTENCES = 40
"""Sentences in one extraction call."""
MIN_ALIGNED = 60.0
"""Least likeness, 0 to 100, of a claim to the words it is said to come from (rapidfuzz, token set ratio)."""
MIN_OWN = 2
"""Words of a claim that only the sentence which the model names has, from which it makes the claim without its
numbers; set by hand, on recorded claims."""
NARROW_FROM = 0.5
"""A part of the sentence is taken as the claim's span if the sentence has at least this share of the claim's words."""
HYPHENS = ("-", "\u2010", "\u2011")
_WORD = re.compile(r"\d[\d.,]*\d|\w+")


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


def parse_drawn(reply: str) -> list[_Drawn]:
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
    sentences = await context.nli.run(claim_sentences, response, context.splitter)
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
            parse_drawn,
            prompt_version=context.prompts.version("extract_claims"),
            repair=_EXTRACTION_REPAIR,
            json_schema=_EXTRACTION_SCHEMA,
        )
    except EvidencerailsError as error:
        return reason_of(error)


def _aligned(response: str, batches: list[tuple[Sequence[Span], list[_Drawn] | str]]) -> Extraction:
    content = _ResponseContent(response)
    claims: list[ExtractedClaim] = []
    dropped: list[str] = []
    failures: list[str] = []
    uncovered = 0
    for sentences, drawn in batches:
        if isinstance(drawn, str):
            failures.append(drawn)
            drawn = []
        found = [(one.claim, _place(one, sentences, content)) for one in drawn]
        dropped += [text for text, place in found if place is None]
        for number, sentence in enumerate(sentences):
            own = [_as_claim(response, text, sentence) for text, place in found if place == number]
            uncovered += not own
            claims += list(dict.fromkeys(own)) or sentence_claims(response, sentence)
    return Extraction(claims, dropped, uncovered, tuple(dict.fromkeys(failures)))


class _ResponseContent:
    """Words, numbers, years and names of a whole response: a claim may take a name from elsewhere, nothing new."""

    def __init__(self, response: str) -> None:
        self.lower = clean(response).lower()
        self.lower += self.lower.replace(".", "")  # "B.Sc." is read as "bsc"
        self.numbers = _numbers(response)

    def has_all_of(self, claim: str) -> bool:
        names = (word for name in values_of(claim).names for word in name.words)
        return _numbers(claim) <= self.numbers and all(word in self.lower for word in names)


def _numbers(text: str) -> set[float | str]:
    """Numbers and years of a text, by what they mean, not how they are written."""
    found = values_of(text)
    years = {moment.value for moment in found.temporal if moment.part == "year"}
    return years | {round(quantity.value, 9) for quantity in found.quantities}


def _place(drawn: _Drawn, sentences: Sequence[Span], content: _ResponseContent) -> int | None:
    """Place of the sentence that makes the claim; None if none does.

    The one that the model names, unless all that it says of the claim stands in the likeliest other one, too, which
    says more. Names, numbers and times in the place of a pronoun come from elsewhere ("From 3 to 14 June" for "During
    this time"): a sentence without the claim's numbers makes it if two words of the claim are its own.
    """
    from rapidfuzz import fuzz

    if not content.has_all_of(drawn.claim):
        return None
    likeness = [fuzz.token_set_ratio(drawn.claim.lower(), clean(sentence.text).lower()) for sentence in sentences]
    numbers, named = _numbers(drawn.claim), (drawn.sentence or 0) - 1
    ranked = sorted(range(len(sentences)), key=lambda n: (not numbers <= _numbers(sentences[n].text), -likeness[n]))
    other = next((place for place in ranked if place != named and likeness[place] >= MIN_ALIGNED), None)
    if not 0 <= named < len(sentences):
        return other
    words = [terms for _, terms in _terms(drawn.claim) if terms]
    own, elsewhere = _all_terms(sentences[named].text), _all_terms(sentences[other].text if other is not None else "")
    if not any(terms & own for terms in words):
        return other
    if NAMES_BACK.search(sentences[named].text):  # the claim's first words may stand for it
        words = list(itertools.dropwhile(lambda terms: not terms & own, words))
    its_own = sum(bool(terms & own) and not terms & elsewhere for terms in words)
    others = sum(bool(terms & elsewhere) and not terms & own for terms in words)
    has_numbers = other is None or numbers <= _numbers(sentences[named].text)
    return named if its_own >= (1 if has_numbers else MIN_OWN) or (has_numbers and not others) else other


def _all_terms(text: str) -> set[str]:
    return set().union(*(terms for _, terms in _terms(text)))


def _as_claim(response: str, text: str, sentence: Span) -> ExtractedClaim:
    """The claim with its span: the words of the sentence that carry it, from its first to its last.

    It is the whole sentence where most of the claim is put in other words, or a number or date stands in another form.
    """
    parts = [
        Span.of(response, sentence.start + start, sentence.start + end)
        for start, end in _carrying_words(text, sentence.text)
    ]
    span = Span.of(response, parts[0].start, parts[-1].end) if parts else sentence
    if not _numbers(text) <= _numbers(span.text):
        span, parts = sentence, []
    spans = tuple(parts) if len(parts) > 1 else ()
    return ExtractedClaim(" ".join(text.split()), span, sentence, extractor="llm", spans=spans)


def _carrying_words(claim: str, sentence: str) -> list[Offsets]:
    """Offsets of the shortest part of the sentence with all words and numbers of the claim that it has, without what
    other claims have in between; empty if most of the claim is put in other words."""
    telling = [terms for _, terms in _terms(claim) if terms]
    wanted = set().union(*telling)
    words = _terms(sentence)
    needed = wanted & set().union(*(terms for _, terms in words))
    if not needed or sum(bool(terms & needed) for terms in telling) < NARROW_FROM * len(telling):
        return []
    first, last = _shortest_cover([terms & needed for _, terms in words], needed)
    said = {match[0].lower() for match in _WORD.finditer(claim)}  # "is" belongs to "is located", telling or not

    def goes_on(place: int, other: int) -> bool:
        """True for a word of the claim beside a place, with nothing but a blank between, and for the rest of a
        compound: a span cuts no "All-American"."""
        if not 0 <= other < len(words):
            return False
        (_, end), (start, _) = sorted((words[place][0], words[other][0]))
        between = sentence[end:start]
        return between in HYPHENS or (between.isspace() and sentence[slice(*words[other][0])].lower() in said)

    found: list[Offsets] = []
    for tells_else, group in itertools.groupby(
        range(first, last + 1), lambda n: bool(words[n][1]) and not words[n][1] & needed
    ):
        own = [] if tells_else else [place for place in group if words[place][1]]
        if own:
            start, end = own[0], own[-1]
            while goes_on(start, start - 1):
                start -= 1
            while goes_on(end, end + 1):
                end += 1
            found.append((words[start][0][0], words[end][0][1]))
    return found


def _terms(text: str) -> list[tuple[Offsets, set[str]]]:
    """The words of a text with their terms; a number or a part of a date is one word, whose term is what it means:
    "ten" as "10"."""
    found, values = values_of(text), dict[Offsets, set[str]]()
    for quantity in found.quantities:
        values[quantity.start, quantity.end] = {f"#{quantity.value:.9g}"}
    for one in found.temporal:
        values.setdefault((one.start, one.end), set()).add(f"#{one.part} {one.value}")
    words = [match.span() for match in _WORD.finditer(text)]
    apart = [word for word in words if not any(start < word[1] and word[0] < end for start, end in values)]
    return sorted([*values.items(), *((word, content_terms(text[slice(*word)])) for word in apart)])


def _shortest_cover(words: Sequence[set[str]], needed: set[str]) -> tuple[int, int]:
    """First and last place of the shortest run of words that has all that is needed; all words together have it."""
    best, start = (0, len(words) - 1), 0
    counts: Counter[str] = Counter()
    for end, terms in enumerate(words):
        counts.update(terms)
        while all(counts[term] for term in needed):
            if end - start < best[1] - best[0]:
                best = (start, end)
            counts.subtract(words[start])
            start += 1
    return best
