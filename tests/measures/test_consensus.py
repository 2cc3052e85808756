"""What most answers say, by the embedded model: claims for prose, fields for JSON, and the answer that they make."""

import json
from collections.abc import Iterator

import pytest

from evidencerails import Guard
from evidencerails.errors import InputError
from evidencerails.measures.consensus import MAX_CLAIMS


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    made = Guard({"checks": ["consistency"]})
    yield made
    made.close()


OPENED = "The bridge opened in 1932."
LONG = "It is 412 metres long."
PROSE = {
    "the odd one out": ([f"{OPENED} {LONG}", f"The bridge opened in 1875. {LONG}", OPENED], f"{OPENED} {LONG}"),
    "in other words": ([OPENED, "In 1932 the bridge was opened.", "The bridge opened in 1875."], OPENED),
    "a part of a sentence": ([f"The bridge opened in 1932 and it was designed by Anna Roy. {LONG}", OPENED,
     f"{OPENED} {LONG}"], f"{OPENED} {LONG}"),
    "what the richest answer lacks": ([f"{OPENED} {LONG} Trams cross it.", f"{OPENED} {LONG} Anna Roy designed it.",
     "Anna Roy designed it."], f"{OPENED} {LONG} Anna Roy designed it."),
    "repeated": ([f"{OPENED} {OPENED}", OPENED, f"{OPENED} {OPENED}"], OPENED),
    "a tie": ([OPENED, "The bridge opened in 1875."], None),
    "nothing in common": (["The tower is red.", "The pope lives in Rome.", "Cats are mammals."], None),
    "an answer without a claim is one of three": ([OPENED, "I do not know.", "Good question!"], None),
}  # fmt: skip


@pytest.mark.parametrize(("answers", "text"), PROSE.values(), ids=PROSE)
async def test_prose(guard: Guard, answers: list[str], text: str | None) -> None:
    found = await guard.consensus(answers)
    assert (found.text, found.reason, found.answers) == (text, "" if text else "no_majority", len(answers))


async def test_each_claim_has_its_share_and_its_verdict(guard: Guard) -> None:
    found = await guard.consensus([f"{OPENED} {LONG}", f"The bridge opened in 1875. {LONG}", OPENED])
    claims = {claim.text: (round(claim.share, 2), claim.verdict) for claim in found.claims}
    assert claims == {
        OPENED: (0.67, "consistent"),
        LONG: (0.67, "consistent"),
        "The bridge opened in 1875.": (0.33, "inconsistent"),
    }
    assert found.agreement == pytest.approx(5 / 9)


async def test_short_answers_are_compared_as_answers_to_their_question(guard: Guard) -> None:
    found = await guard.consensus(["Lyon.", "Paris", "It is in Lyon."], prompt="Which city has the old tower?")
    assert found.text == "It is in Lyon."
    assert (await guard.consensus(["Lyon.", "Paris", "lyon"], prompt="Which city has the old tower?")).text == "Lyon."


@pytest.mark.parametrize(
    ("answers", "text", "claims"),
    [
        (['{"year": 1932, "at": {"city": "Lyon"}}', '{"year": 1875, "at": {"city": "lyon"}}', '{"year": 1932.0}'],
         '{"year": 1932, "at": {"city": "Lyon"}}', [("year: 1932", 2 / 3, "consistent"), ('at.city: "Lyon"', 2 / 3,
         "consistent")]),
        (['{"a": 1, "b": [1, 2]}', '{"a": 2, "b": [1, 3]}', '{"a": 2, "b": [4, 2]}'], '{"a": 2, "b": [1, 2]}', [("a: 2",
         2 / 3, "consistent"), ("b[0]: 1", 2 / 3, "consistent"), ("b[1]: 2", 2 / 3, "consistent")]),
        (['{"a": 1}', '{"a": 1}', "I cannot say."], '{"a": 1}', [("a: 1", 2 / 3, "consistent")]),
        (['```json\n{"a": "x"}\n```', '{"a": "y"}', '{"a": "z"}'], '```json\n{"a": "x"}\n```', [('a: "x"', 1 / 3,
         "inconsistent")]),
    ],
    ids=["a value", "no answer has it whole", "one is no JSON", "no majority"],
)  # fmt: skip
async def test_json_by_field(guard: Guard, answers: list[str], text: str, claims: list[tuple[str, float, str]]) -> None:
    found = await guard.consensus(answers)
    assert found.text == text
    assert [(claim.text, pytest.approx(claim.share), claim.verdict) for claim in found.claims] == claims


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([], "no_claims"),
        (["Hello!", "Good question."], "no_claims"),
        (
            [" ".join(f"Item {n} costs {n} euros." for n in range(MAX_CLAIMS + 1))] * 2,
            f"too_long: {MAX_CLAIMS + 1} different claims",
        ),
        (["Der Turm wurde im Jahr 1889 gebaut und steht heute in Paris."] * 2, "language: de"),
    ],
)
async def test_without_a_consensus_there_is_a_reason(guard: Guard, answers: list[str], reason: str) -> None:
    found = await guard.consensus(answers)
    assert (found.text, found.agreement) == (None, None)
    assert found.reason.startswith(reason)


async def test_answers_must_be_texts(guard: Guard) -> None:
    with pytest.raises(InputError, match="must be a string, got int: 1"):
        await guard.consensus([1, 2])  # type: ignore[list-item]


async def test_the_consistency_check_reports_what_most_say_where_an_answer_drifts(guard: Guard) -> None:
    wrong = await guard.check("The bridge opened in 1875.", samples=[OPENED, OPENED])
    consensus = wrong.checks["consistency"].details["consensus"]
    assert (consensus["text"], consensus["answers"]) == (OPENED, 3)
    assert json.loads(json.dumps(consensus)) == consensus
    right = await guard.check(OPENED, samples=[OPENED, OPENED])
    assert "consensus" not in right.checks["consistency"].details
