"""What `evidencerails check` is given: answer, evidence, samples, schema and tool calls, by arguments and files."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.cli.common import CliError

if TYPE_CHECKING:
    from evidencerails.exchange import Passage


def form_of(schema: Path | None, tool_calls: Path | None, tools: Path | None) -> dict[str, Any]:
    """The arguments of an exchange that say what the answer must look like, and what it wants to call."""
    form: dict[str, Any] = {}
    if schema is not None:
        form["response_schema"] = _json_in(schema, dict, "a JSON Schema, which is an object")
    if tool_calls is not None:
        form["tool_calls"] = _json_in(tool_calls, list, "a JSON list of calls")
    if tools is not None:
        form["tools"] = _json_in(tools, list, "a JSON list of tools")
    return form


def _json_in(file: Path, kind: type | tuple[type, ...], wanted: str) -> Any:
    try:
        value = json.loads(text_of(file))
    except (ValueError, RecursionError) as error:
        raise CliError(f"cannot read {str(file)!r}: {error}; expected {wanted}") from None
    if not isinstance(value, kind):
        raise CliError(f"{str(file)!r} holds a {type(value).__name__}; expected {wanted}")
    return value


class Chat(NamedTuple):
    """A chat log up to its last answer."""

    answer: str
    before: list[Any]
    """The messages that the answer was written to."""
    evidence: tuple[Passage, ...]


def chat_of(file: Path | None) -> Chat | None:
    """A chat log in the shape of OpenAI's API: a list of messages, or an object that has one under `messages`.

    Raises:
        CliError: it cannot be read, or has no answer.
    """
    if file is None:
        return None
    from evidencerails.adapters.nemo_evidence import evidence_in
    from evidencerails.exchange import content_text

    wanted = 'messages such as [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]'
    log = _json_in(file, (list, dict), wanted)
    messages = log.get("messages") if isinstance(log, dict) else log
    if not isinstance(messages, list) or not all(_has_role(message) for message in messages):
        raise CliError(f"{str(file)!r} is no chat log; expected {wanted}")
    for place in reversed(range(len(messages))):
        answer = content_text(messages[place].get("content")) if messages[place]["role"] == "assistant" else ""
        if answer.strip():
            return Chat(answer, messages[:place], evidence_in(messages[:place]))
    raise CliError(f"{str(file)!r} has no assistant message with a text; expected {wanted}")


def _has_role(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str)


def answer_of(response: str | None, file: str | None, *, chat: Chat | None = None) -> str:
    """The answer, from its argument, its file (`-` is standard input) or a chat log.

    Raises:
        CliError: it is given twice or not at all, or the file cannot be read as text.
    """
    if sum(given is not None for given in (response, file, chat)) != 1:
        raise CliError(
            "give the answer once: --response TEXT, --response-file FILE (- for standard input) or --chat FILE"
        )
    if chat is not None:
        return chat.answer
    if response is not None:
        return typed(response)
    assert file is not None
    return _decoded(sys.stdin.buffer.read(), "standard input") if file == "-" else text_of(Path(file))


def typed(argument: str) -> str:
    """An argument as it was typed: in a C locale Python hands bytes beyond ASCII over as lone surrogates."""
    try:
        return argument.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return argument


def passages_of(files: Sequence[Path], texts: Sequence[str], of_chat: Sequence[Passage] = ()) -> tuple[Passage, ...]:
    """The evidence: that of a chat log, files by their paths, then texts; empty ones are none."""
    from evidencerails.exchange import Passage

    named: list[tuple[str, str | None]] = [(passage.text, passage.source) for passage in of_chat]
    named += [(text_of(file), str(file)) for file in files] + [(text, None) for text in texts]
    return tuple(
        Passage(id=str(place), text=text, source=source)
        for place, (text, source) in enumerate(named, start=1)
        if text.strip()
    )


def samples_of(file: Path | None) -> list[str]:
    """The samples of a file: a JSON list of texts, or one a line.

    Raises:
        CliError: the file cannot be read, or is a list of something else.
    """
    if file is None:
        return []
    text = text_of(file)
    if not text.lstrip().startswith("["):
        return [line for line in text.splitlines() if line.strip()]
    try:
        samples = json.loads(text)
    except ValueError as error:
        raise CliError(f"cannot read samples from {str(file)!r}: {error}; give a JSON list of strings") from None
    if not all(isinstance(item, str) for item in samples):
        raise CliError(f"samples in {str(file)!r} must be strings; give a JSON list of strings, or one sample a line")
    return list(samples)


def text_of(file: Path) -> str:
    """The text of a file.

    Raises:
        CliError: it cannot be read, or is no UTF-8 text.
    """
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
