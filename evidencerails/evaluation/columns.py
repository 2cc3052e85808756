"""The outcomes of one method as arrays: numbers only, so that a hundred thousand rows take a few megabytes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappush, heappushpop

import numpy as np

from evidencerails.evaluation.metrics import Bools, Floats
from evidencerails.evaluation.outcomes import Outcome, Overlap

WORST_KEPT = 20
_NAN = float("nan")


def _floats() -> array[float]:
    return array("d")


def _bytes() -> array[int]:
    return array("b")


@dataclass
class Units:
    """Claims or sentences of all rows: label, score (NaN if missing), flag, and the number of the row's document."""

    labels: array[int] = field(default_factory=_bytes)
    scores: array[float] = field(default_factory=_floats)
    flags: array[int] = field(default_factory=_bytes)
    groups: array[float] = field(default_factory=_floats)

    def add(self, label: bool, score: float | None, flag: bool, group: int) -> None:
        """Add one."""
        self.labels.append(label)
        self.scores.append(_NAN if score is None else score)
        self.flags.append(flag)
        self.groups.append(group)


@dataclass
class Columns:
    """All that the metrics read of one method."""

    labels: array[int] = field(default_factory=_bytes)
    statuses: array[int] = field(default_factory=_bytes)
    """1 flagged, 0 passed, -1 unverified."""
    scores: array[float] = field(default_factory=_floats)
    grades: array[float] = field(default_factory=_floats)
    latencies_ms: array[float] = field(default_factory=_floats)
    llm_calls: array[float] = field(default_factory=_floats)
    tokens: array[float] = field(default_factory=_floats)
    groups: array[float] = field(default_factory=_floats)
    baselines: dict[str, array[float]] = field(default_factory=dict)
    parts: Units = field(default_factory=Units)
    """Claims; their label is the response's."""
    gold_parts: Units = field(default_factory=Units)
    """Claims of rows with spans; their label is whether they touch one."""
    sentences: Units = field(default_factory=Units)
    lost_sentences: int = 0
    overlaps: dict[str, list[tuple[int, Overlap]]] = field(default_factory=lambda: {"characters": [], "words": []})
    reasons: dict[str, int] = field(default_factory=dict)
    """Why rows are unverified, by the code of the reason."""
    worst: list[tuple[float, str]] = field(default_factory=list)
    """Rows told wrong, with how wrong (1 is certain and wrong); a heap of the worst."""

    def add(self, outcome: Outcome, group: int) -> None:
        """Add one outcome; `group` is the number of its document."""
        self.labels.append(outcome.hallucinated)
        self.statuses.append({"hallucinated": 1, "grounded": 0}.get(outcome.status, -1))
        self.scores.append(_NAN if outcome.score is None else outcome.score)
        self.grades.append(float(outcome.hallucinated) if outcome.grade is None else outcome.grade)
        self.latencies_ms.append(outcome.latency_ms)
        self.llm_calls.append(outcome.llm_calls)
        self.tokens.append(outcome.tokens)
        self.groups.append(group)
        for name in {*outcome.baselines, *self.baselines}:
            if name not in self.baselines:
                self.baselines[name] = array("d", [_NAN] * (len(self.labels) - 1))
            self.baselines[name].append(outcome.baselines.get(name, _NAN))
        if outcome.status == "unverified":
            code = outcome.reason.split(":")[0] or "no reason given"
            self.reasons[code] = self.reasons.get(code, 0) + 1
        else:
            self._add_units(outcome, group)
            self._note_wrong(outcome)

    def _add_units(self, outcome: Outcome, group: int) -> None:
        for place, (_, _, score, flag) in enumerate(outcome.parts):
            self.parts.add(outcome.hallucinated, score, flag, group)
            if outcome.gold_parts is not None:
                self.gold_parts.add(outcome.gold_parts[place], score, flag, group)
        for label, score, flag in outcome.sentences:
            self.sentences.add(label, score, flag, group)
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
        return np.frombuffer(self.labels, dtype=np.int8).astype(np.bool_)

    @property
    def verified(self) -> Bools:
        """Rows that the method said something about."""
        found: Bools = np.frombuffer(self.statuses, dtype=np.int8) >= 0
        return found

    @property
    def flagged(self) -> Bools:
        """Rows that the method flags."""
        found: Bools = np.frombuffer(self.statuses, dtype=np.int8) == 1
        return found


def floats(column: array[float]) -> Floats:
    """A column as an array."""
    return np.frombuffer(column, dtype=np.float64) if len(column) else np.empty(0)


def columns_of(outcomes: Iterable[Outcome]) -> dict[str, Columns]:
    """The columns of each method, in the order in which the methods appear."""
    found: dict[str, Columns] = {}
    documents: dict[str, int] = {}
    for outcome in outcomes:
        group = documents.setdefault(outcome.document, len(documents))
        found.setdefault(outcome.method, Columns()).add(outcome, group)
    return found
