"""`evidencerails monitor`: how the stored reports do, in a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from evidencerails.cli.span import seconds_of
from evidencerails.cli.store_place import CONFIG, STORE, opened, settings_for
from evidencerails.cli.terminal import can_write, console
from evidencerails.text.visible import visible

BLOCKS = " ▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = " .:-=+*#@"
"""For terminals without the others."""


def monitor(
    since: str = typer.Option("7d", "--since", metavar="TIME", help="How far back: 30m, 12h, 7d, 2w."),
    every: float | None = typer.Option(
        None, "--every", min=1.0, metavar="SECONDS", help="Show it again every so many seconds, until Ctrl-C."
    ),
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Rate, trend, error budget, CUSUM and the worst answers.

    evidencerails monitor --since 24h

    Exit code: 0 within the error budget or too few reports to tell, 1 budget exhausted.
    """
    span_s, settings, out = seconds_of(since), settings_for(config, store), console()
    from evidencerails.service.trends import trends

    with opened(settings) as kept:
        while True:
            found = trends(kept, settings, time.time() - span_s)
            if every is not None:
                out.clear()
            for line in summary_lines(found, blocks=BLOCKS if can_write(out.file, BLOCKS) else PLAIN_BLOCKS):  # type: ignore[arg-type]
                out.print(line)
            if every is None:
                return 1 if found["view"].budget.state == "exhausted" else 0
            time.sleep(every)


def summary_lines(found: dict[str, Any], *, blocks: str = BLOCKS) -> Iterator[str]:
    """What there is to know, line by line."""
    told = f"{found['rate']} hallucinated of those verified, {found['unverified']} unverified"
    yield f"{found['reports']} reports, {told}"
    if found["trend"].bars:
        yield f"trend        {sparkline([bar.height for bar in found['trend'].bars], blocks)}"
    yield from (f"{name.lower():<22} {value}" for name, value in found["cost"])
    yield from _watched(found["view"], found["wanted"])
    for title, rows in found["findings"].items():
        if rows:
            yield f"{title.lower()}: " + ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in rows)
    for row in found["worst"][:5]:
        yield f"worst: {row['id']} {row['status']} score {row['hallucination_score']:.2f}"


def _watched(view: Any, wanted: int) -> Iterator[str]:
    budget, cusum = view.budget, view.cusum
    if view.window.low is not None:
        yield f"last {view.window.reports} reports: {view.window.low:.1%} to {view.window.high:.1%} hallucinated (95 %)"
    yield (
        f"error budget {budget.state.replace('_', ' ')}: {budget.spent:.1f} of {budget.allowed:.1f} spent over "
        f"{budget.reports:.0f} reports"
    )
    for regression in view.regressions[-3:]:
        named = ", ".join(visible(change.description, one_line=True) for change in regression.changes)
        over = " (over)" if regression.is_over else ""
        yield f"regression{over}: {regression.before:.3f} to {regression.after:.3f} after {named}"
    if cusum.chart is None:
        yield f"cusum: learns from the first {wanted} checked reports; there are {cusum.learnt}"
        return
    yield (
        f"cusum: up {cusum.up:.2f} of {cusum.chart.threshold_up:.2f}, down {cusum.down:.2f} of "
        f"{cusum.chart.threshold_down:.2f}, {len(cusum.shifts)} shifts found"
    )
    for shift in cusum.shifts[-3:]:
        change = f"; change before it: {visible(shift.change.description, one_line=True)}" if shift.change else ""
        began = time.strftime("%Y-%m-%d %H:%M", time.gmtime(shift.began_at))
        yield f"shift {shift.direction} began {began}{change}"


def sparkline(heights: list[float], blocks: str) -> str:
    """A line of blocks, scaled to the highest."""
    highest = max(heights, default=0.0) or 1.0
    return "".join(blocks[round((len(blocks) - 1) * height / highest)] for height in heights)
