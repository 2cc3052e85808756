"""Why a finding came about: causes by the signs that a turn leaves behind.

In: findings and their exchange. Out: the same findings with `causes`, the likeliest first.

Nothing here looks into the generator. Each cause has a sign that can be read off the question, the evidence, the
samples and the settings, and a weight in [0, 1] that says how strong the sign is; weights are no probabilities and are
not calibrated. A finding without a sign has no cause: none is guessed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evidencerails.exchange import Exchange
from evidencerails.measures.context_view import ContextView
from evidencerails.measures.lexical import content_of
from evidencerails.report import Cause, CheckResult, Finding, RootCause
from evidencerails.settings.citations import RootCauseSettings

MIN_ATTENTION = 0.4
"""Attention below which evidence counts as overlooked, as a share of what the ends of the context get."""
MAX_EXPLAINED = 50
"""Findings of a response that get causes; a long list has the same ones."""
RELEVANT = 0.35
"""Share of a question's words from which a passage is about it (see `lexical.lexical_overlap`)."""
IRRELEVANT = 0.15
"""Share below which it has nothing to do with it."""
MIN_WEIGHT = 0.2
"""Weaker signs are left out."""
UNDETERMINED = "undetermined"


class _Signs(NamedTuple):
    """What the rules read of one finding."""

    finding: Finding
    text: str
    """Its span."""
    view: ContextView
    settings: RootCauseSettings
    disagreement: float | None
    """How far further samples disagree, in [0, 1]; None without samples."""
    deciding: int | None
    """Place of the passage that the finding quotes."""
    nearest: int | None
    """Place of the passage that shares most with its words."""

    @property
    def is_against_evidence(self) -> bool:
        """True if the evidence says otherwise, rather than nothing."""
        return self.finding.label == "contradicted" or (
            self.finding.origin == "intrinsic" and self.finding.kind in ("unsupported_claim", "citation_violation")
        )


def with_root_causes(
    results: Sequence[CheckResult], exchange: Exchange, settings: RootCauseSettings
) -> list[CheckResult]:
    """The results, each of the first findings with its causes, the likeliest first. Blocks: reads all the evidence."""
    if not any(result.findings for result in results):
        return list(results)
    view = ContextView(exchange)
    disagreement = _disagreement(results)
    left = itertools.count(MAX_EXPLAINED, -1)

    def explained(finding: Finding) -> Finding:
        causes = causes_of(finding, view, settings, disagreement) if next(left) > 0 else ()
        return finding.model_copy(update={"causes": causes}) if causes else finding

    return [one.model_copy(update={"findings": tuple(map(explained, one.findings))}) for one in results]


def causes_of(
    finding: Finding, view: ContextView, settings: RootCauseSettings, disagreement: float | None = None
) -> tuple[Cause, ...]:
    """The causes of one finding, by weight; empty if no sign of any was found."""
    text = finding.span.text if finding.span else ""
    signs = _Signs(finding, text, view, settings, disagreement, view.place_of(_quoted(finding)), view.nearest_to(text))
    found: dict[RootCause, Cause] = {}
    for cause in sorted((cause for rule in RULES for cause in rule(signs)), key=lambda cause: -cause.weight):
        if cause.weight >= MIN_WEIGHT:
            found.setdefault(cause.cause, cause)
    return tuple(found.values())


def attribution_matrix(findings: Iterable[Finding]) -> dict[str, dict[str, int]]:
    """Likeliest cause -> category of finding -> number of findings; `undetermined` for those without a sign."""
    counts: dict[str, Counter[str]] = {}
    for finding in findings:
        cause = finding.causes[0].cause if finding.causes else UNDETERMINED
        counts.setdefault(cause, Counter())[finding.category] += 1
    return {cause: dict(sorted(found.items())) for cause, found in sorted(counts.items())}


def _quoted(finding: Finding) -> str | None:
    return next((quote.passage_id for quote in finding.evidence if quote.source not in ("response", "prompt")), None)


