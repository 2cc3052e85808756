"""What some evidence says about some claims: each window is read once, with all the claims that it may decide.

In: claims (as `Hypothesis` or text) and passages. Out: a `ClaimEvidence` for each claim, ready for
`model.VerdictModel`, and how much of the evidence was read. `checks.grounding` and `checks.claims` ask this one
reading, for sentences or claims."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from evidencerails.exchange import Passage, Span
from evidencerails.nli.base import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from evidencerails.nli.service import ExchangeNli, Steps
from evidencerails.nli.windows import Coverage, EvidenceWindow, stems_of
from evidencerails.report import Label, NliScores, Quote
from evidencerails.settings.claims import GroundingSettings
from evidencerails.text.claimable import clean, is_bare_reply, is_short_answer, without_frame, without_question
from evidencerails.text.language import unknown_script
from evidencerails.text.same_values import in_units_of
from evidencerails.text.sentences import split_sentences
from evidencerails.text.values import values_of
from evidencerails.verdict.model import MAX_LOGIT, PROBES, ClaimVerdict, VerdictModel, logit

if TYPE_CHECKING:
    from evidencerails.nli.base import Scores
    from evidencerails.nli.service import NliService

LIKELIER = 0.5
"""A probability from which one of the model's three labels is likelier than the two others together: no window need be
joined for a claim that one entails, and only what is so contradicted can be labelled that."""
SAME_SUBJECT = 0.8
"""Windows that share at least this part of what the nearest one shares with a claim are about the same subject."""
OTHER_SUBJECT_WEIGHT = 0.5
"""What the support of another window, or of several joined, counts: "5 mg" may be another patient's."""


class ScoredWindow(NamedTuple):
    """One window with what the model said of it and a claim."""

    window: EvidenceWindow
    nli: NliScores
    lexical_overlap: float
    """Share of the claim's content words that the window has, in [0, 1]."""
    probes: Scores
    """What the model says of them beside its probabilities (see `NliModel.scores`); empty if it has no probes."""

    def quote(self, claim: str, score: float) -> Quote | None:
        """The sentence that decides, verbatim in its passage; None if the window has no words."""
        found = self.window.decisive_sentence(claim)
        if found is None:
            return None
        passage, span = found
        return Quote(passage_id=passage.id, source=passage.source, span=span, score=min(1.0, max(0.0, score)))

    def sentence(self, claim: str) -> Span | None:
        """The sentence that decides, as a span of its passage."""
        found = self.window.decisive_sentence(claim)
        return found[1] if found else None


class ClaimEvidence(NamedTuple):
    """What the evidence says about one claim."""

    hypothesis: str
    windows: tuple[ScoredWindow, ...]
    """The windows it was read in."""
    features: dict[str, float]
    """Input of the verdict model."""
    support: ScoredWindow | None
    """The window that entails the claim most; None without evidence."""
    entailment: float
    """P(entailment) by that window, as far as it is about the claim's subject; 0.0 without evidence."""
    against: ScoredWindow | None
    """The window that contradicts it most, of those about the same subject; None without evidence."""
    contradiction: float
    """Highest P(contradiction) of the windows about the same subject; 0.0 without evidence."""
    unread: str = ""
    """Why the model cannot read the claim, `language: xx`; empty if it can."""


class Readings(NamedTuple):
    """What was read, in the claims' order, and how much of the evidence that was."""

    claims: list[ClaimEvidence]
    coverage: Coverage
    pairs: int


class Judged(NamedTuple):
    """A label and the calibrated verdict behind it."""

    label: Label
    verdict: ClaimVerdict


async def read_claims(
    hypotheses: Sequence[Hypothesis | str],
    passages: Sequence[Passage],
    nli: NliService | ExchangeNli,
    *,
    question: str = "",
) -> Readings:
    """See `reading`, for callers in an event loop.

    Raises:
        NliError: the NLI backend failed.
    """
    nli = ExchangeNli.of(nli)
    return await nli.follow(reading(hypotheses, passages, nli, question=question))


