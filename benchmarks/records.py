"""Things side by side, as tools and pages show them: does a value stay with its owner?

    python benchmarks/records.py [--nli FOLDER]

Depots with five fields each, filled at random with one seed; of each drawn depot four true statements, and the same
four with another depot's values. Data, lists and prose, one passage each. Read as the product reads evidence, one thing
in a window, and with as many in one as fit. The form in which rows of tables are read was chosen by this script.
Writes the table into docs/reference/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tables import publish

from evidencerails import Guard
from evidencerails.evaluation.metrics import auroc
from evidencerails.nli import windows
from evidencerails.nli.embedded import EmbeddedModel

SEED = 3
COUNTS = {3: 6, 6: 3, 12: 2, 40: 1}
"""Records beside each other, and how many such sets there are."""
DRAWN = 3
CITIES = ("Bristol", "Leeds", "Norwich", "Exeter", "York", "Derby", "Hull", "Bath", "Luton", "Crewe", "Truro", "Ripon")
NAMES = [f"{side}{end}" for side in ("North", "South", "East", "West", "High", "Long", "Green", "Old", "Mid")
         for end in ("gate", "bridge", "field", "moor", "wick")]  # fmt: skip
PEOPLE = [f"{first} {last}" for first in ("Ana", "Ben", "Cleo", "Dev", "Eva", "Finn", "Gita", "Hal")
          for last in ("Abbott", "Brook", "Carver", "Dunn", "Ellis", "Frost")]  # fmt: skip

Record = dict[str, Any]


def records(rng: random.Random, count: int) -> list[Record]:
    """Depots, each with a name and a manager of its own."""
    return [
        {"name": name, "city": rng.choice(CITIES), "tins": rng.randint(20, 900), "manager": person,
         "open_sunday": rng.random() < 0.5}
        for name, person in zip(rng.sample(NAMES, count), rng.sample(PEOPLE, count), strict=True)
    ]  # fmt: skip


def table(rows: list[Record]) -> str:
    lines = ["| name | city | tins | manager | open_sunday |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(str(value) for value in row.values())} |" for row in rows]
    return "\n".join(lines)


def said(row: Record) -> str:
    """Whether a depot is open, in a word."""
    return "open" if row["open_sunday"] else "closed"


def fields(row: Record) -> str:
    return "\n".join(f"{name.replace('_', ' ').capitalize()}: {value}" for name, value in row.items())


def csv_of(rows: list[Record]) -> str:
    return "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)])


FORMS: dict[str, Callable[[list[Record]], str]] = {
    "JSON": json.dumps,
    "JSON, indented": lambda rows: json.dumps(rows, indent=2),
    "JSON lines": lambda rows: "\n".join(map(json.dumps, rows)),
    "Markdown table": table,
    "CSV": csv_of,
    "YAML": lambda rows: "\n".join(
        "- " + "\n  ".join(f"{name}: {value}" for name, value in row.items()) for row in rows
    ),
    "fields, a blank line between": lambda rows: "\n\n".join(map(fields, rows)),
    "bullets": lambda rows: "\n".join(
        f"- **{row['name']}** ({row['city']}): {row['tins']} tins, manager {row['manager']}, {said(row)} on Sundays"
        for row in rows
    ),
    "paragraphs": lambda rows: "\n\n".join(
        f"The {row['name']} depot is in {row['city']}. It holds {row['tins']} tins and is run by {row['manager']}. "
        f"On Sundays it is {said(row)}."
        for row in rows
    ),
    "one paragraph": lambda rows: " ".join(
        f"The {row['name']} depot in {row['city']} holds {row['tins']} tins and is run by {row['manager']}; "
        f"it is {said(row)} on Sundays."
        for row in rows
    ),
}


def statements(rng: random.Random, rows: list[Record]) -> Iterator[tuple[str, bool]]:
    """Statements, and whether each is right."""
    for row in rng.sample(rows, DRAWN):
        other = rng.choice([one for one in rows if one["city"] != row["city"] and one["tins"] != row["tins"]] or [row])
        for source in (row, other) if other is not row else ():
            right = source is row
            yield f"The depot at {row['name']} is in {source['city']}.", right
            yield f"{row['name']} holds {source['tins']} tins.", right
            yield f"{source['manager']} runs the {row['name']} depot.", right
            negation = "" if row["open_sunday"] is right else "not "
            yield f"The {row['name']} depot is {negation}open on Sundays.", right


def measured(guard: Guard, form: Callable[[list[Record]], str], count: int) -> float:
    """AUROC of the rail's score."""
    rng = random.Random(SEED + count)
    scores, wrong = [], []
    for _ in range(COUNTS[count]):
        rows = records(rng, count)
        for text, right in statements(rng, rows):
            scores.append(guard.check_sync(text, evidence=[form(rows)]).hallucination_score)
            wrong.append(not right)
    return auroc(wrong, scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nli", type=Path, help="folder of another NLI model")
    guard = Guard({"checks": ["grounding"]}, nli=EmbeddedModel(parser.parse_args().nli))
    rows = [["evidence", *(f"{count} records" for count in COUNTS)]]
    data: dict[str, dict[str, float]] = {}
    for name, form in FORMS.items():
        found = [measured(guard, form, count) for count in COUNTS]
        with patch.object(windows, "record_cuts", lambda text: []):
            whole = [measured(guard, form, count) for count in COUNTS]
        rows.append([name, *(f"**{one:.3f}** ({before:.3f})" for one, before in zip(found, whole, strict=True))])
        data[name] = {str(count): round(one, 3) for count, one in zip(COUNTS, found, strict=True)}
    publish("records", rows, data)


if __name__ == "__main__":
    main()
