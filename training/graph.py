"""The int8 ONNX graph, written node by node.

Weights are int8 with a scale for each output column; activations are uint8 with a fixed scale, found on calibration
pairs (see quantise.py), so that a row never depends on its neighbours in the batch. Norms, softmax, GELU and the
residual stream stay in float.

The nodes are those that onnxruntime runs fastest, each measured alone on 384 tokens, and not the obvious fused ones:
`Add` and `LayerNormalization` take a quarter of the time of `SkipLayerNormalization` (a session must not fuse them
again: `ORT_ENABLE_BASIC`), three products less than one and a `Split`, attention without a mask half of that with one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
        self._constants[name] = numpy_helper.from_array(np.require(array, requirements="C"), name)
        return name

    def add(self, kind: str, inputs: list[str], name: str, *, domain: str = "", **attributes: Any) -> str:
        self._nodes.append(helper.make_node(kind, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def linear(self, x: str, layer: QuantisedLinear, name: str) -> str:
        """Quantise, multiply in int8, return float."""
        return self.product(self.quantised(x, layer, name), layer, name)

    def quantised(self, x: str, layer: QuantisedLinear, name: str) -> str:
        """The activation as the layer takes it."""
        if layer.smooth is not None:
            factor = self.constant(f"{name}.smooth", (1.0 / layer.smooth).astype(np.float32))
            x = self.add("Mul", [x, factor], f"{name}.smoothed")
        scale = self.constant(f"{name}.x_scale", np.float32(layer.scale).reshape(()))
        zero = self.constant(f"{name}.x_zero", np.uint8(layer.zero_point).reshape(()))
        return self.add("QuantizeLinear", [x, scale, zero], f"{name}.quantised")

    def product(self, x: str, layer: QuantisedLinear, name: str, part: slice = slice(None)) -> str:
        """A quantised activation times some columns of the weight, in float, with the bias."""
        scale = self.constant(f"{name}.x_scale", np.float32(layer.scale).reshape(()))
        zero = self.constant(f"{name}.x_zero", np.uint8(layer.zero_point).reshape(()))
        weight = self.constant(f"{name}.weight", layer.weight[:, part])
        weight_scale = self.constant(f"{name}.w_scale", layer.weight_scale[part].astype(np.float32))
        weight_zero = self.constant(f"{name}.w_zero", np.zeros(layer.weight[:, part].shape[1], np.int8))
        bias = self.constant(f"{name}.bias", layer.bias[part].astype(np.float32))
        inputs = [x, weight, scale, weight_scale, zero, weight_zero, bias]
        return self.add("MatMulIntegerToFloat", inputs, name, domain=CONTRIB)

    def attention(self, parts: list[str], mask: str, is_unpadded: str, heads: int, name: str) -> str:
        """Attention of a query, key and value; with the mask only where there is padding."""
        plain, masked = (
            self._attention(inputs, f"{name}.{kind}", heads)
            for kind, inputs in (("plain", parts), ("masked", [*parts, "", mask]))
        )
        return self.add("If", [is_unpadded], name, then_branch=plain, else_branch=masked)

    @staticmethod
    def _attention(inputs: list[str], name: str, heads: int) -> onnx.GraphProto:
        node = helper.make_node(
            "MultiHeadAttention", inputs, [name], name=name, domain=CONTRIB, num_heads=heads, mask_filter_value=MASKED
        )
        result = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([node], f"{name}.graph", [], [result])

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
        both = self.add("Add", [x, residual], f"{prefix}.sum")
        return self.add("LayerNormalization", [both, gamma, beta], prefix, axis=-1, epsilon=epsilon)

    def rename(self, old: str, new: str) -> str:
        """Give a tensor a second name, so that it can be an output."""
        return self.add("Identity", [old], new)

    def model(self, outputs: Mapping[str, list[int | str]], description: str) -> onnx.ModelProto:
        """The finished, checked model of a BERT encoder; outputs by name with their shapes."""
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
        return self.finished(inputs, results, description)

    def finished(
        self, inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto], description: str
    ) -> onnx.ModelProto:
        """The checked model."""
        graph = helper.make_graph(self._nodes, "evidencerails", inputs, outputs, list(self._constants.values()))
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="evidencerails")
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
) -> str:
    """Embeddings and layers; hidden states (batch, tokens, width), which also become the tensor "tokens".

    Args:
        weights: norms and the small embedding tables, by their names in the checkpoint.
        layers: `{layer}.qkv`, `.attention`, `.up`, `.down`.
    """
    x = _embeddings(writer, shape, weights, words)
    mask = writer.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    is_unpadded = _is_unpadded(writer)
    for number in range(shape.layers):
        x = _layer(writer, shape, weights, layers, x, (mask, is_unpadded), number)
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


def _is_unpadded(writer: GraphWriter) -> str:
    """True if no row has padding, so that attention needs no mask.

    The two ways differ by some float rounding. So that no row depends on its batch, evidencerails never pads.
    """
    least = writer.add("ReduceMin", ["attention_mask"], "least", keepdims=0)
    return writer.add("Cast", [least], "is_unpadded", to=TensorProto.BOOL)


def _layer(
    writer: GraphWriter,
    shape: EncoderShape,
    weights: Mapping[str, np.ndarray],
    layers: Mapping[str, QuantisedLinear],
    x: str,
    padding: tuple[str, str],
    number: int,
) -> str:
    name, checkpoint = f"layer.{number}", f"encoder.layer.{number}"
    own = layers[f"{number}.qkv"]
    quantised = writer.quantised(x, own, f"{name}.qkv")
    parts = [
        writer.product(quantised, own, f"{name}.{part}", slice(place * shape.width, (place + 1) * shape.width))
        for place, part in enumerate(("query", "key", "value"))
    ]
    context = writer.attention(parts, *padding, shape.heads, f"{name}.context")
    attended = writer.linear(context, layers[f"{number}.attention"], f"{name}.attention")
    x = writer.norm(attended, x, weights, f"{checkpoint}.attention.output.LayerNorm", shape.epsilon)
    wide = writer.add("Gelu", [writer.linear(x, layers[f"{number}.up"], f"{name}.up")], f"{name}.gelu", domain=CONTRIB)
    down = writer.linear(wide, layers[f"{number}.down"], f"{name}.down")
    return writer.norm(down, x, weights, f"{checkpoint}.output.LayerNorm", shape.epsilon)


def write_mean(writer: GraphWriter, hidden: str) -> str:
    """Unit-length mean of the hidden states of real tokens: (batch, width)."""
    mask = writer.add("Cast", ["attention_mask"], "mask_float", to=TensorProto.FLOAT)
    row = writer.add("Unsqueeze", [mask, writer.constant("axis", np.ones(1, np.int64))], "mask_row")
    total = writer.add("MatMul", [row, hidden], "sum_row")
    flat = writer.add("Squeeze", [total, "axis"], "sum")
    # The direction of the sum is that of the mean.
    return writer.add("LpNormalization", [flat], "embedding", axis=-1, p=2)
