"""The outcomes of one method as columns of numbers, so that a hundred thousand rows take a few megabytes."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from heapq import heappush, heappushpop

import numpy as np

from evidencerails.evaluation.baselines import FEATURES
from evidencerails.evaluation.metrics import Bools, Floats
from evidencerails.evaluation.outcomes import Outcome, Overlap

WORST_KEPT = 20
_STATUS = {"hallucinated": 1.0, "grounded": 0.0}
"""Any other status is unverified: -1."""


class Table:
    """Columns of numbers that grow row by row; a missing value is NaN."""

    def __init__(self, *names: str) -> None:
        self._columns = {name: array("d") for name in names}
        self.rows = 0

    def add(self, **values: float | None) -> None:
        """Add a row; a column that is not named gets NaN."""
        for name, column in self._columns.items():
            value = values.get(name)
            column.append(float("nan") if value is None else value)
        self.rows += 1

    def __getitem__(self, name: str) -> Floats:
        column = self._columns[name]
        return np.frombuffer(column, dtype=np.float64) if len(column) else np.empty(0)

    def flags(self, name: str) -> Bools:
        """A column of truth values."""
        return self[name] == 1  # type: ignore[no-any-return]


def _units() -> Table:
    """Claims or sentences: label, score, flag, and the number of the row's document."""
    return Table("label", "score", "flag", "group")


class Columns:
    """All that the metrics read of one method."""

    def __init__(self) -> None:
        self.responses = Table("label", "status", "score", "grade", "latency_ms", "llm_calls", "tokens", "group")
        self.baselines = Table(*FEATURES)
        self.claims = _units()
        """Their label is the response's."""
        self.gold_claims = _units()
        """Claims of rows with spans; their label is whether they touch one."""
        self.sentences = _units()
        self.lost_sentences = 0
        self.overlaps: dict[str, list[tuple[int, Overlap]]] = {"characters": [], "words": []}
        self.reasons: Counter[str] = Counter()
        """Why rows are unverified, by the code of the reason."""
        self.worst: list[tuple[float, str]] = []
        """Rows judged wrongly, with how wrong (1 is certain and wrong); a heap of the worst."""

    def add(self, outcome: Outcome, group: int) -> None:
        """Add one outcome; `group` is the number of its document."""
        self.responses.add(
            label=outcome.hallucinated,
            status=_STATUS.get(outcome.status, -1.0),
            score=outcome.score,
            grade=float(outcome.hallucinated) if outcome.grade is None else outcome.grade,
            latency_ms=outcome.latency_ms,
            llm_calls=outcome.llm_calls,
            tokens=outcome.tokens,
            group=group,
        )
        self.baselines.add(**outcome.baselines)
        if outcome.status == "unverified":
            self.reasons[outcome.reason.split(":")[0] or "no reason given"] += 1
        else:
            self._add_units(outcome, group)
            self._note_wrong(outcome)

    def _add_units(self, outcome: Outcome, group: int) -> None:
        for place, (_, _, score, flag) in enumerate(outcome.parts):
            self.claims.add(label=outcome.hallucinated, score=score, flag=flag, group=group)
            if outcome.gold_parts is not None:
                self.gold_claims.add(label=outcome.gold_parts[place], score=score, flag=flag, group=group)
        for label, score, flag in outcome.sentences:
            self.sentences.add(label=label, score=score, flag=flag, group=group)
        self.lost_sentences += outcome.lost_sentences
        for name, overlap in (("characters", outcome.characters), ("words", outcome.words)):
            if overlap is not None:
                self.overlaps[name].append((group, overlap))

    def _note_wrong(self, outcome: Outcome) -> None:
        if outcome.flagged == outcome.hallucinated:
            return
        score = 0.5 if outcome.score is None else outcome.score
        item = (1.0 - score if outcome.hallucinated else score, outcome.id)
        if len(self.worst) < WORST_KEPT:
            heappush(self.worst, item)
        else:
            heappushpop(self.worst, item)

    @property
    def truth(self) -> Bools:
        """Labels of all rows."""
        return self.responses.flags("label")

    @property
    def verified(self) -> Bools:
        """Rows that the method has a verdict on."""
        return self.responses["status"] >= 0

    @property
    def flagged(self) -> Bools:
        """Rows that the method flags."""
        return self.responses.flags("status")


def columns_of(outcomes: Iterable[Outcome]) -> dict[str, Columns]:
    """The columns of each method, in the order in which the methods appear."""
    found: dict[str, Columns] = {}
    documents: dict[str, int] = {}
    for outcome in outcomes:
        group = documents.setdefault(outcome.document, len(documents))
        found.setdefault(outcome.method, Columns()).add(outcome, group)
    return found
