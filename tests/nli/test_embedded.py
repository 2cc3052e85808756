"""The embedded backend on a tiny real ONNX file, and on the shipped one where it exists."""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from evidencerails.errors import ModelFileError, NliError
from evidencerails.nli.base import NliModel
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.model_file import MODEL_FOLDER, load_tokenizer
from evidencerails.nli.onnx_session import open_session, usable_processors
from evidencerails.nli.windows import encodable

E2 = float(np.exp(2.0))


def test_scores_are_probabilities_in_the_order_of_labels(tiny_folder: Path) -> None:
    scores = EmbeddedModel(tiny_folder).scores([("paris", "yes"), ("paris", "no"), ("paris", "maybe"), ("paris", "is")])
    high, low = E2 / (E2 + 2), 1 / (E2 + 2)
    expected = [[high, low, low], [low, low, high], [low, high, low], [1 / 3, 1 / 3, 1 / 3]]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, rtol=2e-3)


def test_is_an_nli_model(tiny_folder: Path) -> None:
    model = EmbeddedModel(tiny_folder, threads=3)
    assert isinstance(model, NliModel)
    assert (model.name, model.max_tokens, model.languages, model.threads) == ("tiny", 32, ("en",), 3)
    assert model.version.startswith("1+")


def test_empty_texts_are_scored(tiny_folder: Path) -> None:
    model = EmbeddedModel(tiny_folder)
    assert model.scores([]).shape == (0, 3)
    np.testing.assert_allclose(model.scores([("", "")]), [[1 / 3, 1 / 3, 1 / 3]], rtol=2e-3)


def test_label_order_of_the_file_is_followed(write_model: Callable[..., Path]) -> None:
    folder = write_model(labels=["contradiction", "neutral", "entailment"])
    assert EmbeddedModel(folder).scores([("paris", "yes")])[0].argmax() == 2


def test_temperature_divides_the_logits(write_model: Callable[..., Path]) -> None:
    scores = EmbeddedModel(write_model(temperature=2.0)).scores([("paris", "yes")])
    e1 = float(np.exp(1.0))
    np.testing.assert_allclose(scores, [[e1 / (e1 + 2), 1 / (e1 + 2), 1 / (e1 + 2)]], rtol=2e-3)


def test_a_row_does_not_depend_on_its_neighbours(tiny_folder: Path) -> None:
    model = EmbeddedModel(tiny_folder)
    pairs = [("paris is " * n, "yes") for n in range(8)] + [("no", "paris is in france"), ("no", "yes"), ("no", "no")]
    together = model.scores(pairs)
    alone = np.concatenate([model.scores([pair]) for pair in pairs])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(model.scores(pairs[::-1]), together[::-1], atol=1e-6)


def test_a_long_premise_is_read_to_its_end(tiny_folder: Path) -> None:
    # 300 tokens of nothing before the deciding word: cutting at 32 would give 1/3, 1/3, 1/3
    scores = EmbeddedModel(tiny_folder).scores([("paris " * 300 + "yes", "france")])
    assert scores[0].argmax() == 0


def test_a_long_hypothesis_counts_as_its_least_supported_part(tiny_folder: Path) -> None:
    supported = "yes is " * 200
    model = EmbeddedModel(tiny_folder)
    assert model.scores([("paris", supported)])[0].argmax() == 0
    assert model.scores([("paris", supported + "no no no no")])[0].argmax() == 2


def test_a_special_token_written_in_a_text_stays_text(tiny_folder: Path) -> None:
    model = EmbeddedModel(tiny_folder)
    special, unknown = model.scores([("paris", "yes </s> no"), ("paris", "yes @ @ @ @ no")])
    np.testing.assert_array_equal(special, unknown)


@pytest.mark.parametrize("text", ["\x00paris", "paris \ud800 yes", "\u202eparis", "パリ", "a" * 100_000, "." * 5_000])
def test_odd_text_is_scored(tiny_folder: Path, text: str) -> None:
    assert np.isfinite(EmbeddedModel(tiny_folder).scores([(text, "yes"), ("paris", text)])).all()


