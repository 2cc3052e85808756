"""Measure the shipped weights and verdict, and write the tables of the model card.

    python -m training.evaluate --data DIR [--rows 150] [--pairs 1000] [--card docs/model-card.md]

Everything goes through the reading of the package. Sets are drawn at random with a fixed seed (`--rows 0`: all rows);
each table says how many. Nothing of these rows was used to fit weights or verdict. Intervals are 95 %, from resampling
rows."""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.metrics import roc_auc_score

from evidencerails.exchange import Passage
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.service import NliService
from evidencerails.settings.claims import GroundingSettings
from evidencerails.text.claimable import claim_sentences
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import hypotheses, read_claims
from training.common import read_pairs
from training.sequences import lexical_overlap, rows_of
from training.verdict import Item, items_of

SEED, DRAWS = 20, 500
WARNINGS = GroundingSettings().max_false_warnings
SETS = {
    "halueval_qa": "HaluEval-QA",
    "summeval": "SummEval",
    "qags_cnndm": "QAGS-CNN/DM",
    "begin": "BEGIN",
    "q2_wow": "Q2",
    "dialsummeval": "DialSummEval",
    "xsum_faith": "XSum faithfulness",
    "summedits": "SummEdits",
}
NLI_SETS = {
    "eval_mnli_dev_matched": "MultiNLI matched",
    "eval_breaking_nli": "Breaking NLI",
    "eval_control_dev": "ConTRoL dev",
    "eval_qnli_dev": "QNLI dev",
}
console = Console(stderr=True)


def drawn(path: Path, count: int) -> list[dict[str, Any]]:
    """Some rows of a set at random, or all for 0."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(SEED).shuffle(rows)
    return rows[:count] if count else rows


async def response_score(row: dict[str, Any], nli: NliService, model: VerdictModel) -> float:
    """The score of an answer's worst sentence; 0.0 if nothing in it claims anything."""
    prompt = row.get("prompt") or ""
    spans = claim_sentences(row["response"])
    passages = [Passage(id=str(n), text=text) for n, text in enumerate(row["evidence"], 1)]
    read = (await read_claims(hypotheses(spans, prompt), passages, nli)).claims
    return model.response([model.claim(one.features) for one in read])


def interval(wrong: Sequence[bool], scores: Sequence[float]) -> tuple[float, float, float]:
    """AUROC and its 95 % interval."""
    labels, values = np.asarray(wrong, int), np.asarray(scores)
    rng = np.random.default_rng(SEED)
    found: list[float] = []
    while len(found) < DRAWS:
        chosen = rng.integers(len(labels), size=len(labels))
        if 0 < labels[chosen].sum() < len(chosen):
            found.append(float(roc_auc_score(labels[chosen], values[chosen])))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(roc_auc_score(labels, values)), float(low), float(high)


def shown(value: tuple[float, float, float]) -> str:
    return f"{value[0]:.3f} ({value[1]:.3f}–{value[2]:.3f})"


def balanced_accuracy(wrong: Sequence[bool], scores: Sequence[float], bar: float) -> float:
    """Mean of both classes' shares of right flags at the shipped threshold."""
    labels, flags = np.asarray(wrong, bool), np.asarray(scores) >= bar
    return float((flags[labels].mean() + (~flags[~labels]).mean()) / 2)


def bench_table(folder: Path, count: int, nli: NliService, model: VerdictModel) -> list[list[str]]:
    """A row a public set."""
    table = [["set", "answers", "AUROC", "bal. acc. at the shipped threshold", "overlap alone", "length alone"]]
    for name, title in SETS.items():
        rows = drawn(folder / f"{name}.jsonl.gz", count)

        async def scored(rows: list[dict[str, Any]] = rows) -> list[float]:
            return [await response_score(row, nli, model) for row in rows]

        scores = asyncio.run(scored())
        wrong = [bool(row["hallucinated"]) for row in rows]
        overlap = [-lexical_overlap(row["response"], " ".join(row["evidence"])) for row in rows]
        length = [float(len(row["response"])) for row in rows]
        accuracy = balanced_accuracy(wrong, scores, model.warn_from(WARNINGS))
        cells = [shown(interval(wrong, values)) for values in (scores, overlap, length)]
        table.append([title, str(len(rows)), cells[0], f"{accuracy:.3f}", *cells[1:]])
        console.log(" | ".join(table[-1]))
    return table


