"""Write the int8 ONNX files of the package from a checkpoint.

    python -m training.export --data DIR [--work-dir .training] [--out evidencerails/nli/model]
    python -m training.export --embedding [--data DIR] [--out evidencerails/scoring/model]

The first is the classifier, the second the pretrained sentence encoder for embeddings. Both are checked against the
float model before they are written; `model.json` beside them names labels, calibration, checksums and sources.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from rich.console import Console
from tokenizers import Tokenizer
from torch import Tensor, nn

from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.model_file import MODEL_FOLDER
from training import graph
from training.common import LABELS, MAX_LENGTH, Pair, encoder_folder, read_pairs, sha256
from training.quantise import groups_of, quantise_linear, quantise_table, record_inputs
from training.stages import PUBLISHED, stages_of
from training.train import CrossEncoder, Prepared, new_model

CALIBRATION_PAIRS = 384
SCHEMA = 1
console = Console(stderr=True)


def load_average(work_dir: Path) -> CrossEncoder:
    """The averaged weights of the newest checkpoint."""
    state = torch.load(work_dir / "run" / "checkpoint.pt", map_location="cpu", weights_only=False)
    model = new_model()
    model.load_state_dict(state["average"])
    return model.eval()


def calibration_batches(work_dir: Path, size: int = 16) -> list[dict[str, Tensor]]:
    """Batches of training pairs, each of similar length."""
    data = Prepared(work_dir / "train.npz")
    rows = np.random.default_rng(0).choice(len(data.lengths), CALIBRATION_PAIRS, replace=False)
    rows = rows[np.argsort(data.lengths[rows])]
    return [data.tensors(rows[start : start + size])[0] for start in range(0, len(rows), size)]


def build(
    encoder: nn.Module,
    batches: list[dict[str, Tensor]],
    head: dict[str, np.ndarray] | None,
    about: str,
    *,
    is_quick: bool = False,
) -> onnx.ModelProto:
    """The int8 graph of an encoder with a classifier head, or (no head) with a mean embedding."""
    groups = groups_of(encoder)
    recorded = record_inputs(encoder, groups, batches)
    layers = {}
    for group in groups:
        layers[group.name], error = quantise_linear(group, recorded[group.name], is_quick=is_quick)
        smooth = "smoothed" if layers[group.name].smooth is not None else ""
        console.log(f"{group.name:12} relative error {error:.2e} {smooth}")
    weights = {name: tensor.detach().numpy() for name, tensor in encoder.state_dict().items()}
    config = encoder.config
    shape = graph.EncoderShape(
        config.num_hidden_layers, config.num_attention_heads, config.hidden_size, config.layer_norm_eps
    )
    words = quantise_table(weights["embeddings.word_embeddings.weight"])
    writer = graph.GraphWriter()
    hidden = graph.write_encoder(writer, shape, weights, layers, words, first_only=head is not None)
    output: dict[str, list[int | str]]
    if head is not None:
        output = {graph.write_head(writer, hidden, head): ["batch", len(LABELS)]}
    else:
        output = {graph.write_mean(writer, hidden): ["batch", config.hidden_size]}
    return writer.model({**output, "tokens": ["batch", "tokens", config.hidden_size]}, about)


def pair_tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(MAX_LENGTH, strategy="only_first")
    tokenizer.enable_padding()
    return tokenizer


def run_sorted(pairs: list[Any], tokenizer: Tokenizer, batch: int, call: Any) -> np.ndarray:
    """Results in input order of a call on feeds of pairs (or texts) of similar length."""
    order = np.argsort([-sum(map(len, pair)) for pair in pairs], kind="stable")
    result: np.ndarray | None = None
    for start in range(0, len(order), batch):
        rows = order[start : start + batch]
        encodings = tokenizer.encode_batch([pairs[row] for row in rows])
        feed = {
            "input_ids": np.asarray([encoding.ids for encoding in encodings], np.int64),
            "attention_mask": np.asarray([encoding.attention_mask for encoding in encodings], np.int64),
            "token_type_ids": np.asarray([encoding.type_ids for encoding in encodings], np.int64),
        }
        values = call(feed)
        if result is None:
            result = np.zeros((len(pairs), values.shape[1]), np.float32)
        result[rows] = values
    assert result is not None
    return result


@torch.no_grad()
def torch_logits(model: nn.Module, pairs: list[Any], batch: int = 32) -> np.ndarray:
    """Results of the float model."""
    tokenizer = pair_tokenizer(encoder_folder() / "tokenizer.json")
    return run_sorted(
        pairs, tokenizer, batch, lambda feed: model(**{k: torch.from_numpy(v) for k, v in feed.items()}).numpy()
    )


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    shifted = logits / temperature
    shifted = np.exp(shifted - shifted.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The temperature with the smallest cross-entropy."""
    grid = np.geomspace(0.3, 3.0, 70)
    losses = [-np.log(softmax(logits, t)[np.arange(len(labels)), labels] + 1e-12).mean() for t in grid]
    return float(round(grid[int(np.argmin(losses))], 3))


