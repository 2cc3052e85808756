"""From a report to a person and back: who is asked, what the turn gets, and what happens when nobody answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
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
from evidencerails.operations.store.engine import writing
from evidencerails.settings.operations import StoreSettings


def config(url: str, **escalation: Any) -> GuardConfig:
    return GuardConfig.load({"store": {"url": url}, "escalation": escalation})


def asked(stakes: str = "high", **fields: Any) -> Exchange:
    return exchange().model_copy(update={"stakes": stakes, **fields})


def to_a_person(**fields: Any) -> Report:
    return report(decision="escalate", **fields)


async def escalated(given: Report, settings: GuardConfig, about: Exchange | None = None, **options: Any) -> Any:
    """`escalate` with a desk for this one call, as a guard has one."""
    desk = ReviewDesk(settings) if settings.escalation else None
    try:
        return await escalate(given, about or asked(), settings, desk=desk, **options)
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


@pytest.fixture
async def desk(sqlite_url: str) -> AsyncIterator[ReviewDesk]:
    """A desk at which turns are held until the test decides."""
    opened = ReviewDesk(config(sqlite_url, deadlines_s={"blocking": 30}))
    yield opened
    opened.close()


def held(desk: ReviewDesk) -> asyncio.Task[Report]:
    """A turn that waits for a person."""
    return asyncio.create_task(escalate(to_a_person(), asked(), desk.config, desk=desk))


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
        ("high", None, 1.0, "blocking"),  # a confidence that was not measured counts nothing
    ],
)
def test_risk_is_stakes_times_doubt(stakes: str, score: float | None, risk: float, tier: str | None) -> None:
    settings = config("sqlite:///store.db")
    found = risk_of(report(hallucination_score=score), asked(stakes), settings)
    assert found == pytest.approx(risk)
    assert tier_of(round(found, 6), settings) == tier


async def test_what_needs_nobody_goes_on_as_it_was(sqlite_url: str) -> None:
    shadow = GuardConfig.load({"activation": "shadow", "store": {"url": sqlite_url}, "escalation": {}})
    for given, settings in (
        (grounded(), config(sqlite_url)),  # a small risk
        (report(), config(sqlite_url)),  # blocked anyway
        (report(decision="warn"), GuardConfig()),
        (to_a_person(), shadow),
    ):
        assert await escalated(given, settings) is given


async def test_an_asynchronous_review_changes_nothing(sqlite_url: str) -> None:
    made = await escalated(grounded(0.4, decision="warn"), config(sqlite_url))
    assert (made.decision, made.answer, made.review.tier, made.review.state) == (
        "warn", None, "asynchronous", "pending",
    )  # fmt: skip


async def test_a_synchronous_review_withholds_the_answer(desk: ReviewDesk) -> None:
    made = await escalated(grounded(0.6), desk.config)
    assert made.decision == "escalate" and made.is_blocked
    assert made.decided_by == "default, synchronous review pending"
    assert desk.queue.get(made.review.id).item.report_id == made.id


@pytest.mark.parametrize(
    ("verdict", "text", "decision", "answer"),
    [
        ("approved", None, "allow", None),
        ("edited", "Rhenium melts at 3186 degrees.", "allow", "Rhenium melts at 3186 degrees."),
        ("rejected", None, "block", None),
    ],
)
async def test_a_blocking_review_holds_the_turn_until_it_is_decided(
    sqlite_url: str, verdict: str, text: str | None, decision: str, answer: str | None
) -> None:
    reviewer = asyncio.create_task(decide_soon(sqlite_url, verdict, text))
    made = await escalated(to_a_person(), config(sqlite_url))
    await reviewer
    assert (made.decision, made.answer) == (decision, answer)
    assert (made.review.state, made.review.reviewer) == (verdict, "ann") and made.timings_ms["review"] > 0
    with Store(StoreSettings(url=sqlite_url)) as store:
        released = [item for item in ReviewQueue(store).items(state=None) if item.released_at]
    assert len(released) == (decision == "allow")


@pytest.mark.parametrize(
    ("given", "fallback", "decision"),
    [
        *((to_a_person(), fallback, fallback) for fallback in ("block", "abstain", "warn", "raise")),
        (grounded(0.9, decision="warn"), "allow", "warn"),  # never milder than the decision
    ],
)
async def test_nobody_in_time_is_the_fallback(sqlite_url: str, given: Report, fallback: str, decision: str) -> None:
    made = await escalated(given, config(sqlite_url, deadlines_s={"blocking": 0.1}, fallback=fallback))
    assert (made.decision, made.review.state) == (decision, "expired")


@pytest.mark.slow
async def test_many_turns_are_held_at_once(desk: ReviewDesk) -> None:
    turns = [held(desk) for _ in range(20)]
    items = await until(lambda: found if len(found := desk.queue.items()) == 20 else None)
    for number, item in enumerate(items):
        verdict: Any = "approved" if number % 2 else "rejected"
        await asyncio.to_thread(desk.queue.decide, item.id, verdict, reviewer="ann")
    made = await asyncio.wait_for(asyncio.gather(*turns), 20)
    assert sorted(r.decision for r in made) == ["allow"] * 10 + ["block"] * 10


async def test_a_cancelled_turn_leaves_its_review_in_the_queue(desk: ReviewDesk) -> None:
    turn = held(desk)
    items = await until(desk.queue.items)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert desk.queue.decide(items[0].id, "approved", reviewer="ann").state == "approved"
    assert [item.id for item in desk.queue.unreleased()] == [items[0].id]


async def test_where_a_turn_may_not_wait_it_is_not_held(sqlite_url: str) -> None:
    settings = config(sqlite_url)
    with no_turn_is_held():
        made = await asyncio.wait_for(escalated(to_a_person(), settings), 5)
    assert (made.decision, made.review.tier) == ("escalate", "synchronous")
    chunk = await escalated(to_a_person(), settings, asked(is_chunk=True))
    assert chunk.review.tier == "asynchronous"
    capped = await escalated(grounded(0.9, decision="warn"), settings, cap="warn")
    assert (capped.decision, capped.review.tier) == ("warn", "asynchronous")


async def test_a_queue_that_is_gone_releases_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "no").write_text("")
    made = await escalated(to_a_person(), config(f"sqlite:///{tmp_path}/no/store.db"))
    assert (made.decision, made.review.state) == ("block", "unavailable")
    assert made.review.reason.startswith("no_review_queue")
    assert "could not be given to a reviewer" in caplog.text and "Rhenium" not in caplog.text


@pytest.mark.slow
async def test_a_queue_that_goes_while_a_turn_is_held_releases_nothing(sqlite_url: str) -> None:
    desk = ReviewDesk(config(sqlite_url, deadlines_s={"blocking": 1.0}))
    turn = held(desk)
    await until(desk.queue.items)
    with writing(desk.store.engine) as connection:
        connection.exec_driver_sql("DROP TABLE review_events")
        connection.exec_driver_sql("DROP TABLE reviews")
    made = await turn
    assert made.decision == "block" and made.review is not None and made.review.state == "unavailable"
    desk.close()


async def test_without_the_settings_escalate_means_block() -> None:
    made = await escalated(to_a_person(), GuardConfig())
    assert (made.decision, made.review.state) == ("block", "unavailable")


@pytest.mark.parametrize("has_queue", [True, False])
async def test_an_unverified_answer_goes_to_a_person_if_on_unverified_says_so(sqlite_url: str, has_queue: bool) -> None:
    queue = {"store": {"url": sqlite_url}, "escalation": {"by_risk": False, "deadlines_s": {"blocking": 5}}}
    guard = Guard({"checks": ["grounding"], "on_unverified": "escalate", **(queue if has_queue else {})})
    made = await guard.check("Paris is in France.")  # there is no evidence
    assert made.status == "unverified" and made.review is not None
    if guard.store is None:  # no person can be asked
        assert made.decision == "block" and "set `escalation`" in made.review.reason
        return
    assert (made.decision, made.decided_by) == ("escalate", "on_unverified, synchronous review pending")
    package = ReviewQueue(guard.store).get(made.review.id).package
    assert package is not None and package.status == "unverified" and package.reason.startswith("no_evidence")
    guard.close()


async def test_the_whole_way_through_a_guard(url: str) -> None:
    policy = {"when": {"label": "contradicted"}, "then": "escalate"}
    store: dict[str, Any] = {"store": {"url": url}, "escalation": {}}
    guard = Guard({**store, "severity": {"stakes": "high"}, "policies": [policy]})
    reviewer = asyncio.create_task(decide_soon(url, "edited", "Paris is in France."))
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
