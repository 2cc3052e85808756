"""`evidencerails check --chat` reads a response that an app without any rail gave with its log."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from commands import exit_code
from nemo_apps import CLEAN, EVIDENCE, MODEL, PLANTED, QUESTION, make_app, script

from evidencerails.adapters.nemo_log import logged_turn
from evidencerails.errors import InputError
from evidencerails.testing import ReplayServer

LOG = {"log": {"llm_calls": True, "internal_events": True}}
ASKED = {"role": "user", "content": QUESTION}
INSTRUCTIONS = f"instructions: [{{type: general, content: {json.dumps('You are a guide. Be brief. ' + EVIDENCE)}}}]\n"
RETRIEVED = (
    f"rails: {{{{input: {{{{flows: [retrieve]}}}}}}}}\n---\ndefine flow retrieve\n  ${{}} = {json.dumps(EVIDENCE)}\n"
)
"""The rail that retrieves, behind the settings that turn it on."""


async def saved(server: ReplayServer, answer: str, more: str, messages: list[Any]) -> dict[str, Any]:
    """The JSON of a response of an app without a rail."""
    yaml = MODEL.format(base_url=server.base_url, more_models="").partition("import_paths")[0]
    script(server, answer)
    settings, _, colang = more.partition("---\n")
    response = await make_app(yaml + settings, colang).generate_async(messages=messages, options=LOG)
    return json.loads(response.model_dump_json())  # type: ignore[no-any-return]


def checked(text: str) -> int:
    Path("turn.json").write_text(text)
    return exit_code("check", "--chat", "turn.json", "--check", "grounding", "--json")


@pytest.mark.parametrize(
    ("more", "messages", "source", "answer", "code"),
    [
        (INSTRUCTIONS, [ASKED], "system_context", PLANTED, 1),
        ("", [{"role": "system", "content": EVIDENCE}, ASKED], "system_context", PLANTED, 1),
        ("", [{"role": "context", "content": {"relevant_chunks": EVIDENCE}}, ASKED], "system_context", CLEAN, 0),
        (RETRIEVED.format("relevant_chunks"), [ASKED], "relevant_chunks", PLANTED, 1),
        (RETRIEVED.format("evidence"), [ASKED], "variable", CLEAN, 0),
        ("", [ASKED], None, PLANTED, 3),
    ],
    ids=["instructions", "system", "in the prompt", "chunks", "evidence", "none"],
)
async def test_the_answer_is_checked_against_the_evidence_of_its_turn(
    server: ReplayServer, capsys: pytest.CaptureFixture[str],
    more: str, messages: list[Any], source: str | None, answer: str, code: int,
) -> None:  # fmt: skip
    text = json.dumps(await saved(server, answer, more, messages))
    done = await asyncio.to_thread(checked, text)
    report = json.loads(capsys.readouterr().out)
    assert done == code, report
    assert {quote["source"] for claim in report["claims"] for quote in claim["evidence"]} == ({source} - {None})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"schema_version": "2.0", "trace_id": "1", "spans": []}, "a trace of NeMo's tracing holds no texts"),
        ({"response": [ASKED], "log": None}, "there is no log in this response"),
        ({"response": [], "log": {}}, "there is no answer in this response"),
    ],
)
def test_what_cannot_be_checked_is_named_with_what_to_save(value: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        logged_turn(value)
    assert "options={'log':" in str(caught.value)
