"""The consistency check: samples given or drawn over HTTP, three kinds of agreement, early stop, faults."""

import re
from typing import Any

import pytest
from made import Make

from evidencerails import Guard, Report
from evidencerails.checks.agreement import Vote
from evidencerails.checks.consistency import is_settled
from evidencerails.testing import ReplayServer

PROMPT = "Tell me about the old tower."
SAME = "The old tower was built in 1889."
OTHER = "The old tower was built in 1920."
UNRELATED = "Wonderful gardens surround several castles nearby."


def settings_for(server: ReplayServer, **consistency: Any) -> dict[str, Any]:
    llm = {"base_url": server.base_url, "model": "replay", "api_key": "x", "max_retries": 0}
    return {"checks": ["consistency"], "llm": llm, "consistency": consistency}


async def given(guard: Make, response: str, samples: list[str], **consistency: Any) -> Report:
    settings = {"checks": ["consistency"], "consistency": consistency}
    return await guard(settings).check(response, samples=samples, prompt=PROMPT)


@pytest.mark.parametrize(
    "samples, status",
    [
        ([SAME, SAME], "grounded"),
        ([OTHER, OTHER], "hallucinated"),
        ([SAME, OTHER], "hallucinated"),  # half of what the model says is something else
        ([SAME, SAME, SAME, SAME, OTHER], "grounded"),  # one dissenter is a pointer, not a verdict
        ([SAME, SAME, OTHER, OTHER, OTHER], "hallucinated"),
        ([OTHER], "hallucinated"),
        ([SAME], "grounded"),
    ],
)
async def test_agreement_by_nli(guard: Make, samples: list[str], status: str) -> None:
    report = await given(guard, SAME, samples)
    assert report.status == status
    assert report.decision == ("block" if status == "hallucinated" else "allow")
    assert 0.0 <= report.metrics["pairwise_contradiction_rate"] <= 1.0


async def test_a_sample_in_the_same_words_agrees_however_the_model_reads_them(guard: Make) -> None:
    answer = "The Eiffel Tower opened in 1889."  # earlier weights read its own copy as a contradiction
    report = await Guard({"checks": ["consistency"]}).check(answer, samples=[answer, f"Sure! {answer} It is tall."])
    assert report.status == "grounded" and report.metrics["sample_disagreement"] < 0.5


async def test_a_finding_names_the_sentence_that_drifts_and_quotes_the_samples(guard: Make) -> None:
    response = f"It stands near the river. {SAME}"
    sample = f"It stands near the river. {OTHER}"
    report = await given(guard, response, [sample, sample])
    (finding,) = report.findings
    assert (finding.kind, finding.category) == ("inconsistent_samples", "confabulatory")
    assert finding.span is not None and finding.span.text == SAME
    assert [quote.passage_id for quote in finding.evidence] == ["sample-1", "sample-2"]
    assert all(sample[q.span.start : q.span.end] == q.span.text == OTHER for q in finding.evidence)


async def test_pairwise_rate_counts_pairs_of_samples_too(guard: Make) -> None:
    report = await given(guard, SAME, [SAME, OTHER, OTHER])
    assert report.metrics["pairwise_contradiction_rate"] == pytest.approx(4 / 6)


@pytest.mark.parametrize("agreement", ["ngram", "bertscore"])
@pytest.mark.parametrize(("samples", "status"), [([SAME, SAME], "grounded"), ([UNRELATED, UNRELATED], "hallucinated")])
async def test_agreement_by_words(guard: Make, samples: list[str], status: str, agreement: str) -> None:
    report = await given(guard, SAME, samples, agreement=agreement)
    assert report.status == status
    assert report.checks["consistency"].details["agreement"] == agreement
    assert agreement in (report.checks["consistency"].version or "")


async def test_ngram_and_judge_need_no_language(guard: Make) -> None:
    text = "La tour Eiffel a été achevée en 1889 et se trouve à Paris, en France."
    assert (await given(guard, text, [text, text])).status == "unverified"
    assert (await given(guard, text, [text, text], agreement="ngram")).status == "grounded"


@pytest.mark.parametrize(
    "reply, status",
    [("Yes", "grounded"), ("No, the year differs.", "hallucinated"), ("Perhaps", "unverified"), ("", "unverified")],
)
async def test_agreement_by_judge(guard: Make, server: ReplayServer, reply: str, status: str) -> None:
    server.default(reply)
    settings = settings_for(server, agreement="judge")
    report = await guard(settings).check(SAME, samples=[OTHER, OTHER], prompt=PROMPT)
    assert report.status == status
    assert all(SAME in request.prompt_text for request in server.requests)


