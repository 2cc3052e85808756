"""Which sentences of an answer are compared with each other: those with the same subject and qualifiers."""

from collections.abc import Sequence

import numpy as np
import pytest

from evidencerails.checks.contradictions import self_contradictions
from evidencerails.exchange import Span
from evidencerails.nli.base import Pair
from evidencerails.nli.service import ExchangeNli, NliService


class AlwaysContradicts:
    """A backend to which every pair is a contradiction: what is compared is found."""

    name, version, max_tokens, languages = "scripted", "1", 512, ("en",)

    def scores(self, pairs: Sequence[Pair]) -> np.ndarray:
        return np.asarray([(0.0, 0.02, 0.98)] * len(pairs), np.float32)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [(at, at + 1) for at in range(0, len(text), 5)]


def spans(*sentences: str) -> list[Span]:
    text, found = " ".join(sentences), []
    for sentence in sentences:
        start = text.index(sentence)
        found.append(Span.of(text, start, start + len(sentence)))
    return found


@pytest.mark.parametrize(
    ("first", "second", "is_compared"),
    [
        ("The bridge was opened in 1932.", "The bridge was opened in 1975.", True),
        ("Maria was born in Lyon.", "Maria was born in Paris.", True),
        ("The museum is open on Mondays.", "The museum is closed on Mondays.", True),
        ("The fee is 20 euros.", "The fee is 30 euros.", True),
        ("Plan A costs 10 euros.", "Plan B costs 15 euros.", False),
        ("Report 3 was sent in week 3.", "Report 4 was sent in week 4.", False),
        ("Sales were 5 million in 2019.", "Sales were 7 million in 2020.", False),
        ("In 2019 the sales were 5 million.", "In 2020 the sales were 7 million.", False),
    ],
)
async def test_only_the_same_subject_with_the_same_qualifiers_is_compared(
    first: str, second: str, is_compared: bool
) -> None:
    # Sixty sentences alike but for their numbers were contradictions of each other.
    service = NliService(AlwaysContradicts())
    try:
        found = await ExchangeNli(service).follow(self_contradictions(spans(first, second)))
    finally:
        service.close()
    assert bool(found) == is_compared
