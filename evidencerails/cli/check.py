"""`evidencerails check`: one answer, checked against its evidence.

Settings are what an option says, else the file, else the environment, else the defaults.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from evidencerails.adapters.nemo_evidence import evidence_in
from evidencerails.adapters.nemo_log import LoggedTurn, is_nemo, logged_turn
from evidencerails.adapters.nemo_watch import quiet
from evidencerails.cli.common import (
    CONFIG,
    EXIT_BY_STATUS,
    CliError,
    console,
    folder_of,
    names_in,
    refuse_unwritable,
    say,
    text_in,
    text_of,
    write_text,
)
from evidencerails.cli.render import extraction_of, print_extraction, print_methods, print_report
from evidencerails.config import GuardConfig
from evidencerails.errors import SettingsError
from evidencerails.evaluation.methods import known
from evidencerails.exchange import Exchange, as_tool_calls, content_text
from evidencerails.guard import Guard
from evidencerails.measures.registry import JUDGES
from evidencerails.report import PASS_EVIDENCE, Report
from evidencerails.report_page import page
from evidencerails.settings.environment import CHECK_VARIABLES, JUDGE_MODEL, variable
from evidencerails.settings.llm import LlmEndpoint
from evidencerails.settings.policies import CHECKS
from evidencerails.settings.reading import read_settings
from evidencerails.tool_calls import with_arguments

EPILOG = "From the environment, where --config does not set it: " + "; ".join(
    f"{name} ({key})" for name, key in CHECK_VARIABLES.items()
)
DECIDERS = {("nli",): "offline", ("judge",): "llm", ("judge", "nli"): "auto"}
"""Methods that decide on claims -> `claims.classifier`."""
_CHAT = (
    "A chat log as OpenAI's API has it, a JSON list of messages or an object with one: the last assistant message, "
    "tool calls included, is the answer, the messages before it the question; system and tool messages are evidence. "
    "Or the JSON of a response of NeMo with its log (`llm_calls`, `internal_events`)."
)
_METHODS = (
    "Checks (citations, claims, consistency, grounding, knowledge, logic, structure, tools) and measures, separated by "
    "commas. nli and judge decide about claims; any other measure only adds a score. Repeatable. "
    "Default: those of the settings, else those that the given inputs allow."
)
_EVIDENCE, _TEXT = "A file the answer must agree with. Repeatable.", "Text the answer must agree with. Repeatable."
_TOOL_CALLS = "A JSON list of calls to check; the answer may be left out then."
_CASCADE = "A judge decides on the claims that NLI leaves unsure; the same as --method nli,judge."
_DEBUG = "First show what was extracted as a claim, and what was not and why."
_FILE = "Read the answer from a file; - is standard input."
_SAMPLE = "Another answer of the same model to the same question. Repeatable."
_HTML = "Also write the report as one HTML page without scripts or external resources."


def check(
    response: str | None = typer.Option(None, "--response", "-r", help="The answer to check."),
    response_file: str | None = typer.Option(None, "--response-file", "-f", metavar="FILE", help=_FILE),
    chat: Path | None = typer.Option(None, metavar="FILE", help=_CHAT),
    evidence: list[Path] = typer.Option([], "--evidence", "-e", metavar="FILE", help=_EVIDENCE),
    evidence_text: list[str] = typer.Option([], "--evidence-text", "-t", metavar="TEXT", help=_TEXT),
    prompt: str | None = typer.Option(None, "--prompt", "-p", help="The question that was answered."),
    sample: list[str] = typer.Option([], "--sample", "-s", metavar="TEXT", help=_SAMPLE),
    samples_file: Path | None = typer.Option(None, metavar="FILE", help="A JSON list of samples, or one a line."),
    schema: Path | None = typer.Option(None, metavar="FILE", help="The JSON Schema that the answer must fit."),
    tool_calls: Path | None = typer.Option(None, metavar="FILE", help=_TOOL_CALLS),
    tools: Path | None = typer.Option(None, metavar="FILE", help="A JSON list of the tools: names and parameters."),
    config: Path | None = CONFIG,
    methods: list[str] = typer.Option([], "--method", "-m", "--check", metavar="NAMES", help=_METHODS),
    cascade: bool = typer.Option(False, "--cascade", help=_CASCADE),
    model: str | None = typer.Option(None, metavar="NAME", help="The model that judges."),
    as_json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
    html: Path | None = typer.Option(None, metavar="FILE", help=_HTML),
    debug_claims: bool = typer.Option(False, "--debug-claims", help=_DEBUG),
) -> int:
    """Check one answer: which of its claims do its sources support?

    evidencerails check --response "Paris is in Italy." --evidence-text "Paris is the capital of France."

    Exit code: 0 grounded, 1 hallucinated, 3 could not be verified, 2 wrong usage. The report goes to standard output,
    the reason to standard error.
    """
    exchange = exchange_of(response, response_file, chat=chat, evidence_files=evidence, evidence_texts=evidence_text,
                           prompt=prompt, samples=sample, samples_file=samples_file, schema=schema,
                           tool_calls=tool_calls, tools=tools)  # fmt: skip
    read = [*evidence, chat, samples_file, config, Path(response_file) if response_file else None]
    refuse_unwritable(html, inputs=read)
    settings = _settings_of(config, methods, exchange, cascade=cascade, model=model)
    if debug_claims and "claims" not in settings.checks:
        raise CliError("--debug-claims shows what the check 'claims' does, which is not among them: --method claims")
    with quiet():  # what fails inside a check is the reason of the report
        report = asyncio.run(Guard(settings, folder=folder_of(config)).check_exchange(exchange))
    by_method = cascade or bool(settings.scoring.measures) or not {*CHECKS}.issuperset(names_in(methods))
    _show(report, exchange, settings, as_json=as_json, html=html, debug_claims=debug_claims, by_method=by_method)
    return EXIT_BY_STATUS[report.status]


def _show(report: Report, exchange: Exchange, settings: GuardConfig, **how: Any) -> None:
    """The report to standard output and the page, the reason to standard error."""
    answer, redaction = with_arguments(exchange).response, settings.redaction
    extraction = extraction_of(report, answer, redaction) if how["debug_claims"] else None
    if (html := how["html"]) is not None:
        hides = "evidence" in settings.expose.model_fields_set and not settings.expose.evidence
        write_text(html, page(report, answer, redaction=redaction, expose_evidence=not hides, extraction=extraction))
    if how["as_json"]:
        data = report.plain(max_bytes=None, redaction=redaction)
        print(json.dumps(data, indent=2))  # ASCII only: nothing in it can reach the terminal as a control sequence
    else:
        out = console()
        if extraction is not None:
            print_extraction(extraction, out)
        print_report(report, answer, redaction=redaction, to=out)
        if how["by_method"]:
            print_methods(report, out)
    if report.status != "grounded":
        missing = "no_evidence" in report.reason and not exchange.evidence
        remedy = "; give --evidence FILE, --evidence-text TEXT or --chat FILE" if missing else ""
        reason = report.reason.replace(PASS_EVIDENCE, "")
        say((f"{report.status}: {reason}" if redaction == "off" else report.status) + remedy)


def _settings_of(
    config: Path | None, methods: Sequence[str], exchange: Exchange, *, cascade: bool, model: str | None
) -> GuardConfig:
    """The settings of one check. Without a file, checks and evidence, what else is given decides which checks run.
    `CliError`: a judge is asked for, and no model is named. `SettingsError`: a method does not exist, or a setting is
    not valid."""
    if methods and not names_in(methods):
        raise CliError("--method names no method; give checks or measures, as in --method claims,ngram")
    names = (*known(names_in(methods)), *(("nli", "judge") if cascade else ()))
    settings = _with_model(_loaded(config), model, asks_judge=not {*names}.isdisjoint(JUDGES))
    checks = [name for name in names if name in CHECKS]
    if not names and config is None and not exchange.evidence:
        given = {"consistency": exchange.samples, "structure": exchange.response_schema, "tools": exchange.tool_calls}
        checks = [name for name, one in given.items() if one not in (None, ())]
    checks, claims = checks or [*settings.checks], settings.claims
    if deciders := tuple(sorted({*names} & {"nli", "judge"})):
        checks.append("claims")
        claims = claims.model_copy(update={"classifier": DECIDERS[deciders]})
    beside = [name for name in names if name not in (*CHECKS, *deciders)] or settings.scoring.measures
    scoring = settings.scoring.model_copy(update={"measures": tuple(dict.fromkeys(beside))})
    return settings.model_copy(update={"checks": tuple(dict.fromkeys(checks)), "claims": claims, "scoring": scoring})


def _loaded(config: Path | None) -> GuardConfig:
    """The settings of the file, with numbers of the environment where it has none."""
    GuardConfig.load(config)  # what is wrong with the file is said in its own words
    settings = read_settings(config) if config else {}
    used = [name for name, key in CHECK_VARIABLES.items() if name != JUDGE_MODEL and _filled(settings, name, key)]
    try:
        found = GuardConfig.load(settings)
    except SettingsError as error:
        raise SettingsError(f"{error}; from the environment: {', '.join(used)}") from None
    if used:
        say(f"settings from the environment: {', '.join(used)}")
    return found


def _filled(settings: dict[str, Any], name: str, key: str) -> bool:
    """Put a variable's value into the settings, unless they have one; True if it is used."""
    value, place = variable(name), settings
    *sections, last = key.split(".")
    for section in sections:
        place[section] = place = dict(place.get(section) or {})
    if not value or last in place:
        return False
    place[last] = value
    return True


def _with_model(settings: GuardConfig, model: str | None, *, asks_judge: bool) -> GuardConfig:
    """The settings with the judge's model; the environment's only where a judge is asked for, since a judge is sent the
    answer and its evidence."""
    llm = settings.llm
    judge = llm.judge or LlmEndpoint(**{name: getattr(llm, name) for name in LlmEndpoint.model_fields})
    if model is None and asks_judge and not judge.model:
        model = variable(JUDGE_MODEL)
        if not model:
            wanted = f"give --model NAME, the environment variable {JUDGE_MODEL}, or llm.judge in the settings"
            raise CliError(f"a judge needs a model: {wanted}")
    if model is None:
        return settings
    named = llm.model_copy(update={"judge": judge.model_copy(update={"model": model})})
    return settings.model_copy(update={"llm": named})


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
    log = _chat_in(chat) if chat is not None else LoggedTurn()
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


def _chat_in(file: Path) -> LoggedTurn:
    """A chat log in the shape of OpenAI's API, a list of messages or an object with one; or a response of NeMo."""
    log = _json_in(file, (list, dict), MESSAGES)
    if is_nemo(log):
        return logged_turn(log)
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
            return LoggedTurn(answer, before, evidence_in(before), calls, tools)
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
