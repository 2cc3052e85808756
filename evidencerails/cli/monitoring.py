"""`evidencerails change`, `gate` and `alert`: the change log, the deployment gate, and telling what is wrong."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evidencerails.cli.errors import CliError
from evidencerails.cli.store_place import CONFIG, STORE, opened, settings_for
from evidencerails.cli.terminal import say
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from evidencerails.config import GuardConfig
    from evidencerails.operations.store import Store

EXIT_ALARM = 1
EXIT_TOO_FEW = 3
JSON = typer.Option(False, "--json", help="Print JSON.")


def change(
    description: str = typer.Argument(metavar="TEXT", help="What was changed, such as: new prompt v3."),
    author: str | None = typer.Option(None, "--author", metavar="NAME", help="Default: the name of the user."),
    state: Path | None = typer.Option(
        None, "--state", metavar="CONFIG", help="The configuration it led to, for `evidencerails bisect`."
    ),
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Write a change of the system down, so that a shift of the score can be traced to it.

    evidencerails change "new prompt v3"
    """
    from evidencerails.operations.monitoring.changes import add_change
    from evidencerails.operations.store.clock import iso

    if state is not None and not state.exists():
        raise CliError(f"there is no configuration {str(state)!r}; keep a copy of it, bisection tries it again")
    with opened(settings_for(config, store)) as kept:
        where = str(state.resolve()) if state is not None else None
        made = add_change(kept, description, author=author or getpass.getuser(), state=where)
    print(f"{iso(made.at)} {visible(made.description, one_line=True)}")
    return 0


def gate(as_json: bool = JSON, config: Path | None = CONFIG, store: str | None = STORE) -> int:
    """Ask the error budget whether something may be deployed.

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
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what is wrong; tell nobody, keep nothing."),
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Look for shifts, regressions, an exhausted budget and answers that failed the quality gate, and tell whoever is
    to be told: log, webhook, mail.

    Run it every few minutes, by cron for instance: one alert is told once, again after a day, and once it is over.

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
            _send(kept, settings)
    for condition in conditions:
        say(condition.message)
    return EXIT_ALARM if conditions else 0


def _send(kept: Store, settings: GuardConfig) -> None:
    if settings.monitoring.alerts.webhook is None:
        return
    from evidencerails.operations.monitoring.alerts import SUBJECT
    from evidencerails.operations.review.webhook import Notifier

    Notifier(kept, settings.monitoring.alerts.webhook, prefix=SUBJECT).send_due()
