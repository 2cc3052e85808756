"""An NLI model behind HTTP, in the `/predict` shape of Hugging Face text-embeddings-inference.

https://huggingface.github.io/text-embeddings-inference: `POST /predict` with `{"inputs": [[premise, hypothesis], ...],
"raw_scores": false, "truncate": false}` gives for each pair a list of `{"score": ..., "label": ...}`; `GET /info` names
the model and its limits.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from evidencerails.errors import SAID, NliError, SettingsError, with_cause
from evidencerails.nli.base import Pair, label_columns
from evidencerails.nli.long_pairs import scores_in_parts, text_parts
from evidencerails.nli.windows import DEFAULT_MAX_TOKENS, encodable
from evidencerails.settings.environment import variable
from evidencerails.settings.llm import NliSettings

if TYPE_CHECKING:
    import httpx

    from evidencerails.nli.base import Scores

DEFAULT_BATCH_SIZE = 32
"""The server's own default limit of pairs in a request."""
CONCURRENT_REQUESTS = 4
ATTEMPTS = 2
BACKOFF_S = 0.25
SUM_TOLERANCE = 0.02
_RETRYABLE_STATUS = frozenset({408, 424, 429, 500, 502, 503, 504})
_BUSY_STATUS = frozenset({429, 503})
# The server's tokenizer is not here. Pieces of four letters are more than its tokens in nearly any text, so windows
# come out a little short and never too long.
_PIECE = re.compile(r"\w{1,4}|[^\w\s]")


class RemoteModel:
    """Scores pairs by a text-embeddings-inference server.

    Args:
        url: base URL of the server.
        api_key: sent as bearer token if given.
        timeout_s: of one request.

    Raises:
        NliError: the server does not answer.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        batch_size: int = DEFAULT_BATCH_SIZE,
        languages: tuple[str, ...] = ("en",),
    ) -> None:
        import httpx

        self._url = url.rstrip("/").removesuffix("/predict")
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._make_client = partial(httpx.Client, base_url=self._url, timeout=timeout_s, headers=headers)
        self._clients: dict[int, httpx.Client] = {}
        self.languages = languages
        info = self._info()
        self.name = str(info.get("model_id") or self._url)
        self.version = f"{info.get('version') or 'unknown'}+{str(info.get('model_sha') or 'unknown')[:8]}"
        self.max_tokens = _number(info.get("max_input_length"), DEFAULT_MAX_TOKENS)
        self._batch_size = min(batch_size, _number(info.get("max_client_batch_size"), batch_size))

    @classmethod
    def from_settings(cls, settings: NliSettings) -> RemoteModel:
        """The model of the settings; its key is read from the environment here.

        Raises:
            SettingsError: the variable that `api_key_env` names is not set.
        """
        key = variable(settings.api_key_env)
        if settings.api_key_env and not key:
            raise SettingsError(f"nli.api_key_env names {settings.api_key_env!r}, which is not set in the environment")
        return cls(
            str(settings.url),
            api_key=key,
            timeout_s=settings.timeout_s,
            batch_size=settings.batch_size,
            languages=settings.languages,
        )

    def scores(self, pairs: Sequence[Pair]) -> Scores:
        """See `NliModel.scores`. A pair that does not fit is read in parts.

        Raises:
            NliError: no answer, an error status, or an answer of another shape; `retryable` if another try can help.
        """
        return scores_in_parts(pairs, self._split, self._scores)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Estimated: pieces of at most four letters; see `NliModel.token_offsets`."""
        return [match.span() for match in _PIECE.finditer(text)]

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            client.close()
        self._clients = {}

    def _split(self, pair: Pair) -> list[list[Pair]]:
        return text_parts(pair, self.max_tokens - 4, self.token_offsets)

    def _scores(self, pairs: list[Pair]) -> Scores:
        import numpy as np

        batches = [pairs[first : first + self._batch_size] for first in range(0, len(pairs), self._batch_size)]
        if len(batches) == 1:
            return self._predict(batches[0])
        with ThreadPoolExecutor(min(CONCURRENT_REQUESTS, len(batches))) as pool:
            return np.concatenate(list(pool.map(self._predict, batches)))

    def _predict(self, pairs: list[Pair]) -> Scores:
        import numpy as np

        inputs = [[encodable(premise), encodable(hypothesis)] for premise, hypothesis in pairs]
        answer = self._request("POST", "/predict", {"inputs": inputs, "raw_scores": False, "truncate": False})
        if not isinstance(answer, list) or len(answer) != len(pairs):
            raise NliError(
                f"{self._url}/predict answered no list of {len(pairs)}, as many as pairs{SAID}{answer!r:.120}"
            )
        return np.array([self._row(entries) for entries in answer], dtype=np.float32)

    def _row(self, entries: Any) -> list[float]:
        """Probabilities of one pair in the order of `LABELS`; the server sorts its entries by score."""
        try:
            by_place = dict(enumerate(str(entry["label"]) for entry in entries))
            values = [float(entry["score"]) for entry in entries]
        except (TypeError, KeyError, ValueError):
            raise NliError(
                f"{self._url}/predict answered no list of {{'score', 'label'}} for a pair{SAID}{entries!r:.120}"
            ) from None
        row = [values[place] for place in label_columns(by_place, self.name)]
        if not all(0.0 <= value <= 1.0 for value in row) or abs(sum(row) - 1.0) > SUM_TOLERANCE:
            raise NliError(f"{self._url}/predict answered scores {row} that are no probabilities")
        return row

    def _client(self) -> httpx.Client:
        """The connections of this process: a forked child must not speak on its parent's."""
        pid = os.getpid()
        if pid not in self._clients:
            self._clients[pid] = self._make_client()
        return self._clients[pid]

    def _info(self) -> Mapping[str, Any]:
        """What the server says about itself; nothing if it has no `/info`."""
        try:
            answer = self._request("GET", "/info")
        except NliError as error:
            if error.retryable:
                raise
            return {}
        return answer if isinstance(answer, Mapping) else {}

    def _request(self, method: str, path: str, body: Any = None) -> Any:
        """The parsed answer; a busy server or a broken connection is tried once more."""
        import httpx

        for attempt in range(1, ATTEMPTS + 1):
            try:
                response = self._client().request(method, path, json=body)
            except httpx.TransportError as error:
                if attempt == ATTEMPTS or isinstance(error, httpx.TimeoutException):
                    raise NliError(
                        f"{self._url}{path} did not answer: {type(error).__name__}: {error}", retryable=True
                    ) from error
            else:
                if attempt == ATTEMPTS or response.status_code not in _BUSY_STATUS:
                    return self._parsed(response, path)
            time.sleep(BACKOFF_S)
        raise AssertionError("unreachable")

    def _parsed(self, response: Any, path: str) -> Any:
        if response.status_code != 200:
            raise NliError(
                f"{self._url}{path} answered status {response.status_code}{SAID}{response.text!r:.120}",
                retryable=response.status_code in _RETRYABLE_STATUS,
            )
        try:
            return response.json()
        except ValueError as error:
            message = with_cause(f"{self._url}{path} answered no JSON", f"{response.text!r:.120}")
            raise NliError(message, retryable=True) from error


def _number(value: Any, default: int) -> int:
    return int(value) if isinstance(value, (int, float)) and value > 0 else default
