"""Make the training set: choose, augment, deduplicate, hold out, tokenise.

    python -m training.prepare --data DIR [--work-dir .training] [--seed 7] [--without NAME ...] [--share NAME=X ...]

Writes `train.npz` (token ids of all pairs end to end, offsets, labels, sources) and `prepare.json` (counts).
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from tokenizers import Tokenizer

from training import augment, conversation, copies, documents, kinds, voice, written
from training.common import (
    ENCODER_SHA256,
    LABEL_IDS,
    MAX_LENGTH,
    NOT_ENTAILED,
    Pair,
    encoder_folder,
    held_out_texts,
    normalise,
    read_pairs,
    read_rows,
    share_of,
)

# Most rows a source and label may give (no entry: all). Chosen for two cores: the long or repetitive sources are cut.
CAPS: dict[str, dict[int, int]] = {
    "fever_nli": {0: 20_000, 2: 19_000},
    "snli_cat": {0: 3_500, 1: 3_500, 2: 3_500},
    "conjnli": {0: 4_500, 1: 4_500},
    "covidfact_rte_fever": {0: 2_500, 3: 2_500},
    "climate_fever": {1: 2_500},
    "factcheck_gpt_stance": {1: 1_500},
    "mpe": {0: 1_500, 1: 1_500, 2: 1_500},
    "felipes_add_one_rte": {3: 2_000},
    "curriculum/drop": {0: 900, 3: 900},
    "curriculum/monotonicity_infer": {0: 6_000, 1: 6_000},
    "curriculum/ner": {0: 800, 3: 800},
    "curriculum/kg_relations": {0: 1_500, 3: 1_500},
}
RESTYLED = 0.1  # share of the pairs that are written as tokenised summaries are
ENTAILED, CONTRADICTED = LABEL_IDS["entailment"], LABEL_IDS["contradiction"]
console = Console(stderr=True)


def choose(pairs: Sequence[Pair], rng: random.Random) -> list[Pair]:
    """Pairs within the caps, exact repeats dropped, repeated evidence sentences cut."""
    groups: dict[tuple[str, int], list[Pair]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for pair in pairs:
        key = (normalise(pair.premise), normalise(pair.hypothesis))
        if key in seen:
            continue
        seen.add(key)
        premise = augment.unique_sentences(pair.premise) if "fever" in pair.source else pair.premise
        groups[pair.source, pair.label].append(Pair(premise, pair.hypothesis, pair.label, pair.source))
    chosen = []
    for (source, label), group in sorted(groups.items()):
        cap = CAPS.get(source, {}).get(label, len(group))
        if source == "fever_nli":
            # Evidence of ten sentences costs five times as much as evidence of two and teaches no more.
            group = [pair for pair in group if len(pair.premise.split()) <= 140]
        chosen.extend(rng.sample(group, min(cap, len(group))))
    return chosen


@dataclass(frozen=True)
class Sources:
    """What pairs are made from."""

    chosen: list[Pair]
    everything: list[Pair]
    claims: list[str]
    """FEVER claims without evidence."""
    evidence: list[str]
    """All sentences of FEVER evidence."""
    index: augment.Index
    """The same, searchable."""

    @classmethod
    def of(cls, chosen: list[Pair], everything: list[Pair], data: Path) -> Sources:
        fever = [pair for pair in everything if pair.source == "fever_nli"]
        evidence = sorted({sentence for pair in fever for sentence in augment.sentences(pair.premise)})
        console.log(f"{len(evidence)} evidence sentences")
        claims = [row["claim"] for row in read_rows(data / "nli" / "fever_nei_claims.jsonl.gz")]
        return cls(chosen, everything, claims, evidence, augment.Index(evidence))

    @property
    def factual(self) -> list[Pair]:
        return [pair for pair in self.chosen if pair.source.startswith(("fever", "covidfact_rte"))]


def talk(sources: Sources, rng: random.Random) -> list[Pair]:
    """Yes and no, transcripts, openers; see `conversation`."""
    return [
        *conversation.yes_no(sources.factual, rng, 8_000),
        *conversation.transcripts(sources.evidence, rng, 6_000),
        *(conversation.with_opener(pair, rng) for pair in rng.sample(sources.chosen, min(14_000, len(sources.chosen)))),
    ]


MAKERS: dict[str, Callable[[Sources, random.Random], list[Pair]]] = {
    "unsupported": lambda sources, rng: augment.unsupported_claims(sources.claims, sources.index, rng, 26_000),
    "long": lambda sources, rng: augment.long_premises(sources.factual, sources.index, rng, 6_000),
    "questions": lambda sources, rng: augment.questions(sources.factual, rng, 15_000),
    "edits": lambda sources, rng: passage_edits(sources.everything, rng),
    "copies": lambda sources, rng: near_copies(sources.everything, rng),
    "kinds": lambda sources, rng: other_words(sources.everything, rng, 14_000),
    "conversation": talk,
    "voice": lambda sources, rng: voice.pairs([p for p in sources.chosen if p.label != NOT_ENTAILED], rng, 8_000),
    "documents": lambda sources, rng: documents.pairs(rng, 45_000, sources.evidence),
    "written": lambda sources, rng: written.pairs(rng),
}
"""Pairs by what they are made for."""
SHARED_WHOLE = (documents.SOURCE, *written.SOURCES)
"""Sources of made pairs that `--share` knows by themselves, too."""
AUGMENTATIONS = (*MAKERS, "style")


def made_pairs(sources: Sources, name: str, seed: int) -> list[Pair]:
    """The pairs of one kind; the same ones whatever else is made."""
    made = MAKERS[name](sources, random.Random(f"{seed} {name}"))
    console.log(f"{len(made)} made: {name}")
    return made


def sentence_editor(rng: random.Random) -> augment.SentenceEditor:
    """The editor, with the encoder's own word embeddings for look-alikes."""
    from safetensors.numpy import load_file

    folder = encoder_folder()
    embeddings = load_file(folder / "model.safetensors")["embeddings.word_embeddings.weight"]
    vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    return augment.SentenceEditor(augment.Lookalikes(vocabulary, embeddings), rng)


