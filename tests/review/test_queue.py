"""The queue on both databases: every decision is stored once, and nothing leaves without one."""

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from made import ANSWER, exchange, report

from evidencerails.errors import ReviewConflictError, ReviewError
from evidencerails.operations.review.package import Item, package_of
from evidencerails.operations.review.queue import ReviewQueue
from evidencerails.operations.store import Store
from evidencerails.operations.store.engine import writing
from evidencerails.operations.store.queries import delete_reviews_before, drop_review_texts_before
from evidencerails.settings.operations import StoreSettings

CORRECTED = "Rhenium melts at 3186 degrees."


def submit(queue: ReviewQueue, answer: str = ANSWER, within_s: float = 60) -> Item:
    package = package_of(report(), exchange(answer))
    return queue.submit(package, tier="synchronous", risk=0.55, stakes="medium", within_s=within_s, report_id="r1")


def test_a_package_holds_what_a_reviewer_needs(queue: ReviewQueue) -> None:
    item = submit(queue)
    package = queue.get(item.id).package
    assert package.output == ANSWER and [claim.label for claim in package.flagged_claims] == ["contradicted"]
    assert [passage.text for passage in package.evidence] == ["Rhenium melts at 3186 degrees."]
    assert package.confidence == pytest.approx(0.1) and package.scores["hallucination_score"] == 0.9
    assert [(s.text, s.source) for s in package.suggestions] == [("Rhenium melts at 3186 degrees.", "evidence")]
    assert package.context["question"] == "Melting point?"
    assert item.deadline_at == pytest.approx(item.created_at + 60)


def test_those_due_first_stand_at_the_top(queue: ReviewQueue, passing: list[float]) -> None:
    late, soon = submit(queue, within_s=900), submit(queue, within_s=5)
    assert [item.id for item in queue.items()] == [soon.id, late.id]
    assert not soon.is_overdue(passing[0]) and soon.is_overdue(passing[0] + 6)


def test_an_approved_answer_is_released_as_it_was(queue: ReviewQueue) -> None:
    item = submit(queue)
    decided = queue.decide(item.id, "approved", reviewer="ann", note="known exception")
    assert (decided.state, decided.reviewer, decided.version) == ("approved", "ann", 2)
    released = queue.release(item.id)
    assert (released.text, released.reviewer, released.is_first) == (ANSWER, "ann", True)
    found = queue.get(item.id)
    assert found.note == "known exception"
    assert [(e.event, e.actor) for e in found.events] == [("submitted", None), ("approved", "ann"), ("released", None)]


def test_nothing_is_released_that_nobody_let_through(queue: ReviewQueue) -> None:
    pending, rejected, expired = (submit(queue).id for _ in range(3))
    queue.decide(rejected, "rejected", reviewer="ann")
    queue.expire(expired)
    for review_id, state in ((pending, "pending"), (rejected, "rejected"), (expired, "expired")):
        with pytest.raises(ReviewError, match=f"is {state}; only an approved or edited answer"):
            queue.release(review_id)
        assert queue.get(review_id).item.released_at is None


def test_the_second_of_two_reviewers_learns_who_was_first(queue: ReviewQueue) -> None:
    item = submit(queue)
    queue.decide(item.id, "rejected", reviewer="ann")
    with pytest.raises(ReviewConflictError, match="already rejected by ann") as caught:
        queue.decide(item.id, "approved", reviewer="bob")
    assert (caught.value.state, caught.value.reviewer) == ("rejected", "ann")
    assert queue.get(item.id).item.reviewer == "ann"


def test_of_many_who_decide_at_once_one_wins(store: Store, queue: ReviewQueue) -> None:
    for _ in range(5):
        item = submit(queue)
        start = threading.Barrier(8)

        def decide(name: str, item: Item = item, start: threading.Barrier = start) -> str:
            start.wait()
            try:
                verdict = "approved" if int(name) % 2 else "rejected"
                return queue.decide(item.id, verdict, reviewer=name, version=item.version).reviewer or ""
            except ReviewConflictError:
                return ""

        with ThreadPoolExecutor(8) as pool:
            winners = [name for name in pool.map(decide, map(str, range(8))) if name]
        found = queue.get(item.id)
        assert winners == [found.item.reviewer]
        assert len([e for e in found.events if e.event in ("approved", "rejected")]) == 1


def test_a_decision_on_an_old_version_is_refused(queue: ReviewQueue) -> None:
    item = submit(queue)
    with pytest.raises(ReviewConflictError, match="has version 1, not 7; look at it again"):
        queue.decide(item.id, "approved", reviewer="ann", version=7)
    assert queue.get(item.id).item.state == "pending"


