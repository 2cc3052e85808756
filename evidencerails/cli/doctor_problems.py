"""What keeps a rail of a guardrails config silent, as far as it shows without a turn of the app."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

import yaml

from evidencerails.adapters.nemo_rails import IMPORT_PATH, IMPORT_STATEMENT, RAILS, TOOL_FLOW, Rail
from evidencerails.adapters.nemo_source import Source, configured_rails, custom_callers, flows_in, variables_set
from evidencerails.adapters.nemo_watch import started
from evidencerails.cli.init_plan import gives_evidence
from evidencerails.cli.installation import EMBEDDINGS, can_download, missing_embeddings
from evidencerails.config import GuardConfig

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
COLANG_2_LIMITS = (
    "Colang 2.x cannot carry `output_vars`, `check_async` and assistant messages (NeMo raises): the report comes as "
    "the event HallucinationReport and in the log"
)
_SIMILAR_FROM = 0.8
"""difflib's ratio from which another variable counts as a misspelt flag."""
_FLOW_OF = {rail.flag: rail.flow for rail in RAILS.values()}


class Problem(NamedTuple):
    """One thing found; an error means that a rail does not fire, or not as written."""

    level: Literal["error", "warning", "note"]
    code: str
    message: str
    remedy: str = ""


def static_problems(source: Source, settings: GuardConfig, *, flags_in_app: bool) -> list[Problem]:
    """All that can be seen without running the config."""
    rails = configured_rails(source)
    return [
        *_missing_parts(source, rails),
        *_dropped_keys(source),
        *_replaced_rails(source),
        *(_flags(source, rails, flags_in_app) if settings.activation == "per_response" else ()),
        *_skipping_messages(source),
        *_mode_limits(source),
        *_unmet_needs(source, rails, settings),
    ]


def langchain_limits(folder: Path) -> Iterator[Problem]:
    """Uses of NeMo's LangChain classes that cannot work, in the Python files of the config and of the folder above."""
    files = {*folder.rglob("*.py"), *folder.absolute().parent.glob("*.py")}
    for file in sorted(files):
        text = file.read_text(encoding="utf-8", errors="replace")
        for pattern, message in LANGCHAIN_LIMITS.items():
            if re.search(pattern, text):
                yield Problem("note", "langchain_limits", f"{file.name}: {message}")


def _missing_parts(source: Source, rails: list[Rail]) -> Iterator[Problem]:
    imports = source.config.import_paths or []
    if source.is_colang_2 and not any(re.search(r"^import guardrails\b", t, re.M) for t in source.colang.values()):
        yield Problem("error", "no_guardrails", "no output rail runs without `import guardrails`", "add it to main.co")
    if IMPORT_PATH not in imports:
        wanted = f"`{IMPORT_STATEMENT}` in main.co" if source.is_colang_2 else f"`import_paths: [{IMPORT_PATH}]`"
        yield Problem("error", "no_import", "the plugin is not imported", f"add {wanted}, or run: evidencerails init")
    elif not rails and not custom_callers(source) and TOOL_FLOW not in source.config.rails.tool_output.flows:
        remedy = f"add one of them ({', '.join(RAILS)}), or run: evidencerails init"
        yield Problem("error", "no_rail", "none of the plugin's flows is among the output rails", remedy)


def _dropped_keys(source: Source) -> Iterator[Problem]:
    """Keys that NeMo reads without a word and uses nowhere."""
    from nemoguardrails import RailsConfig

    last_rails: Path | None = None
    for file, text in source.texts.items():
        data = None if file.suffix == ".co" else yaml.safe_load(text)
        if not isinstance(data, dict):
            continue
        if "rails" in data and last_rails is not None:
            message = f"{file.name} and {last_rails.name} both have `rails:`; NeMo keeps only the last one it reads"
            yield Problem("warning", "rails_twice", message, "put all rails into one file")
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
    if hasattr(annotation, "model_fields"):
        return annotation
    if get_origin(annotation) in (list, dict):
        return None
    return next((found for arg in get_args(annotation) if (found := _model_of(arg)) is not None), None)


