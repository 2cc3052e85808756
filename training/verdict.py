"""Fit the verdict: weights over what the reading found, and thresholds by a budget of false alarms.

    python -m training.verdict ROWS.jsonl ... [--out evidencerails/verdict/verdict.json]

Rows are labelled passages (see `sequences`) that the reader was not trained on. Weights are fitted on statements and
sentences of answers. For budgets of false alarms from none to all, `warn` is the score that right answers reach no
more often, `block` that of claims read as contradicted; the settings choose the budget. Honest answers are those of the
rows, and one or two right statements of each row drawn at random: what is warned about is a whole answer.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from evidencerails.exchange import Passage
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.service import NliService
from evidencerails.settings.claims import GroundingSettings
from evidencerails.text.claimable import claim_sentences, clean
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import LIKELIER, ClaimEvidence, read_claims
from training.sequences import as_passages, rows_of

BASE = ("entailment", "contradiction")
DRAWN_ANSWERS = 1
"""Answers drawn from a row's right statements."""
BUDGETS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
console = Console(stderr=True)


@dataclass(frozen=True)
class Item:
    """A statement, or an answer of several sentences, with what the reading found of each sentence."""

    group: int
    is_right: bool
    kind: str
    evidence: tuple[ClaimEvidence, ...]
    labels: tuple[bool, ...]
    """Whether each sentence is right."""


async def items_of(rows: Sequence[dict[str, Any]], nli: NliService) -> list[Item]:
    """Statements and answers of the rows, read as the checks read them."""
    found: list[Item] = []
    for number, row in enumerate(map(as_passages, rows)):
        passages = [Passage(id=str(n), text=text) for n, text in enumerate(row["passages"], 1)]
        texts = [(label == "e", kind, clean(text)) for label, kind, *_, text in row["statements"]]
        answer = [(label == "e", clean(text)) for label, _, text in (row.get("answer") or {}).get("sentences", ())
                  if label != "-" and claim_sentences(text)]  # fmt: skip
        claims = [text for _, _, text in texts] + [text for _, text in answer]
        read = (await read_claims(claims, passages, nli)).claims
        for (is_right, kind, _), one in zip(texts, read, strict=False):
            found.append(Item(number, is_right, kind, (one,), (is_right,)))
        if answer:
            labels = tuple(label for label, _ in answer)
            found.append(Item(number, all(labels), "answer", tuple(read[len(texts) :]), labels))
    return found


def table(items: Sequence[Item]) -> tuple[np.ndarray, np.ndarray]:
    """Features (sentences, n), and whether each sentence is wrong."""
    rows = [
        ([one.features[name] for name in BASE], not right)
        for item in items
        for one, right in zip(item.evidence, item.labels, strict=True)
    ]
    return np.asarray([row[0] for row in rows]), np.asarray([row[1] for row in rows], int)


def fitted(x: np.ndarray, y: np.ndarray) -> LogisticRegression:
    """Both labels count the same, as nobody knows how often an app's answers are wrong."""
    return LogisticRegression(C=1.0, class_weight="balanced", max_iter=1_000).fit(x, y)


def right_answers(items: Sequence[Item]) -> list[list[ClaimEvidence]]:
    """Right answers of the rows, and answers drawn from the right statements of each."""
    rng = random.Random(0)
    found = [list(item.evidence) for item in items if item.is_right and item.kind == "answer"]
    statements: dict[int, list[ClaimEvidence]] = defaultdict(list)
    for item in items:
        if item.is_right and item.kind != "answer":
            statements[item.group].append(item.evidence[0])
    for own in statements.values():
        found += [rng.sample(own, min(len(own), rng.randint(1, 2))) for _ in range(DRAWN_ANSWERS)]
    return found


def thresholds(items: Sequence[Item], model: VerdictModel) -> dict[str, Any]:
    """For each budget the scores that right answers reach no more often than it allows."""
    answers = right_answers(items)
    worst = np.asarray([max(model.claim(one.features).score for one in answer) for answer in answers])
    against = np.asarray(
        [max(model.claim(one.features).score * _is_against(one) for one in answer) for answer in answers]
    )
    return {
        "warn": [[rate, round(float(np.quantile(worst, 1 - rate)), 4)] for rate in BUDGETS],
        "block": [[rate, round(max(0.5, float(np.quantile(against, 1 - rate))), 4)] for rate in BUDGETS],
        "partial": 0.35,
    }


def _is_against(one: ClaimEvidence) -> bool:
    return one.contradiction > one.entailment and one.contradiction >= LIKELIER


def report(items: Sequence[Item], model: VerdictModel) -> None:
    """What the thresholds give, by kind."""
    bar = model.warn_from(GroundingSettings().max_false_warnings)
    for kind in sorted({item.kind for item in items}):
        own = [item for item in items if item.kind == kind]
        flagged = {side: [i for i in own if i.is_right == side] for side in (True, False)}
        shares = [
            np.mean([max(model.claim(e.features).score for e in i.evidence) >= bar for i in flagged[side]] or [False])
            for side in (True, False)
        ]
        console.log(f"{kind:12} right flagged {shares[0]:.2f} of {len(flagged[True])}, "
                    f"wrong caught {shares[1]:.2f} of {len(flagged[False])}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--model", type=Path, help="folder of the embedded model")
    parser.add_argument("--out", type=Path, default=Path("evidencerails/verdict/verdict.json"))
    arguments = parser.parse_args()
    rows = [row for path in arguments.rows for row in rows_of(path)]
    items = asyncio.run(items_of(rows, NliService(EmbeddedModel(arguments.model))))
    x, y = table(items)
    fit = fitted(x, y)
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    data: dict[str, Any] = {
        "version": today.replace("-", "."),
        "claim": {
            "intercept": round(float(fit.intercept_[0]), 4),
            "weights": {name: round(float(weight), 4) for name, weight in zip(BASE, fit.coef_[0], strict=True)},
        },
        "thresholds": {"warn": [[0.1, 0.5]], "block": [[0.1, 0.5]], "partial": 0.35},
        "fit": {
            "rows": len(rows),
            "sentences": len(y),
        },
    }
    arguments.out.write_text(json.dumps(data, indent=1) + "\n")
    data["thresholds"] = thresholds(items, VerdictModel.load(arguments.out))
    final = arguments.out.with_name("verdict.new.json")
    final.write_text(json.dumps(data, indent=1) + "\n")
    report(items, VerdictModel.load(final))
    final.replace(arguments.out)
    console.log(json.dumps(data))


if __name__ == "__main__":
    main()
