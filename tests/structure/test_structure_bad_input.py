"""Hostile schemas and responses: a clear outcome, in bounded time, without a network."""

import json
from typing import Any

import pytest
from stub import serving

from evidencerails import Guard
from evidencerails.report import Report

pytestmark = pytest.mark.slow


def check(response: str, schema: Any, **settings: Any) -> Report:
    return Guard({"checks": ["structure"], "structure": settings}).check_sync(response=response, schema=schema)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "strin"}, "bad_schema: at /type"),
        ({"properties": []}, "bad_schema: at /properties"),
        ({"pattern": "("}, "bad_schema: at /: '('"),
        ({"patternProperties": {"[": {}}}, "bad_schema: at /: '['"),
        ({"$schema": "https://example.org/mine"}, "bad_schema: unknown draft"),
        ({"$schema": 7}, "bad_schema: unknown draft"),
        ({"$ref": "#/$defs/none"}, "unresolved_ref"),
        ({"$ref": "#"}, "endless_ref"),
        ({"allOf": [{"$ref": "#"}]}, "endless_ref"),
        ({"minimum": float("nan")}, "bad_schema: it is not JSON"),
        ({"status": "string", "total": "number"}, "bad_schema: none of its keys ('status', 'total') is a keyword"),
        ({"title": "string", "total": "number"}, "bad_schema: none of its keys"),
        (
            {"type": "object", "propertis": {}, "require": ["a"]},
            "bad_schema: 'propertis' is no keyword of JSON Schema; write 'properties'",
        ),
        ({"type": "string", "min_length": 3}, "write 'minLength'"),
    ],
)
def test_a_schema_that_cannot_be_used_leaves_the_response_unverified(schema: Any, reason: str) -> None:
    report = check('{"a": 1}', schema)
    assert report.status == "unverified" and report.hallucination_score is None
    assert reason in report.checks["structure"].reason


@pytest.mark.parametrize("more", ["x-origin", "example", "nullable", "note", "propertyOrdering", "minContains"])
def test_keys_that_json_schema_does_not_know_are_left_alone(more: str) -> None:
    assert check('{"a": 1}', {"type": "object", more: 1}).status == "grounded"


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_a_remote_reference_is_never_fetched(keyword: str) -> None:
    with serving(lambda _: (200, '{"type": "integer"}')) as stub:
        report = check("3", {keyword: f"{stub.url}/schema.json"})
    assert (report.status, stub.requests) == ("unverified", [])
    assert "never fetched" in report.reason


def test_what_was_found_before_a_reference_failed_still_counts() -> None:
    report = check('{"a": "x", "b": 1}', {"properties": {"a": {"type": "integer"}}, "required": ["c"]})
    assert report.status == "hallucinated"


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "(x+x+)+y"])
def test_a_pattern_that_backtracks_without_end_is_stopped(pattern: str) -> None:
    report = check(json.dumps(("x" if "x" in pattern else "a") * 5000 + "!"), {"type": "string", "pattern": pattern})
    assert report.status in ("unverified", "hallucinated")  # the engine sees through some of them
    if report.status == "unverified":
        assert "pattern_timeout" in report.reason


@pytest.mark.parametrize(
    ("keyword", "draft"), [("additionalProperties", "2020-12"), ("unevaluatedProperties", "2019-09")]
)
def test_patterns_of_keys_are_stopped_too(keyword: str, draft: str) -> None:
    """The library matches these with `re`, which cannot be stopped; also where `$ref` leads back to the root."""
    schema: dict[str, Any] = {"$schema": f"https://json-schema.org/draft/{draft}/schema", keyword: False}
    schema |= {"patternProperties": {"^(a|a)*$": {}}, "properties": {"x": {"$ref": "#"}}}
    for response in ({"a" * 60 + "!": 1}, {"x": {"a" * 60 + "!": 1}}):
        report = check(json.dumps(response), schema)
        assert report.status == "unverified" and "pattern_timeout" in report.reason


def test_references_that_multiply_are_stopped_by_the_clock() -> None:
    levels = 24
    schema: dict[str, Any] = {"$ref": "#/$defs/l0", "$defs": {}}
    for level in range(levels):
        schema["$defs"][f"l{level}"] = {"allOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2}
    schema["$defs"][f"l{levels}"] = {"type": "integer"}
    report = check("3", schema, timeout_s=0.5)
    assert report.status == "unverified" and "timeout" in report.reason


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [100, 20_000])
def test_deep_nesting_is_a_violation_and_never_a_crash(opening: str, depth: int) -> None:
    closing = "]" if opening == "[" else "}"
    report = check(opening * depth + "1" + closing * depth, {"type": ["array", "object"]})
    assert [finding.violation for finding in report.findings] == ["too_deep"]
    unclosed = check(opening * depth, {"type": ["array", "object"]})
    assert unclosed.status == "hallucinated"


def test_brackets_that_never_close_cost_no_time() -> None:
    report = check('{"a": [' * 20_000, {"type": "object"})
    assert report.status == "hallucinated"


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "1e400", "-1E+99999"])
def test_huge_numbers(number: str) -> None:
    report = check(f'{{"n": {number}}}', {"properties": {"n": {"type": "number"}}})
    assert [finding.violation for finding in report.findings] == ["number_too_large"]


def test_a_megabyte_of_json() -> None:
    rows = [{"id": n, "name": f"name {n}", "tags": ["a", "b"]} for n in range(20_000)]
    row = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    schema = {"type": "array", "uniqueItems": True, "items": row}
    rows[19_999]["id"] = "x"
    text = json.dumps(rows)
    assert len(text) > 1_000_000
    (finding,) = check(text, schema, timeout_s=60).findings
    assert finding.reason.startswith("at /19999/id: ")


def test_thousands_of_violations_are_counted_and_the_report_stays_small() -> None:
    report = check(json.dumps(["x"] * 5000), {"items": {"type": "integer"}})
    assert len(report.findings) == 100
    assert report.metrics["structure_violations"] == 5000
    assert len(json.dumps(report.plain())) < 40_000


def test_a_response_beyond_the_limit_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evidencerails.checks.structure.check.MAX_CHARACTERS", 10)
    report = check('{"a": "far more than ten"}', {"type": "object"})
    assert [finding.violation for finding in report.findings] == ["too_long"]


@pytest.mark.parametrize(
    ("response", "status"),
    [
        ('{"ville": "Zürich", "état": "fermé"}', "grounded"),
        ('{"ville": "東京", "état": "ouvert"}', "grounded"),
        ('{"ville": "Київ", "état": "відкрито"}', "hallucinated"),
        ('La réponse est {"ville": "\\u00e9", "état": "ouvert"} voilà.', "grounded"),
        ("答えは分かりません。", "hallucinated"),
    ],
)
def test_text_in_other_languages(response: str, status: str) -> None:
    schema = {"properties": {"état": {"enum": ["ouvert", "fermé"]}}, "required": ["ville", "état"]}
    report = check(response, schema)
    assert report.status == status
    for finding in report.findings:
        assert finding.span is None or response[finding.span.start : finding.span.end] == finding.span.text


@pytest.mark.parametrize(
    "response", ["\x00", '{"a": "\ud800"}', '{"a": "\x00"}', "{" * 3, "```json\n```", "```json\n{", '"', "[1]"]
)
def test_odd_texts_have_a_verdict(response: str) -> None:
    assert check(response, {"type": "object"}).status == "hallucinated" or response == '{"a": "\ud800"}'


def test_a_template_in_the_answer_is_no_json() -> None:
    assert [f.violation for f in check("Dear {name}, your {item} is here.", {"type": "object"}).findings] == ["no_json"]
