"""The dashboard: pages made on the server, without a script, for people who may see what their API key may."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException

from groundrails.errors import ReviewConflictError, ReviewError
from groundrails.exchange import Exchange
from groundrails.service import views
from groundrails.service.access import Caller
from groundrails.service.api import read_store
from groundrails.service.checking import unless_gone
from groundrails.service.keys import PERMISSIONS, Permission
from groundrails.service.problems import Problem
from groundrails.service.sessions import COOKIE, Sessions
from groundrails.service.templating import render

log = logging.getLogger("groundrails.service")

router = APIRouter(include_in_schema=False)
STATIC = {"style.css": "text/css; charset=utf-8"}
"""Everything that is served from the package; a name that is not here is not looked for."""
PAGE_ROWS = 50
DAYS = (1, 7, 30, 90)
MAX_FORM_FIELDS = 64
FORM_TEXTS = ("response", "evidence", "prompt")


class Visitor:
    """Who looks at a page: a session, the permissions of its key, and the token for its forms."""

    def __init__(self, request: Request) -> None:
        state = request.app.state
        self.sessions: Sessions = state.sessions
        self.cookie = request.cookies.get(COOKIE, "")
        self.has_keys = bool(state.keys)
        key = self.sessions.key_of(self.cookie) if self.has_keys else None
        self.is_new = not self.has_keys and not self.sessions.is_valid(self.cookie)
        if self.is_new:
            self.cookie = self.sessions.cookie_of(None)
        self.caller: Caller | None = None
        if not self.has_keys:
            self.caller = Caller("local", PERMISSIONS["admin"], is_local=True)
        elif key is not None:
            self.caller = Caller(key.name, PERMISSIONS[key.role])
        state.rate.take(f"page {key.name if key else request.client.host if request.client else '-'}")

    def require(self, permission: Permission) -> Caller:
        """The caller, if it may.

        Raises:
            Problem: 303 to the login page; 403 the key's role does not allow it.
        """
        if self.caller is None:
            raise Problem(303, "login", "log in first", headers={"Location": "/login"})
        if permission not in self.caller.permissions:
            raise Problem(403, "forbidden", f"the API key {self.caller.name!r} may not {permission}")
        return self.caller

    def page(self, request: Request, name: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A rendered page, with the session's cookie if it is new."""
        text = render(
            name,
            here=request.url.path,
            caller=self.caller,
            has_keys=self.has_keys,
            token=self.sessions.form_token(self.cookie),
            **values,
        )
        response = HTMLResponse(text, status_code=status)
        if self.is_new:
            set_cookie(request, response, self.cookie)
        return response


def set_cookie(request: Request, response: Response, cookie: str) -> None:
    """Hand the session to the browser: not to scripts, and not along with requests from other sites."""
    is_https = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    lasts_s = request.app.state.sessions.lasts_s
    response.set_cookie(COOKIE, cookie, max_age=lasts_s, httponly=True, samesite="strict", secure=is_https)