def near_copies(everything: Sequence[Pair], rng: random.Random) -> list[Pair]:
    """Sentences of evidence with harmless and with harmful differences; see `copies`."""
    maker = copies.NearCopies(sentence_editor(rng), rng)
    made: list[Pair] = []
    for source, limit in (
        ("fever_nli", 11_000),
        ("mnli_train_clean", 5_000),
        ("curriculum/control", 1_200),
        ("curriculum/drop", 3_000),
        ("factcheck_gpt_stance", 1_000),
        ("covidfact", 1_000),
        ("lingnli", 2_500),
    ):
        passages = sorted({augment.unique_sentences(pair.premise) for pair in everything if pair.source == source})
        for passage in rng.sample(passages, min(limit, len(passages))):
            made += maker.pairs(passage)
    return made


def passage_edits(everything: Sequence[Pair], rng: random.Random) -> list[Pair]:
    """Right and wrong sentences about the passages of the sources with running text."""
    editor = sentence_editor(rng)
    made: list[Pair] = []
    for source, count, limit in (
        ("curriculum/control", 4, 2_200),
        ("curriculum/drop", 2, 3_000),
        ("factcheck_gpt_stance", 2, 1_000),
        ("fever_nli", 1, 14_000),
        ("mnli_train_clean", 1, 3_000),
        ("covidfact", 1, 1_000),
    ):
        passages = sorted({pair.premise for pair in everything if pair.source == source})
        passages = [augment.unique_sentences(text) for text in passages if len(augment.sentences(text)) >= 2]
        for passage in rng.sample(passages, min(limit, len(passages))):
            made += editor.pairs(passage, count)
    return made


def other_words(everything: Sequence[Pair], rng: random.Random, limit: int) -> list[Pair]:
    """Sentences as their own premise with one word changed: another of its kind (contradicted) or the same again."""
    short = {pair.premise for pair in everything if pair.source.startswith(("snli", "mnli", "cad", "lingnli"))}
    short |= {text for pair in everything if pair.source == "fever_nli" for text in augment.sentences(pair.premise)[:1]}
    made: list[Pair] = []
    for text in rng.sample(sorted(short), len(short)):
        if len(made) >= limit:
            break
        if not 5 <= len(text.split()) <= 30:
            continue
        changed = kinds.other_of_kind(text, rng)
        if changed and rng.random() < 0.6:
            made.append(Pair(text, changed[0], CONTRADICTED, "made/other_of_kind"))
        same = kinds.same_meaning(text, rng)
        if same:
            made.append(Pair(text, same, ENTAILED, "made/same_meaning"))
    return made


def restyle(pair: Pair, rng: random.Random) -> Pair:
    """The pair with its hypothesis lower-cased and tokenised, three premises in ten with it."""
    premise = augment.tokenised_style(pair.premise) if rng.random() < 0.3 else pair.premise
    return Pair(premise, augment.tokenised_style(pair.hypothesis), pair.label, pair.source)


