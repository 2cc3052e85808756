"""The routes under `/v1`, and those for probes and Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute

from evidencerails.errors import ReviewError, StoreError
from evidencerails.exchange import Exchange
from evidencerails.operations.review.package import RELEASABLE
from evidencerails.report import Decision, Status
from evidencerails.service.access import may
from evidencerails.service.bodies import BatchBody, CheckBody, parsed
from evidencerails.service.checking import Checker, unless_gone
from evidencerails.service.problems import Problem
from evidencerails.version import __version__

T = TypeVar("T")

LARGE_BYTES = 64 * 1024
"""Bodies above it are parsed in a thread."""
MAX_SEQ = 2**63 - 1
"""Of a row; databases hold no larger number."""
FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"description": "Not UTF-8, not JSON, or nested too deep."},
    401: {"description": "No API key, or an unknown one."},
    403: {"description": "The key's role does not allow it."},
    413: {"description": "The body is too large."},
    422: {"description": "A field is missing, unknown or has a shape that cannot be read."},
    429: {"description": "Too much at once; `Retry-After` says when to try again."},
}
RELEASED: dict[int | str, dict[str, Any]] = {
    404: {"description": "No such review."},
    409: {"description": "`review_pending`, `review_rejected` or `review_expired`: nobody let it through."},
    410: {"description": "The text was deleted, or is not the one that was decided on."},
}
EVENT = {"example": 'event: check\ndata: {"name": "claims", "status": "hallucinated"}\n\n'}
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "`check` as each check ends; `report` or `error`.", "content": {"text/event-stream": EVENT}}
}


class _StrictRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        return await asyncio.to_thread(parsed, body) if len(body) > LARGE_BYTES else parsed(body)


class StrictRoute(APIRoute):
    """A route with requests whose JSON is read by our parser, and no other content than JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if request.method == "POST" and kind != "application/json":
                raise Problem(415, "not_json", f"the content type is {kind!r}; send application/json")
            return await handle(_StrictRequest(request.scope, request.receive))

        return strict


router = APIRouter(route_class=StrictRoute, responses=FAILURES)
probes = APIRouter()


def _checker(request: Request) -> Checker:
    checker: Checker = request.app.state.checker
    return checker


def _exchange(request: Request, body: CheckBody) -> Exchange:
    return body.exchange(request.app.state.guard.config.service.max_items)


@router.post("/v1/check", tags=["check"], summary="Check one answer", dependencies=[may("check")])
async def check(request: Request, body: CheckBody) -> JSONResponse:
    """The report on one answer: status, score, decision, claims with spans and evidence, findings."""
    return JSONResponse(await unless_gone(request, _checker(request).one(_exchange(request, body))))


@router.post("/v1/batch", tags=["check"], summary="Check several answers", dependencies=[may("check")])
async def batch(request: Request, body: BatchBody) -> JSONResponse:
    """Reports in the order of the items; an item that cannot be read has an `error` in place of its `report`."""
    return JSONResponse(await unless_gone(request, _checker(request).batch(body.items)))


