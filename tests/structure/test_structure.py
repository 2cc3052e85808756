"""The check `structure`: schema, pydantic model, rules of the settings; each violation with pointer and words."""

import enum
import json
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, Field

from evidencerails import Guard
from evidencerails.checks.structure.violations import rules_of
from evidencerails.errors import SettingsError
from evidencerails.report import Report
from evidencerails.settings.structure import StructureSettings

ORDER = {
    "type": "object",
    "properties": {"id": {"type": "string", "pattern": r"^[A-Z]{3}-\d{4}$"}, "status": {"enum": ["open", "closed"]},
     "total": {"type": "number", "minimum": 0, "multipleOf": 0.01}, "day": {"type": "string", "format": "date"},
     "items": {"type": "array", "maxItems": 3, "uniqueItems": True, "items": {"type": "object",
     "properties": {"price": {"type": "number"}}, "required": ["price"]}}},
    "required": ["id", "status"],
    "additionalProperties": False,
}  # fmt: skip
GOOD = '{"id": "ABC-1234", "status": "open", "total": 19.99, "day": "2024-02-29", "items": [{"price": 1}]}'


OTHER = '{"id": "XYZ-1234", "status": "open"}'


def check(response: str, schema: Any = ORDER, **settings: Any) -> Report:
    given = {"schema": schema} if schema is not None else {}
    return Guard({"checks": ["structure"], "structure": settings}).check_sync(response=response, **given)


def found(report: Report) -> list[tuple[str, str, str]]:
    """Violation, pointer and words of every finding."""
    pointers = [row["pointer"] for row in report.checks["structure"].details["violations"]]
    spans = [finding.span.text if finding.span else "" for finding in report.findings]
    return list(zip([str(f.violation) for f in report.findings], pointers, spans, strict=True))


@pytest.mark.parametrize(
    "response",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"Here is the order:\n\n```\n{GOOD}\n```\nAnything else?",
        f"As asked [1], the order is {GOOD}, which is open.",
        f'<think>{{"id": 1}}</think>{GOOD}',
        f"```json\n{GOOD}\n```\nand again\n```json\n{GOOD}\n```",  # the same twice leaves nothing open
        '{"id": "ABC-1234", "status": "open", "items": [{"price": 1.0}, {"price": 2}]}',
    ],
)
def test_what_fits_is_grounded(response: str) -> None:
    report = check(response)
    assert (report.status, report.decision, report.findings) == ("grounded", "allow", ())


VIOLATIONS: list[tuple[str, list[tuple[str, str, str]]]] = [
    ('{"id": "ABC-123", "status": "open"}', [("pattern_mismatch", "/id", '"ABC-123"')]),
    ('{"id": "ABC-1234", "status": "opened"}', [("not_allowed", "/status", '"opened"')]),
    ('{"id": "ABC-1234"}', [("missing_field", "", '{"id": "ABC-1234"}')]),
    ('{"id": "ABC-1234", "status": "open", "x": 1}', [("unknown_field", "/x", '"x": 1')]),
    ('{"id": "ABC-1234", "status": "open", "total": -1}', [("out_of_range", "/total", "-1")]),
    ('{"id": "ABC-1234", "status": "open", "total": 0.005}', [("out_of_range", "/total", "0.005")]),
    ('{"id": "ABC-1234", "status": "open", "day": "2023-02-29"}', [("bad_format", "/day", '"2023-02-29"')]),
    (
        'So: {"id": "ABC-1234", "status": "open", "items": [{"price": "3"}, {}]}',
        [("wrong_type", "/items/0/price", '"3"'), ("missing_field", "/items/1", "{}")],
    ),
    (
        '{"id": "ABC-1234", "status": "open", "items": [{"price": 1}, {"price": 1.0}]}',
        [("duplicate_items", "/items", '[{"price": 1}, {"price": 1.0}]')],
    ),
    ('{"id": "ABC-1234", "status": "open",}', [("trailing_comma", None, ",")]),
    ('{"id": "ABC-1234", /* new */ "status": "open"}', [("comment", None, "/* new */")]),
    ('{"id": "A", "id": "ABC-1234", "status": "open"}', [("duplicate_key", "/id", '"id": "ABC-1234"')]),
    ('{"id": "ABC-1234", "status": "open", "total": NaN}', [("not_a_number", "/total", "NaN")]),
    ('{"id": "ABC-1234", "status": "open", "total": 1e999}', [("number_too_large", "/total", "1e999")]),
    ('{"id": "ABC-1234", "status": None}', [("python_literal", None, "None"), ("not_allowed", "/status", "None")]),
    ('{"id": "ABC-1234", "status":', [("invalid_json", None, '{"id": "ABC-1234", "status":')]),
    ("{'id': 'ABC-1234'}", [("invalid_json", None, "'")]),
    ("It is open.", [("no_json", "", "It is open.")]),
    ("", [("no_json", "", "")]),
    ("  \n", [("no_json", "", "")]),
    (f"{GOOD} or {OTHER}", [("several_values", None, OTHER)]),
]  # fmt: skip


