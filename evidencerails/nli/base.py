"""What every NLI backend offers, and nothing heavier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from evidencerails.errors import NliError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Scores: TypeAlias = npt.NDArray[np.float32]

Pair: TypeAlias = tuple[str, str]
"""(premise, hypothesis)"""

LABELS = ("entailment", "neutral", "contradiction")
"""Column order of every score array in evidencerails."""
ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)


@runtime_checkable
class NliModel(Protocol):
    """A model that reads a premise and a hypothesis. Called from one worker thread at a time; may block."""

    name: str
    version: str
    """Raised whenever scores may change: model, quantisation, calibration."""
    max_tokens: int
    """Longest pair it reads, in its own tokens, special ones included."""

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes it knows; `("*",)` if any. A plain attribute will do."""
        ...

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """Probabilities, shape (n, 3), columns in the order of `LABELS`, rows in input order, each row summing to 1.

        A model with an attribute `probes` has so many more columns, for the verdict: linear readings of its last hidden
        state, for the premise that supports the hypothesis most and for the one that contradicts it most.

        Raises:
            NliError: the backend failed.
        """
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of the text's tokens, without special ones: for windows that never cut silently."""
        ...


_STEMS = {"entail": "entailment", "neutral": "neutral", "contradict": "contradiction"}


def label_columns(id2label: Mapping[int, str], model: str) -> list[int]:
    """Columns of entailment, neutral and contradiction, read from the model's own names of its outputs.

    Raises:
        NliError: the names are not those three, or do not show which is which.
    """
    found = {
        name: [int(place) for place, label in id2label.items() if _names(label, stem)] for stem, name in _STEMS.items()
    }
    if len(id2label) != len(LABELS) or any(len(places) != 1 for places in found.values()):
        raise NliError(
            f"model {model!r} has the labels {dict(id2label)!r}; expected exactly three that name entailment, neutral "
            "and contradiction. Choose an NLI model, or name the outputs in `id2label` of its config.json"
        )
    return [found[label][0] for label in LABELS]


def _names(label: object, stem: str) -> bool:
    words = str(label).lower().replace("-", "_")
    return stem in words and not words.startswith(("not_", "non_", "no_", "not", "non"))
