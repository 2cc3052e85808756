"""From drift to probability: how likely a sentence is not factual, given how far samples of its model drift from it.

`drift.json` has a curve for each way of comparing (`nli`, `ngram`, `judge`), fitted by `training/consistency.py` on
the sentences of WikiBio-GPT3 (SelfCheckGPT, arXiv 2303.08896), with where it comes from and how well it fits
biographies left out of the fit. Both labels count the same in the fit, so a sentence is not taken for wrong because
most sentences of that set are.

A mean over few samples is unsure, so it is drawn towards `prior_drift` as if that had been seen in `prior_samples`
further samples:

    mean        = (drift * samples + prior_drift * prior_samples) / (samples + prior_samples)
    probability = sigmoid(intercept + slope * mean)
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field

from evidencerails.errors import ModelFileError
from evidencerails.exchange import Value
from evidencerails.verdict.model import sigmoid

_FILE = Path(__file__).with_name("drift.json")


class DriftCurve(Value):
    """The curve of one way of comparing; rising in the drift."""

    intercept: float
    slope: float = Field(gt=0.0)
    prior_drift: float = Field(ge=0.0, le=1.0)
    prior_samples: float = Field(ge=0.0)

    def probability(self, drift: float, samples: int) -> float:
        """Probability that a sentence is not factual whose drift over so many samples has this mean, in [0, 1]."""
        mean = (drift * samples + self.prior_drift * self.prior_samples) / (samples + self.prior_samples)
        return sigmoid(self.intercept + self.slope * mean)


class DriftModel(Value):
    version: str
    curves: dict[str, DriftCurve]
    provenance: dict[str, Any]

    @classmethod
    @lru_cache(maxsize=8)
    def load(cls, path: Path = _FILE) -> DriftModel:
        """The model of a file; the shipped one by default.

        Raises:
            ModelFileError: the file is missing or damaged.
        """
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:  # pydantic's ValidationError is a ValueError
            raise ModelFileError(
                f"cannot read the drift curves {str(path)!r}: {error}; reinstall evidencerails"
            ) from error

    def probability(self, agreement: str, drift: float, samples: int) -> float:
        """Probability that a sentence is not factual, by the curve of that way of comparing."""
        return self.curves[agreement].probability(drift, samples)
