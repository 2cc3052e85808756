"""Overlapping chunks become an answer again, cut at the ends of sentences."""

from __future__ import annotations

import random

import pytest

from evidencerails.adapters.nemo_stream import StreamedAnswer

TEXT = "The tower is 3.5 km away. It was built in 1962! Dr. Ruiz opened it. Nobody knows why"


def _chunks(tokens: list[str], size: int, context: int) -> list[str]:
    """The chunks as NeMo's `RollingBuffer` makes them."""
    ends = [*range(size, len(tokens), size), len(tokens)]
    return ["".join(tokens[max(0, end - size - context) : end]) for end in ends]


@pytest.mark.parametrize(("size", "context"), [(1, 3), (3, 2), (4, 8), (100, 5)])
def test_sentences_come_whole_and_once(size: int, context: int) -> None:
    tokens = [word + " " for word in TEXT.split(" ")]
    tokens[-1] = tokens[-1].strip()
    stream, taken = StreamedAnswer(), []
    for chunk in _chunks(tokens, size, context):
        stream.add(chunk)
        taken.append(stream.take(is_final=False))
    taken.append(stream.take(is_final=True))
    assert stream.text == TEXT
    assert "".join(taken) == TEXT
    for piece in (p.strip() for p in taken if p.strip()):
        assert piece.endswith((".", "!", "why"))
        assert not piece.endswith(("3.", "Dr."))


def test_point_behind_a_digit_waits_for_what_follows() -> None:
    stream = StreamedAnswer()
    stream.add("The tower is 3.")
    assert stream.take(is_final=False) == ""
    stream.add("is 3.5 km away.")
    assert stream.take(is_final=False) == "The tower is 3.5 km away."


def test_reasoning_trace_waits_for_its_end() -> None:
    stream = StreamedAnswer()
    stream.add("Well. <think>It is red. Or not.")
    assert stream.take(is_final=False) == "Well. "
    stream.add(" Or not.</think>It is blue.")
    assert stream.take(is_final=False) == "<think>It is red. Or not.</think>It is blue."


def test_reasoning_trace_is_not_cut_by_the_sentence_glued_to_it() -> None:
    stream = StreamedAnswer()
    stream.add("<think>It is red. Or not.</think>The tower")
    assert stream.take(is_final=False) == ""
    stream.add(" is blue. It")
    assert stream.take(is_final=False) == "<think>It is red. Or not.</think>The tower is blue. "


@pytest.mark.parametrize("trace", ["<think>It is red.</think>", "It is red.</think>"])
def test_reasoning_trace_waits_for_the_sentence_behind_it(trace: str) -> None:
    stream = StreamedAnswer()
    for chunk in (trace, "\nThe tower"):
        stream.add(chunk)
        assert stream.take(is_final=False) == ""
    stream.add(" is blue.")
    assert stream.take(is_final=False) == f"{trace}\nThe tower is blue."
    alone = StreamedAnswer()
    alone.add(trace)
    assert alone.take(is_final=True) == trace


def test_characters_shown_before_a_chunk_are_counted() -> None:
    stream = StreamedAnswer()
    stream.add("abc def ")
    assert stream.shown == 0
    stream.add("def ghi")
    assert (stream.shown, stream.text) == (8, "abc def ghi")


def test_random_overlaps_of_random_texts() -> None:
    draw = random.Random(7)
    for _ in range(200):
        tokens = [f"w{draw.randrange(10_000)} " for _ in range(draw.randrange(1, 60))]
        stream = StreamedAnswer()
        for chunk in _chunks(tokens, draw.randrange(1, 9), draw.randrange(1, 9)):
            stream.add(chunk)
        assert stream.text == "".join(tokens)
