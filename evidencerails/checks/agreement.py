"""Do other samples of the same model say the same? Four ways to ask: NLI, a judge, BERTScore, shared words."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.errors import LlmError
from evidencerails.exchange import Exchange, Passage, Sample, Span
from evidencerails.llm.parsing import AGREEMENT_REPAIR, ask, parse_agreement
from evidencerails.llm.session import LlmSession
from evidencerails.measures.encoder import default_encoder
from evidencerails.measures.ngram import UnigramModel, words
from evidencerails.measures.vectors import sample_drifts
from evidencerails.nli.windows import stems_of
from evidencerails.report import Quote
from evidencerails.text.claimable import claim_sentences, clean, is_short_answer
from evidencerails.text.language import unknown_language
from evidencerails.verdict.reading import ClaimEvidence, Readings, hypotheses, question_of, read_claims

NEUTRAL_WEIGHT = 0.5
"""What a sample that neither supports nor contradicts a sentence adds to drift: long answers pick other facts."""
CONTRADICTS_FROM = 0.5
"""P(contradiction) from which one sample counts as contradicting a sentence, and one response another."""
MAX_PAIRED_SENTENCES = 12
"""Sentences of a sample that are compared with another sample, for the pairwise rate."""
OTHER_ANSWER_DRIFT = 0.8
"""Least drift of a short answer that shares no word with a sample that is a short answer too."""
JUDGE_TASK = "self_check_hallucination"
_YES_OR_NO = {"yes": True, "yeah": True, "yep": True, "no": False, "nope": False, "nah": False}


class Vote(NamedTuple):
    """What one sample says about one sentence."""

    drift: float
    """0 = says the same, 1 = says something else."""
    contradiction: float
    quote: Quote | None = None
    """The sample's own words that decided."""


class Votes(NamedTuple):
    """The samples' votes on each sentence."""

    rows: list[list[Vote]]
    """A row for each sentence, a vote for each sample that could be read."""
    method: str
    unread: int = 0
    """Samples on which no vote could be had."""


def sample_passages(samples: Sequence[Sample]) -> list[Passage]:
    """Samples as evidence, named `sample-1` and so on."""
    return [Passage(id=f"sample-{n}", text=sample.text, source="sample") for n, sample in enumerate(samples, start=1)]


def comparable(samples: Sequence[Sample], languages: Sequence[str] | None) -> tuple[list[Sample], str]:
    """The samples that an answer can be compared with, and why the others are none. Blocks.

    A refusal or a question back says nothing about what was claimed, and NLI is no judge of a language that it does not
    know: both would pass for agreement. `languages` are those of the NLI model; None if another method compares.
    """
    found: list[Sample] = []
    reasons: list[str] = []
    for sample in samples:
        if not claim_sentences(sample.text):
            reasons.append("no_claims")
        elif languages is not None and (reason := unknown_language(clean(sample.text[:5_000]), languages)):
            reasons.append(reason)
        else:
            found.append(sample)
    return found, ", ".join(f"{reasons.count(reason)} {reason}" for reason in dict.fromkeys(reasons))


async def nli_votes(
    exchange: Exchange, sentences: Sequence[Span], samples: Sequence[Sample], context: CheckContext
) -> Votes:
    """SelfCheckGPT-NLI (arXiv 2303.08896): each sentence against each sample."""
    question = await context.nli.run(question_of, exchange.user_input)
    texts = await context.nli.run(hypotheses, sentences, exchange.user_input)
    columns = await asyncio.gather(
        *(read_claims(texts, [passage], context.nli, question=question) for passage in sample_passages(samples))
    )
    rows = await context.nli.run(_nli_rows, sentences, samples, columns)
    return Votes(rows, f"nli {context.nli.identity}")


