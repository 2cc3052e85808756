"""Each measure by itself, with the embedded models, and all together by weights and by noisy-or."""

import json
import math
import re
from typing import Any

import pytest

from evidencerails import Guard
from evidencerails.evaluation.single import measure
from evidencerails.settings.scoring import MEASURES
from evidencerails.testing import ReplayRequest, ReplayServer

EVIDENCE = "The Halden bridge opened in 1932. It is 412 metres long."
RIGHT, WRONG = "The Halden bridge opened in 1932.", "The Halden bridge opened in 1911."
SAMPLES = ["The Halden bridge opened in 1932.", "The bridge at Halden was opened in 1932."]


def judged(request: ReplayRequest) -> str:
    """A judge that knows the year: it answers both prompts, with the quote that proves it."""
    lines = re.findall(r"^(\d+)\. (.*)$", request.last_user_text.split("<claims>")[1], re.MULTILINE)
    proof = {"reason": "r", "quote": "The Halden bridge opened in 1932"}
    verdicts = [{"claim": int(n), **proof, "level": 4 if "1932" in text else 0} for n, text in lines]
    answers = [{"claim": int(n), "answer": "yes" if "1932" in text else "no"} for n, text in lines]
    is_rubric = "level of support" in request.prompt_text
    return json.dumps({"verdicts": verdicts} if is_rubric else {"answers": answers})


def tokens(text: str, unsure: str) -> list[dict[str, Any]]:
    parts = re.findall(r"\s*\S+", text)
    return [{"token": part, "logprob": -3.0 if unsure in part else -0.01} for part in parts]


@pytest.fixture
def guard(server: ReplayServer) -> Guard:
    server.default(judged)
    return Guard({"llm": {"base_url": server.base_url, "model": "replay", "api_key": "none"}})


@pytest.mark.parametrize("name", MEASURES)
async def test_each_measure_alone_tells_a_wrong_answer_from_a_right_one(name: str, guard: Guard) -> None:
    scores = []
    for answer in (RIGHT, WRONG):
        logprobs = tokens(answer, "1911")
        result = await measure(name, answer, guard=guard, evidence=EVIDENCE, samples=SAMPLES, logprobs=logprobs)
        assert result.ran, result.reason
        assert result.name == name and result.version
        scores.append(result.score)
    assert scores[0] < scores[1], (name, scores)


async def test_what_a_measure_lacks_is_its_reason_and_no_score() -> None:
    reasons = {name: (await measure(name, RIGHT)).reason for name in MEASURES}
    assert reasons == {
        "nli": "no_evidence",
        "judge": "no_model",
        "qa": "no_model",
        **dict.fromkeys(("bertscore", "ngram", "embedding", "semantic_entropy", "self_consistency"), "no_model"),
        "logprobs": "no_logprobs",
    }


async def test_all_measures_together_by_the_weights_of_the_settings() -> None:
    answer = f"{RIGHT} {WRONG}"
    weights = {"nli": 1.0, "ngram": 0.5, "logprobs": 0.25}
    scoring = {"measures": list(weights), "weights": weights, "aggregation": "weighted"}
    guard = Guard({"checks": ["claims"], "scoring": scoring})
    report = await guard.check(answer, evidence=EVIDENCE, samples=SAMPLES, logprobs=tokens(answer, "1911"))
    listed = report.checks["claims"].details["measures"]["claims"]
    assert [answer[claim["start"] : claim["end"]] for claim in listed] == [RIGHT, WRONG]
    expected = []
    for claim in listed:  # worked out from the measures' own scores: a weighted mean for each claim
        total = math.fsum(weights[name] * score for name, score in claim["scores"].items())
        expected.append(total / sum(weights.values()))
        assert claim["score"] == pytest.approx(expected[-1])
    of_all = sum(expected) / 2
    assert report.metrics["measures_score"] == pytest.approx(of_all)
    risk = "low" if of_all < 0.3 else "high" if of_all >= 0.7 else "medium"
    assert report.checks["claims"].details["measures"]["risk_level"] == risk
