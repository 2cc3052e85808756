"""What every NLI backend offers, and nothing heavier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

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

        Raises:
            NliError: the backend failed.
        """
        ...

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character offsets of the text's tokens, without special ones: for windows that never cut silently."""
        ...
