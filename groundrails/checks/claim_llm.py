"""Claims by a model: extraction, aligned back to the answer's own words, and classification that has to prove itself.

Whatever a model says is checked: a claim that the answer does not make is dropped and reported, a sentence that it left
out is extracted by the rules, a verdict that rests on words which the evidence does not have is no verdict.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from pydantic import BaseModel, Field, ValidationError

from groundrails.checks.claim_examples import examples_for
from groundrails.checks.error_types import error_types
from groundrails.errors import GroundrailsError, LlmReplyError, reason_of
from groundrails.exchange import Passage, Span
from groundrails.llm.cache import ask_cached
from groundrails.llm.parsing import parse_json
from groundrails.nli.base import CONTRADICTION, ENTAILMENT
from groundrails.report import ErrorType, Label, Quote
from groundrails.scoring.asking import (
    BATCH_CLAIMS,
    NO_VERDICT,
    SECOND_LOOK,
    Answer,
    Question,
    Replies,
    ask_about,
    list_schema,
)
from groundrails.scoring.base import Statement
from groundrails.scoring.evidence import find_quote, is_about
from groundrails.scoring.languages import unknown_language
from groundrails.text.claimable import claim_sentences, clean
from groundrails.text.claims import ExtractedClaim, sentence_claims
from groundrails.text.sentences import split_sentences
from groundrails.text.values import Quantity, values_of

if TYPE_CHECKING:
    from groundrails.checks.base import CheckContext
    from groundrails.config import ClaimsSettings
    from groundrails.llm.session import LlmSession
    from groundrails.nli.base import Scores

BATCH_SENTENCES = 40
"""Sentences in one extraction call."""
MIN_ALIGNED = 60.0
"""Least likeness, 0 to 100, of a claim to the words it is said to come from (rapidfuzz, token set ratio)."""
NARROW_FROM = 0.5
"""A stretch of the sentence is taken as the claim's span if it has at least this part of the claim's length."""
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
LABELS: tuple[Label, ...] = get_args(Label)
ERROR_TYPES: tuple[ErrorType, ...] = get_args(ErrorType)
PROVEN_LABELS = ("supported", "partially_supported", "contradicted")
"""Labels that need words of the evidence."""
JUDGE_SCORES: Mapping[Label, float] = {
    "supported": 0.05,
    "partially_supported": 0.75,
    "absent": 0.9,
    "contradicted": 0.97,
}
"""Score of a claim by the model's label. Set by hand: a model's label is no probability."""

# ---- extraction


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
    drawn = _items(parse_json(reply), "claims", _Drawn, as_text="claim")
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
    except GroundrailsError as error:
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


# ---- classification


class Verdict(Answer):
    """What the model says about one claim, step by step."""

    label: Label
    facts: str = ""
    quote: str = ""
    comparison: str = ""
    error_types: tuple[ErrorType, ...] = ()

    @property
    def reasoning(self) -> str:
        """The steps, as one text."""
        steps = (("facts", self.facts), ("quote", self.quote), ("comparison", self.comparison))
        return "; ".join(f"{name}: {text}" for name, text in steps if text)


class Judged(NamedTuple):
    """A claim's label by the model; `unevaluatable` with its reason if the verdict is not to be trusted."""

    label: Label
    reason: str
    quote: Quote | None = None
    error_types: tuple[ErrorType, ...] = ()
    is_trusted: bool = True


_VERDICT_SCHEMA = list_schema(
    "verdicts",
    {
        "claim": {"type": "integer"},
        "facts": {"type": "string"},
        "quote": {"type": "string"},
        "comparison": {"type": "string"},
        "label": {"type": "string", "enum": list(LABELS)},
        "error_types": {"type": "array", "items": {"type": "string", "enum": list(ERROR_TYPES)}},
    },
)
_VERDICT_REPAIR = (
    "That reply could not be read. Reply with the JSON object alone, one entry for each claim: "
    '{"verdicts": [{"claim": 1, "facts": "...", "quote": "...", "comparison": "...", "label": "...", '
    f'"error_types": []}}]}}; label is exactly one of {", ".join(LABELS)}.'
)


def _read_verdicts(reply: str) -> list[Verdict]:
    """The readable verdicts of a reply; those with an unknown label or two labels are left out.

    Raises:
        LlmReplyError: none is readable.
    """
    verdicts = _items(parse_json(reply), "verdicts", Verdict)
    if not verdicts:
        raise LlmReplyError(f"the reply holds no verdict with one label of {', '.join(LABELS)}")
    return verdicts


def _items(value: Any, key: str, model: type[Any], *, as_text: str | None = None) -> list[Any]:
    """The items of a list under `key`, or of a bare list or a single object, that fit the model."""
    if isinstance(value, dict):
        inner = value.get(key)
        value = inner if isinstance(inner, list) else [value]
    found = []
    for item in value:
        if as_text is not None and isinstance(item, str):
            item = {as_text: item}
        try:
            found.append(model.model_validate(_tidied(item)))
        except ValidationError:
            continue
    return found


_MARKS = " .!*_`\"'\n\t"


def _tidied(item: Any) -> Any:
    """An item with its label in our spelling ("Partially Supported") and without error types that do not exist."""
    if not isinstance(item, dict):
        return item
    tidy = dict(item)
    if isinstance(tidy.get("label"), str):
        tidy["label"] = re.sub(r"[\s-]+", "_", tidy["label"].strip(_MARKS).lower())
    if isinstance(tidy.get("quote"), list) and all(isinstance(part, str) for part in tidy["quote"]):
        tidy["quote"] = " … ".join(tidy["quote"])  # each of them has to be found
    if "error_types" in tidy:
        given = tidy["error_types"] if isinstance(tidy["error_types"], list) else [tidy["error_types"]]
        tidy["error_types"] = [name for name in given if name in ERROR_TYPES]
    for name in ("facts", "comparison"):
        if isinstance(tidy.get(name), list):
            tidy[name] = "; ".join(str(part) for part in tidy[name])
    return tidy


