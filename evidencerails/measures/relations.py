"""What texts say about each other's statements, by NLI: for the measures that compare samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from evidencerails.exchange import Passage
from evidencerails.measures.base import MeasureContext
from evidencerails.verdict.reading import ClaimEvidence, read_claims

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
    """What each text says about each statement: `found[statement][text]`.

    Raises:
        NliError: the model failed.
    """
    columns = [(await read_claims(statements, [Passage(id="sample", text=text)], context.nli)).claims for text in texts]
    return [[_highest(column[place]) for column in columns] for place in range(len(statements))]


def _highest(read: ClaimEvidence) -> Relation:
    scores = [window.nli for window in read.windows]
    return Relation(
        max((one.entailment for one in scores), default=0.0), max((one.contradiction for one in scores), default=0.0)
    )
