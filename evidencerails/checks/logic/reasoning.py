"""Chains of reasoning: which sentences of a response are steps, and whether each conclusion follows from them.

In: a response. Out: its `Step`s, and an `Audit` with a verdict on each conclusion. A response reasons if it draws a
conclusion ("therefore", "so", "it follows that") or numbers its steps ("Step 2:").

Offline, the NLI model reads each conclusion against the steps before it. It is sure of contradictions only: that a
conclusion is not entailed says little, since answers leave out what everybody knows. A judge model, where the settings
ask for one, decides whether each conclusion follows. Conclusions with a plain form are decided exactly: `syllogisms`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, field_validator

from evidencerails.checks.base import CheckContext
from evidencerails.checks.logic.syllogisms import Fault
from evidencerails.errors import LlmError, LlmReplyError, PromptError
from evidencerails.exchange import Exchange, Span
from evidencerails.llm.parsing import ask, items_of, list_schema, parse_json
from evidencerails.nli.base import LABELS
from evidencerails.text.claimable import clean, without_reasoning
from evidencerails.text.sentences import split_sentences

# ---- steps

_CONCLUSION = (
    r"(?:therefore|thus|hence|so(?!\s+(?:far|much|many|long|called|that\b|as\b))|consequently|"
    r"it follows(?:\s+that)?|(?:this|that|which) (?:means|implies)(?:\s+that)?"
)
_BEGINS = re.compile(
    rf"\W*(?:and\s+)?{_CONCLUSION}|accordingly|as a result|this (?:shows|proves)(?:\s+that)?|we (?:can )?(?:conclude|"
    r"infer|deduce)(?:\s+that)?|in conclusion|conclusion(?=:)|the conclusion is(?:\s+that)?|from this,?"
    r"(?:\s+(?:we|it))?\s*(?:conclude|infer|follows)?(?:\s+that)?)\b[\s,:]*(?:that\s+)?",
    re.IGNORECASE,
)
_INSIDE = re.compile(rf"(?:[,;:]|\s[–—-])\s*(?:and\s+)?{_CONCLUSION})\b[\s,:]*(?:that\s+)?", re.IGNORECASE)
_STEP = re.compile(
    r"\W*(?:step\s+(?P<number>\d{1,2})|(?:first|second|third|fourth|fifth|finally|next|then)(?=[,:]))\W*", re.IGNORECASE
)
_LIST_NUMBER = re.compile(r"^\W*\(?\d{1,2}[.)]\s+")
MIN_WORDS = 3


class Step(NamedTuple):
    """One step: a premise, or a conclusion from those before it."""

    span: Span
    text: str
    """What it says, without the words that introduce it."""
    is_conclusion: bool


def steps_of(response: str) -> list[Step]:
    """The steps of a response that reasons, in order; empty if it draws no conclusion from anything."""
    steps: list[Step] = []
    for part in without_reasoning(response):
        for sentence in split_sentences(part.text):
            steps += _steps(response, part.start + sentence.start, part.start + sentence.end, bool(steps))
    has_conclusion = any(step.is_conclusion for step in steps)
    return steps if has_conclusion and len(steps) > 1 else []


def _steps(response: str, start: int, end: int, has_premise: bool) -> list[Step]:
    """One sentence as one step, or as two where a conclusion is drawn inside it."""
    text = response[start:end]
    if text.rstrip().endswith("?"):
        return []
    numbered = _STEP.match(text)
    lead = _BEGINS.match(text, numbered.end() if numbered else 0)
    inside = _INSIDE.search(text)
    if lead is None and inside is not None and inside.start() > 0:
        cut = start + inside.start()
        found = [_step(response, start, cut, 0), _step(response, cut, end, inside.end() - inside.start(), True)]
    else:
        is_late_step = numbered is not None and numbered["number"] is not None and int(numbered["number"]) > 1
        introduction = (lead or numbered).end() if lead or numbered else 0  # type: ignore[union-attr]
        found = [_step(response, start, end, introduction, has_premise and (lead is not None or is_late_step))]
    return [step for step in found if step is not None]


def _step(response: str, start: int, end: int, introduction: int, is_conclusion: bool = False) -> Step | None:
    raw = response[start:end]
    skipped = len(raw) - len(raw.lstrip(" ,;:–—-")) if introduction else 0
    text = clean(_LIST_NUMBER.sub("", raw[introduction:])).strip()
    if len(text.split()) < MIN_WORDS:
        return None
    return Step(Span.of(response, start + skipped, end), text[0].upper() + text[1:], is_conclusion)


# ---- verdicts

Standing = Literal["follows", "contradicted", "not_shown", "invalid", "unsure", "not_audited"]


class Verdict(NamedTuple):
    """What was found about one conclusion."""

    step: Step
    stand: Standing
    reason: str
    score: float | None = None
    """Probability that the step is invalid."""


class Audit(NamedTuple):
    """What was found about a chain."""

    verdicts: tuple[Verdict, ...] = ()
    stopped_by: str = ""
    """Why it could not be audited to the end."""
    version: str = ""


FORM_SCORE = 0.97
"""Probability that a conclusion with a wrong form is meant as it was read; the decision on the form is exact."""
_FORM_REASONS = {
    "contradicted": "by their form, the steps before it say otherwise",
    "invalid": "by its form, it does not follow from the steps before it",
}


def with_form_faults(audit: Audit, steps: Sequence[Step], faults: Mapping[int, Fault]) -> Audit:
    """The audit, with what the forms of the steps show in the place of what a model said of them."""
    shown = {
        steps[place]: Verdict(steps[place], fault, _FORM_REASONS[fault], FORM_SCORE) for place, fault in faults.items()
    }
    kept = [verdict for verdict in audit.verdicts if verdict.step not in shown]
    return audit._replace(verdicts=tuple(sorted([*kept, *shown.values()], key=lambda v: v.step.span.start)))


# ---- offline

ENTAILED_FROM = 0.5
CONTRADICTED_FROM = 0.9
"""Probability of contradiction from which a step is an error."""
MAX_PREMISE_WORDS = 160
"""Of the steps before a conclusion the latest are read, as many as fit the NLI model beside it."""


async def audit_with_nli(steps: Sequence[Step], context: CheckContext) -> Audit:
    """Each conclusion against the steps before it, by the NLI model."""
    places = [place for place, step in enumerate(steps) if step.is_conclusion]
    audited = [place for place in places if not _computes(steps, place)]
    rows = await context.nli.scores([(_premise(steps, place), steps[place].text) for place in audited])
    scores = {place: dict(zip(LABELS, map(float, row), strict=True)) for place, row in zip(audited, rows, strict=True)}
    verdicts = [_nli_verdict(steps[place], scores.get(place)) for place in places]
    return Audit(tuple(verdicts), "", context.nli.identity)


def _nli_verdict(step: Step, scores: dict[str, float] | None) -> Verdict:
    if scores is None:
        return Verdict(step, "not_audited", "its numbers are not in the steps before it")
    if scores["contradiction"] >= CONTRADICTED_FROM:
        return Verdict(step, "contradicted", "the steps before it say otherwise", scores["contradiction"])
    if scores["entailment"] >= ENTAILED_FROM:
        return Verdict(step, "follows", "the steps before it entail it", 1.0 - scores["entailment"])
    return Verdict(step, "not_shown", "the steps before it neither entail nor contradict it")


def _premise(steps: Sequence[Step], place: int) -> str:
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

MAX_CONTEXT_CHARACTERS = 60_000
JUDGED_INVALID = 0.9
"""Probability that a step is invalid which a judge calls so; judges are not calibrated."""
TASK = "audit_reasoning"
SCHEMA = list_schema(
    "steps",
    {
        "step": {"type": "integer"},
        "reason": {"type": "string"},  # before the verdict that it explains
        "valid": {"type": "string", "enum": ["yes", "no", "unsure"]},
    },
)
REPAIR = (
    "That reply could not be read. Reply with the JSON object alone: "
    '{"steps": [{"step": 2, "reason": "...", "valid": "yes"}]}, valid being yes, no or unsure.'
)


class _Entry(BaseModel):
    step: int
    valid: Literal["yes", "no", "unsure"]
    reason: str = ""

    @field_validator("valid", mode="before")
    @classmethod
    def _as_word(cls, value: Any) -> Any:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return value.strip().lower() if isinstance(value, str) else value


def parse_audit(reply: str, wanted: Sequence[int]) -> dict[int, _Entry]:
    """The verdicts of a reply by step number; steps that nobody asked about are left out.

    Raises:
        LlmReplyError: there is no readable verdict, or a step has two that differ.
    """
    entries = items_of(parse_json(reply), "steps", _Entry)
    if not entries:
        raise LlmReplyError("the reply has no list 'steps' with a step and valid: yes, no or unsure")
    found: dict[int, _Entry] = {}
    for entry in entries:
        if entry.step in wanted and found.setdefault(entry.step, entry).valid != entry.valid:
            raise LlmReplyError(f"the reply gives step {entry.step} two verdicts")
    return found


async def audit_with_judge(steps: Sequence[Step], exchange: Exchange, context: CheckContext) -> Audit:
    """Every conclusion in one call of a judge model; a failure is the reason of an unverified audit."""
    session = context.judge or context.llm
    if session is None:
        return Audit(stopped_by="no_model: logic.audit is 'judge', and there is no model")
    wanted = [number for number, step in enumerate(steps, start=1) if step.is_conclusion]
    evidence = "\n\n".join(f"[{passage.id}] {passage.text}" for passage in exchange.evidence)
    version = f"{session.client.model}+{context.prompts.version(TASK)}"
    try:
        messages = context.prompts.render(
            TASK,
            question=exchange.user_input or "(not given)",
            context=evidence[:MAX_CONTEXT_CHARACTERS] or "(none)",
            steps="\n".join(_numbered(number, step) for number, step in enumerate(steps, start=1)),
        )
        entries = await ask(
            session, messages, lambda reply: parse_audit(reply, wanted), repair=REPAIR, json_schema=SCHEMA
        )
    except (LlmError, PromptError) as error:
        return Audit(stopped_by=f"judge_failed: {type(error).__name__}: {error}", version=version)
    verdicts = [_judge_verdict(steps[number - 1], entries.get(number)) for number in wanted]
    left = [verdict for verdict in verdicts if verdict.stand in ("unsure", "not_audited")]
    reason = f"unsure_steps: the judge could not decide {len(left)} of {len(verdicts)} steps" if left else ""
    return Audit(tuple(verdicts), reason, version)


def _numbered(number: int, step: Step) -> str:
    mark = " (conclusion)" if step.is_conclusion else ""
    return f"{number}.{mark} {' '.join(step.text.split())}"


def _judge_verdict(step: Step, entry: _Entry | None) -> Verdict:
    if entry is None:
        return Verdict(step, "not_audited", "the judge left it out")
    reason = " ".join(entry.reason.split())[:300]
    if entry.valid == "no":
        return Verdict(step, "invalid", f"the judge: {reason}", JUDGED_INVALID)
    return Verdict(step, "follows" if entry.valid == "yes" else "unsure", reason)
