"""The runs that led to some weights, as the model card tells them.

A run may go on from another, and that one from published weights (`restore.py`). What is told of the published ones is
kept in `published.json`, so that the whole chain can be told wherever the next run is made.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PUBLISHED = Path(__file__).with_name("published.json")


def stage_of(work_dir: Path) -> dict[str, Any]:
    """What there is to tell of the run in a work folder."""
    run, prepared = (json.loads((work_dir / name).read_text()) for name in ("run/run.json", "prepare.json"))
    recipe = run["recipe"]
    return {
        "pairs": prepared["pairs"],
        "tokens": sum(source["tokens"] for source in prepared["sources"].values()),
        "sources": {
            name: {"labels": sorted(map(int, source["labels"])), "pairs": sum(source["labels"].values())}
            for name, source in prepared["sources"].items()
        },
        "steps": run["steps"],
        "passes": round(run["steps"] / run["all_steps"] * recipe["passes"], 2),
        "decay_from": run["decay_from"],
        "elapsed_s": run["elapsed_s"],
        "precision": run["precision"],
        "share": run.get("share", 1.0),
        **{name: recipe[name] for name in ("rate", "smoothing", "average", "seed", "frozen_layers")},
        "batch_tokens": recipe["tokens"],
    }


def stages_of(work_dir: Path) -> list[dict[str, Any]]:
    """The runs that led to the weights of a work folder, first one first; none if no run was made there.

    Raises:
        FileNotFoundError: a run went on from weights of which nothing is known.
    """
    if not (work_dir / "run" / "run.json").exists():
        return []
    start = json.loads((work_dir / "run" / "run.json").read_text())["recipe"].get("start")
    return [*(_before(Path(start)) if start else ()), stage_of(work_dir)]


def _before(start: Path) -> list[dict[str, Any]]:
    """The runs that led to a checkpoint: restored ones have their story beside them, others stand in their folder."""
    if (restored := start.with_suffix(".json")).exists():
        return json.loads(restored.read_text())
    if earlier := stages_of(start.parent.parent):
        return earlier
    raise FileNotFoundError(f"{start}: neither {restored.name} beside it nor a run in {start.parent.parent}")
