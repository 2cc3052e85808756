"""A judge model answers yes or no: does the evidence support the claim?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import field_validator

from evidencerails.exchange import Exchange
from evidencerails.llm.parsing import list_schema, parse_items
from evidencerails.measures.asking import NO_VERDICT, Answer, Question, ask_about, judge_for
from evidencerails.measures.base import ClaimScore, MeasureContext, MeasureResult, Statement, result_of

UNSURE = "judge_unsure"
"""Reason where the judge can read the evidence both ways."""
_SCORES = {"yes": 0.0, "no": 1.0, "unsure": None}


class YesNo(Answer):
    answer: Literal["yes", "no", "unsure"]

    @field_validator("answer", mode="before")
    @classmethod
    def _one_word(cls, value: Any) -> Any:
        return value.strip().rstrip(".").lower() if isinstance(value, str) else value


QUESTION: Question[YesNo] = Question(
    task="qa_claims",
    parse=lambda text: parse_items(text, "answers", YesNo),
    schema=list_schema("answers", {"claim": {"type": "integer"}, "answer": {"type": "string", "enum": [*_SCORES]}}),
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

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        session = judge_for(exchange, context)
        replies = await ask_about(QUESTION, range(len(claims)), claims, exchange.evidence, context, session)
        scores = []
        for place in range(len(claims)):
            found = replies.answers.get(place)
            score = None if found is None else _SCORES[found.answer]
            reason = replies.reasons.get(place, NO_VERDICT) if found is None else f"answer: {found.answer}"
            label = "supported" if score == 0.0 else None
            reason = UNSURE if found is not None and score is None else reason
            scores.append(ClaimScore(score=score, label=label, reason=reason))  # type: ignore[arg-type]
        version = f"{session.client.model}+{context.prompts.version(QUESTION.task)}"
        return result_of(self, scores, version=version)
