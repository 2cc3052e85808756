"""What can be seen in a guardrails config without running it, and would keep a rail from firing."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

from evidencerails.cli.catalog import IMPORT_PATH, IMPORT_STATEMENT, RAILS, TOOL_FLOW, Rail
from evidencerails.cli.doctor_flags import flag_problems
from evidencerails.cli.doctor_source import Problem, Source, configured_rails, custom_callers, flows_in

MOVED_KEYS = {
    "task_prompts": "rename it to `prompts:`",
    "rails.config.enable_rails_exceptions": "move `enable_rails_exceptions:` to the top level of config.yml",
    "rails.config.custom_data": "move `custom_data:` to the top level of config.yml",
    "rails.config.evidencerails": "move it to `custom_data: evidencerails:` at the top level of config.yml",
    "rails.custom_data": "move `custom_data:` to the top level of config.yml",
    "rails.output.enable_rails_exceptions": "move `enable_rails_exceptions:` to the top level of config.yml",
    "output": "put it under `rails:`",
    "input": "put it under `rails:`",
}
"""Keys of old documentation or common slips, with where they belong. NeMo 0.24.1 drops them in silence."""

COLANG_2_LIMITS = (
    "Colang 2.x cannot carry `output_vars`, `check_async` and assistant messages (NeMo raises): the report comes as "
    "the event HallucinationReport and in the log"
)


LANGCHAIN_LIMITS = {
    r"\bGuardrailsMiddleware\b": (
        "`GuardrailsMiddleware` in an agent with tools gives an empty final answer (an error of NeMo 0.24.1): use it "
        "without tools, or check the agent's answer with `GuardRunnable` of evidencerails.adapters.langchain_guard"
    ),
    r"\bRunnableRails\b[\s\S]*\.a?stream\(": (
        "`RunnableRails.stream` (NeMo 0.24.1) raises unless `rails.output.streaming` is enabled, and then gives a "
        "block as text of the answer: use `invoke`, or `evidencerails.stream`"
    ),
}
"""What NeMo's classes for LangChain cannot carry, by what the user's program writes."""


def langchain_limits(folder: Path) -> Iterator[Problem]:
    """Uses of NeMo's LangChain classes that cannot work, in the Python files of the config and of the folder above."""
    files = {*folder.rglob("*.py"), *folder.absolute().parent.glob("*.py")}
    for file in sorted(files):
        text = file.read_text(encoding="utf-8", errors="replace")
        for pattern, message in LANGCHAIN_LIMITS.items():
            if re.search(pattern, text):
                yield Problem("note", "langchain_limits", f"{file.name}: {message}")


def static_problems(source: Source, activation: str, *, flags_in_app: bool) -> list[Problem]:
    """All that can be seen without running the config."""
    rails = configured_rails(source)
    return [
        *_missing_parts(source, rails),
        *_dropped_keys(source),
        *_replaced_rails(source),
        *flag_problems(source, rails, activation, flags_in_app=flags_in_app),
        *_skipping_messages(source),
        *_mode_limits(source),
    ]


def _missing_parts(source: Source, rails: list[Rail]) -> Iterator[Problem]:
    imports = source.config.import_paths or []
    if source.is_colang_2 and not any(re.search(r"^import guardrails\b", t, re.M) for t in source.colang.values()):
        yield Problem("error", "no_guardrails", "no output rail runs without `import guardrails`", "add it to main.co")
    if IMPORT_PATH not in imports:
        wanted = f"`{IMPORT_STATEMENT}` in main.co" if source.is_colang_2 else f"`import_paths: [{IMPORT_PATH}]`"
        yield Problem("error", "no_import", "the plugin is not imported", f"add {wanted}, or run: evidencerails init")
    elif not rails and not custom_callers(source) and TOOL_FLOW not in source.config.rails.tool_output.flows:
        yield Problem(
            "error",
            "no_rail",
            "none of the plugin's flows is among the output rails",
            f"add one of them ({', '.join(RAILS)}), or run: evidencerails init",
        )


def _dropped_keys(source: Source) -> Iterator[Problem]:
    """Keys that NeMo reads without a word and uses nowhere."""
    import yaml
    from nemoguardrails import RailsConfig

    last_rails: Path | None = None
    for file, text in source.texts.items():
        if file.suffix == ".co":
            continue
        data = yaml.safe_load(text)
        if not isinstance(data, dict):
            continue
        if "rails" in data and last_rails is not None:
            yield Problem(
                "warning",
                "rails_twice",
                f"{file.name} and {last_rails.name} both have `rails:`; NeMo keeps only the last one it reads",
                "put all rails into one file",
            )
        last_rails = file if "rails" in data else last_rails
        for key, valid in _unknown_keys(data, RailsConfig, ""):
            yield _dropped(file, key, valid)


