"""Small talk in an answer: sentences that nobody has to prove ("Happy to help!", "Let me compare the two.").

In: a sentence. Out: True if it claims nothing. A sparse linear model of words and word pairs, fitted by
`training.small_talk` so that of some 2,000 statements one is lost; `claimable` asks it after its own rules."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

MAX_WORDS = 16
"""A longer sentence states something."""
_FILE = Path(__file__).with_name("small_talk.json")
_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[!:?]")
_NUMBER = re.compile(r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|double|dozen)\b")


def is_candidate(sentence: str) -> bool:
    """False for what is too long for small talk, is one word ("Lyon", which answers something), or has a number."""
    return 1 < len(sentence.split()) <= MAX_WORDS and not _NUMBER.search(sentence.lower())


def terms_of(sentence: str) -> list[str]:
    """Words, pairs of words, the first one and the last sign, whether there is a name, and the length."""
    words = [word.lower().replace("’", "'") for word in _TOKEN.findall(sentence)]
    if not words:
        return []
    has_name = any(
        word[:1].isupper() and word not in ("I",) and not word.startswith("I'") for word in sentence.split()[1:]
    )
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    length = f"#{min(len(words) // 3, 5)}"
    return [*words, *pairs, f"^{words[0]}", *(["#name"] if has_name else []), length]


def is_small_talk(sentence: str) -> bool:
    """True for a sentence that states nothing about the subject of the answer."""
    if not is_candidate(sentence):
        return False
    model = _model()
    weights: dict[str, float] = model["weights"]
    odds = model["intercept"] + sum(weights.get(term, 0.0) for term in set(terms_of(sentence)))
    return bool(odds > model["threshold"])


@lru_cache(maxsize=1)
def _model() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return data
