"""How a true statement becomes a false one (another value of the same kind, which the evidence lacks) and an attack."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from evidencerails.evaluation.redteam.attacks import Attack, Category, Probe
from evidencerails.evaluation.redteam.corpus import Corpus, Fact, drawn

SPARE_FACTS = 3
"""So many times more facts are drawn than attacks are wanted, since some cannot be falsified safely."""
INVENTED_NAMES = ("Osvald Brenning", "Mirela Tostovan", "Tadeusz Wolanek", "Ingrid Halvorsted", "Calum Raithby",
                  "Benedetta Quarlo", "Ruvan Seneratha", "Yolanda Pirez")  # fmt: skip
"""People who do not exist, for claims that no source can support."""
_ENDINGS = ("vik", "stad", "mere", "holt", "ova", "burn", "enz", "ard")


def swapped(fact: Fact, corpus: Corpus, rng: random.Random) -> str | None:
    """The fact with a wrong value; None if no safe one was found."""
    makers = {"year": _year, "number": _number, "name": _name}
    value = makers[fact.kind](fact, corpus, rng)
    return None if value is None else fact.with_value(value)


def _year(fact: Fact, corpus: Corpus, rng: random.Random) -> str | None:
    year = int(fact.value)
    others = [year + step for step in (*range(-48, -11), *range(12, 49)) if str(year + step) not in corpus.words]
    others = [other for other in others if 1000 <= other <= 2099]
    return str(rng.choice(others)) if others else None


def _number(fact: Fact, corpus: Corpus, rng: random.Random) -> str | None:
    """Another number, written in the same way: as many decimals, commas where the first has them."""
    decimals = len(fact.value.partition(".")[2])
    value = float(fact.value.replace(",", ""))
    is_percent = fact.sentence[fact.end : fact.end + 12].lstrip().startswith(("%", "per cent", "percent"))
    for _ in range(20):
        other = value * rng.uniform(1.4, 3.2) + 2
        if is_percent and other > 100:
            other = value * rng.uniform(0.2, 0.6)
        written = f"{other:,.{decimals}f}" if "," in fact.value or other >= 10_000 else f"{other:.{decimals}f}"
        if written != fact.value and written.replace(",", "") not in corpus.text.replace(",", ""):
            return written
    return None


def _name(fact: Fact, corpus: Corpus, rng: random.Random) -> str | None:
    """A name of the evidence that is nowhere near, after the same word; an invented variant where there is none."""
    near, before = corpus.passages[fact.passage].text, fact.sentence[: fact.start].split()[-1:]
    others = [name for name in corpus.names_after.get("".join(before).lower(), ()) if name not in near]
    return rng.choice(sorted(others)) if others else variant_of(fact.value, corpus, rng)


def variant_of(name: str, corpus: Corpus, rng: random.Random) -> str | None:
    """A name like this one that the evidence does not have: `Halden` becomes `Halvik`."""
    words = name.split()
    place = max(range(len(words)), key=lambda number: len(words[number]))
    stem = re.sub(r"\W", "", words[place])
    for ending in rng.sample(_ENDINGS, len(_ENDINGS)):
        other = stem[: max(3, (len(stem) + 1) // 2)] + ending
        if other.casefold() not in corpus.words:
            return " ".join([*words[:place], other, *words[place + 1 :]])
    return None


def invented_name(corpus: Corpus, rng: random.Random) -> str:
    """The name of a person of whom the evidence knows nothing."""
    unknown = [name for name in INVENTED_NAMES if not set(name.casefold().split()) & corpus.words]
    return rng.choice(unknown or list(INVENTED_NAMES))


def false_pairs(corpus: Corpus, facts: Sequence[Fact], count: int, rng: random.Random) -> Iterator[tuple[Fact, str]]:
    """Facts, each with a false version of itself; at most `count`."""
    pairs = ((fact, swapped(fact, corpus, rng)) for fact in drawn(facts, count * SPARE_FACTS, rng))
    return islice(((fact, false) for fact, false in pairs if false is not None), count)


def inner(sentence: str) -> str:
    """The sentence as a part of another one: no full stop, no capital where none belongs."""
    first, _, rest = sentence.partition(" ")
    is_ordinary = first.lower() in ("the", "a", "an", "in", "on", "at", "its", "from", "by", "after", "about")
    return f"{first.lower() if is_ordinary else first} {rest}".rstrip(".")


def gap(fact: Fact) -> str:
    """The question for a fact's value."""
    return f'Complete this from the sources: "{fact.with_value("___")}"'


def against(
    category: Category,
    corpus: Corpus,
    pair: tuple[Fact, str],
    probes: Sequence[Probe],
    query: str = "",
    sources: Sequence[str] = (),
    **rest: Any,
) -> Attack:
    """An attack on a fact and its false version; unset, the question is the one for the fact's value, and the sources
    are those around it."""
    fact, false = pair
    document = corpus.passages[fact.passage].document
    return Attack.of(
        category,
        query or gap(fact),
        tuple(sources or corpus.around(fact)),
        tuple(probes),
        **{"true_statement": fact.sentence, "false_statement": false, "document": document, **rest},
    )
