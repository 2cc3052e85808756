"""The modes in which NeMo runs an output rail: how each is configured, asked, and what it gives back."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from nemo_apps import is_blocked, streamed, user

FLAGS = {"check grounding": "check_grounding", "self check hallucination": "check_hallucination"}
"""The rail that reads evidence and the one that asks the model again; the others take the way of the first."""


class Seen(NamedTuple):
    """What the caller of an app sees of one turn."""

    text: str
    is_caught: bool


@dataclass(frozen=True)
class Turn:
    """One turn to be asked of an app: the planted or clean answer is what its model gives."""

    answer: str
    question: str
    context: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return user(self.context, self.question)

    @property
    def with_answer(self) -> list[dict[str, Any]]:
        return [*self.messages, {"role": "assistant", "content": self.answer}]


@dataclass(frozen=True)
class Mode:
    """One row of the matrix."""

    ask: Callable[[Any, Turn], Awaitable[Seen]]
    yaml: str = "rails: {{output: {{flows: [{flow}]}}}}\n"
    colang: str = ""
    flags_by_context: bool = True
    """False where NeMo refuses a context message, or where the flag is set in a flow."""
    more_models: bool = False
    answers: str = "{}"
    """What the model says around an answer."""


async def generate(app: Any, turn: Turn) -> Seen:
    message = await app.generate_async(messages=turn.messages)
    if message["role"] == "exception":
        return Seen(json.dumps(message["content"]), True)
    return Seen(message["content"], turn.answer not in message["content"])


async def generate_without_context(app: Any, turn: Turn) -> Seen:
    messages = [{"role": "system", "content": f"Context:\n{turn.context['evidence']}"}, turn.messages[-1]]
    message = await app.generate_async(messages=messages)
    return Seen(message["content"], turn.answer not in message["content"])


async def output_only(app: Any, turn: Turn) -> Seen:
    response = await app.generate_async(messages=turn.with_answer, options={"rails": ["output"]})
    return Seen(response.response[0]["content"], turn.answer not in response.response[0]["content"])


async def check(app: Any, turn: Turn) -> Seen:
    result = await app.check_async(turn.with_answer)
    return Seen(result.content, result.status.value == "blocked")


async def stream(app: Any, turn: Turn) -> Seen:
    text = await streamed(app.stream_async(messages=turn.messages))
    return Seen(text, is_blocked(text))


async def our_stream(app: Any, turn: Turn) -> Seen:
    import evidencerails

    text = await streamed(evidencerails.stream(app, messages=turn.messages))
    return Seen(text, turn.answer not in text)


STREAMING = """
rails:
  output:
    flows: [{{flow}}]
    parallel: {parallel}
    streaming: {{{{enabled: true, chunk_size: 8, context_size: 4, stream_first: {stream_first}}}}}
"""


def _streaming(parallel: bool, stream_first: bool) -> str:
    return STREAMING.format(parallel=str(parallel).lower(), stream_first=str(stream_first).lower())


FLAG_FLOW = """
define subflow set flags
  $check_grounding = True
  $check_hallucination = True
  $hallucination_warning = True
"""
DIALOG = """
define user ask about the bridge
  "When was the bridge opened?"
  "How long is the bridge?"

define user greet
  "Hello"

define flow bridge
  user ask about the bridge
  {flag}
  bot tell about the bridge

define flow greet
  user greet
  bot greet
"""
SINGLE_CALL = """
rails:
  dialog: {{single_call: {{enabled: true}}}}
  output: {{flows: [{flow}]}}
"""

MODES: dict[str, Mode] = {
    "general": Mode(generate),
    "parallel": Mode(generate, yaml="rails: {{output: {{parallel: true, flows: [{flow}, hallucination warning]}}}}\n"),
    "passthrough": Mode(generate_without_context,
     yaml="passthrough: true\nrails: {{input: {{flows: {flag_flows}}}, output: {{flows: [{flow}]}}}}\n",
     colang=FLAG_FLOW, flags_by_context=False),
    "dialog": Mode(generate, colang=DIALOG, flags_by_context=False, more_models=True),
    "single call": Mode(generate, yaml=SINGLE_CALL, colang=DIALOG, flags_by_context=False, more_models=True,
     answers='user ask about the bridge\nbot tell about the bridge\n  "{}"'),
    "output rails only": Mode(output_only),
    "check_async": Mode(check),
    "rails exceptions": Mode(generate, yaml="enable_rails_exceptions: true\nrails: {{output: {{flows: [{flow}]}}}}\n"),
    "stream_async": Mode(stream, yaml=_streaming(False, False)),
    "stream_async, stream_first": Mode(stream, yaml=_streaming(False, True)),
    "stream_async, parallel": Mode(stream, yaml=_streaming(True, False)),
    "evidencerails.stream": Mode(our_stream),
}  # fmt: skip
