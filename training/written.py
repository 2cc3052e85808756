"""Pairs from `written.jsonl`: made-up documents with statements, each written by itself.

Templates (`documents.py`) teach their own wordings, and public pairs seldom have two things of one kind to mix up.
These were written by a large language model, asked for passages of one field each and for statements that only reading
decides: right ones with few shared words, wrong ones nearly all in words of the passage. A line is

    {"style": ..., "domain": ..., "sentences": [...],
     "statements": [[label, [numbers of the deciding sentences], text], ...]}

with a label of "e" (entailed), "c" (contradicted) or "n" (neutral). Passages of `HELD_OUT` are never trained on:
`evaluate` measures with them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.common import LABEL_IDS, NOT_ENTAILED, Pair

WRITTEN = Path(__file__).with_name("written.jsonl")
HELD_OUT = Path(__file__).with_name("written_held_out.jsonl")
SOURCES = WHOLE, PART, REST = "made/written", "made/written_part", "made/written_rest"
LABEL_OF = {"e": LABEL_IDS["entailment"], "c": LABEL_IDS["contradiction"], "n": LABEL_IDS["neutral"]}


def documents(path: Path = WRITTEN) -> list[dict[str, Any]]:
    """The passages of a file, as they stand there."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def pairs(rng: random.Random, path: Path = WRITTEN) -> list[Pair]:
    """Each statement beside its whole passage, and half of them beside the sentences that decide it and the others."""
    made: list[Pair] = []
    for document in documents(path):
        for letter, places, text in document["statements"]:
            made += _of(document["sentences"], LABEL_OF[letter], set(places), text, rng)
    return made


def _of(sentences: list[str], label: int, places: set[int], text: str, rng: random.Random) -> Iterator[Pair]:
    yield Pair(" ".join(sentences), text, label, WHOLE)
    if not places or len(places) == len(sentences):
        return
    # What a verdict reads are windows: the ones that decide must stand out, and the others must not.
    if rng.random() < 0.5:
        yield Pair(" ".join(s for n, s in enumerate(sentences) if n in places), text, label, PART)
    if rng.random() < 0.5:
        rest = [s for n, s in enumerate(sentences) if n not in places]
        # Which of the two labels is left, the numbers do not say: another sentence may contradict, too.
        yield Pair(" ".join(rest), text, NOT_ENTAILED, REST)
