"""Claims in classes without a model that writes: NLI and word evidence over each claim and its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evidencerails.checks.base import CheckContext
from evidencerails.checks.claims.plan import ClassifiedClaims, Plan
from evidencerails.checks.claims.proof import MAX_COMPARED_CHARACTERS
from evidencerails.checks.error_types import error_types
from evidencerails.checks.grounding import claim_of
from evidencerails.exchange import Exchange
from evidencerails.nli.service import Steps
from evidencerails.report import Claim, Label
from evidencerails.text.claimable import bare_labels, clean
from evidencerails.text.claims import ExtractedClaim
from evidencerails.text.subjective import subject_of
from evidencerails.verdict.model import VerdictModel
from evidencerails.verdict.reading import (
    ClaimEvidence,
    Hypothesis,
    Judged,
    hypotheses,
    judged_reading,
    reading,
)


class _Read(NamedTuple):
    """One claim with what the evidence says about it."""

    extracted: ExtractedClaim
    reading: ClaimEvidence
    verdict: Judged


def classify_offline(
    extracted: list[ExtractedClaim], exchange: Exchange, plan: Plan, context: CheckContext
) -> Steps[ClassifiedClaims]:
    """The claims with the labels that NLI and word evidence give them."""
    model, settings, passages = VerdictModel.load(), context.config.grounding, plan.passages
    sentences = list(dict.fromkeys(claim.sentence for claim in extracted))
    wordings = hypotheses(sentences, exchange.user_input)
    # Each sentence as if it were one claim, and the labels of the response, which the evidence need not have.
    whole = [ExtractedClaim(w.text, span, span) for w, span in zip(wordings, sentences, strict=True)]
    labels = [ExtractedClaim(clean(span.text), span, span) for span in bare_labels(exchange.response, sentences)]
    every = [*whole, *extracted, *labels]
    texts: list[Hypothesis | str] = [*wordings, *(claim.text for claim in (*extracted, *labels))]
    readings = yield from reading(texts, passages, context.nli)
    read = [
        _Read(claim, one, judged_reading(one, model, settings))
        for claim, one in zip(every, readings.claims, strict=True)
    ]
    of_claims, of_labels = read[len(whole) : len(read) - len(labels)], read[len(read) - len(labels) :]
    settled = _settled(read[: len(whole)], of_claims)
    settled += [one for one in of_labels if one.verdict.label == "contradicted"]
    settled.sort(key=lambda one: one.extracted.span.start)
    everything = "\n\n".join(passage.text for passage in passages)
    version = context.nli.identity
    claims = [_claim(one, everything, version) for one in settled]
    claims = [_if_decidable(one) if one.label in ("absent", "partially_supported") else one for one in claims]
    # That one claim is wrong is at least as likely as that the worst one is; claims nobody can decide do not count.
    wrong = [claim.score or 0.0 for claim in claims if claim.label not in ("supported", "unevaluatable")]
    decided = [one.verdict.verdict.score for one, c in zip(settled, claims, strict=True) if c.label != "unevaluatable"]
    score = max([0.0, *decided, *wrong])
    details = {"coverage": round(readings.coverage.share, 4), "pairs": readings.pairs}
    return ClassifiedClaims(claims, score, f"verdict-{model.version}+{version}", details)


def _settled(whole: Sequence[_Read], parts: Sequence[_Read]) -> list[_Read]:
    """The claims with verdicts that agree with those on their sentences.

    A sentence that is one claim has one verdict. One that was cut and is not supported, though each of its claims is,
    stands for them itself, as supported in part.
    """
    settled: list[_Read] = []
    of_sentence: dict[int, list[_Read]] = {}
    for read in parts:
        of_sentence.setdefault(read.extracted.sentence.start, []).append(read)
    for sentence in whole:
        own = of_sentence[sentence.extracted.span.start]
        if len(own) == 1 and own[0].extracted.span == sentence.extracted.span:
            whole_text = sentence.extracted.text
            is_reworded = own[0].extracted.text not in whole_text
            own[0] = own[0] if is_reworded else sentence._replace(extracted=own[0].extracted._replace(text=whole_text))
            settled += own
        elif sentence.verdict.label != "supported" and all(read.verdict.label == "supported" for read in own):
            label: Label = "contradicted" if sentence.verdict.label == "contradicted" else "partially_supported"
            settled.append(sentence._replace(verdict=Judged(label, sentence.verdict.verdict)))
        else:
            settled += own
    return settled


def _claim(read: _Read, everything: str, version: str) -> Claim:
    if len(everything) > MAX_COMPARED_CHARACTERS:  # the decisive windows say more than its beginning
        windows = {seen.window.text for seen in (read.reading.support, read.reading.against) if seen}
        everything = "\n\n".join(sorted(windows))
    types = error_types(read.extracted.text, everything, read.verdict.label)
    claim = claim_of(read.extracted.span, read.reading, read.verdict, version, types=types)
    return claim.model_copy(update={"text": read.extracted.text, "spans": read.extracted.spans})


def _if_decidable(claim: Claim) -> Claim:
    """The claim; `unevaluatable` if nothing supports it, and nothing could.

    Only where the evidence is silent: a review may well say that a film is boring.
    """
    subject = subject_of(claim.text)
    if subject is None:
        return claim
    reason = f"{subject}: no evidence could prove or refute it, and this evidence does not state it"
    changes = {"label": "unevaluatable", "score": None, "error_types": (), "reason": reason, "evidence": ()}
    return claim.model_copy(update=changes)
