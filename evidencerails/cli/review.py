"""`evidencerails review`: what waits for a person, and the person's decision."""

from __future__ import annotations

import getpass
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import typer
from rich.table import Table

from evidencerails.cli.common import (
    CONFIG,
    JSON,
    STORE,
    TYPER_OPTIONS,
    CliError,
    console,
    one_of,
    opened,
    say,
    settings_for,
    text_in,
)
from evidencerails.errors import ReviewConflictError
from evidencerails.operations.review.package import RELEASABLE, Item, OpenItem, Package, Verdict, plain_item
from evidencerails.operations.times import iso
from evidencerails.report import ReviewTier
from evidencerails.text.visible import visible

if TYPE_CHECKING:
    from evidencerails.operations.review.queue import ReviewQueue


EXIT_CONFLICT = 1
"""Somebody else has decided first."""
EXIT_NOT_RELEASED = 1
"""Nobody has decided yet, or against it."""
STATES = ("pending", "approved", "rejected", "edited", "expired", "unreleased", "all")

app = typer.Typer(**TYPER_OPTIONS, no_args_is_help=True, help="Answers that wait for a person: list, look at, decide.")

ID = typer.Argument(metavar="ID", help="Of the review; its first characters are enough.")
REVIEWER = typer.Option(None, "--reviewer", metavar="NAME", help="Who decides. Default: the name of the user.")
NOTE = typer.Option(None, "--note", metavar="TEXT", help="Why; kept with the decision.")
VERSION = typer.Option(
    None, "--version", metavar="N", help="Decide only if the review still has this version, as `show` prints it."
)


