"""`evidencerails check --chat`: the last answer of a chat log against what the log itself gives as evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

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
        ([SYSTEM, ASKED, RIGHT], 0, "messages"),
        ([SYSTEM, ASKED, WRONG], 1, "messages"),
        ([ASKED, CALL, TOOL, WRONG], 1, "elements"),
        ({"model": "m", "messages": [{"role": "system", "content": PARTS}, ASKED, WRONG]}, 1, "messages"),
        ([SYSTEM, ASKED, WRONG, ASKED, RIGHT, ASKED, CALL], 0, "messages"),
        ([{"role": "system", "content": "You are a chemist."}, ASKED, WRONG], 3, None),
    ],
    ids=["right", "wrong", "tool", "object", "last answer", "no evidence"],
)
def test_the_last_answer_is_checked(
    evidencerails: Run, tmp_path: Path, log: Any, code: int, source: str | None
) -> None:
    (tmp_path / "log.json").write_text(json.dumps(log))
    done = evidencerails("check", "--chat", "log.json", "--check", "grounding", "--json", cwd=tmp_path)
    report = json.loads(done.out)
    assert done.code == code, report
    assert {quote["source"] for claim in report["claims"] for quote in claim["evidence"]} == ({source} - {None})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "has no assistant message with a text"),
        (json.dumps([SYSTEM, ASKED]), "has no assistant message with a text"),
        ("{}", "is no chat log; expected messages such as"),
        ('["Hello"]', "is no chat log; expected messages such as"),
        ("Hello", "cannot read"),
        ('"Hello"', "holds a str; expected messages"),
    ],
)
def test_what_is_no_chat_log_is_named(evidencerails: Run, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "log.json").write_text(text)
    done = evidencerails("check", "--chat", "log.json", cwd=tmp_path)
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1


def test_the_answer_is_given_once(evidencerails: Run, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps([ASKED, RIGHT]))
    done = evidencerails("check", "--chat", "log.json", "--response", "x", cwd=tmp_path)
    assert done.code == 2 and "give the answer once" in done.err