def reading(
    hypotheses: Sequence[Hypothesis | str],
    passages: Sequence[Passage],
    nli: ExchangeNli,
    *,
    question: str = "",
) -> Steps[Readings]:
    """Read the evidence for each claim; one that no window entails is read again beside its best parts together.

    Args:
        question: put before a passage that is a mere answer to it ("Lyon."), as samples of a short answer are.
    """
    given = [h if isinstance(h, str) else h.text for h in hypotheses]
    asked = [_without_connective(h) for h in hypotheses]
    index = nli.evidence(passages)
    selection = index.select([text for text, _ in asked], question)
    windows = selection.windows
    texts = []
    for (text, said), places in zip(asked, selection.places, strict=True):
        # The model reads, it does not convert: "1,500 m" is read as the "1.5 km" of the evidence.
        if values_of(said).quantities and text.endswith(said):
            text = text.removesuffix(said) + in_units_of(said, [windows[place].text for place in places])
        texts.append(text)
    premises = [_premise(window, question) if question else window.text for window in windows]
    rows = iter(
        (yield [(premises[at], text) for text, places in zip(texts, selection.places, strict=True) for at in places])
    )
    claimed, held = [stems_of(text) for text in texts], [stems_of(window.text) for window in windows]
    read = [
        [_scored(windows[place], next(rows), terms, held[place]) for place in places]
        for terms, places in zip(claimed, selection.places, strict=True)
    ]
    joined = [
        (place, index.joined(texts[place], question))
        for place, scored in enumerate(read)
        if len(scored) > 1 and all(one.nli.entailment < LIKELIER for one in scored)
    ]
    more = [(place, window) for place, window in joined if window is not None]
    extra = yield [(_premise(window, question), texts[place]) for place, window in more]
    for (place, window), row in zip(more, extra, strict=True):
        read[place].append(_scored(window, row, claimed[place], stems_of(window.text)))
    claims = [
        _of_one(whole, tuple(scored))._replace(unread=unknown_script(said, nli.languages))
        for whole, scored, (_, said) in zip(given, read, asked, strict=True)
    ]
    return Readings(claims, selection.coverage, sum(map(len, read)))


_CONNECTIVE = re.compile(
    r"(?:(?:but|and|so(?! (?:far|that|much|many|few|long|as|called)\b)|perhaps|maybe),? (?=\w)"
    r"|(?:however|also|in addition|additionally|moreover|furthermore|besides|therefore|thus|hence|consequently"
    r"|as a result|in fact|indeed|overall|notably|interestingly|importantly|nevertheless|nonetheless|that said"
    r"|meanwhile|similarly|likewise|specifically|in short|in summary|in other words|for example|for instance), )+",
    re.IGNORECASE,
)
"""How a sentence hangs on the one before. Read beside evidence alone it shifts the model: of 594 statements of the
development rows behind "But" the AUROC was .715 in the place of .797, and one of nine wrong ones was still caught."""


def _without_connective(hypothesis: Hypothesis | str) -> Hypothesis:
    """The hypothesis as the model reads it: without the words that tie its sentence to the one before."""
    text, own = (hypothesis, hypothesis) if isinstance(hypothesis, str) else hypothesis
    tie = _CONNECTIVE.match(own)
    if tie is None or not text.endswith(own):
        return Hypothesis(text, own)
    rest = own[tie.end() :]
    return Hypothesis(text.removesuffix(own) + rest[0].upper() + rest[1:], rest[0].upper() + rest[1:])


def judged_reading(evidence: ClaimEvidence, model: VerdictModel, settings: GroundingSettings) -> Judged:
    """The label of one claim and its calibrated verdict.

    One probability decides: below the threshold of warnings the claim is supported. What is not supported is
    contradicted, partly supported or absent, as the model reads it.
    """
    verdict = model.claim(evidence.features)
    if evidence.unread:
        return Judged("unevaluatable", verdict)
    most = settings.max_unsupported_score
    if verdict.score < (model.warn_from(settings.max_false_warnings) if most is None else most):
        return Judged("supported", verdict)
    needed = settings.contradiction_threshold
    if needed is None:
        is_denied = evidence.contradiction >= LIKELIER and verdict.score >= model.block_from(settings.max_false_blocks)
    else:
        is_denied = evidence.contradiction >= needed
    if is_denied and evidence.contradiction > evidence.entailment:
        return Judged("contradicted", verdict)
    return Judged("partially_supported" if evidence.entailment >= model.thresholds.partial else "absent", verdict)


def _premise(window: EvidenceWindow, question: str) -> str:
    text = window.text
    return f"{question} {text}" if question and is_short_answer(clean(text)) else text


def _scored(window: EvidenceWindow, row: Scores, claimed: frozenset[str], held: frozenset[str]) -> ScoredWindow:
    overlap = len(claimed & held) / len(claimed) if claimed else 0.0
    entailment, neutral, contradiction = (float(row[column]) for column in (ENTAILMENT, NEUTRAL, CONTRADICTION))
    nli = NliScores(entailment=entailment, neutral=neutral, contradiction=contradiction)
    return ScoredWindow(window, nli, overlap, row[len(LABELS) :])


