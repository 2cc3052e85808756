"""Local first: who is asked about what, and what that saves."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from scoring_tools import MakeContext, Row, claims_of, exchange_of

from evidencerails.config import CascadeSettings
from evidencerails.exchange import Exchange
from evidencerails.measures.base import MeasureContext
from evidencerails.measures.cascade import Decided, is_unsure, run_cascade
from evidencerails.measures.registry import get_measure
from evidencerails.report import Label
from evidencerails.testing import ReplayServer
from evidencerails.testing.script import ReplayRequest

SURE, UNSURE, ABSENT, WRONG = "The sun is hot.", "The moon is cold.", "Mars has oceans.", "Ice is warm."
RESPONSE = " ".join((SURE, UNSURE, ABSENT, WRONG))
EVIDENCE = "The sun is hot and ice is cold."
ROWS: dict[tuple[str, str], Row] = {
    (EVIDENCE, SURE): (0.95, 0.04, 0.01),
    (EVIDENCE, UNSURE): (0.5, 0.4, 0.1),
    (EVIDENCE, ABSENT): (0.02, 0.96, 0.02),
    (EVIDENCE, WRONG): (0.02, 0.03, 0.95),
}
EXCHANGE = exchange_of(RESPONSE, evidence=EVIDENCE)
CLAIMS = claims_of(RESPONSE, SURE, UNSURE, ABSENT, WRONG)


async def cascade(exchange: Exchange, claims: Any, context: MeasureContext, judge: str = "judge") -> Decided:
    return await run_cascade(exchange, claims, context, local=[get_measure("nli")], judge=get_measure(judge))


def asked_about(server: ReplayServer) -> set[str]:
    return {text for request in server.requests for text in re.findall(r"^\d+\. (.*)$", request.last_user_text, re.M)}


def level(number: int) -> Any:
    def answer(request: ReplayRequest) -> str:
        count = len(re.findall(r"^\d+\. ", request.last_user_text, re.M))
        return json.dumps({"verdicts": [{"claim": n + 1, "level": number} for n in range(count)]})

    return answer


@pytest.mark.parametrize(
    ("score", "label", "expected"),
    [
        (0.1, "supported", False),
        (0.19, None, False),
        (0.2, None, True),
        (0.5, "supported", True),
        (0.8, "contradicted", True),
        (0.81, "contradicted", False),
        (0.98, "absent", True),  # ChainCheck never asked about these
        (0.0, "absent", True),
        (None, None, True),
        (None, "supported", True),
    ],
)
def test_who_is_unsure(score: float | None, label: Label | None, expected: bool) -> None:
    assert is_unsure(score, label, CascadeSettings()) is expected


def test_the_band_comes_from_the_settings() -> None:
    assert is_unsure(0.15, None, CascadeSettings(low=0.1, high=0.9))
    assert not is_unsure(0.5, None, CascadeSettings(low=0.6, high=0.9))


async def test_only_unsure_and_absent_claims_go_to_the_judge(make_context: MakeContext, server: ReplayServer) -> None:
    server.default(level(1))
    decided = await cascade(EXCHANGE, CLAIMS, make_context(ROWS, server))
    assert asked_about(server) == {UNSURE, ABSENT}
    assert decided.asked == (1, 2)
    assert [claim.score for claim in decided.claims] == [pytest.approx(0.05), 0.75, 0.75, pytest.approx(0.98)]
    assert [claim.label for claim in decided.claims] == ["supported", "absent", "absent", "contradicted"]
    local, judge = decided.results
    assert (local.name, judge.name) == ("nli", "judge")
    assert [claim.reason for claim in judge.claims if claim.score is None] == ["decided_locally"] * 2


async def test_a_call_that_was_not_needed_is_saved_and_reported(
    make_context: MakeContext, server: ReplayServer
) -> None:
    context = make_context(ROWS, server)
    decided = await cascade(EXCHANGE, claims_of(RESPONSE, SURE, WRONG), context)
    assert (decided.saved_calls, server.requests) == (1, [])
    assert context.llm is not None
    assert context.llm.usage().saved_calls == 1
    assert decided.results[1].reason == "decided_locally"


async def test_forty_claims_of_which_five_are_unsure_save_one_of_two_calls(
    make_context: MakeContext, server: ReplayServer
) -> None:
    texts = [f"Fact number {n} holds." for n in range(40)]
    response = " ".join(texts)
    rows = {(EVIDENCE, text): (0.5, 0.4, 0.1) if n < 5 else (0.95, 0.04, 0.01) for n, text in enumerate(texts)}
    server.default(level(1))
    context = make_context(rows, server)
    decided = await cascade(exchange_of(response, evidence=EVIDENCE), claims_of(response, *texts), context)
    assert (len(decided.asked), len(server.requests), decided.saved_calls) == (5, 1, 1)


async def test_an_invention_that_no_judge_can_look_at_stays_one(make_context: MakeContext) -> None:
    decided = await cascade(EXCHANGE, claims_of(RESPONSE, ABSENT), make_context(ROWS))
    assert decided.asked == (0,)
    assert decided.claims[0].score == pytest.approx(0.98)
    assert decided.claims[0].label == "absent"
    assert decided.claims[0].reason == "judge: no_model"
    assert decided.saved_calls == 0


async def test_a_failing_judge_leaves_the_local_verdict(make_context: MakeContext, server: ReplayServer) -> None:
    server.reply(status=401, when=lambda request: True)
    decided = await cascade(EXCHANGE, claims_of(RESPONSE, ABSENT), make_context(ROWS, server))
    assert decided.claims[0].score == pytest.approx(0.98)
    assert decided.claims[0].reason.startswith("judge: judge_failed: LlmError")


async def test_what_no_local_measure_could_score_goes_to_the_judge(
    make_context: MakeContext, server: ReplayServer
) -> None:
    response = "Der Turm wurde im Jahr 1889 in Paris gebaut und ist seitdem das Wahrzeichen der Stadt."
    exchange = exchange_of(response, evidence="La tour fut achevée en 1889.")
    server.default('{"verdicts": [{"claim": 1, "level": 1}]}')
    decided = await cascade(exchange, claims_of(response, response), make_context(None, server, nli_languages=("en",)))
    assert (decided.asked, decided.claims[0].score) == ((0,), 0.75)


async def test_nobody_at_all_is_no_score(make_context: MakeContext) -> None:
    decided = await cascade(exchange_of(RESPONSE), CLAIMS, make_context(ROWS))
    assert {claim.score for claim in decided.claims} == {None}
    assert decided.claims[0].reason == "nli: no_evidence; judge: no_model"


async def test_the_cheap_judge_may_be_set(make_context: MakeContext, server: ReplayServer) -> None:
    server.default('{"answers": [{"claim": 1, "answer": "no"}]}')
    decided = await cascade(EXCHANGE, claims_of(RESPONSE, UNSURE), make_context(ROWS, server), "qa")
    assert (decided.results[1].name, decided.claims[0].score) == ("qa", 1.0)


async def test_no_claims(make_context: MakeContext, server: ReplayServer) -> None:
    decided = await cascade(EXCHANGE, [], make_context(ROWS, server))
    assert (decided.claims, decided.asked, decided.saved_calls, server.requests) == ((), (), 0, [])
