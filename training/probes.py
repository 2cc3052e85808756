"""Fit the probes of the embedded model: two vectors over its last hidden state, read beside its three logits.

    python -m training.probes ROWS.jsonl ... [--model evidencerails/nli/model]

Rows are labelled passages (see `sequences`) that the weights were not trained on, nor the verdict fitted on. One vector
reads the window that supports a claim most, the other the one that contradicts it most; both together, beside the two
log-odds that the verdict has anyway, are a logistic regression for "not supported". Encoder and head stay as they are:
only the last matrix of `model.onnx` gets two more columns. Fit the verdict anew afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from evidencerails.nli.base import LABELS
from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.model_file import DESCRIPTION, MODEL_FOLDER, ONNX
from evidencerails.nli.service import NliService
from evidencerails.verdict.reading import ClaimEvidence
from training.verdict import items_of

STRENGTH = 1e-3
"""Inverse of the penalty, chosen among .0001 to .003 on the development rows."""
FREE = 30.0
"""The two log-odds are made so many times as large, so that the penalty leaves them alone."""
console = Console(stderr=True)


def set_probes(folder: Path, vectors: np.ndarray, shifts: np.ndarray) -> None:
    """Write probes into the model of a folder, in the place of those it has: vectors (width, n) and shifts (n,)."""
    path = folder / ONNX
    model = onnx.load(str(path), load_external_data=False)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for name, more in (("out.w", vectors), ("out.b", shifts)):
        kept = numpy_helper.to_array(tensors[name])[..., : len(LABELS)]
        whole = np.concatenate([kept, more], axis=-1).astype(np.float32)
        tensors[name].CopyFrom(numpy_helper.from_array(whole, name))
    logits = next(output for output in model.graph.output if output.name == "logits")
    size = len(LABELS) + len(shifts)
    logits.CopyFrom(helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["claims", size]))
    path.write_bytes(model.SerializeToString())
    described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    content = path.read_bytes()
    described["files"][ONNX] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (folder / DESCRIPTION).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")


def fitted(read: Sequence[ClaimEvidence], is_wrong: Sequence[bool]) -> tuple[np.ndarray, np.ndarray]:
    """Vectors (width, 2) and shifts (2,), so that each probe's mean is 0; `probes` of the windows are the states."""
    sides = [np.stack([getattr(one, side).probes for one in read]) for side in ("support", "against")]
    odds = [[one.features[name] for name in ("entailment", "contradiction")] for one in read]
    x = np.concatenate([np.asarray(odds), *sides], axis=1)
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    spread[:2] /= FREE
    fit = LogisticRegression(C=STRENGTH, max_iter=1_000).fit((x - mean) / spread, np.asarray(is_wrong))
    weights, width = (fit.coef_[0] / spread)[2:], sides[0].shape[1]
    vectors = np.stack([weights[:width], weights[width:]], axis=1)
    return vectors, -np.asarray([side.mean(axis=0) @ vector for side, vector in zip(sides, vectors.T, strict=True)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--model", type=Path, default=MODEL_FOLDER, help="folder of the embedded model")
    arguments = parser.parse_args()
    rows = [json.loads(line) for path in arguments.rows for line in path.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        shutil.copytree(arguments.model, folder)
        graph = onnx.load(str(folder / ONNX), load_external_data=False).graph
        width = next(tensor.dims[0] for tensor in graph.initializer if tensor.name == "out.w")
        set_probes(folder, np.eye(width), np.zeros(width))  # probes that give the state itself
        items = asyncio.run(items_of(rows, NliService(EmbeddedModel(folder))))
    pairs = [pair for item in items for pair in zip(item.evidence, item.labels, strict=True)]
    pairs = [(one, is_right) for one, is_right in pairs if one.support and one.against]
    vectors, shifts = fitted([one for one, _ in pairs], [not is_right for _, is_right in pairs])
    set_probes(arguments.model, vectors, shifts)
    console.log(f"{len(rows)} rows, {len(pairs)} claims; norms {np.linalg.norm(vectors, axis=0).round(3)}")


if __name__ == "__main__":
    main()
