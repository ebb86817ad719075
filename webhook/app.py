"""The pushed road's HTTP face: one route that turns a signed request into a delivery, and two that tell how we are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from eventlog.event import LogEvent
from webhook.answers import json_answer
from webhook.dispatcher import Dispatcher
from webhook.intake import Intake, WebhookSettings
from webhook.refusals import Fault, Rejected

logger = logging.getLogger(__name__)


class NoSecret(Exception):
    """The pushed road has no secret to know GitHub by; there is no unsigned mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether the service does its work, as far as it can be told without waiting.

    Log lines that are held wait for a log that can be written again; they keep nothing from being ready.
    """

    store_writable: bool
    workers_up: bool
    admission_open: bool
    log_lines_held: int = 0
    log_lines_lost: int = 0

    @property
    def is_ready(self) -> bool:
        """Whether a delivery would be taken and carried out now."""
        return self.store_writable and self.workers_up and self.admission_open


def create_app(
    settings: WebhookSettings,
    dispatcher: Dispatcher,
    *,
    readiness: Callable[[], Readiness],
    admission: Callable[[], bool],
    clock: Callable[[], int],
    emit: Callable[[LogEvent], None],
    parsers: Executor,
    emit_all: Callable[[Sequence[LogEvent]], None] | None = None,
) -> FastAPI:
    """The application, to be served on one event loop. Raises NoSecret where no secret is set.

    `readiness`, `admission`, `emit` and `emit_all` (None: one by one, by `emit`) are called on the loop and must not
    block. `clock` gives the milliseconds since the epoch. `parsers` is a small pool of threads that outlives the
    application.
    """
    if not any(settings.secrets):
        raise NoSecret(
            "the webhook is enabled and has no secret: set webhook.secrets or webhook.secret_file, or webhook.enabled = false"
        )
    intake = Intake(
        settings, dispatcher, admission=admission, clock=clock, emit=emit, parsers=parsers, emit_all=emit_all
    )

    async def refuse(request: Request, fault: Exception) -> Response:
        status = fault.status_code if isinstance(fault, HTTPException) else 500
        if status == 405 and request.url.path == settings.path:
            return intake.refuse(Rejected(405, Fault.METHOD))
        return json_answer(status, {"status": "rejected"})

    async def ready(_: Request) -> Response:
        return _readiness_answer(readiness())

    app = _Application(settings.path, _PushedRoad(intake))
    app.add_exception_handler(HTTPException, refuse)
    app.add_route("/healthz", _alive, methods=["GET"])
    app.add_route("/readyz", ready, methods=["GET"])
    return app


class _Application(FastAPI):
    """FastAPI but for the pushed road's own requests, which need none of its layers and would pay for each of them."""

    def __init__(self, pushed_path: str, pushed_road: ASGIApp) -> None:
        super().__init__(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
        self._pushed_path = pushed_path
        self._pushed_road = pushed_road
        # What is no POST is told so by the routing.
        self.router.routes.append(Route(pushed_path, pushed_road, methods=["POST"]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == self._pushed_path:
            await self._pushed_road(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _PushedRoad:
    """The endpoint as an ASGI application: what Starlette wraps around a function costs a tenth of a delivery."""

    intake: Intake

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self.intake.take(scope, receive)
        except Exception:  # the boundary to the outside: whatever broke, the client gets an answer that tells nothing
            logger.exception("a request on the pushed road could not be taken")
            answer = self.intake.refuse(Rejected(500, Fault.INTERNAL))
        await answer(scope, receive, send)


async def _alive(_: Request) -> Response:
    return json_answer(200, {"status": "alive"})


def _readiness_answer(readiness: Readiness) -> Response:
    return json_answer(
        200 if readiness.is_ready else 503,
        {
            "status": "ready" if readiness.is_ready else "not-ready",
            "store_writable": readiness.store_writable,
            "workers_up": readiness.workers_up,
            "admission_open": readiness.admission_open,
            "log_lines_held": readiness.log_lines_held,
            "log_lines_lost": readiness.log_lines_lost,
        },
    )
