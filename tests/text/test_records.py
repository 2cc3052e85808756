"""Where records, items and paragraphs begin, by hand-made passages; what is about one thing stays whole."""

from __future__ import annotations

import csv
import json
from itertools import pairwise

import pytest

from evidencerails.text.records import heading_of, record_cuts, with_heads

ROWS = [{"id": 1, "tags": [{"a": 1}, {"a": 2}]}, {"id": 2, "tags": []}, {"id": 3, "tags": [{"a": 3}]}]
TABLE = "| Plan | Data |\n|---|---|\n| Light | 5 GB |\n| Plus | 18 GB |\n"

CHAT = "Ana: Is it 5?\n\nBo: It is.\n\nAna: Fine.\n\nBo: Yes."


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
        "| Plus | 18 GB |\n\n",
        "They can be changed every month.",
    ]


def test_a_field_longer_than_the_reader_of_csv_takes_leaves_the_text_whole() -> None:
    before = csv.field_size_limit(1_000)
    try:
        assert record_cuts(f"a\tb\tc\n1\t2\t{'x' * 2_000}\n1\t2\t3") == []
    finally:
        csv.field_size_limit(before)


def test_a_row_of_a_table_is_the_head_of_no_other() -> None:
    # Each of the 200 kB's rules looked through all lines below it: a minute for one passage.
    assert len(record_cuts("|---|---|\n" * 20_000)) == 20_000 - 3
    assert pieces(TABLE + TABLE) == [
        TABLE[: TABLE.index("| Plus")],
        "| Plus | 18 GB |\n",
        *TABLE.splitlines(keepends=True),
    ]


def test_the_heads_of_csv_may_stand_below_blank_lines() -> None:
    text = "  \nplan,data,price\nLight,5 GB,9\nPlus,18 GB,14"
    assert (
        with_heads(text, text.index("Plus"), len(text)) == '{\n "plan": "Plus",\n "data": "18 GB",\n "price": "14"\n}'
    )


def test_rows_of_csv_are_read_as_objects() -> None:
    text = 'plan,data,note\nLight,5 GB,"slow, then"\nPlus,18 GB,\n'
    assert pieces(text) == ['plan,data,note\nLight,5 GB,"slow, then"\n', "Plus,18 GB,\n"]
    light, plus = (
        '{\n "plan": "Light",\n "data": "5 GB",\n "note": "slow, then"\n}',
        '{\n "plan": "Plus",\n "data": "18 GB"\n}',
    )
    assert [with_heads(text, 0, text.index("Plus")), with_heads(text, text.index("Plus"), len(text))] == [light, plus]
    assert len(pieces(text.replace(",", "\t"))) == len(pieces(text.replace(",", "|"))) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Light costs 5.\n\nPlus costs 9.\n\n\nMax costs 12.",
            ["Light costs 5.\n\n", "Plus costs 9.\n\n\n", "Max costs 12."],
        ),
        ("# Light\nFive a month.\n# Plus\nNine a month.", ["# Light\nFive a month.\n", "# Plus\nNine a month."]),
        ("Our plans\n\nLight costs 5.\n\nPlus costs 9.", ["Our plans\n\nLight costs 5.\n\n", "Plus costs 9."]),
        ("Plan: Light\nPrice: 5\n\nPlan: Plus\nPrice: 9", ["Plan: Light\nPrice: 5\n\n", "Plan: Plus\nPrice: 9"]),
        ("Plus includes:\n- 9 GB\n- calls,\n  also abroad", ["Plus includes:\n- 9 GB\n", "- calls,\n  also abroad"]),
        ("May I bring my dog?\n\nOnly to the Garden Suite.", ["May I bring my dog?\n\nOnly to the Garden Suite."]),
        ("First line,\nsecond line.", ["First line,\nsecond line."]),
        (CHAT, [CHAT]),
        ("Light: 5 a month.\n\nPlus: 9 a month.", ["Light: 5 a month.\n\n", "Plus: 9 a month."]),
    ],
)
def test_paragraphs_sections_and_items_with_what_leads_to_them(text: str, expected: list[str]) -> None:
    assert pieces(text) == expected


@pytest.mark.parametrize(
    ("text", "part", "heading"),
    [
        ("# Plus\nNine a month.\n\nNo contract.", "No contract", "# Plus"),
        ("# Plus\nNine a month.\n# Max\nTwelve.", "# Max", ""),
        ("# Plus\nNine a month.\n## Terms\nNone. Stop at any time.", "Stop", "## Terms"),
        ("Nine a month.\nNo contract.", "No contract", ""),
        ("Our plans\n\nPlus costs 9.\n\nMax costs 12.", "Max costs", "Our plans"),
        ("Plus includes:\n- 9 GB\n  of data\n- calls", "- calls", "Plus includes:"),
        ("- Light: 5 GB\n- Plus: 9 GB", "- Plus", ""),
        ("Plan: Light\nPrice: 5\n\nPlan: Plus", "Plan: Plus", ""),
        ("Subject: New prices\n\nDear all,\n\nPlus costs 9.", "Plus costs", "Subject: New prices"),
        ("Plus costs 9.\n\nMax costs 12.", "Max costs", ""),
        ("plan,data,price\nLight,5 GB,9\nPlus,18 GB,14", "Plus", ""),
    ],
)
def test_a_part_stands_under_its_title_or_what_leads_to_its_list(text: str, part: str, heading: str) -> None:
    assert heading_of(text, text.index(part)) == heading


@pytest.mark.parametrize(
    "text",
    [
        "",
        'a\tb\tc\n1\t2\t"3\n4\t5\t6"\n7\t8\t9',
        "One, two, three.\nFour, five, six.\nSeven, eight, nine.",  # as many commas in each, but prose
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
def test_what_is_about_one_thing_stays_whole(text: str) -> None:
    assert record_cuts(text) == []
