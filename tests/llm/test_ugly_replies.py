"""Replies in every shape that models give them, to every prompt that asks for JSON: read alike, or refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from reply_parsers import PARSERS

from evidencerails.errors import LlmReplyError

Entry = dict[str, Any]
REPLIES: dict[str, tuple[str, Entry, str]] = {
    "classify_claims_batch": ("verdicts", {"claim": 1, "label": "absent", "quote": "", "error_types": []}, "label"),
    "classify_claim": ("verdicts", {"claim": 1, "label": "supported", "quote": "opened", "comparison": "agrees"},
     "label"),
    "extract_claims": ("claims", {"sentence": 1, "claim": "It opened in {1889}."}, "claim"),
    "judge_claims": ("verdicts", {"claim": 1, "quote": "opened", "reason": "the year agrees", "level": 4}, "level"),
    "qa_claims": ("answers", {"claim": 1, "answer": "yes"}, "answer"),
    "verification_questions": ("questions", {"claim": 1, "question": "When did it open?"}, "question"),
    "verification_answers": ("answers", {"question": 1, "answer": "In 1889.", "quote": "in 1889"}, "answer"),
    "grounded_generation": ("claims", {"statement": "It opened.", "claim_type": "factual", "source_refs": ["1"],
     "confidence": 0.9, "caveats": []}, "statement"),
    "rewrite_sentences": ("sentences", {"number": 1, "text": 'It "opened" in {1889}.'}, "text"),
    "audit_reasoning": ("steps", {"step": 2, "reason": "it follows", "valid": "yes"}, "valid"),
}  # fmt: skip
"""Key of the list, an entry of it, and the field without which that says nothing."""

Shape = Callable[[str, Entry, str], str]


def plain(key: str, entry: Entry, _: str = "") -> str:
    return json.dumps({key: [entry]})


READ: dict[str, Shape] = {
    "in a fence": lambda *reply: f"```json\n{plain(*reply)}\n```",
    "in a fence without its language": lambda *reply: f"```\n{plain(*reply)}\n```",
    "between courtesies": lambda *reply: f"Sure, [1] helps! {plain(*reply)} Let me know if {{that}} is enough.",
    "behind a thought that tries another": lambda key, entry, field: (
        f"<think>{json.dumps({key: [{**entry, field: None}]})}</think>{plain(key, entry)}"
    ),
    "behind a thought that only closes": lambda *reply: f"Let me see.</think>\n{plain(*reply)}",
    "in a last channel": lambda *reply: f"<|channel|>analysis<|message|>{{}}<|channel|>final<|message|>{plain(*reply)}",
    "with a token of its end": lambda *reply: f"{plain(*reply)}<|im_end|>",
    "said twice": lambda *reply: f"{plain(*reply)}\n\n{plain(*reply)}",
    "a bare list": lambda key, entry, _: json.dumps([entry]),
    "over many lines": lambda key, entry, _: json.dumps({key: [entry]}, indent=4).replace("\n", "\r\n"),
    "with a field of its own": lambda key, entry, _: json.dumps({key: [entry], "note": "done", "count": 1}),
}
REFUSED: dict[str, Shape] = {
    "empty": lambda *_: "",
    "blank": lambda *_: " \n\t",
    "prose": lambda *_: "I would rather not say, the text is unclear to me.",
    "an apology with brackets": lambda *_: "Sorry [1], I {cannot} do that.",
    "cut off": lambda *reply: plain(*reply)[:-6],
    "cut off in a fence": lambda *reply: f"```json\n{plain(*reply)[:-6]}",
    "a thought that never ends": lambda *reply: f"<think>{plain(*reply)}",
    "only in the thought": lambda *reply: f"<think>{plain(*reply)}</think>I am done.",
    "quotes of Python": lambda *reply: plain(*reply).replace('"', "'"),
    "a word for the list": lambda key, *_: json.dumps({key: "all fine"}),
    "nothing for the list": lambda key, *_: json.dumps({key: None}),
    "another key": lambda key, entry, _: json.dumps({"result": {"of": [entry]}}),
    "entries that are numbers": lambda key, *_: json.dumps({key: [1, 2]}),
    "its field is missing": lambda key, entry, field: json.dumps({key: [{name: value for name,
     value in entry.items() if name != field}]}),
    "its field is null": lambda key, entry, field: json.dumps({key: [{**entry, field: None}]}),
    "its field is a list": lambda key, entry, field: json.dumps({key: [{**entry, field: [["a", "b"]]}]}),
    "two that differ": lambda key, entry, field: (plain(key, entry) + json.dumps({key: [{**entry,
     field: 0 if field == "level" else "no"}]})),
    "one key with two values": lambda key, entry, field: plain(key, entry).replace(f'"{field}": ',
     f'"{field}": "else", "{field}": ', 1),
}  # fmt: skip


def test_every_prompt_for_json_is_here() -> None:
    assert REPLIES.keys() == PARSERS.keys() - {"self_check_hallucination"}  # one word; see test_parsing.py


@pytest.mark.parametrize("shape", READ)
@pytest.mark.parametrize("task", REPLIES)
def test_a_shape_changes_nothing_about_a_reply(task: str, shape: str) -> None:
    read, reply = PARSERS[task], REPLIES[task]
    assert read(READ[shape](*reply)) == read(plain(*reply))


@pytest.mark.parametrize("shape", REFUSED)
@pytest.mark.parametrize("task", REPLIES)
def test_what_says_nothing_clear_is_refused(task: str, shape: str) -> None:
    with pytest.raises(LlmReplyError):
        PARSERS[task](REFUSED[shape](*REPLIES[task]))


@pytest.mark.parametrize("texts", [("It opened.", "It shut."), ("", "It shut.")])
def test_a_sentence_with_two_corrections_has_none(texts: tuple[str, str]) -> None:
    both = {"sentences": [{"number": 1, "text": text} for text in texts]}
    with pytest.raises(LlmReplyError, match="at most once"):
        PARSERS["rewrite_sentences"](json.dumps(both))


@pytest.mark.parametrize("number", [0, -1, 21, True, "1", 1.5, None])
def test_a_correction_belongs_to_a_sentence_that_was_asked_about(number: Any) -> None:
    with pytest.raises(LlmReplyError):
        PARSERS["rewrite_sentences"](json.dumps({"sentences": [{"number": number, "text": "It opened."}]}))
