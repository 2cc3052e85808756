"""Which claims the model's other answers make as well: the share of them for each claim, and for each field of an
answer that is JSON, with its place in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from evidencerails.exchange import Exchange
from evidencerails.measures.base import (
    ClaimScore,
    MeasureContext,
    MeasureResult,
    Statement,
    UnmeasuredError,
    clipped,
    result_of,
)
from evidencerails.measures.samples import Relation, relations, samples_for
from evidencerails.text.json_places import Path, walk, whole_json
from evidencerails.text.language import unknown_language


class Field(NamedTuple):
    """One value that is neither object nor list, and where its text (with its key) is."""

    path: str
    """As in `order.items[0].price`."""
    value: Any
    start: int
    value_start: int
    end: int


def json_fields(text: str) -> list[Field] | None:
    """The fields of a JSON object or array, alone or in a code fence; None if the text is something else."""
    found = whole_json(text)
    if found is None:
        return None
    parts = ((path, place, text[place.start : place.end]) for path, place in walk(text, found[0]))
    return [
        Field(_dotted(path), json.loads(written), place.first, place.start, place.end)
        for path, place, written in parts
        if written[0] not in "{["
    ]


def _dotted(path: Path) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def same_value(value: Any) -> str:
    """A text that is equal for equal values: case and white space of strings do not count, 1 and 1.0 are one number."""
    if isinstance(value, str):
        return json.dumps(" ".join(value.casefold().split()))
    if isinstance(value, float) and value.is_integer():
        return json.dumps(int(value))
    return json.dumps(value)


Verdict = Literal["consistent", "uncertain", "inconsistent"]

MINORITY_FROM = 0.25
"""Share of the answers from which a claim without a majority is uncertain instead of inconsistent. A claim that only
the response makes is never more than a tie."""
_MISSING = "<no such field>"


def verdict_of(saying: int, k: int, contradicting: int = 0) -> Verdict:
    """Verdict on a claim that `saying` of k answers make, the response itself being one of them.

    Consistent with a majority (for even k half of the answers is a tie, not a majority); inconsistent if a majority
    contradicts it or only a small minority makes it.
    """
    if 2 * saying > k:
        return "consistent"
    if 2 * contradicting > k:
        return "inconsistent"
    is_tie = 2 * saying == k
    return "uncertain" if is_tie or (saying > 1 and saying / k >= MINORITY_FROM) else "inconsistent"


def agreement(values: Sequence[str]) -> float | None:
    """Mean over pairs of [O_i.f = O_j.f]: SC of one field; None for fewer than two values."""
    k = len(values)
    if k < 2:
        return None
    return sum(count * (count - 1) for count in Counter(values).values()) / (k * (k - 1))


class SelfConsistencyMeasure:
    """Per claim the share of samples that do not say it, and a verdict; per field for JSON answers.

    A sample says a claim if some window of it entails the claim, which puts the claim and the sample's wording of it
    into one cluster. Samples that are silent or contradict count alike in the score; the details distinguish them.
    """

    name = "self_consistency"
    version = "1"

    async def measure(self, exchange: Exchange, claims: Sequence[Statement], context: MeasureContext) -> MeasureResult:
        samples = await samples_for(exchange, context)
        if fields := await context.nli.run(json_fields, exchange.response):
            return await context.nli.run(self._of_fields, fields, samples, claims)
        if reason := await context.nli.run(unknown_language, exchange.response, context.nli.languages):
            raise UnmeasuredError(reason)
        found = await relations([claim.text for claim in claims], samples, context)
        version = context.nli.identity
        scores = [_claim_score(row) for row in found]
        return result_of(self, scores, version=version, details={"samples": len(samples)})

    def _of_fields(self, fields: Sequence[Field], samples: Sequence[str], claims: Sequence[Statement]) -> MeasureResult:
        others = [other for other in map(json_fields, samples) if other is not None]
        if not others:
            raise UnmeasuredError("samples_not_json")
        report = field_report(fields, others)
        scores = [_score_of_fields(claim, fields, report) for claim in claims]
        agreements = [entry["agreement"] for entry in report.values()]
        return MeasureResult(
            name=self.name,
            version=self.version,
            claims=tuple(scores),
            score=clipped(1.0 - sum(agreements) / len(agreements)),
            details={"samples": len(others), "samples_not_json": len(samples) - len(others), "fields": report},
        )


def _claim_score(row: Sequence[Relation]) -> ClaimScore:
    counts = Counter(relation.stand for relation in row)
    verdict = verdict_of(1 + counts["supports"], 1 + len(row), counts["contradicts"])
    details = {"verdict": verdict, **{name: counts[name] for name in ("supports", "contradicts", "silent")}}
    return ClaimScore(score=clipped(1.0 - counts["supports"] / len(row)), reason=verdict, details=details)


def field_report(fields: Sequence[Field], others: Sequence[Sequence[Field]]) -> dict[str, dict[str, Any]]:
    """For each field of any answer: agreement, majority value, and the verdict on the response's own value."""
    answers = [{field.path: same_value(field.value) for field in answer} for answer in (fields, *others)]
    paths = dict.fromkeys(path for answer in answers for path in answer)
    return {path: _field_entry([answer.get(path, _MISSING) for answer in answers]) for path in paths}


def _field_entry(values: Sequence[str]) -> dict[str, Any]:
    own = values[0]
    value, count = Counter(values).most_common(1)[0]
    saying = values.count(own)
    return {
        "agreement": agreement(values),
        "verdict": verdict_of(saying, len(values), count if value != own else 0),
        "majority": value if 2 * count > len(values) and value != _MISSING else None,
        "score": clipped(1.0 - (saying - 1) / (len(values) - 1)),
    }


def _score_of_fields(claim: Statement, fields: Sequence[Field], report: dict[str, dict[str, Any]]) -> ClaimScore:
    """The worst of the fields whose text the claim's span touches."""
    touched = [field.path for field in fields if field.start < claim.span.end and field.end > claim.span.start]
    if not touched:
        return ClaimScore(reason="no_field")
    worst = max(touched, key=lambda path: float(report[path]["score"]))
    return ClaimScore(
        score=report[worst]["score"],
        reason=report[worst]["verdict"],
        details={"verdict": report[worst]["verdict"], "field": worst},
    )
