"""Local first: who is asked about what, and what that saves."""

import json
import re
from typing import Any

import pytest
from scoring_tools import MakeContext, Row, claims_of

from evidencerails.exchange import Exchange
from evidencerails.measures.base import MeasureContext, MeasureResult
from evidencerails.measures.metrics import is_between, run_cascade
from evidencerails.measures.registry import get_measure
from evidencerails.settings.scoring import CascadeSettings
from evidencerails.testing import ReplayRequest, ReplayServer

SURE, UNSURE, ABSENT, WRONG = "The sun is hot.", "The moon is cold.", "Mars has oceans.", "Ice is warm."
RESPONSE = " ".join((SURE, UNSURE, ABSENT, WRONG))
EVIDENCE = "The sun is hot and ice is cold."
SUPPORTED, BETWEEN = (0.95, 0.04, 0.01), (0.5, 0.4, 0.1)
ROWS: dict[tuple[str, str], Row] = {
    (EVIDENCE, SURE): SUPPORTED,
    (EVIDENCE, UNSURE): BETWEEN,
    (EVIDENCE, ABSENT): (0.02, 0.96, 0.02),
    (EVIDENCE, WRONG): (0.02, 0.03, 0.95),
}
EXCHANGE = Exchange.of(RESPONSE, evidence=EVIDENCE)


async def cascade(context: MeasureContext, *texts: str, exchange: Exchange = EXCHANGE) -> tuple[MeasureResult, ...]:
    local, claims = [get_measure("nli")], claims_of(exchange.response, *texts)
    return await run_cascade(exchange, claims, context, local=local, judge=get_measure("judge"))


def nothing_said(request: ReplayRequest) -> str:
    """A judge that finds nothing in the evidence about any claim."""
    count = len(re.findall(r"^\d+\. ", request.last_user_text, re.M))
    return json.dumps({"verdicts": [{"claim": n + 1, "level": 1} for n in range(count)]})


@pytest.mark.parametrize(
    ("score", "settings", "expected"),
    [
        (0.14, {}, False),
        (0.15, {}, True),
        (0.9, {}, True),
        (0.91, {}, False),
        (None, {}, True),
        (0.5, {"low": 0.6, "high": 0.9}, False),
    ],
)
def test_who_is_unsure(score: float | None, settings: Any, expected: bool) -> None:
    assert is_between(score, CascadeSettings(**settings)) is expected


async def test_only_unsure_and_absent_claims_go_to_the_judge(make_context: MakeContext, server: ReplayServer) -> None:
    server.default(nothing_said)
    local, judge = await cascade(make_context(ROWS, server), SURE, UNSURE, ABSENT, WRONG)
    asked = re.findall(r"^\d+\. (.*)$", server.requests[0].last_user_text, re.M)
    assert (sorted(asked), len(server.requests)) == ([ABSENT, UNSURE], 1)  # ChainCheck never asks about absent ones
    assert (local.name, judge.name, judge.score) == ("nli", "judge", None)
    assert [(claim.score, claim.reason) for claim in judge.claims if claim.score is None] == [
        (None, "decided_locally")
    ] * 2
    assert [judge.claims[place].score for place in (1, 2)] == [0.75, 0.75]


async def test_forty_claims_of_which_five_are_unsure_save_one_of_two_calls(
    make_context: MakeContext, server: ReplayServer
) -> None:
    texts = [f"Fact number {n} holds." for n in range(40)]
    rows = {(EVIDENCE, text): BETWEEN if n < 5 else SUPPORTED for n, text in enumerate(texts)}
    server.default(nothing_said)
    exchange, context = Exchange.of(" ".join(texts), evidence=EVIDENCE), make_context(rows, server)
    _, judge = await cascade(context, *texts, exchange=exchange)
    assert context.llm is not None
    assert (len(server.requests), context.llm.usage().saved_calls) == (1, 1)
    assert judge.reason == "asked about 5 of 40 claims"


@pytest.mark.parametrize(("status", "reason"), [(None, "no_model"), (401, "judge_failed: LlmError")])
async def test_what_no_judge_can_look_at_keeps_its_local_score(
    make_context: MakeContext, server: ReplayServer, status: int | None, reason: str
) -> None:
    server.reply(status=status or 500, when=lambda request: True)
    local, judge = await cascade(make_context(ROWS, server if status else None), ABSENT)
    assert (local.claims[0].score, local.claims[0].label) == (pytest.approx(0.98), "absent")
    assert judge.claims[0].score is None and judge.claims[0].reason.startswith(reason)


async def test_what_no_local_measure_could_score_goes_to_the_judge(
    make_context: MakeContext, server: ReplayServer
) -> None:
    response = "Der Turm wurde im Jahr 1889 in Paris gebaut und ist seitdem das Wahrzeichen der Stadt."
    server.default(nothing_said)
    context = make_context(None, server, nli_languages=("en",))
    _, judge = await cascade(context, response, exchange=Exchange.of(response, evidence="La tour fut achevée en 1889."))
    assert judge.claims[0].score == 0.75


async def test_no_claims(make_context: MakeContext, server: ReplayServer) -> None:
    local, judge = await cascade(make_context(ROWS, server))
    assert (local.claims, judge.claims, server.requests) == ((), (), [])
