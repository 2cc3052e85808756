"""Everything a text states that can be recomputed, each span once."""

from __future__ import annotations

from collections.abc import Iterable

from evidencerails.checks.logic.calendar_facts import dates_and_times
from evidencerails.checks.logic.expressions import formulas
from evidencerails.checks.logic.masks import masked
from evidencerails.checks.logic.orderings import contradictory_orderings
from evidencerails.checks.logic.stated_results import results_beside_numbers
from evidencerails.checks.logic.statements import Statement
from evidencerails.checks.logic.sums import sums_in_words
from evidencerails.settings.logic import LogicSettings

MAX_CHARACTERS = 100_000
"""Of a longer text only the beginning is computed, and the check says so."""


def computed_statements(response: str, settings: LogicSettings) -> list[Statement]:
    """The statements of a response in order, with what is wrong among them.

    Where two readings of one span disagree, the one by which it is right counts.
    """
    text = masked(response[:MAX_CHARACTERS])
    found: list[Statement] = []
    if settings.arithmetic:
        found += [*formulas(text), *sums_in_words(text), *results_beside_numbers(text)]
    if settings.dates or settings.orderings:
        dated = masked(response[:MAX_CHARACTERS], keeps_dates=True)
        found += dates_and_times(dated) if settings.dates else ()
        found += contradictory_orderings(dated) if settings.orderings else ()
    return _each_once(found)


def _each_once(found: Iterable[Statement]) -> list[Statement]:
    kept: list[Statement] = []
    for one in sorted(found, key=lambda s: (s.start, -s.end)):
        same = next((k for k in kept if k.kind != "ordering" and one.kind != "ordering" and _is_same(k, one)), None)
        if same is None:
            kept.append(one)
        elif one.is_right and not same.is_right:
            kept[kept.index(same)] = one
    return kept


def _is_same(one: Statement, two: Statement) -> bool:
    """True if both end at the same place, or one holds most of the other: then they are about one result."""
    shared = min(one.end, two.end) - max(one.start, two.start)
    return shared > 0 and (one.end == two.end or shared >= 0.8 * min(one.end - one.start, two.end - two.start))
