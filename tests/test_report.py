"""Reports: JSON round trip, verbatim spans, `plain()` bounded and redacted."""

import json
import re

import made
import pytest
from pydantic import ValidationError

from evidencerails import Report
from evidencerails.exchange import Span
from evidencerails.report import DECISIONS, MAX_PLAIN_BYTES, CheckResult, Claim, Finding, NliScores, Quote, text_hash
from evidencerails.report_page import words_of

RESPONSE = "The tower stands in Berlin."
SECRET = "The tower stands in Paris, says the secret memo."


def quote() -> Quote:
    return Quote(passage_id="p1", source="memo.txt", span=Span.of(SECRET, 0, len(SECRET)), score=0.9)


def claim(label: str = "contradicted", text: str = RESPONSE) -> Claim:
    nli = NliScores(entailment=0.05, neutral=0.05, contradiction=0.9)
    own = {"text": text, "span": Span.of(text, 0, len(text)), "label": label, "evidence": (quote(),)}
    return made.CLAIM.model_copy(update={**own, "nli": nli, "parts": {"entailment": 2.0}})


def finding(text: str = RESPONSE) -> Finding:
    own = {"span": Span.of(text, 0, len(text)), "reason": f"{text} is wrong", "evidence": (quote(),)}
    return made.FINDING.model_copy(update=own)


def report(claims: tuple[Claim, ...] = (), findings: tuple[Finding, ...] = ()) -> Report:
    found = {"status": "hallucinated", "claims": claims, "findings": findings}
    check = CheckResult(name="grounding", details={"n": 3, "text": RESPONSE}, **found)
    return Report(decision="block", hallucination_score=0.9, risk_level="high", checks={"grounding": check}, **found)


def test_plain_is_json_and_holds_claims_once() -> None:
    plain = report((claim(),), (finding(),)).plain()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["claims"][0]["span"] == {"start": 0, "end": len(RESPONSE), "text": RESPONSE}
    assert "claims" not in plain["checks"]["grounding"]


@pytest.mark.parametrize("filler", ["x", "東", "\x00", '"'])
def test_plain_is_bounded_and_counts_what_it_left_out(filler: str) -> None:
    text = filler * 500
    plain = report(tuple(claim(text=text) for _ in range(200)), tuple(finding(text) for _ in range(100))).plain()
    assert len(json.dumps(plain, ensure_ascii=False).encode()) <= MAX_PLAIN_BYTES
    left_out = plain["truncated"]
    assert left_out["claims"] + len(plain["claims"]) == 200
    assert left_out["findings"] + len(plain["findings"]) == 100
    assert plain["status"] == "hallucinated"


def test_one_huge_claim_is_left_out_whole() -> None:
    plain = report((claim(text="x" * 40_000),), (finding("y" * 40_000),)).plain()
    assert plain["claims"] == [] and plain["findings"] == []
    assert plain["truncated"] == {"claims": 1, "findings": 1}


def test_huge_reason_of_a_check_cannot_break_the_bound() -> None:
    check = CheckResult(name="grounding", status="unverified", reason="x" * 50_000)
    plain = Report(status="unverified", reason="y" * 50_000, checks={"grounding": check}).plain()
    assert len(json.dumps(plain).encode()) <= MAX_PLAIN_BYTES


def test_words_that_may_quote_evidence_stay_inside_unless_exposed() -> None:
    """A model's reasoning and the list of contradicted sentences carried evidence into `$hallucination_report`."""
    said = {"reason": f"The source says: {SECRET}", "method": "llm:gpt"}
    judged = claim().model_copy(update=said)
    found = finding().model_copy(update={"reason": said["reason"], "label": "contradicted"})
    details = {"contradicted_evidence": [{"passage_id": "p1", "sentence": SECRET, "claims": 1}]}
    check = CheckResult(name="claims", status="hallucinated", claims=(judged,), findings=(found,), details=details)
    whole = report((judged,), (found,)).model_copy(update={"checks": {"claims": check}})
    plain = whole.plain(expose_evidence=False)
    shown = json.dumps(plain)
    assert "secret" not in shown and "memo.txt" not in shown and RESPONSE in shown
    assert plain["findings"][0]["reason"] == plain["claims"][0]["reason"] == "llm:gpt says contradicted"
    assert plain["checks"]["claims"]["details"]["contradicted_evidence"] == [{"passage_id": "p1", "claims": 1}]
    assert json.dumps(whole.plain()).count("secret") == 5


def test_a_verdict_that_was_not_believed_keeps_its_reason_without_evidence() -> None:
    reason = f"no_quote: the model said supported; it read: {SECRET}"
    doubted = claim("unevaluatable").model_copy(update={"reason": reason, "method": "llm:gpt"})
    told = f"unevaluatable_claims: 1 of 1; the first: {reason}"
    check = CheckResult(name="claims", status="unverified", reason=told, claims=(doubted,))
    whole = Report(status="unverified", reason=told, claims=(doubted,), checks={"claims": check})
    plain = whole.plain(expose_evidence=False)
    assert "secret" not in json.dumps(plain)
    assert plain["reason"] == plain["checks"]["claims"]["reason"]
    assert plain["reason"].endswith("the first: no_quote: the model said supported")


