"""Is the classifier's own encoder good enough for sentence vectors, or is a file of its own needed?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

from training.common import encoder_folder, read_rows
from training.export import pair_tokenizer, run_sorted
from training.train import new_model

Encode = Callable[[list[str]], np.ndarray]


def compare(data: Path, encoder: Path, pairs: int = 600) -> dict[str, Any]:
    """Each encoder: how often an entailed sentence finds its premise among all, and its likeness to the float one.

    Pairs are the entailed ones of MultiNLI dev; rank agreement is Spearman's over random pairs of their sentences.
    """
    rows = [row for row in read_rows(data / "nli" / "eval_mnli_dev_matched.jsonl.gz") if row["label"] == "entailment"]
    rows = rows[:pairs]
    premises, claims = [row["premise"] for row in rows], [row["hypothesis"] for row in rows]
    left, right = np.random.default_rng(0).integers(len(rows), size=(2, 4000))
    found: dict[str, Any] = {}
    exact: np.ndarray | None = None
    for name, encode in _encoders(encoder).items():
        first, second = encode(premises), encode(claims)
        similar = first @ second.T
        random_pairs = np.concatenate([(first[left] * second[right]).sum(1), similar.diagonal()])
        exact = random_pairs if exact is None else exact
        found[name] = {
            "finds_premise": round(float((similar.argmax(0) == np.arange(len(rows))).mean()), 4),
            "rank_agreement": round(float(spearmanr(random_pairs, exact).statistic), 4),
            "n": len(rows),
        }
    return found


def _encoders(folder: Path) -> dict[str, Encode]:
    model = new_model().eval().encoder
    return {
        "pretrained, float": lambda texts: _mean(texts, _torch_tokens(model)),
        "pretrained, int8 file": lambda texts: _mean(texts, _tokens(folder)),
        "classifier's encoder, int8": lambda texts: _mean(texts, _tokens(None)),
    }


def _torch_tokens(model: torch.nn.Module) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    @torch.no_grad()
    def call(feed: dict[str, np.ndarray]) -> np.ndarray:
        return model(**{name: torch.from_numpy(array) for name, array in feed.items()}).last_hidden_state.numpy()

    return call


def _tokens(folder: Path | None) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    import onnxruntime

    from evidencerails.nli.model_file import MODEL_FOLDER

    session = onnxruntime.InferenceSession((folder or MODEL_FOLDER) / "model.onnx", providers=["CPUExecutionProvider"])
    return lambda feed: session.run(["tokens"], feed)[0]


def _mean(texts: list[str], tokens: Callable[[dict[str, np.ndarray]], np.ndarray]) -> np.ndarray:
    tokenizer = pair_tokenizer(encoder_folder() / "tokenizer.json")

    def call(feed: dict[str, np.ndarray]) -> np.ndarray:
        mask = feed["attention_mask"][:, :, None]
        return (tokens(feed) * mask).sum(1) / mask.sum(1)

    vectors = run_sorted(texts, tokenizer, 32, call)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