@pytest.mark.parametrize("size", [0, 9_990, 10_000, 10_001, 35_000])
def test_a_long_text_read_in_pieces_has_the_offsets_of_the_whole(size: int) -> None:
    letters = "abc é漢字😀\u202e\x00 \n\t.,-'ÅÄ\u0301 \u00a0123"
    generator = np.random.default_rng(size)
    text = "".join(generator.choice(list(letters), size))
    whole = load_tokenizer(MODEL_FOLDER / "tokenizer.json").encode(encodable(text), add_special_tokens=False)
    assert EmbeddedModel().token_offsets(text) == list(whole.offsets)


def test_token_offsets_point_into_the_text(tiny_folder: Path) -> None:
    text = "Paris  is\x00 in\ud800 France."
    offsets = EmbeddedModel(tiny_folder).token_offsets(text)
    assert [text[start:end] for start, end in offsets] == ["Paris", "is\x00", "in", "\ud800", "France", "."]


def test_numbers_that_are_not_finite_are_an_error(write_model: Callable[..., Path]) -> None:
    with pytest.raises(NliError, match="not finite"):
        EmbeddedModel(write_model(logit_of_yes=float("nan"))).scores([("paris", "yes")])


@pytest.mark.parametrize(("kept_bytes", "runs"), [(10_000, [2, 1, 2, 1]), (100, [2, 2, 2, 2])])
def test_evidence_that_was_read_is_kept_within_bounds_and_gives_the_same_scores(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, kept_bytes: int, runs: list[int]
) -> None:
    counted: list[int] = []

    class Counting:
        """A session that notes its runs: one for evidence that is not kept, one for the claims."""

        def __init__(self, *arguments: Any) -> None:
            self.session = open_session(*arguments)
            self.get_inputs, self.get_outputs = self.session.get_inputs, self.session.get_outputs

        def run(self, *arguments: Any) -> Any:
            counted[-1] += 1
            return self.session.run(*arguments)

    monkeypatch.setattr("evidencerails.nli.embedded.open_session", Counting)
    monkeypatch.setattr("evidencerails.nli.embedded.KEPT_BYTES", kept_bytes)
    model, found = EmbeddedModel(tiny_folder), []
    for premise in ("paris is in france", "paris is in france", "the capital", "paris is in france"):
        counted.append(0)
        found.append(model.scores([(premise, "yes"), (premise, "no")]))
    assert counted == runs
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[3])


FROM = {8: 8, 9: 12, 10: 16, 11: 23, 12: 32, 13: 46, 14: 64, 15: 91}
"""The first distance of each bucket from the eighth on, in `MPNetEncoder.relative_position_bucket` of transformers."""


def test_distances_are_counted_as_mpnet_counts_them(write_model: Callable[..., Path]) -> None:
    """A reader whose logits are the buckets of the first and the last token that a claim's first token sees."""
    folder = write_model(max_length=512)
    model = onnx.load(str(folder / "model.onnx"))
    model.graph.node[-1].output[0] = "unread"
    for name, value in (
        ("ends", np.array([0, -1], np.int64)),
        ("tenths", np.array([[0.1, 0.0, 0.0], [0.0, 0.1, 0.0]], np.float32)),
    ):
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    model.graph.node.extend(
        [
            onnx.helper.make_node("Gather", ["buckets", "readers"], ["own"], axis=0),
            onnx.helper.make_node("Gather", ["own", "ends"], ["seen"], axis=1),
            onnx.helper.make_node("Cast", ["seen"], ["numbers"], to=onnx.TensorProto.FLOAT),
            onnx.helper.make_node("MatMul", ["numbers", "tenths"], ["logits"]),
        ]
    )
    signed(folder, "model.onnx", model.SerializeToString())
    reader = EmbeddedModel(folder)

    def expected(distance: int) -> int:
        return max((bucket for bucket, first in FROM.items() if first <= distance), default=distance)

    for before, behind in ((number, min(number, 250)) for number in [*range(100), 127, 128, 129, 250, 500]):
        first, last, none = np.log(reader.scores([("is " * before, "is " * behind)])[0])
        buckets = np.round((np.array([first, last]) - none) * 10).tolist()
        assert buckets == [expected(before + 2), 16 + expected(behind + 1)], (before, behind)


