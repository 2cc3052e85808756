"""Why a finding came about: causes by the signs that a turn leaves behind.

In: findings and their exchange. Out: the same findings with `causes`, the likeliest first.

Nothing here looks into the generator. Each cause has a sign that can be read off the question, the evidence, the
samples and the settings, and a weight in [0, 1] that says how strong the sign is; weights are no probabilities and are
not calibrated. A finding without a sign has no cause: none is guessed.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from evidencerails.exchange import Exchange
from evidencerails.measures.evidence import date_in
from evidencerails.nli.windows import stems_of
from evidencerails.report import Cause, CheckResult, Finding, RootCause
from evidencerails.settings.claims import RootCauseSettings
from evidencerails.text.claimable import clean
from evidencerails.text.values import values_of

MIN_ATTENTION = 0.4
"""Attention below which evidence counts as overlooked, as a share of what the ends of the context get."""
MAX_EXPLAINED = 50
"""Findings of a response that get causes; a long list has the same ones."""
RELEVANT = 0.35
"""Share of a question's words from which a passage is about it."""
IRRELEVANT = 0.15
"""Share below which it has nothing to do with it."""
MIN_WEIGHT = 0.2
"""Weaker signs are left out."""
UNDETERMINED = "undetermined"
BEYOND_EVIDENCE = ("unsupported_claim", "factual_fabrication", "citation_violation")
_CITATION_WORDS = "cite|citations?|sources?|references?|passages?"
Sign = tuple[RootCause, float, str, dict[str, Any]]
"""Cause, weight, reason, and what else a `Cause` has."""


