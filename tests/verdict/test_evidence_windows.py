"""Evidence as the reader sees it: whole where it fits, else the parts that matter, under their headings."""

import random

import pytest
from scripted_nli import words

from evidencerails.exchange import Passage
from evidencerails.nli.windows import EvidenceIndex, EvidenceWindow, Window


def passages(*texts: str) -> list[Passage]:
    return [Passage(id=str(number), text=text) for number, text in enumerate(texts, 1)]


def index_of(*texts: str) -> EvidenceIndex:
    return EvidenceIndex(passages(*texts), words, 400)


def filler(topic: str, sentences: int) -> str:
    sentence = f"The {topic} report number {{}} describes the ordinary weather of that week."
    return " ".join(map(sentence.format, range(sentences)))


def test_each_short_passage_is_a_window_of_its_own() -> None:
    index = index_of("The Alpha has two years.", "The Beta has five years.")
    selection = index.select(["The Alpha has two years.", "It rains."])
    assert [window.text for window in selection.windows] == ["The Alpha has two years.", "The Beta has five years."]
    assert selection.places == ((0, 1), (0, 1))


def test_what_a_claim_is_read_in_does_not_depend_on_other_claims() -> None:
    index = index_of(*(filler(topic, 60) for topic in ("bridge", "harbour", "tower")))
    claims = ["The bridge report number 7 describes the weather.", "The tower report number 41."]
    together = index.select(claims)
    for number, claim in enumerate(claims):
        alone = index.select([claim])
        assert [together.windows[n].text for n in together.places[number]] == [
            alone.windows[n].text for n in alone.places[0]
        ]


def test_parts_that_share_most_with_a_claim_are_joined_once() -> None:
    index = index_of("The Alpha costs 5 euros.", "The Beta costs 7 euros.", "It rains.")
    joined = index.joined("The Beta costs 2 euros more than the Alpha.")
    assert "Alpha costs 5" in joined.text and "Beta costs 7" in joined.text
    assert index_of("The Alpha costs 5 euros.").joined("x") is None


@pytest.mark.parametrize("seed", range(2))
def test_the_order_of_passages_changes_no_window(seed: int) -> None:
    texts = [filler(topic, 30) for topic in ("bridge", "harbour", "tower", "school")]
    claims = ["The bridge report number 7 describes the weather.", "The school report number 3."]
    expected = index_of(*texts).select(claims)
    random.Random(seed).shuffle(texts)
    found = index_of(*texts).select(claims)
    assert [w.text for w in found.windows] == [w.text for w in expected.windows]
    assert found.places == expected.places


def test_a_passage_given_twice_is_read_once() -> None:
    selection = index_of("The Alpha has two years.", "The Alpha has two years.").select(["x"])
    assert selection.windows[0].text == "The Alpha has two years."
    assert selection.windows[0].parts[0].passage.id == "1"


def test_windows_are_shared_between_claims() -> None:
    index = index_of(filler("bridge", 200))
    claims = [f"The bridge report number {n} describes the weather." for n in (3, 4, 5)]
    assert len(index.select(claims).windows) <= 8


@pytest.mark.parametrize(("before", "heading"), [("# Returns\nItems.\n## Refunds\n", "## Refunds\n"), ("Items.\n", "")])
def test_a_part_stands_under_its_heading(before: str, heading: str) -> None:
    (passage,) = passages(f"{before}HERE")
    assert EvidenceWindow((Window(passage, len(before), len(passage.text)),)).text == f"{heading}HERE"


def test_the_deciding_sentence_of_a_window_is_verbatim_in_its_passage() -> None:
    one, other = passages("Intro. The Alpha has two years.", "The Beta has five years. It is red.")
    window = EvidenceWindow((Window(one, 7, len(one.text)), Window(other, 0, len(other.text))))
    found = window.decisive_sentence("The Beta is covered for five years.")
    assert found is not None and (found[0].id, found[1].text) == ("2", "The Beta has five years.")
    assert found[0].text[found[1].start : found[1].end] == found[1].text
