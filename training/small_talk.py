"""Fit what tells small talk from statements: sentences of answers that nobody has to prove.

    python -m training.small_talk [--out evidencerails/text/small_talk.json]

In: the sentences of written answers that their writers marked as claiming nothing ("Happy to help!"), and
`small_talk.jsonl`; against them the labelled statements. Out: weights of words and word pairs, sparse (L1), and the
log-odds from which at most `MAX_LOST` of the statements of rows that were left out would be taken for small talk."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from evidencerails.text.phrases import is_candidate, terms_of
from training.sequences import as_passages, rows_of

HERE = Path(__file__).parent
MAX_LOST = 0.001
FOLDS = 5
STATEMENTS = 12_000
"""Drawn from all statements that could be small talk by their length."""


INTRODUCED = 3_000


def sentences() -> tuple[list[str], list[str]]:
    """Small talk and statements, each once."""
    small: set[str] = set()
    stated: set[str] = set()
    for path in sorted((HERE / "passages").glob("*.jsonl")):
        for row in map(as_passages, rows_of(path)):
            stated |= {text for *_, text in row["statements"]}
            for label, _, text in (row.get("answer") or {}).get("sentences", ()):
                (small if label == "-" else stated).add(text)
    for row in rows_of(HERE / "small_talk.jsonl"):
        (small if row["label"] == "small talk" else stated).add(row["text"])
    rng = random.Random(5)
    kept = sorted(text for text in small - stated if is_candidate(text))
    others = sorted(text for text in stated if is_candidate(text))
    others = rng.sample(others, min(STATEMENTS, len(others)))
    return kept, others + [text for text in introduced(kept, others, rng) if is_candidate(text)]


def introduced(small: Sequence[str], stated: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Statements with small talk before them in the same sentence ("Good news: the fee was dropped!"): they claim."""
    short = [text for text in stated if len(text.split()) <= 9]
    for text in rng.choices(short, k=INTRODUCED):
        opener = rng.choice(small).rstrip(".!:? ")
        body = text if text.split()[0].isupper() else text[0].lower() + text[1:]
        yield f"{opener}{rng.choice((', ', ': ', ' - ', ', so ', ', and '))}{body.rstrip('.')}{rng.choice('.!')}"


def fitted(texts: list[str], is_small: np.ndarray) -> tuple[CountVectorizer, LogisticRegression]:
    """Weights of the terms that occur twice."""
    vectors = CountVectorizer(analyzer=terms_of, min_df=2, binary=True)
    model = LogisticRegression(C=1.0, l1_ratio=1.0, solver="liblinear", class_weight={0: 1.0, 1: 3.0})
    return vectors, model.fit(vectors.fit_transform(texts), is_small)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE.parent / "evidencerails" / "text" / "small_talk.json")
    arguments = parser.parse_args()
    small, stated = sentences()
    texts, is_small = [*small, *stated], np.r_[np.ones(len(small)), np.zeros(len(stated))]
    folds = np.random.default_rng(0).integers(FOLDS, size=len(texts))
    odds = np.zeros(len(texts))
    for fold in range(FOLDS):
        own = np.flatnonzero(folds != fold)
        vectors, model = fitted([texts[n] for n in own], is_small[own])
        left = np.flatnonzero(folds == fold)
        odds[left] = model.decision_function(csr_matrix(vectors.transform([texts[n] for n in left])))
    threshold = float(np.quantile(odds[is_small == 0], 1 - MAX_LOST))
    recall = float((odds[is_small == 1] > threshold).mean())
    vectors, model = fitted(texts, is_small)
    names = vectors.get_feature_names_out()
    weights = {str(names[n]): round(float(model.coef_[0][n]), 3) for n in np.flatnonzero(model.coef_[0])}
    data = {
        "intercept": round(float(model.intercept_[0]), 3),
        "threshold": round(threshold, 3),
        "weights": dict(sorted(weights.items())),
        "fit": {"small_talk": len(small), "statements": len(stated), "recognised": round(recall, 3), "lost": MAX_LOST},
    }
    arguments.out.write_text(json.dumps(data, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    print(len(weights), data["fit"], data["threshold"])
    order = np.argsort(-odds * (is_small == 0))[:30]
    print("statements nearest to small talk:", [texts[n] for n in order])
    missed = [texts[n] for n in np.flatnonzero((is_small == 1) & (odds <= threshold))]
    print("small talk that is not recognised:", missed[:60])


if __name__ == "__main__":
    main()
