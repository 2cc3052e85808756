"""`check claims` with `classifier: auto`: unsure claims go to the app's own main model, in one call a turn."""

import json
from typing import Any

import pytest
from nemo_apps import CLEAN, EVIDENCE, WARNING, App, checked, user
from nemo_modes import MODES, Turn

from evidencerails.testing import ReplayRequest, ReplayServer

FLAG = {"evidence": EVIDENCE, "check_claims": True}
GREEN = "The Harbour Bridge of Porto Lindo was painted green by volunteers from Sweden."
RAILINGS = "Its railings were forged in a monastery near the coast."
REWORDED = "Rail vehicles can get across the Harbour Bridge."
"""Right, and local reading is not sure of it."""
JUDGES = "Take five steps"
SETTINGS = (
    "custom_data: {{evidencerails: {{llm: {{cache: {{backend: 'off'}}}}, scoring: {{cascade: {{high: 1.0}}}}, "
    "claims: {{{}}}}}}}\n"
)
"""Inventions are asked about, though the local reading is sure of them."""


def verdicts(label: str, quote: str, count: int = 1) -> str:
    one = {"facts": "", "quote": quote, "comparison": "", "label": label, "error_types": []}
    return json.dumps({"verdicts": [{"claim": number, **one} for number in range(1, count + 1)]})


async def turn(app: App, server: ReplayServer, answer: str, claims: str = "") -> tuple[str, dict[str, Any]]:
    """What the user sees, and the report."""
    server.default(answer)
    return await checked(app(SETTINGS.format(claims), flows="check claims"), FLAG)


def calls(server: ReplayServer) -> list[ReplayRequest]:
    return [request for request in server.requests if JUDGES in json.dumps(request.body["messages"])]


async def test_unsure_claims_go_in_one_call_and_sure_ones_are_not_asked_about(app: App, server: ReplayServer) -> None:
    server.reply(verdicts("absent", "", 2), when=JUDGES)
    text, report = await turn(app, server, f"{CLEAN} {GREEN} {RAILINGS}", "calls: per_claim")
    (call,) = calls(server)
    listed = call.body["messages"][-1]["content"].partition("<claims>")[2].partition("</claims>")[0]
    assert "painted green" in listed and "railings" in listed and "1962" not in listed
    assert [claim["method"].startswith("llm:") for claim in report["claims"]] == [False, True, True]
    assert (report["llm"]["calls"], WARNING in text) == (1, True)


async def test_a_proven_verdict_clears_a_claim_that_the_local_reading_misses(app: App, server: ReplayServer) -> None:
    server.reply(verdicts("contradicted", "carries two lanes of traffic and a tram line"), when=JUDGES)
    text, report = await turn(app, server, REWORDED)
    assert report["claims"][0]["label"] == "contradicted" and text != REWORDED
    server.reset()
    server.reply(verdicts("supported", "carries two lanes of traffic and a tram line"), when=JUDGES)
    for number in (1, 2):  # each turn has a call of its own
        assert (await turn(app, server, REWORDED))[0] == REWORDED
        assert len(calls(server)) == number


async def test_an_answer_that_the_local_reading_is_sure_of_costs_no_call(app: App, server: ReplayServer) -> None:
    text, report = await turn(app, server, CLEAN)
    assert (text, calls(server), report["llm"]["calls"]) == (CLEAN, [], 0)


async def test_every_claim_goes_to_the_model_where_the_settings_say_so(app: App, server: ReplayServer) -> None:
    server.reply(verdicts("contradicted", "was opened in 1962"), when=JUDGES)
    text, report = await turn(app, server, CLEAN, "classifier: llm")
    assert (report["claims"][0]["label"], report["llm"]["calls"], text == CLEAN) == ("contradicted", 1, False)


@pytest.mark.parametrize("claims", ["classifier: offline", "own_model_calls: 0"])
async def test_one_setting_turns_it_off(app: App, server: ReplayServer, claims: str) -> None:
    text, report = await turn(app, server, GREEN, claims)
    assert calls(server) == [] and WARNING in text
    assert report["checks"]["claims"]["reason"] == "1 absent"