@pytest.mark.parametrize(("response", "expected"), VIOLATIONS)
def test_every_violation_is_found_where_it_is(response: str, expected: list[tuple[str, str, str]]) -> None:
    report = check(response)
    # `None` stands in the JSON for what Python calls so: the words are the answer's own.
    assert found(report) == expected
    assert (report.status, report.decision) == ("hallucinated", "block")
    for finding in report.findings:
        assert finding.kind == "structure_violation" and finding.category == "structural"
        assert finding.span is None or response[finding.span.start : finding.span.end] == finding.span.text


def test_a_pointer_escapes_slash_and_tilde() -> None:
    schema = {"properties": {"a/b~c": {"type": "integer"}}}
    report = check('{"a/b~c": "x"}', schema)
    assert report.findings[0].reason.startswith("at /a~1b~0c: ")


def test_without_any_rule_the_check_is_skipped() -> None:
    report = check("anything", None)
    assert (report.checks["structure"].status, report.checks["structure"].reason) == ("skipped", "no_schema")


@pytest.mark.parametrize(
    ("draft", "schema", "bad", "good"),
    [
        ("http://json-schema.org/draft-03/schema#", {"properties": {"a": {"required": True}}}, "{}", '{"a": 1}'),
        ("http://json-schema.org/draft-04/schema#", {"minimum": 3, "exclusiveMinimum": True}, "3", "4"),
        ("http://json-schema.org/draft-06/schema#", {"const": 3}, "4", "3"),
        ("http://json-schema.org/draft-07/schema#", {"if": {"type": "integer"}, "then": {"minimum": 3}}, "2", "3"),
        ("https://json-schema.org/draft/2019-09/schema", {"items": [{"type": "integer"}]}, '["x"]', "[1]"),
        ("https://json-schema.org/draft/2020-12/schema", {"prefixItems": [{"type": "integer"}]}, '["x"]', "[1]"),
        (None, {"prefixItems": [{"type": "integer"}]}, '["x"]', "[1]"),  # where none is named
    ],
)
def test_the_draft_is_that_of_the_schema(draft: str | None, schema: dict[str, Any], bad: str, good: str) -> None:
    schema = {"$schema": draft, **schema} if draft else schema
    assert (check(bad, schema).status, check(good, schema).status) == ("hallucinated", "grounded")


NAMED = {"name": "order", "strict": True, "schema": ORDER}
WRAPPED: list[dict[str, Any]] = [
    NAMED,
    {"type": "json_schema", "json_schema": NAMED},  # OpenAI's response_format
    {"type": "json_schema", **NAMED},  # text.format of its Responses API
]


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_openais_wrapper_is_taken_off(wrapped: dict[str, Any]) -> None:
    for response in ("{}", '{"status": "opened"}'):
        assert found(check(response, wrapped)) == found(check(response)) != []
    rules = rules_of(StructureSettings(schema=wrapped))
    assert rules is not None and rules.root_schema == ORDER


def test_references_inside_the_schema_are_followed() -> None:
    schema = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}}}},
    }
    report = check('{"next": {"next": {"v": "x"}}}', schema)
    assert found(report) == [("wrong_type", "/next/next/v", '"x"')]


def test_of_alternatives_the_nearest_is_reported() -> None:
    card = {"properties": {"kind": {"const": "card"}, "number": {"type": "string"}}, "required": ["kind", "number"]}
    cash = {"properties": {"kind": {"const": "cash"}, "paid": {"type": "number"}}, "required": ["kind", "paid"]}
    report = check('{"kind": "cash", "paid": "much"}', {"anyOf": [card, cash]})
    assert found(report) == [("wrong_type", "/paid", '"much"')]
    assert "nearest of 2 alternatives" in report.findings[0].reason


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (r"^[A-Z]{3}-\d{4}$", "ABC-1234", "ABC-1234\n"),
        (r"^[$]\d+\$$", "$5$", "$5"),
        (r"^\d{4}$", "1234", "１２３４"),
        (r"^[\d-]+$", "12-34", "١٢-٣٤"),
        (r"^[\\d]+$", "d\\d", "12"),
    ],
)
def test_patterns_are_those_of_json_schema(pattern: str, good: str, bad: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    assert check(json.dumps(good), schema).status == "grounded"
    assert check(json.dumps(bad), schema).status == "hallucinated"


def test_a_schema_of_a_text_is_held_against_the_text() -> None:
    schema = {"type": "string", "enum": ["yes", "no"]}
    assert check("yes", schema).status == "grounded"
    assert check('"yes"', schema).status == "grounded"
    assert found(check("perhaps\n", schema)) == [("not_allowed", "", "perhaps")]


def test_lists_of_plain_values_count_where_the_schema_wants_a_list() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    assert check("The numbers are [1, 2].", schema).status == "grounded"
    assert found(check('The numbers are [1, "b"].', schema)) == [("wrong_type", "/1", '"b"')]


@pytest.mark.parametrize(
    ("on_multiple", "status"), [("refuse", "hallucinated"), ("each", "hallucinated"), ("last", "grounded")]
)
def test_several_values(on_multiple: str, status: str) -> None:
    assert check(f'{{"id": "draft"}}\n\nBetter: {GOOD}', on_multiple=on_multiple).status == status
    each = check(f"{GOOD}\n{GOOD.replace('ABC', 'XYZ')}", on_multiple="each")
    assert each.status == "grounded"


def test_text_around_can_be_refused() -> None:
    assert found(check(f"Sure! {GOOD}", surrounding_text="refuse"))[0][0] == "text_around"
    assert check(GOOD, surrounding_text="refuse").status == "grounded"


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", "2024-05-01T12:00:00Z", "2024-05-01 noon"),
        ("time", "12:00:00+02:00", "25:00:00Z"),
        ("time", "12:00:00Z", "1２:00:00Z"),
        ("email", "ann@example.org", "ann at example.org"),
        ("uri", "https://example.org/a?b=1", "example.org"),
    ],
)
def test_formats(name: str, good: str, bad: str) -> None:
    assert check(json.dumps(good), {"type": "string", "format": name}).status == "grounded"
    assert check(json.dumps(bad), {"type": "string", "format": name}).status == "hallucinated"


