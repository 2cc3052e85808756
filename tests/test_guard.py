"""The engine: status, score and decision by the rules of docs/architecture.md; event loops, cancellation, failures."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted_nli import ScriptedNli

from evidencerails import Guard, Report, executor
from evidencerails.errors import InputError
from evidencerails.exchange import Exchange
from evidencerails.pipeline import overall_verdict
from evidencerails.report import CheckResult
from evidencerails.settings.policies import CHECKS
from evidencerails.tool_calls import with_arguments

TEXT = "The tower stands in Paris."
OTHER = "The pope lives in Rome."


class EchoNli(ScriptedNli):
    """Entails what it finds verbatim in the premise, calls all else neutral; can be slow or broken."""

    name = "echo"

    def __init__(self, delay_s: float = 0.0, error: Exception | None = None) -> None:
        super().__init__(lambda premise, claim: (0.96, 0.03, 0.01) if claim in premise else (0.02, 0.96, 0.02))
        self.delay_s, self.error, self.calls = delay_s, error, 0

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
        self.calls += 1
        time.sleep(self.delay_s)
        if self.error:
            raise self.error
        return super().scores(pairs)


def result(status: str, reason: str = "", score: float | None = None, name: str = "a") -> CheckResult:
    return CheckResult(name=name, status=status, reason=reason, score=score)  # type: ignore[arg-type]


STATUS = [
    (["grounded"], "grounded"),
    (["grounded", "hallucinated"], "hallucinated"),
    (["unverified", "hallucinated"], "hallucinated"),
    (["grounded", "unverified"], "unverified"),
    (["skipped", "grounded"], "grounded"),
    (["skipped", "unverified"], "unverified"),
    (["skipped"], "unverified"),  # nothing was checked: never clean
    ([], "unverified"),
]


@pytest.mark.parametrize("statuses, expected", STATUS)
def test_overall_status(statuses: list[str], expected: str) -> None:
    assert overall_verdict([result(status) for status in statuses])[0] == expected


def test_reason_of_a_single_reason_is_that_reason() -> None:
    same = [result("grounded", "no_claims", name="a"), result("grounded", "no_claims", name="b")]
    assert overall_verdict(same)[:2] == ("grounded", "no_claims")
    assert overall_verdict([result("unverified", "no_evidence")])[:2] == ("unverified", "no_evidence")
    different = [result("unverified", "no_evidence", name="a"), result("unverified", "no_model", name="b")]
    assert overall_verdict(different)[:2] == ("unverified", "a: no_evidence; b: no_model")


def test_score_is_the_worst_and_none_without_one() -> None:
    assert overall_verdict([result("grounded", score=0.2), result("hallucinated", score=0.8)])[2] == 0.8
    assert overall_verdict([result("grounded", score=0.2), result("unverified", score=0.8)])[2] is None
    assert overall_verdict([result("grounded")])[2] is None


async def test_grounded_hallucinated_unverified() -> None:
    guard = Guard(nli=EchoNli())
    grounded, absent = await guard.check(TEXT, evidence=TEXT), await guard.check(OTHER, evidence=TEXT)
    unverified = await guard.check(TEXT)
    assert [(r.status, r.decision, r.risk_level) for r in (grounded, absent, unverified)] == [
        ("grounded", "allow", "low"),
        ("hallucinated", "warn", "high"),
        ("unverified", "warn", None),
    ]
    assert grounded.hallucination_score < absent.hallucination_score  # type: ignore[operator]
    assert unverified.hallucination_score is None


async def test_a_crashing_backend_is_unverified_with_its_error() -> None:
    guard = Guard({"on_unverified": "block"}, nli=EchoNli(error=MemoryError("full")))
    report = await guard.check(TEXT, evidence=TEXT)
    assert (report.status, report.hallucination_score, report.findings) == ("unverified", None, ())
    assert "check_failed" in report.reason and "full" in report.reason
    assert (report.decision, report.decided_by) == ("block", "on_unverified")


async def test_a_cap_holds() -> None:
    guard = Guard({"policies": [{"when": {}, "then": "raise"}]}, nli=EchoNli())
    exchange = Exchange.of(OTHER, evidence=TEXT)
    assert (await guard.check_exchange(exchange)).decision == "raise"
    assert (await guard.check_exchange(exchange, cap="warn")).decision == "warn"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"logprobs": [{"token": "a", "logprob": 0.5}]}, "logprobs[1].logprob: got 0.5: "),
        ({"schema": 5}, "response_schema: got 5: "),
        ({"tools": [5]}, "tools[1]: got 5: "),
        ({"tool_calls": [{"arguments": {}}]}, "tool_calls[1].name: got {'arguments': {}}: Field required"),
    ],
)
def test_argument_that_cannot_be_read_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Guard().check_sync("A claim.", **arguments)
    assert message in str(error.value)


async def test_check_sync_inside_a_running_loop() -> None:
    assert Guard(nli=EchoNli()).check_sync(TEXT, evidence=TEXT).status == "grounded"
    with pytest.raises(InputError):
        Guard(nli=EchoNli()).check_sync(5)  # type: ignore[arg-type]


def test_one_guard_serves_many_loops_and_threads() -> None:
    guard = Guard(nli=EchoNli(delay_s=0.01))
    reports: list[Report] = []
    threads = [threading.Thread(target=lambda: reports.append(guard.check_sync(TEXT, evidence=TEXT))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [r.status for r in reports] == ["grounded"] * 8


def test_work_whose_event_loop_is_gone_holds_nobody_up() -> None:
    begun, may_end = threading.Event(), threading.Event()
    loop = asyncio.new_event_loop()
    task = loop.create_task(executor.run(lambda: begun.set() or may_end.wait(60)))
    loop.run_until_complete(asyncio.sleep(0))
    assert begun.wait(60)
    task.cancel()
    loop.close()
    may_end.set()
    assert asyncio.run(executor.run(str, 7)) == "7"


async def test_guards_share_nothing_but_the_model() -> None:
    nli = EchoNli()
    strict = Guard({"policies": [{"when": {"label": "absent"}, "then": "block"}]}, nli=nli)
    lenient = Guard({"policies": [{"when": {"label": "absent"}, "then": "allow"}]}, nli=nli)
    decisions = await asyncio.gather(*(g.check(OTHER, evidence=TEXT) for g in (strict, lenient, strict)))
    assert [report.decision for report in decisions] == ["block", "allow", "block"]


async def test_several_checks_one_report() -> None:
    guard = Guard({"checks": ["grounding", "consistency"]}, nli=EchoNli())
    report = await guard.check(TEXT, evidence=TEXT)
    assert set(report.checks) == {"grounding", "consistency"} == set(report.timings_ms) - {"total"}
    assert report.status == "unverified" and "no_model" in report.reason
    assert report.checks["grounding"].status == "grounded"


async def test_the_report_of_every_check_survives_json_and_its_spans_are_verbatim() -> None:
    guard = Guard({"checks": [*CHECKS], "scoring": {"measures": ["nli", "ngram"]}})
    response = "The shop pays refunds within 20 days [1]. It opened in 1932 [7]. 2 * 412 = 825."
    exchange = Exchange.of(
        response,
        evidence="The shop pays refunds within 5 days. It opened in 1911.",
        samples=["The shop pays refunds within 3 days."],
        prompt="How fast are refunds?",
        response_schema={"type": "object"},
        tool_calls=[{"name": "pay", "arguments": {"amount": 1}}],
        tools=[{"name": "refund"}],
    )
    report = await guard.check_exchange(exchange)
    assert Report.model_validate_json(report.model_dump_json()) == report
    assert {f.check for f in report.findings} >= {"claims", "citations", "consistency", "logic", "structure", "tools"}
    spans = [item.span for item in (*report.claims, *report.findings) if item.span and item.span.end]
    text = with_arguments(exchange).response
    assert text.startswith(response)
    assert spans and all(text[span.start : span.end] == span.text for span in spans)


async def test_timings_and_version_are_reported() -> None:
    report = await Guard(nli=EchoNli(delay_s=0.02)).check(TEXT, evidence=TEXT)
    assert report.timings_ms["total"] >= report.timings_ms["grounding"] >= 20
    assert report.version and report.checks["grounding"].version and report.evidence_from == "argument"


def test_repr_is_brief_and_holds_no_secret() -> None:
    llm = {"model": "m", "base_url": "http://127.0.0.1:1/v1", "api_key": "sk-secret"}
    shown = repr(Guard({"llm": llm}, nli=EchoNli()))
    assert "grounding" in shown and "sk-secret" not in shown and len(shown) < 200


async def test_the_log_names_a_crash_without_quoting_it(caplog: pytest.LogCaptureFixture) -> None:
    # An exception's message may hold the very text that was checked.
    guard = Guard({"checks": ["grounding"]}, nli=EchoNli(error=RuntimeError(TEXT)))
    assert (await guard.check(TEXT, evidence=OTHER)).status == "unverified"
    guard.close()
    assert TEXT not in caplog.text
    assert "check grounding: check_failed: NliError" in caplog.text


class BrokenLlm:
    """A client of the caller's own, with a bug in it."""

    model = "broken"
    supports_n = True

    async def complete(self, messages: Any, **_: Any) -> Any:
        raise KeyError(TEXT)