def test_a_decision_of_the_last_moment_beats_the_deadline(queue: ReviewQueue) -> None:
    item = submit(queue)
    queue.decide(item.id, "approved", reviewer="ann")
    assert queue.expire(item.id).state == "approved"
    late = submit(queue)
    assert queue.expire(late.id).state == "expired"
    with pytest.raises(ReviewConflictError, match="already expired"):
        queue.decide(late.id, "approved", reviewer="ann")


INCOMPLETE = [
    ({"verdict": "approved", "reviewer": " "}, "needs the name of its reviewer"),
    ({"verdict": "edited", "reviewer": "ann"}, "give the new text"),
    ({"verdict": "edited", "reviewer": "ann", "text": " \n"}, "1 to 200000 characters"),
    ({"verdict": "edited", "reviewer": "ann", "text": "x" * 200_001}, "1 to 200000 characters"),
    ({"verdict": "approved", "reviewer": "ann", "text": "x"}, "give the new text"),
    ({"verdict": "maybe", "reviewer": "ann"}, "unknown verdict 'maybe'; expected one of approved, rejected, edited"),
]


def test_an_incomplete_decision_is_refused(queue: ReviewQueue) -> None:
    item = submit(queue)
    for arguments, message in INCOMPLETE:
        with pytest.raises(ReviewError, match=message):
            queue.decide(item.id, **arguments)  # type: ignore[arg-type]
    assert queue.get(item.id).item.state == "pending"


def test_the_first_characters_of_an_id_are_enough_and_one_that_nobody_has_is_named(queue: ReviewQueue) -> None:
    item = submit(queue)
    assert queue.get(item.id[:8]).item.id == item.id
    for wrong in ("0" * 32, "zz", "", "%", "_", "../x", "\x00", "' OR 1=1 --"):
        for ask in (queue.get, queue.release, queue.expire, lambda one: queue.decide(one, "approved", reviewer="ana")):
            with pytest.raises(ReviewError, match="there is no review"):
                ask(wrong)
    assert [found.state for found in queue.items()] == ["pending"]


def test_hostile_text_goes_through_unharmed(queue: ReviewQueue) -> None:
    hostile = "a\x00b \ud800 '; DROP TABLE reviews; -- {{7*7}}"
    item = submit(queue, hostile)
    queue.decide(item.id, "edited", reviewer="a\x00nn", text=hostile + "!", note=hostile)
    assert queue.release(item.id).text == hostile + "!"
    found = queue.get(item.id)
    assert found.note == hostile and found.item.reviewer == "ann"


def test_a_text_that_was_changed_behind_the_queue_is_not_released(store: Store, queue: ReviewQueue) -> None:
    item = submit(queue)
    queue.decide(item.id, "approved", reviewer="ann")
    with writing(store.engine) as connection:
        connection.exec_driver_sql("UPDATE reviews SET package = REPLACE(package, '1200', '9999')")
    with pytest.raises(ReviewError, match="is not the one that was decided on"):
        queue.release(item.id)
    assert queue.get(item.id).item.released_at is None


def _decide_and_die(url: str, review_id: str) -> None:
    import os

    store = Store(StoreSettings(url=url))
    ReviewQueue(store).decide(review_id, "edited", reviewer="ann", text=CORRECTED)
    os._exit(9)  # no clean end: as killed


@pytest.mark.slow
def test_a_crash_between_decision_and_release_loses_nothing(url: str) -> None:
    with Store(StoreSettings(url=url)) as store:
        queue = ReviewQueue(store)
        item = submit(queue)
        undecided = submit(queue)
        reviewer = multiprocessing.get_context("spawn").Process(target=_decide_and_die, args=(url, item.id))
        reviewer.start()
        reviewer.join(60)
        assert reviewer.exitcode == 9
    with Store(StoreSettings(url=url)) as store:  # the service, started again
        queue = ReviewQueue(store)
        assert [left.id for left in queue.unreleased()] == [item.id]
        assert [left.id for left in queue.items()] == [undecided.id]
        assert queue.release(item.id).text == CORRECTED
        assert queue.unreleased() == []
        again = queue.release(item.id)  # it crashed before the answer was out
        assert (again.text, again.is_first) == (CORRECTED, False)


def test_retention_keeps_what_is_open_and_what_is_not_delivered(store: Store, queue: ReviewQueue) -> None:
    open_, approved, released = submit(queue), submit(queue), submit(queue)
    for item in (approved, released):
        queue.decide(item.id, "approved", reviewer="ann")
    queue.release(released.id)
    later = time.time()
    assert drop_review_texts_before(store.engine, later) == 1
    assert queue.get(released.id).package is None
    with pytest.raises(ReviewError, match="was deleted by retention"):
        queue.release(released.id)
    assert delete_reviews_before(store.engine, later) == 1
    assert {item.id for item in queue.items(state=None)} == {open_.id, approved.id}
