"""Whether another kind of processor scores as this one does: the same pairs, scored on both, compared.

    python -m training.processors --data DIR --pairs 200 --name "what it is" --out FILE.json   # on each machine
    python -m training.processors --compare HERE.json THERE.json ... --card docs/model-card.md

Needs what the package itself needs, and no torch, so that it runs under an emulator too: `qemu-aarch64 -L ROOT
python3.11 -m training.processors ...` with the wheels of that processor on PYTHONPATH, `qemu-x86_64 -cpu Haswell
python3 ...` for one without VNNI. An emulator shows whether scores are right, and nothing about speed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from training.card import write_card
from training.common import read_pairs


def score(data: Path, pairs: int, name: str) -> dict[str, Any]:
    """Scores (pairs, 3) of the first pairs of MultiNLI dev on this processor, rounded to six digits."""
    import onnxruntime

    from evidencerails.nli.embedded import EmbeddedModel

    model = EmbeddedModel()
    chosen = read_pairs(data / "nli" / "eval_mnli_dev_matched.jsonl.gz")[:pairs]
    scores = np.asarray(model.scores([(pair.premise, pair.hypothesis) for pair in chosen]))
    return {
        "name": name,
        "onnxruntime": onnxruntime.__version__,
        "model": model.version,
        "labels": [pair.label for pair in chosen],
        "scores": np.round(scores.astype(float), 6).tolist(),
    }


def compared(here: dict[str, Any], there: dict[str, Any]) -> dict[str, Any]:
    """How far two files of `score` agree, over the pairs that both have.

    Raises:
        ValueError: they are of different models.
    """
    if here["model"] != there["model"]:
        raise ValueError(f"scores of different models: {here['model']} and {there['model']}; score both anew")
    count = min(len(here["scores"]), len(there["scores"]))
    first, second = (np.asarray(each["scores"][:count]) for each in (here, there))
    labels = np.asarray(there["labels"][:count])
    shifts = np.abs(first - second).max(axis=1)
    return {
        "onnxruntime": there["onnxruntime"],
        "n": count,
        "same_label": float((first.argmax(axis=1) == second.argmax(axis=1)).mean()),
        "accuracy_here": float((first.argmax(axis=1) == labels).mean()),
        "accuracy": float((second.argmax(axis=1) == labels).mean()),
        "mean_shift": float(shifts.mean()),
        "largest_shift": float(shifts.max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with nli/")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--name", default="this processor", help="as the card calls it")
    parser.add_argument("--out", type=Path, help="where the scores go")
    parser.add_argument("--compare", nargs="+", type=Path, metavar="FILE", help="the first is what others are held to")
    parser.add_argument("--card", type=Path, help="model card whose table is written")
    arguments = parser.parse_args()
    if arguments.compare:
        here, *others = (json.loads(path.read_text()) for path in arguments.compare)
        found = {other["name"]: compared(here, other) for other in others}
        print(json.dumps(found, indent=1))
        if arguments.card:
            write_card(arguments.card, {"processors": found})
    elif arguments.data and arguments.out:
        arguments.out.write_text(json.dumps(score(arguments.data, arguments.pairs, arguments.name)))
    else:
        parser.error("give --data and --out to score, or --compare to compare")


if __name__ == "__main__":
    main()
