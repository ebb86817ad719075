"""A stand-in of the Messages API on loopback: answers every request with one short streamed text, and remembers it."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Reply = Callable[[dict], list[dict]]
"""From a request's body to the content blocks of the answer."""


_numbers = itertools.count(1)


def text(words: str) -> list[dict]:
    """An answer of one text block."""
    return [{"type": "text", "text": words}]


def tool(name: str, arguments: dict) -> list[dict]:
    """An answer that calls one tool."""
    return [{"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": name, "input": arguments}]


def new_blocks(body: dict) -> list[dict]:
    """What came from the client's side since the model's last answer: the prompt, a tool's result, reminders."""
    blocks: list[dict] = []
    for entry in body["messages"]:
        content = entry["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [] if entry["role"] == "assistant" else blocks + parts
    return blocks


class MessagesApi:
    """The running stand-in; `reply` decides each answer, on its own thread, and may block."""

    def __init__(self, reply: Reply) -> None:
        self.bodies: list[dict] = []
        self.reply = reply
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self._empty(200)

            def do_GET(self) -> None:
                self._empty(404)

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                    self._empty(404)
                    return
                body = json.loads(raw)
                api.bodies.append(body)
                self._stream(body, api.reply(body))

            def _stream(self, body: dict, blocks: list[dict]) -> None:
                if not body.get("stream"):
                    self._json(message(body, blocks))
                    return
                self.close_connection = True
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.send_header("Connection", "close")
                    self.end_headers()
                    for event in events(body, blocks):
                        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                    self.wfile.flush()
                except OSError:
                    pass  # the client cancelled and left

            def _json(self, content: dict) -> None:
                raw = json.dumps(content).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def _empty(self, status: int) -> None:
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def message(body: dict, blocks: list[dict]) -> dict:
    """A whole answer, as it stands where the client does not stream."""
    return {
        "id": f"msg_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "stand-in"),
        "content": blocks,
        "stop_reason": "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 3},
    }


def events(body: dict, blocks: list[dict]) -> list[dict]:
    """The documented event stream of one answer."""
    whole = message(body, blocks)
    stream: list[dict] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        stream += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [
        *stream,
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]
