"""The packed reader as an int8 ONNX graph: one call reads some tokens, beside keys and values that are known already.

Inputs: `hidden` (tokens, 768) the normed embeddings; `buckets` (tokens, known + tokens) the bucket of each distance, or
`HIDDEN` where a token may not look; `readers` (claims,) the places of the claims' first tokens; `known` (layers, 2,
known tokens, 768) keys and values of evidence. Outputs: `logits` (claims, 3), and `states` (layers, 2, tokens, 768),
the tokens' own keys and values. Both are float16: half the memory for evidence that is kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper

from training.encoder import BUCKETS, EPSILON, HEADS, WIDTH
from training.graph import CONTRIB, GraphWriter, QuantisedLinear

HIDDEN = BUCKETS
"""Bucket of a pair of tokens that do not see each other."""
MASKED = -10_000.0


def write_reader(
    weights: Mapping[str, np.ndarray], linear: Mapping[str, QuantisedLinear], layers: int, about: str
) -> onnx.ModelProto:
    """The graph; weights by their names in `PackedReader`, linear layers by those of `quantise.groups_of`."""
    writer = GraphWriter()
    table = np.vstack([weights["distances.weight"], np.full((1, HEADS), MASKED)]).astype(np.float32)
    rows = writer.add("Gather", [writer.constant("distances", table), "buckets"], "distance.rows")
    heads_first = writer.add("Transpose", [rows], "distance.heads", perm=[2, 0, 1])
    bias = writer.add("Unsqueeze", [heads_first, writer.constant("axis.0", np.zeros(1, np.int64))], "bias")
    known = writer.add("Cast", ["known"], "known.float", to=TensorProto.FLOAT)
    hidden, states = "hidden", []
    for number in range(layers):
        is_last = number == layers - 1
        past = [_slice(writer, known, number, part) for part in (0, 1)]
        hidden, own = _layer(writer, weights, linear, hidden, bias, past, number, is_last=is_last)
        states.append(own)
    joined = writer.add("Concat", states, "states.float", axis=0)
    writer.add("Cast", [joined], "states", to=TensorProto.FLOAT16)
    _head(writer, weights, hidden)
    return _model(writer, layers, about)


def _slice(writer: GraphWriter, known: str, layer: int, part: int) -> str:
    """Known keys (part 0) or values (part 1) of one layer, (known tokens, 768)."""
    place = writer.constant(f"place.{layer}", np.asarray(layer, np.int64))
    which = writer.constant(f"part.{part}", np.asarray(part, np.int64))
    of_layer = writer.add("Gather", [known, place], f"known.{layer}.{part}.both", axis=0)
    return writer.add("Gather", [of_layer, which], f"known.{layer}.{part}", axis=0)


def _layer(
    writer: GraphWriter,
    weights: Mapping[str, np.ndarray],
    linear: Mapping[str, QuantisedLinear],
    x: str,
    bias: str,
    past: list[str],
    number: int,
    *,
    is_last: bool,
) -> tuple[str, str]:
    """Hidden states after the layer, and its keys and values (1, 2, tokens, 768)."""
    name = f"layer.{number}"
    own = linear[f"{number}.qkv"]
    quantised = writer.quantised(x, own, f"{name}.qkv")
    key, value = (
        writer.product(quantised, own, f"{name}.{part}", slice(place * WIDTH, (place + 1) * WIDTH))
        for place, part in ((1, "key"), (2, "value"))
    )
    readers, seen_bias = quantised, bias
    if is_last:  # of the last layer only the claims' first tokens are read
        readers = writer.add("Gather", [quantised, "readers"], f"{name}.readers", axis=0)
        x = writer.add("Gather", [x, "readers"], f"{name}.own", axis=0)
        seen_bias = writer.add("Gather", [bias, "readers"], f"{name}.bias", axis=2)
    query = writer.product(readers, own, f"{name}.query", slice(0, WIDTH))
    keys, values = (
        writer.add("Concat", [old, new], f"{name}.{part}", axis=0)
        for old, new, part in ((past[0], key, "keys"), (past[1], value, "values"))
    )
    axis = writer.constant("axis.0", np.zeros(1, np.int64))
    batch = [writer.add("Unsqueeze", [tensor, axis], f"{tensor}.row") for tensor in (query, keys, values)]
    inputs = [*batch, "", "", seen_bias]
    context = writer.add("MultiHeadAttention", inputs, f"{name}.heads", domain=CONTRIB, num_heads=HEADS)
    flat = writer.add("Squeeze", [context, axis], f"{name}.context")
    attended = writer.linear(flat, linear[f"{number}.attended"], f"{name}.attended")
    x = writer.norm(attended, x, weights, f"layers.{number}.attention_norm", EPSILON)
    inner = writer.linear(x, linear[f"{number}.inner"], f"{name}.inner")
    wide = writer.add("Gelu", [inner], f"{name}.gelu", domain=CONTRIB)
    outer = writer.linear(wide, linear[f"{number}.outer"], f"{name}.outer")
    x = writer.norm(outer, x, weights, f"layers.{number}.output_norm", EPSILON)
    pair = [writer.add("Unsqueeze", [tensor, axis], f"{tensor}.state") for tensor in (key, value)]
    both = writer.add("Concat", pair, f"{name}.both", axis=0)
    return x, writer.add("Unsqueeze", [both, axis], f"{name}.states")


def _head(writer: GraphWriter, weights: Mapping[str, np.ndarray], hidden: str) -> None:
    dense = [writer.constant("dense.w", weights["head.0.weight"].T), writer.constant("dense.b", weights["head.0.bias"])]
    inner = writer.add("Tanh", [writer.add("Gemm", [hidden, *dense], "dense")], "pooled")
    last = [writer.constant("out.w", weights["head.2.weight"].T), writer.constant("out.b", weights["head.2.bias"])]
    writer.add("Gemm", [inner, *last], "logits")


def _model(writer: GraphWriter, layers: int, about: str) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["tokens", WIDTH]),
        helper.make_tensor_value_info("buckets", TensorProto.INT64, ["tokens", "all"]),
        helper.make_tensor_value_info("readers", TensorProto.INT64, ["claims"]),
        helper.make_tensor_value_info("known", TensorProto.FLOAT16, [layers, 2, "known", WIDTH]),
    ]
    outputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["claims", 3]),
        helper.make_tensor_value_info("states", TensorProto.FLOAT16, [layers, 2, "tokens", WIDTH]),
    ]
    return writer.finished(inputs, outputs, about)
