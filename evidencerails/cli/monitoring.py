"""`evidencerails monitor`, `report`, `change`, `gate` and `alert`: how the stored reports do, and what follows."""

from __future__ import annotations

import getpass
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from evidencerails.cli.common import (
    CONFIG,
    JSON,
    STORE,
    CliError,
    can_write,
    console,
    opened,
    refuse_unwritable,
    say,
    seconds_of,
    settings_for,
    write_text,
)
from evidencerails.operations.times import iso
from evidencerails.text.visible import visible

SINCE = typer.Option("7d", metavar="TIME", help="How far back: 30m, 12h, 7d, 2w.")
_EVERY = "Show it again every so many seconds, until Ctrl-C."
BLOCKS = " ▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = " .:-=+*#@"
"""For terminals without the others."""
KEPT = ("reports", "rate", "unverified", "cost", "findings", "groups", "attribution", "retrieval", "worst")
EXIT_ALARM = 1
EXIT_TOO_FEW = 3


def monitor(
    since: str = SINCE,
    every: float | None = typer.Option(None, min=1.0, metavar="SECONDS", help=_EVERY),
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Rate, trend, error budget, CUSUM and the worst answers.

    evidencerails monitor --since 24h

    Exit code: 0 within the error budget or too few reports to say, 1 budget exhausted.
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
    rates = f"{found['rate']} hallucinated of those verified, {found['unverified']} unverified"
    yield f"{found['reports']} reports, {rates}"
    if found["trend"]:
        heights = [bar.value or 0.0 for bar in found["trend"]]
        highest = max(heights) or 1.0
        yield "trend        " + "".join(blocks[round((len(blocks) - 1) * height / highest)] for height in heights)
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


def report(
    since: str = SINCE,
    html: Path | None = typer.Option(None, metavar="FILE", help="Write one HTML page without scripts."),
    as_json: bool = JSON,
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Rates, findings, scores, cost, error budget, shifts and the worst answers of the stored reports.

    evidencerails report --since 7d --html report.html

    Exit code: 0, or 2 for wrong usage.
    """
    begin, settings = time.time() - seconds_of(since), settings_for(config, store)
    refuse_unwritable(html)
    from evidencerails.service.trends import trends

    with opened(settings) as kept:
        found = trends(kept, settings, begin)
    if html is not None:
        from evidencerails.service.charts import charts
        from evidencerails.service.views import standalone

        now = time.time()
        shown = {**found, "charts": charts(found, begin, now)}
        write_text(html, standalone("standalone.html", since=begin, until=now, **shown))
        say(f"wrote {html}")
    if as_json:
        print(json.dumps(_plain(found), indent=2, default=str))
    elif html is None:
        for line in summary_lines(found):
            print(line)
    return 0


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    view = found["view"]
    return {
        **{name: found[name] for name in KEPT},
        "trend": [{"from": bar.label, "hallucinated": bar.words} for bar in found["trend"]],
        "budget": {**view.budget._asdict(), "left": view.budget.left},
        "cusum": view.cusum.chart._asdict() if view.cusum.chart else None,
        "shifts": [
            {**shift._asdict(), "change": shift.change._asdict() if shift.change else None}
            for shift in view.cusum.shifts
        ],
        "regressions": [
            {**one._asdict(), "changes": [change._asdict() for change in one.changes]} for one in view.regressions
        ],
    }


def change(
    description: str = typer.Argument(metavar="TEXT", help="What was changed, such as: new prompt v3."),
    author: str | None = typer.Option(None, metavar="NAME", help="Default: the name of the user."),
    state: Path | None = typer.Option(None, metavar="CONFIG", help="The configuration it led to, for bisect."),
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Record a change of the system, so that a shift of the score can be traced to it.

    evidencerails change "new prompt v3"
    """
    from evidencerails.operations.monitoring.changes import add_change

    if state is not None and not state.exists():
        raise CliError(f"there is no configuration {str(state)!r}; keep a copy of it, bisection tries it again")
    with opened(settings_for(config, store)) as kept:
        where = str(state.resolve()) if state is not None else None
        made = add_change(kept, description, author=author or getpass.getuser(), state=where)
    print(f"{iso(made.at)} {visible(made.description, one_line=True)}")
    return 0


def gate(as_json: bool = JSON, config: Path | None = CONFIG, store: str | None = STORE) -> int:
    """Check whether the error budget allows a deployment.

    Exit code: 0 there is budget left, 1 it is spent, 3 too few reports to say, 2 wrong usage.
    """
    from evidencerails.operations.monitoring.monitor import budget_now

    settings = settings_for(config, store)
    with opened(settings) as kept:
        budget = budget_now(kept, settings.monitoring)
    if as_json:
        print(json.dumps({**budget._asdict(), "left": budget.left}))
    else:
        print(f"{budget.state}: {budget.spent:.1f} of {budget.allowed:.1f} spent over {budget.reports:.0f} reports")
    return {"ok": 0, "exhausted": EXIT_ALARM, "too_few_reports": EXIT_TOO_FEW}[budget.state]


def alert(
    dry_run: bool = typer.Option(False, "--dry-run", help="Only print what is wrong; send and store nothing."),
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Look for shifts, regressions, an exhausted budget and answers that failed the quality gate, and send alerts: to
    the log and a webhook.

    Run it every few minutes, by cron for instance: an alert is sent once, again after a day, and when it is over.

    Exit code: 0 all is well, 1 something is wrong, 2 wrong usage.
    """
    from evidencerails.operations.monitoring.alerts import conditions_of, notify
    from evidencerails.operations.monitoring.monitor import view_of

    settings = settings_for(config, store)
    with opened(settings) as kept:
        conditions = conditions_of(view_of(kept, settings.monitoring), settings.monitoring)
        if not dry_run:
            for sent in notify(kept, conditions, settings.monitoring.alerts):
                print(f"{sent.event}: {visible(sent.message, one_line=True)}")
    for condition in conditions:
        say(condition.message)
    return EXIT_ALARM if conditions else 0
