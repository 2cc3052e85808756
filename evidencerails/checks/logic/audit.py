"""The audit of a chain of reasoning: does each conclusion follow from the steps before it and the context?

A conclusion whose form shows that it does not follow ("All X are Y", "If P, then Q") is found exactly: `syllogisms`.
The rest, offline, the NLI model reads against the steps before it. It is sure of contradictions only: that a conclusion
is not entailed says little, since answers leave out what everybody knows. A judge model, where the settings ask for
one, decides whether each conclusion follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ValidationError

from evidencerails.checks.base import CheckContext
from evidencerails.checks.logic.chains import Step
from evidencerails.checks.logic.syllogisms import Fault
from evidencerails.errors import LlmError, LlmReplyError, PromptError
from evidencerails.exchange import Exchange
from evidencerails.llm.parsing import ask, parse_json
from evidencerails.nli.base import LABELS

Stand = Literal["follows", "contradicted", "not_shown", "invalid", "unsure", "not_audited"]

ENTAILED_FROM = 0.5
MAX_PREMISE_WORDS = 160
"""Of the steps before a conclusion the latest are read, as many as fit the NLI model beside it."""
MAX_CONTEXT_CHARACTERS = 60_000
TASK = "audit_reasoning"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "step": {"type": "integer"},
                    "reason": {"type": "string"},
                    "valid": {"type": "string", "enum": ["yes", "no", "unsure"]},
                },
                "required": ["step", "reason", "valid"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["steps"],
    "additionalProperties": False,
}
"""JSON schema of a reply, for providers that keep to one. The reason comes before the verdict it explains."""
REPAIR = (
    "That reply could not be read. Reply with the JSON object alone: "
    '{"steps": [{"step": 2, "reason": "...", "valid": "yes"}]}, valid being yes, no or unsure.'
)


class Verdict(NamedTuple):
    """What was found about one conclusion."""

    step: Step
    stand: Stand
    reason: str
    score: float | None = None
    """Probability that the step is invalid."""


class Audit(NamedTuple):
    """What was found about a chain."""

    verdicts: tuple[Verdict, ...] = ()
    stopped_by: str = ""
    """Why it could not be audited to the end."""
    version: str = ""


class _Entry(BaseModel):
    step: int
    valid: Literal["yes", "no", "unsure"]
    reason: str = ""


def parse_audit(reply: str, wanted: Sequence[int]) -> dict[int, _Entry]:
    """The verdicts of a reply by step number; steps that nobody asked about are left out.

    Raises:
        LlmReplyError: there is no list of verdicts, one cannot be read, or a step has two that differ.
    """
    value = parse_json(reply)
    rows = value.get("steps") if isinstance(value, dict) else value
    if not isinstance(rows, list):
        raise LlmReplyError("the reply has no list 'steps'")
    found: dict[int, _Entry] = {}
    for row in rows:
        entry = _entry(row)
        if entry.step not in wanted:
            continue
        if entry.step in found and found[entry.step].valid != entry.valid:
            raise LlmReplyError(f"the reply gives step {entry.step} two verdicts")
        found[entry.step] = entry
    return found


def _entry(row: Any) -> _Entry:
    if isinstance(row, dict) and isinstance(row.get("valid"), bool):
        row = {**row, "valid": "yes" if row["valid"] else "no"}
    if isinstance(row, dict) and isinstance(row.get("valid"), str):
        row = {**row, "valid": row["valid"].strip().lower()}
    try:
        return _Entry.model_validate(row)
    except ValidationError:
        raise LlmReplyError("an entry of 'steps' is no verdict: it needs a step and valid: yes, no or unsure") from None


# ---- by form

BY_FORM = 0.97
"""Probability that a conclusion with a wrong form is meant as it was read; the decision on the form is exact."""
_FORM_REASONS = {
    "contradicted": "by their form, the steps before it say otherwise",
    "invalid": "by its form, it does not follow from the steps before it",
}


def with_forms(audit: Audit, steps: Sequence[Step], faults: Mapping[int, Fault]) -> Audit:
    """The audit, with what the forms of the steps show in the place of what a model said of them."""
    if not faults:
        return audit
    shown = {place: Verdict(steps[place], fault, _FORM_REASONS[fault], BY_FORM) for place, fault in faults.items()}
    kept = [verdict for verdict in audit.verdicts if all(verdict.step != one.step for one in shown.values())]
    return audit._replace(verdicts=tuple(sorted([*kept, *shown.values()], key=lambda v: v.step.span.start)))


# ---- offline


async def audit_with_nli(steps: Sequence[Step], context: CheckContext) -> Audit:
    """Each conclusion against the steps before it, by the NLI model.

    Raises:
        NliError: the backend failed.
    """
    settings = context.config.logic
    places = [place for place, step in enumerate(steps) if step.is_conclusion]
    audited = [place for place in places if not _computes(steps, place)]
    rows = await context.nli.scores([(premise_of(steps, place), steps[place].text) for place in audited])
    scores = {place: dict(zip(LABELS, map(float, row), strict=True)) for place, row in zip(audited, rows, strict=True)}
    verdicts = [_by_nli(steps[place], scores.get(place), settings.contradiction_threshold) for place in places]
    return Audit(tuple(verdicts), "", f"{context.nli.name}@{context.nli.version}")


def _by_nli(step: Step, scores: dict[str, float] | None, threshold: float) -> Verdict:
    if scores is None:
        return Verdict(step, "not_audited", "its numbers are not in the steps before it")
    if scores["contradiction"] >= threshold:
        return Verdict(step, "contradicted", "the steps before it say otherwise", scores["contradiction"])
    if scores["entailment"] >= ENTAILED_FROM:
        return Verdict(step, "follows", "the steps before it entail it", 1.0 - scores["entailment"])
    return Verdict(step, "not_shown", "the steps before it neither entail nor contradict it")


def premise_of(steps: Sequence[Step], place: int) -> str:
    """The steps before a conclusion as one text, the latest if not all fit."""
    kept: list[str] = []
    words = 0
    for step in reversed(steps[:place]):
        words += len(step.text.split())
        if kept and words > MAX_PREMISE_WORDS:
            break
        kept.insert(0, step.text if step.text[-1:] in ".!?" else f"{step.text}.")
    return " ".join(kept)


def _computes(steps: Sequence[Step], place: int) -> bool:
    """True if the conclusion brings a number of its own: a result is computed, not entailed."""
    known = {number for step in steps[:place] for number in re.findall(r"\d+", step.text)}
    return not set(re.findall(r"\d+", steps[place].text)) <= known


# ---- by a judge


async def audit_with_judge(steps: Sequence[Step], exchange: Exchange, context: CheckContext) -> Audit:
    """Every conclusion in one call of a judge model; a failure is the reason of an unverified audit."""
    session = context.judge or context.llm
    if session is None:
        return Audit(stopped_by="no_model: logic.audit is 'judge', and there is no model")
    wanted = [place for place, step in enumerate(steps, start=1) if step.is_conclusion]
    evidence = "\n\n".join(f"[{passage.id}] {passage.text}" for passage in exchange.evidence)
    version = f"{session.client.model}+{context.prompts.version(TASK)}"
    try:
        messages = context.prompts.render(
            TASK,
            question=exchange.user_input or "(not given)",
            context=evidence[:MAX_CONTEXT_CHARACTERS] or "(none)",
            steps="\n".join(_numbered(place, step) for place, step in enumerate(steps, start=1)),
        )
        entries = await ask(
            session, messages, lambda reply: parse_audit(reply, wanted), repair=REPAIR, json_schema=SCHEMA
        )
    except (LlmError, PromptError) as error:
        return Audit(stopped_by=f"judge_failed: {type(error).__name__}: {error}", version=version)
    verdicts = [_by_judge(steps[place - 1], entries.get(place)) for place in wanted]
    left = [verdict for verdict in verdicts if verdict.stand in ("unsure", "not_audited")]
    reason = f"unsure_steps: the judge could not decide {len(left)} of {len(verdicts)} steps" if left else ""
    return Audit(tuple(verdicts), reason, version)


def _numbered(place: int, step: Step) -> str:
    mark = " (conclusion)" if step.is_conclusion else ""
    return f"{place}.{mark} {' '.join(step.text.split())}"


JUDGED_INVALID = 0.9
"""Probability that a step is invalid which a judge calls so; judges are not calibrated."""


def _by_judge(step: Step, entry: _Entry | None) -> Verdict:
    if entry is None:
        return Verdict(step, "not_audited", "the judge left it out")
    if entry.valid == "no":
        return Verdict(step, "invalid", f"the judge: {' '.join(entry.reason.split())[:300]}", JUDGED_INVALID)
    return Verdict(step, "follows" if entry.valid == "yes" else "unsure", " ".join(entry.reason.split())[:300])
