"""The packed reader: evidence once, then each claim, in one sequence; every claim scored from its first token.

In: token ids with segments and positions (see `sequences`). Out: logits of entailment, neutral, contradiction, one row
a claim. The encoder is MPNet (Song et al. 2020, arXiv:2004.09297) with weights of `all-mpnet-base-v2` (Apache-2.0), its
upper layers left off. A block mask lets evidence attend to evidence, and a claim to evidence and itself: a claim's
score is the same whatever other claims stand beside it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import torch
from torch import Tensor, nn

from training import int8
from training.common import LABELS, sha256

WIDTH, HEADS, VOCABULARY, POSITIONS = 768, 12, 30_527, 514
ENCODER_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
FIRST, LAST, PADDING = 0, 2, 1
POSITION_OFFSET = 2
"""MPNet counts positions from 2."""
EPSILON = 1e-5
BUCKETS, MAX_DISTANCE = 32, 128


class Linear(nn.Linear):
    """A linear layer, in int8 where a run asks for it."""

    in_int8 = False

    def forward(self, states: Tensor) -> Tensor:
        return int8.linear(states, self.weight, self.bias) if self.in_int8 else super().forward(states)


class Layer(nn.Module):
    """One transformer layer: (rows, readers, 768) states that read (rows, tokens, 768) states."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.attended = (Linear(WIDTH, WIDTH) for _ in range(4))
        self.attention_norm = nn.LayerNorm(WIDTH, EPSILON)
        self.inner, self.outer = Linear(WIDTH, 4 * WIDTH), Linear(4 * WIDTH, WIDTH)
        self.output_norm = nn.LayerNorm(WIDTH, EPSILON)

    def forward(self, readers: Tensor, tokens: Tensor, bias: Tensor) -> Tensor:
        query, key, value = (
            project(states).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for project, states in ((self.query, readers), (self.key, tokens), (self.value, tokens))
        )
        attend = nn.functional.scaled_dot_product_attention if query.is_cuda else _attend
        context = attend(query, key, value, bias.to(query.dtype))
        hidden = self.attention_norm(self.attended(context.transpose(1, 2).flatten(2)) + readers)
        return self.output_norm(self.outer(nn.functional.gelu(self.inner(hidden))) + hidden)


