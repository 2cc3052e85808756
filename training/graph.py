"""The int8 ONNX graph, written node by node.

Weights are int8 with a scale for each output column; activations are uint8 with a fixed scale, found on calibration
pairs (see quantise.py), so that a row never depends on its neighbours in the batch. Norms, softmax, GELU and the
residual stream stay in float. The nodes are onnxruntime's fused ones (com.microsoft), which 1.23 and later have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, CONTRIB, IR_VERSION = 17, "com.microsoft", 9
MASKED = -10_000.0


@dataclass(frozen=True)
class QuantisedLinear:
    """A linear layer y = ((x / smooth) quantised) @ weight + bias."""

    weight: np.ndarray  # (inputs, outputs) int8
    weight_scale: np.ndarray  # (outputs,)
    bias: np.ndarray  # (outputs,)
    scale: float  # of the activation
    zero_point: int
    smooth: np.ndarray | None  # (inputs,) the activation is divided by this first


@dataclass(frozen=True)
class QuantisedTable:
    """An embedding table with a scale for each row."""

    rows: np.ndarray  # (entries, width) int8
    scale: np.ndarray  # (entries, 1)


class GraphWriter:
    """Collects nodes and initialisers; each method returns the name of its output."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, array: np.ndarray) -> str:
        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def add(self, kind: str, inputs: list[str], name: str, *, domain: str = "", **attributes: object) -> str:
        self._nodes.append(helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def linear(self, x: str, layer: QuantisedLinear, name: str, *, with_bias: bool = True) -> str:
        """Quantise, multiply in int8, return float."""
        if layer.smooth is not None:
            factor = self.constant(f"{name}.smooth", (1.0 / layer.smooth).astype(np.float32))
            x = self.add("Mul", [x, factor], f"{name}.smoothed")
        scale = self.constant(f"{name}.x_scale", np.float32(layer.scale).reshape(()))
        zero = self.constant(f"{name}.x_zero", np.uint8(layer.zero_point).reshape(()))
        x = self.add("QuantizeLinear", [x, scale, zero], f"{name}.quantised")
        weight = self.constant(f"{name}.weight", layer.weight)
        weight_scale = self.constant(f"{name}.w_scale", layer.weight_scale.astype(np.float32))
        weight_zero = self.constant(f"{name}.w_zero", np.zeros(layer.weight.shape[1], np.int8))
        inputs = [x, weight, scale, weight_scale, zero, weight_zero]
        if with_bias:
            inputs.append(self.constant(f"{name}.bias", layer.bias.astype(np.float32)))
        return self.add("MatMulIntegerToFloat", inputs, name, domain=CONTRIB)

    def rows(self, ids: str, table: QuantisedTable, name: str) -> str:
        """Rows of a quantised table in float."""
        values = self.add("Gather", [self.constant(f"{name}.rows", table.rows), ids], f"{name}.row")
        scale = self.constant(f"{name}.scale", table.scale.astype(np.float32))
        scales = self.add("Gather", [scale, ids], f"{name}.row_scale")
        return self.add("Mul", [self.add("Cast", [values], f"{name}.float", to=TensorProto.FLOAT), scales], name)

    def norm(self, x: str, residual: str, weights: Mapping[str, np.ndarray], prefix: str, epsilon: float) -> str:
        """Layer norm of x + residual."""
        gamma = self.constant(f"{prefix}.gamma", weights[f"{prefix}.weight"])
        beta = self.constant(f"{prefix}.beta", weights[f"{prefix}.bias"])
        inputs = [x, residual, gamma, beta]
        return self.add("SkipLayerNormalization", inputs, prefix, domain=CONTRIB, epsilon=epsilon)

    def rename(self, old: str, new: str) -> str:
        """Give a tensor a second name, so that it can be an output."""
        return self.add("Identity", [old], new)

    def model(self, outputs: Mapping[str, list[object]], description: str) -> onnx.ModelProto:
        """The finished, checked model; outputs by name with their shapes."""
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self._nodes, "groundrails", inputs, results, list(self._constants.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="groundrails")
        model.doc_string = description
        onnx.checker.check_model(model)
        return model


@dataclass(frozen=True)
class EncoderShape:
    """What the graph needs to know of the encoder's configuration."""

    layers: int
    heads: int
    width: int
    epsilon: float


def write_encoder(
    writer: GraphWriter,
    shape: EncoderShape,
    weights: Mapping[str, np.ndarray],
    layers: Mapping[str, QuantisedLinear],
    words: QuantisedTable,
    *,
    first_only: bool,
) -> str:
    """Embeddings and layers; hidden states (batch, tokens or 1, width).

    The last hidden states of all tokens also become the tensor "tokens"; who does not ask for it pays nothing.

    Args:
        weights: norms and the small embedding tables, by their names in the checkpoint.
        layers: `{layer}.qkv`, `.attention`, `.up`, `.down`.
        first_only: the last layer works out the first token alone, all that a classifier reads.
    """
    x = _embeddings(writer, shape, weights, words)
    mask = writer.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    for number in range(shape.layers):
        is_first_only = first_only and number == shape.layers - 1
        if number == shape.layers - 1 and first_only:
            writer.rename(x, "tokens")
        x = _layer(writer, shape, weights, layers, x, mask, number, first_only=is_first_only)
    if not first_only:
        writer.rename(x, "tokens")
    return x


def _embeddings(
    writer: GraphWriter, shape: EncoderShape, weights: Mapping[str, np.ndarray], words: QuantisedTable
) -> str:
    word = writer.rows("input_ids", words, "words")
    types = writer.constant("types.rows", weights["embeddings.token_type_embeddings.weight"])
    kind = writer.add("Gather", [types, "token_type_ids"], "types")
    positions = writer.constant("positions.rows", weights["embeddings.position_embeddings.weight"])
    width = writer.add("Shape", ["input_ids"], "width", start=1, end=2)
    begin = writer.constant("begin", np.zeros(1, np.int64))
    place = writer.add("Slice", [positions, begin, width], "positions")
    both = writer.add("Add", [kind, place], "types_and_positions")
    return writer.norm(word, both, weights, "embeddings.LayerNorm", shape.epsilon)


def _layer(
    writer: GraphWriter,
    shape: EncoderShape,
    weights: Mapping[str, np.ndarray],
    layers: Mapping[str, QuantisedLinear],
    x: str,
    mask: str,
    number: int,
    *,
    first_only: bool,
) -> str:
    name, checkpoint = f"layer.{number}", f"encoder.layer.{number}"
    qkv = writer.linear(x, layers[f"{number}.qkv"], f"{name}.qkv")
    sizes = writer.constant(f"{name}.sizes", np.full(3, shape.width, np.int64))
    parts = [f"{name}.{part}" for part in ("query", "key", "value")]
    writer._nodes.append(helper.make_node("Split", [qkv, sizes], parts, name=f"{name}.split", axis=-1))
    query = parts[0]
    if first_only:
        query, x = (_first_token(writer, tensor) for tensor in (query, x))
    inputs = [query, parts[1], parts[2], "", mask]
    context = writer.add(
        "MultiHeadAttention", inputs, f"{name}.context", domain=CONTRIB, num_heads=shape.heads, mask_filter_value=MASKED
    )
    attended = writer.linear(context, layers[f"{number}.attention"], f"{name}.attention")
    x = writer.norm(attended, x, weights, f"{checkpoint}.attention.output.LayerNorm", shape.epsilon)
    up = layers[f"{number}.up"]
    wide = writer.linear(x, up, f"{name}.up", with_bias=False)
    bias = writer.constant(f"{name}.up.bias", up.bias.astype(np.float32))
    wide = writer.add("BiasGelu", [wide, bias], f"{name}.gelu", domain=CONTRIB)
    down = writer.linear(wide, layers[f"{number}.down"], f"{name}.down")
    return writer.norm(down, x, weights, f"{checkpoint}.output.LayerNorm", shape.epsilon)


def _first_token(writer: GraphWriter, tensor: str) -> str:
    zero, one = writer.constant("zero", np.zeros(1, np.int64)), writer.constant("one", np.ones(1, np.int64))
    return writer.add("Slice", [tensor, zero, one, one], f"{tensor}.first")


def write_head(writer: GraphWriter, hidden: str, weights: Mapping[str, np.ndarray]) -> str:
    """Logits (batch, 3) of the first token."""
    axis = writer.constant("axis", np.ones(1, np.int64))
    first = writer.add("Squeeze", [hidden, axis], "first")
    dense = [writer.constant("dense.w", weights["dense.weight"].T), writer.constant("dense.b", weights["dense.bias"])]
    inner = writer.add("Tanh", [writer.add("Gemm", [first, *dense], "dense")], "pooled")
    out = [
        writer.constant("classifier.w", weights["classifier.weight"].T),
        writer.constant("classifier.b", weights["classifier.bias"]),
    ]
    return writer.add("Gemm", [inner, *out], "logits")


def write_mean(writer: GraphWriter, hidden: str) -> str:
    """Unit-length mean of the hidden states of real tokens: (batch, width)."""
    mask = writer.add("Cast", ["attention_mask"], "mask_float", to=TensorProto.FLOAT)
    row = writer.add("Unsqueeze", [mask, writer.constant("axis", np.ones(1, np.int64))], "mask_row")
    total = writer.add("MatMul", [row, hidden], "sum_row")
    flat = writer.add("Squeeze", [total, "axis"], "sum")
    # The direction of the sum is that of the mean.
    return writer.add("LpNormalization", [flat], "embedding", axis=-1, p=2)
