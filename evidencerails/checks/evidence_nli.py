"""What some evidence says about some claims: windows, NLI scores and word evidence, ready for the verdict model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from evidencerails.checks.hypotheses import Hypothesis
from evidencerails.checks.near_copies import shows_cause, shows_swap
from evidencerails.config import GroundingSettings
from evidencerails.exchange import Passage, Span
from evidencerails.nli.base import CONTRADICTION, ENTAILMENT, NEUTRAL, Pair
from evidencerails.nli.exchange_nli import ExchangeNli
from evidencerails.nli.windows import Coverage, Window, WindowIndex, coverage, tokens_beside_windows
from evidencerails.report import NliScores, Quote
from evidencerails.scoring.verdict import MAX_LOGIT, Thresholds, logit
from evidencerails.scoring.words import WordIndex, Words, aboutness, content_of, features, stem_of, words_of
from evidencerails.text.claimable import clean, is_bare_reply, is_short_answer
from evidencerails.text.same_values import as_told
from evidencerails.text.sentences import pieces, split_sentences

if TYPE_CHECKING:
    from evidencerails.nli.base import Scores
    from evidencerails.nli.service import NliService

MAX_PAIRS = 2_000
"""Pairs for one response. A very long answer gets fewer windows a sentence instead of minutes; coverage tells."""
ABOUTNESS_SLACK = 0.15
"""A window is about the same thing only if it shares nearly as much with the claim as the nearest window does."""
ANSWER_WEIGHT = 3.0
"""What a short answer shares with a sentence counts so much more than what the question before it shares: of "Where is
the Eiffel Tower? Paris" the sentence that has "Paris" decides, not the one that has "the Eiffel Tower"."""
MIN_WINDOWS = 2
"""Windows each sentence gets, however long the answer is."""
SURE_ENTAILMENT = 0.8
"""P(entailment) by the nearest sentence alone from which a claim is read in no further window that agrees with it."""
FAR_SHARE = 0.8
"""A window that shares less than this part of what the nearest one shares with the claim is not read for it: a chance
entailment there says nothing, and reading costs time."""
DOUBT_EXPONENT = 0.5
"""`DISCOUNTED` features count by (1 - P(entailment)) to this power. 0 is better where answers are copied or made up, 1
where they are put in other words; see the table of the reading in the model card."""
DISCOUNTED = ("missing_words", "missing_near", "missing_bigrams", "scattered", "negation")
"""Features that an honest rewording has, too; a number, date or name that the evidence lacks counts in full."""
_MISSING_KINDS = {"number": "missing_numbers", "temporal": "missing_dates", "entity": "missing_names"}


class Seen(NamedTuple):
    """One window with what the model said about it and a claim."""

    window: Window
    nli: NliScores
    aboutness: float

    def quote(self, claim: Words, score: float) -> Quote:
        """The sentence that decides, verbatim in its passage; see `sentence`."""
        passage, best = self.window.passage, self.sentence(claim)
        span = Span.of(passage.text, self.window.start + best.start, self.window.start + best.end)
        return Quote(passage_id=passage.id, source=passage.source, span=span, score=min(1.0, max(0.0, score)))

    def sentence(self, claim: Words) -> Span:
        """The sentence of the window that decides, as a span of the window: one about the same thing that has a value
        of the kind the claim has, its number or date, before the one that shares most words with it."""
        sentences = list(_sentences_of(self.window.text)) or [Span.of(self.window.text, 0, len(self.window.text))]
        return max(sentences, key=lambda s: (_compared_values(claim, s.text), _shared(claim, s.text)))


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


class _Candidate(NamedTuple):
    window: Window
    aboutness: float


