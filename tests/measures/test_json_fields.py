"""The fields of an answer that is JSON, with their places, and when two values are the same."""

import json
from typing import Any

import pytest

from evidencerails.measures.self_consistency import json_fields, same_value

ORDER = '{"city": "Paris", "year": 1889, "parts": [{"name": "iron"}]}'
FIELDS = {"city": "Paris", "year": 1889, "parts[0].name": "iron"}
ODD = '{ "a" : { "b" : [ 1 , [ 2 , null ] , "x\\"}]," ] , "c" : true } , "d" : { } , "e" : [ ] , "f" : -1.5e3 }'


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        *((text, FIELDS) for text in (ORDER, f"```json\n{ORDER}\n```", f"```\n{ORDER}```", ORDER.replace(" ", "\n "))),
        (ODD, {"a.b[0]": 1, "a.b[1][0]": 2, "a.b[1][1]": None, "a.b[2]": 'x"}],', "a.c": True, "f": -1500.0}),
        ("[1, 2]", {"[0]": 1, "[1]": 2}),
    ],
)
def test_fields_are_those_that_json_reads_with_their_places(text: str, fields: dict[str, Any]) -> None:
    found = json_fields(text)
    assert found is not None and {field.path: field.value for field in found} == fields
    assert all(json.loads(text[field.value_start : field.end]) == field.value for field in found)


@pytest.mark.parametrize("text", ["", "Paris", '"Paris"', "12", '{"a": 1', "{'a': 1}", 'See {"a": 1}', "[" * 100_000])
def test_other_texts_are_no_json(text: str) -> None:
    assert json_fields(text) is None


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(1, 1.0, True), ("Paris", " paris ", True), ("New  York", "new york", True), (True, 1, False), ("1", 1, False),
     (None, "null", False), (0.5, 0.25, False)],
)  # fmt: skip
def test_same_value(one: Any, other: Any, expected: bool) -> None:
    assert (same_value(one) == same_value(other)) is expected