def check(folder: Path, model: CrossEncoder, pairs: list[Pair]) -> dict[str, float]:
    """Accuracy in float and of the exported file as evidencerails runs it, and how far a row moves with its batch."""
    exported = EmbeddedModel(folder)
    texts = [(pair.premise, pair.hypothesis) for pair in pairs]
    labels = np.asarray([pair.label for pair in pairs])
    chances, exact = exported.scores(texts), torch_logits(model, texts)
    small = np.log(chances)  # as good as logits: a temperature does not see what all three have in common
    alone = np.concatenate([exported.scores([text]) for text in texts[:64]])
    return {
        "accuracy_int8": float((small.argmax(1) == labels).mean()),
        "accuracy_float": float((exact.argmax(1) == labels).mean()),
        "agreement": float((small.argmax(1) == exact.argmax(1)).mean()),
        "largest_row_shift": float(np.abs(alone - chances[:64]).max()),
        "temperature": fit_temperature(small, labels),
        "temperature_float": fit_temperature(exact, labels),
    }


def copy_tokenizer(out: Path) -> None:
    """The tokenizer without padding and truncation: the caller decides both."""
    tokenizer = Tokenizer.from_file(str(encoder_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.save(str(out / "tokenizer.json"))


def write_metadata(out: Path, name: str, extra: dict[str, Any]) -> None:
    """model.json: version, checksums and what the caller passes."""
    files = {path.name: {"sha256": sha256(path), "bytes": path.stat().st_size} for path in sorted(out.glob("*.onnx"))}
    files["tokenizer.json"] = {
        "sha256": sha256(out / "tokenizer.json"),
        "bytes": (out / "tokenizer.json").stat().st_size,
    }
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    metadata = {
        "schema": SCHEMA,
        "name": name,
        "version": today.replace("-", "."),
        "date": today,
        "max_length": MAX_LENGTH,
        "opset": graph.OPSET,
        "ir_version": graph.IR_VERSION,
        "padding": False,
        "files": files,
        **extra,
    }
    (out / "model.json").write_text(json.dumps(metadata, indent=1) + "\n")


def export_classifier(data: Path, work_dir: Path, out: Path, check_pairs: int, *, is_quick: bool = False) -> None:
    """model.onnx, tokenizer.json and model.json of the newest checkpoint."""
    model, stages = load_average(work_dir), stages_of(work_dir)
    head = {name: tensor.numpy() for name, tensor in model.state_dict().items() if not name.startswith("encoder.")}
    made = build(model.encoder, calibration_batches(work_dir), head, "NLI cross-encoder, int8", is_quick=is_quick)
    staging = work_dir / "export"
    staging.mkdir(parents=True, exist_ok=True)
    onnx.save(made, staging / "model.onnx")
    copy_tokenizer(staging)
    pairs = read_pairs(data / "nli" / "eval_mnli_dev_matched.jsonl.gz")[:check_pairs]
    name = "evidencerails-nli-minilm-l6"
    write_metadata(staging, name, {"labels": list(LABELS)})
    checked = check(staging, model, pairs)
    console.log(json.dumps(checked))
    prepared = json.loads((work_dir / "prepare.json").read_text())
    extra = {
        "labels": list(LABELS),
        "languages": ["en"],
        "temperature": checked["temperature"],
        "temperature_float": checked["temperature_float"],
        "checks": checked,
        "training_steps": sum(stage["steps"] for stage in stages),
        "base": {"name": "sentence-transformers/all-MiniLM-L6-v2", "sha256": prepared["encoder_sha256"]},
        "sources": [name for name in prepared["sources"] if not name.startswith("made/")] + ["fever_nei_claims"],
        "license": "Apache-2.0; trained on data under CC BY-SA and other terms, see docs/model-card.md",
    }
    write_metadata(staging, name, extra)
    _publish(staging, out)
    if out == MODEL_FOLDER:
        PUBLISHED.write_text(json.dumps(stages, indent=1) + "\n")


def export_embedding(work_dir: Path, out: Path) -> None:
    """The pretrained sentence encoder in int8."""
    model = new_model().eval()
    batches = [
        batch | {"token_type_ids": torch.zeros_like(batch["input_ids"])} for batch in calibration_batches(work_dir)
    ]
    made = build(model.encoder, batches, None, "sentence embeddings, int8")
    staging = work_dir / "export-embedding"
    staging.mkdir(parents=True, exist_ok=True)
    onnx.save(made, staging / "model.onnx")
    copy_tokenizer(staging)
    extra = {
        "dimensions": model.encoder.config.hidden_size,
        "languages": ["en"],
        "base": {"name": "sentence-transformers/all-MiniLM-L6-v2"},
        "license": "Apache-2.0",
    }
    write_metadata(staging, "evidencerails-embedding-minilm-l6", extra)
    _publish(staging, out)


def _publish(staging: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name in ("model.onnx", "tokenizer.json", "model.json"):
        shutil.copyfile(staging / name, out / name)
    console.log(f"{out}: {(out / 'model.onnx').stat().st_size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--work-dir", type=Path, default=Path(".training"))
    parser.add_argument("--embedding", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="do not search for the best scales")
    parser.add_argument("--check-pairs", type=int, default=4000, help="of MultiNLI dev, for calibration and the check")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    if arguments.embedding:
        export_embedding(arguments.work_dir, arguments.out or Path("evidencerails/scoring/model"))
    else:
        if arguments.data is None:
            parser.error("--data is needed to calibrate the classifier")
        export_classifier(arguments.data, arguments.work_dir, arguments.out or MODEL_FOLDER, arguments.check_pairs)


if __name__ == "__main__":
    main()
