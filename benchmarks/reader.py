"""What is saved if evidence is read once: all claims together or pair by pair, a second answer, and transformers.

python benchmarks/reader.py [--passages 24]

Passages and claims are those of `rag_answers.jsonl`. The encoder in transformers has the same layers and width, in
float32 with random weights (which take the same time), and reads one pair after the other. Needs torch.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tables import publish

from evidencerails.nli.embedded import EmbeddedModel
from evidencerails.nli.model_file import MODEL_FOLDER, TOKENIZER

ROWS = Path(__file__).with_name("rag_answers.jsonl")
CLAIMS = 12
"""Claims beside each passage, in two answers of half as many."""


def readings(count: int) -> list[tuple[str, list[str]]]:
    """Passages, each with claims out of answers about the same documents."""
    found = []
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        claims = [
            part for answer in row["answers"] for part in answer["answer"].rstrip(".").split(". ") if len(part) > 20
        ]
        found += [(passage, claims[:CLAIMS]) for passage in row["passages"] if len(claims) >= CLAIMS]
    return found[:count]


def milliseconds(run: Callable[[], object]) -> float:
    """Time of one call."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def embedded(rows: Sequence[tuple[str, list[str]]]) -> dict[str, float]:
    """Medians over the passages: all claims at once, one claim alone, a first and a second answer."""
    times: dict[str, list[float]] = {"all_ms": [], "one_ms": [], "first_ms": [], "second_ms": []}
    for passage, claims in rows:
        pairs = [(passage, claim) for claim in claims]
        for name, part in (("all_ms", pairs), ("one_ms", pairs[:1])):
            times[name].append(milliseconds(partial(warm().scores, part)))
        model, half = warm(), len(pairs) // 2
        times["first_ms"].append(milliseconds(partial(model.scores, pairs[:half])))
        times["second_ms"].append(milliseconds(partial(model.scores, pairs[half:])))
    return {name: statistics.median(values) for name, values in times.items()}


def warm() -> EmbeddedModel:
    """A model after its first call that has not read any of the passages."""
    model = EmbeddedModel()
    model.scores([("The kettle holds 1.7 litres.", "It holds 1.7 litres."), ("It is blue.", "It is red.")])
    return model


def in_transformers(rows: Sequence[tuple[str, list[str]]]) -> float:
    """Median time of one passage with all its claims, pair by pair."""
    import torch
    from tokenizers import Tokenizer
    from transformers import MPNetConfig, MPNetForSequenceClassification

    layers = len({name.split(".")[1] for name in initializers() if name.startswith("layer.")})
    model = MPNetForSequenceClassification(MPNetConfig(num_hidden_layers=layers, num_labels=3)).eval()
    tokenizer = Tokenizer.from_file(str(MODEL_FOLDER / TOKENIZER))
    times = []
    with torch.inference_mode():
        for passage, claims in rows:

            def read(passage: str = passage, claims: Sequence[str] = claims) -> None:
                for claim in claims:
                    model(torch.tensor([tokenizer.encode(passage, claim).ids[:512]]))

            times.append(milliseconds(read))
    return statistics.median(times)


def initializers() -> list[str]:
    """Names of the model's weights."""
    import onnx

    graph = onnx.load(str(MODEL_FOLDER / "model.onnx"), load_external_data=False).graph
    return [tensor.name for tensor in graph.initializer]


def main() -> None:
    """Measure, print, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=24)
    rows = readings(parser.parse_args().passages)
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    ours, theirs = embedded(rows), in_transformers(rows)
    data = {
        **ours,
        "transformers_ms": theirs,
        "packed_ratio": CLAIMS * ours["one_ms"] / ours["all_ms"],
        "transformers_ratio": theirs / ours["all_ms"],
        "second_ratio": ours["second_ms"] / ours["first_ms"],
    }
    publish(
        "reader",
        [
            ("measure", "value"),
            (f"{CLAIMS} claims beside one passage, read together", f"{ours['all_ms']:.0f} ms"),
            ("the same pair by pair", f"{CLAIMS * ours['one_ms']:.0f} ms ({data['packed_ratio']:.1f} times)"),
            (
                "the same pair by pair in transformers, float32, same size",
                f"{theirs:.0f} ms ({data['transformers_ratio']:.1f} times)",
            ),
            (
                f"a second answer of {CLAIMS // 2} claims to the same passage, as a ratio to the first",
                f"{data['second_ratio']:.2f}",
            ),
        ],
        data,
    )


if __name__ == "__main__":
    main()
