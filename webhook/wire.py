"""How the application is served: uvicorn's settings, and a word in the log where a request is no HTTP at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from eventlog.event import LogEvent
from eventlog.events.webhook import WebhookRejected
from webhook.refusals import Fault


def server_config(
    app: FastAPI, emit: Callable[[LogEvent], None], *, keep_alive_s: int = 30, shutdown_s: int = 10
) -> uvicorn.Config:
    """What a `uvicorn.Server` is made of; it is given the bound sockets to serve by whoever runs it.

    `keep_alive_s` is how long a connection may stand idle, `shutdown_s` how long requests under way may take once the
    server is told to end.
    """
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=_protocol(emit),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=keep_alive_s,
        timeout_graceful_shutdown=shutdown_s,
    )


def _protocol(emit: Callable[[LogEvent], None]) -> type[asyncio.Protocol]:
    class LoggingProtocol(HttpToolsProtocol):
        """Answers 400 to what it cannot read, as its base does, and says so in the log.

        Where a request is under way already, its own answer is the one that is logged.
        """

        def send_400_response(self, msg: str) -> None:
            if self.cycle is None or self.cycle.response_complete:
                emit(WebhookRejected(reason=Fault.HTTP, status=400))
            super().send_400_response(msg)

    return LoggingProtocol
