"""What most of several answers to one question say: claim by claim for prose, field by field for JSON.

In: answers of a model. Out: each claim with the share of answers that make it, and the answer that the shared ones make
(self-consistency with majority vote, Wang et al., arXiv 2203.11171, by claims instead of whole answers).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, permutations
from typing import NamedTuple

from pydantic import Field as ModelField

from evidencerails.exchange import Span, Value
from evidencerails.measures.base import MeasureContext
from evidencerails.measures.samples import DECIDES_FROM
from evidencerails.measures.self_consistency import Field, Verdict, json_fields, same_value, verdict_of
from evidencerails.measures.semantic_entropy import clusters_of
from evidencerails.nli.base import ENTAILMENT
from evidencerails.nli.windows import content_terms
from evidencerails.text.claims import ExtractedClaim, extract_claims
from evidencerails.text.language import unknown_language
from evidencerails.text.sentences import Splitter
from evidencerails.verdict.reading import hypotheses

MAX_CLAIMS = 30
"""Different claims of all answers together: what they cost grows with the square."""


class SharedClaim(Value):
    """A claim, or a field as `path: value`, and how many answers make it."""

    text: str
    """In the wording that most of them have."""
    share: float = ModelField(ge=0.0, le=1.0)
    """Of all answers."""
    verdict: Verdict


class Consensus(Value):
    """What most answers say."""

    text: str | None = None
    """An answer of the claims that most answers make, and no others; for JSON the commonest value of each field."""
    reason: str = ""
    """Why there is no text."""
    agreement: float | None = ModelField(default=None, ge=0.0, le=1.0)
    """Mean share of the claims: 1 if all answers make all of them."""
    claims: tuple[SharedClaim, ...] = ()
    answers: int = 0


class _Said(NamedTuple):
    answer: int
    claim: ExtractedClaim
    wording: str
    """As it is compared: a short answer with its question."""

    @property
    def key(self) -> str:
        return " ".join(self.wording.casefold().split()).rstrip(".")


class _Cluster(NamedTuple):
    """Claims that entail each other, by their keys."""

    keys: list[str]
    claim: SharedClaim


Entails = Callable[[str, str], bool]


async def consensus_of(answers: Sequence[str], context: MeasureContext, *, question: str = "") -> Consensus:
    """What most of the answers say.

    Claims that entail each other are one; an answer makes it if any claim of its own entails it. An answer that claims
    nothing counts among those that do not make it. With more than `MAX_CLAIMS` claims, or in a language that the model
    does not know, there is a reason in place of a text.

    Raises:
        NliError: the model failed.
        InputError: what the context's splitter gives is not the text's own sentences.
    """
    fields = [(text, found) for text in answers if (found := await context.nli.run(json_fields, text))]
    if 2 * len(fields) > len(answers):
        return await context.nli.run(_by_field, fields, len(answers))
    if reason := await context.nli.run(unknown_language, " ".join(answers)[:5_000], context.nli.languages):
        return Consensus(reason=reason, answers=len(answers))
    said = await context.nli.run(_said, answers, question, context.splitter)
    texts = {one.key: one.wording for one in said}
    if not texts or len(texts) > MAX_CLAIMS:
        reason = f"too_long: {len(texts)} different claims, at most {MAX_CLAIMS}" if texts else "no_claims"
        return Consensus(reason=reason, answers=len(answers))
    pairs = await context.nli.run(_comparable, texts)
    rows = await context.nli.scores([(texts[one], texts[other]) for one, other in pairs])
    entailed = {pair for pair, row in zip(pairs, rows, strict=True) if row[ENTAILMENT] >= DECIDES_FROM}
    return await context.nli.run(
        _by_claim, said, lambda one, other: one == other or (one, other) in entailed, len(answers)
    )


def _comparable(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Both ways round, the claims that share a word which carries meaning: no others say the same."""
    terms = {key: content_terms(text) for key, text in texts.items()}
    return [(one, other) for one, other in permutations(texts, 2) if terms[one] & terms[other]]