def _disagreement(results: Sequence[CheckResult]) -> float | None:
    metrics = {name: value for result in results for name, value in result.metrics.items()}
    return metrics.get("pairwise_contradiction_rate", metrics.get("sample_disagreement"))


def _cause(cause: RootCause, weight: float, reason: str, **more: object) -> Cause:
    return Cause.model_validate({"cause": cause, "weight": round(min(1.0, weight), 3), "reason": reason, **more})


# ---- the rules


def _knowledge_gap(signs: _Signs) -> Iterable[Cause]:
    """The model generates anyway where it does not know; its uncertainty shows in samples that differ."""
    finding, disagreement = signs.finding, signs.disagreement
    if finding.kind == "inconsistent_samples":
        yield _cause("knowledge_gap", finding.score or 0.6, "asked again, the model says something else")
    elif finding.violation == "nonexistent_source" or finding.kind == "factual_fabrication":
        yield _cause("knowledge_gap", 0.6, "the model named something that nothing given to it names")
    elif finding.kind == "unsupported_claim" and not signs.view.passages:
        yield _cause("knowledge_gap", 0.6, "no evidence was given; the model wrote from memory")
    elif finding.kind == "unsupported_claim" and not signs.is_against_evidence:
        weight = 0.4 if disagreement is None else 0.3 + 0.6 * disagreement
        reason = "nothing given to the model says so" + (
            "" if disagreement is None else f"; samples disagree by {disagreement:.0%}"
        )
        yield _cause("knowledge_gap", weight, reason)


def _staleness(signs: _Signs) -> Iterable[Cause]:
    """What changed after the training cut-off, and questions about what changes."""
    cutoff, date = signs.settings.training_cutoff, signs.view.date_of(signs.deciding)
    if cutoff and date and date > cutoff and signs.is_against_evidence:
        yield _cause("staleness", 0.8, f"the evidence ({date}) is younger than the model's knowledge ({cutoff})")
    elif signs.view.asks_for_news and signs.finding.kind in ("unsupported_claim", "inconsistent_samples"):
        yield _cause("staleness", 0.4, "the question is about something that changes")


def _distribution_shift(signs: _Signs) -> Iterable[Cause]:
    """Out of distribution, outputs are well-formed and unreliable: no passage fits, and samples vary."""
    if signs.disagreement is not None and signs.disagreement >= 0.5 and signs.view.best_relevance < IRRELEVANT:
        yield _cause("distribution_shift", 0.5 * signs.disagreement, "unlike all the evidence, and samples disagree")


def _context_overflow(signs: _Signs) -> Iterable[Cause]:
    """Evidence in the middle of a long context is lost. Reported with its place, in tokens and as a share."""
    place = signs.deciding if signs.deciding is not None else signs.nearest
    if place is None or not (signs.is_against_evidence or signs.finding.label == "partially_supported"):
        return
    at = signs.view.position_of(place, signs.settings.context_tokens)
    if at.attention < MIN_ATTENTION:
        yield _cause(
            "context_overflow",
            1.0 - at.attention,
            f"the evidence stands at about token {at.token} of {at.context_tokens}",
            passage_id=signs.view.passages[place].id,
            position=round(at.share, 3),
        )


def _retrieval_miss(signs: _Signs) -> Iterable[Cause]:
    """Relevant evidence was not retrieved: none is about the question, or none about the claim."""
    view = signs.view
    if not view.passages or signs.is_against_evidence or signs.finding.kind not in _BEYOND_EVIDENCE:
        return
    if view.has_question and view.best_relevance < RELEVANT:
        yield _cause("retrieval_miss", 1.0 - view.best_relevance, "no passage is about the question")
    elif content_of(signs.text) and view.overlap_with(signs.text, signs.nearest) < RELEVANT:
        yield _cause("retrieval_miss", 0.5, "no passage is about what the claim says")


