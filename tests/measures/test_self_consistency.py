"""Per claim, and per field for JSON: how many of the model's answers say the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scoring_tools import MakeContext, Row, claims_of, exchange_of

from evidencerails.measures.json_fields import json_fields, same_value
from evidencerails.measures.self_consistency import SelfConsistencyMeasure, Verdict, agreement, verdict_of

YES: Row = (0.9, 0.05, 0.05)
NO: Row = (0.05, 0.05, 0.9)
CLAIM = "The tower is in Paris."


@pytest.mark.parametrize(
    ("saying", "k", "contradicting", "verdict"),
    [
        (3, 3, 0, "consistent"),
        (2, 3, 1, "consistent"),  # ceil(3 / 2) = 2 is a majority
        (1, 3, 0, "inconsistent"),  # only the response says it
        (1, 3, 2, "inconsistent"),
        (3, 5, 2, "consistent"),
        (2, 5, 0, "uncertain"),
        (2, 5, 3, "inconsistent"),  # a majority says something else
        (1, 2, 0, "uncertain"),  # a tie is no majority
        (1, 2, 1, "uncertain"),
        (2, 2, 0, "consistent"),
        (2, 4, 2, "uncertain"),
        (2, 9, 0, "inconsistent"),  # 2 / 9 is below a quarter
    ],
)
def test_verdict(saying: int, k: int, contradicting: int, verdict: Verdict) -> None:
    assert verdict_of(saying, k, contradicting) == verdict


@pytest.mark.parametrize(
    ("values", "expected"),
    [([], None), (["a"], None), (["a", "a"], 1.0), (["a", "b"], 0.0), (["a", "a", "b"], 1 / 3), (["a"] * 4, 1.0)],
)
def test_agreement_is_the_share_of_equal_pairs(values: list[str], expected: float | None) -> None:
    assert agreement(values) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("stands", "score", "verdict"),
    [
        ([YES, YES], 0.0, "consistent"),
        ([YES, NO], 0.5, "consistent"),
        ([NO, NO], 1.0, "inconsistent"),
        ([None, None], 1.0, "inconsistent"),
        ([NO], 1.0, "uncertain"),
    ],
)
async def test_a_claim_is_scored_by_the_samples_that_do_not_say_it(
    make_context: MakeContext, stands: list[Row | None], score: float, verdict: str
) -> None:
    samples = [f"Sample {n}." for n in range(len(stands))]
    context = make_context({(s, CLAIM): row for s, row in zip(samples, stands, strict=True) if row})
    result = await SelfConsistencyMeasure().measure(
        exchange_of(CLAIM, samples=samples), claims_of(CLAIM, CLAIM), context
    )
    (claim,) = result.claims
    assert (claim.score, claim.details["verdict"]) == (score, verdict)
    counts = [claim.details[name] for name in ("supports", "contradicts", "silent")]
    assert counts == [stands.count(YES), stands.count(NO), stands.count(None)]


async def test_one_claim_may_drift_while_another_stands(make_context: MakeContext) -> None:
    response = "The tower is in Paris. It was built in 1887."
    samples = ["Sample 0.", "Sample 1."]
    context = make_context({(sample, CLAIM): YES for sample in samples})
    claims = claims_of(response, CLAIM, "It was built in 1887.")
    result = await SelfConsistencyMeasure().measure(exchange_of(response, samples=samples), claims, context)
    assert [claim.details["verdict"] for claim in result.claims] == ["consistent", "inconsistent"]
    assert result.score == 1.0


async def test_without_samples_nothing_is_measured(make_context: MakeContext) -> None:
    result = await SelfConsistencyMeasure().measure(exchange_of(CLAIM), claims_of(CLAIM, CLAIM), make_context())
    assert (result.score, result.reason) == (None, "no_model")


# ---- JSON

ORDER = '{"city": "Paris", "year": 1889, "parts": [{"name": "iron"}]}'
OTHER = '{"city": "paris", "year": 1887.0, "parts": [{"name": "iron"}]}'


async def test_json_is_compared_field_by_field(make_context: MakeContext) -> None:
    claims = claims_of(ORDER, '"city": "Paris"', '"year": 1889', "iron")
    result = await SelfConsistencyMeasure().measure(exchange_of(ORDER, samples=[OTHER, OTHER]), claims, make_context())
    assert [claim.score for claim in result.claims] == [0.0, 1.0, 0.0]
    assert [claim.details["verdict"] for claim in result.claims] == ["consistent", "inconsistent", "consistent"]
    year = result.details["fields"]["year"]
    assert (year["agreement"], year["majority"]) == (pytest.approx(1 / 3), "1887")
    # SC = mean over the three fields of (1, 1/3, 1)
    assert result.score == pytest.approx(1 - 7 / 9)


async def test_a_field_that_is_missing_elsewhere_disagrees(make_context: MakeContext) -> None:
    exchange = exchange_of('{"a": 1, "b": 2}', samples=['{"a": 1}', '{"a": 1, "c": 3}'])
    result = await SelfConsistencyMeasure().measure(exchange, [], make_context())
    fields = result.details["fields"]
    assert {path: entry["verdict"] for path, entry in fields.items()} == {
        "a": "consistent",
        "b": "inconsistent",
        "c": "consistent",  # two of three have no such field
    }


async def test_samples_that_are_no_json_are_counted(make_context: MakeContext) -> None:
    exchange = exchange_of('{"a": 1}', samples=["Sorry.", '```json\n{"a": 1}\n```'])
    result = await SelfConsistencyMeasure().measure(exchange, [], make_context())
    assert (result.score, result.details["samples"], result.details["samples_not_json"]) == (0.0, 1, 1)
    none = await SelfConsistencyMeasure().measure(exchange_of('{"a": 1}', samples=["Sorry."]), [], make_context())
    assert (none.score, none.reason) == (None, "samples_not_json")


async def test_a_claim_outside_all_fields_has_no_score(make_context: MakeContext) -> None:
    response = '{"a": 1}  '
    result = await SelfConsistencyMeasure().measure(
        exchange_of(response, samples=['{"a": 1}']), claims_of(response, "  "), make_context()
    )
    assert (result.claims[0].score, result.claims[0].reason) == (None, "no_field")


@pytest.mark.parametrize(
    "text",
    [
        ORDER,
        f"```json\n{ORDER}\n```",
        f"```\n{ORDER}```",
        json.dumps(json.loads(ORDER), indent=4),
        '{ "a" : { "b" : [ 1 , [ 2 , null ] , "x\\"}]," ] , "c" : true } , "d" : { } , "e" : [ ] , "f" : -1.5e3 }',
        "[1, 2]",
    ],
)
def test_fields_are_those_that_json_reads_with_their_places(text: str) -> None:
    value = json.loads(text.strip("`json\n") if text.startswith("```") else text)
    found = json_fields(text)
    assert found is not None
    for field in found:
        assert _at(value, field.path) == field.value
        assert (
            text[field.start : field.end].endswith(json.dumps(field.value).lstrip('"')[-3:]) or field.value == -1500.0
        )
    assert len(found) == _leaves(value)


def _at(value: Any, path: str) -> Any:
    for part in path.replace("[", ".[").split("."):
        if part:
            value = value[int(part[1:-1])] if part.startswith("[") else value[part]
    return value


def _leaves(value: Any) -> int:
    if isinstance(value, (dict, list)):
        return sum(map(_leaves, value.values() if isinstance(value, dict) else value))
    return 1


@pytest.mark.parametrize("text", ["", "Paris", '"Paris"', "12", '{"a": 1', "{'a': 1}", 'See {"a": 1}', "[" * 100_000])
def test_other_texts_are_no_json(text: str) -> None:
    assert json_fields(text) is None


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1.0, True),
        ("Paris", " paris ", True),
        ("New  York", "new york", True),
        (True, 1, False),
        ("1", 1, False),
        (None, "null", False),
        (0.5, 0.25, False),
    ],
)
def test_same_value(one: Any, other: Any, expected: bool) -> None:
    assert (same_value(one) == same_value(other)) is expected
