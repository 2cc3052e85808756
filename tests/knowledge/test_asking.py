"""Several sources: order of authority, the latency budget, and what a miss or a failure means."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from evidencerails.checks.knowledge.base import CONCURRENT_LOOKUPS, Answer, KnowledgeSource, Lookup, Verdict, verdicts
from evidencerails.checks.knowledge.sources import make_source
from evidencerails.settings.knowledge import SourceSettings


def source(name: str, answer: Callable[[Any], Any], *, priority: int = 2, is_complete: bool = True) -> KnowledgeSource:
    settings = SourceSettings(kind="callable", function=answer, authority=priority, complete=is_complete)
    return make_source(name, settings)


def fails(_: Any) -> bool:
    raise ConnectionError("the database said: password s3cret")


def ask(*sources: KnowledgeSource, text: str = "x", budget_s: float = 5.0) -> Verdict:
    lookup = Lookup.of(text, is_folded=False)
    return asyncio.run(verdicts({lookup: sources}, budget_s))[lookup]


YES, NO = (lambda _: True), (lambda _: False)


@pytest.mark.parametrize(
    ("sources", "outcome", "decided_by"),
    [
        ([source("a", YES)], "verified", "a"),
        ([source("a", NO)], "refuted", "a"),
        ([source("a", NO, is_complete=False)], "unverifiable", ""),
        ([source("a", NO), source("b", YES)], "verified", "b"),
        ([source("a", NO, is_complete=False), source("b", NO)], "refuted", "b"),
        ([source("a", fails), source("b", YES)], "verified", "b"),
        ([source("a", fails), source("b", NO)], "unverifiable", ""),
        ([source("a", NO), source("b", fails)], "unverifiable", ""),
        ([], "unverifiable", ""),
    ],
)
def test_a_hit_verifies_and_only_a_full_search_refutes(
    sources: list[KnowledgeSource], outcome: str, decided_by: str
) -> None:
    verdict = ask(*sources)
    assert (verdict.outcome, verdict.source) == (outcome, decided_by)
    assert "s3cret" not in verdict.reason


def test_sources_are_asked_in_order_of_authority_until_one_has_it() -> None:
    asked: list[str] = []

    def noting(name: str, answer: bool) -> Callable[[Any], bool]:
        return lambda _: asked.append(name) or answer  # type: ignore[func-returns-value]

    three = source("three", noting("three", True), priority=3)
    one = source("one", noting("one", False), priority=1)
    two = source("two", noting("two", True), priority=2)
    assert ask(three, one, two).source == "two"
    assert asked == ["one", "two"]


async def test_the_budget_bounds_the_time_and_what_it_does_not_reach_is_unverifiable() -> None:
    asked: list[Any] = []
    gate = threading.Event()

    def waits(value: Any) -> bool:
        asked.append(value)
        return gate.wait(60)

    lookups = {Lookup.of(f"x{n}", is_folded=False): [source("slow", waits)] for n in range(40)}
    try:
        found = await verdicts(lookups, 0.2)  # it ends though nobody has answered
    finally:
        gate.set()
    assert {verdict.outcome for verdict in found.values()} == {"unverifiable"} and len(found) == 40
    assert all("budget_spent" in verdict.reason for verdict in found.values())
    assert len(asked) <= CONCURRENT_LOOKUPS


class Own:
    """A source of the user's own, whose search for near values fails."""

    name, priority, is_complete = "own", 1, True

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def lookup(self, _: Lookup) -> Any:
        return self.answer

    async def near(self, _: Lookup) -> Any:
        raise OSError


def test_a_source_of_the_user_that_answers_nonsense_is_no_answer() -> None:
    assert ask(Own("yes")) == Verdict("unverifiable", "own: failed: TypeError")


def test_a_near_search_that_fails_changes_nothing() -> None:
    assert ask(Own(Answer(False))).outcome == "refuted"


@pytest.mark.parametrize(("text", "outcome"), [("", "refuted"), ("  ", "refuted"), ("x" * 2_000, "unverifiable")])
def test_empty_and_endless_values_are_not_looked_up(text: str, outcome: str) -> None:
    assert ask(source("a", fails), text=text).outcome == outcome
