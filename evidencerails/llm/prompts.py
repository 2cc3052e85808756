"""The prompts: NeMo task prompts in YAML, checked when they are loaded, rendered with untrusted text as mere data."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

from evidencerails.errors import PromptError
from evidencerails.exchange import Message, as_messages
from evidencerails.settings.paths import data_folder
from evidencerails.settings.reading import YamlError, read_yaml

VERSION_CHARS = 12
MISSPELT_FROM = 0.85
"""Likeness of a task's name to one of ours (difflib's ratio) from which it is a slip of the pen, and no task."""
LEAST_ROOM = 100
"""Characters that a prompt's `max_length` leaves for its variables: a short claim and a sentence of evidence."""
_TAG = re.compile(r"<(\w+)>")
_environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=False, autoescape=False)


@dataclass(frozen=True, kw_only=True)
class TaskPrompt:
    """One task's prompt: its templates by role, and what may and must stand in them."""

    task: str
    templates: tuple[tuple[str, str], ...]
    """(role, template) pairs."""
    variables: frozenset[str]
    max_length: int | None
    origin: str
    """File it came from, or who gave it."""

    @property
    def version(self) -> str:
        """Hash of the source: changes whenever the prompt does."""
        source = json.dumps(self.templates, ensure_ascii=False)
        return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:VERSION_CHARS]


class PromptLibrary:
    """The prompts by task name."""

    def __init__(self, prompts: Mapping[str, TaskPrompt]) -> None:
        self._prompts = dict(prompts)

    @classmethod
    def load(cls, overrides: Mapping[str, Any] | None = None, *, folder: Path | None = None) -> PromptLibrary:
        """The shipped prompts, with the user's in the place of those of the same task.

        Args:
            overrides: task name to template: a string, a list of messages, or a task prompt of NeMo's.
            folder: where the prompt files are; those of the package if None.

        Raises:
            PromptError: a template is broken, uses another variable than its task has, or leaves no room under its
                `max_length`; or a task's name is almost one of ours. File, task and variable are named.
        """
        prompts = {prompt.task: prompt for prompt in (_shipped() if folder is None else _all_in(folder))}
        for task, given in (overrides or {}).items():
            if task in prompts:  # a user's prompts for NeMo's own tasks are none of ours
                shipped = prompts[task]
                prompts[task] = _checked(
                    task, _fields(given), "the user's prompt", shipped.variables, shipped.max_length
                )
            elif meant := meant_task(task, prompts):
                raise PromptError(f"there is no task {task!r}; did you mean {meant!r}? There are: {', '.join(prompts)}")
        return cls(prompts)

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(sorted(self._prompts))

    def version(self, task: str) -> str:
        """The prompt's version: a hash of its source."""
        return self._get(task).version

    def render(self, task: str, **variables: str) -> tuple[Message, ...]:
        """The messages of a task. Values are put in as they are and never read as templates; a tag that delimits them
        in the template is disarmed inside a value, so that a text cannot leave its place. `PromptError`: the task or a
        variable is unknown or missing, or the text is longer than `max_length`."""
        prompt = self._get(task)
        missing = prompt.variables - variables.keys()
        if missing or variables.keys() - prompt.variables:
            raise PromptError(f"task {task!r} takes {sorted(prompt.variables)}, got {sorted(variables)}")
        tags = {tag for _, template in prompt.templates for tag in _TAG.findall(template)}
        values = {name: _disarmed(value, tags) for name, value in variables.items()}
        messages = _rendered(prompt, values)
        length = sum(len(message["content"]) for message in messages)
        if prompt.max_length is not None and length > prompt.max_length:
            raise PromptError(f"prompt of task {task!r} has {length} characters, its max_length is {prompt.max_length}")
        return as_messages(messages)

    def _get(self, task: str) -> TaskPrompt:
        if task not in self._prompts:
            raise PromptError(f"no prompt for task {task!r}; there are: {', '.join(self.tasks)}")
        return self._prompts[task]


def meant_task(name: str, tasks: Iterable[str]) -> str | None:
    """The task of ours that an unknown name is almost spelt like; None for a task of somebody else's."""
    close = get_close_matches(name, [task for task in tasks if task != name], n=1, cutoff=MISSPELT_FROM)
    return close[0] if close else None


def _rendered(prompt: TaskPrompt, values: Mapping[str, str]) -> list[dict[str, str]]:
    try:
        return [
            {"role": role, "content": _environment.from_string(template).render(values).strip()}
            for role, template in prompt.templates
        ]
    except Exception as error:  # boundary to the user's template: arithmetic on a text, attributes that are not safe
        raise PromptError(f"{prompt.origin}, task {prompt.task!r}: broken template: {error}") from error


