"""Generation from evidence alone: ranked passages first, a source for each claim, and claims without one quarantined.

The model replies in claims (`ClaimOutput`), not in prose; the answer is put together from those
whose sources exist and bear them out, so what nobody can trace never becomes a sentence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from evidencerails.exchange import Passage, Value
from evidencerails.llm.parsing import ask, parse_items
from evidencerails.mitigation.abstain import message_for
from evidencerails.mitigation.answerability import relevances
from evidencerails.report import Label
from evidencerails.text.claimable import makes_claim
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import judged_reading, read_claims

if TYPE_CHECKING:
    from evidencerails.checks.base import CheckContext
    from evidencerails.llm.session import LlmSession

TASK = "grounded_generation"
ClaimType = Literal["factual", "inferential", "courtesy", "unknown"]
Standing = Literal["grounded", "no_source", "unknown_source", "not_borne_out", "not_asserted"]
MIN_PASSAGE_TOKENS = 8
"""Less than this of a passage is not worth its place in the prompt."""
_STRICTER = (
    "Your last answer was refused: {share:.0%} of its claims have no source that bears them out. Leave these out, or "
    "state only what the passages literally say: {claims}"
)
_REPAIR = (
    'That reply could not be read. Reply with the JSON object alone: {"claims": [{"statement": "...", '
    '"claim_type": "factual", "source_refs": ["1"], "confidence": 0.9, "caveats": []}]}'
)


def _as_words(given: Any) -> list[str]:
    """A list of words, whatever the model made of it."""
    listed = given if isinstance(given, (list, tuple)) else [] if given is None else [given]
    return [str(one).strip().strip("[]") for one in listed if one is not None and str(one).strip()]


Words = Annotated[tuple[str, ...], BeforeValidator(_as_words)]


class ClaimOutput(BaseModel):
    """One claim as the model is asked to give it."""

    model_config = ConfigDict(extra="ignore")

    statement: str = Field(min_length=1)
    claim_type: ClaimType
    source_refs: Words = ()
    """Ids of the passages that state it; none puts the claim in quarantine."""
    confidence: float = Field(ge=0.0, le=1.0)
    caveats: Words = ()


class PlacedClaim(ClaimOutput):
    """A claim of the model, and whether it may stand in the answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    standing: Standing
    label: Label | None = None
    """What the cited passages say about it; None where that was not asked."""

    @property
    def is_quarantined(self) -> bool:
        return self.standing in ("no_source", "unknown_source", "not_borne_out")


class GroundedAnswer(Value):
    """An answer put together from claims, and what stayed out of it."""

    text: str
    claims: tuple[PlacedClaim, ...]
    ungrounded_share: float = Field(ge=0.0, le=1.0)
    """Share of the asserted claims that are quarantined."""
    rounds: int
    passages: tuple[str, ...]
    """Ids of the passages that were in the prompt, in its order."""
    is_abstention: bool = False
    """True if no claim is left, and the text says so."""


async def generate_grounded(
    question: str, passages: Sequence[Passage], context: CheckContext, session: LlmSession
) -> GroundedAnswer:
    """An answer from the passages alone, generated again more strictly above the settings' share of ungrounded claims.
    `LlmReplyError`: no reply could be read. `LlmError`: the provider failed, or the budget is spent."""
    settings = context.config.generation
    shown = await context.nli.run(_ranked_and_fitted, question, passages, settings.max_evidence_tokens, context.nli)
    note, answer = "(none)", _answer((), 0, shown, "no_relevant_evidence" if passages else "no_evidence")
    if not shown:
        return answer
    for number in range(1, settings.max_rounds + 1):
        written = await _write(question, shown, note, context, session)
        claims = tuple(await asyncio.gather(*(_placed(claim, shown, context) for claim in written)))
        answer = _answer(claims, number, shown)
        if answer.ungrounded_share <= settings.max_ungrounded_share:
            break
        refused = " | ".join(claim.statement for claim in claims if claim.is_quarantined)
        note = _STRICTER.format(share=answer.ungrounded_share, claims=refused)
    return answer


