"""A process that records one reply and publishes it, and ends itself by SIGKILL before a call that it is told."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from domain.model import Thread
from tests.fakes.publishing import Around, AroundWriter, HandClock, Publishing, Store, host_of, thread_port

QUIET_S = 3600.0


class Fatal:
    """Counts the calls of all ports, recording included, and ends the process before one of them; 0: never."""

    def __init__(self, fatal_call: int) -> None:
        self._fatal_call = fatal_call
        self._calls = 0

    def before(self, call: str) -> None:
        self._calls += 1
        if self._calls == self._fatal_call:
            os.kill(os.getpid(), signal.SIGKILL)


def main(folder: str, base_url: str, repository_id: str, number: str, start_ms: str, fatal_call: str) -> None:
    """Ends with 0 once nothing is left to do."""
    thread = Thread(host=host_of(base_url), repository_id=int(repository_id), number=int(number))
    fatal = Fatal(int(fatal_call))
    github, port = thread_port(base_url, timeout_s=5)
    with Store(Path(folder), HandClock(int(start_ms))) as store:
        fatal.before("record")
        if not store.rows("SELECT 1 FROM replies"):
            store.comment(thread)
        writer = AroundWriter(store.committer, before=fatal.before, after=lambda call: None)
        owner_id = f"owner-{os.getpid()}"
        process = Publishing(store, Around(port, before=fatal.before), owner_id=owner_id, committer=writer)
        process.run_for(QUIET_S)
    github.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