@router.post(
    "/v1/stream", tags=["check"], summary="Check one answer, with an event as each check ends", responses=EVENTS,
    dependencies=[may("check")],
)  # fmt: skip
async def stream(request: Request, body: CheckBody) -> StreamingResponse:
    """Server-sent events."""
    events = _checker(request).stream(_exchange(request, body))
    first = await anext(events)  # so that "too busy" is still a status, not an event

    async def lines() -> Any:
        yield first
        async for line in events:
            yield line

    return StreamingResponse(lines(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@router.get("/v1/history", tags=["history"], summary="Kept reports, the newest first", dependencies=[may("read")])
async def history(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    before: Annotated[int | None, Query(ge=1, le=MAX_SEQ, description="`next` of the page before")] = None,
    status: Status | None = None,
    decision: Decision | None = None,
    flow: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    since: Annotated[float | None, Query(description="Seconds since 1970", allow_inf_nan=False)] = None,
    until: Annotated[float | None, Query(description="Seconds since 1970", allow_inf_nan=False)] = None,
    min_score: Annotated[float | None, Query(ge=0, le=1)] = None,
) -> JSONResponse:
    """A page of summaries, without texts; `next` is the `before` of the following page."""
    from evidencerails.operations.store import queries

    where = queries.Filter(
        status=status, decision=decision, flow=flow, agent=agent, model=model, since=since, until=until,
        min_score=min_score,
    )  # fmt: skip
    rows = await read_store(request, lambda engine: queries.history(engine, where, limit=limit, before_seq=before))
    following = rows[-1].seq if len(rows) == limit else None
    return JSONResponse({"reports": [row._asdict() for row in rows], "next": following})


@router.get("/v1/reports/{report_id}", tags=["history"], summary="One kept report", dependencies=[may("read")])
async def kept_report(request: Request, report_id: str) -> JSONResponse:
    """The report with what the store's redaction left of its texts."""
    from evidencerails.operations.store import queries

    kept = await read_store(request, lambda engine: queries.report(engine, report_id))
    if kept is None:
        raise Problem(404, "no_such_report", "there is no report of this id; it may have been deleted by its age")
    return JSONResponse({**kept.summary._asdict(), "redaction": kept.redaction, **kept.body})


@router.get(
    "/v1/reviews/{review_id}/released", tags=["review"], summary="The text that a reviewer let through",
    dependencies=[may("check", "review")], responses=RELEASED,
)  # fmt: skip
async def released(request: Request, review_id: str) -> JSONResponse:
    """The text of an approved or edited review, `report.review.id`, and who let it through; it then counts as released.

    It can be fetched again: `is_first` is false then.
    """

    def read(_: Any) -> Any:
        from evidencerails.operations.review.queue import ReviewQueue

        queue = ReviewQueue(request.app.state.guard.store)
        item = queue.item(review_id)
        if item is None:
            raise Problem(404, "no_such_review", "there is no review of this id; it may have been deleted by its age")
        if item.state not in RELEASABLE:
            raise Problem(409, f"review_{item.state}", f"the review is {item.state}; nobody has let its text through")
        try:
            return queue.release(review_id)
        except ReviewError as error:
            raise Problem(410, "text_gone", str(error)) from None

    return JSONResponse((await read_store(request, read))._asdict())


async def read_store(request: Request, read: Callable[[Any], T]) -> T:
    """What the store says, read off the event loop; 404 if the service keeps no reports, 503 if they cannot be read."""
    store = request.app.state.guard.store
    if store is None:
        raise Problem(404, "no_store", "this service keeps no reports; set `store` in its settings")
    try:
        return await asyncio.to_thread(lambda: read(store.engine))
    except StoreError as error:
        raise Problem(503, "store_unavailable", str(error), headers={"Retry-After": "5"}) from None


@probes.get("/healthz", tags=["probes"], summary="The process lives")
async def healthz() -> JSONResponse:
    """Always 200: a service that is only busy or not ready must not be killed."""
    return JSONResponse({"status": "ok", "version": __version__})


@probes.get("/readyz", tags=["probes"], summary="The model is loaded")
async def readyz(request: Request) -> JSONResponse:
    """200 once checks can run; 503 with the reason before that and while the service stops.

    `store` is there while reports cannot be written, or once some were lost: checks go on meanwhile.
    """
    reason = "the service stops" if request.app.state.is_stopping else _checker(request).not_ready
    body = {"status": "not_ready" if reason else "ready", "reason": reason or None, "store": _store_trouble(request)}
    return JSONResponse({k: v for k, v in body.items() if v is not None}, status_code=503 if reason else 200)


def _store_trouble(request: Request) -> dict[str, Any] | None:
    """What goes wrong with keeping reports, in numbers: anybody may ask; None if all is well."""
    store = request.app.state.guard.store
    if store is None or not (store.status.error or store.status.lost):
        return None
    status = store.status
    return {"is_written": status.error is None, "waiting_in_memory": status.waiting, "lost": status.lost}


@probes.get("/metrics", tags=["probes"], summary="Metrics for Prometheus", dependencies=[may("read")])
async def metrics(request: Request) -> Response:
    """Prometheus text format."""
    from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

    return Response(generate_latest(request.app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)
