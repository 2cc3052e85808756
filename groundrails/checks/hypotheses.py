"""What an NLI model reads for a sentence of an answer: standalone wording, with its question or the sentence before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from groundrails.exchange import Span
from groundrails.text.claimable import clean, is_short_answer

MAX_QUESTION_CHARACTERS = 300
"""Of a longer prompt only its last question is put before a short answer."""
_QUESTION = re.compile(r"[^.!?\n]*\?")
_ANSWER_LABEL = re.compile(r"^(?:(?:final |short )?answer|a)\s*:\s*", re.IGNORECASE)


class Hypothesis(NamedTuple):
    """What the model reads for one sentence."""

    text: str
    """Standalone wording."""
    own: str
    """The part that the answer says itself: the words of a question that stands before it are not the answer's."""


def hypotheses(sentences: Sequence[Span], user_input: str) -> list[Hypothesis]:
    """The wording of each sentence; a short answer ("Lyon.", "1889", "Yes") is read with the question it answers."""
    question = question_of(user_input)
    return [_hypothesis(clean(sentence.text), question) for sentence in sentences]


def _hypothesis(sentence: str, question: str) -> Hypothesis:
    sentence = _ANSWER_LABEL.sub("", sentence) or sentence
    has_question = question and is_short_answer(sentence)
    return Hypothesis(f"{question} {sentence}" if has_question else sentence, sentence)


def question_of(user_input: str) -> str:
    """The question a user asked: the last one of a long prompt, the whole of a short one; empty without a prompt."""
    text = clean(user_input[-20_000:])
    if len(text) <= MAX_QUESTION_CHARACTERS:
        return text
    questions = [match[0].strip() for match in _QUESTION.finditer(text)]
    return questions[-1] if questions and len(questions[-1]) <= MAX_QUESTION_CHARACTERS else ""