def _replaced_rails(source: Source) -> Iterator[Problem]:
    """Flows of the user's that bear our names."""
    for file, text in source.colang.items():
        for name in (name for name, _ in flows_in(text) if name in RAILS):
            message = f"{file.name} defines a flow {name!r} of its own, so the plugin's never runs"
            yield Problem("error", "flow_overridden", message, "rename your flow, or remove it")
    if source.is_colang_2 and any("import nemoguardrails.library.hallucination" in t for t in source.colang.values()):
        message = (
            "nemoguardrails.library.hallucination is imported beside the plugin: two flows of one name are an error"
        )
        yield Problem("error", "library_imported", message, "remove that import")


def _flags(source: Source, rails: list[Rail], flags_in_app: bool) -> Iterator[Problem]:
    """What keeps a flag from reaching its rail."""
    set_in = {name: flow for flow, body in source.flows for name in variables_set([body])}
    for rail in (rail for rail in rails if rail.flag not in set_in):
        yield Problem(
            "note" if flags_in_app else "error",
            "flag_set_nowhere",
            f"no flow sets ${rail.flag}: unless your program does in a context message, {rail.flow!r} never fires",
            "set `activation: always` under custom_data.evidencerails or the flag in a flow; --flags-in-app if your "
            "program sets it",
        )
    listed = {rail.flag for rail in rails}
    for name, flow in set_in.items():
        if name in _FLOW_OF and name not in listed and not custom_callers(source):
            message = (
                f"flow {flow!r} sets ${name}, but {_FLOW_OF[name]!r} is not among the output rails: nothing reads it"
            )
            yield Problem("warning", "flag_without_rail", message, f"add `{_FLOW_OF[name]}` to the output rails")
        meant = [] if name in _FLOW_OF else difflib.get_close_matches(name, list(_FLOW_OF), 1, _SIMILAR_FROM)
        if meant:
            message = f"flow {flow!r} sets ${name}, which no rail reads"
            yield Problem("warning", "flag_misspelt", message, f"write ${meant[0]}")
    if source.is_colang_2:
        yield from _not_global(source)


def _not_global(source: Source) -> Iterator[Problem]:
    """Colang 2.x: a variable of a flow is its own unless it is declared global there."""
    for flow, body in source.flows:
        for name in sorted(variables_set([body]) & _FLOW_OF.keys()):
            if not re.search(rf"^[ \t]*global[ \t]+\${name}\b", body, re.MULTILINE):
                message = f"flow {flow!r} sets ${name} without declaring it: the rail cannot see it"
                yield Problem("error", "flag_not_global", message, f"add `global ${name}` at the flow's beginning")


def _skipping_messages(source: Source) -> Iterator[Problem]:
    """Colang 1.0: a predefined bot message sets `$skip_output_rails` [generation.py], so nothing in it is checked."""
    if source.is_colang_2:
        return
    for name, texts in _own_messages(source):
        if any(re.search(r"\{\{|\{%|\$\w", text) for text in texts):
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
    own = {name for file, text in source.texts.items() if file.suffix != ".co" for name in _yaml_messages(text)}
    yield from ((name, messages[name]) for name in sorted(own) if name in messages)


def _yaml_messages(text: str) -> Iterable[str]:
    data = yaml.safe_load(text)
    messages = data.get("bot_messages") if isinstance(data, dict) else None
    return messages if isinstance(messages, dict) else ()


def _mode_limits(source: Source) -> Iterator[Problem]:
    from evidencerails.adapters.nemo_rails import tool_flows
    from evidencerails.adapters.nemo_tools import TOOL_RAIL_OF_COLANG_2, TOOL_RAIL_REMEDY

    config = source.config
    if source.is_colang_2:
        yield Problem("note", "colang_2_limits", COLANG_2_LIMITS)
        if TOOL_FLOW in tool_flows(config):
            yield Problem("error", "no_tool_rails", TOOL_RAIL_OF_COLANG_2, TOOL_RAIL_REMEDY)
    streaming = config.rails.output.streaming
    if streaming.enabled and streaming.stream_first:
        message = "streaming with `stream_first: true` (NeMo's default): users read each chunk before it is checked"
        yield Problem("warning", "stream_first", message, "set `rails.output.streaming.stream_first: false`")
    if streaming.enabled and config.rails.output.parallel and config.enable_rails_exceptions:
        message = "parallel output rails swallow rail exceptions while streaming"
        remedy = "set `rails.output.parallel: false`, or expect a block in place of the exception"
        yield Problem("warning", "parallel_streaming", message, remedy)
    if config.rails.tool_input.flows:
        message = (
            "a `rails.tool_input` flow ends the turn with an empty answer (NeMo 0.24.1), so no output rail sees one"
        )
        yield Problem("warning", "tool_input", message, "remove it; tool results reach the output rail as evidence")