def _attend(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """Attention on a processor, all in the type of its input: the fused kernel's backward pass is slow there, and
    autocast would widen the scores, which are most of what is computed beside the matrices."""
    rows, heads, readers, size = query.shape
    with torch.autocast("cpu", enabled=False):
        query, key, value, bias = (part.reshape(rows * heads, *part.shape[2:]) for part in (query, key, value, bias))
        scores = torch.baddbmm(bias, query, key.transpose(1, 2), alpha=size**-0.5)
        return torch.bmm(torch.softmax(scores, dim=-1), value).view(rows, heads, readers, size)


class PackedReader(nn.Module):
    """Logits of the claims of packed sequences; shapes in `forward`."""

    def __init__(self, layers: int = 9) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(POSITIONS, WIDTH)
        self.embedding_norm = nn.LayerNorm(WIDTH, EPSILON)
        self.distances = nn.Embedding(BUCKETS, HEADS)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, len(LABELS)))

    def freeze(self, layers: int) -> None:
        """Keep embeddings, distances and the lowest layers as they are."""
        for part in (self.words, self.places, self.embedding_norm, self.distances, *self.layers[:layers]):
            part.requires_grad_(False)

    def forward(self, ids: Tensor, segments: Tensor, positions: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """Logits (claims, 3).

        `ids`, `segments` (0 evidence, from 1 the claims, -1 padding) and `positions` are (sequences, length); `rows`
        and `columns` (claims,) say where each claim's first token stands."""
        hidden = self.embedding_norm(self.words(ids) + self.places(positions + POSITION_OFFSET))
        bias = self.bias(segments, positions)
        for layer in self.layers[:-1]:
            hidden = layer(hidden, hidden, bias)
        # Of the last layer the head reads the claims' first tokens alone.
        order, width = _slots(rows, len(ids))
        slots = columns.new_zeros(len(ids), width)
        slots[rows, order] = columns
        index = slots[:, :, None].expand(-1, -1, WIDTH)
        readers = hidden.gather(1, index)
        own = bias.gather(2, slots[:, None, :, None].expand(-1, HEADS, -1, bias.shape[-1]))
        return self.head(self.layers[-1](readers, hidden, own)[rows, order])

    def bias(self, segments: Tensor, positions: Tensor) -> Tensor:
        """What is added to attention scores (sequences, heads, to, from): distance, and the block mask."""
        distance = positions[:, None, :] - positions[:, :, None]
        bias = self.distances(bucket(distance)).permute(0, 3, 1, 2)
        seen, by = segments[:, None, :], segments[:, :, None]
        visible = ((seen == by) | (seen == 0)) & (seen >= 0) | torch.eye(
            segments.shape[1], dtype=torch.bool, device=segments.device
        )
        bias = bias.masked_fill(~visible[:, None], -1e4)
        device = segments.device.type
        return bias.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else bias


def _slots(rows: Tensor, sequences: int) -> tuple[Tensor, int]:
    """Number of each claim within its sequence, and the most claims that a sequence has; `rows` is sorted."""
    counts = torch.bincount(rows, minlength=sequences)
    starts = torch.cumsum(counts, 0) - counts
    return torch.arange(len(rows), device=rows.device) - starts[rows], int(counts.max())


def bucket(distance: Tensor) -> Tensor:
    """Bucket of a distance in tokens (T5's scheme, both directions, 32 buckets, logarithmic from 8 to 128)."""
    half = BUCKETS // 2
    found = (distance > 0).long() * half
    away = distance.abs()
    exact = half // 2
    far = exact + (
        torch.log(away.clamp(min=1).float() / exact) / math.log(MAX_DISTANCE / exact) * (half - exact)
    ).long().clamp(max=half - exact - 1)
    return found + torch.where(away < exact, away, far)


def pretrained(folder: Path, layers: int) -> PackedReader:
    """The reader with the lowest `layers` layers of `all-mpnet-base-v2` and a new head.

    Raises:
        ValueError: if the weights' checksum is another one.
    """
    from safetensors.torch import load_file

    path = folder / "model.safetensors"
    if (digest := sha256(path)) != ENCODER_SHA256:
        raise ValueError(f"{path} has sha256 {digest}, not {ENCODER_SHA256}: not the weights this recipe is made for")
    model = PackedReader(layers)
    state = {new: tensor for old, tensor in load_file(path).items() if (new := _renamed(old, layers))}
    missing, _ = model.load_state_dict(state, strict=False)
    assert all(name.startswith("head.") for name in missing), missing
    return model


_PARTS = {
    "attention.attn.q": "query",
    "attention.attn.k": "key",
    "attention.attn.v": "value",
    "attention.attn.o": "attended",
    "attention.LayerNorm": "attention_norm",
    "intermediate.dense": "inner",
    "output.dense": "outer",
    "output.LayerNorm": "output_norm",
}
_WHOLE = {
    "embeddings.word_embeddings.weight": "words.weight",
    "embeddings.position_embeddings.weight": "places.weight",
    "embeddings.LayerNorm.weight": "embedding_norm.weight",
    "embeddings.LayerNorm.bias": "embedding_norm.bias",
    "encoder.relative_attention_bias.weight": "distances.weight",
}


def _renamed(name: str, layers: int) -> str | None:
    """Our name of a parameter of the pretrained encoder; None for one that is not used."""
    if name in _WHOLE:
        return _WHOLE[name]
    match = re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)\.(weight|bias)", name)
    if match is None or int(match[1]) >= layers or match[2] not in _PARTS:
        return None
    return f"layers.{match[1]}.{_PARTS[match[2]]}.{match[3]}"
