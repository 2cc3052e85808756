"""A real NLI backend with verdicts a reader can foresee, for the plumbing; `test_verdicts` uses the embedded model."""

import re
from typing import Any

import pytest
from made import Make
from scripted_nli import ScriptedNli

from evidencerails import Guard

_SMALL = frozenset("a an the is are was were in of at to and it he she they on by for with that this not".split())  # noqa: SIM905


def _row(premise: str, hypothesis: str) -> tuple[float, float, float]:
    given, said = _words(premise), _words(hypothesis)
    numbers, words = {w for w in said if w.isdigit()}, {w for w in said if not w.isdigit()}
    share = len(words & given) / max(1, len(words))
    if share < 0.7:
        return 0.02, 0.96, 0.02
    differs = not numbers <= given or ("not" in hypothesis.split()) != ("not" in premise.split())
    return (0.01, 0.02, 0.97) if differs else (0.97, 0.02, 0.01)


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if word not in _SMALL}


@pytest.fixture
def word_nli() -> ScriptedNli:
    """Entails what repeats the premise's words; contradicts where only numbers or a `not` differ; else neutral."""
    nli = ScriptedNli(_row)
    nli.languages = ("en",)
    return nli


@pytest.fixture
def guard(word_nli: ScriptedNli) -> Make:
    """Makes a guard with the foreseeable backend: `guard({"checks": [...]}, llm=...)`."""

    def make(settings: dict[str, Any] | None = None, **parts: Any) -> Guard:
        return Guard(settings, nli=word_nli, **parts)

    return make
