"""Overlapping chunks become an answer again, cut at the ends of sentences."""

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


THOUGHT = "<think>It is red. Or not.</think>"


@pytest.mark.parametrize(
    ("chunks", "taken"),
    [
        (["The tower is 3.", "is 3.5 km away."], ["", "The tower is 3.5 km away."]),
        (["Well. <think>It is red. Or not.", " Or not.</think>It is blue."], ["Well. ", f"{THOUGHT}It is blue."]),
        ([f"{THOUGHT}The tower", " is blue. It"], ["", f"{THOUGHT}The tower is blue. "]),
        ([THOUGHT, "\nThe tower", " is blue."], ["", "", f"{THOUGHT}\nThe tower is blue."]),
        (["It is.</think>", "\nThe tower", " is blue."], ["", "", "It is.</think>\nThe tower is blue."]),
    ],
    ids=["a point behind a digit", "a reasoning trace", "glued to a sentence", "before one", "without its beginning"],
)
def test_what_is_not_complete_waits(chunks: list[str], taken: list[str]) -> None:
    stream = StreamedAnswer()
    for chunk, expected in zip(chunks, taken, strict=True):
        stream.add(chunk)
        assert stream.take(is_final=False) == expected


@pytest.mark.parametrize("trace", [THOUGHT, "It is red.</think>"])
def test_a_reasoning_trace_alone_is_taken_at_the_end(trace: str) -> None:
    stream = StreamedAnswer()
    stream.add(trace)
    assert stream.take(is_final=True) == trace


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
