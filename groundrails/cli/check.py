"""`groundrails check`: one answer against its evidence, its samples, and itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from groundrails.cli.errors import EXIT_BY_STATUS, CliError
from groundrails.cli.terminal import say

if TYPE_CHECKING:
    from groundrails.config import GuardConfig
    from groundrails.exchange import Exchange, Passage
    from groundrails.guard import Guard
    from groundrails.report import Redaction, Report

ANY_SIZE = 2**62


def check(
    response: str | None = typer.Option(None, "--response", "-r", help="The answer to check."),
    response_file: str | None = typer.Option(
        None, "--response-file", "-f", metavar="FILE", help="Read the answer from a file; - is standard input."
    ),
    evidence: list[Path] = typer.Option(
        [], "--evidence", "-e", metavar="FILE", help="A file the answer must agree with. Repeatable."
    ),
    evidence_text: list[str] = typer.Option(
        [], "--evidence-text", "-t", metavar="TEXT", help="Text the answer must agree with. Repeatable."
    ),
    prompt: str | None = typer.Option(None, "--prompt", "-p", help="The question that was answered."),
    sample: list[str] = typer.Option(
        [], "--sample", "-s", metavar="TEXT", help="Another answer of the same model to the same question. Repeatable."
    ),
    samples_file: Path | None = typer.Option(
        None, "--samples-file", metavar="FILE", help="A JSON list of samples, or one sample a line."
    ),
    schema: Path | None = typer.Option(
        None, "--schema", metavar="FILE", help="The JSON Schema that the answer must fit (check structure)."
    ),
    tool_calls: Path | None = typer.Option(
        None, "--tool-calls", metavar="FILE", help="A JSON list of calls to check; the answer may be left out then."
    ),
    tools: Path | None = typer.Option(
        None, "--tools", metavar="FILE", help="A JSON list of the tools with their names and parameters."
    ),
    config: Path | None = typer.Option(
        None, "--config", "-c", metavar="PATH", help="Settings: a YAML file or a guardrails config folder."
    ),
    checks: list[str] = typer.Option(
        [],
        "--check",
        metavar="NAME",
        help="citations, claims, consistency, grounding, knowledge, logic, structure or tools. Repeatable. Default: "
        "what the settings say; without settings, what is given allows.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the report as JSON."),
    html: Path | None = typer.Option(
        None, "--html", metavar="FILE", help="Write the report as one HTML page, too: no scripts, nothing loaded."
    ),
    debug_claims: bool = typer.Option(
        False, "--debug-claims", help="First show what was extracted as a claim, and what was not and why."
    ),
) -> int:
    """Check one answer: which of its claims do its sources support?

    groundrails check --response "Paris is in Italy." --evidence-text "Paris is the capital of France."

    Exit code: 0 grounded, 1 hallucinated, 3 could not be verified, 2 wrong usage. The report goes to standard output,
    the reason to standard error.
    """
    from groundrails.exchange import Exchange

    answer = "" if tool_calls and response is None and response_file is None else _answer(response, response_file)
    form = _form(schema, tool_calls, tools)
    passages = _passages(evidence, [_typed(text) for text in evidence_text])
    samples = (*map(_typed, sample), *_samples_in(samples_file))
    question = _typed(prompt) if prompt is not None else None
    if html is not None:
        _refuse_unwritable(html)
    possible = _possible_checks(passages, samples, form, has_answer=bool(answer))
    guard, names = _prepared(config, checks, possible, needs_claims=debug_claims)
    exchange = Exchange.of(answer, evidence=passages, prompt=question, samples=samples, **form)
    report = _checked(guard, names, exchange)
    redaction = guard.config.redaction
    if html is not None:
        _write_page(html, report, answer, guard.config, debug_claims)
    if as_json:
        data = report.plain(max_bytes=ANY_SIZE, redaction=redaction)
        print(json.dumps(data, indent=2))  # ASCII only: nothing in it can reach the terminal as a control sequence
    else:
        _print(report, answer, redaction, debug_claims)
    if report.status != "grounded":
        say(f"{report.status}: {report.reason}" if redaction == "off" else report.status)
    return EXIT_BY_STATUS[report.status]


def _prepared(
    config: Path | None,
    checks: Sequence[str],
    possible: list[str] | None,
    *,
    needs_claims: bool,
) -> tuple[Guard, list[str] | None]:
    """The guard, and the names of the checks to run; None for those of the settings."""
    from groundrails.checks.registry import get_check
    from groundrails.guard import Guard

    for name in checks:
        get_check(name)  # an unknown name is wrong usage, not an unverified report
    guard = Guard(config)
    names = list(checks) or (None if config else possible)
    if needs_claims and "claims" not in (guard.config.checks if names is None else names):
        raise CliError(
            "--debug-claims shows what the check 'claims' does, which is not among the checks: --check claims"
        )
    return guard, names


def _checked(guard: Guard, names: list[str] | None, exchange: Exchange) -> Report:
    import asyncio

    from groundrails.cli.recording import quiet

    with quiet():  # what fails inside a check is the reason of the report
        return asyncio.run(guard.check_exchange(exchange, checks=names))


def _print(report: Report, answer: str, redaction: Redaction, debug_claims: bool) -> None:
    from groundrails.cli.render import print_report
    from groundrails.cli.terminal import console

    out = console()
    if debug_claims:
        from groundrails.cli.extraction import extraction_of, print_extraction

        print_extraction(extraction_of(report, answer, redaction), out)
    print_report(report, answer, redaction=redaction, to=out)


def _refuse_unwritable(file: Path) -> None:
    """Find out before the work is done, not after it."""
    if file.is_dir() or not file.resolve().parent.is_dir():
        raise CliError(f"cannot write {str(file)!r}; give the path of a file in a folder that exists")


def _write_page(file: Path, report: Report, answer: str, settings: GuardConfig, debug_claims: bool) -> None:
    from groundrails.cli.page import page

    hides_evidence = "evidence" in settings.expose.model_fields_set and not settings.expose.evidence
    text = page(
        report, answer, redaction=settings.redaction, expose_evidence=not hides_evidence, debug_claims=debug_claims
    )
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"cannot write {str(file)!r}: {error.strerror}; give another path") from None


def _possible_checks(
    passages: Sequence[Passage], samples: Sequence[str], form: Mapping[str, Any], *, has_answer: bool
) -> list[str] | None:
    """Without settings: compare with what is given; None if that is evidence alone, or nothing."""
    given = {"consistency": samples, "structure": form.get("response_schema"), "tools": form.get("tool_calls")}
    names = [name for name, what in given.items() if what is not None and what != ()]
    if not names:
        return None
    return ["grounding", "claims", *names] if passages and has_answer else names


def _form(schema: Path | None, tool_calls: Path | None, tools: Path | None) -> dict[str, Any]:
    """The arguments of an exchange that say what the answer must look like, and what it wants to call."""
    form: dict[str, Any] = {}
    if schema is not None:
        form["response_schema"] = _json_in(schema, dict, "a JSON Schema, which is an object")
    if tool_calls is not None:
        form["tool_calls"] = _json_in(tool_calls, list, "a JSON list of calls")
    if tools is not None:
        form["tools"] = _json_in(tools, list, "a JSON list of tools")
    return form


def _json_in(file: Path, kind: type, wanted: str) -> Any:
    try:
        value = json.loads(_text_of(file))
    except (ValueError, RecursionError) as error:
        raise CliError(f"cannot read {str(file)!r}: {error}; expected {wanted}") from None
    if not isinstance(value, kind):
        raise CliError(f"{str(file)!r} holds a {type(value).__name__}; expected {wanted}")
    return value


def _answer(response: str | None, file: str | None) -> str:
    if (response is None) == (file is None):
        raise CliError("give the answer once: --response TEXT, or --response-file FILE (- for standard input)")
    if response is not None:
        return _typed(response)
    assert file is not None
    return _decoded(sys.stdin.buffer.read(), "standard input") if file == "-" else _text_of(Path(file))


def _typed(argument: str) -> str:
    """An argument as it was typed: in a C locale Python hands bytes beyond ASCII over as lone surrogates."""
    try:
        return argument.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return argument


def _passages(files: Sequence[Path], texts: Sequence[str]) -> tuple[Passage, ...]:
    from groundrails.exchange import Passage

    named = [(_text_of(file), str(file)) for file in files] + [(text, None) for text in texts]
    return tuple(
        Passage(id=str(place), text=text, source=source)
        for place, (text, source) in enumerate(named, start=1)
        if text.strip()
    )


def _samples_in(file: Path | None) -> list[str]:
    if file is None:
        return []
    text = _text_of(file)
    if not text.lstrip().startswith("["):
        return [line for line in text.splitlines() if line.strip()]
    try:
        samples = json.loads(text)
    except ValueError as error:
        raise CliError(f"cannot read samples from {str(file)!r}: {error}; give a JSON list of strings") from None
    if not all(isinstance(item, str) for item in samples):
        raise CliError(f"samples in {str(file)!r} must be strings; give a JSON list of strings, or one sample a line")
    return list(samples)


def _text_of(file: Path) -> str:
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
