"""Quotes are found again or not at all; long evidence is cut by what the claims share with it."""

import pytest
from scoring_tools import claims_of

from evidencerails.exchange import Passage
from evidencerails.measures.evidence import excerpts_for, find_quotes, is_about

PASSAGES = (
    Passage(id="a", text="Ann paints."),
    Passage(id="b", text="The tower — built by “Eiffel & Co.” — was finished in 1889;\nit cost 7,799,401.31 francs."),
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("was finished in 1889", "was finished in 1889"),
        ("WAS  finished\nin 1889", "was finished in 1889"),
        ('built by "Eiffel & Co." - was finished', "built by “Eiffel & Co.” — was finished"),
        ("finished in 1889; it cost", "finished in 1889;\nit cost"),
        ("7,799,401.31 francs", "7,799,401.31 francs"),
    ],
)
def test_a_quote_is_found_whatever_its_marks(quote: str, found: str) -> None:
    (quoted,) = find_quotes(quote, PASSAGES, score=0.9)
    assert (quoted.passage_id, quoted.span.text, quoted.score) == ("b", found, 0.9)
    assert PASSAGES[1].text[quoted.span.start : quoted.span.end] == found


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("The tower ... was finished in 1889", [("b", "The tower"), ("b", "was finished in 1889")]),
        ("Ann paints … was finished in 1889", [("a", "Ann paints"), ("b", "was finished in 1889")]),
        ("Ann paints … was finished in 1890", []),
    ],
)
def test_each_part_of_a_quote_is_found_in_one_passage_or_its_own(quote: str, found: list[tuple[str, str]]) -> None:
    assert [(one.passage_id, one.span.text) for one in find_quotes(quote, PASSAGES)] == found


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "...",
        "was finished in 1888",
        "1889 in finished",
        "as finished in 1889",  # part of a word
        "Ann paints. The tower",  # across passages
        "The tower ... was finished in 1890",
        "7,799,401.3",
    ],
)
def test_what_nobody_wrote_is_not_found(quote: str) -> None:
    assert find_quotes(quote, PASSAGES) == ()


def test_a_quote_in_a_script_without_spaces_is_found() -> None:
    passage = Passage(id="a", text="この塔は1889年に完成しました。")
    (quoted,) = find_quotes("1889年に完成", [passage])
    assert quoted.span.text == "1889年に完成"


def test_a_long_quote_is_not_looked_for_in_exponential_time() -> None:
    passage = Passage(id="a", text="a b " * 2_500)
    assert find_quotes("a b " * 500 + "c", [passage]) == ()


@pytest.mark.parametrize(
    ("quote", "claim", "expected"),
    [
        ("It was built by Eiffel", "Eiffel made it", True),
        ("the building", "The tower was built", False),
        ("they built it", "It was builtin", True),
        ("It was finished in 1889", "It was finished in 1887", True),
        ("in 1889", "in 1887", False),
        ("It is not the one that was", "It was the one", True),
        ("it was the", "the was it", False),
        ("Reply supported", "The tower stands in Lyon", False),
        ("", "The tower", False),
    ],
)
def test_a_quote_is_about_a_claim_if_they_share_a_telling_word(quote: str, claim: str, expected: bool) -> None:
    assert is_about(quote, claim) is expected


def test_short_evidence_goes_whole_into_the_prompt() -> None:
    excerpts = excerpts_for(claims_of("Ann paints.", "Ann paints."), PASSAGES)
    assert excerpts == PASSAGES


@pytest.mark.parametrize("place", [0, 17, 199])
def test_of_long_evidence_the_part_about_the_claim_is_kept(place: int) -> None:
    sentences = [f"Report {n} tells of grain, ships and weather in the harbour." for n in range(1000)]
    sentences[place * 5] = "The tower was finished in 1889."
    passage = Passage(id="a", text=" ".join(sentences))
    excerpts = excerpts_for(claims_of("The tower opened in 1889.", "The tower opened in 1889."), [passage], limit=4000)
    assert sum(len(excerpt.text) for excerpt in excerpts) <= 4000
    assert any("finished in 1889" in excerpt.text for excerpt in excerpts)