def _nli_rows(sentences: Sequence[Span], samples: Sequence[Sample], columns: Sequence[Readings]) -> list[list[Vote]]:
    """A row for each sentence. A sample that has the very sentence does not contradict it. Blocks."""
    said = [{clean(one.text) for one in claim_sentences(sample.text)} for sample in samples]
    rows = []
    for at, sentence in enumerate(sentences):
        votes = [_nli_vote(sentence.text, c.claims[at], s.text) for c, s in zip(columns, samples, strict=True)]
        same = [clean(sentence.text) in own for own in said]
        rows.append(
            [Vote(0.0, 0.0) if is_same and vote.contradiction >= CONTRADICTS_FROM else vote
             for vote, is_same in zip(votes, same, strict=True)]
        )  # fmt: skip
    return rows


def _nli_vote(sentence: str, reading: ClaimEvidence, sample: str) -> Vote:
    seen = reading.support
    if seen is None:
        return Vote(NEUTRAL_WEIGHT, 0.0)
    contradiction, entailment = reading.contradiction, reading.entailment
    if is_short_answer(clean(sentence)):
        drift = _short_answer_drift(sentence, sample, 1.0 - entailment, contradiction)
        contradiction = max(contradiction, drift)  # another answer to the same question is no mere addition
    else:
        neutral = max(0.0, 1.0 - contradiction - entailment)
        drift = min(1.0, contradiction + NEUTRAL_WEIGHT * neutral)
    decisive = reading.against if contradiction >= CONTRADICTS_FROM and reading.against else seen
    return Vote(drift, contradiction, decisive.quote(reading.hypothesis, drift))


def _short_answer_drift(answer: str, sample: str, not_entailed: float, contradiction: float) -> float:
    """Drift of an answer that is no sentence. The question stands in both texts, so words decide where they can."""
    says, says_other = _YES_OR_NO.get(_first_word(answer)), _YES_OR_NO.get(_first_word(sample))
    if says is not None and says_other is not None:
        return 0.0 if says == says_other else 1.0
    stated, others = stems_of(clean(answer)), stems_of(clean(sample))
    if stated and stated <= others and contradiction < CONTRADICTS_FROM:
        return 0.0
    is_other_answer = is_short_answer(clean(sample)) and not stated & others and not _same_initials(answer, sample)
    return max(not_entailed, OTHER_ANSWER_DRIFT) if is_other_answer else not_entailed


def _first_word(text: str) -> str:
    found = re.search(r"\w+", clean(text))
    return found[0].lower() if found else ""


def _same_initials(first: str, second: str) -> bool:
    """True for a name and its abbreviation: "US", "United States"."""
    spelled = ["".join(word[0] for word in words(text) if word != "of") for text in (first, second)]
    plain = [re.sub(r"\W", "", text).lower() for text in (first, second)]
    return plain[0] in (spelled[1], plain[1]) or plain[1] == spelled[0]


def ngram_votes(sentences: Sequence[Span], samples: Sequence[Sample], response: str) -> Votes:
    """SelfCheckGPT's unigram model over content words and numbers: how new are a sentence's words to the samples?

    One vote for all samples together, as the model is one: 0 where every word stands in every text, 1 where only this
    answer has them. Blocks.
    """
    model = UnigramModel([response, *(sample.text for sample in samples)])
    rows = []
    for sentence in sentences:
        new = [model.novelty(model.surprise(word)) for word in words(clean(sentence.text)) if stems_of(word)]
        drift = sum(new) / len(new) if new else 0.0
        rows.append([Vote(drift, drift)] * len(samples))
    return Votes(rows, "ngram")


def bertscore_votes(sentences: Sequence[Span], samples: Sequence[Sample]) -> Votes:
    """SelfCheckGPT-BERTScore (arXiv 2303.08896, section 5.1): how far is each sample's nearest sentence? Blocks.

    Similarity shows what is missing, not what is negated: a contradiction in nearly the same words is near.
    """
    encoder = default_encoder()
    drifts = sample_drifts(encoder, [clean(s.text) for s in sentences], [clean(one.text) for one in samples])
    rows = [[Vote(drift, drift) for drift in row] for row in drifts]
    return Votes(rows, f"bertscore {encoder.name}@{encoder.version}")


