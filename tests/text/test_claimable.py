"""What makes a claim, with its near misses; reasoning, code and titles are left alone without hiding claims."""

import json
import time
from pathlib import Path

import pytest

from evidencerails.text.claimable import (
    bare_labels,
    claim_sentences,
    clean,
    is_short_answer,
    makes_claim,
    without_reasoning,
)

NO_CLAIM, CLAIM = (
    Path(__file__).with_name(name).read_text(encoding="utf-8").split("\n")[:-1]
    for name in ("no_claim.txt", "claim.txt")
)
"""One sentence a line."""


@pytest.mark.parametrize("sentence", NO_CLAIM)
def test_is_left_alone(sentence: str) -> None:
    assert not makes_claim(sentence)


@pytest.mark.parametrize("sentence", CLAIM)
def test_makes_a_claim(sentence: str) -> None:
    assert makes_claim(sentence)


def test_no_statement_of_the_held_out_rows_is_taken_for_small_talk(repository: Path) -> None:
    """One in a hundred makes no claim for another reason: it says that the documents do not tell something."""
    lines = (repository / "training" / "passages_held_out.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [statement[-1] for line in lines for statement in json.loads(line)["statements"]]
    assert sum(not claim_sentences(text) for text in texts) <= 0.015 * len(texts)


@pytest.mark.parametrize(
    "text, claims",
    [
        ("Sure! The tower is in Lyon.", ["The tower is in Lyon."]),
        ("I'm sorry, I don't know. Let me know if you need more!", []),
        ("<think>Lyon, I guess. </think>The tower is in Paris.", ["The tower is in Paris."]),
        ("I guess Lyon.</think>\nThe tower is in Paris.", ["The tower is in Paris."]),
        ("The tower is in Lyon.</think>\n", ["The tower is in Lyon.</think>"]),  # nothing else is there to be seen
        ("<think>The tower is in Lyon.", ["<think>The tower is in Lyon."]),  # never closed: the user sees it
        ("A is b.<reasoning>C is d.</reasoning> E is f.", ["A is b.", "E is f."]),
        ("```python\nprint(1)\n# The tower is tall.\n```", []),
        ("```\nThe tower is in Berlin.\n```", ["The tower is in Berlin."]),  # a fence hides no claim
        ("```\nThe tower opened in 1920\nFor i To 10 Step 2\nCREATE TABLE t\n```", ["The tower opened in 1920"]),
        ("~~~Markdown\n# Lyon\n\nit opened in 1920\n~~~\nx", ["it opened in 1920", "x"]),
        ("```text\n| City | People |\n|---|---|\n| Lyon | 522,000 |\n```", ["| Lyon | 522,000 |"]),
        ("```csv\ntower,opened\nEiffel Tower,1920\n```", ["tower,opened", "Eiffel Tower,1920"]),
        ("Please note the tower opened in 1920.", ["Please note the tower opened in 1920."]),
        ("Please note that fees are not refunded.", ["Please note that fees are not refunded."]),
        ("Please note that I cannot give advice. Please rephrase the question.", []),
        ("**Early life**\nHe was born in Paris and grew up there with two sisters.", None),
        ("Early life\nHe was born in Paris and grew up there with two sisters.", None),
        ("| City | People |\n|---|---|\n| Lyon | 522,000 |", ["| Lyon | 522,000 |"]),
        ("# Lyon\n\n- It is old.\n- Hope this helps!", ["It is old."]),
        ("", []),
    ],
)
def test_claim_sentences(text: str, claims: list[str] | None) -> None:
    found = claim_sentences(text)
    assert all(text[s.start : s.end] == s.text for s in found)
    expected = ["He was born in Paris and grew up there with two sisters."] if claims is None else claims
    assert [s.text for s in found] == expected


def test_reasoning_keeps_offsets() -> None:
    text = "One. <thinking>x</thinking> Two. <think>y</think> Three."
    parts = without_reasoning(text)
    assert [p.text.strip() for p in parts] == ["One.", "Two.", "Three."]
    assert all(text[p.start : p.end] == p.text for p in parts)


SHORT = ["Lyon.", "1889", "In May 1889", "Yes", "No, never", "The United States of America", "Manchester United",
         "Opened in 1932", "Shipping costs", "The costs of two tickets", "A 4K television", "At the west gate only",
         "The left side of it"]  # fmt: skip
WHOLE = ["Lyon is big.", "It was built.", "She won", "He can't", "The bridge opened in 1884.", "", "a b c d e f g",
         "A day ticket costs 9 euros.", "Refunds take 5 days.", "Each box holds 6 bars.", "It applies across Europe.",
         "Tom paid the builder £415.", "Then she sold two pictures."]  # fmt: skip


@pytest.mark.parametrize(("answer", "is_short"), [*((one, True) for one in SHORT), *((one, False) for one in WHOLE)])
def test_a_short_answer_needs_its_question_and_a_sentence_stands_alone(answer: str, is_short: bool) -> None:
    assert is_short_answer(answer) is is_short


@pytest.mark.parametrize(
    "raw, shown",
    [
        ("**Bold** and _it_ [x](http://a.b) `c` [1]", "Bold and it x c"),
        ("5\u200b0 \u202eabc\x00d", "50 abc d"),
        ("snake_case 2*3*4", "snake_case 2*3*4"),
        ("| Lyon | 522 |", "Lyon, 522"),
        ("a\n  b", "a b"),
        ("It cost １４ million.", "It cost 14 million."),  # full-width digits are digits
        # words that a tokeniser took apart are whole again
        ("i ' ve seen it , it 's big and isn ' t old", "i've seen it , it's big and isn't old"),
        ("it did n't open and ca n't", "it didn't open and can't"),
        ("it did n’t open", "it didn't open"),
        ("the firm ’ s office", "the firm's office"),
        ("He said 'stop' to the 's-Gravenhage team", "He said 'stop' to the 's-Gravenhage team"),
        ("rock 'n' roll, 't Hooft", "rock 'n' roll, 't Hooft"),
    ],
)
def test_clean(raw: str, shown: str) -> None:
    assert clean(raw) == shown


@pytest.mark.parametrize(
    "unit",
    """sorry, |based on |i cannot know |the provided |in summary |as an ai |a: the |[a](|**a |<think>|</think>|
    <think></think>|I don't know. |dear a b |here is the summary |not known in """.split("|"),  # noqa: SIM905
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    started = time.process_time()
    claim_sentences(unit * (100_000 // len(unit)))
    assert time.process_time() - started < 10.0  # backtracking would take hours


def test_citation_marks_in_a_row_are_no_claim_however_many() -> None:
    assert claim_sentences("[1]" * 3_000) == []


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("## Refunds take 20 business days\n\nCall us?", ["Refunds take 20 business days"]),
        ("# The Halden bridge opened in 1875", ["The Halden bridge opened in 1875"]),
        ("## Revenue up 20 % in 2021", ["Revenue up 20 % in 2021"]),
        ("## 20 days for any refunds", ["20 days for any refunds"]),
        ("| Bridge opened in 1875 | Length |\n|---|---|\n| x | y |", ["| Bridge opened in 1875 | Length |"]),
        ("![The Halden bridge, opened in 1875](b.png)", ["The Halden bridge, opened in 1875"]),
        ("*Figure 1: The bridge was opened in 1875.*", ["The bridge was opened in 1875.*"]),
        ("## 3 things to know before you go", []),
        ("### Top 5 sights in Halden", []),
        ("## Overview\n\nWhy?", []),
        ("## How refunds work\n\nWhy?", []),
        ("### 2.1 Getting started", []),
        ("Figure 2: Map of Halden", []),
        ("![logo](b.png)", []),
    ],
)
def test_labels_are_claims_where_they_state_something(text: str, claims: list[str]) -> None:
    # Headings, captions, alt texts and heads of tables were never read, so a wrong one passed.
    found = [span.text for span in claim_sentences(text) if not span.text.startswith("| x")]
    assert found == claims


def test_a_heading_states_something_with_a_splitter_too() -> None:
    text = "## Refunds take 20 business days\n## Overview of refunds\nFigure 1: The bridge in Oslo\nThey are paid."
    found = claim_sentences(text, lambda part: part.split("\n"))
    said = ["Refunds take 20 business days", "Figure 1: The bridge in Oslo", "They are paid."]
    assert [span.text for span in found] == said
    assert [span.text for span in bare_labels(text, found)] == ["Overview of refunds"]  # no sentence twice