def _dropped(file: Path, key: str, valid: list[str]) -> Problem:
    near = difflib.get_close_matches(key.rpartition(".")[2], valid, n=1)
    remedy = MOVED_KEYS.get(key) or (f"did you mean `{near[0]}`?" if near else "remove it")
    # An unknown key at the top lands in `custom_data`, where the user's own code may read it.
    is_certain = key in MOVED_KEYS or "." in key or bool(near)
    return Problem("error" if is_certain else "note", "dropped_key", f"{file.name}: NeMo ignores `{key}`", remedy)


def _unknown_keys(data: dict[str, Any], model: Any, path: str) -> Iterator[tuple[str, list[str]]]:
    fields = model.model_fields
    names = {field.alias or name: field for name, field in fields.items()} | dict(fields)
    if not path:  # sections that are read before the model sees them
        names |= dict.fromkeys(("bot_messages", "user_messages", "evidencerails", "docs", "flows"))
    for key, value in data.items():
        if key not in names:
            if key in MOVED_KEYS or path + str(key) in MOVED_KEYS or _is_closed(model, path):
                yield path + str(key), sorted(names)
            continue
        inner = _model_of(names[key].annotation) if names[key] is not None else None
        if inner is not None and isinstance(value, dict):
            yield from _unknown_keys(value, inner, f"{path}{key}.")


def _is_closed(model: Any, path: str) -> bool:
    return path in ("", "rails.", "rails.output.", "rails.output.streaming.", "rails.dialog.") and (
        model.model_config.get("extra") != "allow"
    )


def _model_of(annotation: Any) -> Any:
    if hasattr(annotation, "model_fields"):
        return annotation
    if get_origin(annotation) in (list, dict):
        return None
    return next((found for arg in get_args(annotation) if (found := _model_of(arg)) is not None), None)


def _replaced_rails(source: Source) -> Iterator[Problem]:
    """Flows and actions of the user's that bear our names."""
    for file, text in source.colang.items():
        for name, _ in flows_in(text):
            if name in RAILS:
                yield Problem(
                    "error",
                    "flow_overridden",
                    f"{file.name} defines a flow {name!r} of its own, so the plugin's never runs",
                    "rename your flow, or remove it",
                )
    if source.is_colang_2 and any("import nemoguardrails.library.hallucination" in t for t in source.colang.values()):
        yield Problem(
            "error",
            "library_imported",
            "nemoguardrails.library.hallucination is imported beside the plugin: two flows of one name are an error",
            "remove that import",
        )


def _skipping_messages(source: Source) -> Iterator[Problem]:
    """Colang 1.0: a predefined bot message sets `$skip_output_rails` [generation.py], so nothing in it is checked."""
    if source.is_colang_2:
        return
    for name, texts in _own_messages(source):
        carried = [text for text in texts if re.search(r"\{\{|\{%|\$\w", text)]
        if carried:
            yield Problem(
                "warning",
                "message_skips_rails",
                f"`bot {name}` is predefined and carries a variable: predefined messages skip every output rail",
                "put the text into $bot_message by an action, or drop the definition so that the model writes it",
            )


def _own_messages(source: Source) -> Iterator[tuple[str, list[str]]]:
    for text in source.colang.values():
        for match in re.finditer(r"^define bot ([^\n]+)\n((?:[ \t]+[^\n]*\n?|\s*\n)*)", text, re.MULTILINE):
            yield match.group(1).strip(), re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(2))
    messages: dict[str, list[str]] = source.config.bot_messages or {}
    own = {name for file in source.texts if file.suffix != ".co" for name in _yaml_messages(source.texts[file])}
    yield from ((name, messages[name]) for name in sorted(own) if name in messages)


def _yaml_messages(text: str) -> Iterable[str]:
    import yaml

    data = yaml.safe_load(text)
    messages = data.get("bot_messages") if isinstance(data, dict) else None
    return messages if isinstance(messages, dict) else ()


def _mode_limits(source: Source) -> Iterator[Problem]:
    from evidencerails.adapters.nemo_tools import TOOL_RAIL_OF_COLANG_2, TOOL_RAIL_REMEDY, tool_flows

    config = source.config
    if source.is_colang_2:
        yield Problem("note", "colang_2_limits", COLANG_2_LIMITS)
        if TOOL_FLOW in tool_flows(config):
            yield Problem("error", "no_tool_rails", TOOL_RAIL_OF_COLANG_2, TOOL_RAIL_REMEDY)
    streaming = config.rails.output.streaming
    if streaming.enabled and streaming.stream_first:
        yield Problem(
            "warning",
            "stream_first",
            "streaming with `stream_first: true` (NeMo's default): users read each chunk before it is checked",
            "set `rails.output.streaming.stream_first: false`",
        )
    if streaming.enabled and config.rails.output.parallel and config.enable_rails_exceptions:
        yield Problem(
            "warning",
            "parallel_streaming",
            "parallel output rails swallow rail exceptions while streaming",
            "set `rails.output.parallel: false`, or expect a block in place of the exception",
        )
    if config.rails.tool_input.flows:
        yield Problem(
            "warning",
            "tool_input",
            "a `rails.tool_input` flow ends the turn with an empty answer (NeMo 0.24.1), so no output rail sees one",
            "remove it; tool results reach the output rail as evidence",
        )
