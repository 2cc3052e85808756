"""Examples of voice: "the film was directed by Ann Holm", said as "Ann Holm directed the film" and turned round."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from training.common import LABEL_IDS, Pair

ENTAILED, CONTRADICTED = LABEL_IDS["entailment"], LABEL_IDS["contradiction"]
_IRREGULAR = {
    "written": "wrote", "sung": "sang", "won": "won", "made": "made", "built": "built", "led": "led", "held": "held",
    "drawn": "drew", "given": "gave", "taken": "took", "bought": "bought", "sold": "sold", "founded": "founded",
    "found": "found", "shot": "shot", "beaten": "beat", "chosen": "chose", "run": "ran", "taught": "taught",
}  # fmt: skip
_NOW = {
    "owned": "owns", "operated": "operates", "played": "plays", "published": "publishes", "produced": "produces",
    "made": "makes", "led": "leads", "run": "runs", "portrayed": "portrays", "voiced": "voices", "managed": "manages",
    "served": "serves", "governed": "governs", "hosted": "hosts", "visited": "visits", "used": "uses",
}  # fmt: skip
_PASSIVE = re.compile(
    r"(?P<subject>[A-Z][^,;:]{1,60}?) (?P<be>is|are|was|were) (?P<verb>[a-z]+ed|[a-z]+(?:n|t|ng|ld|de|on|un)) by "
    r"(?P<agent>(?:the |a |an )?[A-Z][\w.'-]*(?: (?:of |the |de |van )?[A-Z][\w.'-]*){0,4})"
    r"(?P<tail> (?:in|on|at|for|during|after|before|from) [^,;:]{2,50})?"
)
_DETERMINERS = ("The", "A", "An", "His", "Her", "Their", "Its", "This", "That", "It")


def active(sentence: str) -> str | None:
    """The sentence in the active voice; None if it is no plain passive."""
    parts = _parts(sentence)
    return _said(parts["agent"], parts, _object(parts["subject"])) if parts else None


def turned_round(sentence: str) -> str | None:
    """The same with doer and thing done exchanged: "The film directed Ann Holm"."""
    parts = _parts(sentence)
    return _said(parts["subject"], parts, parts["agent"]) if parts else None


def pairs(examples: Sequence[Pair], rng: random.Random, limit: int) -> list[Pair]:
    """From passive hypotheses: the same claim about the same evidence in the active voice; the passive as evidence for
    the active, and against its reverse."""
    made: list[Pair] = []
    for pair in rng.sample(list(examples), len(examples)):
        if len(made) >= limit:
            break
        said, reverse = active(pair.hypothesis), turned_round(pair.hypothesis)
        if said is None or reverse is None:
            continue
        made.append(Pair(pair.premise, said, pair.label, "made/voice"))
        kind = rng.random()
        if kind < 0.4:
            made.append(Pair(pair.hypothesis, said, ENTAILED, "made/voice"))
        elif kind < 0.8:
            made.append(Pair(pair.hypothesis, reverse, CONTRADICTED, "made/voice_reversed"))
        else:
            made.append(Pair(said, pair.hypothesis, ENTAILED, "made/voice"))
    return made


def _parts(sentence: str) -> dict[str, str] | None:
    match = _PASSIVE.fullmatch(sentence.strip().rstrip(". "))
    if match is None:
        return None
    parts = {name: text or "" for name, text in match.groupdict().items()}
    is_past = parts["be"] in ("was", "were")
    regular = parts["verb"] if parts["verb"].endswith("ed") else ""
    parts["told"] = _IRREGULAR.get(parts["verb"], regular) if is_past else _NOW.get(parts["verb"], "")
    if re.search(r"\b(?:not|never|who|which|that|and|or)\b", parts["subject"]) or not parts["told"]:
        return None
    return parts


def _said(doer: str, parts: dict[str, str], done: str) -> str:
    return f"{doer[0].upper()}{doer[1:]} {parts['told']} {done}{parts['tail']}."


def _object(subject: str) -> str:
    """A subject as it is written in the middle of a sentence."""
    first, _, rest = subject.partition(" ")
    pronouns = {"He": "him", "She": "her", "They": "them", "It": "it"}
    if subject in pronouns:
        return pronouns[subject]
    return f"{first.lower()} {rest}".strip() if first in _DETERMINERS else subject
