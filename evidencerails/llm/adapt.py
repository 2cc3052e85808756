"""From whatever model a user has to an `LlmClient`; and models of NeMo's with another one around them, as `init(app)`
sets them on `app.llm`."""

from __future__ import annotations

import sys
from typing import Any

from evidencerails.errors import InputError
from evidencerails.llm.base import LlmClient


class WrappedModel:
    """Base of `LLMModel`s that step into the calls of another one; what they leave alone passes."""

    def __init__(self, model: Any) -> None:
        self.wrapped_model = model

    @property
    def model_name(self) -> str:
        return str(self.wrapped_model.model_name)

    @property
    def provider_name(self) -> str | None:
        return self.wrapped_model.provider_name  # type: ignore[no-any-return]

    @property
    def provider_url(self) -> str | None:
        return self.wrapped_model.provider_url  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name == "wrapped_model":  # not there yet, while unpickling or copying
            raise AttributeError(name)
        return getattr(self.wrapped_model, name)


def unwrapped(model: Any) -> Any:
    """The model inside decorators (NeMo's telemetry, ours for samples)."""
    while (inner := getattr(model, "wrapped_model", None)) is not None:
        model = inner
    return model


def main_model(app: Any) -> Any:
    """The main model of an `LLMRails`; None if it has none.

    In `init` `app.llm` is still None unless the caller gave a model, so NeMo's own way of making it is taken here; NeMo
    then skips its own and logs that a model was given.
    """
    if app.llm is not None:
        return app.llm
    from nemoguardrails.llm.models.initializer import init_llm_model

    main = next((m for m in app.config.models if m.type == "main" and m.model), None)
    if main is None:
        return None
    return init_llm_model(main.model, main.engine, app._prepare_model_kwargs(main), mode="chat")


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
