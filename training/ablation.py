"""What the data and the layers give: short runs of one length from the pretrained encoder, and a table of them.

    python -m training.ablation --data DIR --encoder DIR [--tokens 700000] [--work-dir .training/ablation]

In: the written passages and the public pairs, whole or in part. Out: a table of docs/model-card.md. Every run reads the
same number of tokens and differs from the first one in one thing. Measured in float on held-out written rows, whose
statements are read beside all passages of their row, and on MultiNLI. A finished run is not repeated."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from training import train
from training.common import read_pairs
from training.encoder import PackedReader
from training.evaluate import SEED, interval, shown, write_tables
from training.sequences import LETTERS, Packer, Reading, as_passages, batches, rows_of

PUBLIC, NEW = 1400, 130
"""Statements of public pairs and written rows in a chunk, of the runs that have both."""
PAIRS = 1000
TIMED_ROWS = 30
HEADS = (
    *("run", "written rows", "statements read", "held-out statements, AUROC", "sentences of held-out answers, AUROC"),
    *("MultiNLI, accuracy", "million parameters in layers", "ms a statement, in float"),
)


class Variant(NamedTuple):
    """One run."""

    name: str
    layers: int = 9
    written_share: float = 1.0
    """Share of the written rows that the run may draw from, [0, 1]."""
    public: int = PUBLIC

    @property
    def folder(self) -> str:
        return self.name.replace(" ", "-").replace("/", "-of-").replace(",", "")


VARIANTS = (
    Variant("both, 9 layers"),
    Variant("public pairs only", written_share=0.0),
    Variant("written rows only", public=0),
    Variant("both, 1/16 of the written rows", written_share=1 / 16),
    Variant("both, 1/4 of the written rows", written_share=1 / 4),
    Variant("both, 12 layers", layers=12),
    Variant("both, 6 layers", layers=6),
)


def run(variant: Variant, arguments: argparse.Namespace) -> Path:
    """Train a variant, unless it is there; its folder, with `final.pt` and `seconds`."""
    work: Path = arguments.work_dir / variant.folder
    if (work / "final.pt").exists():
        return work
    work.mkdir(parents=True, exist_ok=True)
    count = sample(work / "passages", variant.written_share)
    words = ["--data", arguments.data, "--encoder", arguments.encoder, "--passages", work / "passages"]
    words += ["--work-dir", work, "--total-tokens", arguments.tokens, "--layers", variant.layers, "--old", 0]
    words += [
        "--new",
        NEW if count else 0,
        "--public",
        variant.public,
        "--tokens",
        1800,
        "--threads",
        arguments.threads,
    ]
    began = time.monotonic()
    train.train(train.arguments_of([str(word) for word in words]))
    (work / "about.json").write_text(json.dumps({"rows": count, "seconds": round(time.monotonic() - began)}))
    return work


def sample(folder: Path, share: float) -> int:
    """Write a random share of the rows of each file of `training/passages` into a folder; how many there are."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    count = 0
    for path in sorted(Path(__file__).with_name("passages").glob("*.jsonl")):
        lines = path.read_text(encoding="utf-8").splitlines()
        chosen = random.Random(SEED).sample(lines, round(share * len(lines)))
        count += len(chosen)
        if chosen:
            (folder / path.name).write_text("\n".join(chosen) + "\n", encoding="utf-8")
    return count


def chances(model: PackedReader, packer: Packer, readings: Sequence[Reading]) -> tuple[np.ndarray, np.ndarray]:
    """P(entailment, neutral, contradiction) (statements, 3) and labels (statements,)."""
    rng = random.Random(SEED)
    sequences = [sequence for reading in readings for sequence in packer.pack(reading, rng)]
    found, labels = [], []
    with torch.inference_mode():
        for batch in batches(sequences, 4000, rng):
            inputs, wanted = train.tensors(batch, "cpu")
            found.append(torch.softmax(model(*inputs).float(), dim=-1).numpy())
            labels.append(wanted.numpy())
    return np.concatenate(found), np.concatenate(labels)


def held_out() -> tuple[list[Reading], list[Reading]]:
    """Held-out statements, and sentences of held-out answers, beside all passages of their row."""
    rows = [as_passages(row) for row in rows_of(Path(__file__).with_name("passages_held_out.jsonl"))]
    return [reading(row, row["statements"]) for row in rows if row["statements"]], [
        reading(row, found) for row in rows if (found := (row.get("answer") or {}).get("sentences"))
    ]


def reading(row: dict[str, Any], statements: Sequence[Any]) -> Reading:
    labelled = tuple((one[-1], LETTERS[one[0]]) for one in statements if one[0] in LETTERS)
    return Reading("\n\n".join(row["passages"]), labelled, "held out")


def measured(variant: Variant, work: Path, arguments: argparse.Namespace) -> list[str]:
    """A row of the table but for its speed; kept, as it takes minutes."""
    if (kept := work / "measured.json").exists():
        return list(json.loads(kept.read_text()))
    model = PackedReader(variant.layers)
    model.load_state_dict(torch.load(work / "final.pt", weights_only=True)["model"])
    model.eval()
    packer = Packer(arguments.encoder / "tokenizer.json")
    cells = []
    for readings in held_out():
        scores, labels = chances(model, packer, readings)
        cells.append(shown(interval((labels != 0).tolist(), (1 - scores[:, 0]).tolist())))
    pairs = read_pairs(arguments.data / "nli" / "eval_mnli_dev_matched.jsonl.gz")
    random.Random(SEED).shuffle(pairs)
    readings = [Reading(pair.premise, ((pair.hypothesis, pair.label),), "mnli") for pair in pairs[:PAIRS]]
    scores, labels = chances(model, packer, readings)
    about = json.loads((work / "about.json").read_text())
    counts = json.loads((work / "final.json").read_text())
    cells = [
        variant.name,
        f"{about['rows']:,}",
        f"{counts['statements']:,}",
        *cells,
        f"{(scores.argmax(1) == labels).mean():.3f}",
        f"{sum(weight.numel() for layer in model.layers for weight in layer.parameters()) / 1e6:.0f}",
    ]
    kept.write_text(json.dumps(cells))
    return cells


@cache
def milliseconds(layers: int, tokenizer_file: Path) -> float:
    """Time a statement of some held-out rows takes, the best of three rounds."""
    model, packer, found = PackedReader(layers).eval(), Packer(tokenizer_file), []
    readings = held_out()[0][:TIMED_ROWS]
    for _ in range(3):
        began = time.monotonic()
        _, labels = chances(model, packer, readings)
        found.append(1000 * (time.monotonic() - began) / len(labels))
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=700_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work-dir", type=Path, default=Path(".training/ablation"))
    parser.add_argument("--card", type=Path, default=Path("docs/model-card.md"))
    arguments = parser.parse_args()
    table = [list(HEADS)]
    torch.set_num_threads(arguments.threads)
    tokenizer = arguments.encoder / "tokenizer.json"
    for variant in VARIANTS:
        cells = measured(variant, run(variant, arguments), arguments)
        table.append([*cells, f"{milliseconds(variant.layers, tokenizer):.0f}"])
        print(" | ".join(table[-1]), flush=True)
    write_tables(arguments.card, {"ablation": table})


if __name__ == "__main__":
    main()
