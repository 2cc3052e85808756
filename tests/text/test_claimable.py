"""What makes a claim, with its near misses; reasoning, code and titles are left alone without hiding claims."""

import time

import pytest

from evidencerails.text.claimable import (
    bare_labels,
    claim_sentences,
    clean,
    is_short_answer,
    makes_claim,
    without_reasoning,
)

NO_CLAIM = """
Hello!
Hi there, thanks for asking!
Good morning, how are you?
Isn't that great?
That's awesome!
Wow, that is really interesting.
that ' s cool !
I've never been there.
I have never seen it, but that sounds fun.
I'm not a big fan of soccer.
If it opened in 1962, who opened it?
Since it was opened in 1962, would you like to visit?
Do you want the red one, or is the blue one better?
Is it in Lyon, which is in France?
I can help with that, what is your account number?
That is an interesting question, what do you think?
To help you, I need more details, could you share them?
You mentioned a tower, which one do you mean?
Isn't it nice, don't you think?
Wow, I didn't know that, have you read the book?
The sources contradict each other about this, so I cannot say which is right.
These instructions contradict each other, so I cannot follow both.
I cannot follow both instructions.
The passages disagree.
I hope this helps!
I hope you find this useful.
I hope this answers your question.
Don't you want to know more?
Isn't there anything else I can do?
Thank you for your question.
You're welcome!
Great question!
Sure!
Okay.
I apologize for the confusion.
I'm sorry, I can't help with that.
I'm sorry, but I can’t help with that.
Sorry, I couldn't find anything about that.
I'm afraid I can't do that.
I don't know.
I'm not sure.
I do not know the answer to that question.
I am unable to verify that.
I cannot answer this because it is not mentioned in the context.
I'm sorry, but I don't have enough information to answer.
Unfortunately, I cannot determine that from the given text.
Based on the provided context, I cannot determine the year.
As an AI language model, I don't have personal opinions.
I'm just an AI assistant.
The context does not mention the mayor.
The provided documents do not contain information about the salary.
The text doesn't say when it was built.
There is no information about that in the provided context.
No information available.
It is not specified.
Not mentioned in the text.
Unknown.
What is the capital of France?
Would you like more details?
Could you please clarify your question?
How can I help you today?
Let me know if you have questions.
Let me know if you need anything else!
If you have any other questions, feel free to ask.
Feel free to ask.
I'm happy to help!
I hope this helps!
Please provide more context.
# Overview
**Summary:**
Here is a summary of the article:
Here are the key facts:
To reset your Hub 6 to factory settings:
To change your bank account before the next bill:
In order to get a new transfer code:
Sure, here is the answer:
---
:)
I don't know who drew it, who was there in 1920, or why.
I can't tell you more than that.
Have you heard the news?
Shall I check the order, which is late?
"""

CLAIM = """
Lyon.
5
US
1889
Yes
Yes.
No.
Paris, France
Answer: Lyon
The tower is in Lyon.
I'm sorry, but the tower is in Lyon.
I'm sorry, the tower is in Lyon.
I don't know who built it, but it was finished in 1889.
I can't say when it was built because the tower was destroyed in 1944.
The passage does not end at the castle; it leads to the river.
The tower is in Lyon, isn't it?
Did you know that the tower was built in 1901?
Isn't the tower in Lyon?
The sources disagree about the year of the opening, 1932 and 1935.
The passages contradict the manual.
The sources contradict each other about this, but the bridge opened in 1884.
I hope it stays closed until the trial in March.
Didn't Eiffel build the tower in 1901?
To leave in the first 12 months costs half of the price:
To leave you need 30 days' notice to the end of the month:
To reset the Hub 6, hold its button for 15 seconds:
Here are the three winners: Ann, Bob and Cy.
The tower, built in 1999 in Berlin, has the following features:
There is no bridge in Lyon.
It was not built in 1889.
No one died.
She can't swim.
He does not know the answer.
He said he could not help them.
We cannot survive without water, because the body needs 2 litres a day.
Thanks to Gustave Eiffel, the tower was built.
Of course the tower was built in 1889.
Hello Kitty was created in 1974.
Sorry is a song by Justin Bieber.
Sure Thing won the race.
Welcome to Paris was filmed in 1990.
Good Morning America airs on ABC.
The documents were written by Smith.
The article was not published until 1990.
The information was leaked by Snowden.
The context of the war was the invasion of Poland.
Unknown Pleasures is an album by Joy Division.
I was born in 1990.
The bridge was opened in 1950, would you like to know more?
The bridge opened in 1950, would you like to know more?
The fee costs 5 euros a day - shall I book it?
It opened in 1950, did you know that the mayor died in 1990?
I really don't know, I just know that it was opened in 1932.
I don't know much about it other than it was opened in 1932.
We can help with 5,000 euros.
I've never seen that the fee was waived.
I've never heard of a fee of 500 euros.
I have never been charged by the bank.
I can help you. The fee was waived in 2020, which plan do you have?
Not until 1990 did he win.
Let me know if you want more on the tower, which opened in 1920.
Shall I tell you more about Lyon, which was founded in 43?
I can't say anything about Anna, who was born in 1920.
I cannot say more than that the tower opened in 1920.
Who would have thought the tower opened in 1920?
Isn't it amazing that the tower opened in 1920?
"""


@pytest.mark.parametrize("sentence", NO_CLAIM.strip().split("\n"))
def test_is_left_alone(sentence: str) -> None:
    assert not makes_claim(sentence)


@pytest.mark.parametrize("sentence", CLAIM.strip().split("\n"))
def test_makes_a_claim(sentence: str) -> None:
    assert makes_claim(sentence)


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
    started = time.perf_counter()
    claim_sentences(unit * (100_000 // len(unit)))
    assert time.perf_counter() - started < 10.0  # backtracking would take hours


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
