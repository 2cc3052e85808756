"""What `evidencerails check` is given: arguments and files come in, an exchange goes out."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evidencerails.adapters.nemo_evidence import evidence_in
from evidencerails.adapters.nemo_log import is_nemo, logged_turn
from evidencerails.cli.common import CliError
from evidencerails.exchange import Exchange, Passage, ToolCall, as_tool_calls, content_text

MESSAGES = 'messages such as [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]'
GIVE_ONCE = "give the answer once: --response TEXT, --response-file FILE (- for standard input) or --chat FILE"


def exchange_of(
    response: str | None,
    response_file: str | None,
    *,
    chat: Path | None,
    evidence_files: Sequence[Path],
    evidence_texts: Sequence[str],
    prompt: str | None,
    samples: Sequence[str],
    samples_file: Path | None,
    schema: Path | None,
    tool_calls: Path | None,
    tools: Path | None,
) -> Exchange:
    """The exchange of these arguments and files. `CliError`: the answer is given twice or not at all, or a file cannot
    be read. `InputError`: a part has a shape that cannot be read."""
    log = _chat_in(chat) if chat is not None else Chat()
    given = sum(one is not None for one in (response, response_file, chat))
    if given != 1 and not (given == 0 and tool_calls):
        raise CliError(GIVE_ONCE)
    answer = text_in(response_file) if response_file is not None else log.answer or _typed(response or "")
    texts = [(passage.text, passage.source) for passage in log.evidence]
    texts += [(text_of(file), str(file)) for file in evidence_files]
    texts += [(_typed(text), None) for text in evidence_texts]
    form = {
        "response_schema": _json_in(schema, dict, "a JSON Schema, which is an object"),
        "tool_calls": _json_in(tool_calls, list, "a JSON list of calls") or log.tool_calls,
        "tools": _json_in(tools, list, "a JSON list of tools") or log.tools,
    }
    return Exchange.of(
        answer,
        evidence=[{"text": text, "source": source} for text, source in texts if text.strip()],
        prompt=_typed(prompt) if prompt is not None else log.before,
        samples=(*map(_typed, samples), *(_samples_in(samples_file) if samples_file else ())),
        **{name: value for name, value in form.items() if value not in (None, ())},
    )


class Chat(NamedTuple):
    """A chat log up to its last answer."""

    answer: str = ""
    before: Sequence[Any] | None = None
    """The messages that the answer was written to."""
    evidence: tuple[Passage, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    """Those of the answer's message."""
    tools: list[Any] | None = None
    """What the model was offered, where the log is a request with its `tools`."""


def _chat_in(file: Path) -> Chat:
    """A chat log in the shape of OpenAI's API, a list of messages or an object with one; or a response of NeMo."""
    log = _json_in(file, (list, dict), MESSAGES)
    if is_nemo(log):
        turn = logged_turn(log)
        return Chat(turn.answer, list(turn.before), turn.evidence, turn.tool_calls)
    messages, tools = (log.get("messages"), log.get("tools")) if isinstance(log, dict) else (log, None)
    if not isinstance(messages, list) or not all(
        isinstance(m, dict) and isinstance(m.get("role"), str) for m in messages
    ):
        raise CliError(f"{str(file)!r} is no chat log; expected {MESSAGES}")
    for place in reversed(range(len(messages))):
        message, before = messages[place], messages[:place]
        answer = content_text(message.get("content"))
        calls = as_tool_calls({**message, "tool_calls": message.get("tool_calls") or ()})
        if message["role"] == "assistant" and (answer.strip() or calls):
            return Chat(answer, before, evidence_in(before), calls, tools)
    raise CliError(f"{str(file)!r} has no assistant message with a text or tool calls; expected {MESSAGES}")


def _typed(argument: str) -> str:
    """An argument as it was typed: in a C locale Python hands bytes beyond ASCII over as lone surrogates."""
    try:
        return argument.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return argument


def _samples_in(file: Path) -> list[str]:
    """The samples of a file: a JSON list of texts, or one a line."""
    text = text_of(file)
    if not text.lstrip().startswith("["):
        return [line for line in text.splitlines() if line.strip()]
    samples = _json_in(file, list, "a JSON list of strings, or one sample a line")
    if not all(isinstance(item, str) for item in samples):
        raise CliError(f"samples in {str(file)!r} must be strings; give a JSON list of strings, or one sample a line")
    return list(samples)


def _json_in(file: Path | None, kind: type | tuple[type, ...], wanted: str) -> Any:
    """The JSON value of a file; None without a file."""
    if file is None:
        return None
    try:
        value = json.loads(text_of(file))
    except (ValueError, RecursionError) as error:
        raise CliError(f"cannot read {str(file)!r}: {error}; expected {wanted}") from None
    if not isinstance(value, kind):
        raise CliError(f"{str(file)!r} holds a {type(value).__name__}; expected {wanted}")
    return value


def text_in(name: str) -> str:
    """The text of a file; of standard input for `-`."""
    return _decoded(sys.stdin.buffer.read(), "standard input") if name == "-" else text_of(Path(name))


def text_of(file: Path) -> str:
    """The text of a file. `CliError`: it cannot be read, or is no UTF-8 text."""
    try:
        return _decoded(file.read_bytes(), repr(str(file)))
    except OSError as error:
        raise CliError(f"cannot read {str(file)!r}: {error.strerror}; give the path of a text file") from None


def _decoded(data: bytes, name: str) -> str:
    if data.startswith(b"%PDF-"):  # one without binary parts would be read as if its markup were the text
        raise CliError(f"{name} is a PDF; give its text instead (pdftotext makes it)")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CliError(f"{name} is not UTF-8 text (byte {error.start}); convert it to UTF-8 first") from None
