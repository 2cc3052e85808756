"""The dashboard and its review queue: pages made on the server, without a script, by what an API key permits."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from importlib.resources import files
from textwrap import shorten
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from markupsafe import escape
from starlette.datastructures import UploadFile

from evidencerails.errors import ReviewConflictError, ReviewError
from evidencerails.exchange import Exchange
from evidencerails.report_page import ABOUT, pieces_of
from evidencerails.service import views
from evidencerails.service.access import Visitor, log_in
from evidencerails.service.api import read_store
from evidencerails.service.checking import unless_gone
from evidencerails.service.keys import find_key
from evidencerails.service.problems import Problem

log = logging.getLogger("evidencerails.service")

router = APIRouter(include_in_schema=False)
STATIC = {"style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}
"""Everything that is served from the package; a name that is not here is not looked for."""
PAGE_ROWS = 50
EXCERPT = 160
"""Characters of a question or an answer in the history."""
MAX_WAITING = 50
"""Reviews on the page, the most urgent first."""
DAYS = (1, 7, 30, 90)
FORM_TEXTS = ("response", "evidence", "prompt")
NO_REPORT: dict[str, Any] = {"report": None, "pieces": [], "about": ABOUT}


@router.get("/static/{name}")
async def static(name: str) -> Response:
    if name not in STATIC:
        raise Problem(404, "not_found", "there is no such file")
    text = (files("evidencerails.service") / "static" / name).read_bytes()
    return Response(text, media_type=STATIC[name], headers={"Cache-Control": "public, max-age=3600"})


@router.get("/login")
async def login_page(request: Request) -> HTMLResponse:
    return Visitor(request).page("login.html", problem="")


@router.post("/login")
async def login(request: Request) -> Response:
    """Exchange a key for a session. No token: there is no session yet, and a forged login gains nothing."""
    visitor = Visitor(request)
    form = await request.form(max_files=0, max_fields=4)
    key = find_key(request.app.state.keys, str(form.get("key", "")))
    if key is None:
        return visitor.page("login.html", status=401, problem="This API key is not known.")
    log_in(request, key)
    return RedirectResponse("/", status_code=303)


@router.post("/logout")
async def logout(request: Request) -> Response:
    await Visitor(request).form()
    request.session.clear()
    return RedirectResponse("/login", status_code=303)


@router.get("/")
async def check_page(request: Request) -> HTMLResponse:
    visitor = Visitor(request, "check", "read")
    return visitor.page("check.html", given=dict.fromkeys(FORM_TEXTS, ""), problem="", **NO_REPORT)


@router.post("/")
async def checked_page(request: Request) -> HTMLResponse:
    visitor = Visitor(request, "check")
    form = await visitor.form()
    given = {name: str(form.get(name, "")) for name in FORM_TEXTS}
    try:
        texts = (given["evidence"], await _uploaded(form.get("file")))
        given["evidence"] = "\n\n".join(text for text in texts if text)
        if not given["response"].strip():
            raise Problem(422, "empty", "give an answer to check")
        exchange = Exchange.of(given["response"], evidence=given["evidence"] or None, prompt=given["prompt"] or None)
        plain = await unless_gone(request, request.app.state.checker.one(exchange))
    except Problem as problem:
        status = problem.status_code
        return visitor.page("check.html", status=status, given=given, problem=problem.message, **NO_REPORT)
    shown = {"report": plain, "pieces": pieces_of(plain, given["response"]), "about": ABOUT}
    return visitor.page("check.html", given=given, problem="", **shown)


async def _uploaded(file: Any) -> str:
    if not isinstance(file, UploadFile) or not file.filename:
        return ""
    data = await file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Problem(422, "not_utf8", "the file is not UTF-8 text; give its text instead") from None


@router.get("/history")
async def history_page(request: Request) -> HTMLResponse:
    from evidencerails.operations.store import queries

    visitor = Visitor(request, "read")
    asked = {name: request.query_params.get(name, "") for name in ("status", "flow", "agent", "model")}
    chosen: dict[str, Any] = {name: value or None for name, value in asked.items()}
    where = queries.Filter(**chosen)
    before = request.query_params.get("before", "")
    cursor = int(before) if before.isascii() and before.isdigit() and len(before) < 18 else None

    def read(engine: Any) -> tuple[list[queries.Summary], dict[str, tuple[str, str]]]:
        rows = queries.history(engine, where, limit=PAGE_ROWS, before_seq=cursor)
        return rows, queries.texts(engine, [row.id for row in rows])

    rows, texts = await read_store(request, read)
    following = rows[-1].seq if len(rows) == PAGE_ROWS else None
    shown = [
        {**row._asdict(), "texts": [shorten(text, EXCERPT, placeholder=" …") for text in texts.get(row.id, ())]}
        for row in rows
    ]
    return visitor.page("history.html", rows=shown, asked=asked, following=following)


@router.get("/reports/{report_id}")
async def report_page(request: Request, report_id: str) -> HTMLResponse:
    from evidencerails.operations.store import queries

    visitor = Visitor(request, "read")
    kept = await read_store(request, lambda engine: queries.report(engine, report_id))
    if kept is None:
        raise Problem(404, "no_such_report", "There is no report of this id; it may have been deleted by its age.")
    plain, answer = kept.body["report"], kept.body.get("response")
    is_whole = kept.redaction == "off" and isinstance(answer, str)
    return visitor.page(
        "report.html",
        report=plain,
        pieces=pieces_of(plain, str(answer)) if is_whole else [],
        about=ABOUT,
        summary=kept.summary._asdict(),
        question=kept.body.get("question") or "",
        redaction=kept.redaction,
    )


@router.get("/trends")
async def trends_page(request: Request) -> HTMLResponse:
    visitor = Visitor(request, "read")
    from evidencerails.service.charts import charts
    from evidencerails.service.trends import trends

    asked = request.query_params.get("days", "7")
    days = int(asked) if asked in map(str, DAYS) else 7
    guard = request.app.state.guard
    now = time.time()
    begin = now - days * 86_400

    def read(_: Any) -> dict[str, Any]:
        found = trends(guard.store, guard.config, begin)
        return {**found, "charts": charts(found, begin, now)}

    return visitor.page("trends.html", days=days, choices=DAYS, **await read_store(request, read))


@router.get("/review")
async def queue_page(request: Request) -> HTMLResponse:
    visitor = Visitor(request, "review")
    items = await read_store(request, lambda _: _queue(request).items(limit=MAX_WAITING))
    shown = [{**item._asdict(), "is_overdue": item.is_overdue(time.time())} for item in items]
    return visitor.page("queue.html", items=shown, said=request.query_params.get("said", "")[:40])


@router.get("/review/{review_id}")
async def review_page(request: Request, review_id: str) -> HTMLResponse:
    visitor = Visitor(request, "review")
    return await _review(visitor, review_id)


async def _review(
    visitor: Visitor, review_id: str, *, form: Mapping[str, Any] | None = None, problem: str = "", status: int = 200
) -> HTMLResponse:
    request = visitor.request
    try:
        found = await read_store(request, lambda _: _queue(request).get(review_id))
    except ReviewError as error:
        raise Problem(404, "no_such_review", str(error)) from None
    package = found.package
    first = {"text": package.output if package else "", "reviewer": visitor.session.get("reviewer", "")}
    typed = {**dict.fromkeys(("verdict", "note"), ""), **first, **(form or {})}
    return visitor.page(
        "review.html",
        status=status,
        item=found.item._asdict(),
        package=package.model_dump(mode="json") if package else None,
        answer=views.answer_of(package) if package else "",
        pieces=views.review_pieces(package) if package else [],
        given={**typed, "text": escape(str(typed["text"]))},  # to be edited: not made visible
        note=found.note or "",
        edited=found.edited or "",
        events=[event._asdict() for event in found.events],
        problem=problem,
        about=ABOUT,
    )


@router.post("/review/{review_id}")
async def decide(request: Request, review_id: str) -> Response:
    visitor = Visitor(request, "review")
    form = await visitor.form()
    verdict, version = str(form.get("verdict", "")), str(form.get("version", ""))
    reviewer = visitor.name or str(form.get("reviewer", "")).strip()
    text = str(form.get("text", "")).replace("\r\n", "\n")
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        raise Problem(400, "unreadable", "the form does not name the version that was shown")

    def stored(_: Any) -> None:
        queue = _queue(request)
        package = queue.get(review_id).package if verdict == "approved" and text else None
        if package is not None and text != package.output.replace("\r\n", "\n"):
            raise ReviewError("the text was changed; choose Edit to send the new one, or load the page again")
        note = str(form.get("note", "")) or None
        new = text if verdict == "edited" else None
        queue.decide(review_id, verdict, reviewer=reviewer, text=new, note=note, version=int(version))

    try:
        await read_store(request, stored)
    except ReviewError as error:
        status = 409 if isinstance(error, ReviewConflictError) else 422
        return await _review(visitor, review_id, form=form, problem=str(error), status=status)
    log.info("review %s by key %s", verdict, visitor.name or "local")
    visitor.session["reviewer"] = reviewer  # asked for once
    return RedirectResponse(f"/review?said={verdict}", status_code=303)


def _queue(request: Request) -> Any:
    from evidencerails.operations.review.queue import ReviewQueue

    return ReviewQueue(request.app.state.guard.store)


async def problem_page(request: Request, problem: Problem) -> Response:
    """A failure for people; a login where that is what is missing."""
    if problem.status_code == 303:
        return RedirectResponse("/login", status_code=303)
    words = {"message": problem.message, "code": problem.code}
    return Visitor(request).page("problem.html", status=problem.status_code, **words)
