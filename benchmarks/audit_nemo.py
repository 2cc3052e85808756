"""Guarded NeMo apps for `audit.py`: in each mode, what a user reads of an answer that the model was made to say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import audit_cases as cases

import evidencerails
from evidencerails.testing import ReplayServer

Turn = tuple[str, str, str, Any, str]
"""Mode, expectation, answer, evidence, and the text that came."""
YAML = """
models: [{type: main, engine: openai, model: gpt-4o-mini, parameters: {base_url: "%s"}}]
import_paths: [evidencerails/plugin]
custom_data: {evidencerails: {activation: always}}
rails:
  output:
    flows: [check claims]
    streaming: {enabled: true, chunk_size: 40, context_size: 10, stream_first: false}
"""
YAML_2 = """
colang_version: "2.x"
models: [{type: main, engine: openai, model: gpt-4o-mini, parameters: {base_url: "%s"}}]
custom_data: {evidencerails: {activation: always}}
"""
COLANG_2 = """
import core
import guardrails
import evidencerails.plugin

flow output rails $output_text
  check claims

flow main
  activate answer

flow answer
  user said something as $said
  $text = $said.transcript
  $answer = await PassthroughLLMAction(user_message=$text)
  bot say $answer
"""


def turns() -> Iterator[Turn]:
    """All turns of the cases, in each mode."""
    with ReplayServer() as server:
        yield from asyncio.run(_turns(server))


async def _turns(server: ReplayServer) -> list[Turn]:
    from nemoguardrails import LLMRails, RailsConfig

    app = LLMRails(RailsConfig.from_content(yaml_content=YAML % server.base_url))
    app_2 = LLMRails(RailsConfig.from_content(colang_content=COLANG_2, yaml_content=YAML_2 % server.base_url))
    found: list[Turn] = []
    for mode in ("general", "output rails", "check_async", "stream", "our stream", "colang 2"):
        for expected, group in cases.TURNS.items():
            for answer, evidence in group:
                server.reset()
                server.default(answer)
                context = {} if evidence is None else {"evidence": evidence}
                messages: list[dict[str, Any]] = [
                    {"role": "context", "content": context},
                    {"role": "user", "content": cases.QUESTION},
                ]
                text = await _text(app_2 if mode == "colang 2" else app, mode, messages, answer)
                found.append((mode, expected, answer, evidence, text))
    return found


async def _text(app: Any, mode: str, messages: list[dict[str, Any]], answer: str) -> str:
    """What the user reads; a rail that blocks, and any error, in words of their own."""
    answered = [*messages, {"role": "assistant", "content": answer}]
    try:
        if mode == "check_async":
            result = await app.check_async(answered)
            return "blocked" if result.status.value == "blocked" else str(result.content)
        if mode == "output rails":
            response = await app.generate_async(messages=answered, options={"rails": ["output"]})
            return str(response.response[0]["content"])
        if mode == "stream":
            return "".join([piece async for piece in app.stream_async(messages=messages)])
        if mode == "our stream":
            return "".join([piece async for piece in evidencerails.stream(app, messages=messages)])
        return str((await app.generate_async(messages=messages))["content"])
    except Exception as error:  # what is looked for
        return f"crash: {type(error).__name__}: {error}"
