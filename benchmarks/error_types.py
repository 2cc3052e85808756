"""How often the offline rules name the error that was planted: numbers, dates and names swapped in true sentences.

    python benchmarks/error_types.py --data DIR/bench [--wrong wrong.json]

True sentences are single sentences of answers that the data set labels as not hallucinated, and sentences of the
evidence itself. Into each, one error is planted by a template; the rules see the altered sentence, the whole evidence
of its row, and the label `contradicted`. Half of the templates are held out: their cases were never looked at while
the rules were written. The generator shares no code and no word lists with `evidencerails.checks.error_types`. Cases
written by hand are reported apart: fifty of the rules' author, from before the rules, and fifty of another author, from
after them, never used to change a rule.

Columns: `exact` = exactly the planted type and no other; `named` = the planted type among others.
"""

from __future__ import annotations

import argparse
import calendar
import gzip
import json
import random
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tables

from evidencerails.checks.error_types import error_types

SETS = ("halueval_qa", "summedits", "qags_cnndm", "begin", "summeval")
HAND_WRITTEN = {
    "by hand, before the rules": Path(__file__).with_name("error_type_cases.jsonl"),
    "by hand, by another author": Path(__file__).with_name("error_type_cases_2.jsonl"),
}
PER_TEMPLATE = 150
WORD_NUMBERS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve"]
MONTH_NAMES = list(calendar.month_name)[1:]
DAY_NAMES = list(calendar.day_name)


class Row(NamedTuple):
    """A true sentence and the evidence that it is true by."""

    sentence: str
    evidence: str
    source: str


class Case(NamedTuple):
    """A sentence with one planted error."""

    claim: str
    evidence: str
    expected: str
    template: str
    is_held_out: bool


Swap = Callable[[Row, random.Random, list[str]], "str | None"]
TEMPLATES: dict[str, tuple[str, bool, Swap]] = {}


def template(expected: str, *, held_out: bool) -> Callable[[Swap], Swap]:
    """Register a way to plant an error."""

    def add(swap: Swap) -> Swap:
        TEMPLATES[swap.__name__] = (expected, held_out, swap)
        return swap

    return add


def replaced(text: str, match: re.Match[str], new: str) -> str:
    """The text with the match replaced."""
    return text[: match.start()] + new + text[match.end() :]


def pick(pattern: str, text: str, rng: random.Random) -> re.Match[str] | None:
    """Any of the pattern's matches."""
    found = list(re.finditer(pattern, text))
    return rng.choice(found) if found else None


MONTH = "|".join(MONTH_NAMES)
BEFORE = "".join(f"(?<!{month} )" for month in MONTH_NAMES)  # a day of the month is a date, no count
PLAIN_NUMBER = (
    rf"{BEFORE}(?<![\w.,$£€:/-])(?!(?:1[5-9]|20)\d\d\b)\d{{1,3}}(?:,\d{{3}})*(?![\w.:%/-]|,\d| (?:{MONTH})\b)"
)
FULL_NAME = r"(?<=[a-z,] )[A-Z][a-z]{2,} [A-Z][a-z]{2,}(?![\w-]| [A-Z])"
SINGLE_NAME = r"(?<=\b(?:in|of|at|by|to) )[A-Z][a-z]{3,}(?![\w-]| [A-Z])"


@template("number", held_out=False)
def count_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(PLAIN_NUMBER, row.sentence, rng)
    if match is None:
        return None
    value = int(match[0].replace(",", ""))
    new = value + rng.choice([-2, -1, 1, 2, 3, 7]) if value > 3 else value + rng.choice([1, 2, 4])
    return replaced(row.sentence, match, f"{new:,}" if "," in match[0] else str(new))


@template("number", held_out=False)
def word_number_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(rf"\b(?:{'|'.join(WORD_NUMBERS)})\b(?! \w+ (?:ago|later|earlier))", row.sentence, rng)
    return match and replaced(row.sentence, match, rng.choice([w for w in WORD_NUMBERS if w != match[0]]))


@template("number", held_out=False)
def percent_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(r"\b\d{1,2}(?:\.\d+)?(?=\s?(?:%|per ?cent))", row.sentence, rng)
    return match and replaced(
        row.sentence, match, str(round(min(99, float(match[0]) * rng.choice([0.5, 1.5, 2.1]) + 1)))
    )


@template("number", held_out=True)
def scale_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(r"(?<=\d )(?:million|billion|thousand)\b|(?<=\d)(?:m|bn)\b", row.sentence, rng)
    other = {"million": "billion", "billion": "million", "thousand": "million", "m": "bn", "bn": "m"}
    return match and replaced(row.sentence, match, other[match[0]])


@template("number", held_out=True)
def money_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(r"(?<=[$£€])\d+(?:[.,]\d+)*", row.sentence, rng)
    return match and replaced(
        row.sentence, match, f"{float(match[0].replace(',', '')) * rng.choice([2, 3, 5]) + 1:,.0f}"
    )


