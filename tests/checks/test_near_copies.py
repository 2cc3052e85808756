"""What may count as a contradiction of a claim that keeps close to a sentence, and what the engine makes of it."""

from __future__ import annotations

import pytest

from evidencerails.checks.near_copies import shows_cause
from evidencerails.guard import Guard
from evidencerails.scoring.words import WordIndex, features, words_of

SENTENCE = "The actress, who lives in Leeds, married the footballer Sam Hill in York on Friday."


@pytest.mark.parametrize(
    ("claim", "sentence", "expected"),
    [
        pytest.param("the actress married the footballer sam hill in york .", SENTENCE, False, id="words left out"),
        pytest.param("The actress, 26, married the footballer Sam Hill in York.", SENTENCE, False, id="number put in"),
        pytest.param(
            "The jet cost # 400million .", "The jet cost £400million after all its fittings.", False, id="other sign"
        ),
        pytest.param(
            "He has taken charge of 1,056 matches since 1996.",
            "The manager has taken charge of 1, 056 matches since the autumn of 1996.",
            False,
            id="number taken apart",
        ),
        pytest.param("The footballer Sam Hill married the actress in York.", SENTENCE, True, id="other order"),
        pytest.param("The actress divorced the footballer Sam Hill in York.", SENTENCE, True, id="word of its own"),
        pytest.param("The actress married the footballer Tom Beck in York.", SENTENCE, True, id="other name"),
        pytest.param(
            "The firm paid the fine in May.", "The firm never paid the fine in May.", True, id="negation left out"
        ),
        pytest.param("The firm did not pay the fine.", "The firm did pay the fine.", True, id="negation put in"),
        pytest.param(
            "The plan will be dropped after a vote.", "The plan will be dropped before a vote.", True, id="condition"
        ),
        pytest.param(
            "Wages fell by 5 percent.", "Wages rose by 5 percent, prices fell by 3.", True, id="order of values"
        ),
        pytest.param("Pay within 90 days.", "Pay within 5 of the days.", True, id="value without its unit"),
        pytest.param("A singer was wed to an athlete.", SENTENCE, True, id="worded anew"),
    ],
)
def test_a_near_copy_is_contradicted_only_for_a_cause(claim: str, sentence: str, expected: bool) -> None:
    words, index = words_of(claim), WordIndex([sentence])
    lacks = features(words, index, index)
    lacks = {name: lacks[name] for name in ("missing_words", "missing_numbers")}
    assert shows_cause(words, words_of(sentence), **lacks) is expected


@pytest.mark.parametrize(
    ("evidence", "answer", "decision"),
    [
        (f"{SENTENCE} She is 26 years old.", "the actress , 26 , married the footballer sam hill in york .", "allow"),
        (SENTENCE, "The actress did not marry the footballer Sam Hill in York.", "block"),
        (SENTENCE, "The actress married the footballer Sam Hill in York on Monday.", "block"),
        (SENTENCE, "The actress married the footballer Tom Beck in York on Friday.", "block"),
        ("Refunds are paid within 5 business days.", "Refunds are paid within 90 days.", "block"),
        ("Refunds are paid within 5 business days.", "Refunds are paid within 5 days.", "allow"),
        ("The course takes 6 full weeks.", "The course takes 9 weeks.", "block"),
        ("The plant has 1,700 workers.", "The plant has 17,000 workers.", "block"),
    ],
)
def test_the_engine_blocks_what_is_changed_and_not_what_is_cut(evidence: str, answer: str, decision: str) -> None:
    report = Guard({"checks": ["grounding"]}).check_sync(answer, evidence=[evidence])
    assert report.decision == decision, [(c.label, c.nli, c.parts) for c in report.claims]


SEAT = "The bridge was opened in 1932. The company has its seat in Drammen. Its director lives in Oslo."


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("The company has its seat in Oslo.", "hallucinated"),  # a name of another sentence
        ("The company has its seat in Drammen.", "grounded"),
        ("Its director lives in Oslo.", "grounded"),
    ],
)
def test_a_name_counts_only_where_it_belongs(answer: str, status: str) -> None:
    report = Guard({"checks": ["grounding"]}).check_sync(answer, evidence=[SEAT])
    assert report.status == status, [(c.label, c.nli, c.parts) for c in report.claims]
