"""Packed sequences to train on: evidence with its statements, from written passages and public pairs.

In: `training/passages/*.jsonl` and `training/written.jsonl` (written passages), the public pairs of a data folder.
Out: `Sequence`s of token ids, segments, positions and labels; `batches` cuts them into batches of like length.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from evidencerails.exchange import Span
from evidencerails.text.claimable import is_short_answer
from evidencerails.verdict.reading import hypotheses
from training.common import LABEL_IDS, NOT_ENTAILED
from training.encoder import FIRST, LAST, PADDING

LETTERS = {"e": LABEL_IDS["entailment"], "n": LABEL_IDS["neutral"], "c": LABEL_IDS["contradiction"]}
MAX_EVIDENCE = 400
MAX_LENGTH = 510
"""Tokens from the start of the evidence to the end of any claim: what MPNet has positions for."""
MAX_PACKED = 760
"""Tokens of a whole sequence; claims that do not fit start another one."""
STOP_WORDS = frozenset(
    """the a an of to in on at for and or is are was were be been has have had it its that this with by as from not
    no""".split()  # noqa: SIM905 - words read better than a list of strings
)


@dataclass(frozen=True, slots=True)
class Reading:
    """Evidence and statements about it, each with an index of LABELS or NOT_ENTAILED."""

    evidence: str
    statements: tuple[tuple[str, int], ...]
    source: str


@dataclass(frozen=True, slots=True)
class PackedSequence:
    """One packed sequence: arrays of one length, and where the claims start."""

    ids: np.ndarray
    segments: np.ndarray
    positions: np.ndarray
    columns: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)


def content_words(text: str) -> set[str]:
    """Lower-cased words and numbers that carry meaning."""
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in STOP_WORDS}


def lexical_overlap(statement: str, evidence: str) -> float:
    """Share of a statement's content words that the evidence has, in [0, 1]."""
    words = content_words(statement)
    return len(words & content_words(evidence)) / len(words) if words else 0.0


# --- written passages -------------------------------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    """Sentences and lines of a passage, for verbatim statements."""
    parts = re.split(r"(?<=[.!?])\s+(?=[A-Z\"'])|\n+", text)
    return [
        part.strip()
        for part in parts
        if re.match(r"[A-Z][^|{}#*:]+[.]$", part.strip()) and 5 <= len(part.split()) <= 40
    ]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSON-lines file; several `answers` of a row as one with all their sentences."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [with_one_answer(json.loads(line)) for line in lines if line.strip()]


def with_one_answer(row: dict[str, Any]) -> dict[str, Any]:
    """Sentences of all `answers`, beside the same passages; a short one follows its question, as in the product."""
    if "answers" not in row:
        return row
    sentences = []
    for answer in row.pop("answers"):
        for label, kind, text in answer["sentences"]:
            span = Span.of(text, 0, len(text))
            wording = hypotheses([span], answer["question"])[0].text if is_short_answer(text) else text
            sentences.append([label, kind, wording])
    return {**row, "answer": {"question": "", "sentences": sentences}}


