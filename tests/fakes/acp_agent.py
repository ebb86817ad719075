"""A small agent that speaks ACP by hand, so that it can misbehave: a prompt's first line is a JSON list of steps."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

CONVERSATION = "conversation-1"
FOLDER = Path(os.environ["FAKE_AGENT_FOLDER"])
FLAGS = frozenset(sys.argv[1:])


class Cancelled(Exception):
    """The client cancelled the turn."""


class FakeAgent:
    def __init__(self) -> None:
        self.inbox: queue.Queue[dict] = queue.Queue()
        self.next_id = 1000
        self.waiting: list[dict] = []

    def send(self, **message: object) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def update(self, kind: str, /, **fields: object) -> None:
        params = {"sessionId": CONVERSATION, "update": {"sessionUpdate": kind, **fields}}
        self.send(method="session/update", params=params)

    def say(self, text: str, kind: str = "agent_message_chunk") -> None:
        self.update(kind, content={"type": "text", "text": text})

    def read(self) -> None:
        for line in sys.stdin:
            self.inbox.put(json.loads(line))
        os._exit(0)

    def serve(self) -> None:
        if "--die-at-start" in FLAGS:
            sys.stderr.write("no licence\n")
            sys.exit(3)
        threading.Thread(target=self.read, daemon=True).start()
        while True:
            message = self.waiting.pop(0) if self.waiting else self.inbox.get()
            if "id" in message and "method" in message:
                self.answer(message)

    def answer(self, message: dict) -> None:
        method, params = message["method"], message["params"]
        if method == "initialize" and "--never-initialize" not in FLAGS:
            capabilities = {"loadSession": "--no-load" not in FLAGS}
            info = {"name": "fake", "version": "1"}
            result = {"protocolVersion": 1, "agentCapabilities": capabilities, "agentInfo": info}
            self.send(id=message["id"], result=result)
        elif method == "session/new":
            if "--login" in FLAGS:
                self.send(id=message["id"], error={"code": -32000, "message": "Authentication required"})
                return
            self.send(id=message["id"], result={"sessionId": CONVERSATION})
            self.update("available_commands_update", availableCommands=[])
        elif method == "session/load":
            self.load(message["id"])
        elif method == "session/prompt":
            self.turn(message["id"], params["prompt"][0]["text"])

    def load(self, request_id: int) -> None:
        history = FOLDER / "history.jsonl"
        if "--forget" in FLAGS or not history.exists():
            self.send(id=request_id, error={"code": -32002, "message": "Resource not found"})
            return
        for line in history.read_text().splitlines():
            text = json.loads(line)
            middle = len(text) // 2
            self.say(text[:middle], "user_message_chunk")
            self.say(text[middle:], "user_message_chunk")
            self.say("earlier answer")
        self.send(id=request_id, result={})

    def turn(self, request_id: int, prompt: str) -> None:
        if "--forgetful" not in FLAGS:
            with (FOLDER / "history.jsonl").open("a") as history:
                history.write(json.dumps(prompt) + "\n")
        try:
            for name, *arguments in json.loads(prompt.splitlines()[0]):
                if name == "fail":
                    self.send(id=request_id, error={"code": arguments[0], "message": arguments[1]})
                    return
                getattr(self, f"do_{name}")(*arguments)
        except Cancelled:
            self.send(id=request_id, result={"stopReason": "cancelled"})
            return
        usage = {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12}
        self.send(id=request_id, result={"stopReason": "end_turn", "usage": usage})
        if "--leave" in FLAGS:
            os._exit(0)

    def do_say(self, text: str) -> None:
        self.say(text)

    def do_think(self, text: str) -> None:
        self.say(text, "agent_thought_chunk")

    def do_tool(self, call_id: str, kind: str) -> None:
        self.update("tool_call", toolCallId=call_id, title=f"tool {call_id}", kind=kind)

    def do_progress(self, call_id: str) -> None:
        self.update("tool_call_update", toolCallId=call_id, status="completed")

    def do_plan(self) -> None:
        self.update("plan", entries=[])

    def do_usage(self) -> None:
        self.update("usage_update", used=100, size=1000, cost={"amount": 0.25, "currency": "USD"})

    def do_noise(self) -> None:
        self.update("available_commands_update", availableCommands=[])
        self.update("current_mode_update", currentModeId="default")
        self.update("session_info_update", title="a title")

    def do_clutter(self) -> None:
        for line in ("not json", "[]", "7", '{"method": 1}', '{"jsonrpc": "2.0", "method": "session/update"}'):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def do_ask(self, kind: str, raw_input: dict, paths: list[str]) -> None:
        self.next_id += 1
        call = {"toolCallId": "asked", "title": "asks", "kind": kind, "rawInput": raw_input}
        call["locations"] = [{"path": path} for path in paths]
        options = [
            {"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        params = {"sessionId": CONVERSATION, "toolCall": call, "options": options}
        self.send(id=self.next_id, method="session/request_permission", params=params)
        while (message := self.next_message()).get("id") != self.next_id:
            self.waiting.append(message)
        self.say(json.dumps(message["result"]["outcome"], sort_keys=True))

    def do_wait(self) -> None:
        """Until cancelled."""
        while True:
            self.waiting.append(self.next_message())

    def do_await_file(self, path: str) -> None:
        while not Path(path).exists():
            time.sleep(0.01)

    def do_hang(self) -> None:
        threading.Event().wait()

    def do_die(self, code: int) -> None:
        os._exit(code)

    def do_spawn(self, pid_path: str) -> None:
        """A child that leaves our process group and session, and ignores the wish to end."""
        program = (
            "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
        )
        child = subprocess.Popen([sys.executable, "-c", program], start_new_session=True, stdout=subprocess.PIPE)
        child.stdout.readline()
        Path(pid_path).write_text(str(child.pid))

    def do_flood(self, count: int) -> None:
        for _ in range(count):
            self.say("x" * 100)

    def do_tools(self, count: int) -> None:
        for number in range(count):
            self.do_tool(f"tool-{number}", "read")

    def do_long_line(self, megabytes: int) -> None:
        for _ in range(megabytes):
            sys.stdout.write("x" * 1024 * 1024)
        sys.stdout.flush()
        threading.Event().wait()

    def do_close(self) -> None:
        os.close(1)
        threading.Event().wait()

    def next_message(self) -> dict:
        message = self.inbox.get()
        if message.get("method") == "session/cancel":
            raise Cancelled
        return message


if __name__ == "__main__":
    FakeAgent().serve()
