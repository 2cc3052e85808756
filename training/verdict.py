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
import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from evidencerails.exchange import Passage, Span
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.service import NliService
from evidencerails.settings.claims import GroundingSettings
from evidencerails.text.claimable import claim_sentences, clean
from evidencerails.verdict.model import CLAIM_FEATURES, PLAIN_FEATURES, Thresholds, VerdictModel, logit
from evidencerails.verdict.reading import LIKELIER, ClaimEvidence, Hypothesis, hypotheses, read_claims
from training.sequences import as_passages

DRAWN_ANSWERS = 1
"""Answers drawn from a row's right statements."""
MULTIPLES = (1.0, 1.5, 2.0, 3.0, math.inf)
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
        texts = [(label == "e", kind, clean(text)) for label, kind, *_, text in row.get("statements", ())]
        answers = [claimed(answer) for answer in row.get("answers") or [row.get("answer")] if answer]
        claims = [text for _, _, text in texts] + [wording for answer in answers for _, wording in answer]
        read = iter((await read_claims(claims, passages, nli)).claims)
        found += [Item(number, is_right, kind, (next(read),), (is_right,)) for is_right, kind, _ in texts]
        for answer in filter(None, answers):
            labels = tuple(label for label, _ in answer)
            found.append(Item(number, all(labels), "answer", tuple(next(read) for _ in answer), labels))
    return found


def claimed(answer: Mapping[str, Any]) -> list[tuple[bool, Hypothesis]]:
    """The sentences of an answer that make a claim, as the checks word them, and whether each is right."""
    found = [(label == "e", text) for label, _, text in answer["sentences"] if label != "-" and claim_sentences(text)]
    spans = [Span.of(text, 0, len(text)) for _, text in found]
    wordings = hypotheses(spans, answer.get("question", ""))
    return [(is_right, wording) for (is_right, _), wording in zip(found, wordings, strict=True)]


def table(items: Sequence[Item]) -> tuple[np.ndarray, np.ndarray]:
    """Features (sentences, n), and whether each sentence is wrong."""
    rows = [
        ([one.features[name] for name in CLAIM_FEATURES], not right)
        for item in items
        for one, right in zip(item.evidence, item.labels, strict=True)
    ]
    return np.asarray([row[0] for row in rows]), np.asarray([row[1] for row in rows], int)


def fitted(x: np.ndarray, y: np.ndarray) -> LogisticRegression:
    """Both labels count the same, as nobody knows how often an app's answers are wrong."""
    return LogisticRegression(C=1.0, class_weight="balanced", max_iter=1_000).fit(x, y)


def described(fit: LogisticRegression, names: Sequence[str]) -> dict[str, Any]:
    """A fit as `verdict.json` has it."""
    weights = {name: round(float(weight), 4) for name, weight in zip(names, fit.coef_[0], strict=True)}
    return {"intercept": round(float(fit.intercept_[0]), 4), "weights": weights}


def scaled(data: Mapping[str, Any], items: Sequence[Item], model: VerdictModel) -> dict[str, Any]:
    """The fit without probes, its log-odds scaled so that the default budgets end at the thresholds of the one with
    probes."""
    plain = [replace(item, evidence=tuple(map(_without_probes, item.evidence))) for item in items]
    budgets = (GroundingSettings().max_false_warnings, GroundingSettings().max_false_blocks)
    wanted, found = (
        [logit(dict(warn)[budget]) for budget in budgets]
        for warn in (data["thresholds"]["warn"], thresholds(plain, model)["warn"])
    )
    factor = (wanted[1] - wanted[0]) / (found[1] - found[0])
    old = data["claim_without_probes"]
    return {
        "intercept": round(factor * (old["intercept"] - found[0]) + wanted[0], 4),
        "weights": {name: round(factor * weight, 4) for name, weight in old["weights"].items()},
    }


def _without_probes(one: ClaimEvidence) -> ClaimEvidence:
    return one._replace(features={name: one.features[name] for name in PLAIN_FEATURES})


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


def flagged_at(answer: Sequence[ClaimEvidence], model: VerdictModel, multiple: float = math.inf) -> float:
    """The threshold up to which an answer is flagged: the score of its worst sentence; 1.0, always, if a contradiction
    is more than `multiple` times its support."""
    return max(
        1.0 if one.contradiction > multiple * one.entailment else model.claim(one.features).score for one in answer
    )


