"""From a report to a person and back: who is asked, what the turn gets, and what happens when nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made import exchange, grounded, report

from evidencerails import Exchange, Guard, Report
from evidencerails.config import GuardConfig
from evidencerails.errors import SettingsError
from evidencerails.mitigation.escalate import escalate, no_turn_is_held, risk_of, tier_of
from evidencerails.operations.review.desk import ReviewDesk
from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store, queries
from evidencerails.settings.store import StoreSettings


def config(url: str = "", **escalation: Any) -> GuardConfig:
    return GuardConfig.load({"store": {"url": url or "sqlite:///store.db"}, "escalation": escalation})


def asked(stakes: str = "high", **fields: Any) -> Exchange:
    return exchange().model_copy(update={"stakes": stakes, **fields})


async def escalated(given: Report, about: Exchange, settings: GuardConfig, **options: Any) -> Report:
    """`escalate` with a desk for this one call, as a guard has one."""
    desk = ReviewDesk(settings) if settings.escalation else None
    try:
        return await escalate(given, about, settings, desk=desk, **options)
    finally:
        if desk is not None:
            desk.close()


async def until(look: Callable[[], Any]) -> Any:
    """What `look` gives as soon as it is true, asked in a thread."""
    while not (found := await asyncio.to_thread(look)):  # noqa: ASYNC110, what is waited for is in a database
        await asyncio.sleep(0.02)
    return found


async def decide_soon(url: str, verdict: str, text: str | None = None) -> None:
    """A reviewer in another process would do the same: a queue of its own on the same database."""
    with Store(StoreSettings(url=url)) as store:
        queue = ReviewQueue(store)
        items = await until(queue.items)
        await asyncio.to_thread(queue.decide, items[0].id, verdict, reviewer="ann", text=text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stakes", "score", "risk", "tier"),
    [
        ("low", 1.0, 0.3, None),
        ("medium", 0.5, 0.3, None),
        ("medium", 0.6, 0.36, "asynchronous"),
        ("medium", 0.9, 0.54, "synchronous"),
        ("medium", 1.0, 0.6, "synchronous"),
        ("high", 0.2, 0.2, None),
        ("high", 0.4, 0.4, "asynchronous"),
        ("high", 0.6, 0.6, "synchronous"),
        ("high", 0.75, 0.75, "blocking"),
    ],
)
def test_risk_is_stakes_times_doubt(stakes: str, score: float, risk: float, tier: str | None) -> None:
    settings = config()
    found = risk_of(report(score), asked(stakes), settings)
    assert found == pytest.approx(risk)
    assert tier_of(round(found, 6), settings) == tier


def test_a_confidence_that_was_not_measured_counts_nothing() -> None:
    unverified = report(status="unverified", hallucination_score=None)
    assert risk_of(unverified, asked("high"), config()) == 1.0


async def test_a_small_risk_asks_nobody(sqlite_url: str) -> None:
    given = grounded()
    assert await escalated(given, asked(), config(sqlite_url)) is given


async def test_an_asynchronous_review_changes_nothing(sqlite_url: str) -> None:
    given = grounded(hallucination_score=0.4, decision="warn")
    made = await escalated(given, asked(), config(sqlite_url))
    assert made.decision == "warn" and made.answer is None
    assert made.review is not None and (made.review.tier, made.review.state) == ("asynchronous", "pending")


async def test_a_synchronous_review_withholds_the_answer(sqlite_url: str) -> None:
    settings = config(sqlite_url)
    made = await escalated(grounded(hallucination_score=0.6), asked(), settings)
    assert made.decision == "escalate" and made.is_blocked
    assert made.decided_by == "default, synchronous review pending"
    desk = ReviewDesk(settings)
    assert made.review is not None and desk.queue.get(made.review.id).item.report_id == made.id
    desk.close()


@pytest.mark.parametrize(
    ("verdict", "text", "decision", "answer"),
    [
        ("approved", None, "allow", None),
        ("edited", "Rhenium melts at 3186 degrees.", "allow", "Rhenium melts at 3186 degrees."),
        ("rejected", None, "block", None),
    ],
)
async def test_a_blocking_review_holds_the_turn_until_it_is_decided(
    url: str, verdict: str, text: str | None, decision: str, answer: str | None
) -> None:
    reviewer = asyncio.create_task(decide_soon(url, verdict, text))
    made = await escalated(report(decision="escalate"), asked(), config(url))
    await reviewer
    assert (made.decision, made.answer) == (decision, answer)
    assert made.review is not None and (made.review.state, made.review.reviewer) == (verdict, "ann")
    assert made.timings_ms["review"] > 0
    with Store(StoreSettings(url=url)) as store:
        released = [item for item in ReviewQueue(store).items(state=None) if item.released_at]
    assert len(released) == (decision == "allow")


@pytest.mark.parametrize("fallback", ["block", "abstain", "warn", "raise"])
async def test_nobody_in_time_is_the_fallback(sqlite_url: str, fallback: str) -> None:
    settings = config(sqlite_url, deadlines_s={"blocking": 0.1}, fallback=fallback)
    made = await escalated(report(decision="escalate"), asked(), settings)
    assert made.decision == fallback and made.review is not None and made.review.state == "expired"


async def test_the_fallback_is_never_milder_than_the_decision(sqlite_url: str) -> None:
    settings = config(sqlite_url, deadlines_s={"blocking": 0.1}, fallback="allow")
    made = await escalated(grounded(hallucination_score=0.9, decision="warn"), asked(), settings)
    assert made.decision == "warn"


async def test_many_turns_are_held_at_once(sqlite_url: str) -> None:
    settings = config(sqlite_url, deadlines_s={"blocking": 30})
    desk = ReviewDesk(settings)
    turns = [
        asyncio.create_task(escalate(report(decision="escalate"), asked(), settings, desk=desk)) for _ in range(40)
    ]
    items = await until(lambda: found if len(found := desk.queue.items()) == 40 else None)
    for number, item in enumerate(items):
        verdict: Any = "approved" if number % 2 else "rejected"
        await asyncio.to_thread(desk.queue.decide, item.id, verdict, reviewer="ann")
    made = await asyncio.wait_for(asyncio.gather(*turns), 20)
    assert sorted(r.decision for r in made) == ["allow"] * 20 + ["block"] * 20
    desk.close()


async def test_a_cancelled_turn_leaves_its_review_in_the_queue(sqlite_url: str) -> None:
    settings = config(sqlite_url)
    desk = ReviewDesk(settings)
    turn = asyncio.create_task(escalate(report(decision="escalate"), asked(), settings, desk=desk))
    items = await until(desk.queue.items)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert desk.queue.decide(items[0].id, "approved", reviewer="ann").state == "approved"
    assert [item.id for item in desk.queue.unreleased()] == [items[0].id]
    desk.close()


async def test_where_a_turn_may_not_wait_it_is_a_synchronous_review(sqlite_url: str) -> None:
    with no_turn_is_held():
        made = await asyncio.wait_for(escalated(report(decision="escalate"), asked(), config(sqlite_url)), 5)
    assert made.decision == "escalate" and made.review is not None and made.review.tier == "synchronous"


async def test_streams_and_capped_flows_are_never_held(sqlite_url: str) -> None:
    settings = config(sqlite_url)
    chunk = await escalated(report(decision="escalate"), asked(is_chunk=True), settings)
    assert chunk.review is not None and chunk.review.tier == "asynchronous"
    capped = await escalated(grounded(hallucination_score=0.9, decision="warn"), asked(), settings, cap="warn")
    assert capped.decision == "warn" and capped.review is not None and capped.review.tier == "asynchronous"


async def test_a_queue_that_is_gone_releases_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "no").write_text("")
    settings = config(f"sqlite:///{tmp_path}/no/store.db")
    made = await escalated(report(decision="escalate"), asked(), settings)
    assert made.decision == "block" and made.review is not None and made.review.state == "unavailable"
    assert made.review.reason.startswith("no_review_queue")
    assert "could not be given to a reviewer" in caplog.text and "Rhenium" not in caplog.text


async def test_a_queue_that_goes_while_a_turn_is_held_releases_nothing(tmp_path: Path) -> None:
    settings = config(f"sqlite:///{tmp_path}/store.db", deadlines_s={"blocking": 1.0})
    desk = ReviewDesk(settings)
    turn = asyncio.create_task(escalate(report(decision="escalate"), asked(), settings, desk=desk))
    await until(lambda: (tmp_path / "store.db").exists() and desk.queue.items())
    from sqlalchemy import text

    from evidencerails.operations.store.engine import writing

    with writing(desk.store.engine) as connection:
        connection.execute(text("DROP TABLE review_events"))
        connection.execute(text("DROP TABLE reviews"))
    made = await turn
    assert made.decision == "block" and made.review is not None and made.review.state == "unavailable"
    desk.close()


def unverifiable(settings: dict[str, Any]) -> Guard:
    return Guard({"checks": ["grounding"], "on_unverified": "escalate", **settings})


async def test_an_unverified_answer_goes_to_a_person_if_on_unverified_says_so(sqlite_url: str) -> None:
    escalation = {"by_risk": False, "deadlines_s": {"blocking": 5}}
    guard = unverifiable({"store": {"url": sqlite_url}, "escalation": escalation})
    made = await guard.check("Paris is in France.")  # there is no evidence
    assert (made.status, made.decision) == ("unverified", "escalate")
    assert made.decided_by == "on_unverified, synchronous review pending"
    assert made.review is not None and guard.store is not None
    item = ReviewQueue(guard.store).get(made.review.id)
    assert item.package.status == "unverified" and item.package.reason.startswith("no_evidence")
    guard.close()


async def test_an_unverified_answer_is_blocked_where_no_person_can_be_asked() -> None:
    made = await unverifiable({}).check("Paris is in France.")
    assert (made.status, made.decision) == ("unverified", "block")
    assert made.review is not None and "set `escalation`" in made.review.reason


async def test_without_the_settings_escalate_means_block() -> None:
    made = await escalated(report(decision="escalate"), asked(), GuardConfig())
    assert made.decision == "block" and made.review is not None and made.review.state == "unavailable"
    plain = report(decision="warn")
    assert await escalated(plain, asked(), GuardConfig()) is plain


async def test_shadow_asks_nobody(sqlite_url: str) -> None:
    settings = GuardConfig.load({"activation": "shadow", "store": {"url": sqlite_url}, "escalation": {}})
    given = report(decision="escalate")
    assert await escalated(given, asked(), settings) is given


async def test_what_is_kept_back_anyway_is_not_escalated_by_risk(sqlite_url: str) -> None:
    given = report(decision="block")
    assert await escalated(given, asked(), config(sqlite_url)) is given


async def test_the_whole_way_through_a_guard(sqlite_url: str) -> None:
    guard = Guard(
        {
            "store": {"url": sqlite_url},
            "escalation": {},
            "severity": {"stakes": "high"},
            "policies": [{"when": {"label": "contradicted"}, "then": "escalate"}],
        }
    )
    reviewer = asyncio.create_task(decide_soon(sqlite_url, "edited", "Paris is in France."))
    made: Report = await guard.check("Paris is in Italy.", evidence="Paris is the capital of France.")
    await reviewer
    assert (made.decision, made.answer) == ("allow", "Paris is in France.")
    assert guard.store is not None and guard.store.flush(10)
    kept = queries.report(guard.store.engine, made.id)
    assert kept is not None and kept.body["report"]["review"]["state"] == "edited"
    guard.close()


@pytest.mark.parametrize(
    ("escalation", "message"),
    [
        ({"tiers": {"asynchronous": 0.9}}, "expected asynchronous <= synchronous <= blocking, got 0.9, 0.5, 0.7"),
        ({"fallbak": "block"}, "did you mean 'fallback'"),
        ({"webhook": {"url": "ftp://x", "secret_env": "S"}}, "expected a URL"),
        ({"webhook": {"url": "http://x", "secret_env": "S"}}, "needs allow_private: true"),
    ],
)
def test_wrong_settings_are_named(escalation: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        GuardConfig.load({"escalation": escalation})


def test_a_webhook_without_its_secret_stops_the_guard() -> None:
    with pytest.raises(SettingsError, match="'HOOK_SECRET' is not set"):
        Guard({"escalation": {"webhook": {"url": "https://example.com/", "secret_env": "HOOK_SECRET"}}})
