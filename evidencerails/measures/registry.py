"""The measures by name. Adding one: a file in this folder, a line here, a name in `settings.scoring.MeasureName`.

One of the user's own is a class in a file of theirs, named `module:Class` in the settings.
"""

from __future__ import annotations

from collections.abc import Iterable

from evidencerails.measures.base import Measure
from evidencerails.settings.own_parts import part_named

CLASSES = {
    "nli": "evidencerails.measures.nli:NliMeasure",
    "judge": "evidencerails.measures.judge:JudgeMeasure",
    "qa": "evidencerails.measures.qa:QaMeasure",
    "bertscore": "evidencerails.measures.vectors:BertScoreMeasure",
    "ngram": "evidencerails.measures.ngram:NgramMeasure",
    "embedding": "evidencerails.measures.vectors:EmbeddingMeasure",
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
    measure: Measure = part_named(name, CLASSES, "measure", "measure")
    return measure


def get_measures(names: Iterable[str]) -> tuple[Measure, ...]:
    """The measures of these names, each once, in their order."""
    return tuple(get_measure(name) for name in dict.fromkeys(names))
