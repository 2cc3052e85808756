"""What each kind of training pair is worth, measured alone: a base without any, trained on with a third of that kind.

    python -m training.data_ablation --data DIR [--work-dir .training] [--only NAME ...] [--card FILE]

The base is trained from the encoder on the public three-way sources. Every variant goes on from it for the same few
steps, with the base's own pairs and a third of another kind among them; so its line says what that kind adds to a model
that can read already, and "more of the same" says what the steps alone add. A variant that is measured is not trained
again: the same command goes on where an interrupted one stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from evidencerails.nli.embedded import EmbeddedModel
from training.ablation import left_out_auroc
from training.card import write_card
from training.common import ENCODER_SHA256, LABEL_IDS, NOT_ENTAILED, Pair, held_out_texts, read_pairs
from training.evaluate import auroc, nli_guesses, nli_score
from training.prepare import MAKERS, Sources, choose, drop_held_out, made_pairs, restyle, tokenise
from training.reading import CachedModel
from training.verdict import read_sets

ADDED = 1 / 3  # of a variant's pairs
PAIRS_A_STEP = 110  # enough that no run sees a pair twice
ANSWERS = 120  # of each set
NLI_PAIRS = 1_500  # of each file
TEACHER = "BASE"  # stands for the base's checkpoint in the arguments below
console = Console(stderr=True)


@dataclass(frozen=True)
class Variant:
    """What a variant is trained with."""

    kind: str = ""
    """Name of the pairs that are added; the base's own pairs alone without one."""
    arguments: tuple[str, ...] = ()
    """Of `training.train`."""


VARIANTS: dict[str, Variant] = {
    "more of the same": Variant(),
    "more of the same, another seed": Variant(arguments=("--seed", "8")),
    "hard neutrals": Variant("unsupported"),
    "long premises": Variant("long"),
    "short answers": Variant("questions"),
    "edited sentences": Variant("edits"),
    "near-copies": Variant("copies"),
    "words of one kind": Variant("kinds"),
    "conversation": Variant("conversation"),
    "documents by templates": Variant("documents"),
    "written documents": Variant("written"),
    "passive and active voice": Variant("voice"),
    "tokenised style": Variant("style"),
    "two-way sources": Variant("two-way"),
    "two-way sources, not entailed taken for neutral": Variant("invented"),
    "no label smoothing": Variant(arguments=("--smoothing", "0")),
    "no weight averaging": Variant(arguments=("--average", "0")),
    "self-distillation": Variant(arguments=("--teacher", TEACHER)),
}


@dataclass(frozen=True)
class Pool:
    """The pairs that variants are mixed from."""

    sources: Sources
    three_way: list[Pair]
    two_way: list[Pair]
    held_out: set[str]
    seed: int

    @classmethod
    def of(cls, data: Path, seed: int) -> Pool:
        held_out = held_out_texts(data)
        everything = drop_held_out(read_pairs(data / "nli" / "train.jsonl.gz"), held_out)
        chosen = choose(everything, random.Random(seed))
        names = {pair.source for pair in chosen if pair.label == NOT_ENTAILED}
        three_way = [pair for pair in chosen if pair.source not in names]
        two_way = [pair for pair in chosen if pair.source in names]
        return cls(Sources.of(chosen, everything, data), three_way, two_way, held_out, seed)

    def added(self, kind: str) -> list[Pair]:
        """All pairs of a kind; none for no kind."""
        rng = random.Random(f"{self.seed} {kind}")
        if kind in MAKERS:
            return drop_held_out(made_pairs(self.sources, kind, self.seed), self.held_out)
        neutral = LABEL_IDS["neutral"]
        others: dict[str, Callable[[], list[Pair]]] = {
            "": list,
            "style": lambda: [restyle(pair, rng) for pair in self.three_way],
            "two-way": lambda: self.two_way,
            "invented": lambda: [replace(pair, label=min(pair.label, neutral)) for pair in self.two_way],
        }
        return others[kind]()

    def mixture(self, kind: str, count: int) -> list[Pair]:
        """About `count` pairs, a third of them of the kind, in random order."""
        rng = random.Random(f"{self.seed} mixture")
        added = self.added(kind)
        added = rng.sample(added, min(len(added), int(count * ADDED)))
        own = rng.sample(self.three_way, min(len(self.three_way), count - len(added)))
        return rng.sample(own + added, len(own) + len(added))


