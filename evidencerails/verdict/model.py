"""The calibrated verdict: what the model read, as one probability that a claim is not supported, and its label.

`verdict.json` holds::

    version       raised with every fit; it stands in each claim
    claim         {intercept, weights: {feature: weight}}: log-odds that a claim is NOT supported
    claim_without_probes   the same for an NLI model without probes, scaled so that the thresholds are right for it too
    thresholds    warn            pairs (share of right answers that are warned about, score from which a claim is
                                  not supported), shares rising
                  block           pairs (share of right answers that are blocked, score from which a claim that the
                                  model reads as contradicted is labelled so), shares rising
                  partial         P(entailment) from which an unsupported claim counts as supported in part

Features: `entailment` and `contradiction`, log-odds of the NLI model, clipped to [-`MAX_LOGIT`, `MAX_LOGIT`]; and, of a
model that has them, the probes of the two windows that these are from (`NliModel.scores`). A feature without a weight
counts nothing; a weight without a feature is an error at load. Numbers, dates and names that the
evidence lacks are none: beside these they gained nothing that an interval above zero would show (docs/model-card.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import field_validator

from evidencerails.errors import ModelFileError
from evidencerails.exchange import Value

MAX_LOGIT = 6.0
"""Log-odds of the NLI model are clipped here: beyond, a small model's certainty means nothing."""
PLAIN_FEATURES, PROBES = ("entailment", "contradiction"), ("support_probe", "contradiction_probe")
CLAIM_FEATURES = (*PLAIN_FEATURES, *PROBES)
_FILE = Path(__file__).with_name("verdict.json")


class ClaimVerdict(NamedTuple):
    """Probability that a claim is not supported, and what moved it."""

    score: float
    parts: dict[str, float]
    """Feature name -> contribution in log-odds (positive = towards not supported); `base` is the intercept."""

    @property
    def logit(self) -> float:
        """Log-odds of the score."""
        return sum(self.parts.values())


class Linear(Value):
    """An intercept and a weight for each feature."""

    intercept: float
    weights: dict[str, float]


class Thresholds(Value):
    """Where labels change; see the module."""

    warn: tuple[tuple[float, float], ...]
    block: tuple[tuple[float, float], ...]
    partial: float

    @field_validator("warn", "block")
    @classmethod
    def _rates_rise(cls, value: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
        rates = [rate for rate, _ in value]
        if not rates or rates != sorted(set(rates)):
            raise ValueError(f"must be pairs (share, threshold) with rising shares, got {value!r}")
        return value


class VerdictModel(Value):
    """The combination and its thresholds."""

    version: str
    claim_model: Linear
    plain_model: Linear
    thresholds: Thresholds

    @classmethod
    @lru_cache(maxsize=8)
    def load(cls, path: Path = _FILE) -> VerdictModel:
        """The model of a file; the shipped one by default.

        Raises:
            ModelFileError: the file is missing, damaged or weighs features this version does not compute.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            model = cls(
                version=data["version"],
                claim_model=Linear(**data["claim"]),
                plain_model=Linear(**data["claim_without_probes"]),
                thresholds=Thresholds(**data["thresholds"]),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelFileError(
                f"cannot read the verdict model {str(path)!r}: {error}; reinstall evidencerails"
            ) from error
        unknown = {*model.claim_model.weights} - {*CLAIM_FEATURES} | {*model.plain_model.weights} - {*PLAIN_FEATURES}
        if unknown:
            raise ModelFileError(f"verdict model {str(path)!r} weighs unknown features: {', '.join(sorted(unknown))}")
        return model

    def warn_from(self, max_false_warnings: float) -> float:
        """Score from which a claim is not supported, so that at most this share of right answers is warned about."""
        return _between(self.thresholds.warn, max_false_warnings)

    def block_from(self, max_false_blocks: float) -> float:
        """Score from which a claim is contradicted: at most this share of right answers is blocked then."""
        return _between(self.thresholds.block, max_false_blocks)

    def claim(self, features: Mapping[str, float]) -> ClaimVerdict:
        """Verdict on one claim from its features (see the module)."""
        model = self.claim_model if PROBES[0] in features else self.plain_model
        weighed = {name: weight * features.get(name, 0.0) for name, weight in model.weights.items()}
        parts = {"base": model.intercept, **{name: part for name, part in weighed.items() if part}}
        return ClaimVerdict(sigmoid(sum(parts.values())), parts)

    def response(self, verdicts: Sequence[ClaimVerdict]) -> float:
        """Probability that at least one of the claims is not supported: that of the worst; 0.0 without claims.

        Claims of one answer are not independent, so nothing is added up: four right sentences are as right as one.
        """
        return max((verdict.score for verdict in verdicts), default=0.0)


def _between(points: Sequence[tuple[float, float]], share: float) -> float:
    import numpy as np

    rates, scores = zip(*points, strict=True)
    return float(np.interp(share, rates, scores))


def sigmoid(logit: float) -> float:
    """1 / (1 + e^-logit) without overflow."""
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))


def logit(probability: float) -> float:
    """Log-odds of a probability, clipped to [-`MAX_LOGIT`, `MAX_LOGIT`]."""
    floor = 1e-9
    bounded = min(max(probability, floor), 1.0 - floor)
    return max(-MAX_LOGIT, min(MAX_LOGIT, math.log(bounded / (1.0 - bounded))))