# ---- pydantic models


class Colour(enum.Enum):
    red = "red"
    blue = "blue"


class Car(BaseModel):
    name: str = Field(pattern=r"^[A-Z]")
    doors: int = Field(ge=2, le=5)
    colour: Colour
    tags: list[str] = Field(default_factory=list, max_length=2)


@pytest.fixture
def cars() -> Iterator[None]:
    module = types.ModuleType("car_models")
    module.Car = Car  # type: ignore[attr-defined]
    sys.modules["car_models"] = module
    yield
    del sys.modules["car_models"]


@pytest.mark.usefixtures("cars")
def test_a_pydantic_model_by_its_import_path() -> None:
    wrong = '{"name": "vw", "doors": 7, "colour": "green", "tags": ["a", "b", "c"]}'
    report = check(wrong, None, model="car_models:Car")
    assert [(v, p) for v, p, _ in found(report)] == [
        ("pattern_mismatch", "/name"),
        ("out_of_range", "/doors"),
        ("not_allowed", "/colour"),
        ("wrong_length", "/tags"),
    ]
    assert check('{"name": "VW", "doors": 4, "colour": "red"}', None, model="car_models:Car").status == "grounded"
    missing = check('{"name": "VW"}', None, model="car_models:Car")
    assert [v for v, _, _ in found(missing)] == ["missing_field", "missing_field"]


def test_a_pydantic_model_passed_with_the_response() -> None:
    assert [v for v, _, _ in found(check('{"name": "VW"}', Car))] == ["missing_field", "missing_field"]
    assert check('{"name": "VW", "doors": 4, "colour": "red"}', Car).status == "grounded"


@pytest.mark.parametrize("name", ["car models", "no_such_module:Car", "json:NoSuchClass"])
def test_a_model_that_cannot_be_used_is_an_error_at_load(name: str) -> None:
    with pytest.raises(SettingsError, match="structure"):
        Guard({"structure": {"model": name}})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"schema": {"type": "strin"}}, "bad_schema: at /type"),
        ({"schema": {}, "model": "a:B"}, "are both set"),
        ({"schema_file": "none.json"}, "cannot read"),
    ],
)
def test_bad_settings_are_errors_at_load(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Guard({"structure": settings})
    assert said in str(caught.value)


def test_the_schema_can_come_from_a_file(tmp_path: Any) -> None:
    for name, text in (("s.json", json.dumps(ORDER)), ("s.yml", "type: object\nrequired: [id]\n")):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        assert check("{}", None, schema_file=str(file)).status == "hallucinated"


# ---- samples


def test_the_samples_agree_field_by_field() -> None:
    guard = Guard({"checks": ["structure"], "structure": {"min_agreement": 0.5}})
    order = '{"id": "ABC-1234", "status": "open", "total": %d}'
    report = guard.check_sync(response=order % 5, schema=ORDER, samples=[order % 7, f"Here: {order % 9}"])
    fields = report.checks["structure"].details["fields"]
    assert {path: entry["agreement"] for path, entry in fields.items()} == {"id": 1.0, "status": 1.0, "total": 0.0}
    assert report.metrics["field_agreement"] == pytest.approx(2 / 3)
    (finding,) = report.checks["structure"].findings
    assert (finding.kind, finding.violation) == ("inconsistent_samples", "field_disagreement")
    assert finding.span is not None and finding.span.text == '"total": 5'


def test_without_a_threshold_agreement_is_only_reported() -> None:
    guard = Guard({"checks": ["structure"]})
    report = guard.check_sync(response=OTHER.replace("XYZ", "ABC"), schema=ORDER, samples=[OTHER])
    assert report.checks["structure"].status == "grounded" and report.metrics["field_agreement"] == 0.5