def nli_table(folder: Path, count: int, reader: EmbeddedModel) -> list[list[str]]:
    """Accuracy on pairs; sets with two labels count what is entailed and what is not."""
    table = [["set", "pairs", "accuracy"]]
    for name, title in NLI_SETS.items():
        pairs = read_pairs(folder / f"{name}.jsonl.gz")
        random.Random(SEED).shuffle(pairs)
        pairs = pairs[:count] if count else pairs
        chosen = reader.scores([(pair.premise, pair.hypothesis) for pair in pairs]).argmax(axis=1)
        labels = np.asarray([pair.label for pair in pairs])
        right = np.where(labels == 3, chosen != 0, chosen == labels)
        if (labels == 3).any():
            right = np.where(labels == 0, chosen == 0, right)
        table.append([title, str(len(pairs)), f"{right.mean():.3f}"])
        console.log(" | ".join(table[-1]))
    return table


def phenomena_table(items: Sequence[Item], model: VerdictModel) -> list[list[str]]:
    """Held-out statements by phenomenon, and answers."""
    table = [["phenomenon", "right", "flagged", "wrong", "caught", "balanced accuracy", "AUROC"]]
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.kind].append(item)
        groups["all statements" if item.kind != "answer" else "whole answers"].append(item)
    groups.pop("answer", None)
    groups.pop("", None)
    totals = [name for name in ("all statements", "whole answers") if name in groups]
    for kind in [*sorted(groups.keys() - {*totals}), *totals]:
        own = groups[kind]
        scores = [max(model.claim(one.features).score for one in item.evidence) for item in own]
        wrong = np.asarray([not item.is_right for item in own])
        flags = np.asarray(scores) >= model.warn_from(WARNINGS)
        flagged, caught = float(flags[~wrong].mean()), float(flags[wrong].mean())
        counts = [str(int((~wrong).sum())), f"{flagged:.0%}", str(int(wrong.sum())), f"{caught:.0%}"]
        table.append([kind, *counts, f"{(1 - flagged + caught) / 2:.3f}", shown(interval(list(wrong), scores))])
    return table


def markdown(table: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in table]
    return "\n".join([lines[0], "| " + " | ".join("---" for _ in table[0]) + " |", *lines[1:]])


def write_tables(card: Path, tables: dict[str, list[list[str]]]) -> None:
    """Put the tables between their marks in the card."""
    text = card.read_text(encoding="utf-8")
    for name, table in tables.items():
        start = text.index(f"<!-- table: {name} -->\n") + len(f"<!-- table: {name} -->\n")
        text = text[:start] + markdown(table) + "\n" + text[text.index("<!-- end -->", start) :]
    card.write_text(text, encoding="utf-8")


def outweighed_table(path: Path) -> list[list[str]]:
    """What a rule for contradictions above the support would give, out of the fit's own description."""
    rows = [["contradiction flags a claim from", "right development answers flagged", "wrong ones caught"]]
    for multiple, right, wrong in json.loads(path.read_text())["fit"]["outweighed"]:
        shown = f"{multiple:g} times its support" if multiple else "never: the probability decides (shipped)"
        rows.append([shown, f"{right:.1%}", f"{wrong:.1%}"])
    return rows


def run_table(folder: Path) -> list[list[str]]:
    """What the weights were made from, out of their own description."""
    about = json.loads((folder / "model.json").read_text())
    checks, training = about.get("checks", {}), about.get("training", {})
    rows = [["what", "value"]]
    rows += [[f"training: {name}", f"{value:,}"] for name, value in training.items() if isinstance(value, int)]
    rows += [[f"export: {name}", f"{value:.3f}"] for name, value in checks.items()]
    size = sum(entry["bytes"] for entry in about["files"].values())
    return [*rows, ["files, MB", f"{size / 1e6:.1f}"], ["temperature", f"{about['temperature']:.3f}"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--card", type=Path, default=Path("docs/model-card.md"))
    arguments = parser.parse_args()
    reader, model = EmbeddedModel(), VerdictModel.load()
    nli = NliService(reader)
    held_out = rows_of(Path(__file__).with_name("passages_held_out.jsonl"))
    older = rows_of(Path(__file__).with_name("written_held_out.jsonl"))
    tables = {"phenomena": phenomena_table(asyncio.run(items_of(held_out, nli)), model)}
    tables["older"] = phenomena_table(asyncio.run(items_of(older, nli)), model)
    tables["run"] = run_table(Path("evidencerails/nli/model"))
    tables["outweighed"] = outweighed_table(Path("evidencerails/verdict/verdict.json"))
    write_tables(arguments.card, tables)
    tables["nli"] = nli_table(arguments.data / "nli", arguments.pairs, reader)
    write_tables(arguments.card, tables)
    tables["bench"] = bench_table(arguments.data / "bench", arguments.rows, nli, model)
    write_tables(arguments.card, tables)


if __name__ == "__main__":
    main()
