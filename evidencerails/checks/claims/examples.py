"""Examples that a model sees before it classifies claims: ours, or a user's file with those nearest to the claims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from evidencerails.errors import EvidencerailsError, SettingsError
from evidencerails.exchange import Value
from evidencerails.report import ErrorType, Label
from evidencerails.settings.reading import YamlError, read_yaml

SHIPPED = Path(__file__).with_name("examples.yml")
MAX_EXAMPLES = 8
"""Examples in one prompt: more cost tokens in every call and change little."""
LEAST_EXAMPLES = 4
"""Examples of a user's file in a prompt about a few claims."""
EXAMPLES_A_CLAIM = 2
"""Examples that a claim gets which is asked about alone: the nearest one, and the nearest of another label."""


class Example(Value):
    """One claim, classified step by step."""

    claim: str = Field(min_length=1)
    evidence: str
    facts: str = ""
    quote: str = ""
    comparison: str = ""
    label: Label
    error_types: tuple[ErrorType, ...] = ()

    def shown(self) -> str:
        """The example as it stands in the prompt."""
        verdict = self.model_dump(include={"facts", "quote", "comparison", "label", "error_types"}, mode="json")
        reply = json.dumps({"claim": 1, **verdict}, ensure_ascii=False)
        return f"Evidence: {self.evidence}\nClaim 1: {self.claim}\n{reply}"


def load_examples(path: str | None) -> tuple[Example, ...]:
    """The examples of a file; the shipped ones if None. A file is read once, and again when it changes.

    Raises:
        SettingsError: the file cannot be read, or an entry is not an example; it is named.
    """
    file = SHIPPED if path is None else Path(path)
    try:
        changed = file.stat().st_mtime_ns
    except OSError as error:
        raise SettingsError(f"claims.examples: cannot read {str(file)!r}: {error}") from error
    return _read(file, changed)


@lru_cache(maxsize=8)
def _read(file: Path, changed: int) -> tuple[Example, ...]:
    try:
        data = read_yaml(file)
        examples = TypeAdapter(tuple[Example, ...]).validate_python(data)
    except YamlError as error:
        raise SettingsError(f"claims.examples: cannot read {str(file)!r}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise SettingsError(f"claims.examples: {str(file)!r}, {place}: {first['msg']}") from None
    if not examples:
        raise SettingsError(f"claims.examples: {str(file)!r} holds no example")
    return examples


def examples_for(claims: Sequence[str], path: str | None, *, is_alone: bool = False) -> str:
    """The examples to show for these claims, as text. Blocks: they are ranked by the embedded encoder.

    Each claim's nearest example comes before any claim's second. Where the encoder cannot be loaded, the file's first
    ones are taken.

    Args:
        is_alone: one claim is asked about in many calls, each of which pays for its examples: few are shown, of
            different labels.
    """
    examples = load_examples(path)
    if is_alone:
        examples = _of_different_labels(_nearest(claims, examples))
    elif path is not None and len(examples) > (limit := min(MAX_EXAMPLES, max(LEAST_EXAMPLES, len(claims)))):
        examples = _nearest(claims, examples)[:limit]
    return "\n\n".join(example.shown() for example in examples[:MAX_EXAMPLES])


def _of_different_labels(ranked: tuple[Example, ...]) -> tuple[Example, ...]:
    """The nearest example of each label, then the others: two of one label would suggest the answer to the model.

    One that cannot be evaluated shows no comparison, so it comes after the others.
    """
    first: dict[Label, Example] = {}
    for example in sorted(ranked, key=lambda example: example.label == "unevaluatable"):
        first.setdefault(example.label, example)
    return tuple(dict.fromkeys([*first.values(), *ranked]))[:EXAMPLES_A_CLAIM]


def _nearest(claims: Sequence[str], examples: tuple[Example, ...]) -> tuple[Example, ...]:
    from evidencerails.measures.encoder import default_encoder

    try:
        vectors = default_encoder().sentence_vectors(list(claims))
        known = _vectors(examples)
    except EvidencerailsError:  # examples help the model; without a ranking any of them do
        return examples
    ranked = (-(vectors @ known.T)).argsort(axis=1, kind="stable")
    order = dict.fromkeys(int(place) for rank in ranked.T for place in rank)
    return tuple(examples[place] for place in order)


@lru_cache(maxsize=8)
def _vectors(examples: tuple[Example, ...]) -> Any:
    from evidencerails.measures.encoder import default_encoder

    return default_encoder().sentence_vectors([example.claim for example in examples])
