"""The engine: runs the configured checks on one exchange, aggregates, and decides."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundrails import __version__
from groundrails.checks.base import Check, CheckContext
from groundrails.checks.claim_examples import load_examples
from groundrails.checks.doubles import without_doubles
from groundrails.checks.registry import get_check
from groundrails.config import GuardConfig
from groundrails.errors import GroundrailsError, place_of, reason_of
from groundrails.exchange import EvidenceInput, Exchange, PromptInput, Sample
from groundrails.knowledge.sources import Sources
from groundrails.llm.adapt import as_client
from groundrails.llm.base import LlmClient
from groundrails.llm.cache import cache_from_settings
from groundrails.llm.prompts import PromptLibrary
from groundrails.llm.sampling import Sampler
from groundrails.llm.session import LlmSession, client_from_settings
from groundrails.mitigation.escalate import escalate
from groundrails.nli.base import NliModel
from groundrails.nli.service import NliService
from groundrails.policy import decide
from groundrails.report import CheckResult, Decision, LlmUsage, Report, Status
from groundrails.scoring.aggregate import risk_level
from groundrails.scoring.metrics import composite_metrics, with_measures
from groundrails.telemetry.emit import emit
from groundrails.telemetry.trace import Sink, enter_check, tracing

if TYPE_CHECKING:
    from groundrails.adapters.langchain_guard import GuardRunnable
    from groundrails.review.desk import ReviewDesk
    from groundrails.store import Store

log = logging.getLogger("groundrails")


class Guard:
    """Checks responses for hallucinations.

    Args:
        settings: the mapping under `groundrails:`, a path to a YAML file or config folder, a `GuardConfig`, or None.
        nli, llm, judge, prompts: ready-made parts that take the place of those the settings name; `llm` and `judge` may
            be an `LlmClient`, a LangChain model or a model of NeMo's.
        folder: where relative paths of knowledge sources are looked for first; that of the settings' file if None.

    Raises:
        SettingsError: the settings are not valid.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | str | Path | GuardConfig | None = None,
        *,
        nli: NliModel | None = None,
        llm: Any = None,
        judge: Any = None,
        prompts: PromptLibrary | None = None,
        folder: str | Path | None = None,
    ) -> None:
        self.config = GuardConfig.load(settings)
        self.sources = Sources(self.config, _folders(settings, folder))
        """Where `knowledge` and `tools` look things up."""
        if self.config.claims.examples:
            load_examples(self.config.claims.examples)  # a bad file is found now, not at the first answer
        if self.config.structure.schema_file or self.config.structure.model:
            from groundrails.checks.structure_rules import load_rules

            load_rules(self.config.structure)  # so is a bad schema or model
        self.prompts = prompts or PromptLibrary.load()
        self._nli = NliService(nli) if nli is not None else NliService.from_settings(self.config.nli)
        self._llm = as_client(llm) or client_from_settings(self.config.llm)
        self._judge = as_client(judge) or client_from_settings(self.config.llm.judge)
        self._cache = cache_from_settings(self.config.llm.cache)
        self.store = _store_of(self.config)
        """Keeps every report; None unless the settings say where."""
        self._desk = _desk_of(self.config, self.store)
        self.trace_sink: Sink = emit
        """Where the trace of each response goes."""

    async def load(self) -> None:
        """Load the NLI model now instead of at the first check.

        Raises:
            GroundrailsError: it cannot be loaded.
        """
        await self._nli.load()

    async def check(
        self,
        response: str = "",
        *,
        evidence: EvidenceInput = None,
        prompt: PromptInput = None,
        samples: Sequence[str | Sample] | None = None,
        tool_calls: Sequence[Any] | None = None,
        tools: Sequence[Any] | None = None,
        schema: Mapping[str, Any] | None = None,
        logprobs: Sequence[Any] | None = None,
    ) -> Report:
        """Check one response, or the tool calls of one that has no text, with the checks named in the settings.

        Raises:
            InputError: an argument has a shape that cannot be read. What goes wrong later is in the report instead.
        """
        exchange = Exchange.of(
            response,
            evidence=evidence,
            prompt=prompt,
            samples=samples,
            tool_calls=tool_calls or (),
            tools=tools or (),
            response_schema=schema,
            logprobs=logprobs or (),
        )
        return await self.check_exchange(exchange)

    def check_sync(self, response: str = "", **arguments: Any) -> Report:
        """`check` for code without an event loop; inside a running loop it blocks the caller, not the work."""
        return _run_in_own_loop(self.check(response, **arguments))

    async def check_exchange(
        self,
        exchange: Exchange,
        *,
        checks: Sequence[str] | None = None,
        cap: Decision | None = None,
        llm: LlmClient | None = None,
        sampler: Sampler | None = None,
        on_check: Callable[[CheckResult], None] | None = None,
    ) -> Report:
        """Check a ready exchange.

        Args:
            checks: names of the checks to run; the settings' `checks` if None.
            cap: the severest decision the calling flow may take.
            llm: the model that wrote the response (inside NeMo: the app's own), in place of the settings' one.
            sampler: shared by several checks of one turn, so that samples are drawn once.
            on_check: called as each check ends, in the order in which they end.
        """
        started = time.perf_counter()
        context, sessions = self._context(exchange, llm, sampler)
        running = [get_check(name) for name in (self.config.checks if checks is None else checks)]
        with tracing(self.config.telemetry, self.trace_sink) as trace:
            told = [trace.note_check, *([on_check] if on_check else [])]
            results = await asyncio.gather(*(_run_check(check, exchange, context, told) for check in running))
            results = await with_measures(without_doubles(results), exchange, context)
            report = _build_report(results, self.config, exchange, _usage(sessions), cap)
            report = await escalate(report, exchange, self.config, desk=self._desk, cap=cap)
            total_ms = (time.perf_counter() - started) * 1000
            report = report.model_copy(update={"timings_ms": {**report.timings_ms, "total": total_ms}})
            report = self._kept(report, exchange)
            trace.finish(exchange, report)
        return report

    def unverified_report(
        self, checks: Sequence[str], reason: str, exchange: Exchange, *, cap: Decision | None = None
    ) -> Report:
        """The report of checks that could not even begin, such as over evidence that cannot be read."""
        results = [CheckResult(name=name, status="unverified", reason=reason) for name in checks]
        return self._kept(_build_report(results, self.config, exchange, LlmUsage(), cap), exchange)

    def _kept(self, report: Report, exchange: Exchange) -> Report:
        """The report with the id under which the store keeps it, if it does."""
        report_id = self.store.put(report, exchange) if self.store is not None else None
        return report.model_copy(update={"id": report_id}) if report_id else report

    def as_runnable(self, **options: Any) -> GuardRunnable:
        """This guard as a step of a LangChain chain, `chain | guard.as_runnable()`; options as of `GuardRunnable`."""
        from groundrails.adapters.langchain_guard import GuardRunnable

        return GuardRunnable(self, **options)

    @property
    def llm(self) -> LlmClient | None:
        """The model of the settings; None if they name none."""
        return self._llm

    def _context(
        self, exchange: Exchange, llm: LlmClient | None, sampler: Sampler | None
    ) -> tuple[CheckContext, list[LlmSession]]:
        main = LlmSession.of(llm or self._llm, self.config.llm)
        judge = LlmSession.of(self._judge, self.config.llm) or main
        if sampler is None:
            sampler = Sampler(main, exchange.prompt, self.config.consistency)
        context = CheckContext(
            config=self.config,
            nli=self._nli,
            prompts=self.prompts,
            llm=main,
            judge=judge,
            sampler=sampler,
            cache=self._cache,
            sources=self.sources,
        )
        sessions = [session for session in (main, judge, sampler.session) if session is not None]
        return context, list({id(session): session for session in sessions}.values())

    def close(self) -> None:
        """Release the worker thread of a model that was passed in; shared models stay for the process."""
        self._nli.close()
        if self._desk is not None:
            self._desk.close()
        if self.store is not None:
            self.store.close()

    def __repr__(self) -> str:
        llm = getattr(self._llm, "model", None)
        return f"Guard(checks={list(self.config.checks)}, nli={self._nli.name!r}, llm={llm!r})"


