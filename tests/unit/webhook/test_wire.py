"""What the pushed road is served by."""

from __future__ import annotations

import asyncio
import http.client
import socket
import threading

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from webhook.wire import server_config

LIMIT_S = 20.0


async def _loop_of(_: Request) -> PlainTextResponse:
    return PlainTextResponse(type(asyncio.get_running_loop()).__module__)


def test_requests_are_served_on_uvloop() -> None:
    app = FastAPI()
    app.add_route("/loop", _loop_of)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(server_config(app, lambda _: None))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", listener.getsockname()[1], timeout=LIMIT_S)
        try:
            connection.request("GET", "/loop")
            loop = connection.getresponse().read()
        finally:
            connection.close()
            server.should_exit = True
            thread.join(LIMIT_S)
    assert loop == b"uvloop"


def test_requests_are_read_by_httptools() -> None:
    config = server_config(FastAPI(), lambda _: None)
    config.load()
    assert issubclass(config.http_protocol_class, HttpToolsProtocol)
