"""Vectors of the encoder inside the package."""

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from evidencerails.errors import ModelFileError
from evidencerails.measures.encoder import ENCODER_FOLDER, OnnxEncoder, default_encoder

NAMES = ("model.onnx", "tokenizer.json", "model.json")


def test_token_vectors_are_unit_vectors_without_special_tokens() -> None:
    first, second = default_encoder().token_vectors(["Ann runs", "paints"])
    assert (first.shape, second.shape) == ((2, 384), (1, 384))
    assert np.linalg.norm(first, axis=1) == pytest.approx([1.0, 1.0], abs=1e-5)


def test_a_paraphrase_is_nearer_than_another_subject() -> None:
    claim, same, other = default_encoder().sentence_vectors(
        ["The tower was finished in 1889.", "They completed the tower in 1889.", "Cats sleep most of the day."]
    )
    assert float(claim @ same) > float(claim @ other) + 0.2
    assert float(claim @ claim) == pytest.approx(1.0)


def test_order_and_company_change_nothing() -> None:
    texts = ["ann", "ann paints runs ann", "", "runs"]
    together = default_encoder().token_vectors(texts * 20)
    for text, found in zip(texts, together, strict=False):
        assert found == pytest.approx(default_encoder().token_vectors([text])[0], abs=0.02)
    assert [len(found) for found in together[:4]] == [1, 4, 0, 1]
    assert default_encoder().token_vectors([]) == []


def test_a_text_longer_than_the_model_is_read_in_parts() -> None:
    (found,) = default_encoder().token_vectors(["ann runs " * 300])
    assert found.shape == (600, 384) and np.isfinite(found).all()


@pytest.mark.parametrize("text", ["\ud800 ann", "[SEP]"])
def test_lone_surrogates_are_read_and_a_special_token_stays_text(text: str) -> None:
    assert len(default_encoder().token_vectors([text])[0]) > 1


@pytest.mark.parametrize(("is_declared", "message"), [(True, "gives no token vectors"), (False, "is damaged")])
def test_a_file_that_is_damaged_or_has_no_token_vectors_is_refused(
    tmp_path: Path, is_declared: bool, message: str
) -> None:
    contents = {name: (ENCODER_FOLDER / name).read_bytes() for name in NAMES}
    description = json.loads(contents["model.json"])
    model = onnx.load_from_string(contents["model.onnx"])
    kept = [output for output in model.graph.output if output.name != "tokens"]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    contents["model.onnx"] = model.SerializeToString()
    if is_declared:
        description["files"]["model.onnx"]["sha256"] = hashlib.sha256(contents["model.onnx"]).hexdigest()
    contents["model.json"] = json.dumps(description).encode()
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        OnnxEncoder(tmp_path).token_vectors(["ann"])
