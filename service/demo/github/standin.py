"""The stand-in GitHub as one thing: its server, its people, its faults, its clock and its logs."""

import fnmatch
import threading
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from service.demo.github import snapshot
from service.demo.github.clock import Clock
from service.demo.github.desk import Desk, Outcome, Served, token_id
from service.demo.github.door import DOOR_PREFIX, Door
from service.demo.github.faults import Fault, FaultBook, Trouble
from service.demo.github.people import People
from service.demo.github.server import Server
from service.demo.github.state import State
from service.demo.github.webhooks import Courier
from service.demo.github.wire import Request

TABLES_FILE = "tables.json"
STOP_TIMEOUT_S = 5.0
SHUTDOWN_POLL_S = 0.05


class StandIn(People):
    """A GitHub on loopback, in threads of this process; use it as a context, or `start` and `stop` it.

    `folder` holds its git repositories, and its tables when it was stopped; started there again, it goes on.
    `port` 0 takes a free one; `courier_threads` above 1 delivers webhooks side by side and so in any order.
    """

    def __init__(self, folder: Path, *, port: int = 0, clock: Clock | None = None, courier_threads: int = 1) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.clock = clock if clock is not None else Clock()
        self._tables_file = folder / TABLES_FILE
        state = State(folder=folder, clock=self.clock, tables=snapshot.load(self._tables_file))
        super().__init__(state, Courier(state, courier_threads))
        self._faults = FaultBook()
        self._stopping = threading.Event()
        self._desk = Desk(state, self.courier, self._faults, self._stopping)
        self._door = Door(self)
        self._server = Server(port, self._serve, self._stopping)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(SHUTDOWN_POLL_S,), name="stand-in-github", daemon=True
        )
        state.base_url = f"http://127.0.0.1:{self._server.server_port}"
        state.late_by_s = self._faults.late_by_s
        state.tell = self.courier.tell

    @property
    def base_url(self) -> str:
        """The address that takes the place of `https://api.github.com`, and of `https://github.com` in addresses."""
        return self.state.base_url

    def start(self) -> None:
        self.courier.start()
        self._thread.start()

    def stop(self) -> None:
        """End all connections, save the tables and give the port free. Safe to repeat."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._server.shutdown()
        self._server.cut_connections()
        self._server.server_close()
        self.courier.stop()
        self.save()
        self._thread.join(timeout=STOP_TIMEOUT_S)

    def save(self) -> None:
        """Write the tables to the folder."""
        with self.state.lock:
            snapshot.save(self._tables_file, self.state.tables)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def fault(
        self,
        trouble: Trouble,
        method: str = "*",
        path: str = "*",
        page: int | None = None,
        times: int | None = 1,
        seconds: float = 0.0,
    ) -> None:
        """Let requests of this method and path (shell patterns) meet a trouble, so many times or (None) always."""
        self._faults.add(Fault(trouble=trouble, method=method, path=path, page=page, times=times, seconds=seconds))

    def clear_faults(self) -> None:
        self._faults.clear()

    def faults_in_force(self) -> list[Fault]:
        """Those that were not met yet, or not as often as they were to be."""
        return self._faults.in_force()

    def requests(self, method: str = "*", path: str = "*") -> list[Served]:
        """The requests that were served, oldest first, by shell patterns over method and path."""
        return [
            served
            for served in list(self._desk.served)
            if fnmatch.fnmatchcase(served.method, method) and fnmatch.fnmatchcase(served.path, path)
        ]

    def clear_requests(self) -> None:
        self._desk.served.clear()

    def set_remaining(self, token: str, remaining: int) -> None:
        """Leave a token only so many requests until its window ends."""
        with self.state.lock:
            self._desk.rates.set_remaining(token_id(token), int(self.state.now().timestamp()), remaining)

    def now(self) -> datetime:
        return self.state.now()

    def advance_clock(self, seconds: float) -> datetime:
        """Move the stand-in's time and return it."""
        with self.state.lock:
            self.clock.advance(seconds)
            return self.state.now()

    def freeze_clock(self, moment: datetime) -> None:
        """Stop the stand-in's time at an aware moment."""
        with self.state.lock:
            self.clock.freeze(moment)

    def release_clock(self) -> None:
        with self.state.lock:
            self.clock.release()

    def hold_webhooks(self) -> None:
        """Keep deliveries back until they are released."""
        self.courier.hold()

    def release_webhooks(self, newest_first: bool = False, drop: bool = False) -> None:
        """Deliver what was kept back, in order or the newest first, or lose it."""
        self.courier.release(newest_first=newest_first, drop=drop)

    def wait_for_webhooks(self, timeout_s: float = 15.0) -> bool:
        """Wait until nothing is on its way; False when something still is."""
        return self.courier.wait_until_idle(timeout_s)

    def _serve(self, request: Request) -> Outcome:
        return self._door.serve(request) if request.path.startswith(DOOR_PREFIX) else self._desk.serve(request)
