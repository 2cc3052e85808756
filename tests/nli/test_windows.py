"""Windows cover all of the evidence; the prefilter keeps what decides."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_nli import words

from evidencerails.exchange import Passage
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.windows import (
    DEFAULT_WINDOW_TOKENS,
    ESTIMATED_FROM,
    TAIL_SLACK,
    EvidenceWindow,
    Window,
    WindowIndex,
    build_windows,
    coverage,
    premise_room,
)


def passages(*texts: str) -> list[Passage]:
    return [Passage(id=str(place), text=text) for place, text in enumerate(texts, start=1)]


TEXTS = st.lists(st.text(st.sampled_from("ab1 .!?\n\t\x00é。\u202e"), max_size=400), max_size=4)


@given(TEXTS, st.integers(1, 60), st.integers(16, 40), st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_windows_cover_every_character_in_order_and_fit(texts: list[str], claim: int, size: int, overlap: int) -> None:
    evidence = passages(*texts)
    windows = build_windows(evidence, claim, words, max_tokens=96, window_tokens=size, overlap_tokens=overlap)
    room = premise_room(claim, 96)
    for passage in evidence:
        own = [window for window in windows if window.passage is passage]
        assert bool(own) == bool(passage.text.strip())
        covered = sorted({place for window in own for place in range(window.start, window.end)})
        assert covered == (list(range(len(passage.text))) if own else [])
        assert all(
            before.start < after.start and after.start <= before.end for before, after in itertools.pairwise(own)
        )
        for window in own:
            assert window.text == passage.text[window.start : window.end]
            assert len(words(window.text)) <= min(room, int(size * TAIL_SLACK))


def test_a_passage_that_fits_is_one_window() -> None:
    text = "word " * DEFAULT_WINDOW_TOKENS
    assert build_windows(passages(text), 20, words) == [Window(passages(text)[0], 0, len(text))]


def test_windows_begin_and_end_at_sentences_and_neighbours_share_one() -> None:
    text = "".join(f"Sentence number {n} says a thing. " for n in range(40))
    windows = build_windows(passages(text), 20, words, window_tokens=40, overlap_tokens=10)
    assert len(windows) > 5
    assert all(window.text.startswith("Sentence") and window.text.rstrip().endswith(".") for window in windows)
    assert all(after.start < before.end for before, after in itertools.pairwise(windows))


def test_a_long_claim_makes_windows_smaller_and_never_empty() -> None:
    text = "word " * 2000
    for claim in (10, 200, 400, 100_000):
        longest = max(len(words(w.text)) for w in build_windows(passages(text), claim, words, window_tokens=400))
        assert longest + min(claim, 256) + 3 <= 512


@pytest.mark.parametrize(
    "text", ["." * 100_000, "a" * 100_000, " \n" * 50_000 + "a", "a. " * 40_000, "日本。" * 30_000]
)
def test_monotonous_text_takes_linear_time(text: str) -> None:
    # A pattern that backtracks would need minutes here; the suite's time limit is the assertion.
    windows = build_windows(passages(text), 20, words)
    assert windows[0].start == 0
    assert windows[-1].end == len(text)
    assert WindowIndex(windows).select("Paris is in France 1999", 8)


@pytest.mark.parametrize(
    "sentence",
    [
        "The committee unanimously recommended internationalisation in 1998, at 12,500 euros a year. ",
        "x = compute_total(items[3], rate=0.19)  # see https://example.org/a/b ",
        "0f3a99bc71d2e4558a9b0c1d2e3f4051 ",
        "na\u00efve caf\u00e9 owners pay 3 % more. ",
    ],
)
def test_windows_of_a_long_text_have_about_the_wished_size(sentence: str) -> None:
    """Cut by an estimate where that is good enough: counted by the real tokenizer, few are much too long or short."""
    model = EmbeddedModel()
    text = "".join(f"{place} {sentence}" for place in range(2 * ESTIMATED_FROM // len(sentence)))
    windows = build_windows([Passage(id="1", text=text)], 20, model.token_offsets)
    sizes = [len(model.token_offsets(window.text)) for window in windows[:-1]]
    assert (windows[0].start, windows[-1].end) == (0, len(text))
    assert all(later.start <= window.end for window, later in itertools.pairwise(windows))
    assert min(sizes) >= DEFAULT_WINDOW_TOKENS / 2 and max(sizes) <= 1.5 * DEFAULT_WINDOW_TOKENS


def test_blank_passages_have_no_windows() -> None:
    assert build_windows(passages("", " \n"), 10, words) == []
    assert WindowIndex([]).select("anything", 8) == []


FILLER = """The council met again and talked about the budget for roads and schools in the coming year.
Several members asked for a later date because the report had not been read by all of them.
A spokesman for the company said that sales in the region had grown and that more people would be hired.
The weather stayed dry over most of the country with light winds from the west.
The team won at home and lost away, and the coach praised the younger players.
Visitors came to the museum in large numbers, and the café had to close early.""".splitlines()
FACTS = [
    ("Marie Curie received the Nobel Prize in Chemistry in 1911.", "Marie Curie won the 1911 chemistry Nobel."),
    ("The bridge at Millau is 343 metres tall.", "The Millau bridge reaches a height of 343 metres."),
    ("Aspirin must not be given to children under twelve.", "Children below twelve can safely take aspirin."),
    ("The merger with Halvorsen Shipping was called off.", "The company merged with Halvorsen Shipping."),
    ("Lake Baikal holds about a fifth of the fresh water on earth.", "Baikal holds half of all fresh water."),
]


def _evidence(kilobytes: int, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [chance.choice(FILLER) for _ in range(kilobytes * 1000 // 85)]


@pytest.mark.parametrize(("kilobytes", "step"), [(10, 5), pytest.param(100, 20, marks=pytest.mark.slow)])
def test_the_sentence_that_decides_is_kept_wherever_it_stands(kilobytes: int, step: int) -> None:
    kept = total = 0
    for number, (fact, claim) in enumerate(FACTS):
        sentences = _evidence(kilobytes, seed=number)
        for place in range(0, 100, step):
            position = len(sentences) * place // 100
            text = " ".join([*sentences[:position], fact, *sentences[position:]])
            found = WindowIndex(build_windows(passages(text), 20, words)).select(claim, 8)
            kept += any(fact in window.text for window in found)
            total += 1
            assert len(found) <= 8
    assert kept / total >= 0.98


def test_a_rare_number_is_followed_although_other_windows_share_more_words() -> None:
    common = "The Halden bridge in the north of the town was built by the Lund company for the railway. " * 60
    text = common + "A plate on it reads 1873. " + "Nothing else is known of that time. " * 60
    claim = "The Halden bridge in the north of the town was built by the Lund company in 1873."
    found = WindowIndex(build_windows(passages(text), 20, words)).select(claim, 4)
    assert any("1873" in window.text for window in found)


def test_inflected_words_find_each_other() -> None:
    text = "Nothing of note. " * 200 + "The announcement surprised investors. " + "Nothing of note. " * 200
    found = WindowIndex(build_windows(passages(text), 20, words)).select("It announced a surprise to an investor", 4)
    assert any("announcement" in window.text for window in found)


def test_a_claim_without_a_shared_word_is_still_read_against_something() -> None:
    windows = build_windows(passages("Nothing of note here. " * 500), 20, words)
    found = WindowIndex(windows).select("Zebras gallop", 8)
    assert len(found) == 4
    assert found[0] is windows[0]


def test_a_short_answer_is_looked_up_with_its_question() -> None:
    fact = "The wife of James Miller was an American singer."
    text = "He was American and she was American too. " * 300 + fact + " An American at home is American." * 300
    windows = build_windows(passages(text), 20, words)
    assert not any(fact in window.text for window in WindowIndex(windows).select("American", 4))
    question = "What was the nationality of James Miller's wife?"
    assert any(fact in window.text for window in WindowIndex(windows).select("American", 4, question))


def test_few_windows_are_all_kept_in_order() -> None:
    windows = build_windows(passages("One thing.", "Another thing."), 20, words)
    assert WindowIndex(windows).select("Another", 8) == windows


def test_selected_windows_stand_in_the_order_of_the_evidence() -> None:
    text = " ".join(f"Alpha {n} beta gamma delta." for n in range(2000))
    windows = build_windows(passages(text), 20, words)
    found = WindowIndex(windows).select("Alpha 77 beta", 8)
    assert [windows.index(w) for w in found] == sorted(windows.index(w) for w in found)


def test_coverage_counts_overlaps_once() -> None:
    passage = Passage(id="1", text="x" * 100)
    windows = [Window(passage, 0, 60), Window(passage, 40, 100)]
    assert coverage(windows, windows) == (2, 2, 100, 1.0)
    assert coverage(windows, windows[:1]) == (2, 1, 60, 0.6)
    assert coverage([], []) == (0, 0, 0, 1.0)


PLANS = """# Abroad

