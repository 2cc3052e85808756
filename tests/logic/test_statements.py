"""What is computed again: each line of two files is a text, wrong or right; near misses stand among the right ones."""

from pathlib import Path

import pytest

from evidencerails.checks.logic.check import MAX_CHARACTERS, computed_statements
from evidencerails.checks.logic.statements import Statement
from evidencerails.settings.structure import LogicSettings

HERE = Path(__file__).parent
WRONG = HERE.joinpath("wrong.txt").read_text(encoding="utf-8").split("\n")[:-1]
FINE = HERE.joinpath("left_alone.txt").read_text(encoding="utf-8").split("\n")[:-1]
"""One text a line."""


def statements(text: str) -> list[Statement]:
    return computed_statements(text, LogicSettings())


def wrong(text: str) -> list[str]:
    return [text[s.start : s.end] for s in statements(text) if s.is_right is False]


@pytest.mark.parametrize("text", FINE)
def test_what_is_right_or_no_sum_is_left_alone(text: str) -> None:
    assert wrong(text) == []


@pytest.mark.parametrize("text", WRONG)
def test_an_error_is_found_inside_a_longer_answer(text: str) -> None:
    before = "Thank you for your question about the order of 3 May. We looked into it carefully.\n\n"
    after = "\n\nPlease write to us at help@example.org or call 555-123-4567 if anything is unclear."
    found = [s for s in statements(before + text + after) if s.is_right is False]
    assert len(found) == 1 and found[0].reason
    assert (before + text + after)[found[0].start : found[0].end] in text


@pytest.mark.parametrize("text", WRONG[::10])
def test_code_and_reasoning_traces_are_not_read(text: str) -> None:
    assert wrong(f"Run this:\n\n```python\n{text}\n```\n") == []
    assert wrong(f"<think>{text}</think>All good.") == []


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("12 * 7 = 85", "arithmetic", "computed: 84, not 85"),
        ("1/3 = 0.4", "arithmetic", "computed: 0.333333, not 0.4"),
        ("Sales rose from 40 to 50, a 20% increase.", "percentage", "computed: 25, not 20"),
        ("2 hours = 100 minutes", "unit", "computed: the two differ"),
        ("91 is a prime number.", "number_property", "computed: 91 is not prime"),
        ("2023 was a leap year.", "calendar", "computed: 2023 is no leap year"),
        ("from 3 March to 10 March is 8 days", "date", "computed: 7 days, not 8"),
        ("3 March 2024 was a Monday.", "weekday", "computed: 3 March 2024 is a Sunday"),
        ("born in 1950, aged 30 in 1985", "age", "computed: 34 or 35 years, not 30"),
    ],
)
def test_the_kind_of_error_and_what_was_computed(text: str, kind: str, reason: str) -> None:
    assert [(s.kind, s.reason) for s in statements(text) if s.is_right is False] == [(kind, reason)]


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("2/3 = 0.67", True),
        ("2/3 = 0.66", True),  # cut off
        ("2/3 = 0.68", False),
        ("2/3 = 0.6", True),
        ("2/3 = 0.7", True),
        ("2/3 = 1", True),
        ("19.99 * 3 = 59.97", True),
        ("19.99 * 3 = 60", True),
        ("19.99 * 3 = 59.96", False),
        ("7 * 8 = 55", False),
        ("7 * 8 is about 55", True),
        ("7 * 8 is about 70", False),
        ("1234 * 5678 ≈ 7,000,000", True),
        ("1234 * 5678 ≈ 8,000,000", False),
        ("$1.5 million + $2.5 million = $4 million", True),
        ("33.33 * 3 = 100", True),
    ],
)
def test_rounding_is_judged_by_the_digits_shown(text: str, is_right: bool) -> None:
    assert [s.is_right for s in statements(text)] == [is_right]


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9 = 5",
        "9^9^9^9 = 5",
        "2 ** 99999999999 = 1",
        "10^30000 * 10^30000 = 3",
        "(" * 200 + "1" + ")" * 200 + " + 1 = 3",
    ],
)
def test_huge_numbers_are_not_computed(text: str) -> None:
    assert [s for s in statements(text) if s.is_right is False] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "1 + " * 50_000 + "1 = 3",
        "(" * 100_000,
        "= " * 100_000,
        "1 = 1 " * 40_000,
        "a is taller than b, " * 10_000,
        "the sum of " + "1, " * 50_000 + "and 2 is 3",
        "born in 1950 " * 15_000,
        "9" * 150_000 + " + 1 = 2",
        "from 1 May to " * 12_000,
        "20% of " * 25_000,
        "-" * 150_000,
        "` " * 70_000,
    ],
)
def test_hostile_texts_take_bounded_time(text: str) -> None:
    statements(text[:10_000])


@pytest.mark.slow
def test_only_the_beginning_of_a_huge_text_is_read() -> None:
    text = "Nothing to see here. " * 50_000
    assert wrong("2 + 2 = 5. " + text) == ["2 + 2 = 5"]
    assert wrong(text[:MAX_CHARACTERS] + "2 + 2 = 5.") == []


@pytest.mark.parametrize("name", ["arithmetic", "dates", "orderings"])
def test_each_part_can_be_turned_off(name: str) -> None:
    text = "2 + 2 = 5. 2023 was a leap year. Ann is taller than Bob. Bob is taller than Ann."
    settings = LogicSettings(**{name: False})
    kinds = {"arithmetic": "arithmetic", "dates": "calendar", "orderings": "ordering"}
    found = {s.kind for s in computed_statements(text, settings) if s.is_right is False}
    assert found == set(kinds.values()) - {kinds[name]}
