"""Real parts with foreseeable answers: a table in place of an NLI model, a table in place of an encoder."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evidencerails.checks.base import CheckContext
from evidencerails.exchange import Exchange, Span
from evidencerails.report import Claim

NEUTRAL = (0.1, 0.8, 0.1)
Row = tuple[float, float, float]


class TableNli:
    """An NLI model that knows some pairs by heart and calls the others neutral."""

    name = "table"
    version = "1"
    max_tokens = 512

    def __init__(self, rows: Mapping[tuple[str, str], Row], languages: tuple[str, ...] = ("*",)) -> None:
        self._rows = dict(rows)
        self.languages = languages
        self.asked: list[tuple[str, str]] = []

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
        self.asked += pairs
        return np.array([self._rows.get(pair, NEUTRAL) for pair in pairs], dtype=np.float32)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        places, start = [], 0
        for word in text.split():
            start = text.index(word, start)
            places.append((start, start + len(word)))
            start += len(word)
        return places


class TableEncoder:
    """An encoder whose vectors are looked up: sentence vectors by text, token vectors by word."""

    name = "table-encoder"
    version = "1"
    languages = ("*",)

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = {text: np.array(vector, dtype=np.float32) for text, vector in vectors.items()}

    def sentence_vectors(self, texts: Sequence[str]) -> Any:
        return np.stack([self._vectors[text] for text in texts])

    def token_vectors(self, texts: Sequence[str]) -> Any:
        return [np.stack([self._vectors[word.strip(".")] for word in text.split()]) for text in texts]


MakeContext = Callable[..., CheckContext]


def claims_of(response: str, *texts: str) -> list[Claim]:
    """Claims with the spans of these parts of the response."""
    places = [(response.index(text), text) for text in texts]
    return [Claim(text=text, span=Span.of(response, at, at + len(text)), label="supported") for at, text in places]


def exchange_of(response: str, **fields: Any) -> Exchange:
    """An exchange in the shapes users have."""
    return Exchange.of(response, **fields)
