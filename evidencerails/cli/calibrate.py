"""`evidencerails calibrate`: from the outcomes of a run to settings whose scores are probabilities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import typer

from evidencerails.cli.check_input import refuse_unwritable
from evidencerails.cli.errors import CliError
from evidencerails.cli.terminal import console, say

if TYPE_CHECKING:
    from evidencerails.evaluation.fitting import Calibration


def calibrate(
    run: Path = typer.Option(..., "--run", metavar="FILE", help="The --run file that `evidencerails eval` wrote."),
    method: list[str] = typer.Option([], "--method", "-m", metavar="NAMES", help="Methods of the run. Default: all."),
    out: Path = typer.Option(Path("calibration.yml"), "--out", "-o", metavar="FILE", help="Settings to write."),
    calibrator: str = typer.Option(
        "auto", "--calibrator", help="auto (cross-validated), temperature, platt, isotonic."
    ),
    lambda1: float = typer.Option(1.0, "--lambda1", min=0, help="Cost of the false abstention rate."),
    lambda2: float = typer.Option(1.0, "--lambda2", min=0, help="Cost of the leak rate."),
    target_precision: float | None = typer.Option(
        None, "--target-precision", min=0, max=1, help="Threshold by this precision instead of costs."
    ),
    target_recall: float | None = typer.Option(
        None, "--target-recall", min=0, max=1, help="Threshold by this recall instead of costs."
    ),
    held_out: float = typer.Option(
        0.3, "--held-out", min=0.1, max=0.9, help="Share of the documents kept for judging."
    ),
    seed: int = typer.Option(0, "--seed", help="Of the split."),
    gate: bool = typer.Option(
        False, "--gate", help="Also write quality_gate.max_hallucination_score: answers above are blocked."
    ),
    json_file: Path | None = typer.Option(None, "--json", metavar="FILE", help="Write what was fitted as JSON."),
    html: Path | None = typer.Option(None, "--html", metavar="FILE", help="Reliability before and after, as a page."),
) -> int:
    """Fit calibrators, an ensemble and a threshold on evaluated answers, and write the settings.

    evidencerails calibrate --run metrics.rows.jsonl --out calibration.yml --html calibration.html

    What is worse than before on held-out documents is refused. Exit code: 0 done, 2 wrong usage.
    """
    from evidencerails.evaluation.fitting import Wanted, as_yaml
    from evidencerails.evaluation.fitting import calibrate as fit
    from evidencerails.evaluation.metrics import library

    library("sklearn"), library("scipy")
    for file in (out, json_file, html):
        if file is not None:
            refuse_unwritable(file)
    if target_precision is not None and target_recall is not None:
        raise CliError("--target-precision and --target-recall exclude each other; give one")
    names = [name.strip() for part in method for name in part.split(",") if name.strip()]
    wanted = Wanted(
        kind=_kind(calibrator),
        false_abstention_cost=lambda1,
        leak_cost=lambda2,
        precision=target_precision,
        recall=target_recall,
        held_out=held_out,
        seed=seed,
        gate=gate,
    )
    found = fit(run, names, wanted)
    out.write_text(as_yaml(found), encoding="utf-8")
    if json_file is not None:
        json_file.write_text(json.dumps(_plain(found), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    if html is not None:
        from evidencerails.evaluation.report.page import calibration_page

        html.write_text(calibration_page(found), encoding="utf-8")
    _print(found)
    say(f"wrote {out}; see what it changes with: evidencerails eval --config {out} ...")
    return 0


def _kind(calibrator: str) -> Any:
    from evidencerails.settings.calibration import CalibratorName

    kinds = get_args(CalibratorName)
    if calibrator not in ("auto", *kinds):
        raise CliError(f"--calibrator is {calibrator!r}; expected auto, {', '.join(kinds)}")
    return None if calibrator == "auto" else calibrator


def _plain(found: Calibration) -> dict[str, Any]:
    fitted = [
        {**one._asdict(), "settings": one.settings.model_dump(mode="json") if one.settings is not None else None}
        for one in found.fitted
    ]
    return {"settings": found.settings, "fitted": fitted, "thresholds": found.thresholds, "rows": found.rows,
            "held_out_rows": found.held_out_rows}  # fmt: skip


def _print(found: Calibration) -> None:
    from rich.table import Table
    from rich.text import Text

    from evidencerails.evaluation.report.page import QUALITY, quality_names, threshold_row
    from evidencerails.evaluation.report.wording import shown

    quality = Table(show_edge=False, pad_edge=False)
    for name in ("method", "held out", *quality_names(), "what came of it"):
        quality.add_column(name)
    for one in found.fitted:
        for word, side, what in (("before", one.before, ""), ("after", one.after, one.conclusion)):
            cells = (shown(name, side[name], interval=False) for name in QUALITY)
            quality.add_row(Text(one.name if word == "before" else ""), word, *cells, Text(what))
    thresholds = Table(show_edge=False, pad_edge=False)
    for name in ("threshold of", "value", "false abstention", "leak", "precision"):
        thresholds.add_column(name)
    for name, row in found.thresholds.items():
        thresholds.add_row(*(Text(cell) for cell in threshold_row(name, row["held_out"])))
    out = console()
    out.print(quality)
    out.print("")
    out.print(thresholds)
