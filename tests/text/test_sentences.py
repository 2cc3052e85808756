"""Sentences: right boundaries, verbatim offsets, bounded length, linear time."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidencerails.errors import InputError
from evidencerails.exchange import Span
from evidencerails.text.sentences import MAX_SENTENCE_TOKENS, pieces, sentences_by, split_sentences


def texts(text: str) -> list[str]:
    return [span.text for span in split_sentences(text)]


BOUNDARIES = {
    "abbreviations and decimals": ("Dr. Smith of St. Louis paid $3.5 million. He left at 5 p.m. The U.S. team won.",
     ["Dr. Smith of St. Louis paid $3.5 million.", "He left at 5 p.m.", "The U.S. team won."]),
    "initials": ("J. K. Rowling wrote it. W. Bush came.", ["J. K. Rowling wrote it.", "W. Bush came."]),
    "small letter is no initial": ("Let it be x. Second one.", ["Let it be x.", "Second one."]),
    "e.g.": ("Fruit, e.g. Apples, is good. Eat it.", ["Fruit, e.g. Apples, is good.", "Eat it."]),
    "company at the end": ("He founded Apple Inc. The firm grew.", ["He founded Apple Inc.", "The firm grew."]),
    "company midway": ("The Inc. Magazine list came out.", ["The Inc. Magazine list came out."]),
    "year at the end": ("It opened in 1990. 3 people came.", ["It opened in 1990.", "3 people came."]),
    "tokenised": ("the club ' s 22 - year - old . he joined mr . smith in u . s . soil .",
     ["the club ' s 22 - year - old .", "he joined mr . smith in u . s . soil ."]),
    "tokenised decimal": ("it cost 3 . 5 million . it sold .", ["it cost 3 . 5 million .", "it sold ."]),
    "lower case": ("chelsea made an offer. it won.", ["chelsea made an offer.", "it won."]),
    "cased text, small letter": ("Yahoo! is big. It sold.", ["Yahoo! is big.", "It sold."]),
    "CJK": ("东京是日本的首都。它很大！对吗？", ["东京是日本的首都。", "它很大！", "对吗？"]),
    "quotes and brackets": ('"I know." She left (really.) Then?', ['"I know."', "She left (really.)", "Then?"]),
    "ellipsis midway": ("Wait... what is it? Go.", ["Wait... what is it?", "Go."]),
    "bullets and numbers": ("- One is x.\n* two\n1. three\n2) four", ["One is x.", "two", "three", "four"]),
    "heading and table": ("# Title\nText.\n| a | b |\n|---|---|\n| c | 5 |", ["# Title", "Text.", "| a | b |",
     "| c | 5 |"]),
    "quoted block": ("> One.\n> Two.", ["One.", "Two."]),
    "glued": ("It opened in 1920.The tower is tall!It is red.", ["It opened in 1920.", "The tower is tall!",
     "It is red."]),
    "dots within names": ("Dr.He met Node.Js at v2.Beta there.", ["Dr.He met Node.Js at v2.Beta there."]),
    "code, a line each": ("Run:\n```py\nx = 1. y\nz\n```\nDone.", ["Run:", "x = 1. y", "z", "Done."]),
    "wrapped line": ("This line is wrapped after some sixty characters or so and\ngoes on here. End.",
     ["This line is wrapped after some sixty characters or so and\ngoes on here.", "End."]),
    "lines without stops": ("Short line\nAnother line", ["Short line", "Another line"]),
    "no stop at all": ("Lyon", ["Lyon"]),
    "bidi after the stop": ("A is here.\u202e Next one.", ["A is here.\u202e", "Next one."]),
    "NUL": ("A\x00B is here. C.", ["A\x00B is here.", "C."]),
    "nothing": (" \n\t ", []),
    "rules only": ("---\n***\n| - |", []),
}  # fmt: skip


@pytest.mark.parametrize("text, expected", BOUNDARIES.values(), ids=BOUNDARIES)
def test_boundaries(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@given(st.text(alphabet=st.sampled_from("aB1 .!?\n\t\"'()-*#|`。é\x00\u202e,;"), max_size=400))
def test_spans_are_verbatim_ordered_and_lose_no_word(text: str) -> None:
    spans = split_sentences(text)
    assert all(text[s.start : s.end] == s.text and s.text == s.text.strip() != "" for s in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))


def test_no_letter_is_lost_outside_markers() -> None:
    text = "Alpha beta. Gamma (delta) epsilon; zeta!\nEta theta iota? Kappa\n\nLambda mu. " * 20
    assert "".join(texts(text)).replace(" ", "").replace("\n", "") == text.replace(" ", "").replace("\n", "")


@pytest.mark.parametrize("unit", ["word ", "x", "东京", "clause one, and clause two; ", "a-b/c_d "])
def test_text_without_full_stops_is_cut_into_bounded_pieces(unit: str) -> None:
    text = unit * (20_000 // len(unit))
    spans = split_sentences(text)
    assert len(spans) > 10
    assert max(len(s.text) for s in spans) <= MAX_SENTENCE_TOKENS * 8
    assert sum(len(s.text.replace(" ", "")) for s in spans) == len(text.replace(" ", ""))


def test_long_sentences_are_cut_at_clauses() -> None:
    pieces = texts("the river rises in the hills and the mayor was told about it, " * 40)
    assert all(piece.endswith(",") for piece in pieces)


@pytest.mark.parametrize(
    "unit", ["The tower is 5 m. ", ".", "e.g. ", "1. ", "(( ", "> ", "```\n", "| ", ". \n", "\"'", "x\n", " ", "a"]
)
def test_100_kB_take_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    started = time.process_time()
    split_sentences(text)
    assert time.process_time() - started < 5.0  # quadratic time would be minutes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "One. Two.",
        "A sentence of some words. " * 2_000,
        "words without any stop " * 2_000,
        "x" * 20_000,
        "line\n" * 5_000,
        "Ein Satz! " * 999 + "y" * 9_000,
    ],
    ids=lambda text: f"{text[:8]}{len(text)}",
)
def test_pieces_are_the_text_and_end_after_sentences(text: str) -> None:
    found = list(pieces(text, 1_000))
    assert "".join(found) == text
    assert all(len(piece) <= 2_000 for piece in found)
    if ". " in text:
        assert all(piece.rstrip().endswith(".") for piece in found)


LAW = "See sec. 4 Abs. 2 above. It holds."


@pytest.mark.parametrize(
    "found, expected",
    [
        (["See sec. 4 Abs. 2 above.", "It holds."], ["See sec. 4 Abs. 2 above.", "It holds."]),
        (["See sec. 4 Abs. 2 above. ", "It holds.", ""], ["See sec. 4 Abs. 2 above.", "It holds."]),
        ([Span.of(LAW, 0, 24), Span.of(LAW, 25, 34)], ["See sec. 4 Abs. 2 above.", "It holds."]),
        (iter([LAW]), [LAW]),
    ],
    ids=["strings", "white space around", "spans", "iterator"],
)
def test_a_splitter_of_ones_own(found: object, expected: list[str]) -> None:
    spans = sentences_by(lambda text: found, LAW)  # type: ignore[arg-type,return-value]
    assert [(span.text, LAW[span.start : span.end]) for span in spans] == [(text, text) for text in expected]


@pytest.mark.parametrize(
    "found, message",
    [
        (["See section 4 Abs. 2 above.", "It holds."], "'See section 4 .*', which does not stand in the text"),
        (["It holds.", "See sec. 4 Abs. 2 above."], "left out 'See sec. 4 Abs. 2 above.'"),
        ([Span.of(LAW, 25, 34), Span.of(LAW, 0, 24)], "left out 'See sec. 4 Abs. 2 above.'"),
        ([Span.of(LAW, 0, 24), Span.of(LAW, 20, 34)], "'ove. It holds.', which does not stand in the text behind"),
        ([Span(start=0, end=3, text="Saw")], "'Saw', which does not stand in the text"),
        (["See sec. 4 Abs. 2 above."], "left out 'It holds.', which would go unchecked"),
        ([], "left out 'See sec. 4"),
        (LAW, "gave 'See sec. 4 .*expected a list of sentences"),
        (None, "gave None; expected a list of sentences"),
        ([(0, 24)], r"gave \(0, 24\) as a sentence; expected a string or a Span"),
    ],
)
def test_a_splitter_that_does_not_give_the_texts_own_sentences(found: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sentences_by(lambda text: found, LAW)  # type: ignore[arg-type,return-value]


def test_a_sentence_of_a_splitter_that_no_model_could_read_is_cut() -> None:
    text = "It is a long word. " * 200
    spans = sentences_by(lambda whole: [whole], text)
    assert max(len(span.text.split()) for span in spans) <= MAX_SENTENCE_TOKENS
    assert " ".join(span.text for span in spans) == text.strip()
