"""Single statements beside the kind of document a chatbot answers from: terms, leaflets, reports, manuals.

    python benchmarks/everyday.py [--nli FOLDER]

200 statements about 25 made passages, written for this file by someone who saw neither the engine nor what it was
trained on: of each passage four are supported (one nearly verbatim, three reworded), three contradicted in words of the
passage, one absent. Public sets of summaries are mostly copied; these are not, so that shared words help nobody. Other
statements of the same making, about other passages, are in `training/everyday.jsonl`, to develop with. Unverified
statements count as wrong. Prints every number as JSON and writes the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tables import publish

from evidencerails import Guard
from evidencerails.evaluation.metrics import auroc, balanced_accuracy, bootstrap_interval
from evidencerails.evaluation.results import best_flags, features
from evidencerails.evaluation.rows import Row
from evidencerails.nli.embedded import EmbeddedModel

CASES = Path(__file__).with_name("everyday_cases.jsonl")
LABELS = ("supported", "contradicted", "absent")
FATES = {"allow": "passed", "warn": "warned", "block": "blocked"}


class Outcome(NamedTuple):
    """What became of one statement."""

    label: str
    fate: str
    """blocked, warned, passed or unverified."""
    score: float


def outcomes_of(rows: Sequence[dict[str, str]], guard: Guard) -> list[Outcome]:
    """Each statement through the engine."""
    found = []
    for row in rows:
        report = guard.check_sync(row["statement"], evidence=[row["passage"]])
        fate = "unverified" if report.status == "unverified" else FATES[report.decision]
        score = report.hallucination_score
        found.append(Outcome(row["label"], fate, 0.5 if score is None else score))
    return found


def nli_scores(rows: Sequence[dict[str, str]], model: EmbeddedModel) -> list[float]:
    """1 - P(entailment) by the passage: the model alone."""
    return [1.0 - float(row[0]) for row in model.scores([(row["passage"], row["statement"]) for row in rows])]


def unseen_words(row: dict[str, str]) -> float:
    """Share of the statement's content words that the passage lacks."""
    as_row = Row(id=row["id"], response=row["statement"], hallucinated=None, evidence=(row["passage"],))
    return features(as_row)["unseen_words"]


def table_row(
    name: str, wrong: Sequence[bool], scores: Sequence[float], flags: Sequence[bool], groups: Sequence[str]
) -> list[str]:
    """Shares and intervals of one method; whole passages are drawn."""
    kinds = Counter((bool(is_wrong), bool(flag)) for is_wrong, flag in zip(wrong, flags, strict=True))
    caught = kinds[True, True] / max(1, kinds[True, True] + kinds[True, False])
    alarms = kinds[False, True] / max(1, kinds[False, True] + kinds[False, False])
    area = bootstrap_interval(wrong, scores, auroc, groups=groups)
    balanced = bootstrap_interval(wrong, [float(flag) for flag in flags], balanced_accuracy, groups=groups)
    return [name, f"{caught:.0%}", f"{alarms:.0%}", str_of(balanced), str_of(area)]


def str_of(interval: Any) -> str:
    return f"{interval.value:.3f} ({interval.low:.3f}–{interval.high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nli", type=Path, help="folder of another NLI model")
    folder = parser.parse_args().nli
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    model = EmbeddedModel(folder) if folder else EmbeddedModel()
    outcomes = outcomes_of(rows, Guard({"checks": ["grounding"]}, nli=model))
    wrong = [outcome.label != "supported" for outcome in outcomes]
    groups = [row["passage"] for row in rows]
    alone = nli_scores(rows, model)
    unseen = [unseen_words(row) for row in rows]
    # An unverified statement counts as wrong, whichever way it would have to go.
    flags = [
        o.fate in ("blocked", "warned") if o.fate != "unverified" else not w
        for o, w in zip(outcomes, wrong, strict=True)
    ]
    methods = [
        table_row("grounding rail", wrong, [outcome.score for outcome in outcomes], flags, groups),
        table_row("NLI model alone, from 0.5", wrong, alone, [score >= 0.5 for score in alone], groups),
        table_row("unseen words, best threshold on these rows", wrong, unseen, list(best_flags(wrong, unseen)), groups),
        table_row("everything flagged", wrong, [1.0] * len(rows), [True] * len(rows), groups),
    ]
    fates = {label: Counter(o.fate for o in outcomes if o.label == label) for label in LABELS}
    data = {"rows": len(rows), "fates": fates, "methods": methods}
    publish("everyday", [["method", "wrong ones flagged", "right ones flagged", "bal. acc.", "AUROC"], *methods], data)
    kinds = [
        [
            label,
            str(sum(fates[label].values())),
            *(str(fates[label][f]) for f in ("blocked", "warned", "passed", "unverified")),
        ]
        for label in LABELS
    ]
    publish("everyday_fates", [["statement", "n", "blocked", "warned", "passed", "unverified"], *kinds], {})


if __name__ == "__main__":
    main()