def as_passages(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the older form (sentences and statements) in the newer one (passages)."""
    if "passages" in row:
        return row
    text = ("\n" if row["style"] in ("dialogue", "reply") else " ").join(row["sentences"])
    return {
        "style": row["style"],
        "passages": [text],
        "statements": [[label, "", "", [], statement] for label, _, statement in row["statements"]],
    }


def labelled(row: dict[str, Any], rng: random.Random, other: str | None) -> list[tuple[str, int]]:
    """Statements of a row, its answer's sentences, and sentences copied from it and from another row's passage."""
    found = [(text, LETTERS[label]) for label, *_, text in row["statements"]]
    answer = row.get("answer") or {}
    found += [(text, LETTERS[label]) for label, _, text in answer.get("sentences", ()) if label in LETTERS]
    found += made(row["passages"], found, rng)
    if other and (foreign := sentences(other)):
        found.append((rng.choice(foreign), LETTERS["n"]))
    return shown(found, rng)


def made(passages: Sequence[str], statements: list[tuple[str, int]], rng: random.Random) -> list[tuple[str, int]]:
    """Copied sentences, one with another value of the passages, and statements joined as answers join them."""
    copied = [sentence for passage in passages for sentence in sentences(passage)]
    found = [(text, LETTERS["e"]) for text in rng.sample(copied, min(2, len(copied)))]
    if copied:
        changed = with_other_value(rng.choice(copied), " ".join(passages), rng)
        found += [(changed, NOT_ENTAILED)] if changed and changed not in copied else []
    return found + joined([*statements, *found], rng)


def shown(statements: list[tuple[str, int]], rng: random.Random) -> list[tuple[str, int]]:
    """Statements in random order, some of them also as a chat shows them."""
    found = statements + [(decorated(text, rng), label) for text, label in statements if rng.random() < 0.08]
    rng.shuffle(found)
    return found


def joined(statements: Sequence[tuple[str, int]], rng: random.Random) -> list[tuple[str, int]]:
    """Two statements as one, as answers put several facts into a sentence: wrong where one of them is."""
    ready = [(text, label) for text, label in statements if text.endswith(".") and len(text.split()) <= 25]
    if len(ready) < 2:
        return []
    right = [one for one in ready if one[1] == LETTERS["e"]]
    pairs = [rng.sample(ready, 2)] + ([rng.sample(right, 2)] if len(right) > 1 else [])
    between = rng.choice((". ", "; ", ", and ", " - and "))
    return [(f"{one[0][:-1]}{between}{other[0]}", max(one[1], other[1])) for one, other in pairs]


_VALUE = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?![\w.,]?\d)|(?<=[a-z] )[A-Z][a-z]{2,}")


def with_other_value(sentence: str, evidence: str, rng: random.Random) -> str | None:
    """A copied sentence with one number or name in it replaced by another one of the evidence; None if it has none.

    A copy is right, so a copy that is wrong has to be among the statements too, or copying would be all that counts.
    """
    own = list(_VALUE.finditer(sentence))
    if not own:
        return None
    place = rng.choice(own)
    is_number = place[0][0].isdigit()
    others = {match[0] for match in _VALUE.finditer(evidence)} - {match[0] for match in own}
    others = {other for other in others if other[0].isdigit() == is_number}
    if not others:
        return None
    return sentence[: place.start()] + rng.choice(sorted(others)) + sentence[place.end() :]


OPENERS = (
    *("Sure! ", "Yes: ", "Good question. ", "Of course. ", "Here is what I found: ", "Happy to help! ", "Certainly. "),
    *("In short, ", "Note that ", "Great, thanks for asking. ", "As far as I can see, ", "OK, so ", "Right: "),
)


def decorated(text: str, rng: random.Random) -> str:
    """The statement as a chat shows it: a bullet, bold words, an opener before it."""
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(("- ", "* ", "• ", "1. ", "2) ")) + text
    if kind == 1:
        words = text.split()
        at = rng.randrange(len(words))
        return " ".join([*words[:at], f"**{words[at]}**", *words[at + 1 :]])
    if kind == 2:
        return rng.choice(OPENERS) + text
    return f"- **{rng.choice(('Note', 'Answer', 'Summary', 'Details', 'Key point'))}:** {text}"


def by_passage(row: dict[str, Any], rng: random.Random) -> Iterator[Reading]:
    """Each passage of a row by itself, as retrieved passages are read: what another passage decides is neutral here.

    Statements that need several passages are read beside these, joined."""
    answer = answered(row)
    for place, passage in enumerate(row["passages"]):
        own, others = answer.get(place, []), []
        for label, _, _, places, text in row["statements"]:
            if places == [place]:
                own.append((text, LETTERS[label]))
            elif len(places) == 1 and label != "n":
                others.append((text, LETTERS["n"]))
        others = rng.sample(others, min(len(others), len(own) // 2 + 1))
        if own:
            yield Reading(
                passage, tuple(shown([*own, *made([passage], own, rng), *others], rng)), f"by passage/{row['style']}"
            )
    if needing := [one for one in row["statements"] if len(one[3]) > 1]:
        yield together(row, needing, rng)
    if unplaced := answer.get(-1):
        yield Reading("\n\n".join(row["passages"]), tuple(shown(unplaced, rng)), "answer")


def together(row: dict[str, Any], needing: Sequence[Any], rng: random.Random) -> Reading:
    """The passages that some statements need, joined as the product joins them, and other statements about them."""
    places = sorted({place for one in needing for place in one[3]})
    rng.shuffle(places)
    single = [one for one in row["statements"] if len(one[3]) == 1 and one[3][0] in places]
    chosen = [*needing, *rng.sample(single, min(len(single), len(needing)))]
    found = [(text, LETTERS[label]) for label, *_, text in chosen]
    return Reading("\n\n".join(row["passages"][n] for n in places), tuple(shown(found, rng)), "together")


def answered(row: dict[str, Any]) -> dict[int, list[tuple[str, int]]]:
    """Sentences of a row's answer, by the passage that shares clearly most words with each; -1 for all passages."""
    found: dict[int, list[tuple[str, int]]] = {}
    for label, _, text in (row.get("answer") or {}).get("sentences", ()):
        if label in LETTERS:
            found.setdefault(place_of(text, row["passages"]), []).append((text, LETTERS[label]))
    return found


def place_of(text: str, passages: Sequence[str]) -> int:
    """The passage that shares clearly most words with a text; -1 if none does."""
    if len(passages) == 1:
        return 0
    shared = [lexical_overlap(text, passage) for passage in passages]
    best = max(range(len(passages)), key=shared.__getitem__)
    rest = max(share for place, share in enumerate(shared) if place != best)
    return best if shared[best] - rest >= CLEARLY else -1


CLEARLY = 0.15
BY_PASSAGE = 0.8
"""Share of the rows with several passages that are read one by one, as the product reads them."""


def written(rows: Sequence[dict[str, Any]], rng: random.Random) -> Iterator[Reading]:
    """Readings of written rows: passages in random order, now and then one of another row among them, or one by one."""
    for row in map(as_passages, rows):
        if len(row["passages"]) > 1 and rng.random() < BY_PASSAGE:
            yield from by_passage(row, rng)
            continue
        passages = list(row["passages"])
        stranger = as_passages(rng.choice(rows))["passages"][0] if len(rows) > 1 else None
        statements = labelled(row, rng, stranger if stranger not in passages else None)
        if stranger and len(passages) == 1 and rng.random() < 0.35 and len(stranger.split()) < 200:
            # A passage about something else must change nothing; its own sentences then are in the evidence.
            foreign = sentences(stranger)
            statements = [(text, label) for text, label in statements if not any(one in text for one in foreign)]
            passages.append(stranger)
        rng.shuffle(passages)
        yield Reading("\n\n".join(passages), tuple(statements), f"written/{row['style']}")


# --- packing ----------------------------------------------------------------------------------------------------------


class Packer:
    """Makes packed sequences with a tokenizer."""

    def __init__(self, tokenizer_file: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer_file))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def ids(self, text: str) -> list[int]:
        """Token ids without first and last."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def pack(self, reading: Reading, rng: random.Random) -> Iterator[PackedSequence]:
        """Sequences of a reading: the evidence once in each, as many claims as fit."""
        evidence = self.ids(reading.evidence)
        if len(evidence) > MAX_EVIDENCE:
            # A cut loses what decides: such readings teach nothing true. They are read by windows, not here.
            return
        waiting = [(self.ids(text)[: MAX_LENGTH - len(evidence) - 4], label) for text, label in reading.statements]
        rng.shuffle(waiting)
        while waiting:
            batch: list[tuple[list[int], int]] = []
            size = len(evidence) + 2
            while waiting and (not batch or size + len(waiting[-1][0]) + 2 <= MAX_PACKED):
                batch.append(waiting.pop())
                size += len(batch[-1][0]) + 2
            yield packed(evidence, [ids for ids, _ in batch], [label for _, label in batch])


def packed(evidence: Sequence[int], claims: Sequence[Sequence[int]], labels: Sequence[int]) -> PackedSequence:
    """Token lists -> one sequence."""
    ids = [FIRST, *evidence, LAST]
    segments, positions, columns, start = [0] * len(ids), list(range(len(ids))), [], len(ids)
    for number, claim in enumerate(claims, 1):
        tokens = [FIRST, *claim, LAST]
        columns.append(len(ids))
        ids += tokens
        segments += [number] * len(tokens)
        positions += range(start, start + len(tokens))
    arrays = (np.asarray(values, np.int64) for values in (ids, segments, positions, columns, labels))
    return PackedSequence(*arrays)


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded arrays (sequences, length), and rows, columns and labels (claims,)."""

    ids: np.ndarray
    segments: np.ndarray
    positions: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    labels: np.ndarray


