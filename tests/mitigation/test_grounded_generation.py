"""Answers made of claims: ranked evidence, quarantine, a stricter second attempt; real HTTP and real NLI."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evidencerails import Guard
from evidencerails.errors import LlmReplyError, SettingsError
from evidencerails.testing import ReplayServer

BRIDGE = {"id": "bridge", "text": "The Halden bridge opened in 1932. It is 412 metres long."}
LIBRARY = {"id": "library", "text": "The library opens at 9 am on weekdays. A card costs 20 euros a year."}
QUESTION = "When did the Halden bridge open?"
Make = Callable[..., Guard]
OPENED = "The Halden bridge opened in 1932."


def claim(statement: str, *refs: str, **fields: Any) -> dict[str, Any]:
    given = {"claim_type": "factual", "confidence": 0.9, "caveats": []}
    return {"statement": statement, "source_refs": list(refs), **given, **fields}


def reply(*claims: dict[str, Any]) -> str:
    return json.dumps({"claims": claims})


@pytest.fixture
def make(server: ReplayServer) -> Make:
    def guard(**generation: Any) -> Guard:
        llm = {"model": "replay", "base_url": server.base_url, "api_key": "none", "max_retries": 0}
        return Guard({"llm": llm, "generation": generation})

    return guard


async def test_a_sourced_claim_becomes_a_sentence(server: ReplayServer, make: Make) -> None:
    server.say(reply(claim(OPENED, "bridge")))
    answer = await make().generate(QUESTION, evidence=[LIBRARY, BRIDGE])
    assert answer.text == "The Halden bridge opened in 1932 [bridge]."
    assert (answer.rounds, answer.ungrounded_share, answer.claims[0].standing) == (1, 0.0, "grounded")
    assert answer.passages == ("bridge", "library"), "the most relevant comes first"
    sent = server.requests[0].last_user_text
    assert sent.index("[bridge]") < sent.index("[library]") < sent.index(QUESTION)


async def test_the_token_budget_cuts_the_least_relevant(server: ReplayServer, make: Make) -> None:
    long = {"id": "long", "text": "The library has many rooms. " * 200}
    server.say(reply(claim(OPENED, "bridge")))
    answer = await make(max_evidence_tokens=64).generate(QUESTION, evidence=[long, BRIDGE])
    assert answer.passages[0] == "bridge"
    sent = server.requests[0].last_user_text
    assert BRIDGE["text"] in sent and sent.count("many rooms") < 20


@pytest.mark.parametrize(
    ("bad", "standing"),
    [
        (claim("The bridge was painted green."), "no_source"),
        (claim("The bridge was painted green.", "atlas"), "unknown_source"),
        (claim("The Halden bridge is 999 metres long.", "bridge"), "not_borne_out"),
        (claim("A card costs 20 euros a year.", "bridge"), "not_borne_out"),
        (claim("The bridge was painted green.", claim_type="courtesy"), "no_source"),
    ],
)
async def test_what_no_source_bears_out_is_quarantined(
    server: ReplayServer, make: Make, bad: dict[str, Any], standing: str
) -> None:
    server.default(reply(claim(OPENED, "bridge"), bad))
    answer = await make(max_ungrounded_share=0.5).generate(QUESTION, evidence=[BRIDGE, LIBRARY])
    assert answer.text == "The Halden bridge opened in 1932 [bridge]."
    assert answer.claims[1].standing == standing and answer.claims[1].is_quarantined
    assert answer.ungrounded_share == 0.5


async def test_above_the_share_it_is_generated_again_more_strictly(server: ReplayServer, make: Make) -> None:
    server.say(reply(claim("It was painted green in 1950.", "bridge")), reply(claim(OPENED, "bridge")))
    answer = await make().generate(QUESTION, evidence=[BRIDGE])
    assert (answer.rounds, answer.text) == (2, "The Halden bridge opened in 1932 [bridge].")
    assert "Your last answer was refused: 100% of its claims" in server.requests[1].last_user_text


async def test_nothing_left_is_an_abstention(server: ReplayServer, make: Make) -> None:
    server.default(reply(claim("It was painted green in 1950.")))
    answer = await make().generate(QUESTION, evidence=[BRIDGE])
    assert answer.is_abstention and "green" not in answer.text
    assert len(server.requests) == 2


async def test_without_evidence_no_model_is_asked(server: ReplayServer, make: Make) -> None:
    answer = await make().generate(QUESTION, evidence=[])
    assert answer.is_abstention and "There was no source to answer from." in answer.text
    assert server.requests == []


async def test_not_knowing_is_said_without_a_source(server: ReplayServer, make: Make) -> None:
    unknown = "The sources do not say when the bridge opened."
    server.say(reply(claim(unknown, claim_type="unknown")))
    assert (await make().generate(QUESTION, evidence=[LIBRARY])).text == unknown


async def test_a_caveat_goes_with_its_claim(server: ReplayServer, make: Make) -> None:
    server.say(reply(claim(OPENED, "[bridge]", caveats=["one source only"], confidence=0.4)))
    answer = await make().generate(QUESTION, evidence=[BRIDGE])
    assert answer.text == "The Halden bridge opened in 1932 [bridge] (uncertain: one source only)."


@pytest.mark.parametrize("bad", ["The bridge opened in 1999.", reply(claim("x", confidence=7))])
async def test_a_reply_that_cannot_be_read_is_no_answer(server: ReplayServer, make: Make, bad: str) -> None:
    server.default(bad)
    with pytest.raises(LlmReplyError):
        await make().generate(QUESTION, evidence=[BRIDGE])


async def test_without_a_model_the_error_says_what_to_set() -> None:
    with pytest.raises(SettingsError, match=r"set llm\.model and llm\.base_url"):
        await Guard().generate(QUESTION, evidence=[BRIDGE])
