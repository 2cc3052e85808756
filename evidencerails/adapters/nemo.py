"""What the plugin's actions call: a turn of NeMo becomes an exchange, the guard checks it, a flow gets the verdict.

In a stream the result must be a bare `RailOutcome` and can only allow or block.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from evidencerails.adapters.nemo_action_call import ActionCall
from evidencerails.adapters.nemo_answerability import run_input_rail
from evidencerails.adapters.nemo_calls import answer_parser
from evidencerails.adapters.nemo_evidence import Evidence, EvidenceSources, find_evidence, instructions_of, with_remedy
from evidencerails.adapters.nemo_flags import is_asked_for
from evidencerails.adapters.nemo_log import log_report, log_shadow
from evidencerails.adapters.nemo_outcome import NOT_ACTIVATED, SHADOW, Verdict, not_run, verdict_of
from evidencerails.adapters.nemo_plugin import NemoPlugin, Rail, plugin_of
from evidencerails.adapters.nemo_sampling import ParsingClient
from evidencerails.adapters.nemo_schema import NO_SCHEMA, lacks_schema, with_schema
from evidencerails.adapters.nemo_stream import StreamedAnswer
from evidencerails.adapters.nemo_turn import Turn, turn_key
from evidencerails.adapters.wording import withheld_text
from evidencerails.errors import EvidencerailsError, InputError, reason_of, traceback_summary
from evidencerails.exchange import Exchange, Labels, Message, Stakes
from evidencerails.report import Report

log = logging.getLogger("evidencerails")

SELF_CHECK_HALLUCINATION = Rail("self check hallucination", ("consistency",))
HALLUCINATION_WARNING = Rail("hallucination warning", ("consistency",), cap="warn")
CHECK_GROUNDING = Rail("check grounding", ("grounding",))
CHECK_CLAIMS = Rail("check claims", ("claims",))
CHECK_CITATIONS = Rail("check citations", ("citations",))
CHECK_KNOWLEDGE = Rail("check knowledge", ("knowledge",))
CHECK_STRUCTURE = Rail("check structure", ("structure",), in_stream="whole")
CHECK_LOGIC = Rail("check logic", ("logic",), in_stream="both")
RAILS = (
    SELF_CHECK_HALLUCINATION,
    HALLUCINATION_WARNING,
    CHECK_GROUNDING,
    CHECK_CLAIMS,
    CHECK_CITATIONS,
    CHECK_KNOWLEDGE,
    CHECK_STRUCTURE,
    CHECK_LOGIC,
)
CHECK_ANSWERABILITY = Rail("check answerability", (), is_input=True)
REPORT_VARIABLE = "hallucination_report"
STAKES_VARIABLE = "stakes"
"""Context variable that says what depends on the answer."""
INCOMPLETE = "incomplete_sentence"


async def run_rail(rail: Rail, *, flag: Any = None, **given: Any) -> Any:
    """Run one rail and give what NeMo expects of its action: never an exception, never a silent pass.

    Args:
        flag: context variable that asks for the check, or its value; None if the caller has decided (custom flows).
        given: what NeMo injected: `context`, `events`, `bot_message`, `llm`, `llm_task_manager`.

    Returns:
        A `Verdict`, from a flow inside an `ActionResult` that also sets `$hallucination_report`.
    """
    from nemoguardrails.actions.actions import ActionResult

    call = ActionCall(**{name: given[name] for name in _INJECTED if given.get(name) is not None})
    plugin = plugin_of(call.llm_task_manager)
    if plugin is None:
        raise EvidencerailsError(
            "evidencerails is not set up in this app: its config.py did not run; "
            "add `evidencerails/plugin` to import_paths"
        )
    if rail.is_input:
        return await run_input_rail(rail, flag, call, plugin)
    turn = Turn("unknown")
    try:
        key = _key_of(call)
        turn = plugin.turns.get(key, lambda: Turn(key))
        verdict = await _verdict(rail, flag, call, plugin, turn)
    except Exception as error:  # boundary to what NeMo and the app keep in a turn, which may be of any shape
        verdict = _failed(error, rail, flag, call, plugin, turn)
    if call.is_streaming:
        return verdict
    return ActionResult(return_value=verdict, context_updates={REPORT_VARIABLE: turn.plain})


_INJECTED = ("context", "events", "bot_message", "llm", "llm_task_manager")


def _key_of(call: ActionCall) -> str:
    if call.stream:
        return call.stream.id
    return turn_key(call.answer_call, call.history, (call.answer, call.user_message))


async def _verdict(rail: Rail, flag: Any, call: ActionCall, plugin: NemoPlugin, turn: Turn) -> Verdict:
    activation = plugin.config.activation
    if activation == "per_response" and not _is_asked_for(flag, call):
        plugin.warn_of_unread_flags(call.context)
        return not_run(NOT_ACTIVATED)
    text, stream = turn.as_written(call.answer), None
    if call.is_streaming:
        if plugin.streams_before_check:
            plugin.warn_of_shown_text()
        stream = turn.streams.setdefault(rail.name, StreamedAnswer())
        text = _next_text(rail, stream, call)
        if not text.strip():
            return not_run(INCOMPLETE)
    if activation != "per_response" and lacks_schema(rail, call.context, plugin.config.structure):
        return not_run(NO_SCHEMA)
    check = _prepared(rail, text, call, plugin)
    if activation == "shadow":
        plugin.check_in_shadow(
            check, lambda report: log_shadow(rail.name, report), stakes=stakes_in(call.context), key=_key_of(call)
        )
        return not_run(SHADOW)
    return _concluded(await check(), rail, call, plugin, turn, shown=_shown(stream, plugin))


def _is_asked_for(flag: Any, call: ActionCall) -> bool:
    return is_asked_for(flag, call.context, is_streaming=call.is_streaming)


def _concluded(
    report: Report, rail: Rail, call: ActionCall, plugin: NemoPlugin, turn: Turn, *, shown: int | None = None
) -> Verdict:
    if report.decision == "regenerate" and turn.is_repaired_from(call.answer):
        report = _second_repair(report)
    turn.record(report, plugin.config)
    log_report(rail.name, report, shown=shown)
    changed = turn.with_additions(call.answer, report, plugin.bot_messages, plugin.config.annotation.format)
    return verdict_of(report, plugin.config, changed, withheld_text(report, plugin.bot_messages))


def _second_repair(report: Report) -> Report:
    """Two rails in parallel repaired the same answer, each without the other's corrections: neither may leave."""
    decided_by = f"{report.decided_by}, repaired by two rails at once: block (set rails.output.parallel to false)"
    return report.model_copy(update={"decision": "block", "decided_by": decided_by, "answer": None})


