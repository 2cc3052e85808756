"""The NLI model inside the package, run by onnxruntime: no download, no torch.

In: pairs of evidence and claim. Out: probabilities of entailment, neutral and contradiction. All pairs with one premise
are read together: the evidence once, `<s> evidence </s>`, then each claim, `<s> claim </s>`, beside the evidence's keys
and values. A claim attends to the evidence and to itself, never to another claim, so its score does not depend on what
else is asked, and each further claim costs its own tokens only. What was computed for a premise is kept.

A pair is never cut. Evidence reaches the model in windows that fit (`evidencerails.nli.windows`); a pair that is still
too long is read in parts: overlapping parts of the premise, of which the one that says most about the hypothesis
counts, and parts of the hypothesis, of which the least entailed one counts, as a claim is supported only if all of it
is."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cachetools import LRUCache

from evidencerails.errors import ModelFileError, NliError, with_cause
from evidencerails.nli.base import LABELS, Pair
from evidencerails.nli.long_pairs import scores_in_parts, token_ranges
from evidencerails.nli.model_file import (
    MODEL_FOLDER,
    ONNX,
    REMEDY,
    TOKENIZER,
    load_tokenizer,
    read_description,
    verify_file,
)
from evidencerails.nli.onnx_session import open_session, usable_processors
from evidencerails.nli.windows import encodable, premise_room

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from evidencerails.nli.base import Scores

    Floats = npt.NDArray[np.float32]
    Integers = npt.NDArray[np.int64]

RUN_TOKENS = 512
"""Tokens of one call of the model; more are no faster on a processor and take more memory."""
KNOWN_TOKENS = 1024
"""Evidence tokens that the claims of one call may look at, over all premises."""
PIECE_CHARACTERS = 10_000
"""A longer text is encoded in pieces, side by side; they end at white space, which no token crosses."""
KEPT_BYTES = 128 * 1024 * 1024
"""Some 4,800 tokens of evidence with nine layers: 27.6 kB a token."""
WORDS, WORD_SCALES, PLACES = "words.npy", "word_scales.npy", "places.npy"
POSITION_OFFSET = 2
"""MPNet counts positions from 2."""
EPSILON = 1e-5
BUCKETS, MAX_DISTANCE = 32, 128
"""Relative positions: 16 buckets in each direction, exact up to 8 tokens, logarithmic up to 128."""
HIDDEN = BUCKETS
"""Bucket of two tokens that do not see each other; the graph gives it a weight of zero."""

Ids = list[int]
_SPACE = re.compile(r"\s")


class _Group(NamedTuple):
    """A premise and the claims that are read beside it, both with their special tokens."""

    evidence: tuple[int, ...]
    claims: list[Ids]
    places: list[int]
    """Where each claim's scores go."""


