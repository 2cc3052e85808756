"""Claims put to a judge in batches: numbered, in shuffled order, each reply matched to its claim by number."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, field_validator

from evidencerails.errors import EvidencerailsError, LlmReplyError, reason_of
from evidencerails.exchange import Exchange, Message, Passage
from evidencerails.llm.cache import ask_cached
from evidencerails.measures.base import MeasureContext, Statement, UnmeasuredError
from evidencerails.measures.evidence import MAX_PROMPT_CHARACTERS, excerpts_for

if TYPE_CHECKING:
    from evidencerails.llm.session import LlmSession

BATCH_CLAIMS = 20
"""Claims in one call: the evidence is sent once for all of them."""
SECOND_LOOK = (
    "These claims were judged before, without a clear verdict that the quoted words prove. Compare every detail again, "
    "decide, and copy the quote exactly from the evidence."
)
"""Note of a second pass. Without it the question would be the same, and so would the reply, from the cache at least."""
NO_VERDICT = "no_verdict"
"""Reason of a claim that the judge left out."""


def judge_for(exchange: Exchange, context: MeasureContext) -> LlmSession:
    """The model to ask about the claims.

    Raises:
        UnmeasuredError: there is none, or nothing to compare the claims with.
    """
    session = context.judge or context.llm
    if session is None:
        raise UnmeasuredError("no_model")
    if not exchange.evidence:
        raise UnmeasuredError("no_evidence")
    return session


class Answer(BaseModel):
    """What a judge says about one claim."""

    claim: int
    """Its number in the prompt, from 1."""

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("expected a number or a text, got true or false")
        return value


A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class Question(Generic[A]):  # Python 3.10 has no generic named tuples
    task: str
    """Of the prompt, with the variables `evidence` and `claims`."""
    parse: Callable[[str], Sequence[A]]
    schema: dict[str, Any]
    repair: str
    extra: Callable[[Sequence[str]], Mapping[str, str]] = lambda claims: {}
    """Further variables of the prompt, made from the texts of the claims in one call. May block."""


@dataclass(frozen=True)
class Replies(Generic[A]):  # Python 3.10 has no generic named tuples
    """Answers by the claim's place, and for the others the reason."""

    answers: Mapping[int, A]
    reasons: Mapping[int, str]


async def ask_about(
    question: Question[A],
    places: Sequence[int],
    claims: Sequence[Statement],
    passages: Sequence[Passage],
    context: MeasureContext,
    session: LlmSession,
    *,
    seed: int = 0,
    batch_claims: int = BATCH_CLAIMS,
    evidence_characters: int = MAX_PROMPT_CHARACTERS,
    note: str = "",
) -> Replies[A]:
    """Ask about the claims at `places`, all batches at the same time. A batch that fails takes no other with it.

    Args:
        evidence_characters: of longer evidence what is nearest to the claims goes into a prompt.
        note: goes below the prompt; see `SECOND_LOOK`.
    """

    async def ask(batch: Sequence[int]) -> Replies[A]:
        asked = [claims[place] for place in batch]
        texts = [claim.text for claim in asked]
        excerpts = await context.nli.run(excerpts_for, asked, passages, evidence_characters)
        shown = (f"[{number}]\n{passage.text.strip()}" for number, passage in enumerate(excerpts, start=1))
        # One line for each claim, so that a text cannot pass for the next number.
        lines = (f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, start=1))
        try:
            more = await context.nli.run(question.extra, texts)
            messages = context.prompts.render(
                question.task, evidence="\n\n".join(shown), claims="\n".join(lines), **more
            )
            answers = await ask_cached(
                context.cache,
                session,
                _with_note(messages, note),
                lambda text: _by_place(question.parse(text), batch),
                prompt_version=context.prompts.version(question.task),
                repair=question.repair,
                json_schema=question.schema,
                is_complete=lambda found: len(found) == len(batch),
            )
        except EvidencerailsError as error:
            return Replies({}, dict.fromkeys(batch, f"judge_failed: {reason_of(error)}"))
        return Replies(answers, {place: NO_VERDICT for place in batch if place not in answers})

    order = shuffled(places, claims, seed)
    batches = [order[first : first + batch_claims] for first in range(0, len(order), batch_claims)]
    found = await asyncio.gather(*map(ask, batches))
    answers = {place: answer for replies in found for place, answer in replies.answers.items()}
    return Replies(answers, {place: reason for replies in found for place, reason in replies.reasons.items()})


def shuffled(places: Sequence[int], claims: Sequence[Statement], seed: int) -> list[int]:
    """The places in an order that depends on seed and claims only: judges favour what comes first, so nobody always
    does, and equal questions stay equal for the cache."""
    order = list(places)
    random.Random(f"{seed}:" + "\n".join(claims[place].text for place in places)).shuffle(order)
    return order


def planned_calls(count: int, batch_claims: int = BATCH_CLAIMS) -> int:
    """Calls that so many claims take, without repairs and second passes."""
    return -(-count // batch_claims)


def _with_note(messages: Sequence[Message], note: str) -> Sequence[Message]:
    if not note:
        return messages
    last = messages[-1]
    return (*messages[:-1], last.model_copy(update={"content": f"{last.content}\n\n{note}"}))


def _by_place(answers: Sequence[A], batch: Sequence[int]) -> Mapping[int, A]:
    """Answers by the places of their claims.

    Raises:
        LlmReplyError: there is none, or one names no claim, or two speak of one claim and differ.
    """
    found: dict[int, A] = {}
    for answer in answers:
        if not 1 <= answer.claim <= len(batch):
            raise LlmReplyError(f"the reply judges claim {answer.claim}; there are claims 1 to {len(batch)}")
        place = batch[answer.claim - 1]
        if found.setdefault(place, answer) != answer:
            raise LlmReplyError(f"the reply judges claim {answer.claim} twice, in different ways")
    if not found:
        raise LlmReplyError(f"the reply judges none of the {len(batch)} claims")
    return found
