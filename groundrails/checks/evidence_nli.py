"""What some evidence says about some claims: windows, NLI scores and word evidence, ready for the verdict model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from groundrails.checks.hypotheses import Hypothesis
from groundrails.config import GroundingSettings
from groundrails.exchange import Passage, Span
from groundrails.nli.base import CONTRADICTION, ENTAILMENT, NEUTRAL, Pair
from groundrails.nli.windows import Coverage, Window, WindowIndex, build_windows, coverage
from groundrails.report import NliScores, Quote
from groundrails.scoring.verdict import MAX_LOGIT, Thresholds, logit
from groundrails.scoring.words import WordIndex, Words, aboutness, features, stem_of, words_of
from groundrails.text.claimable import clean, is_short_answer
from groundrails.text.sentences import split_sentences

if TYPE_CHECKING:
    from groundrails.nli.base import Scores
    from groundrails.nli.service import NliService

MAX_PAIRS = 2_000
"""Pairs for one response. A very long answer gets fewer windows a sentence instead of minutes; coverage tells."""
ABOUTNESS_SLACK = 0.15
"""A window is about the same thing only if it shares nearly as much with the claim as the nearest window does."""
MIN_WINDOWS = 2
"""Windows each sentence gets, however long the answer is."""


class Seen(NamedTuple):
    """One window with what the model said about it and a claim."""

    window: Window
    nli: NliScores
    aboutness: float

    def quote(self, claim: Words, score: float) -> Quote:
        """The sentence of the window that shares most with the claim, verbatim in its passage."""
        passage = self.window.passage
        sentences = list(_sentences_of(self.window.text)) or [Span.of(self.window.text, 0, len(self.window.text))]
        best = max(sentences, key=lambda s: _shared(claim, s.text))
        span = Span.of(passage.text, self.window.start + best.start, self.window.start + best.end)
        return Quote(passage_id=passage.id, source=passage.source, span=span, score=min(1.0, max(0.0, score)))


class Reading(NamedTuple):
    """What the evidence says about one claim."""

    hypothesis: str
    words: Words
    """Words of the whole hypothesis, a question before a short answer included."""
    features: dict[str, float]
    """Input of the verdict model."""
    support: Seen | None
    """The window that entails the claim most; None if there is no window at all."""
    against: Seen | None
    """The window about the same thing that contradicts it most; None if there is none about the same thing."""
    nearest: Seen | None
    """The window that shares most words with it."""
    missing: tuple[str, ...]
    """Kinds of specific words that the evidence lacks: `number`, `temporal`, `entity`."""
    is_copy: bool = False
    """True if the claim is a whole sentence of the evidence, word by word."""

    @property
    def entailment(self) -> float:
        """Highest P(entailment) of all windows."""
        return self.support.nli.entailment if self.support else 0.0

    @property
    def contradiction(self) -> float:
        """Highest P(contradiction) of the windows about the same thing."""
        return self.against.nli.contradiction if self.against else 0.0


class Readings(NamedTuple):
    """Readings in the claims' order, and how much of the evidence was read for them."""

    claims: list[Reading]
    coverage: Coverage
    pairs: int


class _Plan(NamedTuple):
    hypotheses: list[Hypothesis]
    per_claim: list[list[Window]]
    windows: list[Window]
    evidence: WordIndex


async def read_claims(
    hypotheses: Sequence[Hypothesis | str],
    passages: Sequence[Passage],
    nli: NliService,
    settings: GroundingSettings,
    thresholds: Thresholds,
    *,
    question: str = "",
) -> Readings:
    """Read the evidence for each claim.

    Args:
        question: put before a passage that is a mere answer to it ("Lyon."), as samples of a short answer are.

    Raises:
        NliError: the NLI backend failed.
    """
    read_as = [Hypothesis(h, h) if isinstance(h, str) else h for h in hypotheses]
    plan = await nli.run(_plan, read_as, list(passages), nli, settings, question)
    pairs = await nli.run(_pairs, plan, question)
    scores = await nli.scores(pairs)
    readings = await nli.run(_readings, plan, scores, thresholds)
    return Readings(readings, await nli.run(_coverage, plan), len(pairs))


def _coverage(plan: _Plan) -> Coverage:
    read = {window for chosen in plan.per_claim for window in chosen} & set(plan.windows)
    return coverage(plan.windows, read)


def _pairs(plan: _Plan, question: str) -> list[Pair]:
    different = dict.fromkeys(window for chosen in plan.per_claim for window in chosen)
    premises = {window: _premise(window, question) for window in different}
    return [(premises[w], h.text) for h, chosen in zip(plan.hypotheses, plan.per_claim, strict=True) for w in chosen]


def _premise(window: Window, question: str) -> str:
    text = clean(window.text)
    return f"{question} {text}" if question and is_short_answer(text) else text