def _ranked_and_fitted(question: str, passages: Sequence[Passage], max_tokens: int, nli: Any) -> tuple[Passage, ...]:
    """The passages by relevance, the most relevant first, cut at a token where the budget ends. Blocks."""
    ranked = sorted(relevances(question, passages), key=lambda one: -one.relevance)
    kept: list[Passage] = []
    room = max_tokens
    for one in ranked:
        offsets = nli.model.token_offsets(one.passage.text)
        if len(offsets) <= room:
            kept.append(one.passage)
        elif room >= MIN_PASSAGE_TOKENS:
            kept.append(one.passage.model_copy(update={"text": one.passage.text[: offsets[room - 1][1]]}))
        room -= len(offsets)
        if room < MIN_PASSAGE_TOKENS:
            break
    return tuple(kept)


async def _write(
    question: str, passages: Sequence[Passage], note: str, context: CheckContext, session: LlmSession
) -> list[ClaimOutput]:
    messages = context.prompts.render(
        TASK,
        evidence="\n\n".join(f"[{passage.id}]\n{passage.text.strip()}" for passage in passages),
        question=question,
        note=note,
    )
    return await ask(session, messages, partial(parse_items, key="claims", model=ClaimOutput), repair=_REPAIR)


async def _placed(claim: ClaimOutput, passages: Sequence[Passage], context: CheckContext) -> PlacedClaim:
    """The claim with its standing: its sources have to exist, and to bear it out by the checks' own reading."""
    standing, label = await _standing(claim, {passage.id: passage for passage in passages}, context)
    fields = claim.model_dump() | {"statement": " ".join(claim.statement.split())}
    return PlacedClaim(**fields, standing=standing, label=label)


async def _standing(
    claim: ClaimOutput, by_id: dict[str, Passage], context: CheckContext
) -> tuple[Standing, Label | None]:
    if not makes_claim(claim.statement):
        return "not_asserted", None  # whatever type it is given: a type is the model's word, and claims nothing
    if not claim.source_refs:
        return "no_source", None
    if any(ref not in by_id for ref in claim.source_refs):
        return "unknown_source", None
    cited = [by_id[ref] for ref in claim.source_refs]
    model, settings = VerdictModel.load(), context.config.grounding
    readings = await read_claims([claim.statement], cited, context.nli)
    label = (await context.nli.run(judged_reading, readings.claims[0], model, settings)).label
    return ("grounded" if label == "supported" else "not_borne_out"), label


def _answer(
    claims: tuple[PlacedClaim, ...], rounds: int, passages: Sequence[Passage], missing: str = ""
) -> GroundedAnswer:
    """The answer that the claims make; an abstention where none is left, or something is `missing`."""
    asserted = [claim for claim in claims if claim.standing != "not_asserted"]
    out = [claim for claim in asserted if claim.is_quarantined]
    missing = missing or ("findings" if asserted and len(out) == len(asserted) else "")
    kept = (claim for claim in claims if not claim.is_quarantined)
    return GroundedAnswer(
        text=message_for((missing,)) if missing else " ".join(map(_sentence, kept)),
        claims=claims,
        ungrounded_share=len(out) / len(asserted) if asserted else 0.0,
        rounds=rounds,
        passages=tuple(passage.id for passage in passages),
        is_abstention=bool(missing),
    )


def _sentence(claim: PlacedClaim) -> str:
    """The statement with its sources before the full stop, and its caveats behind it."""
    if claim.standing == "not_asserted":
        return claim.statement
    body = claim.statement.rstrip(".")
    refs = "".join(f" [{ref}]" for ref in claim.source_refs)
    caveats = f" (uncertain: {'; '.join(claim.caveats)})" if claim.caveats else ""
    return f"{body}{refs}{caveats}."
