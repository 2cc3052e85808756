"""The two calls of the chain of verification: open questions about claims, and answers from the evidence alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from evidencerails.errors import LlmReplyError
from evidencerails.exchange import Exchange
from evidencerails.llm.cache import ask_cached
from evidencerails.llm.parsing import parse_json
from evidencerails.measures.evidence import excerpts_for
from evidencerails.report import Claim
from evidencerails.text.values import values_of

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.llm.session import LlmSession


_YES_OR_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|isn't|aren't|wasn't|didn't|doesn't)\b",
    re.IGNORECASE,
)


class Candidate(NamedTuple):
    """A claim that is worth a question."""

    claim: Claim
    expected_severity: float


class _Asked(BaseModel):
    model_config = ConfigDict(strict=True)

    claim: int
    question: str


class Answered(BaseModel):
    """An answer to one question, by its number, with the words of the evidence it rests on."""

    model_config = ConfigDict(strict=True)

    question: int
    answer: str
    quote: str = ""


async def open_questions(claims: Sequence[Claim], context: CheckContext, session: LlmSession) -> Mapping[int, str]:
    """An open question for each claim, by its place; none for a claim whose question gives its answer away."""
    asked = await _ask(
        "verification_questions",
        {"claims": "\n".join(f"{n}. {' '.join(claim.text.split())}" for n, claim in enumerate(claims, start=1))},
        _reader("questions", _Asked, len(claims)),
        context,
        session,
    )
    found = {one.claim - 1: " ".join(one.question.split()) for one in asked}
    return {place: text for place, text in found.items() if text and not _is_leading(text, claims[place].text)}


def _is_leading(question: str, claim: str) -> bool:
    """True for a yes-or-no question, and for one that holds every number, date and name of the claim."""
    if _YES_OR_NO.match(question):
        return True
    values = values_of(claim)
    values_said = [claim[one.start : one.end] for group in (values.quantities, values.moments) for one in group]
    return bool(values_said) and all(text.lower() in question.lower() for text in values_said)


async def independent_answers(
    questions: Mapping[int, str],
    candidates: Sequence[Candidate],
    exchange: Exchange,
    context: CheckContext,
    session: LlmSession,
) -> Mapping[int, Answered]:
    """Answers from the evidence alone, by the claim's place; neither answer nor claims are in the prompt."""
    places = list(questions)
    claims = [candidates[place].claim for place in places]
    excerpts = await context.nli.run(excerpts_for, claims, exchange.evidence)
    answered = await _ask(
        "verification_answers",
        {
            "evidence": "\n\n".join(f"[{p.id}]\n{p.text.strip()}" for p in excerpts.passages),
            "questions": "\n".join(f"{n}. {questions[place]}" for n, place in enumerate(places, start=1)),
        },
        _reader("answers", Answered, len(places)),
        context,
        session,
    )
    return {places[one.question - 1]: one for one in answered}


async def _ask(
    task: str, variables: Mapping[str, str], parse: Any, context: CheckContext, session: LlmSession
) -> list[Any]:
    found: list[Any] = await ask_cached(
        context.cache,
        session,
        context.prompts.render(task, **variables),
        parse,
        prompt_version=context.prompts.version(task),
        repair="That reply could not be read. Reply with the JSON object alone, as described.",
    )
    return found


def _reader(key: str, model: type[_Asked] | type[Answered], count: int) -> Any:
    """Reads the list under `key`; entries with another number than 1 to `count`, or one used twice, are errors."""

    def read(reply: str) -> list[Any]:
        value = parse_json(reply)
        items = value.get(key) if isinstance(value, dict) else value
        if not isinstance(items, list) or not items:
            raise LlmReplyError(f"expected a list {key!r} with at least one entry")
        try:
            found = [model.model_validate(item) for item in items]
        except ValidationError:
            raise LlmReplyError(f"an entry of {key!r} does not fit {model.__name__.strip('_')}") from None
        numbers = [one.claim if isinstance(one, _Asked) else one.question for one in found]
        if len(set(numbers)) != len(numbers) or not all(1 <= number <= count for number in numbers):
            raise LlmReplyError(f"expected each number from 1 to {count} at most once, got {numbers}")
        return found

    return read
