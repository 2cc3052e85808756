"""Chain of verification over real HTTP: two calls, none of which sees the answer, and lies get nowhere."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from made import Make
from mitigation_tools import EVIDENCE

from evidencerails import Guard, Report
from evidencerails.testing import ReplayServer

ASKS = "You write questions"
ANSWERS = "You answer questions"
WRONG = "The Halden bridge opened in 1911."
RESPONSE = f"{WRONG} The Halden bridge is 412 metres long."
REPAIRED = "The Halden bridge opened in 1932. The Halden bridge is 412 metres long."
OPENED = "The Halden bridge opened in 1932."
OPEN_QUESTION = "In which year did the Halden bridge open?"


def questions(*texts: str) -> str:
    return json.dumps({"questions": [{"claim": n, "question": text} for n, text in enumerate(texts, start=1)]})


def answers(*pairs: tuple[str, str]) -> str:
    rows = [{"question": n, "answer": text, "quote": quote} for n, (text, quote) in enumerate(pairs, start=1)]
    return json.dumps({"answers": rows})


def script(server: ReplayServer, asked: str, answered: str) -> None:
    server.reply(asked, when=ASKS)
    server.reply(answered, when=ANSWERS)


async def verify(
    guard: Make, response: str = RESPONSE, *, evidence: str | list[str] | None = EVIDENCE, **settings: Any
) -> Report:
    verification: Mapping[str, Any] = {"enabled": True, "min_severity": 0.4, **settings.pop("verification", {})}
    plan = guard(verification=verification, policies=[], **settings)
    return await plan.check(response, evidence=evidence)


async def test_two_calls_refute_a_claim_and_neither_sees_more_than_it_should(server: ReplayServer, guard: Make) -> None:
    script(server, questions(OPEN_QUESTION), answers((OPENED, OPENED)))
    report = await verify(guard)
    (verified,) = report.verification
    assert (verified.claim, verified.outcome, verified.question) == (WRONG, "refuted", OPEN_QUESTION)
    assert EVIDENCE[verified.evidence[0].span.start : verified.evidence[0].span.end] + "." == OPENED
    assert [finding.verification for finding in report.findings] == ["refuted"]
    assert (report.decision, len(report.findings), report.llm.calls) == ("block", 1, 2)
    asking, answering = (request.prompt_text for request in server.requests)
    assert f"1. {WRONG}" in asking and EVIDENCE not in asking
    assert EVIDENCE in answering and OPEN_QUESTION in answering
    assert "1911" not in answering, "the draft must not be seen by who answers"
    assert "answer" not in report.plain(expose_evidence=False)["verification"][0]
    assert OPENED not in json.dumps(report.plain(redaction="drop"))


DESIGNED = "The designer of the bridge was Ove Lund."


@pytest.mark.parametrize(
    ("answer", "outcome", "decision"), [(DESIGNED, "upheld", "warn"), ("Nobody knows him.", "unanswered", "block")]
)
async def test_a_quarantined_claim_is_let_through_only_if_upheld(
    server: ReplayServer, guard: Make, monkeypatch: pytest.MonkeyPatch, answer: str, outcome: str, decision: str
) -> None:
    """A threshold so low that only copies pass flags the claim, and it is severe enough for the quarantine."""
    monkeypatch.setattr("evidencerails.mitigation.severity.LEVELS", (("critical", 0.8), ("high", 0.2), ("medium", 0.1)))
    script(server, questions("Who designed the bridge?"), answers((answer, "It was designed by Ove Lund")))
    from_evidence, from_a_copy = await scores_of(DESIGNED, [EVIDENCE, f"Who designed the bridge? {DESIGNED}"])
    severity = {"protocol": {}, "stakes": "high"}
    grounding = {"max_unsupported_score": (from_evidence + from_a_copy) / 2}
    report = await verify(guard, DESIGNED, severity=severity, grounding=grounding, verification={"min_severity": 0.0})
    assert [one.outcome for one in report.verification] == [outcome]
    assert [(f.severity, f.verification) for f in report.findings] == [("high", outcome)]
    assert report.decision == decision


async def scores_of(claim: str, evidence: list[str]) -> list[float]:
    """The claim's score by each text alone, as the shipped weights read it."""
    reports = [await Guard({"checks": ["grounding"]}).check(claim, evidence=text) for text in evidence]
    return [score for report in reports for score in [report.claims[0].score] if score is not None]


@pytest.mark.parametrize("evidence", [[WRONG, EVIDENCE], [EVIDENCE, "Tolls are paid in Oslo.", WRONG]])
async def test_no_claim_is_upheld_that_one_of_the_passages_contradicts(
    server: ReplayServer, guard: Make, evidence: list[str]
) -> None:
    """The passages disagree; the answer rests on the one that the claim agrees with."""
    script(server, questions(OPEN_QUESTION), answers((WRONG, "The Halden bridge opened in 1911")))
    report = await verify(guard, WRONG, evidence=evidence, verification={"min_severity": 0.0})
    (verified,) = report.verification
    assert (verified.outcome, verified.reason.split(":")[0]) == ("unanswered", "contradicted")