CHARACTERS_PER_TOKEN = 4.0
"""English text; good enough to distinguish the middle of a context from its ends."""
ENDS = 0.9
"""Attention that the very first and the very last token get beside the floor."""
FLOOR = 0.1
"""Attention that a token in the middle of an endless context keeps."""
REACH = 0.25
"""How far attention reaches into a context, as a share of what the generator reads reliably."""
MAX_READ = 40_000
"""Characters of a passage that are compared; a longer one is judged by its beginning."""
_DATE_KEYS = ("date", "updated", "updated_at", "modified", "last_modified", "published", "published_at", "timestamp",
              "year")  # fmt: skip
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,40}\b(?:instructions?|prompts?|rules|above|previous)\b"
    r"|\b(?:you are now|system prompt|as an ai|reply only with|you must (?:answer|say|reply|respond|tell))\b",
    re.IGNORECASE,
)
_NEWS = re.compile(
    r"\b(?:current(?:ly)?|latest|newest|now(?:adays)?|today|this (?:year|month|week)|right now|recent(?:ly)?|so far|"
    r"price|stock|version|release|still|these days|as of)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(r"\b(?:it|they|them|that|this|those|these|he|she|him|her|there|one)\b", re.IGNORECASE)
_NAMED = re.compile(r"(?<=\s)[^\W\d_a-z]\w+|\d")


def with_root_causes(
    results: Sequence[CheckResult], exchange: Exchange, settings: RootCauseSettings
) -> list[CheckResult]:
    """The results, each of the first findings with its causes, the likeliest first. Blocks: reads all the evidence."""
    metrics = {name: value for result in results for name, value in result.metrics.items()}
    disagreement = metrics.get("pairwise_contradiction_rate", metrics.get("sample_disagreement"))
    view, left, explained = ContextView(exchange), itertools.count(MAX_EXPLAINED, -1), []
    for result in results:
        findings = list(result.findings)
        for place, finding in enumerate(findings):
            if next(left) > 0 and (causes := causes_of(finding, view, settings, disagreement)):
                findings[place] = finding.model_copy(update={"causes": causes})
        explained.append(result.model_copy(update={"findings": tuple(findings)}) if findings else result)
    return explained


def causes_of(
    finding: Finding, view: ContextView, settings: RootCauseSettings, disagreement: float | None = None
) -> tuple[Cause, ...]:
    """The causes of one finding, by weight; empty if no sign of any was found.

    Args:
        disagreement: how far further samples disagree, in [0, 1]; None without samples.
    """
    found: dict[RootCause, Cause] = {}
    signs = _Signs(finding, view, settings, disagreement)
    every = [*signs.of_generator()]
    every += signs.of_evidence() if view.passages else ()
    every += signs.of_prompt() if view.prompt else ()
    for cause, weight, reason, more in sorted(every, key=lambda sign: -sign[1]):
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


class Position(NamedTuple):
    """Where a passage is in what the generator read."""

    token: int
    """Estimated tokens before its middle."""
    context_tokens: int
    """Estimated tokens of all that was given."""
    share: float
    """0 at the beginning, 1 at the end."""
    attention: float
    """Expected attention, in [0, 1]; see `attention`."""


class ContextView:
    """One exchange as its generator saw it. Made once, asked for each finding."""

    def __init__(self, exchange: Exchange, today: datetime.date | None = None) -> None:
        """The age of evidence counts from `today`; the clock's if None."""
        self.passages = exchange.evidence
        self.prompt = " ".join(message.content for message in exchange.prompt)
        self.question = exchange.user_input
        self.today = today or datetime.date.today()
        self.texts = [clean(passage.text[:MAX_READ]) for passage in self.passages]
        self.words = [stems_of(text) for text in self.texts]
        found = [passage.metadata and date_in(passage.metadata, _DATE_KEYS) for passage in self.passages]
        self.dates = [date.date() if date else None for date in found]
        """Date of each passage from its metadata; None if it has none."""
        self.relevance = self.overlaps(self.question)
        """How far each passage is about the question, in [0, 1]."""
        self.best_relevance = max(self.relevance, default=0.0)
        characters = len(self.prompt) + sum(len(passage.text) for passage in self.passages)
        self.tokens = characters / CHARACTERS_PER_TOKEN
        """Estimated tokens of all that was given."""
        self.turns = sum(message.role == "user" for message in exchange.prompt)

    def overlaps(self, text: str) -> list[float]:
        """How far each passage is about the same thing as a text: share of its words, those that are no numbers."""
        terms = {term for term in stems_of(text) if not term[0].isdigit()}
        return [len(terms & words) / len(terms) if terms else 0.0 for words in self.words]

    def position_of(self, place: int, reliable_tokens: int) -> Position:
        """Where a passage is: in the prompt if it is found there, else in the evidence in its order."""
        text = self.passages[place].text
        at = self.prompt.find(text[:200])
        if at >= 0:
            whole = len(self.prompt)
        else:
            at = len(self.prompt) + sum(len(passage.text) for passage in self.passages[:place])
            whole = len(self.prompt) + sum(len(passage.text) for passage in self.passages)
        token, total = (at + len(text) / 2) / CHARACTERS_PER_TOKEN, max(1.0, whole / CHARACTERS_PER_TOKEN)
        return Position(round(token), round(total), min(1.0, token / total), attention(token, total, reliable_tokens))

    def prompt_says(self, words: str) -> bool:
        """True if the prompt has one of these words."""
        return re.search(rf"\b(?:{words})\b", self.prompt, re.IGNORECASE) is not None

    @cached_property
    def ambiguity(self) -> str:
        """What the question leaves open; empty if nothing was seen."""
        is_short = self.turns == 1 and len(stems_of(self.question)) <= 2
        if is_short and _POINTING.search(self.question) and not _NAMED.search(self.question):
            return "the question points at something that it does not name"
        if self.question.count("?") > 2:
            return f"the prompt asks {self.question.count('?')} questions at once"
        return ""


class _Signs:
    def __init__(self, finding: Finding, view: ContextView, settings: RootCauseSettings, disagreement: float | None):
        self.finding, self.view, self.settings, self.disagreement = finding, view, settings, disagreement
        self.text = finding.span.text if finding.span else ""
        quoted = {quote.passage_id for quote in finding.evidence[:1] if quote.source not in ("response", "prompt")}
        self.deciding = next((n for n, passage in enumerate(view.passages) if passage.id in quoted), None)
        """Place of the passage that the finding quotes."""
        self.date = None if self.deciding is None else view.dates[self.deciding]
        self.overlaps = view.overlaps(self.text)
        best = max(range(len(self.overlaps)), key=self.overlaps.__getitem__, default=None)
        self.nearest = best if best is not None and self.overlaps[best] > 0 else None
        """Place of the passage that shares most with its words."""
        self.place = self.nearest if self.deciding is None else self.deciding
        self.is_against_evidence = finding.label == "contradicted" or (
            finding.origin == "intrinsic" and finding.kind in ("unsupported_claim", "citation_violation")
        )
        """True if the evidence says otherwise, rather than nothing."""

    def of_generator(self) -> Iterator[Sign]:
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
        cutoff = self.settings.training_cutoff
        if cutoff and self.date and self.date > cutoff and self.is_against_evidence:
            reason = f"the evidence ({self.date}) is younger than the model's knowledge ({cutoff})"
            yield "staleness", 0.8, reason, {}
        elif _NEWS.search(view.question) and kind in ("unsupported_claim", "inconsistent_samples"):
            yield "staleness", 0.4, "the question is about something that changes", {}
        if disagreement is not None and disagreement >= 0.5 and view.best_relevance < IRRELEVANT:
            yield "distribution_shift", 0.5 * disagreement, "unlike all the evidence, and samples disagree", {}
        is_long = view.tokens > REACH * self.settings.context_tokens  # in a shorter context nothing is overlooked
        is_about_it = self.is_against_evidence or self.finding.label == "partially_supported"
        if self.place is not None and is_about_it and is_long:
            at = view.position_of(self.place, self.settings.context_tokens)
            if at.attention < MIN_ATTENTION:
                reason = f"the evidence stands at about token {at.token} of {at.context_tokens}"
                yield "context_overflow", 1.0 - at.attention, reason, self._at(self.place, position=round(at.share, 3))

    def of_evidence(self) -> Iterator[Sign]:
        """Nothing retrieved is about the question or the claim, or what is not about it is taken as authoritative; an
        older or another passage has the values of a claim that the deciding one contradicts; the passage it rests on is
        too old, or gives orders to its reader."""
        view, is_beyond = self.view, self.finding.kind in BEYOND_EVIDENCE
        has_question, is_relevant = bool(stems_of(view.question)), view.best_relevance >= RELEVANT
        if not self.is_against_evidence and is_beyond:
            if has_question and not is_relevant:
                yield "retrieval_miss", 1.0 - view.best_relevance, "no passage is about the question", {}
            elif stems_of(self.text) and max(self.overlaps) < RELEVANT:
                yield "retrieval_miss", 0.5, "no passage is about what the claim says", {}
        noise = [n for n, one in enumerate(view.relevance) if one < IRRELEVANT] if has_question and is_relevant else []
        if self.place in noise and self.overlaps[self.place] >= RELEVANT:
            reason = "it leans on a passage that is not about the question"
            yield "retrieval_noise", 0.7, reason, self._at(self.place)
        elif len(noise) > len(view.passages) / 2 and is_beyond:
            reason = f"{len(noise)} of {len(view.passages)} passages are not about the question"
            yield "retrieval_noise", 0.4, reason, {}
        values = values_of(self.text)
        places = [(one.start, one.end) for one in values.quantities] + [(m.start, m.end) for m in values.temporal]
        stated = [self.text[start:end].strip().lower() for start, end in places]
        if self.deciding is not None and self.is_against_evidence and stated:
            for rival, text in enumerate(view.texts):
                says_so = self.overlaps[rival] >= 0.5 and all(one in text.lower() for one in stated)
                if not says_so or rival == self.deciding:
                    continue
                older, newer = view.dates[rival], self.date
                if not (newer and older):
                    yield "poisoned_evidence", 0.6, "one passage says so and another says otherwise", self._at(rival)
                elif older < newer:
                    reason = f"an older passage ({older}) says so, a newer one ({newer}) otherwise"
                    yield "stale_evidence", 0.8, reason, self._at(rival)
        limit, date = self.settings.max_evidence_age_days, None if self.place is None else view.dates[self.place]
        if limit is not None and date is not None and (age := (view.today - date).days) > limit:
            yield "stale_evidence", 0.6, f"the nearest passage is {age} days old", self._at(self.place)
        for place in sorted({one for one in (self.deciding, self.nearest) if one is not None}):
            if _ORDERS.search(view.passages[place].text[:MAX_READ]):
                yield "poisoned_evidence", 0.9, "the passage gives orders to its reader", self._at(place)

    def of_prompt(self) -> Iterator[Sign]:
        """Structural and contextual errors where the prompt leaves open what is meant or wanted."""
        view, kind, violation = self.view, self.finding.kind, self.finding.violation
        if kind == "structure_violation" and not view.prompt_says("json|schema|format|yaml|fields"):
            yield "prompt_ambiguity", 0.7, "the prompt does not say which form the answer has", {}
        if violation in ("missing_citation", "uncited_claim") and not view.prompt_says(_CITATION_WORDS):
            yield "prompt_ambiguity", 0.8, "the prompt does not ask for citations", {}
        if view.question and view.ambiguity and kind not in ("structure_violation", "logic_error"):
            yield "prompt_ambiguity", 0.5, view.ambiguity, {}

    def _at(self, place: int | None, **more: Any) -> dict[str, Any]:
        return {"passage_id": self.view.passages[place or 0].id, **more}


def attention(token: float, context_tokens: float, reliable_tokens: int) -> float:
    """Expected attention to a token, in [0, 1]: high at both ends, low in the middle of a long context."""
    reach = REACH * reliable_tokens
    ends = math.exp(-token / reach) + math.exp(-max(0.0, context_tokens - token) / reach)
    return min(1.0, ENDS * ends + FLOOR)
