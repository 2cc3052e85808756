"""What keeps a rail of a guardrails config silent, as far as it shows without a turn of the app.

A table has the words of each problem; a function a theme yields the codes with what the words name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

import yaml

from evidencerails.adapters.nemo import STAKES_VARIABLE
from evidencerails.adapters.nemo_evidence import SCHEMA_VARIABLE
from evidencerails.adapters.nemo_install import is_our_action
from evidencerails.adapters.nemo_rails import IMPORT_PATH, IMPORT_STATEMENT, RAILS, TOOL_FLOW, Rail, tool_flows
from evidencerails.adapters.nemo_source import Source, configured_rails, custom_callers, flows_in, variables_set
from evidencerails.adapters.nemo_tools import TOOL_RAIL_OF_COLANG_2, TOOL_RAIL_REMEDY
from evidencerails.adapters.nemo_watch import started
from evidencerails.cli.init import gives_evidence
from evidencerails.cli.installation import EMBEDDINGS, can_download, missing_embeddings
from evidencerails.config import GuardConfig

Level = Literal["error", "warning", "note"]


class Problem(NamedTuple):
    """One thing found; an error means that a rail does not fire, or not as written."""

    level: Level
    code: str
    message: str
    remedy: str = ""


_EMBEDDINGS = f"add {EMBEDDINGS} to `models:` (in the place of the other one, if there is one): it is inside the wheel"
WORDS: dict[str, tuple[Level, str, str]] = {
    "plugin_not_found": ("error", "NeMo does not find `evidencerails/plugin`", "run: {0}"),
    "half_a_plugin": ("error", "{0}", "run the app from a folder of its own"),
    "settings": ("error", "{0}", "the app refuses to start with these settings"),
    "does_not_start": ("error", "the app does not start: {0}", ""),
    "shadow": ("note", "{0}: what is found is only recorded (activation: shadow)", ""),
    "found_but_allowed": (
        "warning", "{0}: the planted hallucination was found, and your policies let it pass",
        "see `policies:` under custom_data.evidencerails"),
    "no_guardrails": ("error", "no output rail runs without `import guardrails`", "add it to main.co"),
    "no_import": ("error", "the plugin is not imported", "add {0}, or run: evidencerails init"),
    "no_rail": (
        "error", "none of the plugin's flows is among the output rails",
        f"add one of them ({', '.join(RAILS)}), or run: evidencerails init"),
    "rails_twice": (
        "warning", "{0} and {1} both have `rails:`; NeMo keeps only the last one it reads",
        "put all rails into one file"),
    "dropped_key": ("error", "{0}: NeMo ignores `{1}`", "{2}"),
    "flow_overridden": (
        "error", "{0} defines a flow {1!r} of its own, so the plugin's never runs", "rename your flow, or remove it"),
    "library_imported": (
        "error", "nemoguardrails.library.hallucination is imported beside the plugin: two flows of one name are an "
        "error",
        "remove that import"),
    "flag_set_nowhere": (
        "error", "no flow sets ${0}: unless your program does in a context message, {1!r} never fires",
        "set `activation: always` under custom_data.evidencerails or the flag in a flow; --flags-in-app if your "
        "program sets it"),
    "flag_without_rail": (
        "warning", "flow {0!r} sets ${1}, but {2!r} is not among the output rails: nothing reads it",
        "add `{2}` to the output rails"),
    "flag_misspelt": ("warning", "flow {0!r} sets ${1}, which no rail reads", "write ${2}"),
    "flag_not_global": (
        "error", "flow {0!r} sets ${1} without declaring it: the rail cannot see it",
        "add `global ${1}` at the flow's beginning"),
    "variable_not_global": (
        "error", "flow {0!r} sets ${1} without declaring it: the rails cannot see it",
        "add `global ${1}` at the flow's beginning, or take another name if the rails are not to read it"),
    "message_skips_rails": (
        "warning", "`bot {0}` is predefined and carries a variable: predefined messages skip every output rail",
        "put the text into $bot_message by an action, or drop the definition so that the model writes it"),
    "colang_2_limits": (
        "note", "Colang 2.x cannot carry `output_vars`, `check_async` and assistant messages (NeMo raises): the report "
        "comes as the event HallucinationReport and in the log", ""),
    "no_tool_rails": ("error", TOOL_RAIL_OF_COLANG_2, TOOL_RAIL_REMEDY),
    "stream_first": (
        "warning", "streaming with `stream_first: true` (NeMo's default): users read each chunk before it is checked",
        "set `rails.output.streaming.stream_first: false`"),
    "parallel_streaming": (
        "warning", "parallel output rails swallow rail exceptions while streaming",
        "set `rails.output.parallel: false`, or expect a block in place of the exception"),
    "tool_input": (
        "warning", "a `rails.tool_input` flow ends the turn with an empty answer (NeMo 0.24.1), so no output rail sees "
        "one", "remove it; tool results reach the output rail as evidence"),
    "no_sources": (
        "error", "'check knowledge' has no source to look in: every answer is unverified",
        "name sources and entities under custom_data.evidencerails.knowledge, or take the flow out"),
    "no_schema": (
        "note", "'check structure' has no schema: only answers of a turn with $response_schema are checked",
        "give one under custom_data.evidencerails.structure"),
    "no_evidence": (
        "note", "nothing in the config gives {0} evidence: an answer without any is unverified",
        "state the facts under `instructions:`, or let your program send $evidence, documents as tool messages or a "
        "system message that states them"),
    "no_model": (
        "note", "the config names no main model, and {0!r} asks it for further answers",
        "give one to LLMRails(config, llm=...), or every answer is unverified"),
    "own_model_asked": (
        "note", "'check claims' asks {0} about claims that the local reading leaves unsure, "
        "in at most {1} a turn", "`claims: {{classifier: offline}}` under custom_data.evidencerails turns that off"),
    "embeddings_download": (
        "note", "NeMo downloads its embedding model {0!r} at the first turn; without network that turn fails",
        _EMBEDDINGS.replace("{", "{{").replace("}", "}}")),
    "embeddings_unreachable": (
        "error", "the first turn downloads the embedding model {0!r}, and nothing can be downloaded from here: it ends "
        "in an internal error, after retries that take most of a minute",
        _EMBEDDINGS.replace("{", "{{").replace("}", "}}")),
    "action_overridden": (
        "error", "the action {0!r} is not the plugin's: {1}", "remove the app's own registration of that name"),
    "own_action_replaced": ("warning", "{0} of {1} has an action {2!r}; the plugin's takes its place", "rename yours"),
}  # fmt: skip
"""Level, message and remedy of each code."""
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
CLOSED_SECTIONS = ("", "rails.", "rails.output.", "rails.output.streaming.", "rails.dialog.")
"""Sections in which every unknown key is one that NeMo drops."""
READ_BEFORE = ("bot_messages", "user_messages", "evidencerails", "docs", "flows")
"""Keys at the top that NeMo reads before its model sees them."""
_SIMILAR_FROM = 0.8
"""difflib's ratio from which another variable counts as a misspelt flag."""
_FLOW_OF = {rail.flag: rail.flow for rail in RAILS.values()}


