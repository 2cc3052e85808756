"""Models of NeMo's with another one around them, as `init(app)` sets them on `app.llm`. In: an app or its model. Out:
the model inside, or one that steps into its calls. Next: `piggyback.py`, `nemo_client.py`."""

from __future__ import annotations

from typing import Any


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
