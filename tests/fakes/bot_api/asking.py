"""A plain HTTP client for the stand-in: one connection for each call, nothing repeated, nothing interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx

from tests.fakes.bot_api.gate import LIMIT_S
from tests.fakes.bot_api.server import StandInBotApi

Said = dict[str, Any]


class Asking:
    """Calls methods of one stand-in with its token."""

    def __init__(self, bot_api: StandInBotApi, threads: ThreadPoolExecutor) -> None:
        self.url = f"{bot_api.root_url}/bot{bot_api.token}"
        self._threads = threads

    def ask(self, method: str, **values: Any) -> Said:
        """What the body says, refusal or not."""
        said: Said = self.answer(method, **values).json()
        return said

    def answer(self, method: str, **values: Any) -> httpx.Response:
        return httpx.post(f"{self.url}/{method}", json=values, timeout=LIMIT_S, trust_env=False)

    def result(self, method: str, **values: Any) -> Any:
        """Of a call that succeeds."""
        said = self.ask(method, **values)
        assert said["ok"], said
        return said["result"]

    def refusal(self, method: str, **values: Any) -> tuple[int, str]:
        """Of a call that does not."""
        said = self.ask(method, **values)
        assert not said["ok"], said
        return said["error_code"], said["description"]

    def update_ids(self, **values: Any) -> list[int]:
        return [update["update_id"] for update in self.result("getUpdates", **values)]

    def meanwhile(self, method: str, **values: Any) -> Future[Said]:
        """A call that is answered later."""
        return self._threads.submit(self.ask, method, **values)


@contextmanager
def asking(bot_api: StandInBotApi) -> Iterator[Asking]:
    """Leave it before the stand-in only when every call has its answer."""
    with ThreadPoolExecutor(max_workers=8, thread_name_prefix="asking") as threads:
        yield Asking(bot_api, threads)
