"""`evidencerails check`: one answer, checked against its evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evidencerails.cli.check_input import exchange_of
from evidencerails.cli.check_settings import settings_of
from evidencerails.cli.common import (
    CONFIG,
    EXIT_BY_STATUS,
    CliError,
    folder_of,
    names_in,
    refuse_unwritable,
    write_text,
)
from evidencerails.cli.terminal import console, say

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.exchange import Exchange
    from evidencerails.report import Report

ANY_SIZE = 2**62
RESPONSE = typer.Option(None, "--response", "-r", help="The answer to check.")
RESPONSE_FILE = typer.Option(
    None, "--response-file", "-f", metavar="FILE", help="Read the answer from a file; - is standard input."
)
CHAT = typer.Option(
    None,
    "--chat",
    metavar="FILE",
    help="A chat log as OpenAI's API has it, a JSON list of messages or an object with one: the last assistant "
    "message, tool calls included, is the answer, the messages before it the question; system and tool messages are "
    "evidence. Or the JSON of a response of NeMo with its log (`llm_calls`, `internal_events`).",
)
EVIDENCE = typer.Option([], "--evidence", "-e", metavar="FILE", help="A file the answer must agree with. Repeatable.")
EVIDENCE_TEXT = typer.Option(
    [], "--evidence-text", "-t", metavar="TEXT", help="Text the answer must agree with. Repeatable."
)
PROMPT = typer.Option(None, "--prompt", "-p", help="The question that was answered.")
SAMPLE = typer.Option(
    [], "--sample", "-s", metavar="TEXT", help="Another answer of the same model to the same question. Repeatable."
)
SAMPLES_FILE = typer.Option(
    None, "--samples-file", metavar="FILE", help="A JSON list of samples, or one sample a line."
)
SCHEMA = typer.Option(
    None, "--schema", metavar="FILE", help="The JSON Schema that the answer must fit (check structure)."
)
TOOL_CALLS = typer.Option(
    None, "--tool-calls", metavar="FILE", help="A JSON list of calls to check; the answer may be left out then."
)
TOOLS = typer.Option(None, "--tools", metavar="FILE", help="A JSON list of the tools with their names and parameters.")
METHODS = typer.Option(
    [],
    "--method",
    "-m",
    "--check",
    metavar="NAMES",
    help="Checks (citations, claims, consistency, grounding, knowledge, logic, structure, tools) and measures, "
    "separated by commas. nli, judge: who decides on the claims; any other measure puts a number beside the verdict. "
    "Repeatable. Default: what the settings say; without settings, what is given allows.",
)
CASCADE = typer.Option(
    False, "--cascade", help="A judge decides on the claims that NLI leaves unsure; the same as --method nli,judge."
)
MODEL = typer.Option(None, "--model", metavar="NAME", help="The model that judges.")
JSON = typer.Option(False, "--json", help="Print the report as JSON.")
HTML = typer.Option(
    None, "--html", metavar="FILE", help="Write the report as one HTML page, too: no scripts, nothing loaded."
)
DEBUG_CLAIMS = typer.Option(
    False, "--debug-claims", help="First show what was extracted as a claim, and what was not and why."
)


def check(
    response: str | None = RESPONSE,
    response_file: str | None = RESPONSE_FILE,
    chat: Path | None = CHAT,
    evidence: list[Path] = EVIDENCE,
    evidence_text: list[str] = EVIDENCE_TEXT,
    prompt: str | None = PROMPT,
    sample: list[str] = SAMPLE,
    samples_file: Path | None = SAMPLES_FILE,
    schema: Path | None = SCHEMA,
    tool_calls: Path | None = TOOL_CALLS,
    tools: Path | None = TOOLS,
    config: Path | None = CONFIG,
    methods: list[str] = METHODS,
    cascade: bool = CASCADE,
    model: str | None = MODEL,
    as_json: bool = JSON,
    html: Path | None = HTML,
    debug_claims: bool = DEBUG_CLAIMS,
) -> int:
    """Check one answer: which of its claims do its sources support?

    evidencerails check --response "Paris is in Italy." --evidence-text "Paris is the capital of France."

    Exit code: 0 grounded, 1 hallucinated, 3 could not be verified, 2 wrong usage. The report goes to standard output,
    the reason to standard error.
    """
    from evidencerails.config import CHECKS

    exchange = exchange_of(response, response_file, chat=chat, evidence_files=evidence, evidence_texts=evidence_text,
                           prompt=prompt, samples=sample, samples_file=samples_file, schema=schema,
                           tool_calls=tool_calls, tools=tools)  # fmt: skip
    refuse_unwritable(html)
    settings = settings_of(config, methods, exchange, cascade=cascade, model=model)
    if debug_claims and "claims" not in settings.checks:
        raise CliError(
            "--debug-claims shows what the check 'claims' does, which is not among the checks: --method claims"
        )
    report = _checked(settings, folder_of(config), exchange)
    by_method = cascade or bool(settings.scoring.measures) or not {*CHECKS}.issuperset(names_in(methods))
    _show(report, exchange, settings, as_json=as_json, html=html, debug_claims=debug_claims, by_method=by_method)
    return EXIT_BY_STATUS[report.status]


def _checked(settings: GuardConfig, folder: Path | None, exchange: Exchange) -> Report:
    import asyncio

    from evidencerails.adapters.nemo_watch import quiet
    from evidencerails.guard import Guard

    guard = Guard(settings, folder=folder)
    with quiet():  # what fails inside a check is the reason of the report
        return asyncio.run(guard.check_exchange(exchange))


def _show(
    report: Report,
    exchange: Exchange,
    settings: GuardConfig,
    *,
    as_json: bool,
    html: Path | None,
    debug_claims: bool,
    by_method: bool,
) -> None:
    """The report to standard output and the page, the reason to standard error."""
    from evidencerails.cli.render import extraction_of, print_extraction, print_methods, print_report
    from evidencerails.report_page import page
    from evidencerails.tool_calls import with_arguments

    answer, redaction = with_arguments(exchange).response, settings.redaction
    extraction = extraction_of(report, answer, redaction) if debug_claims else None
    if html is not None:
        hides = "evidence" in settings.expose.model_fields_set and not settings.expose.evidence
        write_text(html, page(report, answer, redaction=redaction, expose_evidence=not hides, extraction=extraction))
    if as_json:
        data = report.plain(max_bytes=ANY_SIZE, redaction=redaction)
        print(json.dumps(data, indent=2))  # ASCII only: nothing in it can reach the terminal as a control sequence
    else:
        out = console()
        if extraction is not None:
            print_extraction(extraction, out)
        print_report(report, answer, redaction=redaction, to=out)
        if by_method:
            print_methods(report, out)
    if report.status != "grounded":
        say(f"{report.status}: {report.reason}" if redaction == "off" else report.status)