def problem(code: str, *named: object, level: Level | None = None) -> Problem:
    """A problem of the table, its words filled in."""
    usual, message, remedy = WORDS[code]
    return Problem(level or usual, code, message.format(*named), remedy.format(*named))


def static_problems(source: Source, settings: GuardConfig, *, flags_in_app: bool) -> Iterator[Problem]:
    """All that can be seen without running the config."""
    rails = configured_rails(source)
    yield from _missing_parts(source, rails)
    yield from _dropped_keys(source)
    for file, text in source.colang.items():
        yield from (problem("flow_overridden", file.name, name) for name, _ in flows_in(text) if name in RAILS)
    if source.is_colang_2 and any("import nemoguardrails.library.hallucination" in t for t in source.colang.values()):
        yield problem("library_imported")
    if settings.activation == "per_response":
        yield from _flags(source, rails, "note" if flags_in_app else "error")
    yield from _not_global(source, settings)
    if not source.is_colang_2:  # in Colang 1.0 a predefined bot message sets `$skip_output_rails` [generation.py]
        for name, texts in _own_messages(source):
            if any(re.search(r"\{\{|\{%|\$\w", text) for text in texts):
                yield problem("message_skips_rails", name)
    yield from _mode_limits(source)
    yield from _unmet_needs(source, rails, settings)