def _folders(settings: object, folder: str | Path | None) -> tuple[Path, ...]:
    """Where relative paths of the settings may lead from, besides the current directory."""
    if folder is not None:
        return (Path(folder),)
    if isinstance(settings, (str, Path)):
        return (Path(settings) if Path(settings).is_dir() else Path(settings).parent,)
    return ()


def _store_of(config: GuardConfig) -> Store | None:
    if config.store is None:
        return None
    from groundrails.store import Store

    return Store.from_config(config)


def _desk_of(config: GuardConfig, store: Store | None) -> ReviewDesk | None:
    if config.escalation is None:
        return None
    from groundrails.review.desk import ReviewDesk

    return ReviewDesk(config, store)


async def _run_check(
    check: Check, exchange: Exchange, context: CheckContext, told: Sequence[Callable[[CheckResult], None]] = ()
) -> CheckResult:
    """Run one check; whatever goes wrong inside becomes an unverified result, never a score. `told` get the result."""
    enter_check(check.name)
    started = time.perf_counter()
    try:
        result = await check.run(exchange, context)
    except GroundrailsError as error:
        result = _failed(check, error)
    except Exception as error:  # boundary to checks, models and providers: nothing of theirs may reach the app
        log.error("groundrails: check %s failed: %s", check.name, place_of(error))
        result = _failed(check, error)
    result = result.model_copy(update={"duration_ms": (time.perf_counter() - started) * 1000})
    for tell in told:
        tell(result)
    return result


