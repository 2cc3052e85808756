"""Any LangChain model: chat models of every provider (Anthropic's among them) and plain text models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evidencerails.exchange import Completion, LlmReply, Message, content_text
from evidencerails.llm.base import AdaptiveClient, portable

if TYPE_CHECKING:
    from langchain_core.language_models import BaseLanguageModel
    from langchain_core.messages import BaseMessage


TAKES_SCHEMA = frozenset({"BaseChatOpenAI"})
"""Base classes of models that take OpenAI's `response_format` as it is: langchain-openai's, and all made from them."""
_NAMES = ("model_name", "model", "deployment_name", "model_id")
_SERVERS = ("azure_endpoint", "openai_api_base", "anthropic_api_url", "base_url")
REPLY_TOOL = "reply"
"""Name of the one tool, with the schema as its parameters, that other models are made to call."""


class LangchainClient(AdaptiveClient):
    """An `LlmClient` over a LangChain model; its own retries and callbacks stay in force.

    Several completions in one request need a model class with a field `n`. A reply under a schema comes from the
    classes of `TAKES_SCHEMA` by `response_format`, from others with tools (Anthropic's) as the arguments of a tool that
    they have to call; the rest, and those that refuse both, get the schema's form from the prompt.
    """

    def __init__(self, llm: BaseLanguageModel[Any]) -> None:
        name, server = _first_of(llm, _NAMES), _first_of(llm, _SERVERS)
        super().__init__(name, supports_n="n" in type(llm).model_fields, server=server)
        self._llm = llm
        self._takes_schema = bool(TAKES_SCHEMA & {cls.__name__ for cls in type(llm).__mro__})

    def _schema_fields(self, json_schema: dict[str, Any]) -> dict[str, Any]:
        return super()._schema_fields(json_schema) if self._takes_schema else self._reply_tool(json_schema)

    def _reply_tool(self, json_schema: dict[str, Any]) -> dict[str, Any]:
        """The parameters that make the model call `REPLY_TOOL`, in its provider's words; empty if it has no tools."""
        bind = getattr(self._llm, "bind_tools", None)
        if bind is None or "tools" in self._refused:
            return {}
        function = {"name": REPLY_TOOL, "description": "Gives the reply.", "parameters": json_schema}
        try:
            bound = bind([{"type": "function", "function": function}], tool_choice=REPLY_TOOL)
        except (NotImplementedError, TypeError, ValueError):  # no tools, or none that it can be made to call
            return {}
        return dict(getattr(bound, "kwargs", {}))

    def _fields(self, wanted: dict[str, Any]) -> dict[str, Any]:
        fields = super()._fields(wanted)
        return fields if "tools" in fields else {k: v for k, v in fields.items() if k != "tool_choice"}

    async def _request(self, messages: Sequence[Message], fields: dict[str, Any]) -> LlmReply:
        from langchain_core.prompt_values import ChatPromptValue

        prompt = ChatPromptValue(messages=[_as_langchain(message) for message in portable(messages)])
        return _reply(await self._llm.agenerate_prompt([prompt], **fields), self.model)


def _as_langchain(message: Message) -> BaseMessage:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    kinds: dict[str, type[BaseMessage]] = {"system": SystemMessage, "assistant": AIMessage}
    return kinds.get(message.role, HumanMessage)(content=message.content)


def _reply(result: Any, model: str) -> LlmReply:
    generations = result.generations[0] if result.generations else []
    prompt_tokens, completion_tokens = _usage(result, generations)
    return LlmReply(
        completions=tuple(_completion(generation) for generation in generations),
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        model=model,
    )


def _completion(generation: Any) -> Completion:
    message = getattr(generation, "message", None)
    text = _text(message) if message is not None else generation.text
    info = getattr(generation, "generation_info", None) or getattr(message, "response_metadata", None) or {}
    reason = info.get("finish_reason") or info.get("stop_reason")
    return Completion(text=text, finish_reason=reason if isinstance(reason, str) else None)


def _text(message: Any) -> str:
    """Arguments of the call to `REPLY_TOOL` as JSON, whole or cut off; without one the words of the message."""
    for call in getattr(message, "tool_calls", None) or ():
        if call["name"] == REPLY_TOOL:
            return json.dumps(call["args"], ensure_ascii=False)
    for call in getattr(message, "invalid_tool_calls", None) or ():
        if call["name"] == REPLY_TOOL and call["args"]:
            return str(call["args"])
    return content_text(message.content)


def _usage(result: Any, generations: Sequence[Any]) -> tuple[int, int]:
    """Token counts of the whole request, from LangChain's two places for them."""
    total = (getattr(result, "llm_output", None) or {}).get("token_usage") or {}
    if total:
        return total.get("prompt_tokens") or 0, total.get("completion_tokens") or 0
    used = getattr(getattr(generations[0], "message", None), "usage_metadata", None) if generations else None
    return (used["input_tokens"], used["output_tokens"]) if used else (0, 0)


def _first_of(llm: Any, fields: Sequence[str]) -> str:
    """The first of these fields that holds a text; without one the class's name."""
    found = (getattr(llm, name, None) for name in fields)
    return next((text for text in found if isinstance(text, str) and text), type(llm).__name__)