def _disarmed(value: str, tags: Iterable[str]) -> str:
    for tag in tags:
        value = re.sub(rf"<(?=\s{{0,9}}/?\s{{0,9}}{tag}\b)", "‹", value, flags=re.IGNORECASE)
    return value


@cache
def _shipped() -> tuple[TaskPrompt, ...]:
    """The package's own, read and checked once: every guard and every app has them."""
    return _all_in(data_folder("prompts"))


def _all_in(folder: Path) -> tuple[TaskPrompt, ...]:
    return tuple(prompt for file in sorted(folder.glob("*.yml")) for prompt in _read(file))


def _read(file: Path) -> list[TaskPrompt]:
    try:
        data = read_yaml(file)
    except YamlError as error:
        raise PromptError(f"cannot read prompts from {file.name}: {error}") from error
    entries = data.get("prompts") if isinstance(data, Mapping) else None
    if not isinstance(entries, list):
        raise PromptError(f"{file.name} has no list 'prompts:' at its top level")
    return [_from_entry(entry, file.name) for entry in entries]


def _from_entry(entry: Any, origin: str) -> TaskPrompt:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("task"), str):
        raise PromptError(f"{origin}: every entry of 'prompts:' needs a 'task', got {entry!r:.80}")
    # `variables` is ours: NeMo drops keys it does not know.
    return _checked(entry["task"], entry, origin, entry.get("variables"))


def _fields(given: Any) -> Mapping[str, Any]:
    if isinstance(given, str):
        return {"content": given}
    if isinstance(given, list):
        return {"messages": given}
    if isinstance(given, Mapping):
        return given
    return {name: getattr(given, name, None) for name in ("content", "messages", "max_length")}  # NeMo's TaskPrompt


def _templates(fields: Mapping[str, Any], task: str, origin: str) -> tuple[tuple[str, str], ...]:
    content, messages = fields.get("content"), fields.get("messages")
    if isinstance(content, str) and content.strip() and not messages:
        return (("user", content),)
    if content or not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        raise PromptError(f"{origin}, task {task!r}: needs either 'content' or a list 'messages'")
    try:
        read = as_messages([_plain(message) for message in messages])
    except TypeError as error:
        raise PromptError(f"{origin}, task {task!r}: {error}") from error
    return tuple((message.role, message.content) for message in read)


def _plain(message: Any) -> Any:
    """A message template with a NeMo role name: `user`, `system`, `assistant` or `bot`."""
    if isinstance(message, (str, Mapping)):
        return message
    return {"role": getattr(message, "type", None), "content": getattr(message, "content", None)}


def _checked(
    task: str, fields: Mapping[str, Any], origin: str, variables: Iterable[str] | None, max_length: int | None = None
) -> TaskPrompt:
    """The prompt of these fields, which has to use all its variables and no others; those it uses if None are given."""
    templates = _templates(fields, task, origin)
    used = _used(templates, task, origin)
    known = used if variables is None else frozenset(variables)
    length, where = fields.get("max_length") or max_length, f"{origin}, task {task!r}"
    prompt = TaskPrompt(task=task, templates=templates, variables=known, max_length=length, origin=origin)
    for name in sorted(used - known):
        raise PromptError(f"{where}: unknown variable {name!r}; it has: {', '.join(sorted(known))}")
    for name in sorted(known - used):
        raise PromptError(f"{where}: the variable {name!r} does not occur; the model would judge without it")
    _rendered(prompt, dict.fromkeys(known, "text"))
    _room_left(prompt, where)
    return prompt


def _room_left(prompt: TaskPrompt, where: str) -> None:
    """Raises a PromptError if the template leaves no room for what is checked: hardly a call could ever be made."""
    fixed = sum(len(message["content"]) for message in _rendered(prompt, dict.fromkeys(prompt.variables, "")))
    if prompt.max_length is not None and fixed + LEAST_ROOM > prompt.max_length:
        raise PromptError(
            f"{where}: max_length is {prompt.max_length}, but its fixed text alone has {fixed} characters, "
            f"and what is checked needs {LEAST_ROOM} at least; raise max_length or shorten the template"
        )


def _used(templates: Sequence[tuple[str, str]], task: str, origin: str) -> frozenset[str]:
    used: set[str] = set()
    for _, template in templates:
        try:
            used |= meta.find_undeclared_variables(_environment.parse(template))
            _environment.from_string(template)  # unknown filters and tests show only when compiled
        except TemplateError as error:
            raise PromptError(f"{origin}, task {task!r}: broken template: {error}") from error
    return frozenset(used)