async def test_a_contradiction_of_the_same_evidence_is_never_upheld(server: ReplayServer, guard: Make) -> None:
    """A judge reads a contradiction; the verifier's quote says the claim word by word."""
    quote = "The Halden bridge opened in 1911"
    script(server, questions(OPEN_QUESTION), answers((WRONG, quote)))
    steps = {"facts": "a fact", "quote": quote, "comparison": "differs", "error_types": ["temporal"]}
    server.default(json.dumps({"verdicts": [{"claim": 1, **steps, "label": "contradicted"}]}))
    settings = {"checks": ["claims"], "claims": {"classifier": "llm"}, "verification": {"min_severity": 0.0}}
    report = await verify(guard, WRONG, evidence=WRONG, **settings)
    assert [claim.label for claim in report.claims] == ["contradicted"]
    assert [one.outcome for one in report.verification] == ["unanswered"]
    assert report.decision == "block"


@pytest.mark.parametrize(
    ("claim", "question", "answer", "quote", "outcome"),
    [
        ("Tolls were introduced in 1974.", "When were tolls introduced?", "1974", "Tolls were abolished in 1974",
         "unanswered"),
        ("Ben sold the bridge to Anna.", "Who sold the bridge to Anna?", "Ben", "Anna sold the bridge to Ben",
         "unanswered"),
        ("Traffic fell to 400 cars.", "How many cars did traffic fall to?", "400", "Traffic rose to 400 cars",
         "unanswered"),
        ("Tolls were abolished in 1974.", "When were tolls abolished?", "1974", "Tolls were abolished in 1974",
         "upheld"),
    ],
)  # fmt: skip
async def test_no_claim_is_upheld_that_the_quote_contradicts(
    server: ReplayServer, guard: Make, claim: str, question: str, answer: str, quote: str, outcome: str
) -> None:
    """The question took the wrong word from the claim, and the quote fits question and answer together."""
    script(server, questions(question), answers((answer, quote)))
    report = await verify(guard, claim, evidence=f"{EVIDENCE} {quote}.", verification={"min_severity": 0.0})
    assert [one.outcome for one in report.verification] == [outcome]


async def test_a_refuted_claim_that_no_check_flagged_becomes_a_finding(server: ReplayServer, guard: Make) -> None:
    """All claims are asked about; the independent answer contradicts one that the local check lets pass."""
    evidence = f"{EVIDENCE} Correction of the editor: the Halden bridge is 421 metres long, not 412."
    said = "The Halden bridge is 421 metres long."
    script(server, questions("How long is the Halden bridge?"), answers((said, "the Halden bridge is 421 metres long")))
    claim = "The Halden bridge is 412 metres long."
    settings = {"verification": {"min_severity": 0.0}, "severity": {"stakes": "high"}}
    report = await verify(guard, claim, evidence=evidence, **settings)
    assert [one.outcome for one in report.verification] == ["refuted"]
    assert report.status == "hallucinated"
    assert any(finding.verification == "refuted" for finding in report.findings)


OPEN = questions(OPEN_QUESTION)


@pytest.mark.parametrize(
    ("asked", "answered", "reason"),
    [
        (questions("Did it open in 1911?"), "{}", "no_question"),  # yes or no
        (questions("Which bridge opened in 1911?"), "{}", "no_question"),  # gives the answer away
        ("No questions today.", "{}", "LlmReplyError"),
        (OPEN, "Sorry.", "LlmReplyError"),
        (OPEN, answers(("", "")), "no_answer"),
        (OPEN, answers(("It opened in 1911.", "it opened in 1911")), "no_quote"),  # made up
        (OPEN, answers((WRONG, "The Halden bridge opened in 1932")), "quote_does_not_say_so"),
        (OPEN, answers(("1911", "opened in 1932")), "quote_does_not_say_so"),
        (OPEN, answers((WRONG, "The Halden bridge is 412 metres long")), "no_quote"),  # words of the answer
        (OPEN, answers((WRONG, "It is 412 metres long")), "quote_does_not_say_so"),  # about something else
        (questions(OPEN_QUESTION, "x"), answers((OPENED, OPENED)), "LlmReplyError"),  # more questions than claims
        ('{"questions": [{"claim": true, "question": "x"}]}', "{}", "LlmReplyError"),
    ],
)
async def test_what_cannot_be_trusted_changes_nothing(
    server: ReplayServer, guard: Make, asked: str, answered: str, reason: str
) -> None:
    script(server, asked, answered)
    report = await verify(guard)
    (verified,) = report.verification
    assert verified.outcome == "unanswered"
    assert verified.reason.startswith(reason)
    assert report.decision == "block", "an unanswered question upholds nothing"


async def test_only_claims_above_the_severity_are_asked_about(server: ReplayServer, guard: Make) -> None:
    report = await verify(guard, REPAIRED)
    assert (report.verification, server.requests) == ((), [])
    report = await verify(guard, verification={"min_severity": 1.0})
    assert (report.verification, server.requests) == ((), [])


async def test_the_most_severe_come_first(server: ReplayServer, guard: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.mitigation.chain_of_verification.MAX_CLAIMS", 1)
    script(server, questions(OPEN_QUESTION), answers((OPENED, OPENED)))
    report = await verify(guard, verification={"min_severity": 0.0})
    assert [one.claim for one in report.verification] == [WRONG]


async def test_without_a_model_or_evidence_nothing_is_upheld(guard: Make) -> None:
    report = await verify(guard, model=False)
    assert [one.reason for one in report.verification] == ["no_model"]
    assert report.decision == "block"


async def test_a_broken_provider_is_an_unanswered_question(server: ReplayServer, guard: Make) -> None:
    server.reply(status=500, message="boom", when=ASKS)
    report = await verify(guard)
    assert report.verification[0].outcome == "unanswered"
    assert report.verification[0].reason.startswith("LlmError")