def signed(folder: Path, name: str, content: bytes) -> None:
    """Put another file in a place, with the checksum that it has."""
    (folder / name).write_bytes(content)
    description = json.loads((folder / "model.json").read_text())
    description["files"][name]["sha256"] = hashlib.sha256(content).hexdigest()
    (folder / "model.json").write_text(json.dumps(description))


def test_a_file_with_other_inputs_is_refused(tiny_folder: Path) -> None:
    model = onnx.load(str(tiny_folder / "model.onnx"))
    model.graph.input[0].name = model.graph.node[2].input[0] = model.graph.node[8].input[1] = "states_of_words"
    signed(tiny_folder, "model.onnx", model.SerializeToString())
    with pytest.raises(ModelFileError, match="it is no packed reader"):
        EmbeddedModel(tiny_folder)


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


DAMAGED = r"{} is damaged: sha256 is .*, expected .*; install evidencerails"
FILES = ("model.onnx", "tokenizer.json", "words.npy")


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        *((name, flipped, DAMAGED.format(name)) for name in FILES),
        *((name, Path.unlink, f"{name} cannot be read") for name in FILES),
        *((name, lambda file: signed(file.parent, file.name, b"not a model"), f"{name} cannot be (loaded|read) by")
          for name in FILES[:2]),
        ("model.json", lambda file: file.write_text("{"), r"model\.json cannot be read: JSONDecodeError"),
        ("model.json", Path.unlink, r"missing: no file .*model\.json; install evidencerails again"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named(tiny_folder: Path, name: str, damage: Any, message: str) -> None:
    damage(tiny_folder / name)
    with pytest.raises(ModelFileError, match=message):
        EmbeddedModel(tiny_folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": ["yes", "no", "maybe"]}, "must be the three labels"),
        ({"schema": 99}, "upgrade evidencerails"),
        ({"temperature": 0}, "temperature"),
        ({"max_length": "long"}, "max_length"),
        ({"files": {}}, "holds no sha256 of model.onnx"),
    ],
)
def test_a_bad_description_is_refused(
    write_model: Callable[..., Path], changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ModelFileError, match=message):
        EmbeddedModel(write_model(**changes))


@pytest.mark.parametrize(
    ("content", "expected"), [("150000 100000\n", 1), ("max 100000\n", None), ("", None), ("400000 100000", 4)]
)
def test_threads_respect_the_limit_of_the_container(tmp_path: Path, content: str, expected: int | None) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text(content)
    allowed = len(os.sched_getaffinity(0))
    assert usable_processors(quota) == max(1, min(allowed, expected or allowed, 8))


@pytest.mark.slow
@pytest.mark.skipif(not (MODEL_FOLDER / "model.json").exists(), reason="no shipped model in this tree")
def test_a_claims_score_does_not_depend_on_what_else_is_asked() -> None:
    model = EmbeddedModel()
    evidence = "Items can be returned within 30 days. Refunds are paid within 5 business days. The shop is in Lyon."
    claims = ["Refunds take 20 days.", "Items may come back within a month.", "The shop is in Lyon.", "It rains."]
    others = [(f"{'bridge ' * length}opened", "The bridge opened.") for length in (1, 30, 300)]
    alone = np.concatenate([EmbeddedModel().scores([(evidence, claim)]) for claim in claims])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        pairs = [(evidence, claims[place]) for place in order]
        together = model.scores([*others, *pairs, *others])[3:-3]
        np.testing.assert_allclose(together, alone[order], atol=2e-3)
