"""A real NLI backend with verdicts a reader can foresee, for the plumbing; `test_verdicts` uses the embedded model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evidencerails import Guard
from evidencerails.nli.base import Pair

if TYPE_CHECKING:
    from evidencerails.nli.base import Scores

_SMALL = frozenset("a an the is are was were in of at to and it he she they on by for with that this not".split())  # noqa: SIM905


class WordNli:
    """Entails what repeats the premise's words; contradicts where only numbers or a `not` differ; else neutral."""

    name = "words"
    version = "1"
    max_tokens = 512
    languages: tuple[str, ...] = ("en",)

    def __init__(self) -> None:
        self.pairs: list[Pair] = []

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        self.pairs += pairs
        return np.array([self._row(*pair) for pair in pairs], dtype=np.float32).reshape(-1, 3)

    def _row(self, premise: str, hypothesis: str) -> tuple[float, float, float]:
        given, said = _words(premise), _words(hypothesis)
        numbers, words = {w for w in said if w.isdigit()}, {w for w in said if not w.isdigit()}
        share = len(words & given) / max(1, len(words))
        if share < 0.7:
            return 0.02, 0.96, 0.02
        differs = not numbers <= given or ("not" in hypothesis.split()) != ("not" in premise.split())
        return (0.01, 0.02, 0.97) if differs else (0.97, 0.02, 0.01)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if word not in _SMALL}


@pytest.fixture
def word_nli() -> WordNli:
    return WordNli()


@pytest.fixture
def guard(word_nli: WordNli) -> Callable[..., Guard]:
    """Makes a guard with the foreseeable backend: `guard({"checks": [...]}, llm=...)`."""

    def make(settings: dict[str, Any] | None = None, **parts: Any) -> Guard:
        return Guard(settings, nli=word_nli, **parts)

    return make