def drop_held_out(pairs: Sequence[Pair], held_out: set[str]) -> list[Pair]:
    """Pairs of which neither text occurs in an evaluation or benchmark file; exact repeats dropped."""
    kept, seen = [], set()
    for pair in pairs:
        premise, hypothesis = normalise(pair.premise), normalise(pair.hypothesis)
        if premise in held_out or hypothesis in held_out or (premise, hypothesis) in seen:
            continue
        seen.add((premise, hypothesis))
        kept.append(pair)
    return kept


def shared(pairs: Sequence[Pair], shares: Mapping[str, float], rng: random.Random) -> list[Pair]:
    """Each pair as often as its source's share says ("*": that of all others): the whole part, the rest by chance."""
    counts = [shares.get(pair.source, shares.get("*", 1.0)) for pair in pairs]
    return [pair for pair, n in zip(pairs, counts, strict=True) for _ in range(int(n) + (rng.random() < n % 1))]


def tokenise(pairs: Sequence[Pair], path: Path) -> dict[str, int]:
    """Write ids, segments and labels of all pairs; returns the tokens a source has."""
    tokenizer = Tokenizer.from_file(str(encoder_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_LENGTH, strategy="only_first")
    ids: list[np.ndarray] = []
    split: list[int] = []
    usable: list[Pair] = []
    for start in range(0, len(pairs), 10_000):
        block = [pair for pair in pairs[start : start + 10_000] if len(pair.hypothesis.split()) < 150]
        for pair, encoding in zip(
            block, tokenizer.encode_batch([(p.premise, p.hypothesis) for p in block]), strict=True
        ):
            ids.append(np.asarray(encoding.ids, np.uint16))
            split.append(encoding.type_ids.index(1))
            usable.append(pair)
    names = sorted({pair.source for pair in usable})
    lengths = np.asarray([len(row) for row in ids], np.int64)
    np.savez(
        path,
        ids=np.concatenate(ids),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        split=np.asarray(split, np.int32),
        labels=np.asarray([pair.label for pair in usable], np.int8),
        sources=np.asarray([names.index(pair.source) for pair in usable], np.int16),
        names=np.asarray(names),
    )
    tokens: Counter[str] = Counter()
    for pair, length in zip(usable, lengths, strict=True):
        tokens[pair.source] += int(length)
    return dict(tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with nli/ and bench/")
    parser.add_argument("--work-dir", type=Path, default=Path(".training"))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--without", nargs="*", default=[], choices=AUGMENTATIONS, help="for ablations")
    parser.add_argument("--share", nargs="*", default=[], type=share_of, metavar="NAME=X", help="of a kind")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    arguments.work_dir.mkdir(parents=True, exist_ok=True)
    everything = read_pairs(arguments.data / "nli" / "train.jsonl.gz")
    held_out = held_out_texts(arguments.data)
    everything = drop_held_out(everything, held_out)
    chosen = choose(everything, rng)
    console.log(f"{len(chosen)} chosen of {len(everything)}")
    sources = Sources.of(chosen, everything, arguments.data)
    pairs = list(chosen)
    shares = dict(arguments.share)
    known = {*MAKERS, *SHARED_WHOLE, "*", *(pair.source for pair in chosen)}
    if unknown := sorted(shares.keys() - known):
        parser.error(f"--share: no source or made kind is called {', '.join(unknown)}")
    for name in MAKERS:
        if name not in arguments.without:
            made = made_pairs(sources, name, arguments.seed)
            pairs += rng.sample(made, round(len(made) * min(1.0, shares.get(name, 1.0))))
    if "style" not in arguments.without:
        pairs = [restyle(pair, rng) if rng.random() < RESTYLED else pair for pair in pairs]
    pairs = shared(drop_held_out(pairs, held_out), shares, rng)
    rng.shuffle(pairs)
    tokens = tokenise(pairs, arguments.work_dir / "train.npz")
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for pair in pairs:
        counts[pair.source][pair.label] += 1
    summary = {
        "seed": arguments.seed,
        "without": arguments.without,
        "shares": shares,
        "encoder_sha256": ENCODER_SHA256,
        "pairs": len(pairs),
        "tokens": sum(tokens.values()),
        "sources": {
            source: {"labels": dict(sorted(labels.items())), "tokens": tokens.get(source, 0)}
            for source, labels in sorted(counts.items())
        },
    }
    (arguments.work_dir / "prepare.json").write_text(json.dumps(summary, indent=1))
    with (arguments.work_dir / "sample.jsonl").open("w") as file:
        for pair in pairs[:2000]:
            file.write(json.dumps([pair.source, pair.label, pair.premise, pair.hypothesis]) + "\n")
    console.log(f"{len(pairs)} pairs, {summary['tokens']} tokens")


if __name__ == "__main__":
    main()