def _said(answers: Sequence[str], question: str, splitter: Splitter | None) -> list[_Said]:
    found = []
    for number, answer in enumerate(answers):
        claims = extract_claims(answer, splitter)
        wordings = hypotheses([Span.of(claim.text, 0, len(claim.text)) for claim in claims], question)
        found += [_Said(number, claim, one.text) for claim, one in zip(claims, wordings, strict=True)]
    return found


def _by_claim(said: Sequence[_Said], entails: Entails, count: int) -> Consensus:
    first: dict[str, _Said] = {}
    makers: dict[str, set[int]] = {}
    for one in said:
        first.setdefault(one.key, one)
        makers.setdefault(one.key, set()).add(one.answer)
    keys = list(makers)
    clusters = []
    for places in clusters_of(len(keys), lambda a, b: entails(keys[a], keys[b]) and entails(keys[b], keys[a])):
        own = [keys[place] for place in places]
        saying = len(set().union(*(makers[key] for key in keys if any(entails(key, other) for other in own))))
        text = first[max(own, key=lambda key: len(makers[key]))].claim.text
        claim = SharedClaim(text=text, share=saying / count, verdict=verdict_of(saying, count))
        clusters.append(_Cluster(own, claim))
    shared = [cluster for cluster in clusters if cluster.claim.verdict == "consistent"]
    return Consensus(
        text=_assembled(shared, said, entails) if shared else None,
        reason="" if shared else "no_majority",
        agreement=sum(cluster.claim.share for cluster in clusters) / len(clusters),
        claims=tuple(cluster.claim for cluster in clusters),
        answers=count,
    )


def _assembled(shared: Sequence[_Cluster], said: Sequence[_Said], entails: Entails) -> str:
    """The shared claims in the order and, where a sentence makes no other, in the sentences of the answer that makes
    most of them; then those that it lacks."""
    wanted = {key for cluster in shared for key in cluster.keys}
    most = Counter(answer for answer, _ in {(one.answer, one.key): None for one in said if one.key in wanted})
    answer = most.most_common(1)[0][0]
    parts: dict[str, None] = {}
    for sentence, group in groupby((one for one in said if one.answer == answer), lambda one: one.claim.sentence):
        claims = list(group)
        kept = [one for one in claims if one.key in wanted]
        texts = [sentence.text] if len(kept) == len(claims) else [_as_sentence(one.claim.text) for one in kept]
        parts.update({" ".join(text.split()): None for text in texts})
    made = {one.key for one in said if one.answer == answer and one.key in wanted}
    lacking = [cluster for cluster in shared if not any(entails(key, cluster.keys[0]) for key in made)]
    return " ".join([*parts, *(_as_sentence(cluster.claim.text) for cluster in lacking)])


def _as_sentence(text: str) -> str:
    return text if text[-1:] in ".!?" else f"{text}."


def _by_field(fields: Sequence[tuple[str, Sequence[Field]]], count: int) -> Consensus:
    values: dict[str, Counter[str]] = {}
    written: dict[tuple[str, str], str] = {}
    for text, found in fields:
        for field in found:
            values.setdefault(field.path, Counter())[same_value(field.value)] += 1
            written.setdefault((field.path, same_value(field.value)), text[field.value_start : field.end])
    chosen = {path: counter.most_common(1)[0] for path, counter in values.items()}
    base, own = max(fields, key=lambda one: sum(same_value(f.value) == chosen[f.path][0] for f in one[1]))
    return Consensus(
        text=_with_values(base, own, {path: written[path, value] for path, (value, _) in chosen.items()}),
        agreement=sum(number for _, number in chosen.values()) / (count * len(chosen)),
        claims=tuple(
            SharedClaim(text=f"{path}: {written[path, value]}", share=n / count, verdict=verdict_of(n, count))
            for path, (value, n) in chosen.items()
        ),
        answers=count,
    )


def _with_values(text: str, fields: Sequence[Field], values: Mapping[str, str]) -> str:
    parts, at = [], 0
    for field in fields:
        parts += [text[at : field.value_start], values[field.path]]
        at = field.end
    return "".join([*parts, text[at:]])
