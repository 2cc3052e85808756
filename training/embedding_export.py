"""Write the sentence encoder of the package: `all-MiniLM-L6-v2` in int8, as it was pretrained.

    python -m training.embedding_export [--out evidencerails/measures/model]

Its vectors serve the measures that compare wordings, not the verdict.
"""

from __future__ import annotations

import argparse
import random
import shutil
from pathlib import Path

import onnx
import torch
from rich.console import Console
from tokenizers import Tokenizer
from torch import Tensor, nn

from training import graph
from training.common import encoder_folder
from training.export import describe
from training.quantise import groups_of, quantise_linear, quantise_table, record_inputs
from training.sequences import rows_of

TEXTS = 384
TOKENS = 512
console = Console(stderr=True)


def pretrained() -> nn.Module:
    """The sentence encoder without its pooling layer."""
    from transformers import BertModel

    encoder: nn.Module = BertModel.from_pretrained(encoder_folder(), add_pooling_layer=False, dtype=torch.float32)
    return encoder.eval()


def calibration_batches(tokenizer: Tokenizer, size: int = 16) -> list[dict[str, Tensor]]:
    """Batches of written statements and sentences, by length."""
    rows = rows_of(Path(__file__).with_name("written.jsonl"))
    texts = [text for row in rows for text in (row["sentences"][0], row["statements"][0][-1])]
    chosen = sorted(random.Random(0).sample(texts, TEXTS), key=len)
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding()
    found = []
    for start in range(0, len(chosen), size):
        encodings = tokenizer.encode_batch(chosen[start : start + size])
        ids = torch.tensor([encoding.ids for encoding in encodings])
        mask = torch.tensor([encoding.attention_mask for encoding in encodings])
        found.append({"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)})
    return found


def build(encoder: nn.Module, batches: list[dict[str, Tensor]]) -> onnx.ModelProto:
    """The int8 graph with a mean embedding."""
    groups = groups_of(encoder)
    recorded = record_inputs(encoder, groups, batches)
    layers = {group.name: quantise_linear(group, recorded[group.name])[0] for group in groups}
    weights = {name: tensor.detach().numpy() for name, tensor in encoder.state_dict().items()}
    config = encoder.config
    shape = graph.EncoderShape(
        config.num_hidden_layers, config.num_attention_heads, config.hidden_size, config.layer_norm_eps
    )
    words = quantise_table(weights["embeddings.word_embeddings.weight"])
    writer = graph.GraphWriter()
    hidden = graph.write_encoder(writer, shape, weights, layers, words)
    width = config.hidden_size
    outputs: dict[str, list[int | str]] = {
        graph.write_mean(writer, hidden): ["batch", width],
        "tokens": ["batch", "tokens", width],
    }
    return writer.model(outputs, "sentence embeddings, int8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("evidencerails/measures/model"))
    out: Path = parser.parse_args().out
    torch.manual_seed(0)
    encoder = pretrained()
    tokenizer = Tokenizer.from_file(str(encoder_folder() / "tokenizer.json"))
    made = build(encoder, calibration_batches(tokenizer))
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    onnx.save(made, out / "model.onnx")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.save(str(out / "tokenizer.json"))
    about = {"schema": 1, "max_length": TOKENS, "dimensions": encoder.config.hidden_size, "license": "Apache-2.0"}
    base = {"name": "sentence-transformers/all-MiniLM-L6-v2"}
    describe(out, {**about, "name": "evidencerails-embedding-minilm-l6", "base": base})
    console.log(f"{out}: {(out / 'model.onnx').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