def thresholds(items: Sequence[Item], model: VerdictModel, multiple: float = math.inf) -> dict[str, Any]:
    """For each budget the scores that right answers reach no more often than it allows."""
    answers = right_answers(items)
    worst = np.asarray([flagged_at(answer, model, multiple) for answer in answers])
    highest = float(worst[worst < 1.0].max())
    against = np.asarray(
        [max(model.claim(one.features).score * _is_against(one) for one in answer) for answer in answers]
    )
    return {
        "warn": [[rate, round(min(highest, float(np.quantile(worst, 1 - rate))), 4)] for rate in BUDGETS],
        "block": [[rate, round(max(0.5, float(np.quantile(against, 1 - rate))), 4)] for rate in BUDGETS],
        "partial": 0.35,
    }


def _is_against(one: ClaimEvidence) -> bool:
    return one.contradiction > one.entailment and one.contradiction >= LIKELIER


def shares(items: Sequence[Item], model: VerdictModel, bar: float, multiple: float = math.inf) -> tuple[float, float]:
    """Shares of the right and of the wrong ones that are flagged."""
    flags = {side: [flagged_at(i.evidence, model, multiple) >= bar for i in items if i.is_right == side]
             for side in (True, False)}  # fmt: skip
    return float(np.mean(flags[True] or [False])), float(np.mean(flags[False] or [False]))


def by_multiple(items: Sequence[Item], model: VerdictModel) -> list[list[Any]]:
    """What flagging every claim whose contradiction is so many times its support would give: shares of right and wrong
    answers that are flagged at the default budget. None is no such rule."""
    answers = [item for item in items if item.kind == "answer"]
    found: list[list[Any]] = []
    for multiple in MULTIPLES:
        limits = model.model_copy(update={"thresholds": Thresholds(**thresholds(items, model, multiple))})
        bar = limits.warn_from(GroundingSettings().max_false_warnings)
        flagged, caught = shares(answers, model, bar, multiple)
        found.append([None if multiple == math.inf else multiple, round(flagged, 3), round(caught, 3)])
    return found


def report(items: Sequence[Item], model: VerdictModel) -> None:
    """What the thresholds give, by kind."""
    bar = model.warn_from(GroundingSettings().max_false_warnings)
    for kind in sorted({item.kind for item in items}):
        own = [item for item in items if item.kind == kind]
        right = sum(item.is_right for item in own)
        flagged, caught = shares(own, model, bar)
        console.log(
            f"{kind:12} right flagged {flagged:.2f} of {right}, wrong caught {caught:.2f} of {len(own) - right}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--model", type=Path, help="folder of the embedded model")
    parser.add_argument("--out", type=Path, default=Path("evidencerails/verdict/verdict.json"))
    arguments = parser.parse_args()
    rows = [json.loads(line) for path in arguments.rows for line in path.read_text(encoding="utf-8").splitlines()]
    items = asyncio.run(items_of(rows, NliService(EmbeddedModel(arguments.model))))
    x, y = table(items)
    fit = fitted(x, y)
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    data: dict[str, Any] = {
        "version": today.replace("-", "."),
        "claim": described(fit, CLAIM_FEATURES),
        "claim_without_probes": described(fitted(x[:, : len(PLAIN_FEATURES)], y), PLAIN_FEATURES),
        "thresholds": {"warn": [[0.1, 0.5]], "block": [[0.1, 0.5]], "partial": 0.35},
        "fit": {
            "rows": len(rows),
            "sentences": len(y),
        },
    }
    arguments.out.write_text(json.dumps(data, indent=1) + "\n")
    model = VerdictModel.load(arguments.out)
    data["thresholds"] = thresholds(items, model)
    data["claim_without_probes"] = scaled(data, items, model)
    data["fit"]["outweighed"] = by_multiple(items, model)
    final = arguments.out.with_name("verdict.new.json")
    final.write_text(json.dumps(data, indent=1) + "\n")
    report(items, VerdictModel.load(final))
    final.replace(arguments.out)
    console.log(json.dumps(data))


if __name__ == "__main__":
    main()
