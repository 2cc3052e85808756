"""Vectors of a tiny real ONNX file, whose token vectors are a table."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from evidencerails.errors import ModelFileError
from evidencerails.measures.encoder import OnnxEncoder, default_encoder

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "ann", "paints", "swims"]
VECTORS = np.array([[0, 0], [9, 9], [5, 5], [7, 7], [3, 4], [0, 2], [1, 0]], dtype=np.float32)
Write = Callable[..., OnnxEncoder]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file whose token vectors are those of the table, with the outputs asked for."""

    def make(outputs: tuple[str, ...] = ("embedding", "tokens"), max_length: int = 16) -> OnnxEncoder:
        tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.add_special_tokens(["[CLS]", "[SEP]"])
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        onnx.save(_graph(outputs), str(tmp_path / "model.onnx"))
        names = ("model.onnx", "tokenizer.json")
        files = {n: {"sha256": hashlib.sha256((tmp_path / n).read_bytes()).hexdigest()} for n in names}
        description = {"schema": 1, "name": "tiny", "version": "1", "max_length": max_length, "files": files}
        (tmp_path / "model.json").write_text(json.dumps(description))
        return OnnxEncoder(tmp_path)

    return make


def _graph(outputs: tuple[str, ...]) -> onnx.ModelProto:
    """`embedding` is the mean over all tokens, padding and special ones included."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens"]),
             helper.make_node("ReduceMean", ["tokens"], ["embedding"], axes=[1], keepdims=0)]  # fmt: skip
    feed = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])
    shapes = {"embedding": ["batch", 2], "tokens": ["batch", "tokens", 2]}
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in outputs]
    graph = helper.make_graph(nodes, "tiny", [feed], results, [numpy_helper.from_array(VECTORS, "table")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_token_vectors_are_unit_vectors_without_special_tokens(write: Write) -> None:
    first, second = write().token_vectors(["Ann swims", "paints"])
    assert first == pytest.approx(np.array([[0.6, 0.8], [1.0, 0.0]]))
    assert second == pytest.approx(np.array([[0.0, 1.0]]))


def test_sentence_vectors_are_the_embedding_of_the_file(write: Write) -> None:
    # (5,5) + (3,4) + (7,7) = (15,16), of length 21.932
    assert write().sentence_vectors(["ann"]) == pytest.approx(np.array([[0.6839, 0.7295]]), abs=1e-4)


def test_order_and_company_change_nothing(write: Write) -> None:
    encoder = write()
    texts = ["ann", "ann paints swims ann", "", "swims"] * 20
    together = encoder.token_vectors(texts)
    for text, found in zip(texts[:4], together[:4], strict=True):
        assert found == pytest.approx(encoder.token_vectors([text])[0])
    assert [len(found) for found in together[:4]] == [1, 4, 0, 1]


def test_a_text_longer_than_the_model_is_read_in_parts(write: Write) -> None:
    (found,) = write(max_length=16).token_vectors(["ann swims " * 20])
    assert found.shape == (40, 2)
    assert found[-1] == pytest.approx(np.array([1.0, 0.0]))


def test_lone_surrogates_are_read(write: Write) -> None:
    assert write().token_vectors(["\ud800 ann"])[0].shape == (2, 2)


def test_a_special_token_written_in_a_text_stays_text(write: Write) -> None:
    encoder = write()
    assert len(encoder.token_vectors(["[SEP]"])[0]) > 1
    assert encoder.version.startswith("1+")


def test_no_texts(write: Write) -> None:
    assert write().token_vectors([]) == []


def test_a_file_without_token_vectors_is_refused(write: Write) -> None:
    with pytest.raises(ModelFileError, match="gives no token vectors"):
        write(("embedding",)).token_vectors(["ann"])


def test_a_damaged_file_is_refused(write: Write, tmp_path: Path) -> None:
    write()
    (tmp_path / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(ModelFileError, match="is damaged"):
        OnnxEncoder(tmp_path)


def test_the_encoder_in_the_package_puts_a_paraphrase_nearer_than_another_subject() -> None:
    claim, same, other = default_encoder().sentence_vectors(
        ["The tower was finished in 1889.", "They completed the tower in 1889.", "Cats sleep most of the day."]
    )
    assert float(claim @ same) > float(claim @ other) + 0.2