@template("number", held_out=True)
def digits_turned(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(PLAIN_NUMBER.replace(r"\d{1,3}(?:,\d{3})*", r"\d{2,3}"), row.sentence, rng)
    return (
        match and match[0] != match[0][::-1] and match[0][-1] != "0" and replaced(row.sentence, match, match[0][::-1])
    ) or None


@template("number", held_out=True)
def number_from_elsewhere(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(PLAIN_NUMBER, row.sentence, rng)
    if match is None:
        return None
    others = {m[0] for m in re.finditer(PLAIN_NUMBER, row.evidence)} - {
        m[0] for m in re.finditer(PLAIN_NUMBER, row.sentence)
    }
    return replaced(row.sentence, match, rng.choice(sorted(others))) if others else None


@template("temporal", held_out=False)
def year_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(
        r"(?<=\b[io]n )(?:1[5-9]|20)\d\d\b|(?<=, )(?:1[5-9]|20)\d\d\b|(?<=[a-z] )(?:1[5-9]|20)\d\d\b(?=[.,)])",
        row.sentence,
        rng,
    )
    return match and replaced(row.sentence, match, str(int(match[0]) + rng.choice([-12, -7, -3, -1, 1, 2, 4, 9])))


@template("temporal", held_out=False)
def month_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(rf"\b(?:{MONTH})\b(?= \d| of)|(?<=\bin )(?:{MONTH})\b", row.sentence, rng)
    return match and replaced(row.sentence, match, rng.choice([m for m in MONTH_NAMES if m != match[0]]))


@template("temporal", held_out=True)
def weekday_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(rf"\b(?:{'|'.join(DAY_NAMES)})\b", row.sentence, rng)
    return match and replaced(row.sentence, match, rng.choice([d for d in DAY_NAMES if d != match[0]]))


@template("temporal", held_out=True)
def day_of_month_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    months = "|".join(MONTH_NAMES)
    match = pick(rf"\b\d{{1,2}}(?= (?:{months})\b)|(?<=[a-z] )\d{{1,2}}(?=, \d{{4}})", row.sentence, rng)
    return match and replaced(row.sentence, match, str((int(match[0]) + rng.choice([3, 5, 11])) % 28 + 1))


@template("temporal", held_out=True)
def year_from_elsewhere(row: Row, rng: random.Random, names: list[str]) -> str | None:
    year = r"\b(?:1[5-9]|20)\d\d\b(?![\w,-])"
    match = pick(r"(?<=\bin )" + year, row.sentence, rng)
    others = set(re.findall(year, row.evidence)) - set(re.findall(year, row.sentence))
    return replaced(row.sentence, match, rng.choice(sorted(others))) if match and others else None


@template("entity", held_out=False)
def person_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(FULL_NAME, row.sentence, rng)
    others = [n for n in names if " " in n and n not in row.evidence]
    return match and replaced(row.sentence, match, rng.choice(others))


@template("entity", held_out=False)
def place_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(SINGLE_NAME, row.sentence, rng)
    if match is None or match[0] in (*MONTH_NAMES, *DAY_NAMES):
        return None
    others = [n for n in names if " " not in n and n not in row.evidence and n not in (*MONTH_NAMES, *DAY_NAMES)]
    return replaced(row.sentence, match, rng.choice(others))


@template("entity", held_out=False)
def place_from_elsewhere(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(SINGLE_NAME, row.sentence, rng)
    if match is None or match[0] in (*MONTH_NAMES, *DAY_NAMES):
        return None
    others = {m[0] for m in re.finditer(SINGLE_NAME, row.evidence)} - {*MONTH_NAMES, *DAY_NAMES}
    others = {name for name in others if name not in row.sentence}
    return replaced(row.sentence, match, rng.choice(sorted(others))) if others else None


@template("entity", held_out=True)
def first_name_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(FULL_NAME, row.sentence, rng)
    others = [n.split()[0] for n in names if " " in n and n.split()[0] not in row.evidence]
    return (
        match
        and match[0] in row.evidence
        and replaced(row.sentence, match, f"{rng.choice(others)} {match[0].split()[1]}")
    ) or None


@template("entity", held_out=True)
def acronym_changed(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(r"(?<=[a-z] )[A-Z]{3,5}\b(?![-'’])", row.sentence, rng)
    others = [a for a in ("ESA", "NHL", "IMF", "WTO", "IBM", "NATO", "UNESCO", "FIFA", "CNN") if a not in row.evidence]
    return match and replaced(row.sentence, match, rng.choice(others))


@template("entity", held_out=True)
def name_from_elsewhere(row: Row, rng: random.Random, names: list[str]) -> str | None:
    match = pick(FULL_NAME, row.sentence, rng)
    others = {m[0] for m in re.finditer(FULL_NAME, row.evidence)}
    others = {n for n in others if not set(n.split()) & set(re.findall(r"\w+", row.sentence))}
    return replaced(row.sentence, match, rng.choice(sorted(others))) if match and others else None


def sentences(text: str) -> list[str]:
    """A crude splitter of the generator's own."""
    parts = re.split(r"(?<=[a-z0-9)][.!?])\s+(?=[A-Z])", text)
    return [part.strip() for part in parts if 30 <= len(part.strip()) <= 260]


def true_rows(data: Path) -> Iterator[Row]:
    """True sentences of the data sets."""
    for name in SETS:
        with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                yield from _rows_of(json.loads(line), name)


def _rows_of(item: dict[str, Any], name: str) -> Iterator[Row]:
    evidence = "\n\n".join(item["evidence"])
    if not item["hallucinated"]:
        for sentence in sentences(item["response"]):
            yield Row(sentence, evidence, f"{name}/answer")
    for sentence in sentences(evidence)[:8]:
        yield Row(sentence, evidence, f"{name}/evidence")


def cases(rows: list[Row], per_template: int, seed: int) -> Iterator[Case]:
    """At most so many cases a template, drawn from all sets, each evidence once a template."""
    names = sorted(
        {m[0] for row in rows for pattern in (FULL_NAME, SINGLE_NAME) for m in re.finditer(pattern, row.sentence)}
    )
    for name, (expected, held_out, swap) in TEMPLATES.items():
        rng = random.Random(f"{seed}/{name}")
        made, seen = 0, set()
        for row in rng.sample(rows, len(rows)):
            claim = swap(row, rng, names) if hash_of(row) not in seen else None
            if claim and claim != row.sentence:
                seen.add(hash_of(row))
                made += 1
                yield Case(claim, row.evidence, expected, name, held_out)
            if made == per_template:
                break


def hash_of(row: Row) -> str:
    """What counts as the same evidence."""
    return row.evidence[:200]


def measure(found: list[Case], label: str = "contradicted") -> dict[str, Any]:
    """Counts by template, and the cases that went wrong."""
    table: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    wrong = []
    for case in found:
        types = error_types(case.claim, case.evidence, label)  # type: ignore[arg-type]
        counts = table[case.template]
        counts[0] += 1
        counts[1] += types == (case.expected,)
        counts[2] += case.expected in types
        if types != (case.expected,):
            wrong.append(
                {"template": case.template, "claim": case.claim, "types": types, "evidence": case.evidence[:3000]}
            )
    return {"table": {name: tuple(counts) for name, counts in table.items()}, "wrong": wrong}


def hand_written(file: Path) -> tuple[int, int, int]:
    """(cases, exactly right, expected types among those found) of the cases in a file."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    found = [set(error_types(row["claim"], row["evidence"], row["label"])) for row in rows]
    exact = sum(types == set(row["expected"]) for types, row in zip(found, rows, strict=True))
    named = sum(types >= set(row["expected"]) for types, row in zip(found, rows, strict=True))
    return len(rows), exact, named


def summary(table: dict[str, tuple[int, int, int]]) -> list[tuple[str, int, float, float]]:
    """Rows of the printed table: each template, each type by half, all."""
    groups: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for name, counts in table.items():
        expected, held_out, _ = TEMPLATES[name]
        half = "held out" if held_out else "seen"
        for group in (f"  {expected}: {name} ({half})", f"{expected}, {half}", f"all, {half}", "all"):
            groups[group].append(counts)
    out = []
    for group, parts in groups.items():
        total, exact, named = (sum(column) for column in zip(*parts, strict=True))
        out.append((group, total, exact / total, named / total))
    return sorted(out, key=lambda row: (row[0].startswith("all"), not row[0].startswith("  "), row[0]))


def main() -> int:
    """Print the figures of every template; write the table in docs/reference/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="folder with the bench files (*.jsonl.gz)")
    parser.add_argument("--per-template", type=int, default=PER_TEMPLATE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wrong", type=Path, help="write the cases that went wrong there")
    parser.add_argument("--half", choices=("seen", "held_out", "both"), default="both", help="without both: no table")
    options = parser.parse_args()
    found = list(cases(list(true_rows(options.data)), options.per_template, options.seed))
    found = [c for c in found if options.half == "both" or c.is_held_out == (options.half == "held_out")]
    started = time.perf_counter()
    result = measure(found)
    ms_per_claim = (time.perf_counter() - started) / max(1, len(found)) * 1000
    table = summary(result["table"])
    for name, file in HAND_WRITTEN.items():
        total, exact, named = hand_written(file)
        table.append((name, total, exact / total, named / total))
    for name, count, exact_rate, named_rate in table:
        print(f"{name:58s} n={count:5d}  exact {exact_rate:6.1%}  named {named_rate:6.1%}", file=sys.stderr)
    if options.wrong:
        options.wrong.write_text(json.dumps(result["wrong"], indent=1), encoding="utf-8")
    if options.half == "both":
        shown = [row for row in table if not row[0].startswith("  ")]
        rows = [(name, f"{count:,}", f"{exact:.1%}", f"{named:.1%}") for name, count, exact, named in shown]
        figures = {"rows": table, "seed": options.seed, "ms_per_claim": ms_per_claim}
        tables.publish("error_types", [("errors", "cases", "exact", "named"), *rows], figures)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
