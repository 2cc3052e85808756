"""Which output of a foreign model means what, read from the model's own names."""

from __future__ import annotations

from collections.abc import Mapping

from evidencerails.errors import NliError
from evidencerails.nli.base import LABELS

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
