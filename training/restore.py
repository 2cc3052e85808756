"""A checkpoint to go on from, out of the published int8 files: exact but for what int8 and 4 bits round away.

    python -m training.restore OUT.pt --encoder DIR [--model evidencerails/nli/model]

Word and position embeddings, which no run has changed, come from the pretrained encoder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from evidencerails.nli.base import LABELS
from training.encoder import BUCKETS, PackedReader, pretrained

GROUPS = {"query": "qkv", "key": "qkv", "value": "qkv", "attended": "attended", "inner": "inner", "outer": "outer"}
"""Matrix of a layer -> the group whose smoothing its input has had."""


def published_state(model: Path, encoder: Path) -> dict[str, torch.Tensor]:
    """Weights of `PackedReader` from the files of a model folder."""
    graph = onnx.load(str(model / "model.onnx")).graph
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    layers = 1 + max(int(name.split(".")[1]) for name in found if name.startswith("layers."))
    reader: PackedReader = pretrained(encoder, layers)
    state = dict(reader.state_dict())
    for number in range(layers):
        for part, group in GROUPS.items():
            name = f"layer.{number}.{part}"
            weight = found[f"{name}.weight"].astype(np.float32) * found[f"{name}.w_scale"]
            unsmooth = found.get(f"layer.{number}.{group}.smooth")
            weight = weight if unsmooth is None else weight * unsmooth[:, None]
            state[f"layers.{number}.{part}.weight"] = torch.from_numpy(np.ascontiguousarray(weight.T))
            state[f"layers.{number}.{part}.bias"] = torch.from_numpy(found[f"{name}.bias"].copy())
        for norm in ("attention_norm", "output_norm"):
            name = f"layers.{number}.{norm}"
            state[f"{name}.weight"] = torch.from_numpy(found[f"{name}.gamma"].copy())
            state[f"{name}.bias"] = torch.from_numpy(found[f"{name}.beta"].copy())
    state["distances.weight"] = torch.from_numpy(found["distances"][:BUCKETS].copy())
    for place, name, columns in ((0, "dense", None), (2, "out", len(LABELS))):  # what follows are probes
        state[f"head.{place}.weight"] = torch.from_numpy(np.ascontiguousarray(found[f"{name}.w"][:, :columns].T))
        state[f"head.{place}.bias"] = torch.from_numpy(found[f"{name}.b"][:columns].copy())
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=Path("evidencerails/nli/model"))
    arguments = parser.parse_args()
    torch.save({"model": published_state(arguments.model, arguments.encoder)}, arguments.out)


if __name__ == "__main__":
    main()
