"""What names an attack: the engine's own reports on one answer of each kind."""

import pytest

from evidencerails import Guard
from evidencerails.evaluation.redteam.attacks import Category
from evidencerails.evaluation.redteam.targets import outcome_of
from evidencerails.exchange import Exchange

FACTS = ("The Halden bridge opened in 1932.", "The Halden bridge is 412 metres long.")


@pytest.fixture(scope="module")
def guard() -> Guard:
    return Guard()


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
    found = outcome_of(report, category)
    assert (found.names_attack, found.names_tampering) == (named, tampering)
