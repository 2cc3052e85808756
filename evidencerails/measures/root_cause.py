"""Why a finding came about: causes by the signs that a turn leaves behind.

In: findings and their exchange. Out: the same findings with `causes`, the likeliest first.

Nothing here looks into the generator. Each cause has a sign that can be read off the question, the evidence, the
samples and the settings, and a weight in [0, 1] that says how strong the sign is; weights are no probabilities and are
not calibrated. A finding without a sign has no cause: none is guessed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

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
BEYOND_EVIDENCE = ("unsupported_claim", "factual_fabrication", "citation_violation")
_CITATION_WORDS = (
    "cite",
    "citation",
    "citations",
    "source",
    "sources",
    "reference",
    "references",
    "passage",
    "passages",
)
Sign = tuple[RootCause, float, str, dict[str, Any]]
"""Cause, weight, reason, and what else a `Cause` has."""


def with_root_causes(
    results: Sequence[CheckResult], exchange: Exchange, settings: RootCauseSettings
) -> list[CheckResult]:
    """The results, each of the first findings with its causes, the likeliest first. Blocks: reads all the evidence."""
    if not any(result.findings for result in results):
        return list(results)
    metrics = {name: value for result in results for name, value in result.metrics.items()}
    disagreement = metrics.get("pairwise_contradiction_rate", metrics.get("sample_disagreement"))
    view, left = ContextView(exchange), itertools.count(MAX_EXPLAINED, -1)

    def explained(finding: Finding) -> Finding:
        causes = causes_of(finding, view, settings, disagreement) if next(left) > 0 else ()
        return finding.model_copy(update={"causes": causes}) if causes else finding

    return [one.model_copy(update={"findings": tuple(map(explained, one.findings))}) for one in results]


def causes_of(
    finding: Finding, view: ContextView, settings: RootCauseSettings, disagreement: float | None = None
) -> tuple[Cause, ...]:
    """The causes of one finding, by weight; empty if no sign of any was found.

    Args:
        disagreement: how far further samples disagree, in [0, 1]; None without samples.
    """
    found: dict[RootCause, Cause] = {}
    signs = _Signs(finding, view, settings, disagreement).all()
    for cause, weight, reason, more in sorted(signs, key=lambda sign: -sign[1]):
        if weight >= MIN_WEIGHT and cause not in found:
            given = {"cause": cause, "weight": round(min(1.0, weight), 3), "reason": reason, **more}
            found[cause] = Cause.model_validate(given)
    return tuple(found.values())


def attribution_matrix(findings: Iterable[Finding]) -> dict[str, dict[str, int]]:
    """Likeliest cause -> category of finding -> number of findings; `undetermined` for those without a sign."""
    counts: dict[str, Counter[str]] = {}
    for finding in findings:
        cause = finding.causes[0].cause if finding.causes else UNDETERMINED
        counts.setdefault(cause, Counter())[finding.category] += 1
    return {cause: dict(sorted(found.items())) for cause, found in sorted(counts.items())}


class _Signs:
    """The signs of one finding."""

    def __init__(self, finding: Finding, view: ContextView, settings: RootCauseSettings, disagreement: float | None):
        self.finding, self.view, self.settings, self.disagreement = finding, view, settings, disagreement
        self.text = finding.span.text if finding.span else ""
        quoted = (quote.passage_id for quote in finding.evidence if quote.source not in ("response", "prompt"))
        self.deciding = view.place_of(next(quoted, None))
        """Place of the passage that the finding quotes."""
        self.nearest = view.nearest_to(self.text)
        """Place of the passage that shares most with its words."""
        self.place = self.nearest if self.deciding is None else self.deciding
        self.is_against_evidence = finding.label == "contradicted" or (
            finding.origin == "intrinsic" and finding.kind in ("unsupported_claim", "citation_violation")
        )
        """True if the evidence says otherwise, rather than nothing."""

    def all(self) -> Iterator[Sign]:
        """Each sign that there is."""
        yield from self._of_generator()
        if self.view.passages:
            yield from self._of_retrieval()
            yield from self._of_evidence()
        yield from self._of_prompt()

    def _of_generator(self) -> Iterator[Sign]:
        """A model generates anyway where it does not know (its samples differ then), or knew once; out of distribution
        no passage fits either; and evidence in the middle of a long context is lost."""
        kind, view, disagreement = self.finding.kind, self.view, self.disagreement
        if kind == "inconsistent_samples":
            yield "knowledge_gap", self.finding.score or 0.6, "asked again, the model says something else", {}
        elif self.finding.violation == "nonexistent_source" or kind == "factual_fabrication":
            yield "knowledge_gap", 0.6, "the model named something that nothing given to it names", {}
        elif kind == "unsupported_claim" and not view.passages:
            yield "knowledge_gap", 0.6, "no evidence was given; the model wrote from memory", {}
        elif kind == "unsupported_claim" and not self.is_against_evidence:
            weight = 0.4 if disagreement is None else 0.3 + 0.6 * disagreement
            samples = "" if disagreement is None else f"; samples disagree by {disagreement:.0%}"
            yield "knowledge_gap", weight, f"nothing given to the model says so{samples}", {}
        cutoff, date = self.settings.training_cutoff, view.date_of(self.deciding)
        if cutoff and date and date > cutoff and self.is_against_evidence:
            reason = f"the evidence ({date}) is younger than the model's knowledge ({cutoff})"
            yield "staleness", 0.8, reason, {}
        elif view.asks_for_news and kind in ("unsupported_claim", "inconsistent_samples"):
            yield "staleness", 0.4, "the question is about something that changes", {}
        if disagreement is not None and disagreement >= 0.5 and view.best_relevance < IRRELEVANT:
            yield "distribution_shift", 0.5 * disagreement, "unlike all the evidence, and samples disagree", {}
        if self.place is not None and (self.is_against_evidence or self.finding.label == "partially_supported"):
            at = view.position_of(self.place, self.settings.context_tokens)
            if at.attention < MIN_ATTENTION:
                reason = f"the evidence stands at about token {at.token} of {at.context_tokens}"
                yield "context_overflow", 1.0 - at.attention, reason, self._at(self.place, position=round(at.share, 3))

    def _of_retrieval(self) -> Iterator[Sign]:
        """Nothing retrieved is about the question or the claim, or what is not about it is taken as authoritative."""
        view, kind = self.view, self.finding.kind
        is_relevant = view.best_relevance >= RELEVANT
        if not self.is_against_evidence and kind in BEYOND_EVIDENCE:
            if view.has_question and not is_relevant:
                yield "retrieval_miss", 1.0 - view.best_relevance, "no passage is about the question", {}
            elif content_of(self.text) and view.overlap_with(self.text, self.nearest) < RELEVANT:
                yield "retrieval_miss", 0.5, "no passage is about what the claim says", {}
        if not view.has_question or not is_relevant:
            return
        noise = [place for place, relevance in enumerate(view.relevance) if relevance < IRRELEVANT]
        if self.place in noise and view.overlap_with(self.text, self.place) >= RELEVANT:
            reason = "it leans on a passage that is not about the question"
            yield "retrieval_noise", 0.7, reason, self._at(self.place)
        elif len(noise) > len(view.passages) / 2 and kind in BEYOND_EVIDENCE:
            reason = f"{len(noise)} of {len(view.passages)} passages are not about the question"
            yield "retrieval_noise", 0.4, reason, {}

    def _of_evidence(self) -> Iterator[Sign]:
        """An older or another passage has the values of a claim which the deciding one contradicts; the one that it
        rests on is too old, or gives orders to its reader."""
        view, newer = self.view, self.view.date_of(self.deciding)
        has_rivals = self.deciding is not None and self.is_against_evidence
        for rival in view.with_values_of(self.text) if has_rivals else ():
            older = view.date_of(rival)
            if rival == self.deciding:
                continue
            if not (newer and older):
                yield "poisoned_evidence", 0.6, "one passage says so and another says otherwise", self._at(rival)
            elif older < newer:
                reason = f"an older passage ({older}) says so, a newer one ({newer}) otherwise"
                yield "stale_evidence", 0.8, reason, self._at(rival)
        limit, age = self.settings.max_evidence_age_days, view.age_of(self.place)
        if limit is not None and age is not None and age > limit:
            yield "stale_evidence", 0.6, f"the nearest passage is {age} days old", self._at(self.place)
        for place in view.giving_orders:
            if place in (self.deciding, self.nearest):
                yield "poisoned_evidence", 0.9, "the passage gives orders to its reader", self._at(place)

    def _of_prompt(self) -> Iterator[Sign]:
        """Structural and contextual errors where the prompt leaves open what is meant or wanted."""
        view, kind, violation = self.view, self.finding.kind, self.finding.violation
        if kind == "structure_violation" and not view.prompt_says("json", "schema", "format", "yaml", "fields"):
            yield "prompt_ambiguity", 0.7, "the prompt does not say which form the answer has", {}
        if violation in ("missing_citation", "uncited_claim") and not view.prompt_says(*_CITATION_WORDS):
            yield "prompt_ambiguity", 0.8, "the prompt does not ask for citations", {}
        if view.ambiguity and kind not in ("structure_violation", "logic_error"):
            yield "prompt_ambiguity", 0.5, view.ambiguity, {}

    def _at(self, place: int | None, **more: Any) -> dict[str, Any]:
        return {"passage_id": self.view.passages[place or 0].id, **more}
