"""The fields of an answer that is JSON, with their places, and when two values are the same."""

import json
from typing import Any

import pytest

from evidencerails.measures.self_consistency import json_fields, same_value

ORDER = '{"city": "Paris", "year": 1889, "parts": [{"name": "iron"}]}'


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
    assert found is not None and len(found) == _leaves(value)
    for field in found:
        assert _at(value, field.path) == field.value == json.loads(text[field.value_start : field.end])


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
    [(1, 1.0, True), ("Paris", " paris ", True), ("New  York", "new york", True), (True, 1, False), ("1", 1, False),
     (None, "null", False), (0.5, 0.25, False)],
)  # fmt: skip
def test_same_value(one: Any, other: Any, expected: bool) -> None:
    assert (same_value(one) == same_value(other)) is expected
