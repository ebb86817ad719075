"""Time as the lifecycle sees it: two readings and one way to wait, so that a test can own all three."""

import threading
from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Where time comes from. Every deadline of the lifecycle is a reading of `monotonic`."""

    def monotonic(self) -> float:
        """Seconds that only ever grow."""

    def wall(self) -> datetime:
        """The time of day, aware and in UTC."""

    def wait(self, condition: threading.Condition, deadline: float) -> None:
        """Wait on `condition`, whose lock the caller holds, until it is notified or `monotonic` reaches `deadline`.

        May return early without a cause: callers test what they wait for in a loop.
        """