def _failed(check: Check, error: Exception) -> CheckResult:
    kind = type(error).__name__
    return CheckResult(
        name=check.name,
        status="unverified",
        reason=f"check_failed: {reason_of(error)}",
        version=check.version,
        details={"error": kind},
    )


def _build_report(
    results: Sequence[CheckResult], config: GuardConfig, exchange: Exchange, usage: LlmUsage, cap: Decision | None
) -> Report:
    results = without_doubles(results)
    status, reason = overall_status(results)
    findings = tuple(finding for result in results for finding in result.findings)
    unverified = any(result.status == "unverified" for result in results)
    ruling = decide(findings, status, config, any_unverified=unverified, cap=cap, is_streaming=exchange.is_chunk)
    score = None if status == "unverified" else hallucination_score(results)
    metrics = {name: value for result in results for name, value in result.metrics.items()}
    return Report(
        status=status,
        reason=reason,
        decision=ruling.decision,
        decided_by=ruling.decided_by,
        hallucination_score=score,
        risk_level=risk_level(score, config.scoring.risk),
        claims=tuple(claim for result in results for claim in result.claims),
        findings=findings,
        checks={result.name: result for result in results},
        metrics={**metrics, **composite_metrics(metrics, config.scoring.composite)},
        timings_ms={result.name: result.duration_ms for result in results},
        llm=usage,
        evidence_from=exchange.evidence_from,
        version=__version__,
    )


def overall_status(results: Sequence[CheckResult]) -> tuple[Status, str]:
    """Status and reason of a report: any hallucinated check wins; else any unverified one; else grounded (DESIGN)."""
    for wanted in ("hallucinated", "unverified", "grounded"):
        named = [result for result in results if result.status == wanted]
        if named:
            return named[0].status, _told_reason(named)  # type: ignore[return-value]
    return "unverified", "nothing_checked: " + _told_reason(results)


def _told_reason(results: Sequence[CheckResult]) -> str:
    """The reason that all give, or each one's own behind its name."""
    reasons = {result.reason for result in results}
    return reasons.pop() if len(reasons) == 1 else "; ".join(f"{r.name}: {r.reason}" for r in results)


def hallucination_score(results: Sequence[CheckResult]) -> float | None:
    """The highest of the checks' own probabilities: one bad claim is never averaged away. None if none has one."""
    return max((result.score for result in results if result.score is not None), default=None)


def _usage(sessions: Sequence[LlmSession]) -> LlmUsage:
    parts = [session.usage() for session in sessions]
    names = LlmUsage.model_fields
    return LlmUsage(**{name: sum(getattr(part, name) for part in parts) for name in names})


def _run_in_own_loop(coroutine: Any) -> Report:
    """Run a coroutine to its end in a fresh event loop, in a thread of its own if this one already has a loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)  # type: ignore[no-any-return]
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["report"] = asyncio.run(coroutine)
        except BaseException as error:  # handed to the caller below, unchanged
            outcome["error"] = error

    thread = threading.Thread(target=work, name="groundrails-check-sync")
    thread.start()
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome["report"]  # type: ignore[no-any-return]
