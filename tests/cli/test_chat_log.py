"""`evidencerails check --chat`: the last answer of a chat log against what the log itself gives as evidence."""

import json
from pathlib import Path
from typing import Any

import pytest
from commands import Run

FACT = "Rhenium melts at 3186 degrees Celsius. It was discovered in 1925."
ASKED = {"role": "user", "content": "When was rhenium discovered?"}
RIGHT = {"role": "assistant", "content": "Rhenium was discovered in 1925."}
WRONG = {"role": "assistant", "content": "Rhenium was discovered in 1875."}
PARTS = [{"type": "text", "text": FACT}]
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]}
TOOL = {"role": "tool", "tool_call_id": "1", "name": "elements", "content": FACT}
SYSTEM = {"role": "system", "content": f"You are a chemist. Be brief. {FACT}"}


@pytest.mark.parametrize(
    ("log", "code", "source"),
    [
        ([SYSTEM, ASKED, WRONG], 1, "messages"),
        ([ASKED, CALL, TOOL, WRONG], 1, "elements"),
        ({"model": "m", "messages": [{"role": "system", "content": PARTS}, ASKED, WRONG]}, 1, "messages"),
        ([SYSTEM, ASKED, WRONG, ASKED, RIGHT, ASKED], 0, "messages"),
        ([{"role": "system", "content": "You are a chemist."}, ASKED, WRONG], 3, None),
    ],
    ids=["wrong", "tool", "object", "last answer", "no evidence"],
)
def test_the_last_answer_is_checked(evidencerails: Run, log: Any, code: int, source: str | None) -> None:
    Path("log.json").write_text(json.dumps(log))
    done = evidencerails("check", "--chat", "log.json", "--check", "grounding", "--json")
    report = json.loads(done.out)
    assert done.code == code, report
    assert {quote["source"] for claim in report["claims"] for quote in claim["evidence"]} == ({source} - {None})


def note(year: int) -> dict[str, Any]:
    return {"function": {"name": "note", "arguments": json.dumps({"text": f"Rhenium was discovered in {year}."})}}


@pytest.mark.parametrize(
    ("last", "code"),
    [
        ({"content": None, "tool_calls": [note(1875)]}, 1),
        ({"content": RIGHT["content"], "tool_calls": [note(1875)]}, 1),
        ({"content": "", "tool_calls": [note(1925), note(1875)]}, 1),
        ({"content": None, "function_call": note(1875)["function"]}, 1),
        ({"content": RIGHT["content"], "tool_calls": [{"function": {"name": "delete"}}]}, 1),
        ({"content": None, "tool_calls": [note(1925)]}, 0),
    ],
)
def test_calls_of_the_last_message_are_checked(evidencerails: Run, last: Any, code: int) -> None:
    """An earlier answer, or the text beside the calls, was checked in their place."""
    log = {"messages": [SYSTEM, ASKED, RIGHT, ASKED, {"role": "assistant", **last}], "tools": [{"name": "note"}]}
    Path("log.json").write_text(json.dumps(log))
    done = evidencerails("check", "--chat", "log.json")
    assert done.code == code, done


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "has no assistant message with a text"),
        ("{}", "is no chat log; expected messages such as"),
        ("Hello", "cannot read"),
        ('"Hello"', "holds a str; expected messages"),
    ],
)
def test_what_is_no_chat_log_is_named(evidencerails: Run, text: str, message: str) -> None:
    Path("log.json").write_text(text)
    done = evidencerails("check", "--chat", "log.json")
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1
