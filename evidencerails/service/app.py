"""The application: one guard, its routes, and what all requests have in common."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from evidencerails.errors import extra_for
from evidencerails.guard import Guard
from evidencerails.operations.telemetry.logs import request_id
from evidencerails.version import __version__

if TYPE_CHECKING:
    from fastapi import FastAPI

DESCRIPTION = "Checks answers of language models for hallucinations. Every report says what, where and why."


def create_app(guard: Guard) -> FastAPI:
    """The service around a guard; its `service` settings hold. The guard is closed when the service stops."""
    with extra_for("the service"):
        from fastapi import FastAPI
        from starlette.middleware.sessions import SessionMiddleware

        from evidencerails.operations.telemetry.prometheus import ServiceMetrics
        from evidencerails.service import api, pages
        from evidencerails.service.access import COOKIE, session_secret
        from evidencerails.service.checking import Checker
        from evidencerails.service.keys import keys_of
        from evidencerails.service.middleware import Envelope

    settings = guard.config.service
    # No docs page: FastAPI's loads its scripts from elsewhere.
    app = FastAPI(
        title="evidencerails", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None,
        lifespan=_lifespan,
    )  # fmt: skip
    app.state.guard = guard
    app.state.metrics = ServiceMetrics()
    app.state.keys = keys_of(settings)
    app.state.checker = Checker(guard, app.state.metrics)
    app.state.is_stopping = False
    _watch(app)
    for router in (api.router, api.probes, pages.router):
        app.include_router(router)
    _answer_failures(app)
    app.add_middleware(SessionMiddleware, secret_key=session_secret(), **COOKIE)
    app.add_middleware(
        Envelope, settings=settings, needs_local_name=not app.state.keys, observe=app.state.metrics.observe_request
    )
    return app


def _watch(app: FastAPI) -> None:
    guard, checker, watch = app.state.guard, app.state.checker, app.state.metrics.watch
    watch("evidencerails_requests_under_way", "Requests waiting or at work", lambda: float(checker.gate.admitted))
    watch("evidencerails_checks_running", "Checks at work", lambda: float(checker.gate.running))
    watch("evidencerails_ready", "1 once the model is loaded", lambda: float(not checker.not_ready))
    if guard.store is not None:
        watch("evidencerails_store_lost", "Reports kept nowhere", lambda: float(guard.store.status.lost))
        watch("evidencerails_store_waiting", "Reports in memory alone", lambda: float(guard.store.status.waiting))
    if guard.config.monitoring.budget.when_exhausted is not None:
        name, meaning = "evidencerails_error_budget_exhausted", "1 while stricter settings hold"
        watch(name, meaning, lambda: float(guard.settings_in_force is not guard.config))


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    loading = asyncio.create_task(app.state.checker.load())
    try:
        yield
    finally:
        app.state.is_stopping = True
        loading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await loading
        await asyncio.to_thread(app.state.guard.close)


def _answer_failures(app: FastAPI) -> None:
    from fastapi import Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException

    from evidencerails.service.pages import problem_page
    from evidencerails.service.problems import Problem, first_problem, problem_body

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        code = getattr(error, "code", {404: "not_found", 405: "not_allowed"}.get(error.status_code, "refused"))
        if _is_for_people(request):
            return await problem_page(request, Problem(error.status_code, str(code), str(error.detail)))
        body = problem_body(str(code), str(error.detail), request_id())
        return JSONResponse(body, status_code=error.status_code, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse(problem_body("invalid", first_problem(error.errors()), request_id()), status_code=422)


def _is_for_people(request: Any) -> bool:
    """True for a browser that wants a page, anywhere but under the API."""
    is_api = request.url.path.startswith(("/v1/", "/healthz", "/readyz", "/metrics", "/openapi.json"))
    return not is_api and "text/html" in request.headers.get("accept", "")
