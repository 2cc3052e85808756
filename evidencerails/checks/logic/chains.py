# ruff: noqa: E501 - a pattern reads best in one line
"""Chains of reasoning: which sentences are steps, and what each is drawn from.

A response reasons if it draws a conclusion ("therefore", "so", "it follows that") or numbers its steps ("Step 2:").
A logical hallucination is a step that does not follow from the steps before it and the context; `audit.py` finds them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from evidencerails.exchange import Span
from evidencerails.text.claimable import clean, without_reasoning
from evidencerails.text.sentences import split_sentences

_CONCLUDES = re.compile(
    r"\W*(?:and\s+)?(?:therefore|thus|hence|so(?!\s+(?:far|much|many|long|called|that\b|as\b))|consequently|accordingly|as a result|it follows(?:\s+that)?|this "
    r"(?:means|implies|shows|proves)(?:\s+that)?|that (?:means|implies)(?:\s+that)?|which (?:means|implies)(?:\s+that)?|we (?:can )?"
    r"(?:conclude|infer|deduce)(?:\s+that)?|in conclusion|conclusion(?=:)|the conclusion is(?:\s+that)?|from this,?(?:\s+(?:we|it))?\s*(?:conclude|infer|follows)?"
    r"(?:\s+that)?)\b[\s,:]*(?:that\s+)?",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    r"(?:[,;:]|\s[–—-])\s*(?:and\s+)?(?:therefore|thus|hence|so(?!\s+(?:far|much|many|long|called|that\b|as\b))|consequently|which (?:means|implies)(?:\s+that)?|it follows that|"
    r"(?:this|that) means(?:\s+that)?)\b[\s,:]*(?:that\s+)?",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"\W*(?:step\s+(?P<number>\d{1,2})|(?P<word>first|second|third|fourth|fifth|finally|next|then)(?=[,:]))\W*",
    re.IGNORECASE,
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
    if text.rstrip().endswith("?") or len(text.split()) < MIN_WORDS:
        return []
    numbered = _STEP.match(text)
    lead = _CONCLUDES.match(text, numbered.end() if numbered else 0)
    inside = _INSIDE.search(text)
    if lead is None and inside is not None and inside.start() > 0:
        first = _step(response, start, start + inside.start(), 0, is_conclusion=False)
        second = _step(response, start + inside.start(), end, inside.end() - inside.start(), is_conclusion=True)
        return [step for step in (first, second) if step is not None]
    is_late_step = numbered is not None and numbered["number"] is not None and int(numbered["number"]) > 1
    cut = lead.end() if lead else numbered.end() if numbered else 0
    step = _step(response, start, end, cut, is_conclusion=has_premise and (lead is not None or is_late_step))
    return [step] if step is not None else []


def _step(response: str, start: int, end: int, cut: int, *, is_conclusion: bool) -> Step | None:
    raw = response[start:end]
    skipped = len(raw) - len(raw.lstrip(" ,;:–—-")) if cut else 0
    text = clean(_LIST_NUMBER.sub("", raw[cut:])).strip()
    if len(text.split()) < MIN_WORDS:
        return None
    return Step(Span.of(response, start + skipped, end), text[0].upper() + text[1:], is_conclusion)
