"""Any NLI model of the Hugging Face library, by id or local path, run by torch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evidencerails.errors import MissingExtraError, ModelFileError, NliError, extra_for, with_cause
from evidencerails.nli.base import LABELS, Pair, label_columns
from evidencerails.nli.long_pairs import scores_in_parts, text_parts
from evidencerails.nli.windows import DEFAULT_MAX_TOKENS, encodable

if TYPE_CHECKING:
    from evidencerails.nli.base import Scores

_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "longformer")  # position ids begin at 2


class TransformersModel:
    """A sequence-pair classifier with the three NLI labels.

    Args:
        model: Hugging Face id or local folder.
        batch_size: pairs of one forward pass, on a CUDA device if there is one.

    Raises:
        MissingExtraError: transformers or torch is not installed.
        ModelFileError: the model cannot be found or read.
        NliError: the packages cannot be imported, or the model has not the three NLI labels.
    """

    def __init__(self, model: str, *, batch_size: int = 32, languages: tuple[str, ...] = ("en",)) -> None:
        transformers, torch = _libraries()
        self.name = model
        self.languages = languages
        self._torch = torch
        self._pid = os.getpid()
        self._batch_size = batch_size
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._tokenizer, self._model = _load(transformers, model)
        self._model.to(self._device).eval()
        self._columns = label_columns(self._model.config.id2label, model)
        self.max_tokens = _max_tokens(self._model.config, self._tokenizer)
        self._content_tokens = self.max_tokens - self._tokenizer.num_special_tokens_to_add(pair=True)
        self.version = f"transformers-{transformers.__version__}+{_fingerprint(self._model)}"

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """See `NliModel.scores`. A pair that does not fit is read in parts."""
        return scores_in_parts(pairs, self._split, self._scores)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """See `NliModel.token_offsets`."""
        encoded = self._tokenizer(
            encodable(text), add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False
        )
        return [(int(start), int(end)) for start, end in encoded["offset_mapping"]]

    def _split(self, pair: Pair) -> list[list[Pair]]:
        return text_parts(pair, self._content_tokens, self.token_offsets)

    def _scores(self, pairs: list[Pair]) -> Scores:
        """Scores of pairs that fit, in batches of like length."""
        import numpy as np

        if os.getpid() != self._pid:  # a forked child has none of OpenMP's threads and would wait for them for ever
            self._torch.set_num_threads(1)
            self._pid = os.getpid()
        places = sorted(range(len(pairs)), key=lambda place: len(pairs[place][0]) + len(pairs[place][1]))
        found = np.empty((len(pairs), len(LABELS)), dtype=np.float32)
        for first in range(0, len(places), self._batch_size):
            batch = places[first : first + self._batch_size]
            found[batch] = self._forward([pairs[place] for place in batch])
        if not np.isfinite(found).all():
            raise NliError(f"model {self.name!r} gave numbers that are not finite")
        return found

    def _forward(self, pairs: list[Pair]) -> Scores:
        import numpy as np

        encoded = self._tokenizer(
            [encodable(premise) for premise, _ in pairs],
            [encodable(hypothesis) for _, hypothesis in pairs],
            padding=True,
            truncation=False,
            return_tensors="pt",
        ).to(self._device)
        with self._torch.inference_mode():
            probabilities = self._model(**encoded).logits.float().softmax(dim=-1).cpu().numpy()
        return np.asarray(probabilities[:, self._columns], dtype=np.float32)


def _libraries() -> tuple[Any, Any]:
    feature = "NLI backend 'transformers'"
    try:
        with extra_for(feature):
            import torch
            import transformers
    except MissingExtraError:
        raise
    except ImportError as error:  # installed, but without a package that it needs, or in another version of it
        raise NliError(with_cause(f"{feature}: its packages cannot be imported", error)) from error
    return transformers, torch


def _load(transformers: Any, model: str) -> tuple[Any, Any]:
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        classifier = transformers.AutoModelForSequenceClassification.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise ModelFileError(
            f"NLI model {model!r} cannot be loaded: {error}. Name a Hugging Face id or a local folder in 'nli: model'"
        ) from error
    if not tokenizer.is_fast:
        raise ModelFileError(f"NLI model {model!r} has no fast tokenizer (tokenizer.json), which the windows need")
    return tokenizer, classifier


def _max_tokens(config: Any, tokenizer: Any) -> int:
    positions = getattr(config, "max_position_embeddings", None) or DEFAULT_MAX_TOKENS
    if config.model_type in _OFFSET_POSITIONS:
        positions -= 2
    return int(min(positions, tokenizer.model_max_length))


def _fingerprint(model: Any) -> str:
    """Eight digits that change with the weights or the configuration."""
    digest = hashlib.sha256(model.config.to_json_string().encode())
    for name, weights in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(weights.shape)} {float(weights.double().sum()):.6e}".encode())
    return digest.hexdigest()[:8]
