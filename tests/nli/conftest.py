"""A tiny real ONNX model: the plumbing is tested with onnxruntime and tokenizers, in milliseconds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = ["yes", "no", "maybe", "paris", "is", "in", "france", "germany", ".", "the", "capital", "of"]
EMBEDDING_WIDTH = 4

WriteModel = Callable[..., Path]


def _tokenizer() -> Tokenizer:
    vocabulary = {word: place for place, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def _graph(*, with_embedding: bool, logit_of_yes: float) -> onnx.ModelProto:
    """Logits are the masked sum of one row per token: "yes" speaks for entailment, "no" for contradiction."""
    size = len(SPECIAL) + len(WORDS)
    table = np.zeros((size, 3), np.float32)
    table[len(SPECIAL) + WORDS.index("yes")] = [logit_of_yes, 0, 0]
    table[len(SPECIAL) + WORDS.index("no")] = [0, 0, 2]
    table[len(SPECIAL) + WORDS.index("maybe")] = [0, 2, 0]
    vectors = np.random.default_rng(7).normal(size=(size, EMBEDDING_WIDTH)).astype(np.float32)
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(vectors, "vectors"),
        numpy_helper.from_array(np.array([1], np.int64), "tokens_axis"),
        numpy_helper.from_array(np.array([2], np.int64), "last_axis"),
    ]
    nodes = [
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last_axis"], ["mask3"]),
    ]
    outputs = [("table", "logits", 3)] + [("vectors", "embedding", EMBEDDING_WIDTH)] * with_embedding
    for source, output, _ in outputs:
        nodes += [
            helper.make_node("Gather", [source, "input_ids"], [f"{output}.rows"]),
            helper.make_node("Mul", [f"{output}.rows", "mask3"], [f"{output}.masked"]),
            helper.make_node("ReduceSum", [f"{output}.masked", "tokens_axis"], [output], keepdims=0),
        ]
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in names]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width]) for _, name, width in outputs]
    graph = helper.make_graph(nodes, "tiny", inputs, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture
def write_model(tmp_path: Path) -> WriteModel:
    """Writes the tiny model to a folder; keywords change its description."""

    def write(*, with_embedding: bool = True, logit_of_yes: float = 2.0, **changes: object) -> Path:
        folder = tmp_path / f"model-{len(list(tmp_path.glob('model-*')))}"
        folder.mkdir()
        onnx.save(_graph(with_embedding=with_embedding, logit_of_yes=logit_of_yes), str(folder / "model.onnx"))
        _tokenizer().save(str(folder / "tokenizer.json"))
        names = ("model.onnx", "tokenizer.json")
        description = {
            "schema_version": 1,
            "name": "tiny",
            "version": "1",
            "labels": ["entailment", "neutral", "contradiction"],
            "max_length": 32,
            "temperature": 1.0,
            "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names},
        }
        (folder / "model.json").write_text(json.dumps(description | changes))
        return folder

    return write


@pytest.fixture
def tiny_folder(write_model: WriteModel) -> Path:
    return write_model()