def _plan(
    hypotheses: list[Hypothesis], passages: list[Passage], nli: NliService, settings: GroundingSettings, question: str
) -> _Plan:
    longest = max((len(nli.token_offsets(h.text)) for h in hypotheses), default=0)
    windows = build_windows(
        passages,
        longest,
        nli.token_offsets,
        max_tokens=nli.max_tokens,
        window_tokens=settings.window_tokens,
        overlap_tokens=settings.overlap_tokens,
    )
    index = WindowIndex(windows)
    limit = max(MIN_WINDOWS, min(settings.max_windows, MAX_PAIRS // max(1, len(hypotheses))))
    per_claim = [_with_sentence(h, index.select(h.text, limit, question)) for h in hypotheses]
    return _Plan(hypotheses, per_claim, windows, WordIndex(clean(passage.text) for passage in passages))


def _with_sentence(hypothesis: Hypothesis, windows: list[Window]) -> list[Window]:
    """The windows, and last the one sentence in them that shares most with the claim: a small model reads best alone
    what decides, and loses it among other sentences."""
    words = _words(hypothesis.text)
    sentences = [
        Window(window.passage, window.start + span.start, window.start + span.end)
        for window in windows
        for span in _sentences_of(window.text)
    ]
    best = max(sentences, key=lambda sentence: _shared(words, sentence.text), default=None)
    return windows if best is None or best in windows else [*windows, best]


_words = lru_cache(maxsize=8_000)(words_of)


@lru_cache(maxsize=2_000)
def _sentences_of(text: str) -> tuple[Span, ...]:
    return tuple(split_sentences(text))


def _readings(plan: _Plan, scores: Scores, thresholds: Thresholds) -> list[Reading]:
    near: dict[Window, WordIndex] = {}
    readings, at = [], 0
    for hypothesis, chosen in zip(plan.hypotheses, plan.per_claim, strict=True):
        words = _words(hypothesis.text)
        seen = [
            Seen(window, nli_scores(row), aboutness(words, _index_of(window, near)))
            for window, row in zip(chosen, scores[at : at + len(chosen)], strict=True)
        ]
        at += len(chosen)
        readings.append(_reading(hypothesis, words, seen, plan.evidence, near, thresholds))
    return readings


def _is_cleared(wide: Seen, seen: list[Seen]) -> bool:
    """True if the sentence of this window that the claim is about, read alone, entails it rather than contradicts."""
    alone = seen[-1]
    is_inside = (
        alone.window.passage is wide.window.passage
        and wide.window.start <= alone.window.start
        and alone.window.end <= wide.window.end
    )
    return is_inside and alone is not wide and alone.nli.entailment > alone.nli.contradiction


def _index_of(window: Window, known: dict[Window, WordIndex]) -> WordIndex:
    if window not in known:
        known[window] = WordIndex([clean(window.text)])
    return known[window]


def _reading(
    hypothesis: Hypothesis,
    words: Words,
    seen: list[Seen],
    evidence: WordIndex,
    near: dict[Window, WordIndex],
    thresholds: Thresholds,
) -> Reading:
    support = max(seen, key=lambda s: s.nli.entailment, default=None)
    nearest = max(seen, key=lambda s: (s.aboutness, s.nli.entailment), default=None)
    bar = max(thresholds.aboutness, nearest.aboutness - ABOUTNESS_SLACK) if nearest else 0.0
    about = [s for s in seen if s.aboutness >= bar and not _is_cleared(s, seen)]
    against = max(about, key=lambda s: s.nli.contradiction, default=None)
    is_answer = hypothesis.own != hypothesis.text
    own = words_of(hypothesis.own, starts_sentence=not is_answer)
    lacks = features(own, evidence, _index_of(nearest.window, near) if nearest else WordIndex([]))
    values = {
        "entailment": logit(support.nli.entailment) if support else -MAX_LOGIT,
        "contradiction": logit(against.nli.contradiction) if against else -MAX_LOGIT,
        **lacks,
    }
    kinds = {"number": "missing_numbers", "temporal": "missing_dates", "entity": "missing_names"}
    missing = tuple(kind for kind, name in kinds.items() if lacks[name] > 0)
    is_copy = not is_answer and evidence.has_sentence(hypothesis.own)
    return Reading(hypothesis.text, words, values, support, against, nearest, missing, is_copy)


def nli_scores(row: Scores) -> NliScores:
    """One row of a score array by name."""
    entailment, neutral, contradiction = (float(row[column]) for column in (ENTAILMENT, NEUTRAL, CONTRADICTION))
    return NliScores(entailment=entailment, neutral=neutral, contradiction=contradiction)


def _shared(claim: Words, sentence: str) -> float:
    told = _told(sentence)
    names = {stem_of(name) or name for name in claim.names}
    numbers = {number.value for number in claim.numbers}
    return len(told.content & {*claim.content}) + len(told.content & names) + 1.5 * len(told.numbers & numbers)


class _Told(NamedTuple):
    content: frozenset[str]
    numbers: frozenset[float]


@lru_cache(maxsize=4_000)
def _told(sentence: str) -> _Told:
    words = words_of(clean(sentence))
    return _Told(frozenset(words.content), frozenset(number.value for number in words.numbers))
