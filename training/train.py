"""Train the cross-encoder on the prepared pairs.

    python -m training.train [--work-dir .training] [--minutes 80 | --steps N --decay-from S] [--device auto]

Some passes over the pairs, each in another random order. The learning rate warms up, stays, then decays to zero: the
decay starts when its share of the allowed time is left, and the step at which it started is recorded, so a run can be
repeated by steps. Checkpoints hold everything needed to go on; run the same command again to resume.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch import Tensor, nn

from training.common import LABELS, NOT_ENTAILED, encoder_folder


@dataclass(frozen=True)
class Recipe:
    """Settings of a run."""

    minutes: float | None = 80.0  # wall-clock time for the whole run, resumed parts included
    steps: int | None = None
    decay_from: int | None = None
    decay_share: float = 0.25  # of the time or steps
    warmup_steps: int = 150
    rate: float = 1.5e-4
    weight_decay: float = 0.01
    tokens: int = 4096  # of a batch, padding included
    passes: int = 3  # over the data, at most
    smoothing: float = 0.05
    average: float = 0.998  # exponential moving average of the weights, a step
    seed: int = 7
    device: str = "auto"
    threads: int = 2
    start: str | None = None  # checkpoint of an earlier run whose averaged weights this run begins with
    teacher: str | None = None  # checkpoint of an earlier run whose averaged weights this run also learns from
    frozen_layers: int = 0  # lowest layers that stay as they are, the embeddings with them
    taught: float = 0.5  # share of the loss that is the teacher's, if there is one


class CrossEncoder(nn.Module):
    """The encoder with a small head on its first token: (pairs, tokens) ids -> (pairs, 3) logits."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.config.hidden_size
        self.dense = nn.Linear(width, width)
        self.classifier = nn.Linear(width, len(LABELS))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        hidden = self.encoder.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)
        mask = (1.0 - attention_mask[:, None, None, :].to(hidden.dtype)) * torch.finfo(hidden.dtype).min
        *layers, last = self.encoder.encoder.layer
        for layer in layers:
            hidden = _through(layer, hidden, hidden, mask)
        # Of the last layer the head reads the first token alone: a seventh of all the work is saved.
        first = _through(last, hidden[:, :1], hidden, mask)[:, 0]
        return self.classifier(torch.tanh(self.dense(first)))


def _through(layer: nn.Module, reading: Tensor, hidden: Tensor, mask: Tensor) -> Tensor:
    """A layer's states of the tokens that read (pairs, some tokens, width), from those of all tokens."""
    own = layer.attention.self
    heads = (own.num_attention_heads, own.attention_head_size)
    query, key, value = (
        project(states).unflatten(-1, heads).transpose(1, 2)
        for project, states in ((own.query, reading), (own.key, hidden), (own.value, hidden))
    )
    if query.is_cuda:
        context = nn.functional.scaled_dot_product_attention(query, key, value, mask.to(query.dtype))
    else:  # the fused kernel's backward pass is slow on processors
        context = torch.softmax(query @ key.transpose(-1, -2) * heads[1] ** -0.5 + mask, dim=-1) @ value
    attended = layer.attention.output(context.transpose(1, 2).flatten(2), reading)
    return layer.output(layer.intermediate(attended), attended)


def new_model() -> CrossEncoder:
    """The cross-encoder with pretrained encoder weights; no dropout: a few passes do not overfit."""
    from transformers import BertModel

    # Word embeddings stay as pretrained: words that the training set lacks keep their place among those it has.
    encoder = BertModel.from_pretrained(
        encoder_folder(),
        add_pooling_layer=False,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        dtype=torch.float32,
    )
    encoder.embeddings.word_embeddings.requires_grad_(False)
    return CrossEncoder(encoder)


def freeze(model: CrossEncoder, layers: int) -> None:
    """Keep the lowest layers and the embeddings as they are: a third less work where two of six stay."""
    if layers:
        model.encoder.embeddings.requires_grad_(False)
        model.encoder.encoder.layer[:layers].requires_grad_(False)


