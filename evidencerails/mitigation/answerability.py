"""How near the evidence is to a question, and abstaining before generation: nothing relevant, low coverage, stale.

What needs no facts (a greeting, thanks) is answered in any case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from evidencerails.exchange import Exchange, Passage
from evidencerails.measures.encoder import default_encoder
from evidencerails.mitigation.abstain import message_for
from evidencerails.nli.windows import content_terms
from evidencerails.report import Abstention
from evidencerails.settings.mitigation import AnswerabilitySettings
from evidencerails.text.language import detect_language
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import values_of

SECONDS_A_DAY = 86_400.0
MAX_SENTENCES = 160
"""Sentences of the evidence that are compared; of more, those that share most words with the question."""

OTHER_NAME = 0.5
"""What is left of the likeness of a passage without any of the question's names: "How tall is the Eiffel Tower?" is
like what stands about any tower. Set by hand."""
_SMALL_TALK = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|thanks?(?: you)?(?: (?:so|very) much| a lot)?|bye|"
    r"goodbye|see you|ok(?:ay)?|yes|no|great|nice|cool|please|sorry|welcome|how are you(?: (?:today|doing))?|"
    r"who are you|what can you do|nice to meet you|have a (?:nice|good) day|there|again|all|everyone)",
    re.IGNORECASE,
)


def answerability(
    question: str, passages: Sequence[Passage], settings: AnswerabilitySettings, *, now: datetime | None = None
) -> Abstention:
    """Whether a question can be answered from these passages; `action` is `answer` or `abstain`, never `partial`.

    Blocks: run it in a thread.
    """
    if not requires_facts(question):
        return Abstention(action="answer", reasons=("no_facts_asked",))
    parts: dict[str, float] = {}
    if settings.domain:
        parts["domain_match"] = max(likeness(question, settings.domain))
        if parts["domain_match"] < settings.min_domain_match:
            return _abstained("out_of_domain", parts, settings)
    found = [one for one in relevances(question, passages) if one.relevance >= settings.min_relevance]
    parts["retrieval_quality"] = max((one.relevance for one in found), default=0.0)
    if not found:
        return _abstained("no_relevant_evidence", parts, settings)
    parts["coverage"] = shared_terms(question, "\n".join(one.passage.text for one in found))
    if parts["coverage"] < settings.min_coverage:
        return _abstained("low_coverage", parts, settings)
    if settings.max_age_days is not None:
        age_days = freshest_age_days(found, settings, now or datetime.now(timezone.utc))
        if age_days is not None and age_days > settings.max_age_days:
            return _abstained("stale_evidence", parts, settings)
    return Abstention(action="answer", confidence=parts["retrieval_quality"], parts=parts)


def _abstained(reason: str, parts: dict[str, float], settings: AnswerabilitySettings) -> Abstention:
    message = message_for((reason,), domain=settings.domain)
    return Abstention(action="abstain", parts=parts, reasons=(reason,), message=message)


def requires_facts(question: str) -> bool:
    """False for greetings, thanks and the like, and for a text without content words."""
    rest = _SMALL_TALK.sub(" ", question)
    return bool(content_terms(rest))


def freshest_age_days(found: Sequence[Relevant], settings: AnswerabilitySettings, now: datetime) -> float | None:
    """Age in days of the newest relevant passage; None if the date of one cannot be read, for that one may be new."""
    ages = []
    for one in found:
        date = date_of(one.passage, settings.date_keys)
        if date is None:
            return None
        ages.append((now - date).total_seconds() / SECONDS_A_DAY)
    return min(ages, default=None)


def date_of(passage: Passage, keys: Sequence[str]) -> datetime | None:
    """Date in a passage's metadata, ISO 8601 text or seconds since 1970, UTC unless it says else; None without one."""
    for key in keys:
        date = _as_date(passage.metadata.get(key))
        if date is not None:
            return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    return None


def _as_date(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, timezone.utc)
        if isinstance(value, str):
            return datetime.fromisoformat(value.strip().replace("Z", "+00:00"))  # Python 3.10 reads no Z
    except (ValueError, OverflowError, OSError):
        return None
    if hasattr(value, "isoformat"):  # a date, as YAML makes them
        return _as_date(value.isoformat())
    return None


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
    """Sentences with the places of their passages; a passage keeps its best one in any case."""
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
