"""Words that a tokeniser took apart."""

import pytest

from evidencerails.text.claimable import clean


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