async def test_judge_names_the_sentence(guard: Make, server: ReplayServer) -> None:
    server.reply("Yes", when=lambda request: "river" in request.prompt_text and SAME not in request.prompt_text)
    server.default("No")
    response = f"It stands near the river. {SAME}"
    report = await guard(settings_for(server, agreement="judge")).check(response, samples=[OTHER], prompt=PROMPT)
    assert [f.span.text for f in report.findings if f.span] == [SAME]


async def test_samples_are_drawn_in_one_request(guard: Make, server: ReplayServer) -> None:
    server.say([OTHER, OTHER])
    report = await guard(settings_for(server)).check(SAME, prompt=PROMPT)
    assert report.status == "hallucinated"
    assert len(server.requests) == 1 and server.requests[0].n == 2
    assert (report.llm.calls, report.llm.round_trips) == (1, 1)


def logprobs_of(text: str, logprob: float) -> list[dict[str, Any]]:
    return [{"token": token, "logprob": logprob} for token in re.findall(r"\s*\S+", text)]


@pytest.mark.parametrize(
    "evidence, logprob, signals, count",
    [
        (None, None, set(), 3),
        ([SAME], None, {"nli"}, 1),
        (["The old tower was finished in 1876."], None, {"nli"}, 5),
        ([UNRELATED], None, {"nli"}, 5),
        (None, -0.05, {"logprobs"}, 1),
        (None, -0.6, {"logprobs"}, 3),
        (None, -2.0, {"logprobs"}, 5),
        ([SAME], -2.0, {"nli", "logprobs"}, 5),
        ([SAME], -0.05, {"nli", "logprobs"}, 1),
    ],
)
async def test_number_of_samples_by_what_is_known_before_any_is_drawn(
    guard: Make, server: ReplayServer, evidence: Any, logprob: float | None, signals: set[str], count: int
) -> None:
    # It was 1, 3 or 5 by how many sentences state a name, number or date, whatever spoke for or against them.
    server.default(SAME)
    logprobs = None if logprob is None else logprobs_of(SAME, logprob)
    make = guard(settings_for(server, samples="by_risk"))
    report = await make.check(SAME, prompt=PROMPT, evidence=evidence, logprobs=logprobs)
    details = report.checks["consistency"].details
    assert (details["samples_wanted"], set(details["risk_signals"])) == (count, signals)
    assert [request.n for request in server.requests] == [count]


async def test_measures_use_the_samples_of_the_check(guard: Make, server: ReplayServer) -> None:
    server.default(SAME)  # a measure asked for three where the check had found one to be enough
    settings = {**settings_for(server, samples="by_risk"), "scoring": {"measures": ["embedding"]}}
    report = await guard(settings).check(SAME, prompt=PROMPT, evidence=[SAME])
    assert report.metrics["measure_embedding"] < 0.1
    assert [request.n for request in server.requests] == [1]


@pytest.mark.parametrize(
    "early_stop, text, requests", [(True, SAME, 3), (True, OTHER, 3), (True, UNRELATED, 5), (False, SAME, 5)]
)
async def test_early_stop_once_the_verdict_cannot_change(
    guard: Make, server: ReplayServer, early_stop: bool, text: str, requests: int
) -> None:
    server.default(text)
    settings = settings_for(server, samples=5, sampling="parallel", early_stop=early_stop)
    await guard(settings).check(SAME, prompt=PROMPT)
    assert len(server.requests) == requests


@pytest.mark.parametrize(
    "drifts, wanted, settled",
    [
        ([1, 1, 1], 5, True),
        ([0, 0, 0], 5, True),
        ([1, 0, 0], 5, False),
        ([0.4, 0.4], 2, True),
        ([1], 2, True),
        ([0], 2, False),
    ],
)
def test_is_settled(drifts: list[float], wanted: int, settled: bool) -> None:
    assert is_settled([[Vote(drift, 0.0) for drift in drifts]], wanted) is settled


async def test_without_claims_no_sample_is_drawn(guard: Make, server: ReplayServer) -> None:
    report = await guard(settings_for(server)).check("I'm sorry, I don't know.", prompt=PROMPT)
    assert (report.status, report.reason, server.requests) == ("grounded", "no_claims", [])


