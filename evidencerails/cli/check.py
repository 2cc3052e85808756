"""`evidencerails check`: one answer against its evidence, its samples, and itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from evidencerails.cli.check_input import answer_of, chat_of, form_of, passages_of, refuse_unwritable, samples_of, typed
from evidencerails.cli.errors import EXIT_BY_STATUS, CliError
from evidencerails.cli.terminal import say

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.exchange import Exchange
    from evidencerails.guard import Guard
    from evidencerails.report import Redaction, Report

ANY_SIZE = 2**62


Response = Annotated[str | None, typer.Option("--response", "-r", help="The answer to check.")]
ResponseFile = Annotated[
    str | None,
    typer.Option("--response-file", "-f", metavar="FILE", help="Read the answer from a file; - is standard input."),
]
Evidence = Annotated[
    list[Path],
    typer.Option("--evidence", "-e", metavar="FILE", help="A file the answer must agree with. Repeatable."),
]
EvidenceText = Annotated[
    list[str],
    typer.Option("--evidence-text", "-t", metavar="TEXT", help="Text the answer must agree with. Repeatable."),
]
ChatFile = Annotated[
    Path | None,
    typer.Option(
        "--chat",
        metavar="FILE",
        help="A chat log as OpenAI's API has it, a JSON list of messages or an object with one: the last assistant "
        "message is the answer, the messages before it the question; system and tool messages are evidence.",
    ),
]
Prompt = Annotated[str | None, typer.Option("--prompt", "-p", help="The question that was answered.")]
Samples = Annotated[
    list[str],
    typer.Option(
        "--sample", "-s", metavar="TEXT", help="Another answer of the same model to the same question. Repeatable."
    ),
]
SamplesFile = Annotated[
    Path | None, typer.Option("--samples-file", metavar="FILE", help="A JSON list of samples, or one sample a line.")
]
Schema = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", help="The JSON Schema that the answer must fit (check structure)."),
]
ToolCalls = Annotated[
    Path | None,
    typer.Option(
        "--tool-calls", metavar="FILE", help="A JSON list of calls to check; the answer may be left out then."
    ),
]
Tools = Annotated[
    Path | None,
    typer.Option("--tools", metavar="FILE", help="A JSON list of the tools with their names and parameters."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="PATH", help="Settings: a YAML file or a guardrails config folder."),
]
Checks = Annotated[
    list[str],
    typer.Option(
        "--check",
        metavar="NAME",
        help="citations, claims, consistency, grounding, knowledge, logic, structure or tools. Repeatable. Default: "
        "what the settings say; without settings, what is given allows.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the report as one HTML page, too: no scripts, nothing loaded."),
]
DebugClaims = Annotated[
    bool,
    typer.Option("--debug-claims", help="First show what was extracted as a claim, and what was not and why."),
]


class _Shown(NamedTuple):
    """How a report is shown."""

    as_json: bool
    html: Path | None
    debug_claims: bool


def check(
    response: Response = None,
    response_file: ResponseFile = None,
    chat: ChatFile = None,
    evidence: Evidence = [],  # noqa: B006 - typer copies defaults
    evidence_text: EvidenceText = [],  # noqa: B006
    prompt: Prompt = None,
    sample: Samples = [],  # noqa: B006
    samples_file: SamplesFile = None,
    schema: Schema = None,
    tool_calls: ToolCalls = None,
    tools: Tools = None,
    config: Config = None,
    checks: Checks = [],  # noqa: B006
    as_json: AsJson = False,
    html: Html = None,
    debug_claims: DebugClaims = False,
) -> int:
    """Check one answer: which of its claims do its sources support?

    evidencerails check --response "Paris is in Italy." --evidence-text "Paris is the capital of France."

    Exit code: 0 grounded, 1 hallucinated, 3 could not be verified, 2 wrong usage. The report goes to standard output,
    the reason to standard error.
    """
    from evidencerails.exchange import Exchange
    from evidencerails.tool_calls import with_arguments

    log = chat_of(chat)
    given = (response, response_file)
    answer = "" if tool_calls and given == (None, None) else answer_of(*given, chat=log)
    form = form_of(schema, tool_calls, tools)
    passages = passages_of(evidence, [typed(text) for text in evidence_text], log.evidence if log else ())
    samples = (*map(typed, sample), *samples_of(samples_file))
    if html is not None:
        refuse_unwritable(html)
    possible = None if passages else _possible_checks(samples, form)
    guard = _prepared(config, checks, possible, needs_claims=debug_claims)
    question = typed(prompt) if prompt is not None else log.before if log else None
    exchange = Exchange.of(answer, evidence=passages, prompt=question, samples=samples, **form)
    report = _checked(guard, exchange)
    _show(report, with_arguments(exchange).response, guard.config, _Shown(as_json, html, debug_claims))
    return EXIT_BY_STATUS[report.status]


def _show(report: Report, answer: str, settings: GuardConfig, shown: _Shown) -> None:
    """The report to standard output and the page, the reason to standard error."""
    redaction = settings.redaction
    if shown.html is not None:
        _write_page(shown.html, report, answer, settings, shown.debug_claims)
    if shown.as_json:
        data = report.plain(max_bytes=ANY_SIZE, redaction=redaction)
        print(json.dumps(data, indent=2))  # ASCII only: nothing in it can reach the terminal as a control sequence
    else:
        _print(report, answer, redaction, shown.debug_claims)
    if report.status != "grounded":
        say(f"{report.status}: {report.reason}" if redaction == "off" else report.status)


def _prepared(
    config: Path | None,
    checks: Sequence[str],
    possible: list[str] | None,
    *,
    needs_claims: bool,
) -> Guard:
    """The guard, with the checks that the arguments name, else those of the settings."""
    from evidencerails.checks.registry import get_check
    from evidencerails.config import GuardConfig
    from evidencerails.guard import Guard

    for name in checks:
        get_check(name)  # an unknown name is wrong usage, not an unverified report
    settings = GuardConfig.load(config)
    if names := tuple(checks) or (None if config else possible):
        settings = settings.model_copy(update={"checks": tuple(dict.fromkeys(names))})
    if needs_claims and "claims" not in settings.checks:
        raise CliError(
            "--debug-claims shows what the check 'claims' does, which is not among the checks: --check claims"
        )
    folder = None if config is None else config if config.is_dir() else config.parent
    return Guard(settings, folder=folder)


def _checked(guard: Guard, exchange: Exchange) -> Report:
    import asyncio

    from evidencerails.adapters.nemo_watch import quiet

    with quiet():  # what fails inside a check is the reason of the report
        return asyncio.run(guard.check_exchange(exchange))


def _print(report: Report, answer: str, redaction: Redaction, debug_claims: bool) -> None:
    from evidencerails.cli.render import extraction_of, print_extraction, print_report
    from evidencerails.cli.terminal import console

    out = console()
    if debug_claims:
        print_extraction(extraction_of(report, answer, redaction), out)
    print_report(report, answer, redaction=redaction, to=out)


def _write_page(file: Path, report: Report, answer: str, settings: GuardConfig, debug_claims: bool) -> None:
    from evidencerails.cli.render import extraction_of
    from evidencerails.report_page import page

    hides_evidence = "evidence" in settings.expose.model_fields_set and not settings.expose.evidence
    redaction = settings.redaction
    extraction = extraction_of(report, answer, redaction) if debug_claims else None
    text = page(report, answer, redaction=redaction, expose_evidence=not hides_evidence, extraction=extraction)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"cannot write {str(file)!r}: {error.strerror}; give another path") from None


def _possible_checks(samples: Sequence[str], form: Mapping[str, Any]) -> list[str] | None:
    """Without settings and evidence: compare with what else is given; None if that is nothing."""
    given = {"consistency": samples, "structure": form.get("response_schema"), "tools": form.get("tool_calls")}
    return [name for name, what in given.items() if what is not None and what != ()] or None
