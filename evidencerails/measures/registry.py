"""The measures by name. Adding one: a file in this folder, a line here, a name in `config.MeasureName`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from evidencerails.errors import SettingsError
from evidencerails.measures.base import Measure

_HOMES = {
    "nli": "evidencerails.measures.nli:NliMeasure",
    "judge": "evidencerails.measures.judge:JudgeMeasure",
    "qa": "evidencerails.measures.qa:QaMeasure",
    "bertscore": "evidencerails.measures.bertscore:BertScoreMeasure",
    "ngram": "evidencerails.measures.ngram:NgramMeasure",
    "embedding": "evidencerails.measures.embedding:EmbeddingMeasure",
    "semantic_entropy": "evidencerails.measures.semantic_entropy:SemanticEntropyMeasure",
    "self_consistency": "evidencerails.measures.self_consistency:SelfConsistencyMeasure",
    "logprobs": "evidencerails.measures.logprobs:LogprobsMeasure",
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