_BEYOND_EVIDENCE = ("unsupported_claim", "factual_fabrication", "citation_violation")


def _retrieval_noise(signs: _Signs) -> Iterable[Cause]:
    """Irrelevant passages are taken as authoritative: the finding leans on one, or most of them are such."""
    view = signs.view
    if not view.has_question or view.best_relevance < RELEVANT:
        return
    noise = [place for place, relevance in enumerate(view.relevance) if relevance < IRRELEVANT]
    place = signs.deciding if signs.deciding is not None else signs.nearest
    if place in noise and view.overlap_with(signs.text, place) >= RELEVANT:
        passage = view.passages[place].id
        yield _cause("retrieval_noise", 0.7, "it leans on a passage that is not about the question", passage_id=passage)
    elif len(noise) > len(view.passages) / 2 and signs.finding.kind in _BEYOND_EVIDENCE:
        yield _cause(
            "retrieval_noise", 0.4, f"{len(noise)} of {len(view.passages)} passages are not about the question"
        )


def _stale_evidence(signs: _Signs) -> Iterable[Cause]:
    """Outdated evidence: an older passage has the claim's values, or the one it rests on is too old."""
    view, place = signs.view, signs.deciding if signs.deciding is not None else signs.nearest
    newer = view.date_of(signs.deciding)
    for rival in _rivals(signs):
        older = view.date_of(rival)
        if newer and older and older < newer:
            reason = f"an older passage ({older}) says so, a newer one ({newer}) otherwise"
            yield _cause("stale_evidence", 0.8, reason, passage_id=view.passages[rival].id)
    limit, age = signs.settings.max_evidence_age_days, view.age_of(place)
    if limit is not None and place is not None and age is not None and age > limit:
        passage = view.passages[place].id
        yield _cause("stale_evidence", 0.6, f"the nearest passage is {age} days old", passage_id=passage)


def _poisoned_evidence(signs: _Signs) -> Iterable[Cause]:
    """The evidence itself errs: passages that disagree about the claim, or one that gives orders."""
    view = signs.view
    for rival in _rivals(signs):
        if not (view.date_of(rival) and view.date_of(signs.deciding)):
            reason = "one passage says so and another says otherwise"
            yield _cause("poisoned_evidence", 0.6, reason, passage_id=view.passages[rival].id)
    for place in view.giving_orders:
        if place in (signs.deciding, signs.nearest):
            reason = "the passage gives orders to its reader"
            yield _cause("poisoned_evidence", 0.9, reason, passage_id=view.passages[place].id)


def _rivals(signs: _Signs) -> list[int]:
    """Passages that have the values of a claim which the deciding passage contradicts."""
    if signs.deciding is None or not signs.is_against_evidence:
        return []
    return [n for n in signs.view.with_values_of(signs.text) if n != signs.deciding]


def _prompt_ambiguity(signs: _Signs) -> Iterable[Cause]:
    """Structural and contextual errors where the prompt leaves open what is meant or wanted."""
    view, finding = signs.view, signs.finding
    if finding.kind == "structure_violation" and not view.prompt_says("json", "schema", "format", "yaml", "fields"):
        yield _cause("prompt_ambiguity", 0.7, "the prompt does not say which form the answer has")
    if finding.violation in ("missing_citation", "uncited_claim") and not view.prompt_says(
        "cite", "citation", "citations", "source", "sources", "reference", "references", "passage", "passages"
    ):
        yield _cause("prompt_ambiguity", 0.8, "the prompt does not ask for citations")
    if view.ambiguity and finding.kind not in ("structure_violation", "logic_error"):
        yield _cause("prompt_ambiguity", 0.5, view.ambiguity)


RULES = (
    _knowledge_gap,
    _staleness,
    _distribution_shift,
    _context_overflow,
    _retrieval_miss,
    _retrieval_noise,
    _stale_evidence,
    _poisoned_evidence,
    _prompt_ambiguity,
)