@pytest.mark.parametrize(
    ("settings", "prompt", "samples", "reason"),
    [
        ({}, PROMPT, None, "no_model"),
        ({}, PROMPT, [], "no_model"),
        ({}, PROMPT, ["", " "], "no_samples"),
        ({"consistency": {"agreement": "judge"}}, PROMPT, [OTHER], "no_model"),
        ({"llm": {"base_url": "http://127.0.0.1:9/v1", "model": "m", "api_key": "x"}}, "", None, "no_prompt"),
    ],
)
async def test_without_model_or_prompt_it_is_unverified(
    guard: Make, settings: dict[str, Any], prompt: str, samples: list[str] | None, reason: str
) -> None:
    report = await guard({"checks": ["consistency"], **settings}).check(SAME, prompt=prompt, samples=samples)
    assert (report.status, report.hallucination_score) == ("unverified", None) and reason in report.reason


@pytest.mark.parametrize(
    "fault",
    [{"status": 500}, {"delay_s": 1.0}, {"text": None}, {"text": "   "}, {"text": "<think>hm</think>"}],
    ids=str,
)
async def test_a_failing_model_is_unverified_with_its_error(
    guard: Make, server: ReplayServer, fault: dict[str, Any]
) -> None:
    server.reply(**{"text": SAME, **fault}, when=lambda _: True)
    settings = settings_for(server)
    settings["llm"]["timeout_s"] = 0.5
    report = await guard(settings).check(SAME, prompt=PROMPT)
    assert (report.status, report.decision) == ("unverified", "warn")
    assert "no_samples" in report.reason and ("Error" in report.reason or "text" in fault)


async def test_fewer_samples_than_asked_go_on_with_a_note(guard: Make, server: ReplayServer) -> None:
    server.reply(SAME, times=2)
    server.reply("", status=500)
    settings = settings_for(server, samples=3, sampling="parallel", early_stop=False)
    report = await guard(settings).check(SAME, prompt=PROMPT)
    details = report.checks["consistency"].details
    assert report.status == "grounded" and details["samples"] == 2 and details["samples_wanted"] == 3


@pytest.mark.parametrize("agreement", ["nli", "ngram"])
@pytest.mark.parametrize(
    "samples", [["I don't know.", "I'm sorry, I can't help with that."], ["Which bridge?", "\x00"]]
)
async def test_samples_that_say_nothing_confirm_nothing(guard: Make, samples: list[str], agreement: str) -> None:
    settings = {"checks": ["consistency"], "consistency": {"agreement": agreement}}
    report = await guard(settings).check("The bridge of Porto Lindo was opened in 1999.", samples=samples)
    assert (report.status, report.decision) == ("unverified", "warn")
    assert report.reason == "no_samples: none of 2 can be compared with the answer (2 no_claims)"


async def test_a_sample_in_another_language_has_no_vote(guard: Make) -> None:
    french = "Le pont du port de la ville a été inauguré en 1962 par le maire, Ana Ruiz."
    check = guard({"checks": ["consistency"]}).check
    answer = "The bridge of Porto Lindo was opened in 1999."
    report = await check(answer, samples=[french])
    assert report.status == "unverified" and "(1 language: fr)" in report.reason
    other = "The bridge of Porto Lindo was opened in 1962."
    report = await check(answer, samples=[french, other, "I don't know."])
    assert report.status == "hallucinated"
    assert report.checks["consistency"].details["samples_unread"] == 2
    assert report.checks["consistency"].details["samples"] == 1


@pytest.mark.parametrize(
    ("answer", "samples", "status"),
    [
        ("Lyon.", ["Paris", "Nice."], "hallucinated"),
        ("Lyon.", ["Lyon", "It is in Lyon, of course."], "grounded"),
        ("Yes.", ["No.", "No."], "hallucinated"),
        ("No", ["Yes, it is."], "hallucinated"),
        ("No, it is not.", ["Yes", "Yes."], "hallucinated"),
        ("Yes.", ["Yes, of course.", "Yeah"], "grounded"),
        ("No.", ["No, it is closed.", "Nope."], "grounded"),
    ],
)
async def test_short_answers(guard: Make, answer: str, samples: list[str], status: str) -> None:
    prompt = "Which city has the old tower?" if answer == "Lyon." else "Is the bridge open?"
    report = await guard({"checks": ["consistency"]}).check(answer, samples=samples, prompt=prompt)
    assert report.status == status, report.checks["consistency"].details
