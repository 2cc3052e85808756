"""Ugly replies of judges: each is read as a clear answer or refused, never guessed."""

import contextlib
import time

import pytest

from evidencerails.errors import LlmReplyError
from evidencerails.exchange import Message
from evidencerails.llm.parsing import (
    AGREEMENT_REPAIR,
    ask,
    parse_agreement,
    parse_json,
    without_reasoning,
)
from evidencerails.llm.sampling import clean_sample
from evidencerails.llm.session import LlmSession, client_from_settings
from evidencerails.settings.llm import LlmSettings
from evidencerails.testing import ReplayServer

CLEAR = [
    ("yes", True), ("no", False), ("Yes.", True), ("NO!", False), ("  \n yes \n", True), ("**No**", False),
    ('"Yes"', True), ("`no`", False), ("- yes", True), ("Answer: yes", True), ("The answer is no.", False),
    ("Final verdict: **No**", False), ("Agreement: yes", True), ("Yes, nothing contradicts.", True),
    ("Yes, there is no contradiction.", True), ("Yes - the same facts in other words", True),
    ("Yes. The paragraph doesn't contradict the statement.", True), ("No, the year differs.", False),
    ("No. The paragraph contradicts the statement about 1889.", False),
    ("No: 300 m and 330 m are inconsistent", False), ("No, so the answer is no.", False),
    ("No, the two do not agree.", False), ("Yes, both are consistent.", True),
    ("The paragraph names another year than the statement.\n\nAnswer: no", False),
    ("Both say 1889. Nothing differs.\nYes", True), ("<think>Hm, no. Or yes? No idea.</think>\nYes", True),
    ("<thinking>it is no</thinking>no", False), ("I weigh yes and no.</think>No", False),
    ("<|channel|>analysis<|message|>maybe no<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>", True),
    ('{"verdict": "yes"}', True), ('```json\n{"verdict": "No"}\n```', False),
    ('Here is my verdict:\n{"verdict": "no"}\nI hope this helps.', False), ("```\nyes\n```", True),
]  # fmt: skip

UNCLEAR = [
    "", "   \n", "known", "notable", "yesterday", "Ja", "nein", "oui", "contradiction", "maybe",
    "I cannot determine this.", "Unsupported", "yes and no", "yes/no", "Yes. No.", "Yes\nNo",
    "no\n\nFinal answer: yes", "Answer: yes or no", "No contradiction found.",
    "No, nothing contradicts the statement.", "No, there is no conflict.",
    "Yes, the paragraph contradicts the statement.", "Yes, there is a contradiction.", "Yes, they do not agree.",
    "Yes, the texts aren't consistent.", "There is no doubt that the answer could be yes in some cases",
    "<think>yes, clearly", "<think>yes</think>", '{"verdict": "perhaps"}', '{"agrees": true}', '{"verdict": "yes"',
    '{"verdict": "yes"} or rather {"verdict": "no"}', "1", "否",
]  # fmt: skip


@pytest.mark.parametrize(("reply", "agrees"), CLEAR)
def test_a_clear_verdict_is_read(reply: str, agrees: bool) -> None:
    assert parse_agreement(reply) is agrees


@pytest.mark.parametrize("reply", UNCLEAR)
def test_what_is_no_clear_verdict_is_refused(reply: str) -> None:
    with pytest.raises(LlmReplyError):
        parse_agreement(reply)


def test_the_error_describes_the_reply_without_repeating_it() -> None:
    with pytest.raises(LlmReplyError, match="does not fit AgreementReply: verdict: Field required"):
        parse_agreement('{"agrees": "John Smith"}')
    with pytest.raises(LlmReplyError) as caught:
        parse_agreement("Perhaps the patient John Smith has it.")
    assert str(caught.value) == "expected yes or no, got 38 characters, beginning with 'Perhaps'"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("plain", "plain"),
        ("<think>a</think> b", "b"),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("a</think>b", "b"),
        ("b<think>a", "b"),
        ("[THINK]a[/THINK]b", "b"),
        ("<think>I write <think> again</think>b", "b"),
        ("<reasoning>\na\n</reasoning>\n\nb", "b"),
        ("5 < 6 and a thinking cap", "5 < 6 and a thinking cap"),
    ],
)
def test_reasoning_is_cut_out(text: str, rest: str) -> None:
    assert without_reasoning(text) == rest


@pytest.mark.parametrize(  # further shapes: test_ugly_replies.py
    ("reply", "value"),
    [
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ('```\n{"a": "```"}\n```', {"a": "```"}),
        ('As in [1] and {this}: {"a": {"b": [1, "he said \\"no\\""]}}', {"a": {"b": [1, 'he said "no"']}}),
    ],
)
def test_the_one_json_value_is_found(reply: str, value: object) -> None:
    assert parse_json(reply) == value


@pytest.mark.parametrize("reply", ["none", '{"a": 1} {"a": 2}', "[1] [2]", "[" * 20_000, '{"a": 1,}', "```json\n```"])
def test_no_or_several_json_values_are_refused(reply: str) -> None:
    with pytest.raises(LlmReplyError):
        parse_json(reply)


SLOW = ["<think>", "<think ", "[THINK]", "</think>", "\n", " \n", ".", "?! ", ", yes", "{", '{"a":', "[1,", "```", "- "]


@pytest.mark.parametrize("piece", SLOW)
def test_a_reply_made_to_be_slow_is_read_in_linear_time(piece: str) -> None:
    reply = "no" + piece * (50_000 // len(piece)) + "x"
    started = time.process_time()
    for read in (without_reasoning, parse_agreement, parse_json, clean_sample):
        with contextlib.suppress(LlmReplyError):
            read(reply)
    assert time.process_time() - started < 5.0


@pytest.mark.parametrize("first", ["It depends.", ""])
async def test_one_unreadable_reply_is_repaired(server: ReplayServer, first: str) -> None:
    server.say(first, "yes")
    assert await ask(_session(server), _QUESTION, parse_agreement, repair=AGREEMENT_REPAIR) is True
    assert [(message["role"], message["content"]) for message in server.requests[1].messages] == [
        ("user", "Does it agree?"),
        *([("assistant", first)] if first else []),
        ("user", "Answer again with one word and nothing else: yes or no."),
    ]


async def test_after_one_repair_it_is_an_error(server: ReplayServer) -> None:
    server.say("It depends.", "It still does.", "yes")
    with pytest.raises(LlmReplyError):
        await ask(_session(server), _QUESTION, parse_agreement, repair=AGREEMENT_REPAIR)
    assert len(server.requests) == 2


_QUESTION = (Message(role="user", content="Does it agree?"),)


def _session(server: ReplayServer) -> LlmSession:
    settings = LlmSettings(base_url=server.base_url, model="replay")
    return LlmSession.of(client_from_settings(settings), settings)