async def judge_votes(
    sentences: Sequence[Span], samples: Sequence[Sample], response: str, context: CheckContext, judge: LlmSession
) -> Votes:
    """A judge compares the whole answer with each sample, then the sentences with the samples that disagree.

    A clean answer costs one call a sample, all at once; only a drifting one costs a call a sentence on top.

    Raises:
        LlmError: no sample could be judged.
    """
    replies = await asyncio.gather(
        *(_agrees(response, sample.text, context, judge) for sample in samples), return_exceptions=True
    )
    errors = _provider_errors(replies)
    if len(errors) == len(replies):
        raise errors[0]
    read = [(sample, reply) for sample, reply in zip(samples, replies, strict=True) if isinstance(reply, bool)]
    against = [sample for sample, agrees in read if not agrees]
    drifting = await _drifting(sentences, against, context, judge) if against else set()
    quotes = {sample: _whole(sample, samples) for sample in against}
    rows = [
        [Vote(float(not agrees and span in drifting), float(not agrees and span in drifting), quotes.get(sample))
         for sample, agrees in read]
        for span in sentences
    ]  # fmt: skip
    return Votes(rows, f"judge {context.prompts.version(JUDGE_TASK)}", unread=len(errors))


def _whole(sample: Sample, samples: Sequence[Sample]) -> Quote:
    span = Span.of(sample.text, 0, len(sample.text))
    return Quote(passage_id=f"sample-{list(samples).index(sample) + 1}", source="sample", span=span, score=1.0)


async def _agrees(statement: str, paragraph: str, context: CheckContext, judge: LlmSession) -> bool:
    messages = context.prompts.render(JUDGE_TASK, statement=statement, paragraph=paragraph)
    return await ask(judge, messages, parse_agreement, repair=AGREEMENT_REPAIR)


async def _drifting(
    sentences: Sequence[Span], against: Sequence[Sample], context: CheckContext, judge: LlmSession
) -> set[Span]:
    """The sentences that the disagreeing samples disagree with; all of them if none can be named."""
    if len(sentences) == 1:
        return set(sentences)
    paragraph = "\n\n".join(sample.text for sample in against)
    replies = await asyncio.gather(
        *(_agrees(clean(s.text), paragraph, context, judge) for s in sentences), return_exceptions=True
    )
    _provider_errors(replies)
    named = {span for span, reply in zip(sentences, replies, strict=True) if reply is False}
    return named or set(sentences)


def _provider_errors(replies: Sequence[bool | BaseException]) -> list[LlmError]:
    """The failures among the replies. Raises what is no failure of the provider."""
    errors: list[LlmError] = []
    for reply in replies:
        if isinstance(reply, LlmError):
            errors.append(reply)
        elif isinstance(reply, BaseException):
            raise reply
    return errors


async def pairwise_contradiction_rate(
    votes: Votes, exchange: Exchange, samples: Sequence[Sample], context: CheckContext
) -> float:
    """Share of the pairs among the answer and its samples in which one contradicts the other (four types, type 2)."""
    contradicting = sum(
        any(row[n].contradiction >= CONTRADICTS_FROM for row in votes.rows) for n in range(len(samples))
    )
    others = [
        _samples_contradict(exchange, samples[first], samples[second], context)
        for first in range(len(samples))
        for second in range(first + 1, len(samples))
    ]
    contradicting += sum(await asyncio.gather(*others))
    return contradicting / (len(samples) + len(others))


async def _samples_contradict(exchange: Exchange, first: Sample, second: Sample, context: CheckContext) -> bool:
    if first.text.strip() == second.text.strip():
        return False
    sentences = (await context.nli.run(claim_sentences, first.text))[:MAX_PAIRED_SENTENCES]
    if not sentences:
        return False
    votes = await nli_votes(exchange, sentences, [second], context)
    return any(row[0].contradiction >= CONTRADICTS_FROM for row in votes.rows)
