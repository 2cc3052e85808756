"""How reviews look in a terminal; texts of others are made harmless first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from evidencerails.cli.terminal import console
from evidencerails.operations.review.package import Item, OpenItem, Package, plain_item
from evidencerails.operations.store.clock import iso
from evidencerails.text.visible import visible


def print_items(items: Sequence[Item]) -> None:
    """Print reviews as a table."""
    from rich.table import Table

    out = console()
    if not items:
        out.print("no reviews")
        return
    table = Table("id", "state", "tier", "risk", "stakes", "due", "reviewer")
    for item in items:
        due = _due(item)
        table.add_row(
            item.id[:12], item.state, item.tier, f"{item.risk:.2f}", item.stakes, due, visible(item.reviewer or "")
        )
    out.print(table)


def print_open_item(found: OpenItem) -> None:
    """Print one review for the person who decides it."""
    out = console()
    item = found.item
    out.print(f"review {item.id}, version {item.version}: {item.state}, {item.tier}, due {_due(item)}")
    confidence = found.package.confidence if found.package is not None else None
    sure = "not measured" if confidence is None else f"{confidence:.2f}"
    out.print(f"stakes {item.stakes}, confidence {sure}, risk {item.risk:.2f}, report {item.report_id or '-'}")
    if found.package is None:
        out.print("its texts were deleted by retention")
    else:
        _print_package(found.package, out)
    if found.edited is not None:
        _section(out, "released text", [found.edited])
    if found.note is not None:
        _section(out, "note", [found.note])
    steps = [f"{iso(e.at)} {e.event}{f' by {e.actor}' if e.actor else ''}" for e in found.events]
    _section(out, "history", steps)


def plain_open_item(found: OpenItem) -> dict[str, Any]:
    """One review as JSON-ready data."""
    return {
        **plain_item(found.item),
        "package": found.package.model_dump(mode="json") if found.package is not None else None,
        "note": found.note,
        "edited": found.edited,
        "events": [{**event._asdict(), "at": iso(event.at)} for event in found.events],
    }


def _print_package(package: Package, out: Any) -> None:
    if package.context.get("question"):
        _section(out, "question", [str(package.context["question"])])
    _section(out, "answer", [package.output])
    claims = [f"{claim.label}: {claim.span.text}\n    {claim.reason}" for claim in package.flagged_claims]
    told = {claim.span for claim in package.flagged_claims}
    others = [
        f"{f.kind}: {f.span.text if f.span else ''}\n    {f.reason}" for f in package.findings if f.span not in told
    ]
    _section(out, "flagged", [*claims, *others] or [f"{package.status}: {package.reason}"])
    shown = [f"{s.source}: {s.text or '(take it out)'}" for s in package.suggestions]
    _section(out, "suggested instead", shown)
    left_out = [f"... and {package.evidence_left_out} more passages"] if package.evidence_left_out else []
    _section(out, "evidence", [*(f"[{p.id}] {p.text}" for p in package.evidence), *left_out])


def _section(out: Any, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    out.print(f"\n{title}")
    for line in lines:
        out.print("  " + visible(line).replace("\n", "\n  "))


def _due(item: Item) -> str:
    left_s = item.deadline_at - time.time()
    if item.state != "pending":
        return iso(item.deadline_at)
    amount = abs(left_s)
    size = (
        f"{amount / 3600:.1f} h" if amount >= 3600 else f"{amount / 60:.0f} min" if amount >= 60 else f"{amount:.0f} s"
    )
    return f"in {size}" if left_s >= 0 else f"{size} overdue"