class Prepared:
    """The tokenised pairs of prepare.py, cut into batches of similar length."""

    def __init__(self, path: Path) -> None:
        stored = np.load(path)
        self._ids, self._offsets = stored["ids"], stored["offsets"]
        self._split, self._labels = stored["split"], stored["labels"]
        self.lengths = np.diff(self._offsets)

    def batches(self, tokens: int, seed: int) -> list[np.ndarray]:
        """Row numbers of each batch, batches in random order; lengths alike within a batch."""
        generator = np.random.default_rng(seed)
        order = generator.permutation(len(self.lengths))
        found: list[np.ndarray] = []
        # Sorted within a block only, so that what a batch holds stays random.
        for start in range(0, len(order), 32_768):
            block = order[start : start + 32_768]
            block = block[np.argsort(self.lengths[block], kind="stable")]
            batches = list(_cut(block, self.lengths, tokens))
            found.extend(batches[i] for i in generator.permutation(len(batches)))
        return found

    def tensors(self, rows: np.ndarray) -> tuple[dict[str, Tensor], Tensor]:
        """Inputs (rows, width) and labels (rows)."""
        width = int(self.lengths[rows].max())
        ids = np.zeros((len(rows), width), np.int64)
        types = np.zeros_like(ids)
        mask = np.zeros_like(ids)
        for position, row in enumerate(rows):
            length = int(self.lengths[row])
            ids[position, :length] = self._ids[self._offsets[row] : self._offsets[row] + length]
            types[position, self._split[row] : length] = 1
            mask[position, :length] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        labels = torch.from_numpy(self._labels[rows].astype(np.int64))
        return {name: torch.from_numpy(array) for name, array in inputs.items()}, labels


def _cut(block: np.ndarray, lengths: np.ndarray, tokens: int) -> Iterator[np.ndarray]:
    start = 0
    for position in range(1, len(block) + 1):
        full = position == len(block) or (position - start + 1) * int(lengths[block[position]]) > tokens
        if full:
            yield block[start:position]
            start = position


