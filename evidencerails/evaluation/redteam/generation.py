"""All attacks that some evidence gives, by category."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evidencerails.evaluation.redteam import questions
from evidencerails.evaluation.redteam.attacks import CATEGORIES, KINDS, Attack, Category
from evidencerails.evaluation.redteam.corpus import Corpus

Generator = Callable[[Corpus, int, random.Random], Iterator[Attack]]
GENERATORS: Mapping[Category, Generator] = {name: getattr(questions, name) for name in CATEGORIES}
"""The maker of each category's attacks, which has the category's name."""


class Generated(NamedTuple):
    """The attacks, and the categories that the evidence gives none of, with the reason."""

    attacks: list[Attack]
    missing: dict[Category, str]


def attacks_from(
    corpus: Corpus, per_category: int, *, categories: Sequence[Category] = CATEGORIES, seed: int = 0
) -> Generated:
    """At most `per_category` attacks of each category. The same evidence, number and seed give the same attacks."""
    attacks: list[Attack] = []
    missing: dict[Category, str] = {}
    for category in categories:
        rng = random.Random(f"{seed}:{category}")  # apart, so that one category does not change with another's number
        made = list({one.id: one for one in GENERATORS[category](corpus, per_category, rng)}.values())
        if not made:
            needed = KINDS[category].needs
            missing[category] = f"the evidence has no usable one: it takes {needed} that can be understood by itself"
        attacks += made
    return Generated(attacks, missing)
