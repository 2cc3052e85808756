"""How near a text is to a question: by the embedded sentence encoder, or by shared words in a language it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.exchange import Passage
from evidencerails.measures.encoder import default_encoder
from evidencerails.nli.windows import content_terms
from evidencerails.text.language import detect_language
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import values_of

MAX_SENTENCES = 160
"""Sentences of the evidence that are compared; of more, those that share most words with the question."""

OTHER_NAME = 0.5
"""What is left of the likeness of a passage without any of the question's names: "How tall is the Eiffel Tower?" is
like what stands about any tower. Set by hand."""


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