def _missing_parts(source: Source, rails: list[Rail]) -> Iterator[Problem]:
    imports = source.config.import_paths or []
    if source.is_colang_2 and not any(re.search(r"^import guardrails\b", t, re.M) for t in source.colang.values()):
        yield problem("no_guardrails")
    if IMPORT_PATH not in imports:
        line = f"`{IMPORT_STATEMENT}` in main.co" if source.is_colang_2 else f"`import_paths: [{IMPORT_PATH}]`"
        yield problem("no_import", line)
    elif not rails and not custom_callers(source) and TOOL_FLOW not in source.config.rails.tool_output.flows:
        yield problem("no_rail")


def _dropped_keys(source: Source) -> Iterator[Problem]:
    """Keys that NeMo reads without a word and uses nowhere."""
    from nemoguardrails import RailsConfig

    last_rails: Path | None = None
    for file, text in source.texts.items():
        data = None if file.suffix == ".co" else yaml.safe_load(text)
        if not isinstance(data, dict):
            continue
        if "rails" in data and last_rails is not None:
            yield problem("rails_twice", file.name, last_rails.name)
        last_rails = file if "rails" in data else last_rails
        for key, valid in _unknown_keys(data, RailsConfig, ""):
            near = difflib.get_close_matches(key.rpartition(".")[2], valid, n=1)
            remedy = MOVED_KEYS.get(key) or (f"did you mean `{near[0]}`?" if near else "remove it")
            # An unknown key at the top lands in `custom_data`, where the user's own code may read it.
            is_certain = key in MOVED_KEYS or "." in key or bool(near)
            yield problem("dropped_key", file.name, key, remedy, level="error" if is_certain else "note")


def _unknown_keys(data: dict[str, Any], model: Any, path: str) -> Iterator[tuple[str, list[str]]]:
    """Each unknown key with those that are valid beside it."""
    fields = model.model_fields
    names = {field.alias or name: field for name, field in fields.items()} | dict(fields)
    if not path:
        names |= dict.fromkeys(READ_BEFORE)
    is_closed = path in CLOSED_SECTIONS and model.model_config.get("extra") != "allow"
    for key, value in data.items():
        if key not in names:
            if key in MOVED_KEYS or path + str(key) in MOVED_KEYS or is_closed:
                yield path + str(key), sorted(names)
            continue
        inner = _model_of(names[key].annotation) if names[key] is not None else None
        if inner is not None and isinstance(value, dict):
            yield from _unknown_keys(value, inner, f"{path}{key}.")


def _model_of(annotation: Any) -> Any:
    """The pydantic model inside an annotation such as `Optional[Rails]`; None if there is none."""
    if hasattr(annotation, "model_fields") or get_origin(annotation) in (list, dict):
        return annotation if hasattr(annotation, "model_fields") else None
    return next((found for arg in get_args(annotation) if (found := _model_of(arg)) is not None), None)


def _flags(source: Source, rails: list[Rail], level: Level) -> Iterator[Problem]:
    """What keeps a flag from reaching its rail."""
    set_in = {name: flow for flow, body in source.flows for name in variables_set([body])}
    listed = {rail.flag: rail.flow for rail in rails}
    for flag, flow in listed.items():
        if flag not in set_in:
            yield problem("flag_set_nowhere", flag, flow, level=level)
    for name, flow in set_in.items():
        if name in _FLOW_OF and name not in listed and not custom_callers(source):
            yield problem("flag_without_rail", flow, name, _FLOW_OF[name])
        for meant in difflib.get_close_matches(name, list(_FLOW_OF), 1, _SIMILAR_FROM) if name not in _FLOW_OF else ():
            yield problem("flag_misspelt", flow, name, meant)