def claims_a_call(settings: ClaimsSettings) -> int:
    """How many claims one classification call is about."""
    return BATCH_CLAIMS if settings.calls == "batch" else 1


async def classify_with_model(
    claims: Sequence[Statement], passages: Sequence[Passage], context: CheckContext, session: LlmSession
) -> list[Judged]:
    """The model's label for each claim, in their order.

    Claims without a verdict that can be trusted are asked about once more; after that they are `unevaluatable`.
    """
    judged = await _pass(range(len(claims)), claims, passages, context, session, number=1)
    again = [place for place, one in judged.items() if not one.is_trusted and not one.reason.startswith("judge_failed")]
    judged |= await _pass(again, claims, passages, context, session, number=2)
    return [judged[place] for place in range(len(claims))]


async def _pass(
    places: Sequence[int],
    claims: Sequence[Statement],
    passages: Sequence[Passage],
    context: CheckContext,
    session: LlmSession,
    *,
    number: int,
) -> dict[int, Judged]:
    if not places:
        return {}
    settings = context.config.claims
    is_batch = settings.calls == "batch"
    question: Question[Verdict] = Question(
        task="classify_claims_batch" if is_batch else "classify_claim",
        parse=_read_verdicts,
        schema=_VERDICT_SCHEMA,
        repair=_VERDICT_REPAIR,
        extra=lambda texts: {"examples": examples_for(texts, settings.examples)},
    )
    size = claims_a_call(settings)
    note = SECOND_LOOK if number > 1 else ""
    replies = await ask_about(
        question, places, claims, passages, context, session, seed=number, batch_claims=size, note=note
    )
    judged = {place: _judged(place, replies, claims[place], passages) for place in places}
    for place, code in (await _misquoted(judged, claims, passages, context)).items():
        judged[place] = _untrusted(code, replies.answers[place])
    return judged


def _judged(place: int, replies: Replies[Verdict], claim: Statement, passages: Sequence[Passage]) -> Judged:
    verdict = replies.answers.get(place)
    if verdict is None:
        return Judged("unevaluatable", replies.reasons.get(place, NO_VERDICT), is_trusted=False)
    score = (
        1.0 - JUDGE_SCORES.get(verdict.label, 0.5)
        if verdict.label == "supported"
        else JUDGE_SCORES.get(verdict.label, 0.5)
    )
    quote = find_quote(verdict.quote, passages, score=score) if verdict.quote.strip() else None
    if verdict.label in PROVEN_LABELS:
        if quote is None:
            return _untrusted("invented_quote" if verdict.quote.strip() else "no_quote", verdict)
        sentence = _sentence_of(quote, passages)
        if not is_about(sentence, claim.text):
            return _untrusted("quote_about_something_else", verdict)
        if is_order(sentence) and not is_order(claim.text):
            return _untrusted("quote_is_an_instruction", verdict)
    kept = verdict.error_types if verdict.label not in ("supported", "unevaluatable") else ()
    return Judged(verdict.label, verdict.reasoning or verdict.label, quote, kept)


def _untrusted(code: str, verdict: Verdict) -> Judged:
    return Judged("unevaluatable", f"{code}: the model said {verdict.label}; {verdict.reasoning}", is_trusted=False)


_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,40}\b(?:instruction|rule|prompt|above|previous)"
    r"|\b(?:reply|answer|respond|output|return|say|label|mark|classify|rate|judge)\b.{0,40}"
    r"\b(?:supported|contradicted|absent|unevaluatable|grounded|verdict|label)\b",
    re.IGNORECASE | re.DOTALL,
)


def is_order(text: str) -> bool:
    """True for words that tell a judge what to reply; no evidence proves a claim by them."""
    return _ORDER.search(text) is not None


async def _misquoted(
    judged: Mapping[int, Judged], claims: Sequence[Statement], passages: Sequence[Passage], context: CheckContext
) -> dict[int, str]:
    """Claims called supported by words that do not say so, with the code: a judge talked into it, or asleep."""
    places = [place for place, one in judged.items() if one.label == "supported" and one.quote is not None]
    told = "\n".join(claims[place].text for place in places)
    unreadable = await context.nli.run(unknown_language, told, context.nli.languages) if places else ""
    if not places or unreadable:
        return {}
    pairs = [(_around(judged[place].quote, passages), claims[place].text) for place in places]
    try:
        rows = await context.nli.scores(pairs)
    except GroundrailsError:  # a second look at a verdict that stands on its quote already
        return {}
    everything = "\n\n".join(passage.text for passage in passages)[:MAX_COMPARED_CHARACTERS]
    codes = await context.nli.run(_objections, pairs, rows, everything)
    return {place: code for place, code in zip(places, codes, strict=True) if code}


def _around(quote: Quote | None, passages: Sequence[Passage]) -> str:
    """The sentence that holds the quote, with those before it: "It is in Paris" alone tells little."""
    text = next((p.text for p in passages if quote is not None and p.id == quote.passage_id), "")
    sentences = split_sentences(text)
    at = next((n for n, s in enumerate(sentences) if quote is not None and s.end > quote.span.start), None)
    if at is None:
        return clean(quote.span.text) if quote is not None else ""
    return clean(" ".join(sentence.text for sentence in sentences[max(0, at - CONTEXT_SENTENCES) : at + 1]))


def _sentence_of(quote: Quote, passages: Sequence[Passage]) -> str:
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
