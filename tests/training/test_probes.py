"""Probes: fitted on states, and read beside labels that they leave as they are."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from extras import needs

from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.model_file import MODEL_FOLDER

needs("onnx")
pytestmark = pytest.mark.slow
PAIRS = [("The bridge opened in 1932.", "The bridge opened in 1875."), ("Refunds take 5 days.", "Cats sleep a lot.")]


def test_probes_are_read_beside_the_labels_and_change_none(tmp_path: Path) -> None:
    from training.probes import set_probes

    before, folder = EmbeddedModel().scores(PAIRS), tmp_path / "model"
    shutil.copytree(MODEL_FOLDER, folder)
    set_probes(folder, np.eye(768), np.zeros(768))
    states = EmbeddedModel(folder).scores(PAIRS)[:, 3:]
    set_probes(folder, np.eye(768)[:, [7, 70, 700]], np.asarray([1.0, 0.0, -1.0]))
    model = EmbeddedModel(folder)
    after = model.scores(PAIRS)
    assert model.probes == 3 and model.version != EmbeddedModel().version
    np.testing.assert_allclose(after[:, :3], before[:, :3], atol=1e-6)
    np.testing.assert_allclose(after[:, 3:], states[:, [7, 70, 700]] + [1, 0, -1], atol=1e-5)


def test_a_probe_follows_what_tells_right_from_wrong() -> None:
    from training.probes import fitted

    rng = np.random.default_rng(3)
    wrong = rng.random(400) < 0.5
    found: list[Any] = []
    for is_wrong in wrong:
        supporting, against = (rng.normal(size=8).astype(np.float32) for _ in range(2))
        supporting[2] += 3 * is_wrong
        odds = {"entailment": float(rng.normal()), "contradiction": float(rng.normal())}
        found.append(
            SimpleNamespace(
                support=SimpleNamespace(probes=supporting), against=SimpleNamespace(probes=against), features=odds
            )
        )
    vectors, shifts = fitted(found, [bool(one) for one in wrong])
    assert vectors.shape == (8, 2) and int(np.abs(vectors).argmax()) == 4 and vectors[2, 0] > 0
    means = [np.mean([one.support.probes @ vectors[:, 0] + shifts[0] for one in found])]
    assert means == pytest.approx([0.0], abs=1e-4)
