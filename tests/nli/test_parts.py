"""Pairs that do not fit a model are read in parts."""

import numpy as np
import pytest

from evidencerails.nli.long_pairs import combined, text_parts, token_ranges
from evidencerails.nli.windows import encodable


def letters(text: str) -> list[tuple[int, int]]:
    return [(place, place + 1) for place in range(len(text))]


@pytest.mark.parametrize(
    ("count", "room", "expected"),
    [(0, 10, [(0, 0)]), (10, 10, [(0, 10)]), (11, 10, [(0, 10), (8, 11)]), (26, 10, [(0, 10), (8, 18), (16, 26)])],
)
def test_token_ranges_cover_the_range(count: int, room: int, expected: list[tuple[int, int]]) -> None:
    assert list(token_ranges(count, room)) == expected


def test_a_pair_that_fits_stays_whole() -> None:
    assert text_parts(("ab", "cd"), 20, letters) == [[("ab", "cd")]]


def test_parts_fit_and_lose_nothing() -> None:
    premise, claim = "abcdefghij" * 20, "0123456789" * 8
    grid = text_parts((premise, claim), 60, letters)
    assert all(len(p) + len(c) + 3 <= 60 for line in grid for p, c in line)
    assert set("".join(c for line in grid for _, c in line)) == set(claim)
    assert grid[0][0][0] == premise[: len(grid[0][0][0])]
    assert premise.endswith(grid[0][-1][0])


def test_the_most_telling_part_of_the_premise_and_the_worst_of_the_claim_count() -> None:
    supported, silent, refuted = (np.array(row, np.float32) for row in ([0.9, 0.1, 0], [0, 1, 0], [0, 0.1, 0.9]))
    assert combined([[silent, supported]]) is supported
    assert combined([[silent, refuted]]) is refuted
    assert combined([[supported, silent], [silent, silent]]) is silent


def test_lone_surrogates_become_question_marks_of_the_same_length() -> None:
    assert encodable("a\ud800é") == "a?é"
