"""Apps, questions and answers of the tests in this folder."""

import json
import re
import shutil
import textwrap
from collections.abc import AsyncIterable, Callable, Sequence
from pathlib import Path
from typing import Any

from evidencerails.testing import ReplayRequest, ReplayServer

App = Callable[..., Any]
"""The fixture that makes an app of a config."""
EVIDENCE = (
    "The Harbour Bridge of Porto Lindo was opened in 1962 by mayor Ana Ruiz. It is 480 metres long and carries two "
    "lanes of traffic and a tram line."
)
CLEAN = "The Harbour Bridge of Porto Lindo was opened in 1962."
PLANTED = "The Harbour Bridge of Porto Lindo was opened in 1999."
QUESTION = "When was the Harbour Bridge of Porto Lindo opened?"
BLOCKED = "I don't know the answer to that."
WARNING = "prone to hallucination"

ALWAYS = "custom_data: {evidencerails: {activation: always}}\n"
STREAMED = "streaming: {enabled: true, chunk_size: 8, context_size: 4, stream_first: false}"
"""Added to `rails.output`; a flow list goes before it."""
MODEL = """
models:
  - type: main
    engine: openai
    model: gpt-4o-mini
    parameters: {{base_url: "{base_url}"}}
{more_models}
import_paths: [evidencerails/plugin]
"""
EMBEDDINGS = """
  - type: embeddings
    engine: evidencerails
    model: embedded
"""


def app_yaml(base_url: str, yaml: str = "", *, more_models: str = "", flows: str = "check grounding") -> str:
    """A `config.yml`; `yaml` is appended and holds its own `rails:` unless the flows are enough."""
    rails = "" if re.search(r"^\s*rails:", yaml, re.MULTILINE) else f"rails: {{output: {{flows: [{flows}]}}}}\n"
    return MODEL.format(base_url=base_url, more_models=more_models) + rails + textwrap.dedent(yaml)


MODEL_2 = """
colang_version: "2.x"
models:
  - type: main
    engine: openai
    model: gpt-4o-mini
    parameters: {{base_url: "{base_url}"}}
{more}
"""
COLANG_2 = """
import core
import guardrails
import evidencerails.plugin

{rails}
flow main
  activate answer
  activate fixed answer

flow answer
  user said something as $said
  $text = $said.transcript
  $answer = await PassthroughLLMAction(user_message=$text)
  bot say $answer

flow fixed answer
  match NeverSent()
"""


def colang_2(*, output: str = "", input: str = "", flags: Sequence[str] = ()) -> str:
    """A Colang 2.x app: its output rail, its input rail, and the flags that its input rails set."""
    set_flags = [line for flag in flags for line in (f"global ${flag}", f"${flag} = True")]
    before = [*set_flags, *([input] if input else [])]
    rails = f"flow output rails $output_text\n  {output}\n\n" if output else ""
    if before:
        rails += "flow input rails $input_text\n" + "".join(f"  {line}\n" for line in before)
    return COLANG_2.replace("{rails}", rails)


def put_plugin_together(repository: Path, place: Path) -> Path:
    """The plugin's folder as a wheel has it."""
    for folder in ("rails", "actions", "prompts"):
        shutil.copytree(repository / folder, place / folder)
    shutil.copy(repository / "plugin" / "config.py", place)
    return place


def make_app(yaml: str, colang: str = "") -> Any:
    """A new `LLMRails`."""
    from nemoguardrails import LLMRails, RailsConfig

    return LLMRails(RailsConfig.from_content(colang_content=textwrap.dedent(colang), yaml_content=yaml))


def is_sampling(request: ReplayRequest) -> bool:
    """True for the requests of further samples."""
    return request.n > 1 or request.body.get("temperature") == 1.0


def script(server: ReplayServer, answer: str, *, samples: str = CLEAN) -> None:
    """Let the model answer so from now on, and all further samples say something else."""
    server.reset()
    server.reply(samples, when=is_sampling)
    server.default(answer)


def user(context: dict[str, Any] | None = None, text: str = QUESTION) -> list[dict[str, Any]]:
    """The messages of one turn."""
    head = [{"role": "context", "content": context}] if context else []
    return [*head, {"role": "user", "content": text}]


def new_app(server: ReplayServer, yaml: str = "", colang: str = "", **options: str) -> Any:
    """A new app of what the fixture `app` takes."""
    return make_app(app_yaml(server.base_url, yaml, **options), colang)


def app_2(server: ReplayServer, yaml: str = "", colang: str = "", **rails: Any) -> Any:
    """A new app in Colang 2.x, with the rails that `colang_2` takes unless it has Colang of its own."""
    text = MODEL_2.format(base_url=server.base_url, more=textwrap.dedent(yaml))
    return make_app(text, colang or colang_2(**rails))


async def shown(app: Any, server: ReplayServer, *answers: str, context: dict[str, Any] | None = None) -> list[str]:
    """What the user of an app sees where its model gives these answers, each in a turn of its own with evidence."""
    seen = []
    for answer in answers:
        script(server, answer)
        message = await app.generate_async(messages=user({"evidence": EVIDENCE} if context is None else context))
        content = message["content"]
        seen.append(content if isinstance(content, str) else json.dumps(content))
    return seen


async def checked(app: Any, context: dict[str, Any] | None = None, **turn: Any) -> tuple[str, dict[str, Any]]:
    """What the user of an app sees of a turn, and its report."""
    messages = turn.pop("messages", None) or user(context)
    options = {"output_vars": ["hallucination_report"], **turn}
    response = await app.generate_async(messages=messages, options=options)
    return response.response[0]["content"], response.output_data["hallucination_report"]


async def streamed(pieces: AsyncIterable[Any]) -> str:
    """The text of a stream."""
    return "".join([piece async for piece in pieces])


def is_blocked(text: str) -> bool:
    """Whether NeMo ended a stream for a rail."""
    return '"code": "content_blocked"' in text


async def said_2(app: Any, context: dict[str, Any], questions: Sequence[str]) -> tuple[list[str], list[str]]:
    """Colang 2.x: what the bot says to each question of one conversation, and the status of each report."""
    state: Any = {}
    said, reports = [], []
    events: list[Any] = [{"type": "ContextUpdate", "data": context}]
    for question in questions:
        events.append({"type": "UtteranceUserActionFinished", "final_transcript": question})
        out, state = await app.process_events_async(events, state, blocking=True)
        spoken = [event for event in out if event["type"] == "StartUtteranceBotAction"]
        said += [event["script"] for event in spoken]
        reports += [event["report"]["status"] for event in out if event["type"] == "HallucinationReport"]
        done = {"type": "UtteranceBotActionFinished", "is_success": True}
        ended = [{**done, "action_uid": e["action_uid"], "final_script": e["script"]} for e in spoken]
        _, state = await app.process_events_async(ended, state, blocking=True)
        events = []
    return said, reports
