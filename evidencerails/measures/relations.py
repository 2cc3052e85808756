"""What texts say about each other's statements, by NLI: for the measures that compare samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from evidencerails.exchange import Passage
from evidencerails.measures.base import MeasureContext
from evidencerails.measures.evidence import windows_for
from evidencerails.nli.base import CONTRADICTION, ENTAILMENT

Stand = Literal["supports", "contradicts", "silent"]


class Relation(NamedTuple):
    """What one text says about one statement: probabilities, each the highest over the text's windows."""

    entailment: float
    contradiction: float

    @property
    def stand(self) -> Stand:
        """Support wins: what a text says in one place is not taken back by another that words it differently."""
        if self.entailment >= DECIDES_FROM:
            return "supports"
        return "contradicts" if self.contradiction >= DECIDES_FROM else "silent"


DECIDES_FROM = 0.5
"""A relation is taken as given from this probability on: then it is likelier than both others together."""


async def relations(statements: Sequence[str], texts: Sequence[str], context: MeasureContext) -> list[list[Relation]]:
    """What each text says about each statement: `found[statement][text]`. One batch for all.

    Raises:
        NliError: the model failed.
    """
    evidence = [(Passage(id="sample", text=text),) for text in texts]
    per_text = [await context.nli.run(windows_for, statements, one, context.nli) for one in evidence]
    pairs = [
        (window.text, statement)
        for place, statement in enumerate(statements)
        for windows in per_text
        for window in windows.per_claim[place]
    ]
    rows = iter(await context.nli.scores(pairs))
    return [
        [_highest([next(rows) for _ in windows.per_claim[place]]) for windows in per_text]
        for place in range(len(statements))
    ]


def _highest(rows: Sequence[Sequence[float]]) -> Relation:
    entailment = max((float(row[ENTAILMENT]) for row in rows), default=0.0)
    return Relation(entailment, max((float(row[CONTRADICTION]) for row in rows), default=0.0))
