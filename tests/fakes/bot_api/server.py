"""The stand-in Bot API server inside the test's process: a context that listens on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from tests.fakes.bot_api import serving
from tests.fakes.bot_api.wire import Exchange, Listener
from tests.fakes.bot_api.world import World


class StandInBotApi(World):
    """A world that is served. Once entered, `root_url` is what a bot takes for https://api.telegram.org."""

    _listener: Listener | None = None
    port = 0
    in_flight = 0
    """How many requests are being served at this moment, those that wait or hang included."""

    @property
    def root_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        """Meanwhile connections are refused, and those that were open are ended; then it listens at the same port."""
        self._stop()
        try:
            yield
        finally:
            self._start()

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _start(self) -> None:
        self.gate.is_closing = False
        self._listener = Listener(self.port, self._serve)
        self.port = self._listener.server_port
        self._listener.start()

    def _stop(self) -> None:
        if self._listener is None:
            return
        with self.gate:
            self.gate.is_closing = True
        self._listener.stop()
        self._listener = None

    def _serve(self, exchange: Exchange) -> None:
        with self.gate:
            self.in_flight += 1
        try:
            serving.serve(self, exchange)
        finally:
            with self.gate:
                self.in_flight -= 1
