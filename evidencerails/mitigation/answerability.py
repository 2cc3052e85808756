"""Whether the evidence answers a question, and abstaining before generation: nothing relevant, no answer in it, stale.

The question is read beside the passages by the embedded model, which has learned from questions, too: of a passage
without the answer it says neutral. What needs no facts (a greeting, thanks) is answered in any case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

from evidencerails.exchange import Exchange, Message, Passage
from evidencerails.measures.encoder import default_encoder
from evidencerails.measures.evidence import date_in
from evidencerails.mitigation.abstain import message_for
from evidencerails.nli.base import NEUTRAL
from evidencerails.nli.windows import Window, WindowIndex, build_windows, content_terms
from evidencerails.report import Abstention
from evidencerails.settings.mitigation import AnswerabilitySettings
from evidencerails.text.language import detect_language, unknown_language
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import values_of

if TYPE_CHECKING:
    from evidencerails.nli.service import NliService

SECONDS_A_DAY = 86_400.0
MAX_SENTENCES = 160
"""Sentences of the evidence that are compared; of more, those that share most words with the question."""

MAX_WINDOWS = 24
"""Parts of the evidence that are read beside the question; of more, those that share most words with it."""
MAX_TOGETHER = 3
"""Parts that are read as one text."""
OTHER_NAME = 0.5
"""What is left of the likeness of a passage without any of the question's names: "How tall is the Eiffel Tower?" is
like what stands about any tower. Set by hand."""
FEW_WORDS = 4
"""Up to so many words a question may be all that the turn before leaves to ask."""
_GOES_ON = re.compile(r"\W*(?:and|but|or|(?:what|how) about)\b", re.IGNORECASE)
_REFERS_BACK = re.compile(
    r"\b(?:it|its|they|them|theirs?|he|him|his|she|hers?|this|that|these|those|there|ones?)\b", re.IGNORECASE
)
_SMALL_TALK = re.compile(
    r"\b(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|thanks?(?: you)?(?: (?:so|very) much| a lot)?|bye|"
    r"goodbye|see you|ok(?:ay)?|yes|no|great|nice|cool|please|sorry|welcome|how are you(?: (?:today|doing))?|"
    r"who are you|what can you do|nice to meet you|have a (?:nice|good) day|"
    r"what's up|how's it going|can you help me|i have a question|there|again|all|everyone)\b",
    re.IGNORECASE,
)


async def answerability(
    asked: Asked,
    passages: Sequence[Passage],
    settings: AnswerabilitySettings,
    reader: NliService,
    *,
    now: datetime | None = None,
) -> Abstention:
    """Whether a question can be answered from these passages; `action` is `answer` or `abstain`, never `partial`.

    Args:
        reader: a model that has learned from questions; the embedded one has.

    Raises:
        NliError: the reader failed.
    """
    if not requires_facts(asked.question):
        return Abstention(action="answer", reasons=("no_facts_asked",))
    question = asked.readings[-1]
    parts: dict[str, float] = {}
    if settings.domain:
        parts["domain_match"] = max(await reader.run(likeness, question, settings.domain))
        if parts["domain_match"] < settings.min_domain_match:
            return _abstained("out_of_domain", parts, settings)
    ranked = await reader.run(relevances, question, passages)
    found = [one for one in ranked if one.relevance >= settings.min_relevance]
    parts["retrieval_quality"] = max((one.relevance for one in ranked), default=0.0)
    is_answered = bool(found)
    if not found and asked.leans:  # on a turn about something else: "Who was Marie Curie?" "Where was she born?"
        return _abstained("no_relevant_evidence", parts, settings)
    if ranked and not await reader.run(unknown_language, question, reader.languages):
        parts["answer_score"] = max([await answer_score(text, passages, reader) for text in asked.readings])
        is_answered = parts["answer_score"] >= settings.min_answer_score
    if not is_answered:
        return _abstained("no_answer_in_evidence" if found else "no_relevant_evidence", parts, settings)
    found = found or ranked  # a request shares the subject of what serves it, not always its words
    parts["coverage"] = shared_terms(question, "\n".join(one.passage.text for one in found))
    if parts["coverage"] < settings.min_coverage:
        return _abstained("low_coverage", parts, settings)
    if settings.max_age_days is not None:
        age_days = freshest_age_days(found, settings, now or datetime.now(timezone.utc))
        if age_days is not None and age_days > settings.max_age_days:
            return _abstained("stale_evidence", parts, settings)
    confidence = parts.get("answer_score", parts["retrieval_quality"])
    return Abstention(action="answer", confidence=confidence, parts=parts)


def _abstained(reason: str, parts: dict[str, float], settings: AnswerabilitySettings) -> Abstention:
    message = message_for((reason,), domain=settings.domain)
    return Abstention(action="abstain", parts=parts, reasons=(reason,), message=message)


def requires_facts(question: str) -> bool:
    """False for greetings, thanks and the like, and for a text that neither asks nor has content words."""
    rest = _SMALL_TALK.sub(" ", question)
    return bool(content_terms(rest)) or ("?" in rest and re.search(r"\w", rest) is not None)


def freshest_age_days(found: Sequence[Relevant], settings: AnswerabilitySettings, now: datetime) -> float | None:
    """Age in days of the newest relevant passage; None if the date of one cannot be read, for that one may be new."""
    ages = []
    for one in found:
        date = date_in(one.passage.metadata, settings.date_keys, latest=True)
        if date is None:
            return None
        ages.append((now - date).total_seconds() / SECONDS_A_DAY)
    return min(ages, default=None)


# ---- the question


class Asked(NamedTuple):
    """A question and the user's message before it."""

    question: str
    before: str = ""

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Asked:
        """The last two things that the user said."""
        said = [message.content for message in messages if message.role == "user"]
        return cls(said[-1] if said else "", said[-2] if len(said) > 1 else "")

    @property
    def leans(self) -> bool:
        """True if only the message before it says what it is about: "Who designed it?", "And for children?"

        One that names what it is about may be a new subject, which the message before would only blur.
        """
        refers_back = _REFERS_BACK.search(self.question) and not values_of(self.question).names
        return bool(self.before and (refers_back or _GOES_ON.match(self.question)))

    @property
    def readings(self) -> tuple[str, ...]:
        """What is read, any of which may be answered: the question, or what it leans on and the question.

        One of a few words ("Why?", "What is covered?") may be either.
        """
        together = f"{self.before} {self.question}"
        if self.leans:
            return (together,)
        is_short = self.before and len(self.question.split()) <= FEW_WORDS
        return (self.question, together) if is_short else (self.question,)