def test_redaction_keeps_of_a_reason_its_code() -> None:
    reason = f"check_failed: ValueError: {SECRET}"
    check = CheckResult(name="grounding", status="unverified", reason=reason)
    whole = Report(status="unverified", reason=f"grounding: {reason}", checks={"grounding": check})
    plain = whole.plain(redaction="hash")
    assert plain["reason"] == "grounding: check_failed: ValueError"
    assert plain["checks"]["grounding"]["reason"] == "check_failed: ValueError"


@pytest.mark.parametrize("redaction", ["hash", "drop"])
def test_redaction_hides_answer_and_evidence(redaction: str) -> None:
    shown = json.dumps(report((claim(),), (finding(),)).plain(redaction=redaction))  # type: ignore[arg-type]
    assert "Berlin" not in shown and "secret" not in shown
    assert (text_hash(RESPONSE) in shown) == (redaction == "hash")


def test_what_is_shown_as_it_was_or_repaired_is_not_blocked() -> None:
    passing = [d for d in DECISIONS if not Report(status="hallucinated", decision=d).is_blocked]
    assert passing == ["allow", "annotate", "warn"]
    assert not Report(status="hallucinated", decision="regenerate", answer="The bridge opened in 1932.").is_blocked


def test_json_round_trip_with_a_lone_surrogate() -> None:
    original = report((claim(text="It stands \ud800 in Paris 東."),), (finding(),))
    for text in (original.model_dump_json(), original.model_dump_json(indent=2), original.model_dump_json().encode()):
        assert Report.model_validate_json(text) == original
    with pytest.raises(ValidationError, match="JSON"):
        Report.model_validate_json('{"status": ')


def test_what_matters_most_is_kept_when_a_report_does_not_fit() -> None:
    supported = tuple(claim("supported", text=f"{n} " + "x" * 400) for n in range(150))
    absent = tuple(claim("absent", text=f"{n} " + "y" * 400) for n in range(60))
    worst = claim("contradicted", text="z" * 400)
    mild = tuple(finding("w" * 400).model_copy(update={"severity": "low"}) for _ in range(60))
    plain = report((*supported, *absent, worst), (*mild, finding("z" * 400))).plain()
    kept = [item["label"] for item in plain["claims"]]
    assert "supported" not in kept and kept.count("contradicted") == 1
    assert kept.count("absent") > 0
    assert [item["severity"] for item in plain["findings"]][-1] == "high"
    assert plain["truncated"] == {"claims": 211 - len(kept), "findings": 61 - len(plain["findings"])}
    one_more = MAX_PLAIN_BYTES - len(json.dumps(plain, ensure_ascii=False).encode())
    assert 0 <= one_more < 2_500  # as much as fits


HOSTILE = "</td><script>alert(1)</script> \u202e {{ 7 * 7 }} The tower stands in Berlin."


def test_a_notebook_shows_marked_words_claims_and_evidence() -> None:
    html = report((claim(),))._repr_html_()
    assert re.search(r"<mark[^>]*>Berlin</mark>", html)
    assert f"memo.txt: {SECRET}" in html and "contradicted" in html and "hallucination score 0.90" in html


def test_no_text_changes_a_notebook() -> None:
    html = Report(status="hallucinated", reason=HOSTILE, claims=(claim(text=HOSTILE),))._repr_html_()
    assert "<script" not in html and "\u202e" not in html and "{{ 7 * 7 }}" in html


def test_what_lies_between_claims_is_an_ellipsis() -> None:
    text = "Hello there! " + RESPONSE
    one = claim().model_copy(update={"span": Span.of(text, 13, len(text))})
    assert words_of(Report(status="hallucinated", claims=(one,)).plain()).split() == ["…", *RESPONSE.split()]


def test_a_printed_report_is_brief() -> None:
    supported = claim("supported", text="The tower is tall.")
    report = Report(status="hallucinated", decision="block", hallucination_score=0.9, claims=(supported, claim()))
    assert str(report) == (
        f"hallucinated, hallucination score 0.90, decision block\n  contradicted: {RESPONSE!r} (evidence: {SECRET!r})"
    )
    assert str(Report(status="unverified", reason="no_evidence")) == "unverified, decision allow: no_evidence"


def test_a_terminal_shows_a_report_in_one_line() -> None:
    shown = report((claim(),))
    assert repr(shown) == (
        "Report(status='hallucinated', decision='block', hallucination_score=0.9, risk_level='high', claims=1, "
        "findings=0)"
    )
    assert [*shown.__rich_repr__()] == [*shown.__repr_args__()], "rich and the debugger show the same"
