"""The machine's clocks; everything else is told the time."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime


class SystemClock:
    """Wall time for what is stored, monotonic time for waiting."""

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    def wall(self) -> datetime:
        """The time of day, aware and in UTC."""
        return datetime.now(UTC)

    def wall_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return time.time_ns() // 1_000_000

    def wait(self, condition: threading.Condition, deadline: float) -> None:
        """Wait for a notification, at most until the monotonic deadline."""
        condition.wait(max(0.0, deadline - time.monotonic()))
