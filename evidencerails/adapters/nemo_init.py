"""The one hook NeMo gives a plugin: `init(app)`, run inside `LLMRails()` for every import path with a `config.py`.

At that time the actions are loaded (the runtime is made just before), while the LLMs, the embeddings and the knowledge
base do not exist yet: `app.llm` is None unless the caller passed one, and setting it makes NeMo skip its own. NeMo
wraps an error raised here into a `RuntimeError` that names only the file, so it is logged in one line as well.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from evidencerails.adapters.embeddings import register
from evidencerails.adapters.nemo_install import broken_action_files, is_our_action
from evidencerails.adapters.nemo_plugin import NemoPlugin, attach
from evidencerails.adapters.nemo_rails import ACTIONS, RAILS, TOOL_FLOW, flow_name, tool_flows
from evidencerails.adapters.nemo_source import calls_in
from evidencerails.adapters.nemo_stream import watch_streams
from evidencerails.adapters.nemo_tools import TOOL_RAIL_OF_COLANG_2, TOOL_RAIL_REMEDY
from evidencerails.adapters.nemo_turn import begin_turns_afresh
from evidencerails.adapters.wording import DEFAULT_MESSAGES
from evidencerails.config import GuardConfig
from evidencerails.errors import EvidencerailsError, PromptError, SettingsError
from evidencerails.guard import Guard
from evidencerails.llm.prompts import PromptLibrary, meant_task
from evidencerails.mitigation.escalate import no_turn_is_held
from evidencerails.settings.old_name import refuse_old_settings
from evidencerails.settings.paths import data_folder

log = logging.getLogger("evidencerails")

WITHHELD_MESSAGE = "inform answer withheld"


def init(app: Any) -> None:
    """Set the plugin up in one app, or refuse to start it. `EvidencerailsError`: the settings or a prompt are not
    valid, or an action of ours would not be the one that runs."""
    try:
        _init(app)
    except EvidencerailsError as error:
        log.error("evidencerails: cannot start: %s", error)
        raise


def _init(app: Any) -> None:
    config = settings_of(app.config)
    require_our_actions(app)
    if app.config.colang_version != "1.0" and TOOL_FLOW in tool_flows(app.config):  # every call would go out unchecked
        raise SettingsError(f"{TOOL_RAIL_OF_COLANG_2}; {TOOL_RAIL_REMEDY}")
    put_user_prompts_last(app.config)
    guard = Guard(config, prompts=prompts_of(app.config), folder=_folder_of(app.config))
    if app.config.colang_version == "1.0":
        _add_messages(app.config)
    register()
    plugin = NemoPlugin(app, guard)
    attach(app, plugin)
    guard.sources.bind_knowledge_base(lambda: plugin.search_knowledge_base)
    watch_streams(app)
    begin_turns_afresh(app)
    hold_no_events(app)
    if config.consistency.sampling == "piggyback":
        from evidencerails.llm.piggyback import install

        install(app, config)
    _prepare_structure(app, config)
    if plugin.streams_before_check and _our_flows(app.config):
        plugin.warn_of_shown_text()
    _warn_of_misplaced_flags(app.config)
    if _our_flows(app.config):
        guard.load_soon()  # NeMo's server makes an app at its first request, which would wait for the model as well
    named = _our_flows(app.config, {rail.flow for rail in ACTIONS.values()})
    log.info("evidencerails: ready: activation %s, flows %s", config.activation, ", ".join(named) or "-")


def _folder_of(rails_config: Any) -> str | None:
    """The folder that the config was read from; None if it was read from text, or from several."""
    path = str(rails_config.config_path or "")
    return path if path and Path(path).is_dir() else None


def settings_of(rails_config: Any) -> GuardConfig:
    """The settings under `custom_data: evidencerails:`. `SettingsError`: they are not valid."""
    custom = rails_config.custom_data or {}
    refuse_old_settings(custom)
    part = custom.get("evidencerails") if isinstance(custom, Mapping) else None
    if part is not None and not isinstance(part, Mapping):
        raise SettingsError(f"custom_data.evidencerails must be a mapping, got {type(part).__name__}")
    return GuardConfig.load(part)


def require_our_actions(app: Any) -> None:
    """Refuse an app in which an action of ours is another's: NeMo only logs an action file that fails to import, and
    then runs its own rail of the same name. `EvidencerailsError`: naming the actions, what they resolve to, and the
    file that failed."""
    dispatcher = app.runtime.action_dispatcher
    found = {name: dispatcher.get_action(name) if dispatcher.has_registered(name) else None for name in ACTIONS}
    foreign = {name: action for name, action in found.items() if not is_our_action(action)}
    if not foreign:
        return
    listed = "; ".join(f"{name!r} is {_whose(action)}" for name, action in foreign.items())
    broken = "; ".join(broken_action_files((app.config.imported_paths or {}).values()))
    raise EvidencerailsError(
        f"these actions are not evidencerails' own: {listed}. "
        + (f"Action files that fail to import: {broken}" if broken else "Remove the actions of the same name.")
    )


def _whose(action: Any) -> str:
    code = getattr(action, "__code__", None)
    return f"that of {code.co_filename!r}" if code is not None else "missing" if action is None else repr(action)


def put_user_prompts_last(rails_config: Any) -> None:
    """Move our prompts in front of the user's: NeMo appends imported prompts, and the last of equal rank wins."""
    rails_config.prompts = sorted(rails_config.prompts or [], key=lambda prompt: not _is_shipped(prompt))