class _Chosen(NamedTuple):
    """The windows that may decide one claim, and its words."""

    said: str
    """The claim as it was given."""
    hypothesis: Hypothesis
    """The same with the evidence's words for equal values: the evidence has "1.5 km", the claim "1,500 m"."""
    words: Words
    candidates: list[_Candidate]
    alone: int | None
    """Place of the one sentence that shares most with the claim, read without its neighbours; None without evidence."""
    lacks: dict[str, float]
    """Word features of the verdict model."""
    is_copy: bool
    """True if the claim is a whole sentence of the evidence, word by word."""

    @property
    def bar(self) -> float:
        """Aboutness from which a window is about the same thing, but for the threshold of the verdict model."""
        return self.nearness - ABOUTNESS_SLACK

    @property
    def nearness(self) -> float:
        """Highest aboutness of all candidates; 0.0 without any."""
        return max((c.aboutness for c in self.candidates), default=0.0)

    @property
    def reach(self) -> float:
        """Aboutness from which a window is read at all."""
        return FAR_SHARE * self.nearness


class _Evidence(NamedTuple):
    """What is made of the evidence once, for all claims and checks."""

    passages: tuple[Passage, ...]
    windows: list[Window]
    finder: WindowIndex
    words: WordIndex
    near: dict[Window, WordIndex]
    """Words of the windows that have been looked at."""


class _Plan(NamedTuple):
    claims: list[_Chosen]
    windows: list[Window]


async def read_claims(
    hypotheses: Sequence[Hypothesis | str],
    passages: Sequence[Passage],
    nli: NliService | ExchangeNli,
    settings: GroundingSettings,
    thresholds: Thresholds,
    *,
    question: str = "",
) -> Readings:
    """Read the evidence for each claim, in two steps.

    First each claim beside the one sentence that shares most with it, and beside every other window about the same
    thing, which might say otherwise. What that sentence surely entails is settled; all else is read in all its windows.

    Args:
        question: put before a passage that is a mere answer to it ("Lyon."), as samples of a short answer are.

    Raises:
        NliError: the NLI backend failed.
    """
    nli = ExchangeNli.of(nli)
    read_as = [Hypothesis(h, h) if isinstance(h, str) else h for h in hypotheses]
    plan = await _plan(read_as, tuple(passages), nli, settings, question)
    known: dict[Pair, NliScores] = {}
    for wanted in (_first, _rest):
        pairs = await nli.run(wanted, plan, known, thresholds, question)
        await nli.run(_note, known, pairs, await nli.scores(pairs))
    readings = await nli.run(_readings, plan, known, thresholds, question)
    return Readings(readings, await nli.run(_coverage, plan), len(known))


def _note(known: dict[Pair, NliScores], pairs: Sequence[Pair], scores: Scores) -> None:
    known.update(zip(pairs, map(nli_scores, scores), strict=True))


def _coverage(plan: _Plan) -> Coverage:
    read = {candidate.window for claim in plan.claims for candidate in claim.candidates} & set(plan.windows)
    return coverage(plan.windows, read)


def _first(plan: _Plan, known: dict[Pair, NliScores], thresholds: Thresholds, question: str) -> list[Pair]:
    """The pairs that may settle a claim at once."""
    return list(
        dict.fromkeys(
            _pair(claim, candidate, question)
            for claim in plan.claims
            for place, candidate in enumerate(claim.candidates)
            if place == claim.alone or _might_object(claim, candidate, thresholds)
        )
    )


def _rest(plan: _Plan, known: dict[Pair, NliScores], thresholds: Thresholds, question: str) -> list[Pair]:
    """The pairs that are still needed after the first ones."""
    pairs = (
        _pair(claim, candidate, question)
        for claim in plan.claims
        for candidate in _still_wanted(claim, _alone(claim, known, question), thresholds)
    )
    return [pair for pair in dict.fromkeys(pairs) if pair not in known]


def _alone(claim: _Chosen, known: dict[Pair, NliScores], question: str) -> Seen | None:
    """What the model said of the claim's nearest sentence, read without its neighbours."""
    if claim.alone is None:
        return None
    candidate = claim.candidates[claim.alone]
    return Seen(candidate.window, known[_pair(claim, candidate, question)], candidate.aboutness)


