"""How often `check structure` finds a planted violation, and how often it holds back a sound answer.

    python benchmarks/structure.py

Sound answers are records of one schema, bare, fenced or with words around; wrong ones have one thing changed by a
template. Half of the templates are held out: the check was never run on them while it was written. The generator shares
no code with the check: what is sound is known from how it was made. Fifty answers to ten other schemas, written by
hand, are reported apart (`benchmarks/structure_cases.jsonl`).

`found`: there is a finding; `placed`: one of the findings names the place (JSON pointer) where the change was made.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tables import publish

from evidencerails import Guard
from evidencerails.report import Report

HAND_WRITTEN = Path(__file__).with_name("structure_cases.jsonl")
PER_TEMPLATE = 20


class Case(NamedTuple):
    """One answer and the schema it was asked to fit."""

    response: str
    schema: dict[str, Any]
    is_wrong: bool
    template: str
    is_held_out: bool
    pointer: str | None = None
    """Where the change was made; None if it has no place of its own."""


def an_object(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    """A closed object schema."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


WORDS = ["harbour", "meadow", "lantern", "copper", "winter", "garden", "signal", "marble"]


def record(rng: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema and a value that fits it."""
    schema = an_object(
        ["ref", "state", "count", "made", "parts"],
        ref={"type": "string", "pattern": "^[A-Z]{2}[0-9]{4}$"},
        state={"enum": ["new", "paid", "sent"]},
        count={"type": "integer", "minimum": 1, "maximum": 99},
        made={"type": "string", "format": "date"},
        note={"type": "string", "minLength": 1, "maxLength": 40},
        flag={"type": "boolean"},
        parts={
            "type": "array",
            "minItems": 1,
            "maxItems": 4,
            "items": an_object(["name", "grams"], name={"type": "string"}, grams={"type": "number", "minimum": 0}),
        },
    )
    value: dict[str, Any] = {
        "ref": rng.choice("ABCDEF") + rng.choice("KLMNOP") + str(rng.randint(1000, 9999)),
        "state": rng.choice(["new", "paid", "sent"]),
        "count": rng.randint(1, 99),
        "made": f"20{rng.randint(10, 26)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        "parts": [{"name": rng.choice(WORDS), "grams": rng.randint(0, 900) / 10} for _ in range(rng.randint(1, 4))],
    }
    if rng.random() < 0.5:
        value["note"] = rng.choice(WORDS)
    if rng.random() < 0.5:
        value["flag"] = rng.random() < 0.5
    return schema, value


Change = Callable[[dict[str, Any], random.Random], str]
"""Changes a value in place; gives the pointer of the change."""
CHANGES: dict[str, tuple[bool, Change]] = {}
WRITINGS: dict[str, tuple[bool, Callable[[str, random.Random], str]]] = {}


def change(*, held_out: bool) -> Callable[[Change], Change]:
    """Register a change of the value."""

    def add(make: Change) -> Change:
        CHANGES[make.__name__] = (held_out, make)
        return make

    return add


def writing(*, held_out: bool) -> Callable[..., Any]:
    """Register a change of the text."""

    def add(make: Callable[[str, random.Random], str]) -> Callable[[str, random.Random], str]:
        WRITINGS[make.__name__] = (held_out, make)
        return make

    return add


@change(held_out=False)
def field_left_out(value: dict[str, Any], rng: random.Random) -> str:
    del value[rng.choice(["ref", "state", "count", "made"])]
    return ""


@change(held_out=True)
def part_without_name(value: dict[str, Any], rng: random.Random) -> str:
    place = rng.randrange(len(value["parts"]))
    del value["parts"][place]["name"]
    return f"/parts/{place}"


@change(held_out=False)
def invented_state(value: dict[str, Any], rng: random.Random) -> str:
    value["state"] = rng.choice(["New", "lost", "pending", "", None])
    return "/state"


@change(held_out=True)
def invented_field(value: dict[str, Any], rng: random.Random) -> str:
    value["confidence"] = rng.random()
    return "/confidence"


@change(held_out=False)
def number_as_text(value: dict[str, Any], rng: random.Random) -> str:
    value["count"] = str(value["count"])
    return "/count"


@change(held_out=True)
def text_as_number(value: dict[str, Any], rng: random.Random) -> str:
    value["ref"] = rng.randint(1000, 9999)
    return "/ref"


@change(held_out=False)
def count_out_of_range(value: dict[str, Any], rng: random.Random) -> str:
    value["count"] = rng.choice([0, -4, 100, 10**9])
    return "/count"


@change(held_out=True)
def negative_weight(value: dict[str, Any], rng: random.Random) -> str:
    place = rng.randrange(len(value["parts"]))
    value["parts"][place]["grams"] = -0.5
    return f"/parts/{place}/grams"


@change(held_out=False)
def reference_malformed(value: dict[str, Any], rng: random.Random) -> str:
    value["ref"] = rng.choice([value["ref"].lower(), value["ref"] + "0", value["ref"][1:], "n/a"])
    return "/ref"


@change(held_out=True)
def day_that_is_none(value: dict[str, Any], rng: random.Random) -> str:
    value["made"] = rng.choice(["2025-02-30", "2024-13-01", "March 3, 2024", "2023-2-9"])
    return "/made"


@change(held_out=False)
def list_empty(value: dict[str, Any], rng: random.Random) -> str:
    value["parts"] = []
    return "/parts"


@change(held_out=True)
def list_too_long(value: dict[str, Any], rng: random.Random) -> str:
    value["parts"] = [{"name": "x", "grams": n} for n in range(5)]
    return "/parts"


@change(held_out=False)
def fraction_for_whole(value: dict[str, Any], rng: random.Random) -> str:
    value["count"] = 2.5
    return "/count"


@change(held_out=True)
def word_for_flag(value: dict[str, Any], rng: random.Random) -> str:
    value["flag"] = rng.choice(["true", "yes", 1, 0])
    return "/flag"


@writing(held_out=False)
def cut_off(text: str, rng: random.Random) -> str:
    return text[: rng.randint(len(text) // 2, len(text) - 2)]


@writing(held_out=True)
def comma_at_the_end(text: str, rng: random.Random) -> str:
    return text[:-1] + ",}"


@writing(held_out=False)
def not_a_number(text: str, rng: random.Random) -> str:
    return text.replace('"grams": ', '"grams": NaN, "grams": ', 1)


@writing(held_out=True)
def key_twice(text: str, rng: random.Random) -> str:
    return text[:-1] + ', "state": "new"}'


@writing(held_out=False)
def in_prose_only(text: str, rng: random.Random) -> str:
    return "The order is new and has a few parts; I hope that helps."


@writing(held_out=True)
def single_quotes(text: str, rng: random.Random) -> str:
    return text.replace('"', "'")


@writing(held_out=True)
def two_different(text: str, rng: random.Random) -> str:
    return text + "\n" + text.replace('"count": ', '"count": 1', 1)


WRAPPERS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f"```json\n{text}\n```",
    lambda text: f"Here is the record you asked for [1]:\n\n{text}\n\nShall I go on?",
    lambda text: f"<think>Maybe {{'a': 1}}?</think>\n{text}\n",
    lambda text: f"~~~\n{text}\n~~~\nDone.",
)


def cases(seed: int = 11) -> list[Case]:
    """All generated cases; the same for the same seed."""
    rng = random.Random(seed)
    made: list[Case] = []
    for name, (held_out, alter) in CHANGES.items():
        for _ in range(PER_TEMPLATE):
            schema, value = record(rng)
            wrong = copy.deepcopy(value)
            pointer = alter(wrong, rng)
            wrap = rng.choice(WRAPPERS)
            indent = rng.choice([None, 2])
            made.append(Case(wrap(json.dumps(value, indent=indent)), schema, False, name, held_out))
            made.append(Case(wrap(json.dumps(wrong, indent=indent)), schema, True, name, held_out, pointer))
    for name, (held_out, write) in WRITINGS.items():
        for _ in range(PER_TEMPLATE):
            schema, value = record(rng)
            text = json.dumps(value)
            made.append(Case(rng.choice(WRAPPERS)(text), schema, False, name, held_out))
            made.append(Case(write(text, rng), schema, True, name, held_out))
    return made


def hand_written() -> list[Case]:
    """The cases written by hand."""
    rows = [json.loads(line) for line in HAND_WRITTEN.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Case(r["response"], r["schema"], r["is_wrong"], "by hand", True, r.get("pointer")) for r in rows]


async def judged(some: Sequence[Case]) -> list[Report]:
    """The report on each."""
    guard = Guard({"checks": ["structure"]})
    return [await guard.check(case.response, schema=case.schema) for case in some]


def is_placed(case: Case, report: Report) -> bool:
    """True if a finding names the place of the change, or the change has none."""
    rows = report.checks["structure"].details["violations"]
    return case.pointer is None or any(row["pointer"] == case.pointer for row in rows)


def rates(some: Sequence[Case], reports: Sequence[Report]) -> dict[str, Any]:
    """Detection and false-alarm rates with their counts."""
    pairs = list(zip(some, reports, strict=True))
    wrong = [(case, report) for case, report in pairs if case.is_wrong]
    right = [report for case, report in pairs if not case.is_wrong]
    found = [(case, report) for case, report in wrong if report.findings]
    alarms = sum(report.status != "grounded" for report in right)
    return {
        "wrong": len(wrong),
        "found": len(found) / len(wrong),
        "placed": sum(is_placed(case, report) for case, report in found) / len(wrong),
        "sound": len(right),
        "false_alarms": alarms / len(right),
    }


def main() -> None:
    """Judge all cases, print JSON, write the table."""
    made, own = cases(), hand_written()
    started = time.perf_counter()
    reports = asyncio.run(judged([*made, *own]))
    seconds = time.perf_counter() - started
    data: dict[str, Any] = {}
    for name, held_out in (("generated, templates seen", False), ("generated, templates held out", True)):
        places = [place for place, case in enumerate(made) if case.is_held_out is held_out]
        data[name] = rates([made[place] for place in places], [reports[place] for place in places])
    data["written by hand"] = rates(own, reports[len(made) :])
    both = list(zip([*made, *own], reports, strict=True))
    missed = Counter(c.template for c, report in both if c.is_wrong and not report.findings)
    cried = [c.response for c, report in both if not c.is_wrong and report.status != "grounded"]
    rows = [["cases", "wrong", "found", "placed", "sound", "false alarms"]]
    rows += [
        [name, str(r["wrong"]), f"{r['found']:.1%}", f"{r['placed']:.1%}", str(r["sound"]), f"{r['false_alarms']:.1%}"]
        for name, r in data.items()
    ]
    more = {"missed_by_template": dict(missed), "false_alarms": cried, "ms_per_answer": 1000 * seconds / len(reports)}
    publish("structure", rows, {**data, **more})


if __name__ == "__main__":
    main()