def loss_of(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """Cross-entropy with smoothing; for "not entailed" the chance of the two other labels together counts."""
    chances = torch.log_softmax(logits.float(), dim=-1)
    two_way = labels == NOT_ENTAILED
    target = labels.clamp(max=len(LABELS) - 1)
    plain = -chances.gather(1, target[:, None])[:, 0]
    either = -torch.logsumexp(chances[:, 1:], dim=-1)
    picked = torch.where(two_way, either, plain)
    # Two-way rows are smoothed between "entailed" and "not", so that neither of the two labels is invented.
    spread = torch.where(two_way, (either - chances[:, 0]) / 2, -chances.mean(dim=-1))
    return ((1 - smoothing) * picked + smoothing * spread).mean()


def distilled(logits: Tensor, taught: Tensor) -> Tensor:
    """Cross-entropy with a teacher's chances instead of labels, less the teacher's own entropy: 0 where both agree."""
    chances = torch.log_softmax(logits.float(), dim=-1)
    return nn.functional.kl_div(chances, torch.softmax(taught.float(), dim=-1), reduction="batchmean")


class Schedule:
    """Learning-rate factor by step, with the decay set off by time or by step."""

    def __init__(self, recipe: Recipe, total_steps: int) -> None:
        self._recipe = recipe
        self._total_steps = min(total_steps, recipe.steps or total_steps)
        self.decay_from = recipe.decay_from
        if recipe.steps and not recipe.decay_from:
            self.decay_from = int(recipe.steps * (1 - recipe.decay_share))
        self._decay_s: float | None = None

    def factor(self, step: int, elapsed_s: float) -> float | None:
        """Factor for the coming step; None when the run is over."""
        if step >= self._total_steps:
            return None
        if self.decay_from is None:
            self._start_decay_when_due(step, elapsed_s)
        if self.decay_from is not None and step >= self.decay_from:
            left = self._left(step, elapsed_s)
            return left if left > 0 else None
        return min(1.0, (step + 1) / self._recipe.warmup_steps)

    def _left(self, step: int, elapsed_s: float) -> float:
        """Share of the decay that is left: by steps, or by time where that ends earlier."""
        first = self.decay_from or 0
        by_steps = 1 - (step - first) / max(1, self._total_steps - first)
        if self._recipe.steps or self._decay_s is None:
            return by_steps
        budget_s = (self._recipe.minutes or math.inf) * 60
        return min(by_steps, (budget_s - elapsed_s) / max(1.0, budget_s - self._decay_s))

    def _start_decay_when_due(self, step: int, elapsed_s: float) -> None:
        budget_s = (self._recipe.minutes or math.inf) * 60
        share = self._recipe.decay_share
        if elapsed_s >= budget_s * (1 - share) or step >= self._total_steps * (1 - share):
            self.decay_from = step
            self._decay_s = elapsed_s if math.isfinite(budget_s) else None

    def state(self) -> dict[str, Any]:
        return {"decay_from": self.decay_from, "decay_from_s": self._decay_s}

    def load(self, state: dict[str, Any]) -> None:
        self.decay_from, self._decay_s = state["decay_from"], state["decay_from_s"]


class Run:
    """A training run: model, average, optimiser, position; saved and resumed as one file."""

    def __init__(self, recipe: Recipe, work_dir: Path) -> None:
        self.recipe, self.folder = recipe, work_dir / "run"
        self.folder.mkdir(parents=True, exist_ok=True)
        seed_all(recipe.seed)
        self.device = torch.device(pick_device(recipe.device))
        self.data = Prepared(work_dir / "train.npz")
        self.batches = [
            batch for number in range(recipe.passes) for batch in self.data.batches(recipe.tokens, recipe.seed + number)
        ]
        self.model = new_model().to(self.device)
        if recipe.start:
            self.model.load_state_dict(self._weights_of(recipe.start))
        self.teacher: CrossEncoder | None = None
        if recipe.teacher:
            self.teacher = new_model().to(self.device).requires_grad_(False)
            self.teacher.load_state_dict(self._weights_of(recipe.teacher))
        freeze(self.model, recipe.frozen_layers)
        # Compiled, softmax, norms and GELU are fused: they cost more than the products in a model this small.
        self.compiled = torch.compile(self.model, dynamic=True)
        self.average = copy.deepcopy(self.model).requires_grad_(False)
        self.optimiser = optimiser_of(self.model, recipe)
        self.schedule = Schedule(recipe, len(self.batches))
        self.step, self.elapsed_s = 0, 0.0
        if (self.folder / "checkpoint.pt").exists():
            self._load()

    def _weights_of(self, checkpoint: str) -> dict[str, Tensor]:
        return torch.load(checkpoint, map_location=self.device, weights_only=True)["average"]

    def save(self) -> None:
        state = {
            "model": self.model.state_dict(),
            "average": self.average.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "schedule": self.schedule.state(),
            "step": self.step,
            "elapsed_s": self.elapsed_s,
        }
        torch.save(state, self.folder / "checkpoint.tmp")
        (self.folder / "checkpoint.tmp").replace(self.folder / "checkpoint.pt")
        about = {"recipe": asdict(self.recipe), "steps": self.step, "elapsed_s": round(self.elapsed_s)}
        about |= {"all_steps": len(self.batches), **self.schedule.state(), "torch": torch.__version__}
        about |= {"precision": "bf16" if has_bf16(self.device) else "fp32"}
        (self.folder / "run.json").write_text(json.dumps(about, indent=1))

    def _load(self) -> None:
        state = torch.load(self.folder / "checkpoint.pt", map_location=self.device, weights_only=False)
        self.model.load_state_dict(state["model"])
        self.average.load_state_dict(state["average"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.schedule.load(state["schedule"])
        self.step, self.elapsed_s = state["step"], state["elapsed_s"]

    def train_step(self, factor: float) -> float:
        """One batch; returns its loss."""
        inputs, labels = self.data.tensors(self.batches[self.step])
        inputs = {name: tensor.to(self.device) for name, tensor in inputs.items()}
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.rate * factor
        with torch.autocast(self.device.type, torch.bfloat16, enabled=has_bf16(self.device)):
            logits = self.compiled(**inputs)
            taught = self.teacher(**inputs) if self.teacher else None
        loss = loss_of(logits, labels.to(self.device), self.recipe.smoothing)
        if taught is not None:
            loss = (1 - self.recipe.taught) * loss + self.recipe.taught * distilled(logits, taught)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.step += 1
        self._average()
        return float(loss.detach())

    @torch.no_grad()
    def _average(self) -> None:
        # A younger average follows faster: at step s it spans about s / 10 steps.
        keep = min(self.recipe.average, self.step / (self.step + 10))
        pairs = zip(self.average.parameters(), self.model.parameters(), strict=True)
        own, new = zip(*[(mean, now) for mean, now in pairs if now.requires_grad], strict=True)
        torch._foreach_lerp_(own, new, 1 - keep)


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def pick_device(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    return "cuda" if torch.cuda.is_available() else "cpu"


def has_bf16(device: torch.device) -> bool:
    """True where bf16 arithmetic is in hardware: elsewhere autocast is slower than fp32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported()
    return not {"avx512_bf16", "amx_bf16"}.isdisjoint(cpu_flags())


def cpu_flags() -> set[str]:
    """What the processor can do, as Linux names it; empty elsewhere."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return set(next((line for line in lines if line.startswith("flags")), "").split())


def optimiser_of(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW; the new head learns faster than the pretrained encoder, biases and norms do not decay."""
    trained = [p for p in model.parameters() if p.requires_grad]
    decayed = [p for p in trained if p.ndim >= 2]
    others = [p for p in trained if p.ndim < 2]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), eps=1e-6, fused=True)


def train(recipe: Recipe, work_dir: Path, save_every_s: float = 240.0) -> None:
    """Train until the time, the steps or the data are used up."""
    torch.set_num_threads(recipe.threads)
    run = Run(recipe, work_dir)
    # An interrupted run ends after its step, saved.
    stop: list[int] = []
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda number, _frame: stop.append(number))
    began, saved = time.monotonic() - run.elapsed_s, time.monotonic()
    columns = (TextColumn("step {task.completed}/{task.total} loss {task.fields[loss]:.3f}"), BarColumn())
    with (
        (run.folder / "log.jsonl").open("a") as log,
        Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as progress,
    ):
        bar = progress.add_task("train", total=len(run.batches), completed=run.step, loss=0.0)
        recent: list[float] = []
        seen = 0
        while not stop and (factor := run.schedule.factor(run.step, run.elapsed_s)) is not None:
            seen += len(run.batches[run.step])
            recent.append(run.train_step(factor))
            run.elapsed_s = time.monotonic() - began
            if run.step % 20 == 0:
                row = {"step": run.step, "loss": float(np.mean(recent)), "factor": factor, "pairs": seen}
                log.write(json.dumps(row | {"elapsed_s": round(run.elapsed_s, 1)}) + "\n")
                log.flush()
                progress.update(bar, completed=run.step, loss=row["loss"])
                recent.clear()
            if time.monotonic() - saved > save_every_s:
                run.save()
                saved = time.monotonic()
    run.save()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work-dir", type=Path, default=Path(".training"))
    for name, kind in (
        ("minutes", float),
        ("steps", int),
        ("decay-from", int),
        ("decay-share", float),
        ("warmup-steps", int),
        ("passes", int),
        ("tokens", int),
        ("rate", float),
        ("smoothing", float),
        ("average", float),
        ("seed", int),
        ("threads", int),
        ("device", str),
        ("start", str),
        ("teacher", str),
        ("taught", float),
        ("frozen-layers", int),
    ):
        parser.add_argument(f"--{name}", type=kind)
    arguments = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    work_dir = arguments.pop("work_dir")
    train(Recipe(**arguments), work_dir)


if __name__ == "__main__":
    main()
