"""All attacks that some evidence gives, by category."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evidencerails.evaluation.redteam import on_answers, on_context, on_guard
from evidencerails.evaluation.redteam.attacks import CATEGORIES, KINDS, Attack, Category
from evidencerails.evaluation.redteam.corpus import Corpus

Generator = Callable[[Corpus, int, random.Random], Iterator[Attack]]
GENERATORS: Mapping[Category, Generator] = {
    "knowledge_boundary": on_answers.knowledge_boundary,
    "entity_substitution": on_answers.entity_substitution,
    "temporal_confusion": on_answers.temporal_confusion,
    "context_poisoning": on_context.context_poisoning,
    "citation_manipulation": on_context.citation_manipulation,
    "format_coercion": on_context.format_coercion,
    "constraint_contradiction": on_answers.constraint_contradiction,
    "authority_impersonation": on_answers.authority_impersonation,
    "scale_stress": on_context.scale_stress,
    "compositional_chains": on_context.compositional_chains,
    "value_swap": on_answers.value_swap,
    "judge_injection": on_guard.judge_injection,
    "evidence_padding": on_guard.evidence_padding,
    "unicode_tricks": on_guard.unicode_tricks,
    "verdict_spoofing": on_guard.verdict_spoofing,
}


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
            missing[category] = f"the evidence has no usable one: it takes {needed} that stands by itself"
        attacks += made
    return Generated(attacks, missing)
