"""Readings from the public pairs of a data folder; see DATA.md there for the sets and their terms."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from training.common import LABEL_IDS, NOT_ENTAILED, Pair, held_out_texts, normalise, read_pairs, read_rows
from training.sequences import Reading

SHARES = {
    "mnli_train_clean": 0.24,
    "lingnli": 0.18,
    "fever_nli": 0.20,
    "fever_not_enough": 0.07,
    "snli_subsets": 0.05,
    "snli_cat": 0.03,
    "cad_nli": 0.03,
    "conjnli": 0.02,
    "covidfact_rte_fever": 0.03,
    "climate_fever": 0.02,
    "covidfact": 0.02,
    "healthver": 0.02,
    "factcheck_gpt_stance": 0.02,
    "fever_symmetric": 0.01,
    "mpe": 0.01,
    "rte_glue": 0.01,
    "curriculum/control": 0.02,
    "curriculum/counting": 0.01,
    "curriculum/temporal": 0.01,
}
"""Share of the public statements that each set gives; sets without one have shown no gain and are left out."""
MAX_WORDS = 230
"""Longest premise; longer ones cost more than they teach."""


def by_source(data: Path) -> dict[str, list[Reading]]:
    """Readings of each set, statements about one premise together; evaluation texts are left out."""
    held_out = held_out_texts(data)
    pairs = [pair for pair in read_pairs(data / "nli" / "train.jsonl.gz") if pair.source in SHARES]
    pairs += not_enough(data, [pair for pair in pairs if pair.source == "fever_nli"])
    grouped: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    for pair in pairs:
        if normalise(pair.premise) in held_out or normalise(pair.hypothesis) in held_out:
            continue
        if len(pair.premise.split()) <= MAX_WORDS:
            grouped[pair.source, unique_sentences(pair.premise)].append((pair.hypothesis, pair.label))
    found: dict[str, list[Reading]] = defaultdict(list)
    for (source, premise), statements in grouped.items():
        found[source].append(Reading(premise, tuple(dict.fromkeys(statements)), source))
    return found


def unique_sentences(text: str) -> str:
    """The text without repeated sentences: FEVER's evidence often has one twice."""
    return " ".join(dict.fromkeys(re.split(r"(?<=[.!?])\s+", text)))


def not_enough(data: Path, fever: list[Pair]) -> Iterator[Pair]:
    """FEVER claims without evidence, each beside evidence about the same subject: neutral, and hard."""
    about: dict[str, list[str]] = defaultdict(list)
    for pair in fever:
        about[" ".join(pair.hypothesis.split()[:2])].append(pair.premise)
    for row in read_rows(data / "nli" / "fever_nei_claims.jsonl.gz"):
        if premises := about.get(" ".join(row["claim"].split()[:2])):
            premise = premises[len(row["claim"]) % len(premises)]
            yield Pair(premise, row["claim"], LABEL_IDS["neutral"], "fever_not_enough")


def sample(sources: dict[str, list[Reading]], statements: int, rng: random.Random) -> list[Reading]:
    """Some readings, by the shares; each label of a set about as often as the others."""
    chosen: list[Reading] = []
    for source, share in SHARES.items():
        readings = sources.get(source, [])
        wanted, at = round(statements * share), 0
        if not readings:
            continue
        counts: dict[int, int] = defaultdict(int)
        while wanted > 0 and at < 20 * statements:
            at += 1
            reading = rng.choice(readings)
            most = wanted_most(counts)
            if any(counts[label] > most for _, label in reading.statements):
                continue
            for _, label in reading.statements:
                counts[label] += 1
            chosen.append(reading)
            wanted -= len(reading.statements)
    return chosen


def wanted_most(counts: dict[int, int]) -> float:
    """How many statements of one label may be taken before the others have caught up."""
    known = [counts[label] for label in counts if label != NOT_ENTAILED]
    return (min(known) + 6) if len(known) > 1 else 1e9 if len(counts) < 1 else max(counts.values()) + 1
