"""The server that the intake benchmark measures: our pushed road, or a bare handler to compare it with."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from benchmarks.deliveries import SECRET, deliveries
from eventlog.journal import Journal
from tests.fakes.dispatching import Dispatching
from webhook.app import Readiness, create_app
from webhook.intake import WebhookSettings
from webhook.wire import server_config

SWITCH_INTERVAL_S = 0.0005
OWN_ACCOUNT_ID = 99
"""Whom the service posts as; it knows that soon after its start."""
STREAMS = 4
STREAM_LINES_PER_S = 100


def main() -> None:
    """Serve `ours` or `bare` in a folder; prints the port, and ends with standard input."""
    kind, folder, is_busy = sys.argv[1], Path(sys.argv[2]), sys.argv[3] == "busy"
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    if is_busy:
        keep_busy()
    if kind == "bare":
        serve(bare())
        return
    journal = Journal(folder / "events.jsonl", time.time, "benchmark", [SECRET.decode()])
    with Dispatching(
        folder,
        own_accounts={"github.com": OWN_ACCOUNT_ID},
        clock=lambda: time.time_ns() // 1_000_000,
        emit=journal.emit,
        emit_all=journal.emit_all,
    ) as dispatching:
        serve(
            create_app(
                WebhookSettings(secrets=(SECRET,)),
                dispatching.dispatcher,
                readiness=lambda: Readiness(store_writable=True, workers_up=True, admission_open=True),
                admission=lambda: True,
                clock=dispatching.clock,
                emit=journal.emit,
                emit_all=journal.emit_all,
                parsers=ThreadPoolExecutor(2),
            )
        )


def bare() -> FastAPI:
    """The least that a webhook does: it verifies, parses and keeps ids in memory."""
    app = FastAPI()
    seen: set[str] = set()

    @app.post("/webhook/github")
    async def take(request: Request) -> JSONResponse:
        raw = await request.body()
        signature = "sha256=" + hmac.new(SECRET, raw, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signature, request.headers.get("x-hub-signature-256", "")):
            return JSONResponse({"status": "rejected"}, 401)
        payload = json.loads(raw)
        delivery_id = request.headers["x-github-delivery"]
        status = "duplicate" if delivery_id in seen else "accepted"
        seen.add(delivery_id)
        return JSONResponse({"status": status, "action": payload["action"]}, 202)

    return app


def serve(app: FastAPI) -> None:
    """Serve until standard input ends."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    server = uvicorn.Server(server_config(app, lambda _: None))

    def stop_with_input() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=stop_with_input, daemon=True).start()
    print(listening.getsockname()[1], flush=True)
    server.run([listening])


def keep_busy() -> None:
    """One thread parses documents without pause, and four read what sessions stream."""
    document = next(deliveries()).partition(b"\r\n\r\n")[2]

    def parse() -> None:
        while True:
            json.loads(document)

    threading.Thread(target=parse, daemon=True).start()
    for _ in range(STREAMS):
        threading.Thread(target=follow_stream, daemon=True).start()


def follow_stream() -> None:
    """Read the lines of one stream as they come."""
    program = (
        "import json,sys,time\n"
        f"while True: print(json.dumps({{'update': 'x' * 1000}}), flush=True); time.sleep({1 / STREAM_LINES_PER_S})"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as stream:
        assert stream.stdout is not None
        for line in stream.stdout:
            json.loads(line)


if __name__ == "__main__":
    main()
