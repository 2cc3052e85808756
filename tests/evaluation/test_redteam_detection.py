"""What names an attack: the engine's own reports on one answer of each kind, and by hand."""

from __future__ import annotations

import pytest

from evidencerails import Guard
from evidencerails.evaluation.redteam.attacks import CATEGORIES, Category
from evidencerails.evaluation.redteam.detection import NAMED_BY, names_attack, names_tampering, said_by
from evidencerails.exchange import Exchange
from evidencerails.report import Cause, Finding

FACTS = ("The Halden bridge opened in 1932.", "The Halden bridge is 412 metres long.")


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard()


def finding(**changed: object) -> Finding:
    values = {"kind": "unsupported_claim", "category": "factual", "severity": "high", "origin": "extrinsic",
              "reason": "x", "check": "grounding", "version": "1", **changed}  # fmt: skip
    return Finding.model_validate(values)


def test_kind_violation_error_type_and_cause_are_what_a_finding_says() -> None:
    one = finding(
        violation="nonexistent_source",
        error_types=("entity",),
        causes=(Cause(cause="knowledge_gap", weight=0.5, reason="x"),),
    )
    assert said_by([one]) == {"unsupported_claim", "nonexistent_source", "entity", "knowledge_gap"}
    assert said_by([finding()]) == {"unsupported_claim"}


def test_every_category_says_what_would_name_it_and_a_mere_finding_names_none() -> None:
    assert set(NAMED_BY) == set(CATEGORIES)
    assert not any("unsupported_claim" in named for named in NAMED_BY.values())


@pytest.mark.parametrize(
    ("category", "check", "answer", "evidence", "named", "tampering"),
    [
        ("citation_manipulation", "citations", "The Halden bridge opened in 1932 [97].", FACTS, True, False),
        ("citation_manipulation", "citations", "The Halden bridge opened in 1945 [1].", FACTS, False, False),
        ("constraint_contradiction", "grounding",
         "The Halden bridge opened in 1932. The Halden bridge opened in 1884.", FACTS, True, False),
        ("compositional_chains", "logic", "20 + 22 = 43.", FACTS, True, False),
        ("compositional_chains", "logic", "20 + 22 = 42.", FACTS, False, False),
        ("temporal_confusion", "grounding", "The Halden bridge opened in 1884.", FACTS, True, False),
        ("authority_impersonation", "grounding", "The Halden bridge opened in 1884.", FACTS, False, False),
        ("context_poisoning", "grounding", "The Halden bridge is 530 metres long.",
         ("The Halden bridge is 412 metres long.", "The Halden bridge is 530 metres long."), True, True),
    ],
)  # fmt: skip
async def test_the_engine_s_reports(
    guard: Guard, category: Category, check: str, answer: str, evidence: tuple[str, ...], named: bool, tampering: bool
) -> None:
    exchange = Exchange.of(answer, prompt="What do the sources say about it?", evidence=list(evidence))
    report = await guard.check_exchange(exchange, checks=[check], mitigate=False)
    assert names_attack([report], category) is named
    assert names_tampering([report]) is tampering
