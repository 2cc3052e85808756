"""The engine: runs the configured checks on one exchange, aggregates, and decides."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evidencerails.checks.base import CheckContext, get_check
from evidencerails.checks.claims.examples import load_examples
from evidencerails.checks.knowledge.sources import Sources
from evidencerails.config import GuardConfig
from evidencerails.errors import InputError, SettingsError, traceback_summary
from evidencerails.exchange import (
    NO_RESPONSE,
    EvidenceInput,
    Exchange,
    PromptInput,
    Sample,
    Stakes,
    as_messages,
    as_passages,
)
from evidencerails.llm.adapt import as_client
from evidencerails.llm.base import LlmClient
from evidencerails.llm.cache import cache_from_settings
from evidencerails.llm.prompts import PromptLibrary
from evidencerails.llm.sampling import Sampler
from evidencerails.llm.session import CallAllowance, LlmSession, client_from_settings
from evidencerails.mitigation.answerability import Asked, answerability
from evidencerails.mitigation.escalate import escalate
from evidencerails.mitigation.respond import respond, without_repair_of_calls
from evidencerails.nli.base import NliModel
from evidencerails.nli.service import ExchangeNli, NliService
from evidencerails.operations.telemetry.emit import emit
from evidencerails.pipeline import READS_ARGUMENTS, build_report, run_checks, with_text
from evidencerails.policy import needs_action
from evidencerails.report import Abstention, CheckResult, Decision, Report
from evidencerails.settings.llm import NliSettings
from evidencerails.text.sentences import Splitter
from evidencerails.tool_calls import TOO_DEEP, nests_too_deep, with_arguments
from evidencerails.trace import tracing

if TYPE_CHECKING:
    from evidencerails.measures.consensus import Consensus
    from evidencerails.mitigation.grounded_generation import GroundedAnswer
    from evidencerails.operations.monitoring.tightening import BudgetWatch
    from evidencerails.operations.review.desk import ReviewDesk
    from evidencerails.operations.store import Store

log = logging.getLogger("evidencerails")


class Guard:
    """Checks responses for hallucinations.

    Args:
        settings: the mapping under `evidencerails:`, a path to a YAML file or config folder, a `GuardConfig`, or None.
        nli, llm, judge, prompts: ready-made parts that take the place of those the settings name; `llm` and `judge` may
            be an `LlmClient`, a LangChain model or a model of NeMo's.
        splitter: cuts an answer into sentences, in place of our rules: gives all of a text's words in their order, as
            strings or spans. Called in worker threads; what it gives amiss leaves the answer unverified.
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
        splitter: Splitter | None = None,
        folder: str | Path | None = None,
    ) -> None:
        self.config = GuardConfig.load(settings)
        self.sources = Sources(self.config, _folders(settings, folder))
        """Where `knowledge` and `tools` look things up."""
        if self.config.claims.examples:
            load_examples(self.config.claims.examples)  # a bad file is found now, not at the first answer
        if self.config.structure.has_rules:
            from evidencerails.checks.structure.violations import load_rules

            load_rules(self.config.structure)  # so is a bad schema or model
        self.prompts = prompts or PromptLibrary.load()
        self._splitter = splitter
        self._nli = NliService(nli) if nli is not None else NliService.from_settings(self.config.nli)
        self._llm = as_client(llm) or client_from_settings(self.config.llm)
        self._judge = as_client(judge) or client_from_settings(self.config.llm.judge)
        self._cache = cache_from_settings(self.config.llm.cache)
        self._open_operations()
        # Made now, not on the event loop at the first answer.
        self._checks = {name: get_check(name) for name in self.config.checks}

    def _open_operations(self) -> None:
        """Open the store, the review desk and the watch over the error budget, as far as the settings have them."""
        self.store: Store | None = None
        """Keeps every report; None unless the settings say where."""
        self._desk: ReviewDesk | None = None
        self._budget: BudgetWatch | None = None
        if self.config.store is not None:
            from evidencerails.operations.store import Store

            self.store = Store(self.config.store, redaction=self.config.redaction)
        if self.config.escalation is not None:
            from evidencerails.operations.review.desk import ReviewDesk

            self._desk = ReviewDesk(self.config, self.store)
        if self.config.monitoring.budget.when_exhausted is not None and self.store is not None:
            from evidencerails.operations.monitoring.tightening import BudgetWatch

            self._budget = BudgetWatch(self.config, self.store)

    async def load(self) -> None:
        """Load the NLI model now instead of at the first check.

        Raises:
            EvidencerailsError: it cannot be loaded.
        """
        await self._nli.load()

    def load_soon(self) -> None:
        """Begin to load the NLI model, so that the first check need not wait for all of it. Returns at once; a model
        that cannot be loaded is logged, and leaves each check unverified."""
        self._nli.load_soon()

    async def check(
        self,
        response: str | None = None,
        *,
        evidence: EvidenceInput = None,
        prompt: PromptInput = None,
        samples: Sequence[str | Sample] | None = None,
        tool_calls: Sequence[Any] | None = None,
        tools: Sequence[Any] | None = None,
        schema: Mapping[str, Any] | type[BaseModel] | None = None,
        logprobs: Sequence[Any] | None = None,
        stakes: Stakes | None = None,
    ) -> Report:
        """Check one response, or the tool calls of one that has no text, with the checks named in the settings.

        Raises:
            InputError: an argument has a shape that cannot be read. What goes wrong later is in the report instead.
        """
        if response is None and tool_calls is None:
            raise InputError(NO_RESPONSE)
        exchange = Exchange.of(
            "" if response is None else response,
            evidence=evidence,
            prompt=prompt,
            samples=samples,
            tool_calls=tool_calls or (),
            tools=tools or (),
            response_schema=schema,
            logprobs=logprobs or (),
            stakes=stakes,
        )
        return await self.check_exchange(exchange)

    async def answerability(self, question: PromptInput, *, evidence: EvidenceInput = None) -> Abstention:
        """Whether a question can be answered from the evidence, before anything is generated (`abstention.before`).

        It is read by the embedded model whatever `nli` says: other NLI models have not learned to read questions.

        Args:
            question: as text, or as the messages that end with it: "Who designed it?" is read with the turn before.

        Raises:
            InputError: the question or the evidence has a shape that cannot be read.
            NliError: the embedded model failed.
        """
        settings = self.config.nli if self.config.nli.backend == "embedded" else NliSettings()
        reader = NliService.from_settings(settings)
        asked, passages = Asked.of(as_messages(question)), as_passages(evidence)
        return await answerability(asked, passages, self.config.abstention.before, reader)

    async def consensus(self, answers: Sequence[str | Sample], *, prompt: PromptInput = None) -> Consensus:
        """What most of several answers to one prompt say, and an answer of what they share.

        Raises:
            InputError: the answers or the prompt have a shape that cannot be read.
            NliError: the NLI backend failed.
        """
        from evidencerails.measures.consensus import consensus_of

        exchange = Exchange.of("", samples=answers, prompt=prompt)
        context, _ = self.context(exchange)
        return await consensus_of([one.text for one in exchange.samples], context, question=exchange.user_input)

    async def generate(self, question: str, *, evidence: EvidenceInput, llm: LlmClient | None = None) -> GroundedAnswer:
        """An answer from the evidence alone, a source for each claim (`generation` in the settings).

        Raises:
            SettingsError: there is no model to write it.
            InputError: the evidence has a shape that cannot be read.
            LlmError: the provider failed, or no reply could be read.
        """
        from evidencerails.mitigation.grounded_generation import generate_grounded

        passages = as_passages(evidence)
        context, _ = self.context(Exchange.of(""), llm)
        if context.llm is None:
            raise SettingsError("there is no model to write an answer: set llm.model and llm.base_url, or pass `llm`")
        return await generate_grounded(question, passages, context, context.llm)

    def check_sync(self, response: str | None = None, **arguments: Any) -> Report:
        """`check` for code without an event loop; inside a running loop it blocks the caller, not the work."""
        checked = self.check(response, **arguments)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(checked)
        with ThreadPoolExecutor(1, "evidencerails-check-sync") as thread:
            return thread.submit(asyncio.run, checked).result()

    async def check_exchange(
        self,
        exchange: Exchange,
        *,
        checks: Sequence[str] | None = None,
        cap: Decision | None = None,
        llm: LlmClient | None = None,
        allowance: CallAllowance | None = None,
        sampler: Sampler | None = None,
        on_check: Callable[[CheckResult], None] | None = None,
        mitigate: bool = True,
        sampling_rate: float = 1.0,
    ) -> Report:
        """Check a ready exchange.

        Args:
            checks: names of the checks to run, and of no others; None for those of the settings, and for those of what
                else is given: tool calls, a schema and samples are checked whichever checks the settings name. The
                arguments of tool calls are then claims, too (see `with_arguments`).
            cap: the severest decision the calling flow may take.
            llm: the model that wrote the response (inside NeMo: the app's own), in place of the settings' one.
            allowance: calls to `llm` about claims that stay unsure, where the settings name no model; None: none.
            sampler: shared by several checks of one turn, so that samples are drawn once.
            on_check: called as each check ends, in the order in which they end.
            mitigate: False leaves it at the decision: nothing is repaired, and nobody is asked to review.
            sampling_rate: share of such exchanges that are checked at all; a kept report stands for the others too.
        """
        started = time.perf_counter()
        context, sessions = self.context(exchange, llm, sampler, allowance)
        inputs: Mapping[str, str] = {}
        running = [self._checks.get(name) or get_check(name) for name in (self._checks if checks is None else checks)]
        if checks is None and (exchange.tool_calls or exchange.samples or exchange.response_schema is not None):
            inputs = self._unchecked_inputs(exchange)
            running += map(get_check, inputs)
        shown, unread = exchange, ""
        if checks is None and exchange.tool_calls and not set(READS_ARGUMENTS).isdisjoint(self.config.checks):
            shown = await context.nli.run(with_arguments, exchange)
            unread = TOO_DEEP if any(map(nests_too_deep, exchange.tool_calls)) else ""
        arguments = shown.response[len(exchange.response) :]
        run = partial(run_checks, running, context=context, arguments=arguments, unread=unread, inputs=inputs)
        with tracing(self.config.telemetry, emit) as trace:
            listeners = [one for one in (trace and trace.note_check, on_check) if one]
            report = await run(exchange, cap=cap, listeners=listeners)
            if mitigate and needs_action(report, context.config):
                report = await self._acted_on(report, run, exchange, context, cap, arguments)
            total_ms = (time.perf_counter() - started) * 1000
            changes: dict[str, Any] = {"timings_ms": {**report.timings_ms, "total": total_ms}}
            if sessions:
                changes["llm"] = LlmSession.usage_of(sessions)
            if context.config is not self.config:
                changes["decided_by"] = f"{report.decided_by}; error budget exhausted"
            report = report.model_copy(update=changes)
            if self.store is not None:
                report = self._kept(report, shown, sampling_rate)
            if trace:
                trace.exchange, trace.report, trace.end_ns = shown, report, time.time_ns()
        return report

    async def _acted_on(
        self,
        report: Report,
        recheck: Callable[[Exchange], Awaitable[Report]],
        exchange: Exchange,
        context: CheckContext,
        cap: Decision | None,
        arguments: str,
    ) -> Report:
        """The report after its decision was carried out; what fails in that leaves the response withheld."""
        try:
            if arguments:
                report = without_repair_of_calls(report, exchange)
            report = await respond(report, exchange, context, recheck)
            if report.decision != "escalate" and context.config.escalation is None:
                return report
            shown = with_text(exchange, arguments) if arguments else exchange
            return await escalate(report, shown, context.config, desk=self._desk, cap=cap)
        except Exception as error:  # boundary to models and the review queue; without an answer the decision blocks
            log.error("evidencerails: %s could not be carried out: %s", report.decision, traceback_summary(error))
            return report

    def unverified_report(
        self, checks: Sequence[str], reason: str, exchange: Exchange, *, cap: Decision | None = None
    ) -> Report:
        """The report of checks that could not even begin, such as over evidence that cannot be read."""
        results = [CheckResult(name=name, status="unverified", reason=reason) for name in checks]
        return self._kept(build_report(results, self.config, exchange, cap=cap), exchange)

    def _kept(self, report: Report, exchange: Exchange, sampling_rate: float = 1.0) -> Report:
        """The report with the id under which the store keeps it, if it does."""
        if self.store is None:
            return report
        store = self.settings_in_force.store
        rate = float(getattr(store.sample, report.stakes)) if store is not None else None
        report_id = self.store.put(report, exchange, sample_rate=rate, sampling_rate=sampling_rate)
        return report.model_copy(update={"id": report_id}) if report_id else report

    @property
    def settings_in_force(self) -> GuardConfig:
        """The settings, or the stricter ones while the error budget is exhausted (`monitoring.budget`)."""
        return self.config if self._budget is None else self._budget.settings_in_force

    def _unchecked_inputs(self, exchange: Exchange) -> dict[str, str]:
        """The inputs that none of the settings' checks looks at, by the check that does."""
        given = {
            "tools": ("tool_calls", exchange.tool_calls),
            "structure": ("schema", exchange.response_schema is not None),
            "consistency": ("samples", exchange.samples),
        }
        return {name: said for name, (said, is_given) in given.items() if is_given and name not in self._checks}

    @property
    def llm(self) -> LlmClient | None:
        """The model of the settings; None if they name none."""
        return self._llm

    def context(
        self,
        exchange: Exchange,
        llm: LlmClient | None = None,
        sampler: Sampler | None = None,
        allowance: CallAllowance | None = None,
    ) -> tuple[CheckContext, list[LlmSession]]:
        """What a check of this exchange is given, also for measures and replies outside a check, and whose LLM work to
        count."""
        settings, client = self.config.llm, llm or self._llm
        main = judge = None if client is None else LlmSession(client, settings)
        if self._judge is not None:
            timeout_s = settings.judge.timeout_s if settings.judge else None
            judge = LlmSession(self._judge, settings, beside=main, timeout_s=timeout_s)
        own = LlmSession(llm, settings, beside=main, allowance=allowance) if llm and allowance else None
        if sampler is None and main is not None:
            sampler = Sampler(main, exchange.prompt, self.config.consistency)
        context = CheckContext(
            config=self.settings_in_force,
            nli=ExchangeNli(self._nli),
            prompts=self.prompts,
            llm=main,
            judge=judge,
            sampler=sampler,
            cache=self._cache,
            sources=self.sources,
            own_model=own,
            splitter=self._splitter,
        )
        sessions = [one for one in (main, judge, own, sampler.session if sampler else None) if one is not None]
        return context, list({id(session): session for session in sessions}.values())

    def close(self) -> None:
        """Release the worker thread of a model that was passed in; shared models stay for the process."""
        for part in (self._nli, self._budget, self._desk, self.store):
            if part is not None:
                part.close()

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
