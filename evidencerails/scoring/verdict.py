"""The calibrated verdict: NLI scores and word evidence, combined by a small logistic model that is shipped as data.

`verdict.json` holds::

    version       text; raised with every fit, it stands in each claim
    provisional   true as long as the numbers are set by hand
    claim         {intercept, weights: {feature: weight}}: log-odds that a claim is NOT supported
    response      {intercept, weights: {worst, second, mean}}: log-odds that at least one claim of a response is not
                  supported, from the claims' own log-odds (`second` is `worst` where there is one claim)
    thresholds    unsupported     claim score from which a claim is not supported
                  contradiction   NLI probability from which a passage about the same thing contradicts a claim
                  aboutness       share of the claim's words from which a passage is about the same thing
                  conflict        NLI probability from which a contradiction wins over a supported claim (default 0.9)
                  partial         NLI entailment from which an unsupported claim counts as supported in part

Features of a claim: those of `words.features`, each in [0, 1], and two log-odds of the NLI model, clipped to
[-`MAX_LOGIT`, `MAX_LOGIT`]: `entailment`, the highest over all windows, and `contradiction`, the highest over the
windows about the same thing (-`MAX_LOGIT` where there is none). Those of the wording count less the surer the model is
that the claim follows; see `checks.evidence_nli.DOUBT_EXPONENT`. A feature without a weight counts nothing; a weight
without a feature is an error at load.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from evidencerails.errors import ModelFileError
from evidencerails.exchange import Value
from evidencerails.scoring.words import FEATURES as WORD_FEATURES

MAX_LOGIT = 6.0
"""Log-odds of the NLI model are clipped here: beyond, a small model's certainty means nothing."""
CLAIM_FEATURES = ("entailment", "contradiction", *WORD_FEATURES)
RESPONSE_FEATURES = ("worst", "second", "mean")
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

    def parts(self, features: Mapping[str, float]) -> dict[str, float]:
        """The contributions that are not zero, the intercept as `base`."""
        weighed = {name: weight * features.get(name, 0.0) for name, weight in self.weights.items()}
        return {"base": self.intercept, **{name: part for name, part in weighed.items() if part}}


class Thresholds(Value):
    """Where labels change; see the module."""

    unsupported: float
    contradiction: float
    aboutness: float
    partial: float
    conflict: float = 0.9


class VerdictModel(Value):
    """The combination and its thresholds."""

    version: str
    provisional: bool = False
    claim_model: Linear
    response_model: Linear
    thresholds: Thresholds

    @classmethod
    def load(cls, path: Path | None = None) -> VerdictModel:
        """The model of a file; the shipped one by default.

        Raises:
            ModelFileError: the file is missing, damaged or weighs features this version does not compute.
        """
        return _load(path or _FILE)

    def claim(self, features: Mapping[str, float]) -> ClaimVerdict:
        """Verdict on one claim from its features (see the module)."""
        parts = self.claim_model.parts(features)
        return ClaimVerdict(sigmoid(sum(parts.values())), parts)

    def response(self, verdicts: Sequence[ClaimVerdict]) -> float:
        """Probability that at least one of the claims is not supported; 0.0 without claims."""
        if not verdicts:
            return 0.0
        ranked = sorted((verdict.logit for verdict in verdicts), reverse=True)
        features = {"worst": ranked[0], "second": ranked[min(1, len(ranked) - 1)], "mean": sum(ranked) / len(ranked)}
        return sigmoid(sum(self.response_model.parts(features).values()))


@lru_cache(maxsize=8)
def _load(path: Path) -> VerdictModel:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        model = VerdictModel(
            version=data["version"],
            provisional=data.get("provisional", False),
            claim_model=Linear(**data["claim"]),
            response_model=Linear(**data["response"]),
            thresholds=Thresholds(**data["thresholds"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFileError(
            f"cannot read the verdict model {str(path)!r}: {error}; reinstall evidencerails"
        ) from error
    unknown = {*model.claim_model.weights} - {*CLAIM_FEATURES} | {*model.response_model.weights} - {*RESPONSE_FEATURES}
    if unknown:
        raise ModelFileError(f"verdict model {str(path)!r} weighs unknown features: {', '.join(sorted(unknown))}")
    return model


def sigmoid(logit: float) -> float:
    """1 / (1 + e^-logit) without overflow."""
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))


def logit(probability: float) -> float:
    """Log-odds of a probability, clipped to [-`MAX_LOGIT`, `MAX_LOGIT`]."""
    floor = 1e-9
    bounded = min(max(probability, floor), 1.0 - floor)
    return max(-MAX_LOGIT, min(MAX_LOGIT, math.log(bounded / (1.0 - bounded))))
