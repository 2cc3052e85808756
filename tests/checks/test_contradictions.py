"""Which sentences of an answer are compared with each other: those with the same subject and qualifiers."""

import pytest
from scripted_nli import ScriptedNli

from evidencerails.checks.contradictions import self_contradictions
from evidencerails.exchange import Span
from evidencerails.nli.service import ExchangeNli, NliService


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
    service = NliService(ScriptedNli(lambda *_: (0.0, 0.02, 0.98)))  # every pair that is compared is found
    try:
        found = await ExchangeNli(service).follow(self_contradictions(spans(first, second)))
    finally:
        service.close()
    assert bool(found) == is_compared