# ---- the answer in the evidence


async def answer_score(question: str, passages: Sequence[Passage], reader: NliService) -> float:
    """1 - P(neutral) of the question beside the part of the evidence that says most to it, in [0, 1].

    Parts are read one by one, and the best of them once more together: an answer may need two of them.
    """
    windows = await reader.run(_windows, question, passages, reader)
    scores = await _answer_scores(question, [window.text for window in windows], reader)
    best = sorted(sorted(range(len(windows)), key=lambda place: -scores[place])[:MAX_TOGETHER])
    if len(best) > 1:
        scores += await _answer_scores(question, ["\n\n".join(windows[place].text for place in best)], reader)
    return max(scores, default=0.0)


async def _answer_scores(question: str, texts: Sequence[str], reader: NliService) -> list[float]:
    return [1.0 - float(row[NEUTRAL]) for row in await reader.scores([(text, question) for text in texts])]


def _windows(question: str, passages: Sequence[Passage], reader: NliService) -> list[Window]:
    model = reader.loaded()
    tokens = len(model.token_offsets(question))
    windows = build_windows(passages, tokens, model.token_offsets, max_tokens=model.max_tokens)
    return WindowIndex(windows).select(question, MAX_WINDOWS)


# ---- relevance


class Relevant(NamedTuple):
    """A passage and how near its nearest sentence is to the question, in [0, 1]."""

    passage: Passage
    relevance: float


def relevances(question: str, passages: Sequence[Passage]) -> list[Relevant]:
    """Each passage with its relevance, in their order. Blocks: run it in a thread."""
    sentences = _nearest_by_words(question, passages)
    scores = likeness(question, [text for _, text in sentences])
    best = [0.0] * len(passages)
    for (place, _), score in zip(sentences, scores, strict=True):
        best[place] = max(best[place], score)
    names = {word for name in values_of(question).names for word in name.words}
    return [
        Relevant(passage, score * _about_another(names, passage.text))
        for passage, score in zip(passages, best, strict=True)
    ]


def _about_another(names: set[str], text: str) -> float:
    """Factor for a passage that has none of the question's names: like in kind, but about something else."""
    return OTHER_NAME if names and not any(name in text.lower() for name in names) else 1.0


def likeness(question: str, texts: Sequence[str]) -> list[float]:
    """Cosine of the question and each text, negative ones taken as 0. Blocks: run it in a thread."""
    if not texts or not question.strip():
        return [0.0] * len(texts)
    encoder = default_encoder()
    if detect_language(question) not in (None, *encoder.languages):
        return [shared_terms(question, text) for text in texts]
    vectors = encoder.sentence_vectors([question, *texts])
    return [max(0.0, min(1.0, float(cosine))) for cosine in vectors[1:] @ vectors[0]]


def shared_terms(question: str, text: str) -> float:
    """Share of the question's content words that the text has."""
    terms = content_terms(question)
    return len(terms & content_terms(text)) / len(terms) if terms else 0.0


def _nearest_by_words(question: str, passages: Sequence[Passage]) -> list[tuple[int, str]]:
    """Sentences with the places of their passages; of too many, those that share most words with the question."""
    found = [(place, span.text) for place, passage in enumerate(passages) for span in split_sentences(passage.text)]
    if len(found) <= MAX_SENTENCES:
        return found
    ranked = sorted(found, key=lambda one: -shared_terms(question, one[1]))
    return ranked[:MAX_SENTENCES]


def retrieval_quality(exchange: Exchange) -> float | None:
    """Relevance of the best passage to the question, in [0, 1]; None without a question. Blocks."""
    if not exchange.user_input.strip():
        return None
    return max((found.relevance for found in relevances(exchange.user_input, exchange.evidence)), default=0.0)
