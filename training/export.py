"""Write the embedded model of the package from a checkpoint of the packed reader.

    python -m training.export CHECKPOINT --encoder DIR --data DIR [--out evidencerails/nli/model]

Files: `model.onnx` (the graph), `weights-1.bin`, `weights-2.bin` (its int8 matrices, each under 50 MB), `words.npy`
(word embeddings, 4 bits a number, a scale for each 32), `places.npy` (position embeddings), `tokenizer.json` and
`model.json`. The exported file is checked against the float model on MultiNLI before it takes the place of the old one.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from rich.console import Console
from tokenizers import Tokenizer
from torch import Tensor, nn

from training.common import LABELS, read_pairs, sha256
from training.encoder import ENCODER_SHA256, PackedReader
from training.quantise import LinearGroup, quantise_linear
from training.reader_graph import write_reader
from training.sequences import MAX_LENGTH, Batch, Packer, Reading, batches, rows_of, written

SCHEMA = 2
PARTS = 2
GROUP = 32
"""Numbers of a word embedding that share a scale."""
console = Console(stderr=True)


def groups_of(model: PackedReader) -> list[LinearGroup]:
    """The four matrices of each layer."""
    found = []
    for number, layer in enumerate(model.layers):
        found += [
            LinearGroup(f"{number}.qkv", (layer.query, layer.key, layer.value)),
            LinearGroup(f"{number}.attended", (layer.attended,)),
            LinearGroup(f"{number}.inner", (layer.inner,)),
            LinearGroup(f"{number}.outer", (layer.outer,)),
        ]
    return found


@torch.no_grad()
def record_inputs(model: PackedReader, groups: list[LinearGroup], some: Iterable[Batch]) -> dict[str, Tensor]:
    """Inputs (rows, width) of each group on tokens of some batches."""
    kept: dict[str, list[Tensor]] = {group.name: [] for group in groups}
    real: list[Tensor] = []
    hooks = []
    for group in groups:

        def hook(_module: nn.Module, inputs: tuple[Tensor, ...], name: str = group.name) -> None:
            rows = inputs[0].reshape(-1, inputs[0].shape[-1])
            if len(rows) == len(real[-1]):
                rows = rows[real[-1]]
            kept[name].append(rows[torch.randperm(len(rows))[:120]])

        hooks.append(group.members[0].register_forward_pre_hook(hook))
    for batch in some:
        real.append(torch.from_numpy(batch.segments >= 0).reshape(-1))
        model(*(torch.from_numpy(a) for a in (batch.ids, batch.segments, batch.positions, batch.rows, batch.columns)))
    for handle in hooks:
        handle.remove()
    return {name: torch.cat(parts)[:2400] for name, parts in kept.items()}


def four_bits(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(entries, width) floats -> (entries, width / 2) bytes of two numbers each, and (entries, width / 32) scales."""
    blocks = table.reshape(len(table), -1, GROUP)
    best, best_error = np.abs(blocks).max(axis=2) / 7, np.full(blocks.shape[:2], np.inf)
    top = best.copy()
    for share in (1.0, 0.9, 0.8, 0.7):
        scale = np.maximum(top * share, 1e-8)
        error = ((np.clip(np.round(blocks / scale[:, :, None]), -8, 7) * scale[:, :, None] - blocks) ** 2).sum(axis=2)
        best, best_error = np.where(error < best_error, scale, best), np.minimum(error, best_error)
    best = best.astype(np.float16)
    scales = np.maximum(best.astype(np.float32), 1e-8)
    values = (np.clip(np.round(blocks / scales[:, :, None]), -8, 7) + 8).astype(np.uint8).reshape(table.shape)
    return values[:, 0::2] | (values[:, 1::2] << 4), best