def _failed(error: Exception, rail: Rail, flag: Any, call: ActionCall, plugin: NemoPlugin, turn: Turn) -> Verdict:
    """The verdict of a rail that broke before its check began: unverified, if the check was asked for at all."""
    log.error("evidencerails: %s could not run: %s", rail.name, traceback_summary(error))
    if plugin.config.activation == "shadow":
        return not_run(SHADOW)
    if plugin.config.activation == "per_response" and not _is_asked_for(flag, call):
        return not_run(NOT_ACTIVATED)
    exchange = Exchange(response=call.answer, is_chunk=call.is_streaming)
    return _concluded(_failed_report(error, rail, exchange, plugin), rail, call, plugin, turn)


def _failed_report(error: Exception, rail: Rail, exchange: Exchange, plugin: NemoPlugin) -> Report:
    reason = f"check_failed: {reason_of(error)}"
    return plugin.guard.unverified_report(rail.checks, reason, exchange, cap=rail.cap)


def stakes_in(context: Mapping[str, Any]) -> Stakes | None:
    """The stakes that a flow has set; None if it set none. A word that is none of them counts as `high`."""
    value = context.get(STAKES_VARIABLE)
    if value is None:
        return None
    word = str(value).strip().lower()
    if word in get_args(Stakes):
        return word  # type: ignore[return-value]
    log.warning("evidencerails: $stakes is none of %s: taken as high", ", ".join(get_args(Stakes)))
    return "high"


