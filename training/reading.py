"""Reads benchmark rows as the engine does: sentences, hypotheses, windows, NLI scores, word evidence.

NLI scores are kept in the work folder, by model and pair, so that features can be changed without scoring again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evidencerails.checks.evidence_nli import read_claims
from evidencerails.checks.hypotheses import hypotheses
from evidencerails.config import GroundingSettings
from evidencerails.exchange import Passage
from evidencerails.nli.base import NliModel, Pair
from evidencerails.nli.service import NliService
from evidencerails.scoring.verdict import Thresholds, VerdictModel
from evidencerails.text.claimable import claim_sentences
from training.common import normalise, read_rows

KEY_BYTES = 12
EVERYDAY = Path(__file__).with_name("everyday.jsonl")
"""Statements about made documents, see `benchmarks/everyday.py`, which measures on others of the same making."""
SETS = ("halueval_qa", "summeval", "qags_cnndm", "begin", "q2_wow", "dialsummeval", "xsum_faith", "summedits")


class CachedModel:
    """An NLI model whose scores are kept on disk."""

    def __init__(self, model: NliModel, folder: Path) -> None:
        self._model = model
        self.name, self.version, self.max_tokens = model.name, model.version, model.max_tokens
        self.languages = model.languages
        self._path = folder / f"scores-{model.version.replace('/', '_')}.npz"
        self._known: dict[bytes, np.ndarray] = {}
        if self._path.exists():
            stored = np.load(self._path)
            self._known = {key.tobytes(): row for key, row in zip(stored["keys"], stored["rows"], strict=True)}

    def scores(self, pairs: Sequence[Pair]) -> np.ndarray:
        keys = [hashlib.blake2b("\0".join(pair).encode(), digest_size=KEY_BYTES).digest() for pair in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in self._known}
        if new:
            self._known.update(zip(new, self._model.scores(list(new.values())), strict=True))
        return np.stack([self._known[key] for key in keys])

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return self._model.token_offsets(text)

    def save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        keys = np.frombuffer(b"".join(self._known), np.uint8).reshape(-1, KEY_BYTES)
        np.savez(self._path, keys=keys, rows=np.stack(list(self._known.values())))


@dataclass
class ReadRow:
    """One benchmark answer: its label, and the features of each sentence that makes a claim."""

    dataset: str
    id: str
    document: str  # rows about the same evidence share it: splits are made by it
    is_hallucinated: bool
    claims: list[dict[str, float]]
    sentence_labels: list[bool | None] = field(default_factory=list)  # not supported? one for each claim
    response_words: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list)


def read_all(data: Path, model: CachedModel, limit: int | None = None) -> dict[str, list[ReadRow]]:
    """Every set that the verdict is fitted on or measured with (the first `limit` rows of each), scored."""
    rows = {name: list(read_rows(data / "bench" / f"{name}.jsonl.gz"))[:limit] for name in SETS}
    rows["everyday"] = everyday_rows()[:limit]
    return {name: read_scored(part, model) for name, part in rows.items()}


def everyday_rows() -> list[dict[str, Any]]:
    """The statements of `EVERYDAY` as rows of a benchmark set."""
    told = [json.loads(line) for line in EVERYDAY.read_text(encoding="utf-8").splitlines()]
    return [
        {
            "id": row["id"],
            "dataset": "everyday",
            "evidence": [row["passage"]],
            "response": row["statement"],
            "hallucinated": row["label"] != "supported",
        }
        for row in told
    ]


def read_scored(rows: Sequence[dict[str, Any]], model: CachedModel) -> list[ReadRow]:
    """Rows of a benchmark set as the engine reads them."""
    service = NliService(model)
    thresholds = VerdictModel.load().thresholds
    try:
        return asyncio.run(_read_all(rows, service, thresholds))
    finally:
        service.close()
        model.save()


async def _read_all(rows: Sequence[dict[str, Any]], service: NliService, thresholds: Thresholds) -> list[ReadRow]:
    return [await _read(row, service, thresholds) for row in rows]


async def _read(row: dict[str, Any], service: NliService, thresholds: Thresholds) -> ReadRow:
    spans = claim_sentences(row["response"])
    prompt = row.get("prompt") or ""
    texts = hypotheses(spans, prompt)
    passages = [Passage(id=str(n), text=text) for n, text in enumerate(row["evidence"]) if text.strip()]
    claims: list[dict[str, float]] = []
    if texts and passages:
        readings = await read_claims(texts, passages, service, GroundingSettings(), thresholds)
        claims = [reading.features for reading in readings.claims]
    return ReadRow(
        dataset=row["dataset"],
        id=row["id"],
        document=hashlib.sha1(" ".join(row["evidence"]).encode()).hexdigest()[:12],
        is_hallucinated=row["hallucinated"],
        claims=claims,
        sentence_labels=_sentence_labels(row, [span.text for span in spans]) if claims else [],
        response_words=len(row["response"].split()),
        spans=[(span.start, span.end) for span in spans],
    )


def _sentence_labels(row: dict[str, Any], texts: list[str]) -> list[bool | None]:
    """Whether each sentence is not supported, where the set says so for sentences; matched by their words."""
    if len(texts) == 1:
        return [row["hallucinated"]]
    known = {normalise(s["text"]): not s["supported"] for s in row.get("sentences", ()) if "supported" in s}
    return [known.get(normalise(text)) for text in texts]