| Plan | Data | After that |
|---|---:|---|
| Light | 5 GB | 64 kbit/s |
| Plus | 18 GB | |
"""


def read_as(text: str, start: int = 0) -> str:
    (passage,) = passages(text)
    return EvidenceWindow((Window(passage, start, len(text)),)).text


def test_a_row_of_a_table_is_read_with_the_heads_of_its_columns() -> None:
    light = '{\n "Plan": "Light",\n "Data": "5 GB",\n "After that": "64 kbit/s"\n}\n'
    plus = '{\n "Plan": "Plus",\n "Data": "18 GB"\n}\n'
    assert read_as(PLANS) == f"# Abroad\n\n{light}{plus}"
    assert read_as(PLANS, PLANS.index("| Plus")) == f"# Abroad\n{plus}", "the heads stand in another window"


def test_each_record_has_a_window_of_its_own_and_none_is_another_ones_title() -> None:
    text = '{"plan": "Light", "gb": 5}\n{"plan": "Plus", "gb": 18}\n{"plan": "Max", "gb": 40}'
    windows = build_windows(passages(text), 20, words)
    assert "".join(window.text for window in windows) == text
    assert [EvidenceWindow((window,)).text for window in windows] == text.splitlines(keepends=True)


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "| a | b |\n| c | d |",
        "| only | heads |",
        "|---|---|\n| a | b |",
        "| a |\n|---|\n| b |",
        "x\n| a | b |\ny",
    ],
)
def test_what_is_no_table_with_heads_is_read_as_it_stands(text: str) -> None:
    assert read_as(text) == text
