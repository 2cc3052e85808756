"""Evidence read once for many claims: its words, values and names, and the sentence nearest to a claim."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from evidencerails.measures.lexical import stem_of
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import Name, Values, bare_word, is_function_word, values_of

CACHED_EVIDENCES = 8
WORD = re.compile(r"[^\W_](?:[\w'’.&-]*\w)?")


class Sentence(NamedTuple):
    """One sentence of the evidence, read once."""

    text: str
    stems: frozenset[str]
    values: Values


class Evidence:
    """A text that claims are compared with, read once for all of them."""

    def __init__(self, text: str) -> None:
        self.values = values_of(text)
        self.stems = stems_of(text)
        self.words = frozenset(bare_word(word) for word in WORD.findall(text))
        self.lower = text.lower()
        self.acronyms = _acronyms(self.values.names)
        self.capitalised = frozenset(word for name in self.values.names if not name.is_initial for word in name.words)
        self._texts = [span.text for span in split_sentences(text)]
        self._stems = [stems_of(sentence) for sentence in self._texts]
        self._values: dict[int, Values] = {}
        counts = Counter(stem for stems in self._stems for stem in stems)
        self._weights = {stem: 1.0 / count for stem, count in counts.items()}

    def nearest(self, claim: str, values: Values) -> Sentence:
        """The sentence that shares the most distinctive words with the claim."""
        names = {stem_of(word) for name in values.names for word in name.words}
        wanted = stems_of(claim)
        weights = {stem: self._weights.get(stem, 0.0) * (0.5 if stem in names else 1.0) for stem in wanted}
        best = max(  # a name may be the very error: it counts half
            range(len(self._texts)),
            key=lambda n: (sum(weights[stem] for stem in wanted & self._stems[n]), -n),
            default=None,
        )
        if best is None:
            return Sentence("", frozenset(), Values((), (), ()))
        if best not in self._values:
            self._values[best] = values_of(self._texts[best])
        return Sentence(self._texts[best], self._stems[best], self._values[best])


@lru_cache(maxsize=CACHED_EVIDENCES)
def read_evidence(text: str) -> Evidence:
    """The evidence, ready for comparison; the last few are kept."""
    return Evidence(text)


def _acronyms(names: Iterable[Name]) -> dict[str, str]:
    """Acronyms of the evidence's long names, and its acronyms themselves, each with its letters."""
    found = {
        "".join(word[0] for word in name.words): "".join(w[0] for w in name.words)
        for name in names
        if len(name.words) > 1
    }
    for name in names:
        for word, shown in zip(name.words, name.text.split(), strict=False):
            if 2 <= len(word) <= 6 and shown.replace(".", "").isupper():
                found[word] = word
    return found


def stems_of(text: str) -> frozenset[str]:
    """The stems of a text's content words."""
    words = (bare_word(word) for word in WORD.findall(text))
    return frozenset(stem_of(word) for word in words if not is_function_word(word) and len(word) > 1) - {""}
