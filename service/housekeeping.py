"""Forgets by and by what the store need not keep, a little at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from statedb.committer import Committer
from statedb.database import StoreUnavailable
from statedb.retention import forget_some

ROUND_S = 6 * 3600.0
"""Between one round and the next."""
BREATH_S = 0.2
"""Between two transactions of a round."""

log = logging.getLogger(__name__)


class Housekeeping:
    """`run` is the body of a thread."""

    def __init__(self, committer: Committer[Any, Any], clock: Callable[[], int]) -> None:
        self._committer = committer
        self._clock = clock
        self._stopping = threading.Event()

    def run(self) -> None:
        """Forget in rounds until stopped."""
        while not self._stopping.is_set():
            pause_s = BREATH_S if self._forget() else ROUND_S
            self._stopping.wait(pause_s)

    def stop(self) -> None:
        """Let `run` end."""
        self._stopping.set()

    def _forget(self) -> bool:
        """Whether there was something to forget, and may be more."""
        try:
            return self._committer.write(lambda c: forget_some(c, self._clock())) > 0
        except StoreUnavailable as error:
            log.warning("the store forgets nothing now: %s", error)
            return False
