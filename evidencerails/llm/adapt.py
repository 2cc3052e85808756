"""From whatever model a user has to an `LlmClient`."""

from __future__ import annotations

import sys
from typing import Any

from evidencerails.errors import InputError
from evidencerails.llm.base import LlmClient
from evidencerails.llm.wrapped import unwrapped

_KEPT = "_evidencerails_client"
# On the model itself, where both end together: a client holds its model, so a dictionary of them would never shrink.


def as_client(llm: Any) -> LlmClient | None:
    """The client for a model: an `LlmClient`, a LangChain model, a model of NeMo's, or None.

    One model object always gives the same client, which remembers what its provider refuses.

    Raises:
        InputError: it is none of these.
    """
    if llm is None or isinstance(llm, LlmClient):
        return llm
    model = unwrapped(llm)
    kept = getattr(model, "__dict__", {}).get(_KEPT)
    if kept is not None and kept[0] == id(model):  # a copy of a model carries the client of the original
        return kept[1]  # type: ignore[no-any-return]
    client = _made(model)
    if hasattr(model, "__dict__"):
        model.__dict__[_KEPT] = (id(model), client)
    return client


def _made(model: Any) -> LlmClient:
    langchain = sys.modules.get("langchain_core.language_models")
    if langchain is not None and isinstance(model, langchain.BaseLanguageModel):
        from evidencerails.llm.langchain_client import LangchainClient

        return LangchainClient(model)
    if hasattr(model, "generate_async") and hasattr(model, "model_name"):
        from evidencerails.llm.nemo_client import client_from_nemo

        return client_from_nemo(model)
    raise InputError(
        f"cannot ask a {type(model).__name__}; give a LangChain model, an LLMModel of NeMo Guardrails, or an object "
        "with `model`, `supports_n` and `complete` (evidencerails.llm.base.LlmClient)"
    )
