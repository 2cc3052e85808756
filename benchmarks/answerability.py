"""Is a question refused exactly where the evidence has no answer to it?

    python benchmarks/answerability.py

Questions to 20 pairs of made passages (terms, leaflets, manuals, reports), written for this file: answered in words of
the passages or in others, with a pronoun, with the turn before; and not answered though the passages are about that,
sharing only a name with them, or about something else. `min_relevance` and `min_answer_score` were chosen on the
questions of ten pairs; those of the other ten decided nothing. Prints every number as JSON and writes the table into
docs/reference/benchmarks.md.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from tables import publish

from evidencerails import Guard

CASES = Path(__file__).with_name("answerability_cases.jsonl")
UNANSWERED = {
    "in_topic": "not said, about the same thing",
    "follow_up_unanswered": "not said, leaning on the turn before",
    "follow_up_elsewhere": "about another thing of the turn before",
    "shared_name": "about something else of the same name",
    "elsewhere": "about something else",
}
ANSWERED = {
    "stated": "said, in its words",
    "reworded": "said, in other words",
    "yes_no": "yes or no",
    "across": "from two passages, or by a sum",
    "pronoun": "with a pronoun, no turn before",
    "follow_up": "leaning on the turn before",
    "ellipsis": "without a verb, after the turn before",
    "switch": "said, after a turn about something else",
}
SPLITS = {"tune": "chosen on", "held_out": "held out"}


class Outcome(NamedTuple):
    """What became of one question."""

    split: str
    kind: str
    is_answered: bool

    @property
    def is_right(self) -> bool:
        """True if it was answered where there is an answer, and only there."""
        return self.is_answered == (self.kind in ANSWERED)


async def outcomes_of(rows: Sequence[dict[str, Any]], guard: Guard) -> list[Outcome]:
    """Each question of each row through the engine."""
    found = []
    for row in rows:
        for asked in row["questions"]:
            messages = [*([asked["before"]] if "before" in asked else []), asked["question"]]
            result = await guard.answerability(messages, evidence=row["evidence"])
            found.append(Outcome(row["split"], asked["kind"], result.action == "answer"))
    return found


def _row(name: str, kinds: Sequence[str], outcomes: Sequence[Outcome]) -> list[str]:
    cells = [name]
    for split in SPLITS:
        right = [one.is_right for one in outcomes if one.split == split and one.kind in kinds]
        cells.append(f"{sum(right)} of {len(right)}")
    return cells


def _accuracy(split: str, outcomes: Sequence[Outcome]) -> float:
    of_split = [one for one in outcomes if one.split == split]
    shares = [
        fmean(one.is_right for one in of_split if (one.kind in ANSWERED) is answered) for answered in (True, False)
    ]
    return fmean(shares)


def main() -> None:
    """Ask, publish."""
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    outcomes = asyncio.run(outcomes_of(rows, Guard()))
    table = [["questions treated rightly", *SPLITS.values()]]
    table += [_row(f"answered: {text}", [kind], outcomes) for kind, text in ANSWERED.items()]
    table += [_row(f"refused: {text}", [kind], outcomes) for kind, text in UNANSWERED.items()]
    accuracy = {split: _accuracy(split, outcomes) for split in SPLITS}
    table.append(["balanced accuracy", *(f"{value:.3f}" for value in accuracy.values())])
    publish("answerability", table, {"balanced_accuracy": accuracy, "outcomes": [list(one) for one in outcomes]})


if __name__ == "__main__":
    main()