@pytest.mark.parametrize("repair", ["regenerate", "abstain"])
async def test_a_bug_in_what_follows_the_verdict_never_lets_the_response_pass(
    repair: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {
        "checks": ["grounding"],
        "policies": [{"when": {"kind": "unsupported_claim"}, "then": repair}],
        "verification": {"enabled": True},
    }
    guard = Guard(settings, nli=EchoNli(), llm=BrokenLlm())
    report = await guard.check(TEXT, evidence=OTHER, prompt="Where is the tower?")
    guard.close()
    assert report.status in ("hallucinated", "unverified")
    assert report.is_blocked or report.status == "unverified"
    assert "KeyError" in caplog.text and TEXT not in caplog.text


async def test_a_listener_that_fails_leaves_the_response_unverified(caplog: pytest.LogCaptureFixture) -> None:
    def listener(result: CheckResult) -> None:
        raise ValueError(TEXT)

    guard = Guard({"checks": ["grounding"]}, nli=EchoNli())
    report = await guard.check_exchange(Exchange.of(OTHER, evidence=OTHER), on_check=listener)
    guard.close()
    assert (report.status, report.decision) == ("unverified", "warn")
    assert report.reason.startswith("check_failed: ValueError")
    assert "ValueError" in caplog.text and TEXT not in caplog.text


@pytest.mark.parametrize(
    ("check", "response", "expected"),
    [
        ("tools", "Hello! How can I help you?", ("grounded", "no_claims", 0.0, "allow")),
        ("tools", "I'm sorry, I can't help with that.", ("grounded", "no_claims", 0.0, "allow")),
        ("tools", TEXT, ("unverified", "nothing_checked: no_tool_calls", None, "warn")),
        ("structure", TEXT, ("unverified", "nothing_checked: no_schema", None, "warn")),
        ("structure", "Hello! How can I help you?", ("unverified", "nothing_checked: no_schema", None, "warn")),
    ],
)
async def test_what_no_check_has_looked_at_is_clean_only_without_a_claim(
    check: str, response: str, expected: tuple[Any, ...]
) -> None:
    report = await Guard({"checks": [check]}).check(response)
    assert (report.status, report.reason, report.hallucination_score, report.decision) == expected
    assert report.checks[check].status == "skipped"


CITY = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}
LOOK_UP = {"name": "look_up", "parameters": CITY}
DRIFTING = [OTHER, OTHER]
GIVEN = [
    ({"tool_calls": [{"name": "delete_all", "arguments": {}}], "tools": [LOOK_UP]}, "tools", "hallucinated", "1 unkn"),
    ({"tool_calls": [{"name": "look_up", "args": {"city": "Paris"}}], "tools": [LOOK_UP]}, "tools", "grounded", ""),
    ({"tool_calls": [{"name": "delete_all"}]}, "tools", "unverified", "unchecked_tool_calls: no_tools"),
    ({"tool_calls": [{"name": "x", "arguments": {("a", 1): object()}}]}, "tools", "hallucinated", "1 invalid"),
    ({"schema": CITY}, "structure", "hallucinated", "1 no_json"),
    ({"schema": {"type": 7}}, "structure", "unverified", "unchecked_schema: "),
    ({"samples": [TEXT, TEXT]}, "consistency", "grounded", ""),
    ({"samples": ["", " "]}, "consistency", "unverified", "unchecked_samples: no_samples: none of 2"),
    ({"samples": DRIFTING, "settings": {"consistency": {"agreement": "judge"}}}, "consistency", "unverified",
     "unchecked_samples: no_model"),
]  # fmt: skip


