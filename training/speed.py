"""Pairs a processor second of the embedded model beside float models, and the share of the int8 matrix rate.

python -m training.speed [--threads 2] [--seconds 4]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper

from evidencerails.nli.embedded import LOGITS, EmbeddedModel
from evidencerails.nli.model_file import MODEL_FOLDER
from training.train import cpu_flags, new_model

LENGTHS = (40, 128, 512)
BATCH_TOKENS = 2048
KINDS = {
    "MatMulIntegerToFloat": "int8 products",
    "MultiHeadAttention": "attention",
    "Gelu": "GELU",
    "LayerNormalization": "norms and sums",
    "Add": "norms and sums",
    "QuantizeLinear": "to int8 and scales",
    "Mul": "to int8 and scales",
}
"""What nodes of the graph are for; all but the first kind work in float."""
ENCODER_WEIGHTS = 10_616_832  # numbers in the matrices of six layers of width 384


def has_vnni() -> bool:
    """True where the processor sums products of 8-bit numbers in one instruction."""
    return not {"avx512_vnni", "avx_vnni"}.isdisjoint(cpu_flags())


def measure(threads: int, seconds: float) -> dict[str, Any]:
    """Pairs/s of each model at each length, and the rates of the processor."""
    torch.set_num_threads(threads)
    model = EmbeddedModel(threads=threads)

    def embedded(feed: dict[str, np.ndarray]) -> object:
        return model._run([(row.tolist(), len(row) * 3 // 4) for row in feed["input_ids"]], LOGITS)

    ours = {str(length): _rate(embedded, length, seconds) for length in LENGTHS}
    same = _torch_rates(new_model().eval(), seconds)
    peer = _torch_rates(_peer_sized(), seconds)
    peak = int8_rate(threads, seconds)
    work = {str(n): ours[str(n)] * n * 2 * ENCODER_WEIGHTS / 1e9 for n in LENGTHS}
    return {
        "threads": threads,
        "pairs_per_processor_s": {"embedded": ours, "same_weights_float": same, "deberta_v3_base_sized_float": peer},
        "int8_gops": round(peak, 1),
        "share_of_int8_rate": {name: round(value / peak, 3) for name, value in work.items()},
        "time": {str(length): shares_of_time(length) for length in LENGTHS},
    }


def shares_of_time(length: int, calls: int = 20) -> dict[str, float]:
    """Where the time of the embedded model goes at one length, by kind of node; by onnxruntime's own profile."""
    spent: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        options = onnxruntime.SessionOptions()
        options.enable_profiling, options.profile_file_prefix = True, f"{folder}/profile"
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # as the package runs it
        session = onnxruntime.InferenceSession(str(MODEL_FOLDER / "model.onnx"), options, ["CPUExecutionProvider"])
        feed = _feed(length, max(1, BATCH_TOKENS // length))
        wanted = {node.name for node in session.get_inputs()}
        for _ in range(calls):
            session.run([LOGITS], {name: array for name, array in feed.items() if name in wanted})
        events = json.loads(Path(session.end_profiling()).read_text())
    for event in events:
        kernel = event.get("args", {}).get("op_name")
        # The time of an If is that of the nodes in its branch, which have events of their own.
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time") and kernel != "If":
            spent[KINDS.get(kernel, "the rest")] += event["dur"]
    return {kind: round(spent[kind] / spent.total(), 3) for kind in (*dict.fromkeys(KINDS.values()), "the rest")}


def _feed(length: int, rows: int) -> dict[str, np.ndarray]:
    ids = np.random.default_rng(0).integers(1000, 20000, (rows, length))
    types = np.zeros_like(ids)
    types[:, length * 3 // 4 :] = 1
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}


def _rate(call: Callable[[dict[str, np.ndarray]], object], length: int, seconds: float) -> float:
    """Pairs for each second of processor time at one length, from the best of several calls."""
    rows = max(1, BATCH_TOKENS // length)
    feed = _feed(length, rows)
    return round(rows / _best_s(lambda: call(feed), seconds), 1)


def _best_s(call: Callable[[], object], seconds: float) -> float:
    """Least processor time of a call. Wall-clock time would measure what else runs on the machine."""
    call()
    best, began = float("inf"), time.perf_counter()
    while time.perf_counter() - began < seconds:
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


@torch.no_grad()
def _torch_rates(model: torch.nn.Module, seconds: float) -> dict[str, float]:
    def call(feed: dict[str, np.ndarray]) -> object:
        return model(**{name: torch.from_numpy(array) for name, array in feed.items()})

    return {str(length): _rate(call, length, seconds) for length in LENGTHS}


def _peer_sized() -> torch.nn.Module:
    """A cross-encoder of the size of DeBERTa-v3-base with random weights, as transformers runs it."""
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    config = DebertaV2Config(
        vocab_size=128100,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        max_position_embeddings=512,
        type_vocab_size=0,
        num_labels=3,
    )
    return DebertaV2ForSequenceClassification(config).eval()


def int8_rate(threads: int, seconds: float) -> float:
    """Billion int8 operations a second of one large matrix product in onnxruntime."""
    size = 1536
    weight = numpy_helper.from_array(np.ones((size, size), np.int8), "w")
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.UINT8, [None, size])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [None, size])
    graph = helper.make_graph([node], "rate", [x], [y], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    rows = np.ones((2048, size), np.uint8)
    best = _best_s(lambda: session.run(None, {"x": rows}), seconds)
    return 2 * 2048 * size * size / best / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.threads, arguments.seconds), indent=1))


if __name__ == "__main__":
    main()
