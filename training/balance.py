"""Statements chosen so that their wording alone does not separate right from wrong.

In: rows of written passages. Out: the same rows without the statements that a reader of surfaces would guess: overlap
with the evidence, length, the words of a statement by itself, and any linear mix of these are left near chance (AUROC
.45 to .55), so that only reading the passages helps. A classifier of exactly these features is fitted, left out by row,
and within each level of its guess right and wrong statements are made equally many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict

from training.sequences import lexical_overlap

LEVELS = 12
FOLDS = 5
WORDS_ALONE = (True, False)
ROUNDS = ((True, True), (False, True), WORDS_ALONE)
"""What each round guesses from: the statement's words, its numbers of `LEXICAL`."""
LEXICAL = ("lexical_overlap", "overlap_with_best_passage", "characters")


class Place(NamedTuple):
    """Where a statement stands: its row, `statements` or `answer`, and its number there."""

    row: int
    part: str
    number: int


class Statements(NamedTuple):
    """All labelled statements of some rows, column by column."""

    places: list[Place]
    texts: list[str]
    is_wrong: np.ndarray
    lexical: np.ndarray
    """(statements, 3), the columns of `LEXICAL`."""

    def only(self, keep: np.ndarray) -> Statements:
        """Some of them, by a mask."""
        chosen = np.flatnonzero(keep)
        return Statements(
            [self.places[n] for n in chosen], [self.texts[n] for n in chosen], self.is_wrong[keep], self.lexical[keep]
        )


def statements_of(rows: Sequence[dict[str, Any]]) -> Statements:
    """Statements and sentences of answers; openers, which have no label, are left out."""
    places, texts, wrong, lexical = [], [], [], []
    for number, row in enumerate(rows):
        evidence = "\n\n".join(row["passages"])
        labelled = [(Place(number, "statements", n), s[0], s[-1]) for n, s in enumerate(row["statements"])]
        answer = (row.get("answer") or {}).get("sentences", ())
        labelled += [(Place(number, "answer", n), s[0], s[-1]) for n, s in enumerate(answer) if s[0] != "-"]
        for place, label, text in labelled:
            places.append(place)
            texts.append(text)
            wrong.append(label != "e")
            best = max(lexical_overlap(text, passage) for passage in row["passages"])
            lexical.append((lexical_overlap(text, evidence), best, len(text)))
    return Statements(places, texts, np.asarray(wrong, int), np.asarray(lexical, float))


def guesses(statements: Statements, *, words: bool = True, lexical: bool = True) -> np.ndarray:
    """P(wrong) of each statement by its surface, from a classifier that has not seen its row."""
    parts = []
    if words:
        parts.append(TfidfVectorizer(ngram_range=(1, 2), min_df=3).fit_transform(statements.texts))
    if lexical:
        values = statements.lexical
        scaled = (values - values.mean(axis=0)) / (values.std(axis=0) + 1e-9)
        parts.append(csr_matrix(scaled))
    groups = [place.row for place in statements.places]
    folds = GroupKFold(FOLDS)
    model = LogisticRegression(max_iter=1_000)
    chances = cross_val_predict(
        model, hstack(parts).tocsr(), statements.is_wrong, groups=groups, cv=folds, method="predict_proba"
    )
    return np.asarray(chances[:, 1])


def shortcuts(statements: Statements) -> dict[str, float]:
    """AUROC of each surface for "wrong": .5 is chance, and what is aimed at."""
    wrong = statements.is_wrong
    found = {name: float(roc_auc_score(wrong, statements.lexical[:, n])) for n, name in enumerate(LEXICAL)}
    found["words_alone"] = float(roc_auc_score(wrong, guesses(statements, lexical=False)))
    found["linear_mix"] = float(roc_auc_score(wrong, guesses(statements, words=False)))
    return found


def balanced_writers(rows: Iterable[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Each writer's rows balanced by themselves, then all by their words: writers have habits in common."""
    return balanced_rows([row for own in rows for row in balanced_rows(own)], rounds=[WORDS_ALONE])


def balanced_rows(
    rows: Sequence[dict[str, Any]], seed: int = 7, rounds: Sequence[tuple[bool, bool]] = ROUNDS
) -> list[dict[str, Any]]:
    """The rows without the statements that their surface gives away."""
    rng = np.random.default_rng(seed)
    statements = statements_of(rows)
    for words, lexical in rounds:
        guessed = guesses(statements, words=words, lexical=lexical)
        statements = statements.only(_equalised(guessed, statements.is_wrong, rng))
    kept = set(statements.places)
    return [_only(row, number, kept) for number, row in enumerate(rows)]


def _equalised(guessed: np.ndarray, wrong: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A mask under which right and wrong ones are equally many at each level of the guess."""
    keep = np.zeros(len(wrong), bool)
    levels = np.searchsorted(np.quantile(guessed, np.linspace(0, 1, LEVELS + 1)[1:-1]), guessed)
    for level in range(LEVELS):
        sides = [np.flatnonzero((levels == level) & (wrong == side)) for side in (0, 1)]
        fewest = min(map(len, sides))
        for side in sides:
            keep[rng.permutation(side)[:fewest]] = True
    return keep


def _only(row: dict[str, Any], number: int, kept: set[Place]) -> dict[str, Any]:
    chosen = dict(row)
    chosen["statements"] = [s for n, s in enumerate(row["statements"]) if Place(number, "statements", n) in kept]
    if answer := row.get("answer"):
        sentences = [s for n, s in enumerate(answer["sentences"]) if Place(number, "answer", n) in kept]
        whole = [sentence[-1] for sentence in answer["sentences"]]
        chosen["answer"] = {**answer, "sentences": sentences, "whole": whole}
    return chosen
