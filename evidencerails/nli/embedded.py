"""The NLI model inside the package, run by onnxruntime: no download, no torch.

The pair is encoded as `[CLS] premise [SEP] hypothesis [SEP]` and never cut. Evidence reaches the model in windows that
fit (`evidencerails.nli.windows`); a pair that is still too long is read in parts: overlapping parts of the premise, of
which the one that says most about the hypothesis counts, and parts of the hypothesis, of which the least entailed one
counts, as a claim is supported only if all of it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evidencerails.errors import ModelFileError, NliError, told
from evidencerails.nli.base import LABELS, Pair
from evidencerails.nli.model_file import MODEL_FOLDER, ONNX, REMEDY, TOKENIZER, read_description, verify_file
from evidencerails.nli.onnx_session import open_session
from evidencerails.nli.parts import combined, encodable, stretches
from evidencerails.nli.processors import usable_processors
from evidencerails.nli.windows import premise_room

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from evidencerails.nli.base import Scores

BATCH_TOKENS = 512
"""Tokens of one batch, padding included: one row of the longest pairs. onnxruntime keeps the memory of its largest one
for good, and larger ones are no faster on a processor: twice as many tokens take 3 to 10 % more time."""
PIECE_CHARACTERS = 10_000
"""A longer text is encoded in pieces, side by side; they end at white space, which no token crosses."""
LOGITS, EMBEDDING = "logits", "embedding"

Ids = list[int]
_SPACE = re.compile(r"\s")


class EmbeddedModel:
    """An ONNX cross-encoder with its tokenizer and calibration.

    Args:
        folder: holds `model.onnx`, `tokenizer.json` and `model.json`; the one inside the package if None.
        threads: batches computed side by side; the processors this process may use if None.

    Raises:
        ModelFileError: a file is missing, damaged, or of a later version.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        *,
        threads: int | None = None,
        languages: tuple[str, ...] = ("en",),
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self._folder = Path(folder) if folder is not None else MODEL_FOLDER
        self._description = read_description(self._folder)
        self.threads = threads or usable_processors()
        self.languages = languages
        self.name = self._description.name
        self.max_tokens = self._description.max_length
        self._batch_tokens = batch_tokens
        self._onnx = verify_file(self._folder, ONNX, self._description)
        self.version = f"{self._description.version}+{self._description.sha256[ONNX][:8]}"
        self._tokenizer = _load_tokenizer(verify_file(self._folder, TOKENIZER, self._description))
        self._cls, self._sep, self._pad = (self._special(token) for token in ("[CLS]", "[SEP]", "[PAD]"))
        self._columns = [self._description.labels.index(label) for label in LABELS]
        self._processes: dict[int, tuple[Any, ThreadPoolExecutor]] = {}
        self._check_outputs()

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """See `NliModel.scores`."""
        import numpy as np

        if not pairs:
            return np.zeros((0, len(LABELS)), dtype=np.float32)
        ids = self._encoded({text for pair in pairs for text in pair})
        parts = [self._parts(ids[premise], ids[hypothesis]) for premise, hypothesis in pairs]
        rows = [row for grid in parts for line in grid for row in line]
        scored = iter(self._probabilities(rows))
        return np.stack([combined([[next(scored) for _ in line] for line in grid]) for grid in parts])

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """See `NliModel.token_offsets`."""
        starts, parts = _pieces(encodable(text))
        encodings = self._tokenizer.encode_batch(parts, add_special_tokens=False)
        found = zip(starts, encodings, strict=True)
        return [(start + first, start + last) for start, encoding in found for first, last in encoding.offsets]

    @property
    def has_embeddings(self) -> bool:
        """Whether the file also gives sentence embeddings."""
        return EMBEDDING in self._output_names()

    def embeddings(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, shape (n, d), in input order; a long text is the mean of its parts.

        Raises:
            NliError: the file has no embedding output.
        """
        import numpy as np

        if not self.has_embeddings:
            raise NliError(f"model {self.name!r} {self.version} has no output {EMBEDDING!r}")
        ids = self._encoded(set(texts))
        room = self.max_tokens - 2
        parts = [_cut(ids[text], room) for text in texts]
        rows = [([self._cls, *part, self._sep], 0) for line in parts for part in line]
        vectors = iter(self._run(rows, EMBEDDING))
        means = np.stack([np.mean([next(vectors) for _ in line], axis=0) for line in parts])
        return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9), dtype=np.float32)

    def _encoded(self, texts: set[str]) -> dict[str, Ids]:
        # A batch is encoded without the interpreter lock, a single text with it: a long one would stop the event loop.
        known = list(texts)
        encodings = self._tokenizer.encode_batch_fast([encodable(text) for text in known], add_special_tokens=False)
        return {text: encoding.ids for text, encoding in zip(known, encodings, strict=True)}

    def _parts(self, premise: Ids, hypothesis: Ids) -> list[list[tuple[Ids, int]]]:
        """Model rows of one pair: a line for each part of the hypothesis, in it a row for each part of the premise.

        A row is its ids and the number of them before the hypothesis. Nearly always there is one line of one row.
        """
        return [
            [self._row(stretch, claim) for stretch in _cut(premise, premise_room(len(claim), self.max_tokens))]
            for claim in _cut(hypothesis, self.max_tokens // 2)
        ]

    def _row(self, premise: Ids, hypothesis: Ids) -> tuple[Ids, int]:
        return [self._cls, *premise, self._sep, *hypothesis, self._sep], len(premise) + 2

    def _probabilities(self, rows: list[tuple[Ids, int]]) -> Scores:
        import numpy as np

        logits = self._run(rows, LOGITS)
        if logits.shape != (len(rows), len(LABELS)):
            raise NliError(f"model {self.name!r} gave logits of shape {logits.shape} for {len(rows)} pairs")
        scaled = logits[:, self._columns].astype(np.float32) / self._description.temperature
        powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)

    def _run(self, rows: list[tuple[Ids, int]], output: str) -> npt.NDArray[np.float32]:
        """One output for all rows, in their order; computed in batches of rows of like length, the longest first."""
        import numpy as np

        session, pool = self._engine()
        lengths = [len(ids) for ids, _ in rows]
        by_length = sorted(range(len(rows)), key=lengths.__getitem__)
        batches = [*_batches(by_length, lengths, self._budget(lengths), padding=self._description.padding)][::-1]
        runs = pool.map(lambda places: self._run_batch(session, [rows[place] for place in places], output), batches)
        found: list[Any] = [None] * len(rows)
        for places, values in zip(batches, runs, strict=True):
            for place, row in zip(places, values, strict=True):
                found[place] = row
        stacked = np.stack(found)
        if not np.isfinite(stacked).all():
            raise NliError(f"model {self.name!r} gave numbers that are not finite; its file may be damaged")
        return stacked

    def _budget(self, lengths: Sequence[int]) -> int:
        """Tokens of a batch, so that the threads get equal parts."""
        total = sum(lengths)
        rounds = -(-total // (self._batch_tokens * self.threads))
        return min(self._batch_tokens, total // (rounds * self.threads) + max(lengths))

    def _run_batch(self, session: Any, rows: list[tuple[Ids, int]], output: str) -> Any:
        import numpy as np

        length = max(len(ids) for ids, _ in rows)
        feeds = {
            "input_ids": np.full((len(rows), length), self._pad, dtype=np.int64),
            "attention_mask": np.zeros((len(rows), length), dtype=np.int64),
            "token_type_ids": np.zeros((len(rows), length), dtype=np.int64),
        }
        for place, (ids, first) in enumerate(rows):
            feeds["input_ids"][place, : len(ids)] = ids
            feeds["attention_mask"][place, : len(ids)] = 1
            if first:
                feeds["token_type_ids"][place, first : len(ids)] = 1
        wanted = {node.name for node in session.get_inputs()}
        try:
            return session.run([output], {name: feed for name, feed in feeds.items() if name in wanted})[0]
        except Exception as error:  # boundary to onnxruntime, whose errors have no common base of their own
            raise NliError(told(f"onnxruntime failed on model {self.name!r}", error)) from error

    def _engine(self) -> tuple[Any, ThreadPoolExecutor]:
        """Session and threads of this process: a forked child has none of its parent's and makes its own."""
        pid = os.getpid()
        if pid not in self._processes:
            pool = ThreadPoolExecutor(self.threads, thread_name_prefix="evidencerails-onnx")
            self._processes[pid] = (_opened(self._onnx), pool)
        return self._processes[pid]

    def _output_names(self) -> set[str]:
        return {node.name for node in self._engine()[0].get_outputs()}

    def _check_outputs(self) -> None:
        if LOGITS not in self._output_names():
            raise ModelFileError(
                f"{self._onnx} has no output {LOGITS!r}, only {sorted(self._output_names())}; {REMEDY}"
            )

    def _special(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ModelFileError(f"{self._folder / TOKENIZER} has no token {token!r}; {REMEDY}")
        return int(found)


def _load_tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise ModelFileError(f"{path} cannot be read by tokenizers: {error}; {REMEDY}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # a "[SEP]" written in evidence stays text
    return tokenizer


def _opened(path: Path) -> Any:
    try:
        return open_session(path)
    except Exception as error:  # onnxruntime's errors have no common base of their own
        raise ModelFileError(f"{path} cannot be loaded by onnxruntime: {error}; {REMEDY}") from error


def _pieces(text: str) -> tuple[list[int], list[str]]:
    """Where each piece of a text begins, and the pieces."""
    starts = [0]
    while len(text) - starts[-1] > PIECE_CHARACTERS:
        border = _SPACE.search(text, starts[-1] + PIECE_CHARACTERS)
        if border is None or border.start() == len(text):
            break
        starts.append(border.start())
    return starts, [text[first:last] for first, last in pairwise([*starts, len(text)])]


def _cut(ids: Ids, room: int) -> list[Ids]:
    return [ids[first:last] for first, last in stretches(len(ids), room)]


def _batches(places: Sequence[int], lengths: Sequence[int], batch_tokens: int, *, padding: bool) -> Iterator[list[int]]:
    """Groups of places, given by rising length, whose padded rows hold at most `batch_tokens`.

    Without padding a group has rows of one length only.
    """
    group: list[int] = []
    for place in places:
        length = lengths[place]
        is_full = (len(group) + 1) * length > batch_tokens
        if group and (is_full or (not padding and length != lengths[group[0]])):
            yield group
            group = []
        group.append(place)
    if group:
        yield group
