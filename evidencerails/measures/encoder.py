"""Vectors of texts and of their tokens, from the embedded encoder: for the measures that compare wordings."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from evidencerails.errors import ModelFileError, NliError, with_cause

# Before our own hook below: what `onnx_session` keeps alive in a forked child must be kept before the cache lets it go.
from evidencerails.nli import onnx_session
from evidencerails.nli.model_file import ONNX, REMEDY, TOKENIZER, load_tokenizer, read_description, verify_file
from evidencerails.nli.windows import encodable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

Ids = list[int]

ENCODER_FOLDER = Path(__file__).resolve().parent / "model"
EMBEDDING, TOKENS = "embedding", "tokens"
"""Outputs of the file: a vector for each text, and one for each of its tokens."""
BATCH_TEXTS = 32


class TextEncoder(Protocol):
    """Turns texts into vectors. Blocks: run it by `NliService.run`."""

    name: str
    version: str

    @property
    def languages(self) -> tuple[str, ...]: ...

    def sentence_vectors(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (n, d), in input order."""
        ...

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """For each text unit vectors of its tokens, shape (tokens, d), without special tokens."""
        ...


class _Encoded(NamedTuple):
    sentence: Vectors
    tokens: Vectors


class OnnxEncoder:
    """The encoder inside the package. It is loaded at first use, once for each process.

    Args:
        folder: holds `model.onnx`, `tokenizer.json` and `model.json`; that of the package if None.

    Raises:
        ModelFileError: a file is missing or damaged.
    """

    languages: tuple[str, ...] = ("en",)

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = Path(folder or ENCODER_FOLDER)
        self._description = read_description(self._folder)
        self._onnx = verify_file(self._folder, ONNX, self._description)
        self._lock = threading.Lock()
        self._loaded: tuple[int, Any, Any] | None = None
        self.name = self._description.name
        self.version = f"{self._description.version}+{self._description.files[ONNX].sha256[:8]}"

    def sentence_vectors(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        return np.stack([encoded.sentence for encoded in self._encode(texts)])

    def token_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        """See `TextEncoder.token_vectors`. A text longer than the model reads is encoded in parts."""
        return [encoded.tokens for encoded in self._encode(texts)]

    def _encode(self, texts: Sequence[str]) -> list[_Encoded]:
        """All texts encoded, in their order; computed in batches of like length."""
        session, tokenizer = self._ready()
        parts = [self._parts(tokenizer, text) for text in texts]
        rows = [part for line in parts for part in line]
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        found: dict[int, _Encoded] = {}
        for first in range(0, len(order), BATCH_TEXTS):
            places = order[first : first + BATCH_TEXTS]
            found.update(zip(places, self._batch(session, [rows[place] for place in places]), strict=True))
        encoded = (found[place] for place in range(len(rows)))
        return [_joined([next(encoded) for _ in line]) for line in parts]

    def _parts(self, tokenizer: Any, text: str) -> list[Ids]:
        """Ids of the text's parts that fit the model, special ones included; one for nearly every text."""
        cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        ids = tokenizer.encode(encodable(text), add_special_tokens=False).ids
        room = self._description.max_length - 2
        return [[cls, *ids[start : start + room], sep] for start in range(0, max(1, len(ids)), room)]

    def _batch(self, session: Any, rows: Sequence[Ids]) -> list[_Encoded]:
        import numpy as np

        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)], mask[place, : len(row)] = row, 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        given = {node.name: feeds[node.name] for node in session.get_inputs()}
        try:
            sentences, hidden = session.run([EMBEDDING, TOKENS], given)
        except Exception as error:  # boundary to onnxruntime, whose errors have no common base of their own
            raise NliError(with_cause(f"onnxruntime failed on encoder {self.name!r}", error)) from error
        return [_Encoded(_unit(sentences[n]), _unit(hidden[n, 1 : len(row) - 1])) for n, row in enumerate(rows)]

    def _ready(self) -> tuple[Any, Any]:
        """Session and tokenizer of this process: a forked child has none of the parent's threads and makes its own."""
        with self._lock:
            if self._loaded is None or self._loaded[0] != os.getpid():
                tokenizer = load_tokenizer(verify_file(self._folder, TOKENIZER, self._description))
                self._loaded = (os.getpid(), _open(self._onnx), tokenizer)
            return self._loaded[1], self._loaded[2]


@lru_cache(maxsize=1)
def default_encoder() -> OnnxEncoder:
    """The encoder of this process.

    Raises:
        ModelFileError: its files are missing or damaged.
    """
    return OnnxEncoder()


if hasattr(os, "register_at_fork"):  # a thread of the parent may have held the encoder's lock
    os.register_at_fork(after_in_child=default_encoder.cache_clear)


def _joined(pieces: Sequence[_Encoded]) -> _Encoded:
    import numpy as np

    if len(pieces) == 1:
        return pieces[0]
    mean = np.mean([piece.sentence for piece in pieces], axis=0)
    return _Encoded(_unit(mean), np.concatenate([piece.tokens for piece in pieces]))


def _unit(vectors: Any) -> Vectors:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), dtype=np.float32)


def _open(path: Path) -> Any:
    try:
        session = onnx_session.open_session(path, onnx_session.usable_processors())
    except Exception as error:  # boundary to onnxruntime, whose errors have no common base of their own
        raise ModelFileError(f"{path} cannot be opened: {error}; {REMEDY}") from error
    if not {EMBEDDING, TOKENS} <= {node.name for node in session.get_outputs()}:
        raise ModelFileError(f"{path} gives no token vectors; {REMEDY}")
    return session
