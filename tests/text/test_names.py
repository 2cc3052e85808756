"""Names and their abbreviations; words that a tokeniser took apart."""

from __future__ import annotations

import pytest

from evidencerails.measures.lexical import WordIndex, evidence_features, lexical_features
from evidencerails.text.claimable import clean


@pytest.mark.parametrize(
    ("claim", "evidence", "is_missing"),
    [
        ("Football evolved in the US.", "Football evolved in the United States.", False),
        ("Football evolved in the U.S. first.", "Football evolved in the United States first.", False),
        ("She works for NATO.", "She works for the North Atlantic Treaty Organization.", False),
        ("Football evolved in the UK.", "Football evolved in the United States.", True),
        ("It was opened by Al.", "It was opened by Anna Lund.", True),
        ("She works for BAFTA.", "She works for the United Nations.", True),
    ],
)
def test_an_abbreviation_is_no_new_name(claim: str, evidence: str, is_missing: bool) -> None:
    index = WordIndex([evidence])
    assert (evidence_features(lexical_features(claim), index, index)["missing_names"] > 0) == is_missing


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("i ' ve seen it , it 's big and isn ' t old", "i've seen it , it's big and isn't old"),
        ("it did n't open and ca n't", "it didn't open and can't"),
        ("it did n’t open", "it didn't open"),
        ("the firm ’ s office", "the firm's office"),
        ("He said 'stop' to the 's-Gravenhage team", "He said 'stop' to the 's-Gravenhage team"),
        ("rock 'n' roll, 't Hooft", "rock 'n' roll, 't Hooft"),
    ],
)
def test_words_that_were_taken_apart_are_whole(text: str, whole: str) -> None:
    assert clean(text) == whole
