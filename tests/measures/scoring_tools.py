"""Real parts with foreseeable answers: a table in place of an NLI model, a table in place of an encoder."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scripted_nli import Row, ScriptedNli

from evidencerails.checks.base import CheckContext
from evidencerails.exchange import Span
from evidencerails.report import Claim

NEUTRAL = (0.1, 0.8, 0.1)


class TableNli(ScriptedNli):
    """An NLI model that knows some pairs by heart and calls the others neutral."""

    name = "table"

    def __init__(self, rows: Mapping[tuple[str, str], Row], languages: tuple[str, ...] = ("*",)) -> None:
        super().__init__(lambda *pair: rows.get(pair, NEUTRAL))
        self.languages = languages


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
