"""Where records begin, by hand-made passages; what is no list of records stays whole."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from evidencerails.text.records import record_cuts

ROWS = [{"id": 1, "tags": [{"a": 1}, {"a": 2}]}, {"id": 2, "tags": []}, {"id": 3, "tags": [{"a": 3}]}]
TABLE = "| Plan | Data |\n|---|---|\n| Light | 5 GB |\n| Plus | 18 GB |\n"


def pieces(text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *record_cuts(text), len(text)])]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("wrapped", [ROWS, {"total": 3, "rows": ROWS}, {str(row["id"]): row for row in ROWS}])
def test_each_object_of_the_outermost_list_with_what_is_inside_it(wrapped: object, indent: int | None) -> None:
    text = json.dumps(wrapped, indent=indent)
    found = pieces(text)
    assert ["".join(found), len(found)] == [text, 3]
    assert [piece.count('"id"') for piece in found] == [1, 1, 1]
    assert [piece.count('"a"') for piece in found] == [2, 0, 1], "members of a record stay with it"


def test_a_fenced_list_and_json_lines() -> None:
    fenced = f"```json\n{json.dumps(ROWS)}\n```"
    assert [piece.count('"id"') for piece in pieces(fenced)] == [1, 1, 1]
    lines = "\n".join(json.dumps(row) for row in ROWS) + "\n"
    assert pieces(lines) == lines.splitlines(keepends=True)


def test_a_table_within_prose() -> None:
    text = f"Our plans:\n\n{TABLE}\nThey can be changed every month."
    assert pieces(text) == [
        "Our plans:\n\n",
        "| Plan | Data |\n|---|---|\n| Light | 5 GB |\n",
        "| Plus | 18 GB |\n",
        "\nThey can be changed every month.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Plain text, with {braces} and [brackets].",
        '{"name": "Light", "gb": 5}',
        '[{"name": "Light"}]',
        "[1, 2, 3]",
        '[{"name": "Light"}, "and a word"]',
        json.dumps({"plans": ROWS[:2], "shops": ROWS[1:]}),  # which list a record is from would be lost
        '[{"name": "Light"}, {"name": ',
        "| a | b |\n| c | d |",
        "|---|---|\n| a | b |",
    ],
)
def test_what_is_no_list_of_records_stays_whole(text: str) -> None:
    assert record_cuts(text) == []