def save_graph(model: onnx.ModelProto, folder: Path) -> None:
    """`model.onnx` with its int8 matrices in `PARTS` files beside it."""
    large = [t for t in model.graph.initializer if len(t.raw_data) > 100_000]
    total, written_bytes = sum(len(t.raw_data) for t in large), 0
    streams = [bytearray() for _ in range(PARTS)]
    for tensor in large:
        part = min(PARTS - 1, written_bytes * PARTS // total)
        stream, content = streams[part], tensor.raw_data
        stream.extend(b"\0" * (-len(stream) % 64))
        onnx.external_data_helper.set_external_data(
            tensor, location=f"weights-{part + 1}.bin", offset=len(stream), length=len(content)
        )
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        stream.extend(content)
        written_bytes += len(content)
    for number, stream in enumerate(streams, 1):
        (folder / f"weights-{number}.bin").write_bytes(stream)
    (folder / "model.onnx").write_bytes(model.SerializeToString())


def copy_tokenizer(encoder: Path, out: Path) -> None:
    """The tokenizer without padding and truncation: the caller decides both."""
    tokenizer = Tokenizer.from_file(str(encoder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.save(str(out / "tokenizer.json"), pretty=False)


def describe(folder: Path, extra: dict[str, Any]) -> None:
    """model.json: version, checksums and what the caller passes."""
    names = sorted(path.name for path in folder.iterdir() if path.name != "model.json")
    files = {name: {"sha256": sha256(folder / name), "bytes": (folder / name).stat().st_size} for name in names}
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    metadata = {
        "schema": SCHEMA,
        "name": "evidencerails-nli-mpnet",
        "version": today.replace("-", "."),
        "date": today,
        "max_length": MAX_LENGTH,
        "labels": list(LABELS),
        "languages": ["en"],
        "files": files,
        "base": {"name": "sentence-transformers/all-mpnet-base-v2", "sha256": ENCODER_SHA256},
        "license": "Apache-2.0; trained on data under CC BY-SA and other terms, see docs/model-card.md",
        **extra,
    }
    (folder / "model.json").write_text(json.dumps(metadata, indent=1) + "\n")


def calibration_batches(packer: Packer, passages: Path) -> list[Batch]:
    """Batches of written passages."""
    rng = random.Random(3)
    rows = [row for path in sorted(passages.glob("*.jsonl")) for row in rows_of(path)]
    some = [s for reading in written(rng.sample(rows, min(60, len(rows))), rng) for s in packer.pack(reading, rng)]
    short = [
        s
        for row in rng.sample(rows, min(60, len(rows)))
        for label, _, _, _, text in row["statements"][:2]
        for s in packer.pack(Reading(text, ((row["statements"][0][-1], 0),), ""), rng)
    ]
    return batches(some + short, 3000, rng)


def softmax(logits: np.ndarray, temperature: float) -> np.ndarray:
    scaled = logits / temperature
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The temperature with the smallest cross-entropy."""
    grid = np.geomspace(0.3, 3.0, 70)
    losses = [-np.log(softmax(logits, t)[np.arange(len(labels)), labels] + 1e-12).mean() for t in grid]
    return float(round(grid[int(np.argmin(losses))], 3))


@torch.no_grad()
def float_logits(model: PackedReader, packer: Packer, readings: list[Reading]) -> np.ndarray:
    """Logits of readings with one statement each, in float."""
    rng = random.Random(0)
    found = []
    for reading in readings:
        (sequence,) = packer.pack(reading, rng)
        batch = batches([sequence], 1_000_000, rng)[0]
        arrays = (batch.ids, batch.segments, batch.positions, batch.rows, batch.columns)
        found.append(model(*(torch.from_numpy(array) for array in arrays))[0].numpy())
    return np.stack(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--passages", type=Path, default=Path(__file__).with_name("passages"))
    parser.add_argument("--work-dir", type=Path, default=Path(".training"))
    parser.add_argument("--out", type=Path, default=Path("evidencerails/nli/model"))
    parser.add_argument("--pairs", type=int, default=600, help="of MultiNLI dev, for the check")
    parser.add_argument("--quick", action="store_true", help="do not search for the best scales")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    state = torch.load(arguments.checkpoint, map_location="cpu", weights_only=True)["model"]
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    model = PackedReader(layers).eval()
    model.load_state_dict(state)
    packer = Packer(arguments.encoder / "tokenizer.json")
    groups = groups_of(model)
    recorded = record_inputs(model, groups, calibration_batches(packer, arguments.passages))
    linear = {}
    for group in groups:
        linear[group.name], error = quantise_linear(group, recorded[group.name], is_quick=arguments.quick)
        console.log(f"{group.name:12} relative error {error:.2e}")
    weights = {name: tensor.numpy() for name, tensor in state.items()}
    staging = arguments.work_dir / "export"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    save_graph(write_reader(weights, linear, layers, "packed NLI reader, int8"), staging)
    values, scales = four_bits(weights["words.weight"])
    np.save(staging / "words.npy", values)
    np.save(staging / "word_scales.npy", scales)
    norm = np.stack([weights["embedding_norm.weight"], weights["embedding_norm.bias"]])
    np.save(staging / "places.npy", np.vstack([weights["places.weight"], norm]).astype(np.float16))
    copy_tokenizer(arguments.encoder, staging)
    counts_file = arguments.checkpoint.with_suffix(".json")
    extra = {"layers": layers, "training": json.loads(counts_file.read_text()) if counts_file.exists() else {}}
    describe(staging, extra)

    from evidencerails.nli.embedded import EmbeddedModel

    pairs = read_pairs(arguments.data / "nli" / "eval_mnli_dev_matched.jsonl.gz")[: arguments.pairs]
    labels = np.asarray([pair.label for pair in pairs])
    small = np.log(EmbeddedModel(staging).scores([(pair.premise, pair.hypothesis) for pair in pairs]) + 1e-9)
    exact = float_logits(model, packer, [Reading(p.premise, ((p.hypothesis, p.label),), "") for p in pairs])
    checks = {
        "accuracy_int8": float((small.argmax(1) == labels).mean()),
        "accuracy_float": float((exact.argmax(1) == labels).mean()),
        "agreement": float((small.argmax(1) == exact.argmax(1)).mean()),
        "temperature_float": fit_temperature(exact, labels),
    }
    console.log(json.dumps(checks))
    describe(staging, {**extra, "temperature": fit_temperature(small, labels), "checks": checks})
    arguments.out.mkdir(parents=True, exist_ok=True)
    for path in arguments.out.iterdir():
        path.unlink()
    for path in staging.iterdir():
        shutil.copyfile(path, arguments.out / path.name)
    console.log(f"{arguments.out}: {sum(p.stat().st_size for p in staging.iterdir()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