@app.command("list")
def list_(
    state: str = typer.Option("pending", help=f"{', '.join(STATES[:-1])}, or all."),
    tier: str | None = typer.Option(None, help="asynchronous, synchronous or blocking."),
    limit: int = typer.Option(50, min=1, max=1000, help="Reviews shown."),
    as_json: bool = JSON,
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """List reviews, sorted by deadline.

    evidencerails review list
    """
    one_of("state", state, STATES)
    one_of("tier", tier, get_args(ReviewTier))
    with _queue(config, store) as queue:
        if state == "unreleased":
            items = queue.unreleased(limit=limit)
        else:
            items = queue.items(state=None if state == "all" else state, tier=tier, limit=limit)
    if as_json:
        print(json.dumps([plain_item(item) for item in items], indent=2))
        return 0
    table = Table("id", "state", "tier", "risk", "stakes", "due", "reviewer")
    for one in items:
        reviewer = visible(one.reviewer or "")
        table.add_row(one.id[:12], one.state, one.tier, f"{one.risk:.2f}", one.stakes, _due(one), reviewer)
    console().print(table if items else "no reviews")
    return 0


@app.command("show")
def show(review_id: str = ID, as_json: bool = JSON, config: Path | None = CONFIG, store: str | None = STORE) -> int:
    """Show one review: the answer with its flagged claims, the evidence, and the decision."""
    with _queue(config, store) as queue:
        found = queue.get(review_id)
    if as_json:
        plain = {
            **plain_item(found.item),
            "package": found.package.model_dump(mode="json") if found.package is not None else None,
            "note": found.note,
            "edited": found.edited,
            "events": [{**event._asdict(), "at": iso(event.at)} for event in found.events],
        }
        print(json.dumps(plain, indent=2))
    else:
        _print_open_item(found)
    return 0


def _command(verdict: Verdict, about: str) -> Callable[..., int]:
    def decide(
        review_id: str = ID,
        reviewer: str | None = REVIEWER,
        note: str | None = NOTE,
        version: int | None = VERSION,
        config: Path | None = CONFIG,
        store: str | None = STORE,
    ) -> int:
        with _queue(config, store) as queue:
            return _decided(queue, verdict, review_id, reviewer, note=note, version=version)

    decide.__doc__ = f"{about} Exit code: 0 done, 1 somebody else has decided first, 2 wrong usage."
    return decide


app.command("approve")(_command("approved", "Approve an answer as it is."))
app.command("reject")(_command("rejected", "Reject an answer."))


@app.command("edit")
def edit(
    review_id: str = ID,
    text: str | None = typer.Option(None, metavar="TEXT", help="The corrected answer."),
    file: str | None = typer.Option(None, metavar="FILE", help="The same from a file; - is standard input."),
    reviewer: str | None = REVIEWER,
    note: str | None = NOTE,
    version: int | None = VERSION,
    config: Path | None = CONFIG,
    store: str | None = STORE,
) -> int:
    """Approve a corrected answer.

    Exit code: 0 done, 1 somebody else has decided first, 2 wrong usage.
    """
    if (text is None) == (file is None):
        raise CliError("give the new text once: --text TEXT or --file FILE")
    with _queue(config, store) as queue:
        text = text_in(file) if file is not None else text
        return _decided(queue, "edited", review_id, reviewer, note=note, version=version, text=text)


@app.command("release")
def release(review_id: str = ID, as_json: bool = JSON, config: Path | None = CONFIG, store: str | None = STORE) -> int:
    """Print the text that a reviewer approved or edited; it then counts as released.

    evidencerails review release 3f2a

    It can be fetched again. Exit code: 0 done, 1 not approved or edited, 2 wrong usage or the text was deleted.
    """
    with _queue(config, store) as queue:
        item = queue.get(review_id).item
        if item.state not in RELEASABLE:
            say(f"review {item.id} is {item.state}; nobody has let its text through")
            return EXIT_NOT_RELEASED
        released = queue.release(item.id)
    if as_json:
        print(json.dumps(released._asdict()))
    elif sys.stdout.isatty():
        print(visible(released.text))
    else:
        sys.stdout.buffer.write(released.text.encode("utf-8", "surrogatepass") + b"\n")
    return 0


def _decided(queue: ReviewQueue, verdict: Verdict, review_id: str, reviewer: str | None, **rest: Any) -> int:
    try:
        item = queue.decide(review_id, verdict, reviewer=reviewer or getpass.getuser(), **rest)
    except ReviewConflictError as error:
        say(str(error))
        return EXIT_CONFLICT
    except (KeyError, OSError):
        raise CliError("the name of the user is unknown; give --reviewer NAME") from None
    print(f"{item.id} {item.state} by {item.reviewer}")
    return 0


@contextmanager
def _queue(config: Path | None, url: str | None) -> Iterator[ReviewQueue]:
    with opened(settings_for(config, url)) as store:
        from evidencerails.operations.review.queue import ReviewQueue

        yield ReviewQueue(store)


def _print_open_item(found: OpenItem) -> None:
    out, item, package = console(), found.item, found.package
    out.print(f"review {item.id}, version {item.version}: {item.state}, {item.tier}, due {_due(item)}")
    sure = "not measured" if package is None or package.confidence is None else f"{package.confidence:.2f}"
    out.print(f"stakes {item.stakes}, confidence {sure}, risk {item.risk:.2f}, report {item.report_id or '-'}")
    if package is None:
        out.print("its texts were deleted by retention")
    steps = [f"{iso(e.at)} {e.event}{f' by {e.actor}' if e.actor else ''}" for e in found.events]
    parts = {} if package is None else _parts(package)
    parts |= {"released text": [found.edited or ""] if found.edited is not None else [],
              "note": [found.note or ""] if found.note is not None else [], "history": steps}  # fmt: skip
    for title, lines in parts.items():
        if lines:
            out.print(f"\n{title}")
        for line in lines:
            out.print("  " + visible(line).replace("\n", "\n  "))


def _parts(package: Package) -> dict[str, Sequence[str]]:
    claims = [f"{claim.label}: {claim.span.text}\n    {claim.reason}" for claim in package.flagged_claims]
    shown = {claim.span for claim in package.flagged_claims}
    claims += [
        f"{f.kind}: {f.span.text if f.span else ''}\n    {f.reason}" for f in package.findings if f.span not in shown
    ]
    left_out = [f"... and {package.evidence_left_out} more passages"] if package.evidence_left_out else []
    question = package.context.get("question")
    return {
        "question": [str(question)] if question else [],
        "answer": [package.output],
        "flagged": claims or [f"{package.status}: {package.reason}"],
        "suggested instead": [f"{s.source}: {s.text or '(take it out)'}" for s in package.suggestions],
        "evidence": [*(f"[{p.id}] {p.text}" for p in package.evidence), *left_out],
    }


def _due(item: Item) -> str:
    if item.state != "pending":
        return iso(item.deadline_at)
    left_s = item.deadline_at - time.time()
    size, unit = next((s, u) for s, u in ((3600, "h"), (60, "min"), (1, "s")) if abs(left_s) >= s or s == 1)
    amount = f"{abs(left_s) / size:.{1 if unit == 'h' else 0}f} {unit}"
    return f"in {amount}" if left_s >= 0 else f"{amount} overdue"
