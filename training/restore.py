"""A checkpoint of the published weights, to go on training from.

    python -m training.restore [--model evidencerails/nli/model] [--out .training/published.pt]

Who has the package needs no earlier run: the int8 weights times their scales, with the encoder's own word embeddings
(never trained), are the float weights to within the rounding of the export. `train --start` takes the file.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from rich.console import Console
from torch import Tensor

from training.stages import PUBLISHED
from training.train import new_model

console = Console(stderr=True)
NORMS = {"weight": "gamma", "bias": "beta"}
LINEARS = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "attention",
    "intermediate.dense": "up",
    "output.dense": "down",
}
"""Linear layers of the checkpoint by their names in the graph; see `graph.py`."""


def published_weights(path: Path, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of a `CrossEncoder` with the weights of an exported classifier.

    Args:
        state: that of a new one: names, and the word embeddings.

    Raises:
        KeyError: if the file is not one of `export.py`.
    """
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    found = {
        "encoder.embeddings.token_type_embeddings.weight": stored["types.rows"],
        "encoder.embeddings.position_embeddings.weight": stored["positions.rows"],
        "dense.weight": stored["dense.w"].T,
        "dense.bias": stored["dense.b"],
        "classifier.weight": stored["classifier.w"].T,
        "classifier.bias": stored["classifier.b"],
    }
    for name in state:
        module, _, kind = name.rpartition(".")
        inner = module.removeprefix("encoder.")
        if inner.endswith("LayerNorm"):
            found[name] = stored[f"{inner}.{NORMS[kind]}"]
        elif inner.startswith("encoder.layer."):
            number, _, linear = inner.removeprefix("encoder.layer.").partition(".")
            found[name] = _linear(stored, f"layer.{number}", LINEARS[linear], kind)
    return {**state} | {name: torch.from_numpy(np.array(values, np.float32)) for name, values in found.items()}


def _linear(stored: dict[str, np.ndarray], layer: str, part: str, kind: str) -> np.ndarray:
    if kind == "bias":
        return stored[f"{layer}.{part}.bias"]
    weight = stored[f"{layer}.{part}.weight"].astype(np.float32) * stored[f"{layer}.{part}.w_scale"]
    group = "qkv" if part in ("query", "key", "value") else part
    # What the activation was divided by, the weight was multiplied with.
    inverse = stored.get(f"{layer}.{group}.smooth", np.ones(len(weight), np.float32))
    return (weight * inverse[:, None]).T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=Path("evidencerails/nli/model"))
    parser.add_argument("--out", type=Path, default=Path(".training/published.pt"))
    arguments = parser.parse_args()
    about = json.loads((arguments.model / "model.json").read_text())
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    average = published_weights(arguments.model / "model.onnx", new_model().state_dict())
    torch.save({"average": average, "step": about["training_steps"]}, arguments.out)
    shutil.copyfile(PUBLISHED, arguments.out.with_suffix(".json"))
    console.log(f"{arguments.out}: {about['name']} {about['version']}")


if __name__ == "__main__":
    main()
