"""The measures by name. Adding one: a file in this folder, a line here, a name in `config.MeasureName`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from groundrails.errors import SettingsError
from groundrails.scoring.base import Measure

_HOMES = {
    "nli": "groundrails.scoring.nli:NliMeasure",
    "judge": "groundrails.scoring.judge:JudgeMeasure",
    "qa": "groundrails.scoring.qa:QaMeasure",
    "bertscore": "groundrails.scoring.bertscore:BertScoreMeasure",
    "ngram": "groundrails.scoring.ngram:NgramMeasure",
    "embedding": "groundrails.scoring.embedding:EmbeddingMeasure",
    "semantic_entropy": "groundrails.scoring.semantic_entropy:SemanticEntropyMeasure",
    "self_consistency": "groundrails.scoring.self_consistency:SelfConsistencyMeasure",
    "logprobs": "groundrails.scoring.logprobs:LogprobsMeasure",
}
JUDGES = ("judge", "qa")
"""Measures that ask a judge about each claim: the cascade keeps them for claims that stay unsure."""


def get_measure(name: str) -> Measure:
    """The measure of that name.

    Raises:
        SettingsError: there is no such measure.
    """
    if name not in _HOMES:
        raise SettingsError(f"unknown measure {name!r}; available: {', '.join(sorted(_HOMES))}")
    module, attribute = _HOMES[name].split(":")
    measure: Measure = getattr(importlib.import_module(module), attribute)()
    return measure


def get_measures(names: Iterable[str]) -> tuple[Measure, ...]:
    """The measures of these names, each once, in their order.

    Raises:
        SettingsError: a name is unknown.
    """
    return tuple(get_measure(name) for name in dict.fromkeys(names))