def _is_shipped(prompt: Any) -> bool:
    messages = [m if isinstance(m, str) else {"type": m.type, "content": m.content} for m in prompt.messages or []]
    return (prompt.task, str(prompt.content or messages)) in _shipped_prompts()


@cache
def _shipped_prompts() -> frozenset[tuple[str, str]]:
    """Task and text of each prompt of ours."""
    files = sorted(data_folder("prompts").glob("*.yml"))
    entries = (one for file in files for one in yaml.safe_load(file.read_text(encoding="utf-8"))["prompts"])
    return frozenset((one["task"], str(one.get("content") or one.get("messages"))) for one in entries)


def prompts_of(rails_config: Any) -> PromptLibrary:
    """The prompts of the app: for each of our tasks the one NeMo itself would pick, by model and mode. `PromptError`: a
    prompt is broken, or its task is almost one of ours: nobody would ever read it. The file, the task and the variable
    are named."""
    from nemoguardrails.llm.prompts import get_prompt
    from nemoguardrails.llm.types import Task

    library = PromptLibrary.load()
    others = {prompt.task for prompt in rails_config.prompts or []} - {*library.tasks, *(task.value for task in Task)}
    for name in sorted(others):
        if meant := meant_task(name, library.tasks):
            problem = f"there is no task {name!r}; did you mean {meant!r}?"
            raise PromptError(f"{_file_of_prompt(rails_config, name)}: {problem}")
    given = {prompt.task for prompt in rails_config.prompts or []}
    winners = {task: get_prompt(rails_config, task) for task in library.tasks if task in given}
    overrides = {task: prompt for task, prompt in winners.items() if not _is_shipped(prompt)}
    for task, prompt in overrides.items():
        try:
            PromptLibrary.load({task: prompt})
        except PromptError as error:
            raise PromptError(f"{_file_of_prompt(rails_config, task)}: {error}") from error
    return PromptLibrary.load(overrides)


def _file_of_prompt(rails_config: Any, task: str) -> str:
    """The user's file that holds the prompt of a task, as far as it can be found."""
    folders = [Path(part.strip()) for part in str(rails_config.config_path or "").split(",") if part.strip()]
    files = (file for folder in folders for pattern in ("*.yml", "*.yaml") for file in sorted(folder.rglob(pattern)))
    return next((str(file) for file in files if f"task: {task}" in file.read_text("utf-8", "replace")), "prompts")


def _add_messages(rails_config: Any) -> None:
    """Add our bot messages where the app has none: a `define bot` in a plugin's file would beat the user's own."""
    for name, text in DEFAULT_MESSAGES.items():
        rails_config.bot_messages.setdefault(name, [text])
    rails_config.bot_messages[WITHHELD_MESSAGE] = ["{{ withheld_answer }}"]  # what a verdict says in place of an answer


def hold_no_events(app: Any) -> None:
    """Let blocking reviews inside `app.process_events_async` go to the synchronous tier.

    The semaphore is the module's, not the app's: one held turn would stop every app of the process.
    """
    original = app.process_events_async

    async def without_holding(*args: Any, **options: Any) -> Any:
        with no_turn_is_held():
            return await original(*args, **options)

    app.process_events_async = without_holding


def _prepare_structure(app: Any, config: GuardConfig) -> None:
    """Send the schema to the model where the settings say so; warn of a rail that has none."""
    settings = config.structure
    if settings.constrain != "off":
        from evidencerails.adapters.constrained import install

        install(app, settings)
    if not settings.has_rules and "check structure" in _our_flows(app.config):
        log.warning(
            "evidencerails: check structure has no schema, model or rule in the settings (structure: ...): only "
            "answers with a schema in $response_schema are checked"
        )


def _warn_of_misplaced_flags(rails_config: Any) -> None:
    for flag in sorted({rail.flag for rail in RAILS.values()} & {*(rails_config.custom_data or {})}):
        log.warning(
            "evidencerails: custom_data.%(flag)s does nothing: set $%(flag)s in a flow or a context message, or "
            "`activation: always` under custom_data.evidencerails",
            {"flag": flag},
        )


def _our_flows(rails_config: Any, ours: Container[str] = RAILS) -> list[str]:
    """The flows of ours, by default the output rails, that the app names among its rails, or calls (Colang 2.x)."""
    rails = rails_config.rails
    if rails_config.colang_version == "1.0":
        named = [*(rails.input.flows or ()), *(rails.output.flows or ()), *(rails.tool_output.flows or ())]
    else:
        named = [call for flow in rails_config.flows for call in calls_in(flow.source_code or "")]
    return [flow for flow in dict.fromkeys(named) if flow_name(flow) in ours]