def _still_wanted(claim: _Chosen, alone: Seen | None, thresholds: Thresholds) -> list[_Candidate]:
    """The windows that a claim is read in after its nearest sentence has spoken."""
    if alone is None or claim.is_copy:
        return []
    has_all_words = not any(claim.lacks[name] > 0 for name in _MISSING_KINDS.values())
    if has_all_words and alone.nli.entailment >= SURE_ENTAILMENT:
        return []
    # What holds the sentence that denies the claim has no say about it.
    denier = _denier(claim, alone, thresholds)
    near = (c for c in claim.candidates if c.aboutness >= claim.reach)
    return [c for c in near if denier is None or not _holds(c.window, denier)]


def _might_object(claim: _Chosen, candidate: _Candidate, thresholds: Thresholds) -> bool:
    """True for a window about the same thing elsewhere than the claim's nearest sentence."""
    assert claim.alone is not None
    is_about = candidate.aboutness >= max(thresholds.aboutness, claim.bar)
    return is_about and not _holds(candidate.window, claim.candidates[claim.alone].window)


def _holds(wide: Window, narrow: Window) -> bool:
    return wide.passage is narrow.passage and wide.start <= narrow.start and narrow.end <= wide.end


def _pair(claim: _Chosen, candidate: _Candidate, question: str) -> Pair:
    return _premise(candidate.window.text, question), claim.hypothesis.text


@lru_cache(maxsize=4_000)
def _premise(window: str, question: str) -> str:
    text = clean(window)
    return f"{question} {text}" if question and is_short_answer(text) else text


