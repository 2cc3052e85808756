"""One row of an evaluation: a response, its evidence, and how people judged it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple


class GoldSentence(NamedTuple):
    """A sentence of the response as the data set wrote it; None where nobody judged it."""

    text: str
    hallucinated: bool | None


@dataclass(frozen=True, kw_only=True)
class Row:
    id: str
    response: str
    hallucinated: bool | None
    """None: nobody judged it; such a row is counted and left out."""
    evidence: tuple[str, ...] = ()
    prompt: str = ""
    samples: tuple[str, ...] = ()
    document: str = ""
    """Rows about one text share it; resampling draws whole documents."""
    sentences: tuple[GoldSentence, ...] = ()
    spans: tuple[tuple[int, int], ...] | None = None
    """Hallucinated parts by character offsets; None where the data set has no spans, empty where there is none."""
    grade: float | None = None
    """A graded judgement, in the data set's own unit, turned so that higher is worse; for correlations."""

    def __post_init__(self) -> None:
        if not self.document:  # rows with the same evidence (or, without any, question) are about one document
            text = "\x00".join(self.evidence) or self.prompt or self.id
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            object.__setattr__(self, "document", digest)


@dataclass(kw_only=True)
class Problems:
    """What was wrong with the rows read so far. Nothing of it stops the reading."""

    rows: int = 0
    """Rows handed on."""
    malformed: int = 0
    unlabelled: int = 0
    empty: int = 0
    duplicates: int = 0
    """The same id with the same content; left out."""
    renamed: int = 0
    """The same id with other content; kept, under an id of its own."""
    examples: list[str] = field(default_factory=list)
    """The first of them, each with its place."""

    def note(self, kind: str, place: str, reason: str) -> None:
        """Count one problem and keep the first few in words."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.examples) < 20:
            self.examples.append(f"{place}: {reason}")

    def counts(self) -> dict[str, int]:
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}

    def described(self) -> str:
        """One line for people; empty if nothing was wrong."""
        words = {"malformed": "malformed", "unlabelled": "without label", "empty": "with an empty response",
                 "duplicates": "repeated", "renamed": "with an id used before (kept)"}  # fmt: skip
        counts = self.counts()
        return ", ".join(f"{counts[name]} {word}" for name, word in words.items() if counts[name])
