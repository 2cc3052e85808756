"""What the NLI model doubts in a cited claim: a word, or only the way it is put. With the embedded model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from evidencerails import Guard
from evidencerails.checks.citation.doubts import minded_for_wording
from evidencerails.checks.evidence_nli import Reading, Seen
from evidencerails.exchange import Passage
from evidencerails.nli.windows import Window
from evidencerails.report import NliScores
from evidencerails.scoring.words import words_of

GATE = "The gate of the Arden Zoo opens at {} each morning."
REWORDED = "The opening hour of the Arden Zoo's gate is {} each morning [1]."


@pytest.mark.parametrize("hour", ["seven", "eight", "nine"])
def test_wording_alone_is_no_violation(guard: Callable[..., Guard], hour: str) -> None:
    report = guard().check_sync(REWORDED.format(hour), evidence=[GATE.format(hour)])
    assert (report.status, report.claims[0].label) == ("grounded", "supported")


class Scripted:
    """Scores pairs by a rule that a test can read; what `minded_for_wording` needs of an NLI service."""

    def __init__(self, entailment: Callable[[str], float]) -> None:
        self.entailment = entailment

    async def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return np.array([[(e := self.entailment(claim)), (1 - e) / 2, (1 - e) / 2] for _, claim in pairs])


def doubted(claim: str, *, entailment: float, neutral: float) -> Reading:
    passage = Passage(id="1", text="Dalby Hall was sold to a bank.")
    nli = NliScores(entailment=entailment, neutral=neutral, contradiction=1.0 - entailment - neutral)
    seen = Seen(Window(passage, 0, len(passage.text)), nli, 1.0)
    return Reading(claim, words_of(claim), {"entailment": 0.0}, seen, seen, seen, ())


@pytest.mark.parametrize(
    ("claim", "lifted_by", "neutral", "clears"),
    [
        pytest.param("Dalby Hall passed to a bank.", "sold", 0.1, False, id="the source's word makes it true"),
        pytest.param("Dalby Hall passed to a bank.", "nothing", 0.1, True, id="no word does"),
        pytest.param("Dalby Hall was later sold to a bank.", "was sold", 0.8, False, id="a word put in, left open"),
    ],
)
def test_a_word_is_minded_if_changing_it_helps(claim: str, lifted_by: str, neutral: float, clears: bool) -> None:
    nli = Scripted(lambda text: 0.95 if lifted_by in text and text != claim else 0.1)
    found = asyncio.run(minded_for_wording([doubted(claim, entailment=0.1, neutral=neutral)], nli))  # type: ignore[arg-type]
    assert found == [clears]


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        pytest.param(GATE.format("nine"), REWORDED.format("seven"), id="another number"),
        pytest.param("A bronze bell hangs above the door.", "A silver bell hangs above the door [1].", id="a material"),
        pytest.param("The canal is closed in winter.", "The canal is closed in summer [1].", id="a season"),
        pytest.param("The mayor turned down the plan.", "The mayor approved the plan [1].", id="the opposite"),
        pytest.param("The hospital has its own well.", "The hospital has no well [1].", id="a negation"),
        pytest.param("Rents rose by 8 percent last year.", "Last year, rents fell by 8 percent [1].", id="a direction"),
        pytest.param("The lion stands at the gate.", "The unicorn stands at the gate [1].", id="a thing"),
    ],
)
def test_a_word_that_the_source_says_otherwise_is_a_violation(
    guard: Callable[..., Guard], source: str, claim: str
) -> None:
    report = guard().check_sync(claim, evidence=[source])
    assert [finding.violation for finding in report.findings] == ["non_entailing"]


def test_a_name_of_another_passage_does_not_replace_the_name_in_the_cited_one(guard: Callable[..., Guard]) -> None:
    # Its name was known elsewhere, so "the lighthouse was designed by somebody" was enough.
    evidence: list[Any] = [
        "The Karsund Lighthouse was designed by Ines Farkas.",
        "The Karsund Lighthouse was designed by Maren Cerny. The critic Piet Farkas called it dull.",
    ]
    report = guard().check_sync("Ines Farkas designed the Karsund Lighthouse [2].", evidence=evidence)
    assert [finding.violation for finding in report.findings] == ["non_entailing"]


@pytest.mark.parametrize(
    ("source", "claim"),
    [
        ("The dike was raised in 1903 by 1,600 men.", "The dike was raised in 1903 by 16,000 men [1]."),
        ("The mill ran from 1710 to 1804 on 2,000 sacks.", "The mill ran from 1710 to 1804 on 200 sacks [1]."),
    ],
)
def test_a_figure_that_reads_like_a_year_is_still_another_figure(
    guard: Callable[..., Guard], source: str, claim: str
) -> None:
    report = guard().check_sync(claim, evidence=[source])
    assert [finding.violation for finding in report.findings] == ["non_entailing"]


@pytest.mark.parametrize("level", ["verified", "strict"])
@pytest.mark.parametrize(
    "passage",
    [
        "The Halden bridge opened in 1932. It is 210 metres long.",
        "The Halden bridge was opened in 1932. It was closed in 1945 and torn down.",
        "Opened in 1932, the Halden bridge crosses the Tista.",
        "The bridge at Halden has been open to traffic since 1932.",
    ],
)
def test_another_year_in_the_cited_passage_is_a_violation(
    guard: Callable[..., Guard], level: str, passage: str
) -> None:
    report = guard(level).check_sync("The Halden bridge opened in 1945 [1].", evidence=[passage])
    assert (report.status, [f.violation for f in report.findings]) == ("hallucinated", ["non_entailing"])


@pytest.mark.parametrize(
    ("level", "reason"),
    [
        ("soft", "all cited sources exist; level 'soft' does not read them"),
        ("required", "every claim cites a source that exists; level 'required' does not read them"),
    ],
)
def test_a_level_that_does_not_read_says_so(guard: Callable[..., Guard], level: str, reason: str) -> None:
    report = guard(level).check_sync(
        "The Halden bridge opened in 1945 [1].", evidence=["The Halden bridge opened in 1932."]
    )
    assert (report.status, report.checks["citations"].reason) == ("grounded", reason)
