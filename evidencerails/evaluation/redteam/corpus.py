"""What attacks are made from: the statements of the user's evidence, with the value in each that can be got wrong."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from evidencerails.text.claimable import makes_claim
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import Name, is_function_word, values_of

FactKind = Literal["year", "number", "name"]
MIN_WORDS, MAX_WORDS = 5, 32
MAX_PASSAGE_CHARACTERS = 1500
"""Longer paragraphs are cut between sentences: what a retriever would hand over."""
PASSAGES_AROUND = 3
_BACKWARDS = re.compile(
    r"\b(?:it|its|he|she|they|his|her|him|their|them|this|these|those|such|both|also|then|however)\b", re.I
)


class Document(NamedTuple):
    """One piece of the user's evidence."""

    name: str
    text: str


class Passage(NamedTuple):
    """A paragraph of a document."""

    document: str
    text: str


class Fact(NamedTuple):
    """A sentence of the evidence that says something by itself, and one value in it."""

    sentence: str
    kind: FactKind
    start: int
    end: int
    passage: int
    """Place of its passage."""

    @property
    def value(self) -> str:
        return self.sentence[self.start : self.end]

    def with_value(self, value: str) -> str:
        """The sentence with another value in its place."""
        return self.sentence[: self.start] + value + self.sentence[self.end :]


@dataclass(frozen=True)
class Corpus:
    """Passages with what can be drawn from them."""

    passages: tuple[Passage, ...]

    @classmethod
    def of(cls, documents: Sequence[Document]) -> Corpus:
        return cls(tuple(Passage(one.name, text) for one in documents for text in _paragraphs(one.text)))

    def only(self, documents: Sequence[str]) -> Corpus:
        return Corpus(tuple(passage for passage in self.passages if passage.document in documents))

    @cached_property
    def text(self) -> str:
        return "\n".join(passage.text for passage in self.passages)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words in lower case."""
        return frozenset(re.findall(r"\w+", self.text.casefold()))

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(fact for place in range(len(self.passages)) for fact in self._facts_in(place))

    def _facts_in(self, place: int) -> Iterator[Fact]:
        for span in split_sentences(self.passages[place].text):
            sentence = " ".join(span.text.split())
            if MIN_WORDS <= len(sentence.split()) <= MAX_WORDS and _stands_alone(sentence):
                yield from _values_in(sentence, place)

    @cached_property
    def names(self) -> Counter[str]:
        """Names and how often it has them."""
        every = (" ".join(span.text.split()) for one in self.passages for span in split_sentences(one.text))
        sentences = (text for text in every if text[-1:] == "." and len(text.split()) >= MIN_WORDS)
        return Counter(name.text for text in sentences for name in values_of(text).names if _is_proper(name))

    @cached_property
    def names_after(self) -> dict[str, set[str]]:
        """Names by the word before them: what follows `by` is likelier a person than what follows `in`."""
        found: dict[str, set[str]] = {}
        for name in self.names:
            for match in re.finditer(rf"(\w+) {re.escape(name)}\b", self.text):
                found.setdefault(match[1].lower(), set()).add(name)
        return found

    def of_kind(self, *kinds: FactKind) -> list[Fact]:
        return [fact for fact in self.facts if fact.kind in kinds]

    @cached_property
    def measured(self) -> list[Fact]:
        """The facts whose value is a year or number, of which only one can be right; all facts if there are none."""
        return self.of_kind("year", "number") or list(self.facts)

    def around(self, fact: Fact) -> tuple[str, ...]:
        """The fact's passage and those after it, as a retriever would hand them over."""
        near = [self.passages[(fact.passage + step) % len(self.passages)].text for step in range(PASSAGES_AROUND)]
        return tuple(dict.fromkeys(near))


def drawn(items: Sequence[Fact], count: int, rng: random.Random) -> list[Fact]:
    """At most `count` of them at random, no sentence twice."""
    by_sentence = {item.sentence: item for item in rng.sample(list(items), len(items))}
    return list(by_sentence.values())[:count]


def _paragraphs(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text):
        kept = ""
        for span in split_sentences(block):
            if kept and len(kept) + len(span.text) > MAX_PASSAGE_CHARACTERS:
                yield kept
                kept = ""
            kept = f"{kept} {span.text}".strip()
        if kept.strip():
            yield kept


def _stands_alone(sentence: str) -> bool:
    """True for a plain statement that needs no sentence before it."""
    is_plain = sentence[-1:] == "." and sentence[:1].isupper() and not set(sentence) & set('"“”|[]{}<>#*`:;')
    return is_plain and not _BACKWARDS.search(sentence) and makes_claim(sentence)


def _values_in(sentence: str, place: int) -> Iterator[Fact]:
    values = values_of(sentence)
    years = [match for match in re.finditer(r"\b(?:1[0-9]|20)\d\d\b", sentence)
             if any(m.part == "year" and m.start <= match.start() < m.end for m in values.temporal)]  # fmt: skip
    if years:
        yield Fact(sentence, "year", years[0].start(), years[0].end(), place)
    for quantity in values.quantities:
        digits = re.search(r"\d[\d,]*(?:\.\d+)?", sentence[quantity.start : quantity.end])
        if digits and quantity.kind in ("count", "percent", "money", "measure"):
            yield Fact(sentence, "number", quantity.start + digits.start(), quantity.start + digits.end(), place)
            break
    for name in values.names:
        if _is_proper(name):
            yield Fact(sentence, "name", name.start, name.end, place)
            break


def _is_proper(name: Name) -> bool:
    """True for what is certainly a name: one word that begins a sentence may be any word."""
    is_word = len(name.words) == 1 and (name.is_initial or is_function_word(name.words[0]) or len(name.words[0]) < 3)
    is_one = not re.search(r"\d|\. | for | of the | and ", name.text)
    return is_one and not is_word and name.text[:1].isupper()