@pytest.mark.parametrize("given, check, status, reason", GIVEN)
def test_what_is_given_is_checked_though_no_check_for_it_is_set(
    given: dict[str, Any], check: str, status: str, reason: str
) -> None:
    arguments = {**given}
    settings = arguments.pop("settings", {})
    report = Guard({"checks": ["grounding"], **settings}, nli=EchoNli()).check_sync(TEXT, evidence=TEXT, **arguments)
    assert (report.checks[check].status, report.status) == (status, status), report.reason
    assert reason in report.reason
    assert "grounding" in report.checks


async def test_a_caller_who_names_the_checks_gets_no_other() -> None:
    exchange = Exchange.of(TEXT, evidence=TEXT, samples=DRIFTING, response_schema=CITY, tool_calls=[{"name": "x"}])
    report = await Guard(nli=EchoNli()).check_exchange(exchange, checks=["grounding"])
    assert (report.status, [*report.checks]) == ("grounded", ["grounding"])


ARTICLE = "The tower is subject to Art. 5 Abs. 2 of the code. It was built in 1889."


def by_lines(text: str) -> list[str]:
    return text.split("\n")


@pytest.mark.parametrize("check", ["grounding", "claims", "citations", "consistency"])
def test_a_splitter_decides_what_a_sentence_is(check: str) -> None:
    settings = {"checks": [check], "citations": {"level": "required"}}
    with_own, with_ours = Guard(settings, nli=EchoNli(), splitter=by_lines), Guard(settings, nli=EchoNli())
    samples = [OTHER] if check == "consistency" else None
    reports = [guard.check_sync(ARTICLE, evidence=OTHER, samples=samples) for guard in (with_own, with_ours)]
    whole, parts = ([finding.span.text for finding in report.findings if finding.span] for report in reports)
    assert (whole, len(parts)) == ([ARTICLE], 3)
    with_own.close(), with_ours.close()


@pytest.mark.parametrize(
    "splitter, reason",
    [
        (lambda text: [text[:20]], "InputError: the splitter left out"),
        (lambda text: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_what_a_splitter_gets_wrong_is_no_verdict(splitter: Any, reason: str) -> None:
    guard = Guard({"checks": ["grounding"]}, nli=EchoNli(), splitter=splitter)
    report = guard.check_sync(ARTICLE, evidence=OTHER)
    assert report.status == "unverified"
    assert report.reason.startswith(f"check_failed: {reason}")
    guard.close()


AT_THE_END = """
import asyncio
from concurrent.futures import ThreadPoolExecutor
from evidencerails import Guard

def check():
    report = asyncio.run(Guard({"checks": ["grounding"]}).check("It opened in 1850.", evidence=["It opened in 1962."]))
    print(report.status)

pool = ThreadPoolExecutor(1)
for _ in range(2):
    pool.submit(check)
"""


@pytest.mark.slow
def test_what_waits_when_the_process_ends_is_checked(tmp_path: Path) -> None:
    """No thread takes work then: the first was unverified, and the second waited for ever."""
    command = [sys.executable, "-c", AT_THE_END]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=120, check=True)
    assert done.stdout.split() == [b"hallucinated"] * 2