def write_pairs(pairs: list[Pair], folder: Path) -> None:
    """`train.npz` and `prepare.json`, as `training.prepare` writes them."""
    folder.mkdir(parents=True, exist_ok=True)
    tokens = tokenise(pairs, folder / "train.npz")
    about = {"pairs": len(pairs), "tokens": sum(tokens.values()), "encoder_sha256": ENCODER_SHA256}
    (folder / "prepare.json").write_text(json.dumps({**about, "sources": {name: {} for name in sorted(tokens)}}))


def measured(data: Path, folder: Path) -> dict[str, float]:
    """NLI accuracies, AUROC of the plain NLI score for each set and their mean, and that of the verdict, left out."""
    model = CachedModel(EmbeddedModel(folder / "model"), folder)
    sets = read_sets(data, model, ANSWERS)
    answers = {
        name: round(auroc(np.asarray([row.is_hallucinated for row in rows], float), nli_score(rows)), 4)
        for name, rows in sets.items()
    }
    guesses = nli_guesses(data, model, NLI_PAIRS)
    return {
        **{name: round(float(np.mean([row["right"] for row in rows])), 4) for name, rows in guesses},
        **answers,
        "mean": round(float(np.mean(list(answers.values()))), 4),
        "mean, with words": left_out_auroc(sets)["mean"],
    }


def ablation(
    pool: Callable[[], Pool], data: Path, root: Path, base_steps: int, steps: int, only: list[str], threads: int
) -> dict[str, Any]:
    """Train and measure the base and each variant, each in a folder of its own; see the module."""
    base = root / "base"
    if not (base / "train.npz").exists():
        write_pairs(random.Random(0).sample(pool().three_way, len(pool().three_way)), base)
    variants = {name: variant for name, variant in VARIANTS.items() if not only or name in only}
    found = {"the base": _one(data, base, ["--steps", str(base_steps)], threads)}
    for told, variant in variants.items():
        folder = root / told.replace(" ", "-").replace(",", "")
        if not (folder / "measured.json").exists():
            console.rule(told)
            write_pairs(pool().mixture(variant.kind, steps * PAIRS_A_STEP), folder)
        start = str(base / "run" / "checkpoint.pt")
        own = [start if argument == TEACHER else argument for argument in variant.arguments]
        going_on = ["--start", start, "--steps", str(steps), "--warmup-steps", str(steps // 10), "--rate", "1e-4"]
        found[told] = _one(data, folder, [*going_on, *own], threads)
        console.log(f"{told}: {found[told]}")
    return {"base_steps": base_steps, "steps": steps, "variants": found}


def _one(data: Path, folder: Path, arguments: list[str], threads: int) -> dict[str, float]:
    """What one folder's weights are worth, trained if they are not yet."""
    result = folder / "measured.json"
    if not result.exists():
        run("train", "--work-dir", str(folder), "--threads", str(threads), *arguments)
        exported = ["--data", str(data), "--work-dir", str(folder), "--out", str(folder / "model")]
        run("export", *exported, "--quick", "--check-pairs", "400")
        result.write_text(json.dumps(measured(data, folder), indent=1))
    read: Mapping[str, float] = json.loads(result.read_text())
    return dict(read)


def run(step: str, *arguments: str) -> None:
    """A training step, in a process of its own."""
    subprocess.run([sys.executable, "-m", f"training.{step}", *arguments], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work-dir", type=Path, default=Path(".training"))
    parser.add_argument("--base-steps", type=int, default=1500)
    parser.add_argument("--steps", type=int, default=150, help="of every variant")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[], choices=VARIANTS, help="variants; all by default")
    parser.add_argument("--card", type=Path, help="model card whose table is written")
    arguments = parser.parse_args()
    pools: list[Pool] = []

    def pool() -> Pool:
        if not pools:
            pools.append(Pool.of(arguments.data, arguments.seed))
        return pools[0]

    root = arguments.work_dir / "ablation"
    root.mkdir(parents=True, exist_ok=True)
    found = ablation(
        pool, arguments.data, root, arguments.base_steps, arguments.steps, arguments.only, arguments.threads
    )
    (root / "ablation.json").write_text(json.dumps(found, indent=1))
    if arguments.card:
        write_card(arguments.card, {"training_ablation": found})


if __name__ == "__main__":
    main()
