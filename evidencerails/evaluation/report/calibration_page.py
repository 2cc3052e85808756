"""A calibration as one HTML page: reliability before and after, on documents it was not fitted on."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from evidencerails.cli.terminal import visible
from evidencerails.evaluation.calibration import Fitted
from evidencerails.evaluation.fitting import Calibration
from evidencerails.evaluation.report import charts
from evidencerails.evaluation.report.page import FOLDER
from evidencerails.evaluation.report.wording import SHORT, told
from evidencerails.text.html import templates_of

SHOWN = ("log_loss", "brier", "ece", "auroc")


def calibration_page(calibration: Calibration) -> str:
    """The page."""
    from markupsafe import Markup

    environment = templates_of(FOLDER)
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    return environment.get_template("calibration.html.j2").render(
        about=visible(f"Fitted on {calibration.settings['calibration']['fitted_on']}; "
                      f"{calibration.held_out_rows} of the rows were held out."),
        names=[SHORT.get(name, name.replace("_", " ")) for name in SHOWN],
        fitted=[
            {"name": one.name, "told": one.told,
             "cells": [[_parts(name, side) for side in (one.before, one.after)] for name in SHOWN]}
            for one in calibration.fitted
        ],
        plots=[{"title": one.name, "svg": Markup(_plot(one))} for one in calibration.fitted],
        thresholds=[threshold_row(name, found["held_out"]) for name, found in calibration.thresholds.items()],
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
    )  # fmt: skip


def _parts(name: str, side: dict[str, Any]) -> tuple[str, str]:
    """A figure and its interval."""
    value, _, interval = told(name, side[name]).partition(" ")
    return value, interval


def _plot(fitted: Fitted) -> str:
    groups = [("before", fitted.bins_before), ("after", fitted.bins_after)]
    return charts.reliability(f"Reliability of {fitted.name} before and after", groups)


def threshold_row(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    """A threshold in words: value, false abstention rate, leak rate, precision."""
    precision = "-" if found["precision"] is None else f"{found['precision']:.3f}"
    rates = (f"{found['value']:.4f}", f"{found['false_abstention_rate']:.3f}", f"{found['leak_rate']:.3f}")
    return (name, *rates, precision)
