"""Self-consistency: what a model knows it repeats, what it makes up varies (SelfCheckGPT, arXiv 2303.08896)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from evidencerails.checks.agreement import (
    CONTRADICTS_FROM,
    Vote,
    Votes,
    bertscore_votes,
    comparable,
    judge_votes,
    ngram_votes,
    nli_votes,
    pairwise_contradiction_rate,
)
from evidencerails.checks.base import CheckContext
from evidencerails.errors import EvidencerailsError, LlmError, reason_of
from evidencerails.exchange import Exchange, Sample, Span
from evidencerails.measures.consensus import Consensus, consensus_of
from evidencerails.measures.drift import DriftModel
from evidencerails.measures.samples import WantedSamples, wanted_samples
from evidencerails.report import CheckResult, Finding
from evidencerails.settings.claims import ConsistencySettings
from evidencerails.text.claimable import claim_sentences, clean
from evidencerails.text.language import unknown_language
from evidencerails.text.values import values_of

DRIFT_THRESHOLD = 0.5
"""Mean drift over the samples from which a sentence is inconsistent: at least half of them say otherwise.

One contradicting pair among many is an indication, not a verdict: with 5 samples one dissenter leaves a sentence at
0.2. With the default of 2 samples one flat contradiction does reach the threshold: half of what the model says is then
something else. A claim that no majority of the samples supports is high-risk.
"""
FINDING_SCORE = 0.5
"""Least score of a sentence that is reported: it is more likely wrong than not."""
MAX_QUOTES = 3
LISTED = 50
"""Sentences, and claims of the consensus, in the details."""


class ConsistencyCheck:
    """Compares the answer, sentence by sentence, with other samples of the same model.

    Samples come with the exchange or are drawn from its model. They are drawn at once where one request brings them
    all; otherwise, with `early_stop`, a majority first and the rest only if it can still change the verdict.
    """

    name = "consistency"
    version = "1"

    async def run(self, exchange: Exchange, context: CheckContext) -> CheckResult:
        """Check each sentence of the response that makes a claim; without one, no sample is drawn.

        Raises:
            NliError: the NLI backend failed.
            LlmError: the judge failed.
        """
        sentences = await context.nli.run(claim_sentences, exchange.response, context.splitter)
        if not sentences:
            return CheckResult(name=self.name, status="grounded", reason="no_claims", score=0.0, version=self.version)
        settings = context.config.consistency
        if settings.agreement == "nli":
            text = clean(" ".join(s.text for s in sentences)[:5_000])
            if reason := await context.nli.run(unknown_language, text, context.nli.languages):
                return self._unverified(reason)
        if settings.agreement == "judge" and context.judge is None:
            return self._unverified("no_model: agreement by judge needs a model")
        why = "no_model" if context.sampler is None else context.sampler.unavailable
        if why and not exchange.samples:
            return self._unverified(why)
        wanted = await wanted_samples(exchange, context)
        try:
            if exchange.samples:
                compared = await _compare(exchange, sentences, exchange.samples, context)
            else:
                compared = await _draw_and_compare(exchange, sentences, wanted.samples, context)
        except _NoSamplesError as error:
            return self._unverified(f"no_samples: {error}", {"samples_wanted": wanted.samples})
        return await self._result(exchange, sentences, compared, wanted, context)

    def _unverified(self, reason: str, details: dict[str, Any] | None = None) -> CheckResult:
        return CheckResult(
            name=self.name, status="unverified", reason=reason, version=self.version, details=details or {}
        )

    async def _result(
        self,
        exchange: Exchange,
        sentences: list[Span],
        compared: _Compared,
        wanted: WantedSamples,
        context: CheckContext,
    ) -> CheckResult:
        samples, votes = compared
        agreement, model = context.config.consistency.agreement, DriftModel.load()
        version = f"{self.version}+drift-{model.version}+{votes.method}"
        scores = [score_of(row, agreement, model) for row in votes.rows]
        findings = await context.nli.run(self._findings, sentences, votes, scores, version)
        metrics = {"sample_disagreement": max(map(drift_of, votes.rows)), "samples": float(len(samples))}
        if context.config.consistency.agreement == "nli":
            rate = await pairwise_contradiction_rate(votes, exchange, samples, context)
            metrics["pairwise_contradiction_rate"] = rate
        details = _details(sentences, compared, scores, wanted, context.config.consistency)
        if findings and not exchange.is_chunk:
            details["consensus"] = await _consensus([exchange.response, *(s.text for s in samples)], exchange, context)
        return CheckResult(
            name=self.name,
            status="hallucinated" if findings else "grounded",
            reason=f"{len(findings)} of {len(sentences)} sentences drift between samples" if findings else "consistent",
            score=max(scores),
            findings=tuple(findings),
            metrics=metrics,
            details=details,
            version=version,
        )

    def _findings(self, sentences: list[Span], votes: Votes, scores: list[float], version: str) -> list[Finding]:
        together = zip(sentences, votes.rows, scores, strict=True)
        return [self._finding(s, row, score, version) for s, row, score in together if drift_of(row) >= DRIFT_THRESHOLD]

    def _finding(self, sentence: Span, row: Sequence[Vote], score: float, version: str) -> Finding:
        against = sorted((vote for vote in row if vote.drift >= DRIFT_THRESHOLD), key=lambda vote: -vote.drift)
        is_contradicted = any(vote.contradiction >= CONTRADICTS_FROM for vote in row)
        says = "contradict" if is_contradicted else "do not support"
        return Finding(
            kind="inconsistent_samples",
            category="confabulatory" if _is_specific(sentence) else "factual",
            severity="high" if is_contradicted else "medium",
            origin="extrinsic",
            span=sentence,
            reason=f"{len(against)} of {len(row)} samples {says} it",
            evidence=tuple(vote.quote for vote in against if vote.quote)[:MAX_QUOTES],
            score=score,
            check=self.name,
            version=version,
        )


class _Compared(NamedTuple):
    samples: tuple[Sample, ...]
    votes: Votes


class _NoSamplesError(Exception):
    """Not one sample could be drawn, or compared with the answer."""


def drift_of(row: Sequence[Vote]) -> float:
    """Mean drift of one sentence over its samples, in [0, 1]."""
    return sum(vote.drift for vote in row) / len(row)


def score_of(row: Sequence[Vote], agreement: str, model: DriftModel) -> float:
    """Calibrated probability that a sentence is not factual, given its votes; see `evidencerails.measures.drift`."""
    drift = drift_of(row)
    probability = model.probability(agreement, drift, len(row))
    return max(probability, FINDING_SCORE) if drift >= DRIFT_THRESHOLD else probability


def _is_specific(sentence: Span) -> bool:
    values = values_of(clean(sentence.text))
    return bool(values.quantities or values.temporal) or any(not name.is_initial for name in values.names)


async def _draw_and_compare(exchange: Exchange, sentences: list[Span], wanted: int, context: CheckContext) -> _Compared:
    compared = None
    for count in _stages(wanted, context):
        assert context.sampler is not None
        try:
            samples = await context.sampler.draw(count)
        except LlmError as error:
            raise _NoSamplesError(reason_of(error)) from error
        compared = await _compare(exchange, sentences, samples, context)
        if is_settled(compared.votes.rows, wanted):
            break
    assert compared is not None
    return compared


def _stages(wanted: int, context: CheckContext) -> list[int]:
    """After how many samples to look: at the end only, unless an early look can spare calls."""
    settings, sampler = context.config.consistency, context.sampler
    client = sampler.session.client if sampler and sampler.session else None
    is_one_request = settings.sampling == "n" or (settings.sampling != "parallel" and client and client.supports_n)
    if not settings.early_stop or wanted < 3 or is_one_request:
        return [wanted]
    return [wanted // 2 + 1, wanted]


def is_settled(rows: Sequence[Sequence[Vote]], wanted: int) -> bool:
    """True if the samples still to come cannot change the verdict, whatever they say."""
    left = max(0, wanted - len(rows[0]))
    sums = [sum(vote.drift for vote in row) for row in rows]
    bar = DRIFT_THRESHOLD * wanted
    return any(total >= bar for total in sums) or all(total + left < bar for total in sums)


async def _compare(
    exchange: Exchange, sentences: list[Span], samples: Sequence[Sample], context: CheckContext
) -> _Compared:
    agreement = context.config.consistency.agreement
    languages = context.nli.languages if agreement in ("nli", "bertscore") else None
    given, (samples, why) = len(samples), await context.nli.run(comparable, samples, languages)
    if not samples:
        raise _NoSamplesError(f"none of {given} can be compared with the answer ({why})")
    votes = await _votes(exchange, sentences, samples, context)
    return _Compared(tuple(samples), votes._replace(unread=votes.unread + given - len(samples)))


async def _votes(exchange: Exchange, sentences: list[Span], samples: Sequence[Sample], context: CheckContext) -> Votes:
    agreement = context.config.consistency.agreement
    if agreement == "judge" and context.judge is not None:
        return await judge_votes(sentences, samples, exchange.response, context, context.judge)
    if agreement == "bertscore":
        return await context.nli.run(bertscore_votes, sentences, samples)
    if agreement == "ngram":
        return await context.nli.run(ngram_votes, sentences, samples, exchange.response)
    return await nli_votes(exchange, sentences, samples, context)


async def _consensus(answers: Sequence[str], exchange: Exchange, context: CheckContext) -> dict[str, Any]:
    """What most of the answers say, as plain data; a failure is its reason and costs no verdict."""
    try:
        found = await consensus_of(answers, context, question=exchange.user_input)
    except EvidencerailsError as error:
        found = Consensus(reason=reason_of(error), answers=len(answers))
    return found.model_copy(update={"claims": found.claims[:LISTED]}).model_dump(mode="json")


def _details(
    sentences: Sequence[Span],
    compared: _Compared,
    scores: list[float],
    wanted: WantedSamples,
    settings: ConsistencySettings,
) -> dict[str, Any]:
    samples, votes = compared
    details: dict[str, Any] = {
        "agreement": settings.agreement,
        "samples_wanted": wanted.samples,
        "samples": len(samples),
        "samples_unread": votes.unread,
        "sentences": [
            {
                "start": sentence.start,
                "end": sentence.end,
                "drift": round(drift_of(row), 4),
                "score": round(score, 4),
                "contradicted_by": sum(vote.contradiction >= CONTRADICTS_FROM for vote in row),
            }
            for sentence, row, score in zip(sentences[:LISTED], votes.rows, scores, strict=False)
        ],
    }
    if wanted.signals is not None:
        details["risk_signals"] = wanted.signals
    if len(samples) < wanted.samples and not is_settled(votes.rows, wanted.samples):
        details["note"] = f"{len(samples)} of {wanted.samples} samples came; the verdict rests on those"
    return details