def _unmet_needs(source: Source, rails: Sequence[Rail], settings: GuardConfig) -> Iterator[Problem]:
    """Sources, a schema, evidence or a model that a rail of the config will look for in vain; embeddings of the app."""
    checks = {rail.check for rail in rails}
    if "knowledge" in checks and not settings.knowledge.entities:
        message = "'check knowledge' has no source to look in: every answer is unverified"
        remedy = "name sources and entities under custom_data.evidencerails.knowledge, or take the flow out"
        yield Problem("error", "no_sources", message, remedy)
    if "structure" in checks and not settings.structure.has_rules:
        message = "'check structure' has no schema: only answers of a turn with $response_schema are checked"
        yield Problem("note", "no_schema", message, "give one under custom_data.evidencerails.structure")
    flows = ", ".join(repr(rail.flow) for rail in rails if rail.needs_evidence)
    if flows and not gives_evidence(source.config, source.texts):
        message = f"nothing in the config gives {flows} evidence: an answer without any is unverified"
        remedy = (
            "state the facts under `instructions:`, or let your program send $evidence, documents as tool messages or "
            "a system message that states them"
        )
        yield Problem("note", "no_evidence", message, remedy)
    sampling = [rail.flow for rail in rails if rail.check == "consistency"]
    if sampling and not any(model.type == "main" for model in source.config.models):
        message = f"the config names no main model, and {sampling[0]!r} asks it for further answers"
        remedy = "give one to LLMRails(config, llm=...), or every answer is unverified"
        yield Problem("note", "no_model", message, remedy)
    yield from _embeddings(source)


def _embeddings(source: Source) -> Iterator[Problem]:
    """The probes stand in for the embeddings, so that a first turn that cannot work would not show in them."""
    model = missing_embeddings(source.config, source.colang.values())
    if model is None:
        return
    remedy = f"add {EMBEDDINGS} to `models:` (in the place of the other one, if there is one): it is inside the wheel"
    if can_download():
        message = f"NeMo downloads its embedding model {model!r} at the first turn; without network that turn fails"
        yield Problem("note", "embeddings_download", message, remedy)
    else:
        message = (
            f"the first turn downloads the embedding model {model!r}, and nothing can be downloaded from here: it ends "
            "in an internal error, after retries that take most of a minute"
        )
        yield Problem("error", "embeddings_unreachable", message, remedy)


def action_problems(source: Source) -> list[Problem]:
    """Actions of our names that are not ours, and the user's own that ours replaced; none where the plugin is not
    imported, which is the problem then."""
    from evidencerails.adapters.nemo_install import is_our_action

    if IMPORT_PATH not in (source.config.import_paths or []):
        return []
    names = sorted({rail.action for rail in RAILS.values()})
    dispatcher = started(source.config.model_copy(deep=True)).runtime.action_dispatcher
    found = []
    for name, action in ((name, dispatcher.get_action(name)) for name in names):
        if not is_our_action(action):
            code = getattr(action, "__code__", None)
            message = f"the action {name!r} is not the plugin's: {code.co_filename if code else repr(action)}"
            found.append(
                Problem("error", "action_overridden", message, "remove the app's own registration of that name")
            )
    return [*found, *_replaced_actions(source.folder, names)]


def _replaced_actions(folder: Path, names: Sequence[str]) -> Iterator[Problem]:
    """The user's own actions of our names: NeMo loads those of import paths last, so ours win in silence."""
    for place, name_of_place in ((folder, "the config"), (Path.cwd(), "the current directory")):
        for file in [place / "actions.py", *sorted((place / "actions").glob("**/*.py"))]:
            text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
            for name in names:
                if re.search(rf"^(?:async )?def {name}\b|name\s*=\s*[\"']{name}[\"']", text, re.MULTILINE):
                    message = f"{file.name} of {name_of_place} has an action {name!r}; the plugin's takes its place"
                    yield Problem("warning", "own_action_replaced", message, "rename yours")