def _next_text(rail: Rail, stream: StreamedAnswer, call: ActionCall) -> str:
    stream.add(call.answer)
    if rail.in_stream == "whole" and not call.is_last_chunk:
        return ""
    is_new = stream.take(is_final=call.is_last_chunk)
    if rail.in_stream != "sentences" and call.is_last_chunk:
        return stream.whole_once()
    return is_new


def _shown(stream: StreamedAnswer | None, plugin: NemoPlugin) -> int | None:
    """How many characters of a stream its user has read by now; None outside a stream."""
    if stream is None:
        return None
    return len(stream.text) if plugin.streams_before_check else stream.shown


def _prepared(rail: Rail, text: str, call: ActionCall, plugin: NemoPlugin) -> Callable[[], Any]:
    """The check as a function that can run here or elsewhere; whatever NeMo keeps in this context is read now."""
    prompt, conversation, request = call.written_from, call.conversation, call.request or call.conversation
    parse, stakes = _parser(call, plugin), stakes_in(call.context)
    key = call.answer_call.id if call.answer_call else _key_of(call)

    async def check(sampling_rate: float = 1.0) -> Report:
        labels = Labels(flow=rail.name, model=plugin.model_name)
        exchange = Exchange(
            response=text, prompt=conversation, is_chunk=call.is_streaming, stakes=stakes, labels=labels
        )
        try:
            if rail is CHECK_STRUCTURE:
                exchange = with_schema(exchange, call.context, plugin.config.structure)
            if _needs_evidence(rail, plugin):
                try:
                    exchange = _with_evidence(exchange, await _evidence(call, request, plugin))
                except InputError as error:
                    return plugin.guard.unverified_report(rail.checks, f"bad_evidence: {error}", exchange, cap=rail.cap)
            client = plugin.client(call.llm)
            sampler = _sampler(plugin, key, client, prompt, parse) if "consistency" in rail.checks else None
            report = await plugin.guard.check_exchange(
                exchange, checks=rail.checks, cap=rail.cap, llm=client, sampler=sampler, sampling_rate=sampling_rate
            )
            return with_remedy(report, plugin.config.evidence)
        except Exception as error:  # boundary to the user's evidence, knowledge base and model: none may break the turn
            log.error("evidencerails: %s could not run: %s", rail.name, traceback_summary(error))
            return _failed_report(error, rail, exchange, plugin)

    return check


def _needs_evidence(rail: Rail, plugin: NemoPlugin) -> bool:
    wanted = {"grounding", "claims", "citations", "knowledge"}
    if plugin.config.logic.audit == "judge":
        wanted.add("logic")
    return bool(wanted & {*rail.checks})


async def _evidence(call: ActionCall, request: Sequence[Any], plugin: NemoPlugin) -> Evidence:
    sources = EvidenceSources(
        context=call.context,
        messages=request,
        prompt=call.written_from,
        search=plugin.search_knowledge_base,
        user_message=call.user_message
        or next((m.content for m in reversed(call.conversation) if m.role == "user"), ""),
        instructions=instructions_of(plugin.app.config),
    )
    return await find_evidence(plugin.config.evidence, sources)


def _with_evidence(exchange: Exchange, evidence: Evidence) -> Exchange:
    return exchange.model_copy(update={"evidence": evidence.passages, "evidence_from": evidence.place})


def _parser(call: ActionCall, plugin: NemoPlugin) -> Callable[[str], str]:
    task = call.answer_call.task if call.answer_call else None
    if task is None and plugin.app.config.rails.dialog.single_call.enabled:
        task = "generate_intent_steps_message"  # when it streams, NeMo logs this call without its task
    return answer_parser(task, call.llm_task_manager.parse_task_output)


def _sampler(
    plugin: NemoPlugin, key: str, client: Any, prompt: tuple[Message, ...], parse: Callable[[str], str]
) -> Any:
    from evidencerails.llm.base import LlmClient
    from evidencerails.llm.sampling import Sampler
    from evidencerails.llm.session import LlmSession

    def make() -> Sampler:
        parsing: LlmClient | None = ParsingClient(client, parse) if client is not None else plugin.guard.llm
        session = LlmSession.of(parsing, plugin.config.llm)
        return Sampler(session, prompt, plugin.config.consistency)

    return plugin.samplers.get(key, make)
