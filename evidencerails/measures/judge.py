"""A judge model reads the evidence and grades each claim by a rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from evidencerails.exchange import Exchange, Passage
from evidencerails.llm.parsing import list_schema, parse_items
from evidencerails.measures.asking import NO_VERDICT, SECOND_LOOK, Answer, Question, Replies, ask_about, judge_for
from evidencerails.measures.base import ClaimScore, MeasureContext, MeasureResult, Statement, result_of
from evidencerails.measures.evidence import OBJECTIONS, proof_of
from evidencerails.report import Label

HIGHEST_LEVEL = 4
_CANNOT_TELL = 2
_NOTHING_SAID = 1
_LABELS: tuple[Label, ...] = ("contradicted", "absent", "partially_supported", "supported", "supported")
"""By level."""


class Verdict(Answer):
    level: int = Field(ge=0, le=HIGHEST_LEVEL)
    quote: str = ""
    reason: str = ""


QUESTION: Question[Verdict] = Question(
    task="judge_claims",
    parse=lambda text: parse_items(text, "verdicts", Verdict),
    schema=list_schema(
        "verdicts",
        {
            "claim": {"type": "integer"},
            "reason": {"type": "string"},  # before the level that it explains
            "quote": {"type": "string"},
            "level": {"type": "integer", "enum": list(range(HIGHEST_LEVEL + 1))},
        },
    ),
    repair=(
        "That reply could not be read. Reply with the JSON object alone: "
        '{"verdicts": [{"claim": 1, "reason": "...", "quote": "...", "level": 0}]}, one entry for each claim, '
        "level a whole number from 0 to 4."
    ),
)


class JudgeMeasure:
    """1 - level / 4, where an LLM has chosen the level of support from 4 (stated) to 0 (contradicted).

    All claims go in one call (20 at most), in an order that a seed decides. A second pass, in another order, asks again
    about claims that the judge could not decide (level 2), left out, or did not prove. Two verdicts are
    averaged and the less supported label is taken; a claim without a proven verdict after that has no score.
    """

    name = "judge"
    version = "1"

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        """Have each claim judged against the evidence."""
        session = judge_for(exchange, context)

        async def judged(places: Sequence[int], number: int) -> Mapping[int, ClaimScore]:
            if not places:
                return {}
            note, evidence = SECOND_LOOK if number > 1 else "", exchange.evidence
            replies = await ask_about(QUESTION, places, claims, evidence, context, session, seed=number, note=note)
            # On a worker: it takes long to look for the quotes in all evidence.
            return await context.nli.run(lambda: {n: _claim_score(n, replies, claims[n], evidence) for n in places})

        first = await judged(range(len(claims)), 1)
        unsure = [place for place, found in first.items() if _is_unsure(found)]
        second = await judged(unsure, 2)
        scores = [_settled(first[place], second.get(place)) for place in range(len(claims))]
        version = f"{session.client.model}+{context.prompts.version(QUESTION.task)}"
        return result_of(self, scores, version=version, details={"second_pass": len(unsure)})


def _claim_score(place: int, replies: Replies[Verdict], claim: Statement, passages: Sequence[Passage]) -> ClaimScore:
    verdict = replies.answers.get(place)
    if verdict is None:
        return ClaimScore(reason=replies.reasons.get(place, NO_VERDICT))
    score = 1.0 - verdict.level / HIGHEST_LEVEL
    sureness = max(score, 1.0 - score)
    proof = proof_of(verdict.quote, claim.text, passages, is_support=score < 0.5, score=sureness)
    if proof.objection and verdict.level != _NOTHING_SAID:
        return ClaimScore(reason=proof.objection)
    return ClaimScore(
        score=score,
        label=_LABELS[verdict.level],
        reason=verdict.reason,
        evidence=() if proof.objection else proof.quotes,
        details={"level": verdict.level},
    )


def _is_unsure(found: ClaimScore) -> bool:
    """True if a second look can help: not after a failed call, which was retried already."""
    if found.score is None:
        return found.reason in (NO_VERDICT, *OBJECTIONS)
    return bool(found.details["level"] == _CANNOT_TELL)


def _settled(first: ClaimScore, second: ClaimScore | None) -> ClaimScore:
    """The verdict of both passes. One that could not be read or proven counts nothing."""
    if second is None or second.score is None:
        return first
    if first.score is None:
        return second
    worse = first if first.score > second.score else second
    levels = [first.details["level"], second.details["level"]]
    return worse.model_copy(update={"score": (first.score + second.score) / 2, "details": {"levels": levels}})
