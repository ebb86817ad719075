"""As much of a Bot API server as these tests need: it gives updates out, and remembers what it was told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "123456:" + "a" * 35
LONG_POLL_S = 0.2
LOOK_S = 0.01
"""How often the server looks whether it is to end."""


class Telegram(ThreadingHTTPServer):
    """Use it as a context; meanwhile it answers at `url`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.floods_s = 0
        """How long the next message has to wait."""
        self.refuses = ""
        """Why no message is taken; empty: they are."""
        self.webhook = ""
        self._updates: list[dict[str, Any]] = []
        self._changed = threading.Condition()

    def __enter__(self) -> "Telegram":
        threading.Thread(target=self.serve_forever, args=(LOOK_S,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def write(self, text: str, chat_id: int = 5) -> None:
        """Somebody writes to the bot."""
        with self._changed:
            message = {"message_id": 1, "date": 0, "chat": {"id": chat_id, "type": "private"}, "text": text}
            self._updates.append({"update_id": 1 + len(self._updates), "message": message})
            self._changed.notify_all()

    def sent(self) -> list[tuple[int, str]]:
        """The messages that arrived: chats and texts."""
        return [(said["chat_id"], said["text"]) for method, said in self.calls if method == "sendMessage"]

    def confirmed(self) -> int:
        """The highest update that the bot said it is done with; 0: none."""
        return max((said.get("offset", 1) - 1 for method, said in self.calls if method == "getUpdates"), default=0)

    def wait_for_sent(self, count: int) -> list[tuple[int, str]]:
        """Return the messages when there are so many."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.sent()) >= count, timeout=10), self.calls
            return self.sent()

    def answer(self, method: str, said: dict[str, Any]) -> dict[str, Any]:
        """What the server says to a call."""
        with self._changed:
            if method == "sendMessage" and self.floods_s:
                parameters, self.floods_s = {"retry_after": self.floods_s}, 0
                return {"ok": False, "error_code": 429, "description": "Too Many Requests", "parameters": parameters}
            if method == "sendMessage" and self.refuses:
                return {"ok": False, "error_code": 400, "description": self.refuses}
            self.calls.append((method, said))
            self._changed.notify_all()
            return {"ok": True, "result": self._result(method, said)}

    def _result(self, method: str, said: dict[str, Any]) -> object:
        if method == "getUpdates":
            wanted = [update for update in self._updates if update["update_id"] >= said.get("offset", 0)]
            if not wanted and said["timeout"]:
                self._changed.wait(LONG_POLL_S)
            return wanted
        results = {"getMe": {"id": 123456, "username": "our_bot"}, "getWebhookInfo": {"url": self.webhook}}
        return results.get(method, {"message_id": 1})


class _Request(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert isinstance(self.server, Telegram)
        body = json.dumps(self.server.answer(self.path.rpartition("/")[2], said)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quietly."""