def _not_global(source: Source, settings: GuardConfig) -> Iterator[Problem]:
    """Colang 2.x: what a flow sets for a rail without sharing it; a variable of a flow is its own otherwise."""
    if not source.is_colang_2:
        return
    codes = dict.fromkeys(_FLOW_OF if settings.activation == "per_response" else (), "flag_not_global")
    codes |= dict.fromkeys((STAKES_VARIABLE, SCHEMA_VARIABLE), "variable_not_global")
    if "variable" in settings.evidence.places:
        codes[settings.evidence.variable] = "variable_not_global"
    for flow, body in source.flows:
        for name in sorted(variables_set([body]) & codes.keys()):
            if not re.search(rf"^[ \t]*global[ \t]+\${name}\b", body, re.MULTILINE):
                yield problem(codes[name], flow, name)


def _own_messages(source: Source) -> Iterator[tuple[str, list[str]]]:
    for text in source.colang.values():
        for match in re.finditer(r"^define bot ([^\n]+)\n((?:[ \t]+[^\n]*\n?|\s*\n)*)", text, re.MULTILINE):
            yield match.group(1).strip(), re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(2))
    data = [yaml.safe_load(text) for file, text in source.texts.items() if file.suffix != ".co"]
    own = {name for one in data if isinstance(one, dict) for name in one.get("bot_messages") or ()}
    yield from ((name, texts) for name, texts in (source.config.bot_messages or {}).items() if name in own)


def _mode_limits(source: Source) -> Iterator[Problem]:
    config, streaming = source.config, source.config.rails.output.streaming
    if source.is_colang_2:
        yield problem("colang_2_limits")
        if TOOL_FLOW in tool_flows(config):
            yield problem("no_tool_rails")
    if streaming.enabled and streaming.stream_first:
        yield problem("stream_first")
    if streaming.enabled and config.rails.output.parallel and config.enable_rails_exceptions:
        yield problem("parallel_streaming")
    if config.rails.tool_input.flows:
        yield problem("tool_input")


def _unmet_needs(source: Source, rails: list[Rail], settings: GuardConfig) -> Iterator[Problem]:
    """Sources, a schema, evidence or a model that a rail of the config will look for in vain; embeddings of the app,
    which the probes stand in for, so that a first turn that cannot work would not show in them."""
    checks = {rail.check for rail in rails}
    if "knowledge" in checks and not settings.knowledge.entities:
        yield problem("no_sources")
    if "structure" in checks and not settings.structure.has_rules:
        yield problem("no_schema")
    flows = ", ".join(repr(rail.flow) for rail in rails if rail.needs_evidence)
    if flows and not gives_evidence(source.config, source.texts):
        yield problem("no_evidence", flows)
    main = next((model.model for model in source.config.models if model.type == "main"), None)
    if "claims" in checks and (calls := settings.own_model_calls):
        asked = f"the app's main model {main!r}" if main else "the model that your program gives to LLMRails"
        yield problem("own_model_asked", asked, "one call" if calls == 1 else f"{calls} calls")
    sampling = [rail.flow for rail in rails if rail.check == "consistency"]
    if sampling and main is None:
        yield problem("no_model", sampling[0])
    if (model := missing_embeddings(source.config, source.colang.values())) is not None:
        yield problem("embeddings_download" if can_download() else "embeddings_unreachable", model)


def action_problems(source: Source) -> Iterator[Problem]:
    """Actions of our names that are not ours, and the user's own that ours replace, since NeMo loads those of import
    paths last; none where the plugin is not imported, which is the problem then."""
    if IMPORT_PATH not in (source.config.import_paths or []):
        return
    names = sorted({rail.action for rail in RAILS.values()})
    dispatcher = started(source.config.model_copy(deep=True)).runtime.action_dispatcher
    for name, action in ((name, dispatcher.get_action(name)) for name in names):
        if not is_our_action(action):
            code = getattr(action, "__code__", None)
            yield problem("action_overridden", name, code.co_filename if code else repr(action))
    for place, name_of_place in ((source.folder, "the config"), (Path.cwd(), "the current directory")):
        for file in [place / "actions.py", *sorted((place / "actions").glob("**/*.py"))]:
            text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
            for name in names:
                if re.search(rf"^(?:async )?def {name}\b|name\s*=\s*[\"']{name}[\"']", text, re.MULTILINE):
                    yield problem("own_action_replaced", file.name, name_of_place, name)
