"""What an NLI model reads for a sentence of an answer: standalone wording, with its question or the sentence before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.exchange import Span
from evidencerails.text.claimable import clean, is_bare_reply, is_short_answer, without_frame, without_question
from evidencerails.text.sentences import split_sentences

OWN_WORDS = 3
"""From so many words on an answer that stands in the question is no answer to it."""
MAX_QUESTION_WORDS = 30
"""Of a longer prompt of several sentences only its question is put before a short answer: more would drown it."""
MAX_QUESTION_CHARACTERS = 300
"""A longer question is not put before an answer at all."""
MAX_PROMPT_CHARACTERS = 20_000
"""The end of a prompt that is searched for its question."""
_LABELLED = re.compile(r"(?:^|[\n.!?])\W*(?:(?:user|my|the) )?(?:question|query|q)\b\W{0,3}:\W*", re.IGNORECASE)
_AFTER_QUESTION = re.compile(
    r"\n\W*(?:(?:final |short |your )?answer|context|documents?|passages?|a)\b\W{0,3}(?::|$)", re.IGNORECASE
)
_REQUEST = re.compile(
    r"(?:please\s+)?(?:name|give|tell|state|list|say|write|find|identify|answer|complete|provide|which|who|what|when|where|how|why)\b",
    re.IGNORECASE,
)
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
    sentence = without_frame(without_question(_ANSWER_LABEL.sub("", sentence) or sentence))
    has_question = question and is_short_answer(sentence) and not _is_said(sentence, question)
    return Hypothesis(f"{question} {sentence}" if has_question else sentence, sentence)


def _is_said(sentence: str, question: str) -> bool:
    """True if the question says all of a sentence of some words: read together, it would prove itself.

    A word or two may be a choice that was offered: "Lyon or Paris?"
    """
    said, words = question.lower(), sentence.lower().strip(" .!\"'")
    return len(words.split()) >= OWN_WORDS and words in said


def lacks_its_question(sentence: str, user_input: str) -> bool:
    """True for a bare yes or no whose question is unknown: it says nothing that could be checked."""
    return is_bare_reply(sentence) and not question_of(user_input)


def question_of(user_input: str) -> str:
    """The question a user asked; empty without a prompt, or where it cannot be separated from the surrounding text.

    Of a prompt with its evidence ("Context: ... Question: ..."): what is marked as the question, else its last
    sentence that asks or demands something. A short prompt is its own question.
    """
    text = _marked(user_input[-MAX_PROMPT_CHARACTERS:])
    sentences = [clean(sentence.text) for sentence in split_sentences(text)]
    if len(sentences) > 1 and len(text.split()) > MAX_QUESTION_WORDS:
        questions = [s for s in sentences if s.endswith("?")] or [s for s in sentences if _REQUEST.match(s)]
        found = questions[-1] if questions else ""
    else:
        found = clean(text)
    return found if len(found) <= MAX_QUESTION_CHARACTERS else ""


def _marked(prompt: str) -> str:
    """What follows the last "Question:" of a prompt, up to the next mark; the whole prompt if there is none."""
    marks = list(_LABELLED.finditer(prompt))
    if not marks:
        return prompt
    return _AFTER_QUESTION.split(prompt[marks[-1].end() :], maxsplit=1)[0].strip() or prompt
