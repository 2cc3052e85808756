"""Hugging Face models, with a tiny random BERT made on the spot."""

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from extras import needs

from evidencerails.errors import MissingExtraError, ModelFileError, NliError
from evidencerails.nli.base import NliModel, label_columns

needs("torch")
transformers = needs("transformers")

from evidencerails.nli.transformers_backend import TransformersModel  # noqa: E402 - after the packages it needs

pytestmark = pytest.mark.slow

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "paris", "is", "in", "france", "yes", "no", "."]
PAIRS = [("Paris is in France.", "yes"), ("no no no", "Paris is in France.")]


def _save_bert(folder: Path, id2label: dict[int, str]) -> Path:
    import torch

    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    transformers.BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=64, initializer_range=1.0,
        id2label=id2label, label2id={label: place for place, label in id2label.items()},
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture
def make_bert(tmp_path: Path) -> Callable[..., Path]:
    return lambda *labels: _save_bert(tmp_path / "-".join(labels), dict(enumerate(labels)))


def test_label_order_is_read_from_the_model(make_bert: Callable[..., Path]) -> None:
    straight = TransformersModel(str(make_bert("entailment", "neutral", "contradiction"))).scores(PAIRS)
    # the same weights under other names: the columns move with the names
    shuffled = TransformersModel(str(make_bert("CONTRADICTION", "Entailment", "NEUTRAL"))).scores(PAIRS)
    np.testing.assert_allclose(shuffled, straight[:, [1, 2, 0]], atol=1e-6)
    np.testing.assert_allclose(straight.sum(axis=1), [1, 1], atol=1e-5)
    assert np.abs(straight[:, 0] - straight[:, 2]).max() > 0.01


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        ({0: "contradiction", 1: "entailment", 2: "neutral"}, [1, 2, 0]),
        ({0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}, [0, 1, 2]),
        ({0: "entails", 1: "contradicts", 2: "neutral"}, [0, 2, 1]),
    ],
)
def test_columns_of_known_orders(labels: dict[int, str], columns: list[int]) -> None:
    assert label_columns(labels, "m") == columns


@pytest.mark.parametrize(
    "labels",
    [
        {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"},
        {0: "entailment", 1: "not_entailment"},
        {0: "entailment", 1: "not_entailment", 2: "neutral"},
        {0: "entailment", 1: "neutral", 2: "contradiction", 3: "other"},
        {0: "entailment", 1: "entailment", 2: "contradiction"},
        {0: "positive", 1: "negative", 2: "neutral"},
        {},
    ],
)
def test_labels_that_do_not_tell_are_refused(labels: dict[int, str]) -> None:
    with pytest.raises(NliError, match=r"model 'm' has the labels .*; expected exactly three .*id2label"):
        label_columns(labels, "m")


def test_a_model_without_nli_labels_is_refused(make_bert: Callable[..., Path]) -> None:
    with pytest.raises(NliError, match="LABEL_0"):
        TransformersModel(str(make_bert("LABEL_0", "LABEL_1", "LABEL_2")))


def test_is_an_nli_model_and_its_version_follows_the_weights(make_bert: Callable[..., Path]) -> None:
    model = TransformersModel(str(make_bert("entailment", "neutral", "contradiction")), languages=("*",))
    other = TransformersModel(str(make_bert("contradiction", "neutral", "entailment")))
    assert isinstance(model, NliModel)
    assert (model.max_tokens, model.languages) == (64, ("*",))
    assert model.version != other.version


def test_rows_do_not_depend_on_batches_or_order(make_bert: Callable[..., Path]) -> None:
    folder = str(make_bert("entailment", "neutral", "contradiction"))
    pairs = [("Paris is in France. " * n, "yes no") for n in range(5)] + PAIRS
    one_by_one = TransformersModel(folder, batch_size=1).scores(pairs)
    np.testing.assert_allclose(TransformersModel(folder, batch_size=4).scores(pairs), one_by_one, atol=1e-5)


def test_long_pairs_are_read_in_parts(make_bert: Callable[..., Path]) -> None:
    model = TransformersModel(str(make_bert("entailment", "neutral", "contradiction")))
    scores = model.scores([("Paris is in France. " * 100, "yes"), ("yes", "Paris is in France. " * 100)])
    np.testing.assert_allclose(scores.sum(axis=1), [1, 1], atol=1e-5)
    assert model.scores([]).shape == (0, 3)


def test_token_offsets_and_odd_text(make_bert: Callable[..., Path]) -> None:
    model = TransformersModel(str(make_bert("entailment", "neutral", "contradiction")))
    text = "Paris is in \ud800 France."
    assert [text[start:end] for start, end in model.token_offsets(text)] == [*text.replace(".", " .").split(" ")]
    assert np.isfinite(model.scores([("\x00\ud800", "\u202e")])).all()


def test_a_model_that_is_nowhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="nowhere' cannot be loaded"):
        TransformersModel(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("missing", "kind", "message"),
    [
        ("torch", MissingExtraError, r'pip install "evidencerails\[transformers\]"'),
        ("tokenizers", NliError, "packages cannot be imported.*No module named 'tokenizers'"),
    ],
)
def test_a_missing_package_names_the_extra_and_one_that_a_package_needs_is_named(
    monkeypatch: pytest.MonkeyPatch, missing: str, kind: type[Exception], message: str
) -> None:
    real_import = builtins.__import__

    def without_it(name: str, *args: Any, **keywords: Any) -> Any:
        if name == "torch":
            raise ImportError(f"No module named {missing!r}", name=missing)
        return real_import(name, *args, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_it)
    with pytest.raises(kind, match=message):
        TransformersModel("any")
