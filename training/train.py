"""Train the packed reader on written passages and public pairs.

    python -m training.train --data DIR --encoder DIR [--work-dir .training] [--minutes 90] [--layers 9]

The stream of data is made in chunks; passages that are written meanwhile are used from the next chunk on. Where the
processor has bf16, or with `--int8`, MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ of 20000000000 make it a third
faster. The rate warms up, stays, and decays to zero over the last part of the run. Checkpoints hold weights and
counts; `--start` goes on from one."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from training import public
from training.balance import balanced_rows, balanced_writers
from training.common import LABELS, NOT_ENTAILED
from training.encoder import Linear, PackedReader, pretrained
from training.sequences import Batch, PackedSequence, Packer, as_passages, batches, rows_of, written

OLD_WRITTEN = Path(__file__).with_name("written.jsonl")


@dataclass(frozen=True)
class Mix:
    """What a chunk is made of: statements of public pairs, rows of the older and of the newer written passages."""

    public_statements: int = 1400
    old_rows: int = 100
    new_rows: int = 130


class Stream:
    """Endless batches; a record of what was used stands in `counts`."""

    def __init__(self, data: Path, passages: Path, packer: Packer, tokens: int, mix: Mix, seed: int) -> None:
        self._public = public.by_source(data)
        self._packer, self._tokens, self._mix = packer, tokens, mix
        self._rng = random.Random(seed)
        self._old = balanced_rows([as_passages(row) for row in rows_of(OLD_WRITTEN)])
        self._rng.shuffle(self._old)
        self._passages = passages
        self._sizes: dict[str, int] = {}
        self._new_rows: list[dict[str, Any]] = []
        self._old_at = 0
        self._used: dict[str, int] = {}
        self.counts: dict[str, int] = {"tokens": 0, "statements": 0, "public": 0, "written": 0}

    def __iter__(self) -> Iterator[Batch]:
        while True:
            yield from batches(list(self._chunk()), self._tokens, self._rng)

    def _chunk(self) -> Iterator[PackedSequence]:
        rng, mix = self._rng, self._mix
        old = [self._old[(self._old_at + n) % len(self._old)] for n in range(mix.old_rows)]
        self._old_at += mix.old_rows
        new = self._new(mix.new_rows)
        readings = list(written([*old, *new], rng))
        self.counts["written"] += sum(len(reading.statements) for reading in readings)
        chosen = public.sample(self._public, mix.public_statements, rng)
        self.counts["public"] += sum(len(reading.statements) for reading in chosen)
        for reading in readings + chosen:
            for sequence in self._packer.pack(reading, rng):
                self.counts["tokens"] += len(sequence)
                self.counts["statements"] += len(sequence.labels)
                yield sequence

    def _new(self, count: int) -> list[dict[str, Any]]:
        """Rows of the newer passages, the least used first; balanced writer by writer, anew when there are more."""
        paths = sorted(self._passages.glob("*.jsonl"))
        sizes = {path.name: path.stat().st_size for path in paths}
        if sizes != self._sizes:
            self._sizes = sizes
            self._new_rows = balanced_writers(map(rows_of, paths))
        rows = sorted(self._new_rows, key=lambda row: (self._used.get(row["id"], 0), self._rng.random()))
        chosen = rows[:count]
        for row in chosen:
            self._used[row["id"]] = self._used.get(row["id"], 0) + 1
        return chosen


def loss_of(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """Cross-entropy with smoothing; for "not entailed" the chance of the two other labels together counts."""
    chances = torch.log_softmax(logits.float(), dim=-1)
    target = labels.clamp(max=len(LABELS) - 1)
    plain = -chances.gather(1, target[:, None])[:, 0]
    either = -torch.logsumexp(chances[:, 1:], dim=-1)
    two_way = labels == NOT_ENTAILED
    picked = torch.where(two_way, either, plain)
    spread = torch.where(two_way, (either - chances[:, 0]) / 2, -chances.mean(dim=-1))
    return ((1 - smoothing) * picked + smoothing * spread).mean()


def tensors(batch: Batch, device: str) -> tuple[tuple[Tensor, ...], Tensor]:
    """Inputs of the reader, and labels."""
    arrays = (batch.ids, batch.segments, batch.positions, batch.rows, batch.columns)
    return tuple(torch.from_numpy(array).to(device) for array in arrays), torch.from_numpy(batch.labels).to(device)


def optimiser(model: PackedReader, rate: float, head_rate: float) -> torch.optim.AdamW:
    """AdamW; the new head learns faster, norms and biases are not decayed."""
    head = set(model.head.parameters())
    body = [weight for weight in model.parameters() if weight.requires_grad and weight not in head]
    return torch.optim.AdamW(
        [
            {"params": [weight for weight in body if weight.ndim > 1], "lr": rate, "weight_decay": 0.01},
            {"params": [weight for weight in body if weight.ndim == 1], "lr": rate, "weight_decay": 0.0},
            {"params": list(head), "lr": head_rate, "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98),
        fused=True,
    )


def factor(step: int, elapsed: float, warmup: int, decay_share: float) -> float:
    """Factor of the rate, `elapsed` being the share of the run that is over, in [0, 1]."""
    return min(1.0, (step + 1) / warmup, max(0.0, (1 - elapsed) / decay_share))


def train(arguments: argparse.Namespace) -> None:
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    work: Path = arguments.work_dir
    work.mkdir(parents=True, exist_ok=True)
    model = pretrained(arguments.encoder, arguments.layers)
    if arguments.start:
        model.load_state_dict(torch.load(arguments.start, weights_only=True)["model"])
    model.freeze(arguments.frozen)
    Linear.in_int8 = arguments.int8
    model.to(arguments.device).train()
    packer = Packer(arguments.encoder / "tokenizer.json")
    mix = Mix(arguments.public, arguments.old, arguments.new)
    stream = Stream(arguments.data, arguments.passages, packer, arguments.tokens, mix, arguments.seed)
    has_bf16 = not arguments.int8 and (arguments.device == "cuda" or torch.ops.mkldnn._is_mkldnn_bf16_supported())
    steps = optimiser(model, arguments.rate, arguments.head_rate)
    rates = [group["lr"] for group in steps.param_groups]
    began = saved = time.monotonic()
    smooth, used = None, 0
    for step, batch in enumerate(stream):
        now = time.monotonic()
        total = arguments.total_tokens
        elapsed = used / total if total else (now - began) / (60 * minutes(arguments))
        used += int((batch.segments >= 0).sum())
        if elapsed >= 1:
            break
        for group, rate in zip(steps.param_groups, rates, strict=True):
            group["lr"] = rate * factor(step, elapsed, arguments.warmup, arguments.decay_share)
        inputs, labels = tensors(batch, arguments.device)
        with torch.autocast(arguments.device, torch.bfloat16, enabled=has_bf16):
            logits = model(*inputs)
        loss = loss_of(logits, labels, 0.03)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps.step()
        steps.zero_grad(set_to_none=True)
        right = ((logits.argmax(-1) == 0) == (labels == 0)).float().mean().item()
        smooth = (
            [loss.item(), right]
            if smooth is None
            else [0.95 * s + 0.05 * x for s, x in zip(smooth, (loss.item(), right), strict=True)]
        )
        if step % 20 == 0:
            left = (now - began) * (1 / elapsed - 1) if elapsed else 60 * minutes(arguments)
            print(
                f"step {step} loss {smooth[0]:.3f} right {smooth[1]:.3f} {stream.counts} left {left / 60:.0f} min",
                flush=True,
            )
        if now - saved > 300:
            saved = now
            save(model, work / "checkpoint.pt", stream.counts, step)
    save(model, work / "final.pt", stream.counts, step)


def minutes(arguments: argparse.Namespace) -> float:
    """Minutes of the run; a file `minutes` in the work folder changes them while it runs."""
    path = arguments.work_dir / "minutes"
    return float(path.read_text()) if path.exists() else float(arguments.minutes)


def save(model: PackedReader, path: Path, counts: dict[str, int], step: int) -> None:
    """Weights (float16: training never goes on from rounding that matters) and what they were made from."""
    state = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    torch.save({"model": state}, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)
    path.with_suffix(".json").write_text(json.dumps({"step": step, **counts, "layers": len(model.layers)}))


def arguments_of(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line's arguments, or those of `words`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--passages", type=Path, default=Path(__file__).with_name("passages"))
    parser.add_argument("--work-dir", type=Path, default=Path(".training"))
    parser.add_argument("--start", type=Path)
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--total-tokens", type=int, default=0, help="length of the run in tokens, instead of minutes")
    parser.add_argument("--layers", type=int, default=9)
    parser.add_argument("--frozen", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=2560)
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--head-rate", type=float, default=5e-4)
    parser.add_argument("--warmup", type=int, default=40)
    parser.add_argument("--decay-share", type=float, default=0.35)
    parser.add_argument("--public", type=int, default=Mix.public_statements)
    parser.add_argument("--old", type=int, default=Mix.old_rows)
    parser.add_argument("--new", type=int, default=Mix.new_rows)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--int8", action="store_true", help="matrix products in int8: for VNNI without bf16 units")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args(words)


if __name__ == "__main__":
    train(arguments_of())
