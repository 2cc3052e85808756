"""The suite of attacks that ships, against the engine as installed.

    python benchmarks/redteam.py

Prints JSON and writes the table (docs/reference/benchmarks.md). Attacks were generated from four made-up documents
(tests/evaluation/redteam_evidence) and not chosen by what the engine does with them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from tables import publish

from evidencerails import Guard
from evidencerails.evaluation.redteam.history import SHIPPED, read_suite
from evidencerails.evaluation.redteam.scoring import scores
from evidencerails.evaluation.redteam.targets import WITHOUT_SETTINGS, EngineTarget, attack_all
from evidencerails.evaluation.redteam.wording import dimension_rows, score_shown


def main() -> None:
    """Attack and write the table."""
    target = EngineTarget(Guard(), checks=WITHOUT_SETTINGS)
    found = scores(asyncio.run(attack_all(read_suite(SHIPPED), target)))
    rows: list[tuple[str, ...]] = [("", "score", "false answers caught", "true answers passed")]
    rows += [(name.replace("_", " "), *_cells(one)) for name, one in found["categories"].items()]
    rows.append(("**all**", *_cells({**found["score"], **found["counts"]})))
    rows += [(f"*{name}*", score, "", "") for name, score, _ in dimension_rows(found)]
    publish("redteam", rows, found)


def _cells(one: dict[str, Any]) -> tuple[str, str, str]:
    caught = f"{one['false_caught']} of {one['false_planted']}"
    return score_shown(one), caught, f"{one['true_passed']} of {one['true_planted']}"


if __name__ == "__main__":
    main()
