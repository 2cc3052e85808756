"""A judge model answers yes or no: does the evidence support the claim?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, field_validator

from evidencerails.exchange import Exchange
from evidencerails.llm.parsing import parse_object
from evidencerails.measures.asking import NO_VERDICT, Answer, Question, Replies, ask_about, list_schema, unasked
from evidencerails.measures.base import ClaimScore, MeasureContext, MeasureResult, Statement, result_of, unmeasured

UNSURE = "judge_unsure"
"""Reason where the judge can read the evidence both ways."""
_SCORES = {"yes": 0.0, "no": 1.0}


class YesNo(Answer):
    """The judge's answer about one claim."""

    answer: Literal["yes", "no", "unsure"]

    @field_validator("answer", mode="before")
    @classmethod
    def _one_word(cls, value: Any) -> Any:
        return value.strip().rstrip(".").lower() if isinstance(value, str) else value


class _Reply(BaseModel):
    answers: list[YesNo]


SCHEMA = list_schema(
    "answers", {"claim": {"type": "integer"}, "answer": {"type": "string", "enum": ["yes", "no", "unsure"]}}
)

_QUESTION: Question[YesNo] = Question(
    task="qa_claims",
    parse=lambda text: parse_object(text, _Reply).answers,
    schema=SCHEMA,
    repair=(
        'That reply could not be read. Reply with the JSON object alone: {"answers": [{"claim": 1, "answer": "yes"}]}, '
        "one entry for each claim, the answer one of yes, no, unsure."
    ),
)


class QaMeasure:
    """0 for yes, 1 for no, no score for "unsure": ChainCheck's cheap judge, all claims in one call (20 at most).

    Gives no reason and no quote, so it proves nothing: a few tokens a claim against some fifty of `judge`.
    """

    name = "qa"
    version = "1"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        """Ask about each claim."""
        session = context.judge or context.llm
        if session is None or not exchange.evidence:
            return unmeasured(self, claims, unasked(exchange, context))
        places = range(len(claims))
        replies = await ask_about(_QUESTION, places, claims, exchange.evidence, context, session, seed=self._seed)
        version = f"{self.version}+{session.client.model}+{context.prompts.version(_QUESTION.task)}"
        return result_of(self, [_claim_score(place, replies) for place in places], version=version)


def _claim_score(place: int, replies: Replies[YesNo]) -> ClaimScore:
    found = replies.answers.get(place)
    if found is None:
        return ClaimScore(reason=replies.reasons.get(place, NO_VERDICT))
    if found.answer == "unsure":
        return ClaimScore(reason=UNSURE)
    return ClaimScore(
        score=_SCORES[found.answer],
        label="supported" if found.answer == "yes" else None,
        reason=f"answer: {found.answer}",
    )
