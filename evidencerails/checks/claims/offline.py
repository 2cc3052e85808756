"""Claims in classes without a model that writes: NLI and word evidence over each claim and its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.claims.llm import second_opinion
from evidencerails.checks.claims.plan import ClassifiedClaims, Plan
from evidencerails.checks.claims.proof import MAX_COMPARED_CHARACTERS
from evidencerails.checks.error_types import error_types
from evidencerails.checks.grounding import claim_of as claim_of_reading
from evidencerails.config import GroundingSettings
from evidencerails.exchange import Exchange, Passage, Span
from evidencerails.report import Claim, ErrorType, Label
from evidencerails.text.claimable import bare_labels, clean
from evidencerails.text.claims import ExtractedClaim
from evidencerails.text.subjective import subject_of
from evidencerails.verdict.hypotheses import Hypothesis, hypotheses
from evidencerails.verdict.model import ClaimVerdict, VerdictModel, sigmoid
from evidencerails.verdict.reading import LIKELIER, ClaimEvidence, Readings, read_claims
from evidencerails.verdict.reading import Judged as Verdict
from evidencerails.verdict.reading import judged_reading as verdict_on


class _Read(NamedTuple):
    """One claim with what the evidence says about it."""

    extracted: ExtractedClaim
    reading: ClaimEvidence
    verdict: Verdict


async def classify_offline(
    extracted: list[ExtractedClaim], exchange: Exchange, plan: Plan, context: CheckContext
) -> ClassifiedClaims:
    """The claims with the labels that NLI and word evidence give them; unsure ones as the plan's judge sees them.

    Raises:
        NliError: the NLI backend failed.
    """
    model, settings = VerdictModel.load(), context.config.grounding
    whole, wordings = await context.nli.run(_whole_sentences, extracted, exchange.user_input)
    labels = await context.nli.run(_labels, exchange.response, [claim.sentence for claim in extracted])
    texts: list[Hypothesis | str] = [*wordings, *(claim.text for claim in (*extracted, *labels))]
    readings = await read_claims(texts, plan.passages, context.nli, settings)
    read, of_labels = readings.claims[: len(texts) - len(labels)], readings.claims[len(texts) - len(labels) :]
    settled = await context.nli.run(_judged_together, whole, extracted, read, model, settings)
    settled = await _with_parts(settled, plan, context, model)
    settled += await context.nli.run(_contradicted, labels, of_labels, model, settings)
    settled.sort(key=lambda read: read.extracted.span.start)
    claims = await context.nli.run(_claims_offline, settled, plan.passages, f"{context.nli.name}@{context.nli.version}")
    if plan.judge is None:
        claims = await context.nli.run(_without_matters_of_taste, claims)
    score: float | None = await context.nli.run(_response_score, settled, claims, model)
    details = {"coverage": round(readings.coverage.share, 4), "pairs": readings.pairs}
    if plan.judge is not None:
        claims, asked = await second_opinion(claims, plan, context, plan.judge)
        known = [claim.score for claim in claims if claim.score is not None]
        score = max(known, default=0.0) if asked else score
        details["judged"] = asked
    return ClassifiedClaims(claims, score, f"verdict-{model.version}+{context.nli.name}@{context.nli.version}", details)


def _labels(response: str, sentences: Sequence[Span]) -> list[ExtractedClaim]:
    """The labels of a response as claims."""
    return [ExtractedClaim(clean(span.text), span, span) for span in bare_labels(response, sentences)]


def _contradicted(
    labels: Sequence[ExtractedClaim],
    readings: Sequence[ClaimEvidence],
    model: VerdictModel,
    settings: GroundingSettings,
) -> list[_Read]:
    """The labels that the evidence contradicts; it need not have them."""
    read = [_Read(label, one, verdict_on(one, model, settings)) for label, one in zip(labels, readings, strict=True)]
    return [one for one in read if one.verdict.label == "contradicted"]


def _whole_sentences(extracted: list[ExtractedClaim], user_input: str) -> tuple[list[ExtractedClaim], list[Hypothesis]]:
    """The sentences of the claims, each as if it were one, and what the model reads for them."""
    sentences = list(dict.fromkeys(claim.sentence for claim in extracted))
    wordings = hypotheses(sentences, user_input)
    return [ExtractedClaim(w.text, span, span) for w, span in zip(wordings, sentences, strict=True)], wordings


def _response_score(settled: Sequence[_Read], claims: Sequence[Claim], model: VerdictModel) -> float:
    """That one claim is wrong is at least as likely as that the worst one is; claims nobody can decide do not count."""
    wrong = [claim.score or 0.0 for claim in claims if claim.label not in ("supported", "unevaluatable")]
    decided = [read for read, claim in zip(settled, claims, strict=True) if claim.label != "unevaluatable"]
    return max([model.response([read.verdict.verdict for read in decided]), *wrong])


def _judged_together(
    whole: list[ExtractedClaim],
    extracted: list[ExtractedClaim],
    readings: list[ClaimEvidence],
    model: VerdictModel,
    settings: GroundingSettings,
) -> list[_Read]:
    both = zip([*whole, *extracted], readings, strict=True)
    found = [_Read(claim, one, verdict_on(one, model, settings)) for claim, one in both]
    most = settings.max_unsupported_score
    bar = model.warn_from(settings.max_false_warnings) if most is None else most
    return _settled(found[: len(whole)], found[len(whole) :], bar)


def _settled(whole: Sequence[_Read], parts: Sequence[_Read], bar: float) -> list[_Read]:
    """The claims with verdicts that agree with those on their sentences.

    A sentence that is one claim has one verdict. One that was cut: a claim that is merely absent, in a sentence that is
    supported as a whole, gets the mean of both log-odds; a sentence that is not supported though each of its claims
    is stands for them itself, as supported in part.
    """
    settled: list[_Read] = []
    of_sentence: dict[int, list[_Read]] = {}
    for read in parts:
        of_sentence.setdefault(read.extracted.sentence.start, []).append(read)
    for sentence in whole:
        own = of_sentence[sentence.extracted.span.start]
        if len(own) == 1 and own[0].extracted.span == sentence.extracted.span:
            text = own[0].extracted.text
            is_reworded = text not in sentence.extracted.text
            settled.append(own[0] if is_reworded else sentence._replace(extracted=_reread(sentence, own[0])))
        elif sentence.verdict.label == "supported":
            settled += [_tempered(read, sentence, bar) for read in own]
        elif all(read.verdict.label == "supported" for read in own):
            label: Label = "contradicted" if sentence.verdict.label == "contradicted" else "partially_supported"
            settled.append(sentence._replace(verdict=Verdict(label, sentence.verdict.verdict)))
        else:
            settled += own
    return settled


def _reread(sentence: _Read, own: _Read) -> ExtractedClaim:
    return own.extracted._replace(text=sentence.extracted.text)


def _tempered(read: _Read, sentence: _Read, bar: float) -> _Read:
    if read.verdict.label in ("supported", "contradicted"):
        return read
    mean = (read.verdict.verdict.logit + sentence.verdict.verdict.logit) / 2
    lift = mean - read.verdict.verdict.logit
    verdict = ClaimVerdict(sigmoid(mean), {**read.verdict.verdict.parts, "whole_sentence": lift})
    label: Label = "supported" if verdict.score < bar else read.verdict.label
    return read._replace(verdict=Verdict(label, verdict))


async def _with_parts(settled: list[_Read], plan: Plan, context: CheckContext, model: VerdictModel) -> list[_Read]:
    """Absent claims of which the evidence supports a part, and does not deny the rest, as `partially_supported`."""
    places = [
        n
        for n, read in enumerate(settled)
        if read.verdict.label == "absent" and read.extracted.parts and read.reading.contradiction < LIKELIER
    ]
    if not places:
        return settled
    texts = [part for place in places for part in settled[place].extracted.parts]
    settings = context.config.grounding
    readings: Readings = await read_claims(texts, plan.passages, context.nli, settings)
    found = iter(readings.claims)
    changed = list(settled)
    for place in places:
        read = settled[place]
        labels = [verdict_on(next(found), model, settings).label for _ in read.extracted.parts]
        if "supported" in labels:
            changed[place] = read._replace(verdict=Verdict("partially_supported", read.verdict.verdict))
    return changed


def _claims_offline(settled: Sequence[_Read], passages: Sequence[Passage], version: str) -> list[Claim]:
    everything = "\n\n".join(passage.text for passage in passages)
    return [_claim_offline(read, everything, version) for read in settled]


def _claim_offline(read: _Read, everything: str, version: str) -> Claim:
    types = _types(read, everything)
    claim = claim_of_reading(read.extracted.span, read.reading, read.verdict, version, types=types)
    reason = claim.reason if read.verdict.label == "supported" else _reason(claim.reason, types)
    update = {"text": read.extracted.text, "spans": read.extracted.spans, "reason": reason}
    return claim.model_copy(update=update)


def _types(read: _Read, everything: str) -> tuple[ErrorType, ...]:
    if len(everything) > MAX_COMPARED_CHARACTERS:  # the decisive windows say more than its beginning
        windows = {seen.window.text for seen in (read.reading.support, read.reading.against) if seen}
        everything = "\n\n".join(sorted(windows))
    return error_types(read.extracted.text, everything, read.verdict.label)


def _reason(reason: str, types: tuple[ErrorType, ...]) -> str:
    shown = ", ".join(name for name in types if name != "other")
    return f"{reason.split(';')[0]}; error: {shown}" if shown else reason.split(";")[0]


def _without_matters_of_taste(claims: Sequence[Claim]) -> list[Claim]:
    """The claims; those that nothing supports, and nothing could, as `unevaluatable`.

    Only where the evidence is silent: a review may well say that a film is boring.
    """
    return [_if_decidable(claim) for claim in claims]


def _if_decidable(claim: Claim) -> Claim:
    subject = subject_of(claim.text) if claim.label in ("absent", "partially_supported") else None
    if subject is None:
        return claim
    reason = f"{subject}: no evidence could prove or refute it, and this evidence does not state it"
    changes = {"label": "unevaluatable", "score": None, "error_types": (), "reason": reason, "evidence": ()}
    return claim.model_copy(update=changes)
