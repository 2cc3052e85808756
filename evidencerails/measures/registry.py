"""The measures by name. Adding one: a file in this folder, a line here, a name in `settings.scoring.MeasureName`.

One of the user's own is a class in a file of theirs, named `module:Class` in the settings.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from evidencerails.errors import SettingsError
from evidencerails.measures.base import Measure
from evidencerails.settings.own_parts import own_part

CLASSES = {
    "nli": "NliMeasure",
    "judge": "JudgeMeasure",
    "qa": "QaMeasure",
    "bertscore": "BertScoreMeasure",
    "ngram": "NgramMeasure",
    "embedding": "EmbeddingMeasure",
    "semantic_entropy": "SemanticEntropyMeasure",
    "self_consistency": "SelfConsistencyMeasure",
    "logprobs": "LogprobsMeasure",
}
"""Each in the file of its name."""
JUDGES = ("judge", "qa")
"""Measures that ask a judge about each claim: the cascade keeps them for claims that stay unsure."""


def get_measure(name: str) -> Measure:
    """The measure of that name.

    Raises:
        SettingsError: there is no such measure.
    """
    if ":" in name:
        own: Measure = own_part(name, "measure")
        return own
    if name not in CLASSES:
        raise SettingsError(f"unknown measure {name!r}; available: {', '.join(sorted(CLASSES))}")
    measure: Measure = getattr(importlib.import_module(f"evidencerails.measures.{name}"), CLASSES[name])()
    return measure


def get_measures(names: Iterable[str]) -> tuple[Measure, ...]:
    """The measures of these names, each once, in their order."""
    return tuple(get_measure(name) for name in dict.fromkeys(names))
