"""Scales for the int8 graph: per output column for weights, one fixed scale an activation, found on real pairs.

For each linear layer the activation's clipping range, and how much of its outlier columns moves into the weights
("smoothing": x / s, s * w), are those with the smallest error of the layer's output on the calibration rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from training.graph import QuantisedLinear, QuantisedTable

SMOOTHINGS = (0.0, 0.35, 0.5, 0.65)
CLIPS = (1.0, 0.85, 0.7, 0.55)
WEIGHT_LEVELS = 127


@dataclass(frozen=True)
class LinearGroup:
    """Linear layers that read the same input and become one matrix."""

    name: str
    members: tuple[nn.Linear, ...]

    def weight(self) -> Tensor:
        """(inputs, outputs)"""
        return torch.cat([member.weight for member in self.members]).T.detach()

    def bias(self) -> Tensor:
        return torch.cat([member.bias for member in self.members]).detach()


def groups_of(encoder: nn.Module) -> list[LinearGroup]:
    """The four matrices of each layer."""
    found = []
    for number, layer in enumerate(encoder.encoder.layer):
        own = layer.attention.self
        found += [
            LinearGroup(f"{number}.qkv", (own.query, own.key, own.value)),
            LinearGroup(f"{number}.attention", (layer.attention.output.dense,)),
            LinearGroup(f"{number}.up", (layer.intermediate.dense,)),
            LinearGroup(f"{number}.down", (layer.output.dense,)),
        ]
    return found


@torch.no_grad()
def record_inputs(
    encoder: nn.Module, groups: Iterable[LinearGroup], batches: Iterable[dict[str, Tensor]], rows: int = 2000
) -> dict[str, Tensor]:
    """Inputs (rows, width) of each group on real tokens of the calibration batches."""
    kept: dict[str, list[Tensor]] = {group.name: [] for group in groups}
    real: list[Tensor] = []
    hooks = []
    for group in groups:

        def hook(_module: nn.Module, inputs: tuple[Tensor, ...], name: str = group.name) -> None:
            tokens = inputs[0][real[-1].bool()]
            kept[name].append(tokens[torch.randperm(len(tokens))[:80]])

        hooks.append(group.members[0].register_forward_pre_hook(hook))
    for batch in batches:
        real.append(batch["attention_mask"])
        encoder(**batch)
    for handle in hooks:
        handle.remove()
    joined = {name: torch.cat(parts) for name, parts in kept.items()}
    return {name: rows_[torch.randperm(len(rows_))[:rows]] for name, rows_ in joined.items()}


@torch.no_grad()
def quantise_linear(group: LinearGroup, inputs: Tensor, *, is_quick: bool = False) -> tuple[QuantisedLinear, float]:
    """The quantised group and its relative output error on the given inputs (rows, width)."""
    weight = group.weight()
    exact = inputs @ weight
    best: tuple[float, QuantisedLinear] | None = None
    for smoothing in SMOOTHINGS if not is_quick else SMOOTHINGS[2:3]:
        smooth = _smooth_factors(inputs, weight, smoothing)
        scaled, scaled_weight = inputs / smooth, weight * smooth[:, None]
        quantised, weight_scale = _quantise_columns(scaled_weight)
        low, high = float(scaled.min().clamp(max=0)), float(scaled.max().clamp(min=0))
        for clip in CLIPS if not is_quick else CLIPS[:2]:
            scale = (high - low) * clip / 255
            zero = round(-low * clip / scale)
            values = (torch.round(scaled / scale) + zero).clamp(0, 255) - zero
            result = (values @ quantised) * (scale * weight_scale)
            error = float(((result - exact) ** 2).mean() / (exact**2).mean())
            if best is None or error < best[0]:
                layer = QuantisedLinear(
                    weight=quantised.to(torch.int8).numpy(),
                    weight_scale=weight_scale.numpy(),
                    bias=group.bias().numpy(),
                    scale=scale,
                    zero_point=zero,
                    smooth=smooth.numpy() if smoothing else None,
                )
                best = (error, layer)
    assert best is not None
    return best[1], best[0]


def _smooth_factors(inputs: Tensor, weight: Tensor, smoothing: float) -> Tensor:
    """(width,) factors; 1 where nothing is smoothed."""
    if not smoothing:
        return torch.ones(inputs.shape[1])
    activation = inputs.abs().amax(dim=0).clamp(min=1e-4)
    column = weight.abs().amax(dim=1).clamp(min=1e-4)
    factors = activation**smoothing / column ** (1 - smoothing)
    return factors / factors.median()


def _quantise_columns(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers (inputs, outputs) and scales (outputs,)."""
    scale = weight.abs().amax(dim=0).clamp(min=1e-8) / WEIGHT_LEVELS
    return torch.round(weight / scale).clamp(-WEIGHT_LEVELS, WEIGHT_LEVELS), scale


def quantise_table(table: np.ndarray) -> QuantisedTable:
    """An embedding table (entries, width) with a scale for each row."""
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-8) / WEIGHT_LEVELS
    return QuantisedTable(np.round(table / scale).astype(np.int8), scale.astype(np.float32))
