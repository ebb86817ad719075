"""The stand-in in a process of its own, as a context that turns it over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.fakes.bot_api.answers import Refusal
from tests.fakes.bot_api.faults import Fault
from tests.fakes.bot_api.gate import LIMIT_S
from tests.fakes.bot_api.samples import text_message
from tests.fakes.bot_api.transcripts import Call, Poll, Send
from tests.fakes.bot_api.webhooks import Pushed

ROOT = Path(__file__).resolve().parents[3]


class BotApiProcess:
    """Speaks of a stand-in elsewhere as `World` speaks of one here, in the same words."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fakes.bot_api", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None, "the output was asked for"
        said = json.loads(self._process.stdout.readline())
        self.token: str = said["token"]
        self.port: int = said["port"]
        self.root_url = f"http://127.0.0.1:{self.port}"
        self._http = httpx.Client(base_url=self.root_url, timeout=LIMIT_S + 5)

    def push(self, update: Mapping[str, Any]) -> int | None:
        update_id: int | None = self._do("push", update=update)
        return update_id

    def push_text(self, text: str, chat_id: int = 5, sender_id: int = 5, thread_id: int | None = None) -> int:
        update_id = self.push(text_message(text, chat_id, sender_id, thread_id))
        assert update_id is not None, "the bot does not want messages"
        return update_id

    def advance(self, by_s: float) -> None:
        self._do("advance", by_s=by_s)

    def restart_ids(self, at: int) -> None:
        self._do("restart-ids", at=at)

    def revoke(self) -> None:
        self._do("revoke")

    def pace(self, *, is_on: bool) -> None:
        self._do("pace", is_on=is_on)

    def arm(self, method: str, fault: Fault, times: int | None = 1) -> None:
        self._do("arm", method=method, kind=type(fault).__name__, fields=asdict(fault), times=times)

    def lift(self, method: str | None = None) -> None:
        self._do("lift", method=method)

    def release(self) -> None:
        self._do("release")

    def refuse(self, chat_id: int | str, refusal: Refusal, times: int | None = None) -> None:
        """A chat refuses; see `Chat.refuses`."""
        self._do("refuse", chat_id=chat_id, refusal=asdict(refusal), times=times)

    def accept(self, chat_id: int | str) -> None:
        self._do("accept", chat_id=chat_id)

    def open_topic(self, chat_id: int | str, thread_id: int) -> None:
        self._do("open-topic", chat_id=chat_id, thread_id=thread_id)

    def deliver_webhooks(self) -> list[Pushed]:
        return [Pushed(**pushed) for pushed in self._do("deliver-webhooks")]

    def wait_for_calls(self, method: str, count: int = 1) -> None:
        self._do("wait-for-calls", method=method, count=count)

    def wait_for_poll(self, offset: int | None = None) -> None:
        self._do("wait-for-poll", offset=offset)

    def forget_transcripts(self) -> None:
        self._do("forget-transcripts")

    @property
    def calls(self) -> list[Call]:
        return [Call(**call) for call in self._kept("calls")]

    @property
    def polls(self) -> list[Poll]:
        return [_poll(poll) for poll in self._kept("polls")]

    @property
    def sends(self) -> list[Send]:
        return [Send(**send) for send in self._kept("sends")]

    @property
    def confirmed_ids(self) -> list[int]:
        return list(self._kept("confirmed_ids"))

    @property
    def unconfirmed_ids(self) -> list[int]:
        return list(self._kept("unconfirmed_ids"))

    @property
    def highest_offset(self) -> int | None:
        offset: int | None = self._kept("highest_offset")
        return offset

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """End the process; its exit code, also when it has ended already."""
        self._process.send_signal(by)
        return self._process.wait(LIMIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()
        assert self.end() == 0, "the stand-in did not end well"
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _do(self, verb: str, **asked: Any) -> Any:
        answer = self._http.post(f"/stand-in/{verb}", json=asked)
        answer.raise_for_status()
        return answer.json()["result"]

    def _kept(self, name: str) -> Any:
        return self._do("transcripts")[name]


def _poll(kept: Mapping[str, Any]) -> Poll:
    kinds = kept["allowed_updates"]
    lists = {"allowed_updates": kinds and tuple(kinds), "update_ids": tuple(kept["update_ids"])}
    return Poll(**{**kept, **lists})