UNUSABLE: dict[str, tuple[dict[str, Any], str]] = {
    "down": ({"status": 503, "message": "overloaded"}, "judge_failed"),
    "no JSON": ({"text": "I would rather not."}, "judge_failed"),
    "an invented quote": ({"text": verdicts("supported", "painted by the king")}, "invented_quote"),
}


@pytest.mark.parametrize(("reply", "code"), UNUSABLE.values(), ids=UNUSABLE.keys())
@pytest.mark.parametrize("answer", [REWORDED, GREEN])
async def test_where_the_model_gives_no_verdict_the_local_one_stands_and_the_report_says_so(
    app: App, server: ReplayServer, answer: str, reply: dict[str, Any], code: str
) -> None:
    offline_text, offline = await turn(app, server, answer, "classifier: offline")
    server.reset()
    server.reply(when=JUDGES, **reply)
    text, report = await turn(app, server, answer)
    assert len(calls(server)) == 1  # neither tried again nor asked to repair
    (claim,), (local,) = report["claims"], offline["claims"]
    assert text == offline_text
    assert all(report[key] == offline[key] for key in ("status", "hallucination_score"))
    assert (claim["label"], claim["score"]) == (local["label"], local["score"])
    assert f"not_judged: {code}" in claim["reason"]
    said = f"by the local reading alone, the app's model gave no verdict: {code}"
    assert said in report["checks"]["claims"]["reason"]


GERMAN = "Die Hafenbrücke von Porto Lindo wurde im Jahr 1962 von der Bürgermeisterin Ana Ruiz für den Verkehr eröffnet."
LENGTH = "Die Brücke ist insgesamt 480 Meter lang und hat zwei Fahrspuren für den Verkehr."


async def test_what_the_local_model_cannot_read_goes_to_the_model_in_the_same_call(
    app: App, server: ReplayServer
) -> None:
    proof = "opened in 1962 by mayor Ana Ruiz. It is 480 metres long and carries two lanes of traffic"
    server.reply(verdicts("supported", proof, 2), when=JUDGES)
    text, report = await turn(app, server, f"{GERMAN} {LENGTH}", "calls: per_claim")
    assert len(calls(server)) == 1 == report["llm"]["calls"]
    assert [claim["method"][:4] for claim in report["claims"]] == ["llm:", "llm:"]
    assert (text, report["status"]) == (f"{GERMAN} {LENGTH}", "grounded"), report["reason"]
    server.reset()
    server.reply(verdicts("contradicted", proof, 2), when=JUDGES)
    text, report = await turn(app, server, f"{GERMAN} {LENGTH}")
    assert report["status"] == "hallucinated" and text != f"{GERMAN} {LENGTH}"


async def test_an_unreadable_answer_stays_unverified_where_the_model_gives_no_verdict(
    app: App, server: ReplayServer
) -> None:
    _, offline = await turn(app, server, GERMAN, "classifier: offline")
    assert (offline["status"], calls(server)) == ("unverified", [])
    language = offline["checks"]["claims"]["reason"]
    server.reset()
    server.reply(when=JUDGES, status=503, message="overloaded")
    _, report = await turn(app, server, GERMAN)
    assert (report["status"], len(calls(server))) == ("unverified", 1)
    reason = report["checks"]["claims"]["reason"]
    assert reason.startswith(f"{language}; unevaluatable_claims: 1 of 1; the first: judge_failed")


async def test_all_chunks_of_a_stream_share_the_call_of_the_turn(app: App, server: ReplayServer) -> None:
    row = MODES["stream_async"]
    rails = app(row.yaml.format(flow="check claims", flag_flows="[]"))
    answer = " ".join([REWORDED, RAILINGS] * 20)
    server.reply(verdicts("supported", "carries two lanes of traffic"), when=JUDGES)
    server.default(answer)
    await row.ask(rails, Turn(answer, user()[0]["content"], dict(FLAG)))
    assert len(calls(server)) == 1


async def test_an_allowance_may_have_a_second_call(app: App, server: ReplayServer) -> None:
    server.reply("I would rather not.", when=JUDGES, times=1)
    server.reply(verdicts("supported", "carries two lanes of traffic and a tram line"), when=JUDGES)
    _, report = await turn(app, server, REWORDED, "own_model_calls: 2")
    assert (len(calls(server)), report["claims"][0]["method"][:4]) == (2, "llm:")