async def _plan(
    hypotheses: list[Hypothesis],
    passages: tuple[Passage, ...],
    nli: ExchangeNli,
    settings: GroundingSettings,
    question: str,
) -> _Plan:
    """The windows that may decide each claim. What another check of the exchange has worked out is taken from it."""
    longest = await nli.run(_tokens_of_longest, [h.text for h in hypotheses], nli, settings)

    async def read(_: list[Any]) -> list[_Evidence]:
        return [await nli.run(_evidence, passages, longest, nli, settings)]

    evidence = (await nli.each("evidence", [(tuple(map(id, passages)), longest)], read))[0]
    limit = max(MIN_WINDOWS, min(settings.max_windows, MAX_PAIRS // max(1, len(hypotheses))))

    async def choose(fresh: list[Hypothesis]) -> list[_Chosen]:
        return await nli.run(_choose, fresh, evidence, limit, question)

    chosen = await nli.each(("chosen", id(evidence), limit, question), hypotheses, choose)
    return _Plan(chosen, evidence.windows)


def _tokens_of_longest(texts: list[str], nli: ExchangeNli, settings: GroundingSettings) -> int:
    """Tokens of the longest claim; 0 if the windows have their full size beside all of them.

    A token has at least one character, so most claims need no counting.
    """
    free = tokens_beside_windows(nli.max_tokens, settings.window_tokens)
    counts = (len(nli.token_offsets(text)) for text in texts if len(text) > free)
    return max((count for count in counts if count > free), default=0)


def _evidence(passages: tuple[Passage, ...], longest: int, nli: ExchangeNli, settings: GroundingSettings) -> _Evidence:
    windows = nli.windows(passages, longest, settings)
    # In pieces: what reads a long text in one call holds up every other thread meanwhile.
    words = WordIndex(clean(piece) for passage in passages for piece in pieces(passage.text))
    return _Evidence(passages, windows, WindowIndex(windows), words, {})


def _choose(hypotheses: list[Hypothesis], evidence: _Evidence, limit: int, question: str) -> list[_Chosen]:
    return [_chosen(h, evidence.finder.select(h.text, limit, question), evidence) for h in hypotheses]


def _chosen(said: Hypothesis, windows: list[Window], evidence: _Evidence) -> _Chosen:
    own_words = as_told(said.own, [window.text for window in windows])
    hypothesis = Hypothesis(said.text.removesuffix(said.own) + own_words, own_words)
    words = _words(hypothesis.text)
    is_answer = hypothesis.own != hypothesis.text
    own = words_of(hypothesis.own, starts_sentence=not is_answer)
    alone = _nearest_sentence(words, own if is_answer else None, windows)
    every = windows if alone is None or alone in windows else [*windows, alone]
    candidates = [_Candidate(window, aboutness(words, _index_of(window, evidence.near))) for window in every]
    # Of equally near windows one that holds the nearest sentence (a table says the same of many things), and the wider
    # one: what it lacks, the narrow one lacks too.
    nearest = max(
        candidates,
        key=lambda c: (c.aboutness, alone is not None and _holds(c.window, alone), c.window.end - c.window.start),
        default=None,
    )
    lacks = features(own, evidence.words, _index_of(nearest.window, evidence.near) if nearest else WordIndex([]))
    place = every.index(alone) if alone is not None else None
    is_copy = not is_answer and evidence.words.has_sentence(hypothesis.own)
    return _Chosen(said.text, hypothesis, words, candidates, place, lacks, is_copy)


def _nearest_sentence(words: Words, answer: Words | None, windows: list[Window]) -> Window | None:
    """The one sentence in the windows that shares most with the claim: a small model reads best alone what decides,
    and loses it among other sentences. Words of a short answer count more than those of the question before it."""

    def shared(text: str) -> float:
        return _shared(words, text) + (ANSWER_WEIGHT * _shared(answer, text) if answer else 0.0)

    sentences = (
        Window(window.passage, window.start + span.start, window.start + span.end)
        for window in windows
        for span in _sentences_of(window.text)
    )
    # Of equally near ones what states something: a question says nothing that could support or contradict.
    return max(sentences, key=lambda s: (shared(s.text), not s.text.endswith("?")), default=None)


_words = lru_cache(maxsize=8_000)(words_of)


@lru_cache(maxsize=2_000)
def _sentences_of(text: str) -> tuple[Span, ...]:
    return tuple(split_sentences(text))


def _readings(plan: _Plan, known: dict[Pair, NliScores], thresholds: Thresholds, question: str) -> list[Reading]:
    found = []
    for claim in plan.claims:
        pairs = ((candidate, _pair(claim, candidate, question)) for candidate in claim.candidates)
        seen = [Seen(candidate.window, known[pair], candidate.aboutness) for candidate, pair in pairs if pair in known]
        found.append(_reading(claim, seen, _alone(claim, known, question), thresholds))
    return found


def _believed(claim: _Chosen, seen: Seen) -> Seen:
    """What is believed of the scores: a contradiction for which the words show no cause is left out of them.

    With a question before a short answer most words are the question's, and near to a sentence whatever the answer is.
    """
    is_answer = claim.hypothesis.own != claim.hypothesis.text
    if is_answer or seen.nli.contradiction < seen.nli.entailment or not seen.aboutness:
        return seen
    told = words_of(clean(seen.sentence(claim.words).text))
    lacks = {name: claim.lacks[name] for name in ("missing_words", "missing_numbers")}
    if shows_cause(claim.words, told, **lacks):
        return seen
    # It becomes doubt, no support: nothing in it says that the sentence entails the claim.
    entailment = seen.nli.entailment
    return seen._replace(nli=NliScores(entailment=entailment, neutral=1.0 - entailment, contradiction=0.0))


def _is_cleared(wide: Seen, alone: Seen | None) -> bool:
    """True if the sentence of this window that the claim is about, read alone, entails it rather than contradicts."""
    return (
        alone is not None
        and alone.window != wide.window
        and _holds(wide.window, alone.window)
        and alone.nli.entailment > alone.nli.contradiction
    )


def _index_of(window: Window, known: dict[Window, WordIndex]) -> WordIndex:
    if window not in known:
        known[window] = WordIndex([clean(window.text)])
    return known[window]


def _denier(claim: _Chosen, alone: Seen | None, thresholds: Thresholds) -> Window | None:
    """The sentence that the claim is about, if read alone it has another value or name in its place.

    Among other sentences a small model loses it: "The firm sits in Oslo" is entailed by "The firm sits in Drammen. Its
    director lives in Oslo." A bare yes or no has no value of its own: what lacks one of the question's denies nothing.
    """
    if alone is None or claim.is_copy or alone.aboutness < thresholds.aboutness or is_bare_reply(claim.hypothesis.own):
        return None
    is_against = alone.nli.contradiction >= thresholds.contradiction
    return alone.window if is_against and shows_swap(claim.words, words_of(clean(alone.window.text))) else None


def _reading(claim: _Chosen, seen: list[Seen], alone: Seen | None, thresholds: Thresholds) -> Reading:
    cleared = {s.window for s in seen if _is_cleared(s, alone)}
    seen = [_believed(claim, s) for s in seen]
    denier = _denier(claim, alone, thresholds)
    speaking = [s for s in seen if denier is None or s.window == denier or not _holds(s.window, denier)]
    support = max(speaking, key=lambda s: s.nli.entailment, default=None)
    nearest = max(seen, key=lambda s: (s.aboutness, s.nli.entailment), default=None)
    bar = max(thresholds.aboutness, claim.bar)
    about = [s for s in seen if (s.aboutness >= bar and s.window not in cleared) or s.window == denier]
    against = max(about, key=lambda s: s.nli.contradiction, default=None)
    doubt = (1.0 - support.nli.entailment) ** DOUBT_EXPONENT if support else 1.0
    values = {
        "entailment": logit(support.nli.entailment) if support else -MAX_LOGIT,
        "contradiction": logit(against.nli.contradiction) if against else -MAX_LOGIT,
        **{name: share * (doubt if name in DISCOUNTED else 1.0) for name, share in claim.lacks.items()},
    }
    missing = tuple(kind for kind, name in _MISSING_KINDS.items() if claim.lacks[name] > 0)
    return Reading(claim.said, claim.words, values, support, against, nearest, missing, claim.is_copy)


def nli_scores(row: Scores) -> NliScores:
    """One row of a score array by name."""
    entailment, neutral, contradiction = (float(row[column]) for column in (ENTAILMENT, NEUTRAL, CONTRADICTION))
    return NliScores(entailment=entailment, neutral=neutral, contradiction=contradiction)


def _shared(claim: Words, sentence: str) -> float:
    content = _content_of(sentence)
    names = {stem_of(name) or name for name in claim.names}
    shared = len(content & {*claim.content}) + len(content & names)
    numbers = {number.value for number in claim.numbers}
    return shared + 1.5 * len(_values_of(sentence).numbers & numbers) if numbers else shared


def _compared_values(claim: Words, sentence: str) -> bool:
    """True if the sentence, about the same thing, says a number or date where the claim does."""
    if not claim.numbers and not claim.dates:
        return False
    values = _values_of(sentence)
    kinds = (bool(claim.numbers) and bool(values.numbers)) or (bool(claim.dates) and values.has_date)
    names = {stem_of(name) or name for name in claim.names}
    frame = {*claim.content} - names
    return kinds and len(_content_of(sentence) & frame) > len(frame) / 2


@lru_cache(maxsize=4_000)
def _content_of(sentence: str) -> frozenset[str]:
    return frozenset(content_of(clean(sentence)))


class _Values(NamedTuple):
    numbers: frozenset[float]
    has_date: bool


@lru_cache(maxsize=4_000)
def _values_of(sentence: str) -> _Values:
    words = words_of(clean(sentence))
    return _Values(frozenset(number.value for number in words.numbers), bool(words.dates))
