"""The dashboard's review queue: what waits for a person, and the three verdicts."""

from __future__ import annotations

import logging
import time
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import escape

from evidencerails.errors import ReviewConflictError, ReviewError
from evidencerails.report_page import ABOUT
from evidencerails.service.api import read_store
from evidencerails.service.problems import Problem
from evidencerails.service.visitor import Visitor, form_of

log = logging.getLogger("evidencerails.service")

router = APIRouter(include_in_schema=False)
MAX_WAITING = 50
"""Items on the page, the most urgent first."""


@router.get("/review")
async def queue_page(request: Request) -> HTMLResponse:
    """What waits for a person."""
    visitor = Visitor(request)
    visitor.require("review")
    items = await read_store(request, lambda _: _queue(request).items(limit=MAX_WAITING))
    shown = [{**item._asdict(), "is_overdue": item.is_overdue(time.time())} for item in items]
    return visitor.page(request, "queue.html", items=shown, said=request.query_params.get("said", "")[:40])


@router.get("/review/{review_id}")
async def review_page(request: Request, review_id: str) -> HTMLResponse:
    """One answer with all that a reviewer needs, and the three verdicts."""
    visitor = Visitor(request)
    visitor.require("review")
    return await _review(request, visitor, review_id)


async def _review(
    request: Request, visitor: Visitor, review_id: str, *, problem: str = "", status: int = 200
) -> HTMLResponse:
    try:
        found = await read_store(request, lambda _: _queue(request).get(review_id))
    except ReviewError as error:
        raise Problem(404, "no_such_review", str(error)) from None
    package = found.package.model_dump(mode="json") if found.package else None
    return visitor.page(
        request,
        "review.html",
        status=status,
        item=found.item._asdict(),
        package=package,
        raw_output=escape(found.package.output if found.package else ""),  # to be edited: not made visible
        note=found.note or "",
        edited=found.edited or "",
        events=[event._asdict() for event in found.events],
        problem=problem,
        about=ABOUT,
    )


@router.post("/review/{review_id}")
async def decide(request: Request, review_id: str) -> Response:
    """Store a verdict on the version that the reviewer saw."""
    visitor = Visitor(request)
    caller = visitor.require("review")
    form = await form_of(request, visitor)
    verdict, version = str(form.get("verdict", "")), str(form.get("version", ""))
    reviewer = str(form.get("reviewer", "")).strip() if caller.is_local else caller.name
    text = str(form.get("text", "")).replace("\r\n", "\n") if verdict == "edited" else None
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        raise Problem(400, "unreadable", "the form does not name the version that was shown")
    try:
        await read_store(
            request,
            lambda _: _queue(request).decide(
                review_id,
                verdict,
                reviewer=reviewer,
                text=text,
                note=str(form.get("note", "")) or None,
                version=int(version),
            ),
        )
    except ReviewConflictError as error:
        return await _review(request, visitor, review_id, problem=str(error), status=409)
    except ReviewError as error:
        return await _review(request, visitor, review_id, problem=str(error), status=422)
    log.info("review %s by key %s", verdict, caller.name)
    return RedirectResponse(f"/review?said={verdict}", status_code=303)


def _queue(request: Request) -> Any:
    from evidencerails.operations.review.queue import ReviewQueue

    return ReviewQueue(request.app.state.guard.store)
