"""How often `check logic` finds a planted error, and how often it cries wolf.

    python benchmarks/logic.py [--data DIR/bench]

Right and wrong answers from `benchmarks/logic_generated.py` (half of its templates held out), and fifty answers written
by hand, apart (`benchmarks/logic_cases.jsonl`). Offline, with the audit by the embedded NLI model. A wrong answer
counts as found if there is a finding; a right one as a false alarm if there is any. With `--data`, every different text
of the bench data that holds a digit or a "than" is computed too, and the forms of every text that concludes are
decided, without the NLI model: nothing is planted there, so each alarm is printed for a person to read.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from logic_generated import Case, cases
from tables import publish

from evidencerails import Guard
from evidencerails.checks.logic.check import computed_statements
from evidencerails.checks.logic.reasoning import steps_of
from evidencerails.checks.logic.syllogisms import form_faults
from evidencerails.settings.structure import LogicSettings

HAND_WRITTEN = Path(__file__).with_name("logic_cases.jsonl")


def hand_written() -> list[Case]:
    """The cases written by hand."""
    rows = [json.loads(line) for line in HAND_WRITTEN.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Case(row["text"], row["is_wrong"], "by hand", True) for row in rows]


async def judged(some: Sequence[Case]) -> list[bool]:
    """Whether the check finds anything in each."""
    guard = Guard({"checks": ["logic"]})
    reports = [await guard.check(case.text) for case in some]
    return [bool(report.findings) for report in reports]


def real_texts(folder: Path) -> list[str]:
    """Every different text of the bench data."""
    texts: set[str] = set()
    for file in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                values = [v for value in row.values() for v in (value if isinstance(value, list) else [value])]
                texts |= {v for v in values if isinstance(v, str) and len(v) > 30}
    return sorted(texts)


COMPUTABLE = re.compile(r"\d|\bthan\b")
CONCLUDES = re.compile(r"\b(?:therefore|thus|hence|so|consequently|follows|conclu|means|implies)", re.IGNORECASE)


def alarms_on(texts: Sequence[str]) -> dict[str, Any]:
    """What the computing part, and the forms, say about texts in which nothing was planted."""
    statements, alarms = 0, []
    computable = [text for text in texts if COMPUTABLE.search(text)]
    for text in computable:
        found = computed_statements(text, LogicSettings())
        statements += len(found)
        alarms += [f"{text[s.start : s.end]} | {s.reason}" for s in found if s.is_right is False]
    conclude = [text for text in texts if CONCLUDES.search(text)]
    for text in conclude:
        steps = steps_of(text)
        conclusions = [place for place, step in enumerate(steps) if step.is_conclusion]
        faults = form_faults([step.text for step in steps], conclusions)
        alarms += [f"{steps[place].text} | {fault}" for place, fault in faults.items()]
    return {"texts": len(computable), "statements": statements, "concluding": len(conclude), "alarms": alarms}


def rates(some: Sequence[Case], alarms: Sequence[bool]) -> dict[str, Any]:
    """Detection and false-alarm rates with their counts."""
    wrong = [alarm for case, alarm in zip(some, alarms, strict=True) if case.is_wrong]
    right = [alarm for case, alarm in zip(some, alarms, strict=True) if not case.is_wrong]
    return {
        "wrong": len(wrong),
        "found": sum(wrong),
        "detection": sum(wrong) / len(wrong),
        "right": len(right),
        "false_alarms": sum(right),
        "false_alarm_rate": sum(right) / len(right),
    }


def main() -> None:
    """Judge all cases, print JSON, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the bench data")
    arguments = parser.parse_args()
    made, own = cases(), hand_written()
    started = time.perf_counter()
    alarms = asyncio.run(judged([*made, *own]))
    seconds = time.perf_counter() - started
    of_made, of_own = alarms[: len(made)], alarms[len(made) :]
    parts = {"templates seen": False, "templates held out": True}
    data: dict[str, Any] = {}
    for name, held_out in parts.items():
        places = [place for place, case in enumerate(made) if case.is_held_out is held_out]
        data[name] = rates([made[p] for p in places], [of_made[p] for p in places])
    data["50 written by hand"] = rates(own, of_own)
    missed = Counter(c.template for c, alarm in zip(made, of_made, strict=True) if c.is_wrong and not alarm)
    cried = Counter(c.template for c, alarm in zip(made, of_made, strict=True) if not c.is_wrong and alarm)
    rows = [["cases", "wrong", "found", "right", "false alarms"]]
    for name, rate in data.items():
        rows.append(
            [
                name,
                str(rate["wrong"]),
                f"{rate['detection']:.1%}",
                str(rate["right"]),
                f"{rate['false_alarm_rate']:.1%}",
            ]
        )
    more = {
        "missed_by_template": dict(missed),
        "false_alarms_by_template": dict(cried),
        "missed_by_hand": [c.text for c, alarm in zip(own, of_own, strict=True) if c.is_wrong and not alarm],
        "false_alarms_by_hand": [c.text for c, alarm in zip(own, of_own, strict=True) if not c.is_wrong and alarm],
        "ms_per_answer": 1000 * seconds / len(alarms),
    }
    if arguments.data is not None:
        real = alarms_on(real_texts(arguments.data))
        more["real_texts"] = real
        rows.append(["texts of the bench data", "-", "-", str(real["texts"]), f"{len(real['alarms'])} in all"])
    publish("logic", rows, {**data, **more})


if __name__ == "__main__":
    main()
