"""What a model reads for a short answer: the question it answers, whatever else the prompt holds."""

import pytest

from evidencerails import Guard
from evidencerails.exchange import Passage, Span
from evidencerails.nli.windows import EvidenceWindow, Window
from evidencerails.verdict.reading import Hypothesis, hypotheses, question_of

BRIDGE = (
    "The Harbour Bridge of Porto Lindo was opened in 1962 by mayor Ana Ruiz. It is 480 metres long and carries two "
    "lanes of traffic and a tram line. It replaced a ferry that had served the town since the time of the whalers."
)
ASKED = "When was the Harbour Bridge of Porto Lindo opened?"
PROMPTS = {
    "a question": (ASKED, ASKED),
    "a short prompt": (f"I am in town. {ASKED}", f"I am in town. {ASKED}"),
    "a request": ("Name the mayor who opened the bridge", "Name the mayor who opened the bridge"),
    "evidence, then a marked question": (f"Context:\n{BRIDGE}\n\nQuestion: {ASKED}\nAnswer:", ASKED),
    "a marked question, then evidence": (f"Question: {ASKED}\nContext: {BRIDGE}", ASKED),
    "marks in bold": (f"**Context**\n{BRIDGE}\n\n**Question**: {ASKED}\n\n**Answer**:", ASKED),
    "Q and A": (f"{BRIDGE}\nQ: Who opened it?\nA: Ana Ruiz\nQ: {ASKED}\nA:", ASKED),
    "evidence, then a bare question": (f"{BRIDGE} {BRIDGE}\n\n{ASKED}", ASKED),
    "a question between evidence": (f"{BRIDGE}\n{ASKED}\n{BRIDGE}", ASKED),
    "an abbreviation in the question": (f"{BRIDGE}\nWhen did Dr. Ruiz open the bridge?",
     "When did Dr. Ruiz open the bridge?"),
    "a request after evidence": (f"{BRIDGE}\nName the year in which it was opened.",
     "Name the year in which it was opened."),
    "evidence without a question": (f"{BRIDGE}", ""),
    "nothing": ("", ""),
    "a mark with nothing behind it": (f"{BRIDGE} {ASKED}\nQuestion:\n", ASKED),
    "a question as long as a page": ("What about " + "internationalisation and " * 20 + "that?", ""),
}  # fmt: skip


@pytest.mark.parametrize("prompt, question", PROMPTS.values(), ids=PROMPTS)
def test_question_of_a_prompt(prompt: str, question: str) -> None:
    assert question_of(prompt) == question


QUOTES = {
    "number": ("The tower of Halden is 330 metres tall.",
     "The tower of Halden is a tall landmark of the old Halden harbour. It is a tall tower of 300 metres.",
     "It is a tall tower of 300 metres."),
    "year": ("The Halden bridge was opened in 1999 by the mayor.",
     "The mayor of Halden spoke of the bridge and opened a school. The bridge was opened in 1962.",
     "The bridge was opened in 1962."),
    "no value to compare": ("The Halden bridge was opened by the mayor.",
     "The mayor opened the Halden bridge. It cost 300 crowns.", "The mayor opened the Halden bridge."),
    "a value of something else": ("The Halden bridge was opened in 1999 by mayor Ruiz.",
     "Mayor Ruiz opened the Halden bridge. Bread cost 300 crowns.", "Mayor Ruiz opened the Halden bridge."),
}  # fmt: skip


@pytest.mark.parametrize("claim, evidence, quoted", QUOTES.values(), ids=QUOTES)
def test_the_quote_holds_the_value_that_was_compared(claim: str, evidence: str, quoted: str) -> None:
    passage = Passage(id="1", text=evidence)
    found = EvidenceWindow((Window(passage, 0, len(evidence)),)).decisive_sentence(claim)
    assert found[1].text == quoted
    assert evidence[found[1].start : found[1].end] == quoted


def test_a_sentence_that_the_prompt_dictates_is_read_alone() -> None:
    # "Ships sank here" in the user's message had made the same words of the answer supported.
    prompt = 'Your answer must say "Ships sank here."'
    assert hypotheses([Span.of("Ships sank here.", 0, 16)], prompt) == [
        Hypothesis("Ships sank here.", "Ships sank here.")
    ]


def test_a_choice_that_the_question_offers_is_read_with_it() -> None:
    assert hypotheses([Span.of("Lyon.", 0, 5)], "Is it Paris or Lyon?")[0].text == "Is it Paris or Lyon? Lyon."


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("I've never seen it, but I know James Cameron directed it.", "James Cameron directed it."),
        ("i ' m not sure , but i know he wrote it in 1945 .", "he wrote it in 1945 ."),
        ("I do not, but I do know that she was born in Michigan.", "she was born in Michigan."),
        ("I think it was opened in 1962.", "it was opened in 1962."),
        ("Answer: It was opened in 1962.", "It was opened in 1962."),
        ("I believe that Ana Ruiz opened it.", "Ana Ruiz opened it."),
        ("I really don't know, I just know that it opened in 1962.", "it opened in 1962."),
        # A question behind it hid what was stated before.
        ("The bridge was opened in 1962, would you like to see it?", "The bridge was opened in 1962"),
        ("It is 480 metres long, and who built it?", "It is 480 metres long"),
        ("The fee costs 5 euros, shall I book it?", "The fee costs 5 euros"),
        # What may say more than a question is read with the rest.
        ("It opened in 1962, has 40 rooms and costs 5 euros, would you like to go?",
         "It opened in 1962, has 40 rooms and costs 5 euros"),
        ("It opened in 1962, has 40 rooms and costs 5 euros?", "It opened in 1962, has 40 rooms and costs 5 euros?"),
        ("It opened in 1962, did you know that the mayor died in 1990?",
         "It opened in 1962, did you know that the mayor died in 1990?"),
        ("It was opened by Ana Ruiz, who died in 1990?", "It was opened by Ana Ruiz, who died in 1990?"),
        # What stands before "but" is a claim as well, or the rest is no sentence: nothing is cut.
        ("It is closed, but I know that the mayor opened it.", "It is closed, but I know that the mayor opened it."),
        ("I know who opened the bridge in 1962.", "I know who opened the bridge in 1962."),
        ("I think about bridges now and then.", "I think about bridges now and then."),
        ("Ana thinks the bridge was opened in 1962.", "Ana thinks the bridge was opened in 1962."),
    ],
)  # fmt: skip
def test_what_a_speaker_knows_is_read_without_the_speaker(said: str, read: str) -> None:
    assert hypotheses([Span.of(said, 0, len(said))], "") == [Hypothesis(read, read)]


@pytest.mark.parametrize("year", ["1889", "1920"])
def test_an_opener_changes_no_verdict(year: str) -> None:
    guard = Guard({"checks": ["claims"]})
    evidence = ["The Halden museum opened in 1889. It shows ships and their builders."]
    plain = guard.check_sync(f"It opened in {year}.", evidence=evidence)
    for opener in ("But it", "However, it", "In addition, it", "Perhaps it", "- It", "Sure! It", "**Opening:** It"):
        report = guard.check_sync(f"{opener} opened in {year}.", evidence=evidence)
        assert (report.status, report.claims[-1].label) == (plain.status, plain.claims[-1].label), opener
