"""A method is the name of a check or of a measure; either becomes one verdict on a response."""

from __future__ import annotations

import time
from collections.abc import Sequence

from evidencerails.adapters.nemo_watch import ACTS_ON_THE_WORLD
from evidencerails.config import GuardConfig
from evidencerails.errors import SettingsError
from evidencerails.evaluation.outcomes import Part, Verdict
from evidencerails.evaluation.rows import Row
from evidencerails.exchange import Exchange
from evidencerails.guard import Guard
from evidencerails.measures.base import MeasureResult, run_measures
from evidencerails.measures.registry import get_measure
from evidencerails.report import CheckResult, Report
from evidencerails.settings.policies import CHECKS
from evidencerails.settings.problems import nearest
from evidencerails.settings.scoring import MEASURES
from evidencerails.text.claims import extract_claims

MEASURE_THRESHOLD = 0.5
"""A measure decides nothing by itself: from this score on its response counts as flagged."""
UNSUPPORTED = ("contradicted", "absent", "partially_supported")


def known(methods: Sequence[str]) -> tuple[str, ...]:
    """The methods, each once. `SettingsError`: one is neither a check nor a measure."""
    available = [*CHECKS, *MEASURES]
    for name in methods:
        if name not in available:
            raise SettingsError(
                f"unknown method {name!r}{nearest(name, available)}; checks: {', '.join(CHECKS)}; "
                f"measures: {', '.join(MEASURES)}"
            )
    return tuple(dict.fromkeys(methods))


def for_trial(config: GuardConfig) -> GuardConfig:
    """The settings without what acts on the world: nothing is stored, reviewed or sent."""
    fields = GuardConfig.model_fields
    return config.model_copy(
        update={name: fields[name].get_default(call_default_factory=True) for name in ACTS_ON_THE_WORLD}
    )


def for_evaluation(config: GuardConfig) -> GuardConfig:
    """The same, and no measure rides along."""
    return for_trial(config.model_copy(update={"scoring": config.scoring.model_copy(update={"measures": ()})}))


async def verdict_of(guard: Guard, method: str, row: Row) -> Verdict:
    """What a method says about a row; latency is from the call to the answer, waiting included."""
    exchange = Exchange.of(row.response, evidence=list(row.evidence), prompt=row.prompt, samples=list(row.samples))
    started = time.perf_counter()
    if method in CHECKS:
        verdict = _of_check(await guard.check_exchange(exchange, checks=[method], mitigate=False), method)
    else:
        verdict = await _measured(guard, method, exchange)
    return verdict._replace(latency_ms=(time.perf_counter() - started) * 1000)


def _of_check(report: Report, method: str) -> Verdict:
    """A check that had nothing to do has no verdict on the row: it counts as unverified here."""
    result = report.checks[method]
    status = "unverified" if result.status == "skipped" else result.status
    tokens = report.llm.prompt_tokens + report.llm.completion_tokens
    score = None if status == "unverified" else result.score
    return Verdict(status, score, result.reason, tuple(_parts_of(result)), report.llm.calls, tokens)


def _parts_of(result: CheckResult) -> list[Part]:
    """The claims of a check; for one that judges sentences without making claims, its sentences."""
    if result.claims:
        return [Part(c.span.start, c.span.end, c.score, c.label in UNSUPPORTED) for c in result.claims]
    bad = {(f.span.start, f.span.end) for f in result.findings if f.span is not None}
    sentences = result.details.get("sentences")
    return [
        Part(item["start"], item["end"], item["drift"], (item["start"], item["end"]) in bad)
        for item in (sentences if isinstance(sentences, list) else ())  # a check that could not start gives a count
        if isinstance(item, dict) and "drift" in item
    ]


async def _measured(guard: Guard, name: str, exchange: Exchange) -> Verdict:
    context, sessions = guard.context(exchange)
    claims = await context.nli.run(extract_claims, exchange.response, context.splitter)
    (result,) = await run_measures([get_measure(name)], exchange, claims, context)
    usages = [session.usage() for session in sessions]
    tokens = sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)
    verdict = _of_measure(result, [(claim.span.start, claim.span.end) for claim in claims])
    return verdict._replace(llm_calls=sum(usage.calls for usage in usages), tokens=tokens)


def _of_measure(result: MeasureResult, spans: list[tuple[int, int]]) -> Verdict:
    """A response without a claim is clean; one with any claim that could not be measured is unverified, unless another
    claim is bad enough by itself."""
    parts = tuple(
        Part(*span, claim.score, claim.score is not None and claim.score >= MEASURE_THRESHOLD)
        for span, claim in zip(spans, result.claims, strict=False)
    )
    if not spans and result.score is None:
        return Verdict("grounded", 0.0, "no_claims")
    if result.score is not None and result.score >= MEASURE_THRESHOLD:
        return Verdict("hallucinated", result.score, result.reason, parts)
    measured = [claim.score is not None for claim in result.claims]
    if result.score is None or (any(measured) and not all(measured)):
        return Verdict("unverified", None, result.reason or "not_measured")
    return Verdict("grounded", result.score, result.reason, parts)