async def form_of(request: Request, visitor: Visitor) -> dict[str, Any]:
    """The fields of a form that this service has made for this session.

    Raises:
        Problem: 403 it comes from elsewhere; 400 it cannot be read.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem(403, "foreign_form", "this form was sent by another site")
    try:
        form = await request.form(max_files=1, max_fields=MAX_FORM_FIELDS, max_part_size=2**21)
    except (MultiPartException, ValueError) as error:
        raise Problem(400, "unreadable", f"the form cannot be read: {error}") from None
    token = form.get("token")
    if not isinstance(token, str) or not visitor.sessions.is_form_token(visitor.cookie, token):
        raise Problem(403, "foreign_form", "this form is not of this session; load the page again")
    return dict(form)


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """A style sheet of the package."""
    if name not in STATIC:
        raise Problem(404, "not_found", "there is no such file")
    text = (files("groundrails.service") / "static" / name).read_bytes()
    return Response(text, media_type=STATIC[name], headers={"Cache-Control": "public, max-age=3600"})


@router.get("/login")
async def login_page(request: Request) -> HTMLResponse:
    """Where a key is asked for."""
    return Visitor(request).page(request, "login.html", problem="")


@router.post("/login")
async def login(request: Request) -> Response:
    """Exchange a key for a session. No token: there is no session yet, and a forged login gains nothing."""
    visitor = Visitor(request)
    form = await request.form(max_files=0, max_fields=4)
    key = request.app.state.keys.find(str(form.get("key", "")))
    if key is None:
        return visitor.page(request, "login.html", status=401, problem="This API key is not known.")
    response = RedirectResponse("/", status_code=303)
    set_cookie(request, response, visitor.sessions.cookie_of(key))
    return response


@router.post("/logout")
async def logout(request: Request) -> Response:
    """Forget the session in this browser."""
    await form_of(request, Visitor(request))
    response = RedirectResponse("/login", status_code=303)
    response.delete_cookie(COOKIE)
    return response


@router.get("/")
async def check_page(request: Request) -> HTMLResponse:
    """The form to check an answer."""
    visitor = Visitor(request)
    visitor.require("check" if not visitor.caller or "check" in visitor.caller.permissions else "read")
    return visitor.page(request, "check.html", given=dict.fromkeys(FORM_TEXTS, ""), problem="", **_no_report())


def _no_report() -> dict[str, Any]:
    return {"report": None, "pieces": [], "about": views.ABOUT}


@router.post("/")
async def checked_page(request: Request) -> HTMLResponse:
    """The form with the marked answer below it."""
    visitor = Visitor(request)
    visitor.require("check")
    form = await form_of(request, visitor)
    given = {name: str(form.get(name, "")) for name in FORM_TEXTS}
    try:
        given["evidence"] += await _uploaded(form.get("file"))
        if not given["response"].strip():
            raise Problem(422, "empty", "give an answer to check")
        exchange = Exchange.of(given["response"], evidence=given["evidence"] or None, prompt=given["prompt"] or None)
        plain = await unless_gone(request, request.app.state.checker.one(exchange))
    except Problem as problem:
        return visitor.page(
            request, "check.html", status=problem.status_code, given=given, problem=problem.message, **_no_report()
        )
    report = views.report_of(plain)
    shown = {"report": views.harmless(plain), "pieces": views.pieces(report, given["response"]), "about": views.ABOUT}
    return visitor.page(request, "check.html", given=given, problem="", **shown)


async def _uploaded(file: Any) -> str:
    if not isinstance(file, UploadFile) or not file.filename:
        return ""
    data = await file.read()
    try:
        return "\n\n" + data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Problem(422, "not_utf8", "the file is not UTF-8 text; give its text instead") from None


@router.get("/history")
async def history_page(request: Request) -> HTMLResponse:
    """Kept reports, the newest first."""
    from groundrails.store import queries

    visitor = Visitor(request)
    visitor.require("read")
    asked = {name: request.query_params.get(name, "") for name in ("status", "flow", "agent", "model")}
    status, flow, agent, model = (value or None for value in asked.values())
    where = queries.Filter(status=status, flow=flow, agent=agent, model=model)
    before = request.query_params.get("before", "")
    cursor = int(before) if before.isascii() and before.isdigit() and len(before) < 18 else None
    rows = await _read(request, lambda engine: queries.history(engine, where, limit=PAGE_ROWS, before_seq=cursor))
    following = rows[-1].seq if len(rows) == PAGE_ROWS else None
    shown = [views.harmless(row._asdict()) for row in rows]
    return visitor.page(request, "history.html", rows=shown, asked=views.harmless(asked), following=following)


@router.get("/reports/{report_id}")
async def report_page(request: Request, report_id: str) -> HTMLResponse:
    """One kept report with its answer marked."""
    from groundrails.store import queries

    visitor = Visitor(request)
    visitor.require("read")
    kept = await _read(request, lambda engine: queries.report(engine, report_id))
    if kept is None:
        raise Problem(404, "no_such_report", "There is no report of this id; it may have been deleted by its age.")
    plain, answer = kept.body["report"], kept.body.get("response")
    is_whole = kept.redaction == "off" and isinstance(answer, str)
    return visitor.page(
        request,
        "report.html",
        report=views.harmless(plain),
        pieces=views.pieces(views.report_of(plain), answer) if is_whole else [],
        about=views.ABOUT,
        summary=views.harmless(kept.summary._asdict()),
        question=views.harmless(kept.body.get("question") or ""),
        redaction=kept.redaction,
    )


@router.get("/trends")
async def trends_page(request: Request) -> HTMLResponse:
    """Rates over time, kinds of findings, scores, latency and cost, the worst answers."""
    visitor = Visitor(request)
    visitor.require("read")
    from groundrails.service.trends import trends

    asked = request.query_params.get("days", "7")
    days = int(asked) if asked in map(str, DAYS) else 7
    guard = request.app.state.guard
    shown = await _read(request, lambda _: trends(guard.store, guard.config, time.time() - days * 86_400))
    return visitor.page(request, "trends.html", days=days, choices=DAYS, **shown)


@router.get("/review")
async def queue_page(request: Request) -> HTMLResponse:
    """What waits for a person."""
    visitor = Visitor(request)
    visitor.require("review")
    items = await _read(request, lambda _: _queue(request).items(limit=PAGE_ROWS))
    shown = [{**views.harmless(item._asdict()), "is_overdue": item.is_overdue(time.time())} for item in items]
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
        found = await _read(request, lambda _: _queue(request).get(review_id))
    except ReviewError as error:
        raise Problem(404, "no_such_review", str(error)) from None
    package = found.package.model_dump(mode="json") if found.package else None
    return visitor.page(
        request,
        "review.html",
        status=status,
        item=views.harmless(found.item._asdict()),
        package=views.harmless(package),
        raw_output=found.package.output if found.package else "",
        note=views.harmless(found.note or ""),
        edited=views.harmless(found.edited or ""),
        events=[views.harmless(event._asdict()) for event in found.events],
        problem=views.harmless(problem),
        about=views.ABOUT,
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
        raise Problem(400, "unreadable", "the form does not name the version that was looked at")
    try:
        await _read(
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
    from groundrails.review.queue import ReviewQueue

    return ReviewQueue(request.app.state.guard.store)


async def _read(request: Request, read: Callable[[Any], Any]) -> Any:
    return await read_store(request, read)


async def problem_page(request: Request, problem: Problem) -> Response:
    """A failure for people; a login where that is what is missing."""
    if problem.status_code == 303:
        return RedirectResponse("/login", status_code=303)
    return Visitor(request).page(
        request, "problem.html", status=problem.status_code, message=views.harmless(problem.message), code=problem.code
    )
