"""Every packaged config, loaded by NeMo and asked over real HTTP, with a planted hallucination and a clean answer."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from nemoguardrails import LLMRails, RailsConfig

from evidencerails.adapters.nemo_plugin import plugin_of
from evidencerails.settings.paths import data_folder
from evidencerails.testing import ReplayServer

EVIDENCE = "The Halden bridge opened in 1932. It is 412 metres long."
QUESTION = "When did the Halden bridge open?"
CLEAN = "The Halden bridge opened in 1932."
WRONG = "The Halden bridge opened in 1875."
BEYOND = "The Halden bridge was painted green by volunteers from Sweden."
CITED = "The Halden bridge opened in 1932 [1]."
MADE_UP = "The Halden bridge opened in 1932 [7]."
TICKET = '{"subject": "Parcel is late", "priority": "high", "order": "ABC-1234", "due": "2026-12-01"}'
SUM = "Each box holds 7 cups, so 12 boxes hold 12 * 7 = {} cups."
REFUSED = "I don't know the answer to that."
PRONE = "prone to hallucination"
GROUNDING, CLAIMS, STRUCTURE = (f"{name}RailException" for name in ("Grounding", "Claims", "Structure"))

BY_EVIDENCE = {
    **{("grounded_rag", answer): seen for answer, seen in ((CLEAN, CLEAN), (WRONG, REFUSED), (BEYOND, PRONE))},
    **{("strict", answer): seen for answer, seen in ((CLEAN, CLEAN), (WRONG, GROUNDING), (BEYOND, GROUNDING))},
    **{("warn_only", answer): seen for answer, seen in ((CLEAN, CLEAN), (WRONG, PRONE), (BEYOND, PRONE))},
    **{("claims", answer): seen for answer, seen in ((CLEAN, CLEAN), (WRONG, CLAIMS), (BEYOND, PRONE))},
    **{("regulated", answer): seen for answer, seen in ((CITED, CITED), (MADE_UP, REFUSED), (CLEAN, REFUSED))},
    **{("citations", answer): seen for answer, seen in ((CITED, CITED), (MADE_UP, REFUSED), (CLEAN, PRONE))},
    **{("structured", f"{before}{TICKET}"): seen for before, seen in (("", TICKET), ("Here you are: ", STRUCTURE))},
    ("structured", TICKET.replace("high", "urgent")): STRUCTURE,
    ("structured", "I am sorry to hear that."): STRUCTURE,
    ("logic", SUM.format(84)): SUM.format(84),
    ("logic", SUM.format(85)): REFUSED,
    ("logic", "Good morning!"): "Good morning!",
    ("logic", "All birds can fly. Tweety is a bird. Therefore, Tweety cannot fly."): PRONE,
    ("shadow", WRONG): WRONG,
}


def app_of(name: str, server: ReplayServer) -> LLMRails:
    config = RailsConfig.from_path(str(data_folder("configs") / name))
    config.models[0].parameters = {"base_url": server.base_url, "api_key": "none"}
    return LLMRails(config)


async def turn(app: LLMRails, evidence: str | None = EVIDENCE) -> str:
    context = [{"role": "context", "content": {"relevant_chunks": evidence}}] if evidence else []
    message: dict[str, Any] = await app.generate_async(messages=[*context, {"role": "user", "content": QUESTION}])
    return json.dumps(message["content"]) if message["role"] == "exception" else message["content"]


PACKAGED = {folder.name for folder in Path(data_folder("configs")).iterdir() if folder.is_dir()}


@pytest.mark.parametrize("name", sorted(PACKAGED - {name for name, _ in BY_EVIDENCE} - {"self_consistency"}))
def test_every_other_packaged_config_starts(server: ReplayServer, name: str) -> None:
    assert plugin_of(app_of(name, server).runtime.llm_task_manager) is not None


@pytest.mark.parametrize(("name", "answer"), BY_EVIDENCE.keys())
async def test_answers_with_evidence(server: ReplayServer, name: str, answer: str) -> None:
    server.default(answer)
    seen = await turn(app_of(name, server))
    expected = BY_EVIDENCE[name, answer]
    if expected in (answer, REFUSED):
        assert seen == expected
    else:
        assert expected in seen
        if not expected.endswith("RailException"):  # those name the span
            assert seen.startswith(answer)


@pytest.mark.parametrize(("others", "expected"), [([CLEAN], CLEAN), ([WRONG, BEYOND, "In 1911."], REFUSED)])
async def test_self_consistency_blocks_what_the_model_does_not_repeat(
    server: ReplayServer, others: list[str], expected: str
) -> None:
    server.reply([CLEAN, *others], when=QUESTION)
    assert await turn(app_of("self_consistency", server), evidence=None) == expected
    assert [request.n for request in server.requests] == [1, 2]


@pytest.mark.parametrize("name", ["grounded_rag", "strict"])
async def test_without_evidence_nothing_passes_as_clean(server: ReplayServer, name: str) -> None:
    server.default(CLEAN)
    assert "could not be verified" in await turn(app_of(name, server), evidence=None)


async def test_the_schema_of_a_ticket_is_sent_to_the_model(server: ReplayServer) -> None:
    server.default(TICKET)
    await turn(app_of("structured", server))
    sent = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert sent["required"] == ["subject", "priority"]


async def test_shadow_records_what_it_does_not_change(server: ReplayServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "evidencerails"):
        server.default(WRONG)
        app = app_of("shadow", server)
        assert await turn(app) == WRONG
        plugin_of(app.runtime.llm_task_manager).wait_for_shadow(60)
    lines = [record.getMessage() for record in caplog.records if "shadow" in record.getMessage()]
    assert any("check grounding" in line and "hallucinated" in line for line in lines)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("evidencerails")]
    assert ours and not any("1875" in line for line in ours)
