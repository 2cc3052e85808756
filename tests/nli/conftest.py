"""A tiny real ONNX model: the plumbing is tested with onnxruntime and tokenizers, in milliseconds."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

SPECIAL = ["<s>", "</s>", "<pad>", "<unk>"]
SPEAKING = ["yes", "maybe", "no"]
"""Words of entailment, neutral and contradiction; the others say nothing."""
WORDS = [*SPEAKING, "paris", "is", "in", "france", "germany", ".", "the", "capital", "of"]
WIDTH = 32

WriteModel = Callable[..., Path]


def _tokenizer() -> Tokenizer:
    vocabulary = {word: place for place, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def _graph(logit_of_yes: float) -> onnx.ModelProto:
    """A reader of one layer that sums what a claim's first token sees: each speaking word adds 2 to its logit.

    Keys and values are the normed embeddings themselves; a token sees another one if their bucket is below 32.
    """
    # A one-hot row of 32 numbers, normed, is 5.568 at its place and -0.18 elsewhere.
    weights = np.zeros((WIDTH, 3), np.float32)
    weights[[0, 1, 2], [0, 1, 2]] = 2.0 / np.sqrt(WIDTH**2 / (WIDTH - 1) + 0.0)
    weights[0, 0] *= logit_of_yes / 2.0
    constants = [
        numpy_helper.from_array(weights, "weights"),
        numpy_helper.from_array(np.array([32], np.int64), "hidden_bucket"),
        numpy_helper.from_array(np.array([0], np.int64), "first"),
        numpy_helper.from_array(np.array([0, 1], np.int64), "both"),
    ]
    nodes = [
        helper.make_node("Less", ["buckets", "hidden_bucket"], ["sees"]),
        helper.make_node("Cast", ["sees"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["hidden", "both"], ["states.one"]),
        helper.make_node("Concat", ["states.one", "states.one"], ["states.float"], axis=1),
        helper.make_node("Cast", ["states.float"], ["states"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["known"], ["known.float"], to=TensorProto.FLOAT),
        helper.make_node("Gather", ["known.float", "first"], ["known.keys"], axis=1),
        helper.make_node("Squeeze", ["known.keys", "both"], ["known.flat"]),
        helper.make_node("Concat", ["known.flat", "hidden"], ["all"], axis=0),
        helper.make_node("MatMul", ["mask", "all"], ["sums"]),
        helper.make_node("Gather", ["sums", "readers"], ["read"], axis=0),
        helper.make_node("MatMul", ["read", "weights"], ["logits"]),
    ]
    inputs = [
        helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["tokens", WIDTH]),
        helper.make_tensor_value_info("buckets", TensorProto.INT64, ["tokens", "all"]),
        helper.make_tensor_value_info("readers", TensorProto.INT64, ["claims"]),
        helper.make_tensor_value_info("known", TensorProto.FLOAT16, [1, 2, "known", WIDTH]),
    ]
    outputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["claims", 3]),
        helper.make_tensor_value_info("states", TensorProto.FLOAT16, [1, 2, "tokens", WIDTH]),
    ]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _write_tables(folder: Path) -> None:
    """Each speaking word has a place of its own in 32; the others share the last one. Positions add nothing."""
    size = len(SPECIAL) + len(WORDS)
    table = np.zeros((size, WIDTH), np.uint8) + 8
    for place in range(size):
        word = WORDS[place - len(SPECIAL)] if place >= len(SPECIAL) else ""
        table[place, SPEAKING.index(word) if word in SPEAKING else WIDTH - 1] = 15
    np.save(folder / "words.npy", table[:, 0::2] | (table[:, 1::2] << 4))
    np.save(folder / "word_scales.npy", np.full((size, 1), 1 / 7, np.float16))
    places = np.zeros((600 + 2, WIDTH), np.float16)
    places[-2] = 1  # gain of the norm
    np.save(folder / "places.npy", places)


@pytest.fixture
def write_model(tmp_path: Path) -> WriteModel:
    """Writes the tiny model to a folder; keywords change its description."""

    def write(*, logit_of_yes: float = 2.0, **changes: object) -> Path:
        folder = tmp_path / f"model-{len(list(tmp_path.glob('model-*')))}"
        folder.mkdir()
        onnx.save(_graph(logit_of_yes), str(folder / "model.onnx"))
        _tokenizer().save(str(folder / "tokenizer.json"))
        _write_tables(folder)
        names = sorted(path.name for path in folder.iterdir())
        description = {
            "schema": 2,
            "name": "tiny",
            "version": "1",
            "labels": ["entailment", "neutral", "contradiction"],
            "max_length": 32,
            "temperature": 1.0,
            "files": {name: {"sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()} for name in names},
        }
        (folder / "model.json").write_text(json.dumps(description | changes))
        return folder

    return write


@pytest.fixture
def tiny_folder(write_model: WriteModel) -> Path:
    return write_model()