def _of_one(text: str, windows: tuple[ScoredWindow, ...]) -> ClaimEvidence:
    single = [one for one in windows if len(one.window.parts) == 1]
    nearest = max((one.lexical_overlap for one in single), default=0.0)
    same = [one for one in single if one.lexical_overlap >= SAME_SUBJECT * nearest]
    # P(entailment) as far as a window is about the claim's subject.
    weighted = [one.nli.entailment * (1.0 if one in same else OTHER_SUBJECT_WEIGHT) for one in windows]
    entailment = max(weighted, default=0.0)
    support = windows[weighted.index(entailment)] if windows else None
    if support and entailment >= LIKELIER:
        # Support outranks the contradiction of a window that shares less with the claim.
        same = [one for one in same if one is support or one.lexical_overlap > support.lexical_overlap] or [support]
    against = max(same, key=lambda one: one.nli.contradiction, default=None)
    contradiction = against.nli.contradiction if against else 0.0
    features = {
        "entailment": logit(entailment) if support else -MAX_LOGIT,
        "contradiction": logit(contradiction) if against else -MAX_LOGIT,
    }
    if support and against and len(support.probes) >= len(PROBES):
        features |= {"support_probe": float(support.probes[0]), "contradiction_probe": float(against.probes[1])}
    return ClaimEvidence(text, windows, features, support, entailment, against, contradiction)


OWN_WORDS = 3
"""From so many words on an answer that stands in the question is no answer to it."""
MAX_QUESTION_WORDS = 30
"""Of a longer prompt of several sentences only its question is put before a short answer: more would drown it."""
MAX_QUESTION_CHARACTERS = 300
"""A longer question is not put before an answer at all."""
MAX_PROMPT_CHARACTERS = 20_000
"""The end of a prompt that is searched for its question."""
_LABELLED = re.compile(r"(?:^|[\n.!?])\W*(?:(?:user|my|the) )?(?:question|query|q)\b\W{0,3}:\W*", re.IGNORECASE)
_AFTER_QUESTION = re.compile(
    r"\n\W*(?:(?:final |short |your )?answer|context|documents?|passages?|a)\b\W{0,3}(?::|$)", re.IGNORECASE
)
_REQUEST = re.compile(
    r"(?:please\s+)?(?:name|give|tell|state|list|say|write|find|identify|answer|complete|provide|which|who|what|when|where|how|why)\b",
    re.IGNORECASE,
)
_ANSWER_LABEL = re.compile(r"^(?:(?:final |short )?answer|a)\s*:\s*", re.IGNORECASE)


class Hypothesis(NamedTuple):
    """What the model reads for one sentence."""

    text: str
    """Standalone wording."""
    own: str
    """The part that the answer says itself: the words of a question that stands before it are not the answer's."""


def hypotheses(sentences: Sequence[Span], user_input: str) -> list[Hypothesis]:
    """The wording of each sentence; a short answer ("Lyon.", "1889", "Yes") is read with the question it answers."""
    question, found = question_of(user_input) if user_input else "", []
    for span in sentences:
        text = clean(span.text)
        own = _ANSWER_LABEL.sub("", text) or text
        own = without_frame(without_question(own) if "?" in own or "？" in own else own)
        has_question = question and is_short_answer(own) and not _is_said(own, question)
        found.append(Hypothesis(f"{question} {own}" if has_question else own, own))
    return found


def _is_said(sentence: str, question: str) -> bool:
    """True if the question says all of a sentence of some words: read together, it would prove itself.

    A word or two may be a choice that was offered: "Lyon or Paris?"
    """
    said, words = question.lower(), sentence.lower().strip(" .!\"'")
    return len(words.split()) >= OWN_WORDS and words in said


def lacks_its_question(sentence: str, user_input: str) -> bool:
    """True for a bare yes or no whose question is unknown: it says nothing that could be checked."""
    return is_bare_reply(sentence) and not question_of(user_input)


def question_of(user_input: str) -> str:
    """The question a user asked; empty without a prompt, or where it cannot be separated from the surrounding text.

    Of a prompt with its evidence ("Context: ... Question: ..."): what is marked as the question, else its last
    sentence that asks or demands something. A short prompt is its own question.
    """
    text = user_input[-MAX_PROMPT_CHARACTERS:]
    if marks := list(_LABELLED.finditer(text)):
        text = _AFTER_QUESTION.split(text[marks[-1].end() :], maxsplit=1)[0].strip() or text
    sentences = [clean(sentence.text) for sentence in split_sentences(text)]
    if len(sentences) > 1 and len(text.split()) > MAX_QUESTION_WORDS:
        questions = [s for s in sentences if s.endswith("?")] or [s for s in sentences if _REQUEST.match(s)]
        found = questions[-1] if questions else ""
    else:
        found = clean(text)
    return found if len(found) <= MAX_QUESTION_CHARACTERS else ""
