"""The configs `structured` and `logic` as they are packaged, asked over real HTTP."""

import json
from typing import Any

import pytest
from nemoguardrails import LLMRails, RailsConfig

from evidencerails.settings.paths import data_folder
from evidencerails.testing import ReplayServer

TICKET = '{"subject": "Parcel is late", "priority": "high", "order": "ABC-1234", "due": "2026-12-01"}'
RIGHT = "Each box holds 7 cups, so 12 boxes hold 12 * 7 = 84 cups."
WRONG = "Each box holds 7 cups, so 12 boxes hold 12 * 7 = 85 cups."
REFUSED = "I don't know the answer to that."


async def asked(name: str, server: ReplayServer, answer: str) -> dict[str, Any]:
    server.default(answer)
    config = RailsConfig.from_path(str(data_folder("configs") / name))
    config.models[0].parameters = {"base_url": server.base_url, "api_key": "none"}
    message: dict[str, Any] = await LLMRails(config).generate_async(
        messages=[{"role": "user", "content": "Please help."}]
    )
    return message


async def test_a_ticket_passes_and_its_schema_was_sent() -> None:
    with ReplayServer() as server:
        assert (await asked("structured", server, TICKET))["content"] == TICKET
        assert server.requests[0].body["response_format"]["json_schema"]["schema"]["required"] == [
            "subject",
            "priority",
        ]


@pytest.mark.parametrize(
    "answer", [TICKET.replace("high", "urgent"), f"Here you are: {TICKET}", "I am sorry to hear that."]
)
async def test_anything_else_is_an_exception(answer: str) -> None:
    with ReplayServer() as server:
        message = await asked("structured", server, answer)
    assert message["role"] == "exception"
    assert message["content"]["type"] == "StructureRailException"
    assert json.dumps(message["content"]["kinds"]) == '["structure_violation"]'


@pytest.mark.parametrize(("answer", "seen"), [(RIGHT, RIGHT), (WRONG, REFUSED), ("Good morning!", "Good morning!")])
async def test_a_wrong_sum_is_blocked(answer: str, seen: str) -> None:
    with ReplayServer() as server:
        assert (await asked("logic", server, answer))["content"] == seen


async def test_a_conclusion_against_its_premises_is_warned_of() -> None:
    answer = "All birds can fly. Tweety is a bird. Therefore, Tweety cannot fly."
    with ReplayServer() as server:
        said = (await asked("logic", server, answer))["content"]
    assert said.startswith(answer) and "prone to hallucination" in said
