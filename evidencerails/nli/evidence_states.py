"""Keys and values of evidence that was read already, so that a second answer to it reads its claims only.

In: token ids of a premise and the states that the model computed for them. Out: the same states again, for as long as
there is room; the least recently used go first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    States = npt.NDArray[Any]

MAX_BYTES = 128 * 1024 * 1024
"""Some 4,800 tokens of evidence with nine layers: 27.6 kB a token."""


class EvidenceStates:
    """A store of states by token ids, bounded in bytes. Safe to use from several threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._states: OrderedDict[tuple[int, ...], States] = OrderedDict()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes that are kept at present."""
        return self._bytes

    def get(self, ids: tuple[int, ...]) -> States | None:
        """States of these tokens, shape (layers, 2, tokens, width); None if they are not known."""
        with self._lock:
            if ids not in self._states:
                return None
            self._states.move_to_end(ids)
            return self._states[ids]

    def put(self, ids: tuple[int, ...], states: States) -> None:
        """Keep states; what is larger than the whole room is not kept."""
        with self._lock:
            if states.nbytes > self._max_bytes or ids in self._states:
                return
            self._states[ids] = states
            self._bytes += states.nbytes
            while self._bytes > self._max_bytes:
                _, dropped = self._states.popitem(last=False)
                self._bytes -= dropped.nbytes