class EmbeddedModel:
    """The packed reader with its tokenizer and calibration.

    Args:
        folder: holds `model.onnx`, its weights, the embedding tables, `tokenizer.json` and `model.json`; the one inside
            the package if None.
        threads: threads of one call; the processors this process may use if None.

    Raises:
        ModelFileError: a file is missing, damaged, or of a later version.
    """

    def __init__(
        self, folder: str | Path | None = None, *, threads: int | None = None, languages: tuple[str, ...] = ("en",)
    ) -> None:
        self._folder = Path(folder) if folder is not None else MODEL_FOLDER
        self._description = read_description(self._folder)
        self.threads = threads or usable_processors()
        self.languages = languages
        self.name = self._description.name
        self.max_tokens = self._description.max_length
        names = dict.fromkeys((ONNX, TOKENIZER, WORDS, WORD_SCALES, PLACES, *self._description.files))
        files = {name: verify_file(self._folder, name, self._description) for name in names}
        self._onnx = files[ONNX]
        self.version = f"{self._description.version}+{self._description.digest}"
        self._tokenizer = load_tokenizer(files[TOKENIZER])
        self._first, self._last = (self._special(token) for token in ("<s>", "</s>"))
        self._embeddings = _Embeddings(files[WORDS], files[WORD_SCALES], files[PLACES])
        self._columns = [self._description.labels.index(label) for label in LABELS]
        self._sessions: dict[int, Any] = {}
        self._states = LRUCache[tuple[int, ...], Any](KEPT_BYTES, getsizeof=lambda states: states.nbytes)
        """Keys and values of premises by their token ids, shape (layers, 2, tokens, width)."""
        self._open_session()

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """See `NliModel.scores`."""
        # A batch is encoded without the interpreter lock, a single text with it: a long one would stop the event loop.
        texts = list({text for pair in pairs for text in pair})
        found = self._tokenizer.encode_batch_fast([encodable(text) for text in texts], add_special_tokens=False)
        ids = {text: encoding.ids for text, encoding in zip(texts, found, strict=True)}
        read = [(ids[premise], ids[claim]) for premise, claim in pairs]
        half = self.max_tokens // 2
        if read and all(len(c) <= half and len(p) <= premise_room(len(c), self.max_tokens) for p, c in read):
            return self._probabilities(read)
        return scores_in_parts(read, self._parts, self._probabilities)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """See `NliModel.token_offsets`."""
        starts, parts = _pieces(encodable(text))
        encodings = self._tokenizer.encode_batch(parts, add_special_tokens=False)
        found = zip(starts, encodings, strict=True)
        return [(start + first, start + last) for start, encoding in found for first, last in encoding.offsets]

    def _parts(self, pair: tuple[Ids, Ids]) -> list[list[tuple[Ids, Ids]]]:
        """What is read for one pair: a line for each part of the hypothesis, in it one for each part of the premise."""
        premise, hypothesis = pair
        return [
            [
                (premise[first:last], hypothesis[begin:end])
                for first, last in token_ranges(len(premise), premise_room(end - begin, self.max_tokens))
            ]
            for begin, end in token_ranges(len(hypothesis), self.max_tokens // 2)
        ]

    def _probabilities(self, rows: Sequence[tuple[Ids, Ids]]) -> Scores:
        import numpy as np

        groups: dict[tuple[int, ...], _Group] = {}
        for place, (premise, claim) in enumerate(rows):
            evidence = (self._first, *premise, self._last)
            group = groups.setdefault(evidence, _Group(evidence, [], []))
            group.claims.append([self._first, *claim, self._last])
            group.places.append(place)
        logits = np.zeros((len(rows), len(LABELS) + self.probes), dtype=np.float32)
        for batch in _batches(list(groups.values())):
            states = self._evidence_states([group.evidence for group in batch])
            places = [place for group in batch for place in group.places]
            logits[places] = self._claim_logits(batch, states)
        if not np.isfinite(logits).all():
            raise NliError(f"model {self.name!r} gave numbers that are not finite; its file may be damaged")
        scaled = logits[:, self._columns] / self._description.temperature
        powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        probabilities = powers / powers.sum(axis=1, keepdims=True)
        return np.concatenate([probabilities, logits[:, len(LABELS) :]], axis=1, dtype=np.float32)

    def _evidence_states(self, premises: Sequence[tuple[int, ...]]) -> list[Any]:
        """Keys and values of each premise, those that are not kept computed together."""
        import numpy as np

        found = {ids: self._states.get(ids) for ids in premises}
        waiting = [ids for ids, states in found.items() if states is None]
        while waiting:
            batch = [waiting.pop()]
            size = len(batch[0])
            while waiting and size + len(waiting[-1]) <= RUN_TOKENS:
                batch.append(waiting.pop())
                size += len(batch[-1])
            segments = np.repeat(np.arange(len(batch)), [len(ids) for ids in batch])
            positions = np.concatenate([np.arange(len(ids)) for ids in batch])
            buckets = _buckets(positions, positions, segments[:, None] == segments[None, :])
            readers = np.zeros(1, dtype=np.int64)  # nobody reads these logits
            _, states = self._run(np.concatenate(batch), positions, buckets, readers, None)
            for number, ids in enumerate(batch):
                own = np.ascontiguousarray(states[:, :, segments == number])
                found[ids] = own
                if own.nbytes <= KEPT_BYTES:
                    self._states[ids] = own
        return [found[ids] for ids in premises]

    def _claim_logits(self, groups: Sequence[_Group], states: Sequence[Any]) -> Floats:
        """Logits and probes of all claims of the groups, in order, shape (claims, 3 + probes)."""
        import numpy as np

        owners = [number for number, group in enumerate(groups) for _ in group.claims]
        claims = [claim for group in groups for claim in group.claims]
        lengths = [len(claim) for claim in claims]
        begins = [len(groups[owner].evidence) for owner in owners]
        positions = np.concatenate([begin + np.arange(n) for begin, n in zip(begins, lengths, strict=True)])
        claim_of = np.repeat(np.arange(len(claims)), lengths)
        group_of = np.repeat(owners, lengths)
        known_group = np.repeat(np.arange(len(groups)), [len(group.evidence) for group in groups])
        known_positions = np.concatenate([np.arange(len(group.evidence)) for group in groups])
        sees = np.concatenate(
            [group_of[:, None] == known_group[None, :], claim_of[:, None] == claim_of[None, :]], axis=1
        )
        buckets = _buckets(positions, np.concatenate([known_positions, positions]), sees)
        known = states[0] if len(states) == 1 else np.concatenate(list(states), axis=2)
        readers = np.cumsum([0, *lengths[:-1]])
        logits, _ = self._run(np.concatenate(claims), positions, buckets, readers.astype(np.int64), known)
        return np.asarray(logits, dtype=np.float32)

    def _run(self, ids: Any, positions: Any, buckets: Integers, readers: Integers, known: Any) -> tuple[Any, Any]:
        """Logits at the readers and the tokens' own states."""
        import numpy as np

        if known is None:
            known = np.zeros((self._layers, 2, 0, self._embeddings.width), dtype=np.float16)
        hidden = self._embeddings(np.asarray(ids), positions)
        feeds = {"hidden": hidden, "buckets": buckets, "readers": readers, "known": known}
        try:
            # A forked child has none of its parent's threads, and makes a session of its own.
            session = self._sessions.get(os.getpid()) or self._open_session()
            logits, states = session.run(["logits", "states"], feeds)
        except Exception as error:  # boundary to onnxruntime, whose errors have no common base of their own
            raise NliError(with_cause(f"onnxruntime failed on model {self.name!r}", error)) from error
        return logits, states

    def _open_session(self) -> Any:
        try:
            session = open_session(self._onnx, self.threads)
        except Exception as error:  # onnxruntime's errors have no common base of their own
            raise ModelFileError(f"{self._onnx} cannot be loaded by onnxruntime: {error}; {REMEDY}") from error
        names = sorted(node.name for node in session.get_inputs())
        if names != ["buckets", "hidden", "known", "readers"]:
            raise ModelFileError(f"{self._onnx} has the inputs {names}; it is no packed reader; {REMEDY}")
        self._layers = next(n.shape[0] for n in session.get_inputs() if n.name == "known")
        self.probes = session.get_outputs()[0].shape[1] - len(LABELS)
        """See `NliModel.scores`."""
        self._sessions[os.getpid()] = session
        return session

    def _special(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ModelFileError(f"{self._folder / TOKENIZER} has no token {token!r}; {REMEDY}")
        return int(found)


class _Embeddings:
    """Word and position embeddings, normed: (tokens,) ids and positions -> (tokens, 768) float32.

    Words are stored in 4 bits a number, two to a byte, with a scale for each 32 of them.
    """

    def __init__(self, words: Path, scales: Path, places: Path) -> None:
        import numpy as np

        try:
            self._words = np.load(words, mmap_mode="r", allow_pickle=False)
            self._scales = np.load(scales, allow_pickle=False)
            table = np.load(places, allow_pickle=False).astype(np.float32)
        except (OSError, ValueError) as error:
            raise ModelFileError(
                f"{words.parent} has embedding tables that cannot be read: {error}; {REMEDY}"
            ) from error
        self._places, self._gain, self._shift = table[:-2], table[-2], table[-1]
        self.width = int(table.shape[1])

    def __call__(self, ids: Any, positions: Any) -> Floats:
        import numpy as np

        packed = self._words[ids]
        values = np.empty((len(ids), self.width), dtype=np.float32)
        values[:, 0::2], values[:, 1::2] = packed & 15, packed >> 4
        scales = np.repeat(self._scales[ids].astype(np.float32), self.width // self._scales.shape[1], axis=1)
        hidden = (values - 8) * scales + self._places[positions + POSITION_OFFSET]
        centred = hidden - hidden.mean(axis=1, keepdims=True)
        normed = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
        return np.asarray(normed * self._gain + self._shift, dtype=np.float32)


def _batches(groups: Sequence[_Group]) -> Iterator[list[_Group]]:
    """The groups in calls of at most `RUN_TOKENS` claim tokens and `KNOWN_TOKENS` of evidence."""
    batch: list[_Group] = []
    claim_tokens = known_tokens = 0
    for group in groups:
        first = 0
        while first < len(group.claims):  # a group with too many claims for one call goes into several
            last, size = first, 0
            while last < len(group.claims) and (last == first or size + len(group.claims[last]) <= RUN_TOKENS):
                size += len(group.claims[last])
                last += 1
            if batch and (claim_tokens + size > RUN_TOKENS or known_tokens + len(group.evidence) > KNOWN_TOKENS):
                yield batch
                batch, claim_tokens, known_tokens = [], 0, 0
            batch.append(_Group(group.evidence, group.claims[first:last], group.places[first:last]))
            claim_tokens, known_tokens, first = claim_tokens + size, known_tokens + len(group.evidence), last
    if batch:
        yield batch


@lru_cache(maxsize=1)
def _bucket_table() -> Integers:
    """Bucket of each distance from -600 to 600 tokens."""
    import numpy as np

    half, exact = BUCKETS // 2, BUCKETS // 4
    found = []
    for distance in range(-600, 601):
        away = abs(distance)
        if away >= exact:
            beyond = int(math.log(away / exact) / math.log(MAX_DISTANCE / exact) * (half - exact))
            away = exact + min(half - exact - 1, beyond)
        found.append(away + (half if distance > 0 else 0))
    return np.asarray(found, dtype=np.int64)


def _buckets(readers: Any, seen: Any, sees: Any) -> Integers:
    """Bucket of each reader's distance to each token, (readers, tokens); `HIDDEN` where it does not see it."""
    import numpy as np

    distances = seen[None, :] - readers[:, None]
    return np.asarray(np.where(sees, _bucket_table()[distances + 600], HIDDEN), dtype=np.int64)


def _pieces(text: str) -> tuple[list[int], list[str]]:
    """Where each piece of a text begins, and the pieces."""
    starts = [0]
    while len(text) - starts[-1] > PIECE_CHARACTERS:
        end = _SPACE.search(text, starts[-1] + PIECE_CHARACTERS)
        if end is None or end.start() == len(text):
            break
        starts.append(end.start())
    return starts, [text[first:last] for first, last in pairwise([*starts, len(text)])]