def collate(group: Sequence[PackedSequence]) -> Batch:
    """Sequences padded to the longest."""
    width = max(map(len, group))
    ids = np.full((len(group), width), PADDING, np.int64)
    segments = np.full_like(ids, -1)
    positions = np.zeros_like(ids)
    for row, sequence in enumerate(group):
        ids[row, : len(sequence)] = sequence.ids
        segments[row, : len(sequence)] = sequence.segments
        positions[row, : len(sequence)] = sequence.positions
    rows = np.concatenate([np.full(len(sequence.columns), row) for row, sequence in enumerate(group)])
    columns = np.concatenate([sequence.columns for sequence in group])
    return Batch(ids, segments, positions, rows, columns, np.concatenate([sequence.labels for sequence in group]))


def batches(sequences: Sequence[PackedSequence], tokens: int, rng: random.Random) -> list[Batch]:
    """Batches of at most `tokens` tokens, padding included, in random order; lengths alike within a batch."""
    order = sorted(sequences, key=lambda sequence: len(sequence) + rng.random() * 24)
    found: list[list[PackedSequence]] = [[]]
    for sequence in order:
        width = max([len(sequence), *map(len, found[-1])])
        if found[-1] and width * (len(found[-1]) + 1) > tokens:
            found.append([])
        found[-1].append(sequence)
    rng.shuffle(found)
    return [collate(group) for group in found if group]


__all__ = [
    "NOT_ENTAILED",
    "Batch",
    "PackedSequence",
    "Packer",
    "Reading",
    "batches",
    "collate",
    "packed",
    "written",
]
