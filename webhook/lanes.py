"""Which item is attended next: each by one thread at a time, in the order in which they were woken."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable

from domain.model import ItemId


class Lanes:
    """A queue of items that have something to do, or may have at some time. Safe to use from any thread."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._disturbance = threading.Condition(lock)
        self._ready: deque[ItemId] = deque()
        self._queued: set[ItemId] = set()
        self._busy: set[ItemId] = set()
        self._again: set[ItemId] = set()
        self._timers: list[tuple[int, ItemId]] = []
        self._disturbed: deque[ItemId] = deque()
        self._stopping = False

    def wake(self, item_id: ItemId) -> None:
        """The item may have something to do. Never blocks. Safe to repeat."""
        with self._changed:
            if item_id in self._busy:
                self._again.add(item_id)
                self._disturbed.append(item_id)
                self._disturbance.notify()
            elif item_id not in self._queued:
                self._queued.add(item_id)
                self._ready.append(item_id)
                self._changed.notify()

    def wake_at(self, item_id: ItemId, at_ms: int) -> None:
        """Wake the item then."""
        with self._changed:
            heapq.heappush(self._timers, (at_ms, item_id))
            self._changed.notify()

    def take(self) -> ItemId | None:
        """Wait for an item and claim it until `done`; None once stopped."""
        with self._changed:
            while not self._stopping:
                self._ring()
                if self._ready:
                    item_id = self._ready.popleft()
                    self._queued.discard(item_id)
                    self._busy.add(item_id)
                    return item_id
                self._changed.wait(self._until_next_timer_s())
            return None

    def done(self, item_id: ItemId) -> None:
        """Let the item go; if it was woken meanwhile it is ready again."""
        with self._changed:
            self._busy.discard(item_id)
            again = item_id in self._again
            self._again.discard(item_id)
        if again:
            self.wake(item_id)

    def disturbed(self, timeout_s: float) -> ItemId | None:
        """The second lane: an item that was woken while a thread was at it; None when none came in time."""
        with self._changed:
            if not self._disturbed and not self._stopping:
                self._disturbance.wait(timeout_s)
            return self._disturbed.popleft() if self._disturbed else None

    @property
    def stopping(self) -> bool:
        """Whether the workers are to end."""
        return self._stopping

    def stop(self) -> None:
        """Let every `take` return None. What is claimed is finished by its thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            self._disturbance.notify_all()

    def _ring(self) -> None:
        now_ms = self._clock()
        while self._timers and self._timers[0][0] <= now_ms:
            _, item_id = heapq.heappop(self._timers)
            if item_id in self._busy:
                self._again.add(item_id)
            elif item_id not in self._queued:
                self._queued.add(item_id)
                self._ready.append(item_id)

    def _until_next_timer_s(self) -> float | None:
        if not self._timers:
            return None
        return max(0.001, (self._timers[0][0] - self._clock()) / 1000)


class Slots:
    """A bounded number of holders; who finds none free waits in line. Safe to use from any thread."""

    def __init__(self, count: int, wake: Callable[[ItemId], None]) -> None:
        self._count = count
        self._wake = wake
        self._lock = threading.Lock()
        self._holders: set[ItemId] = set()
        self._line: deque[ItemId] = deque()

    def take(self, item_id: ItemId) -> bool:
        """Hold a slot, or stand in line for one: then the item is woken when its turn comes. Safe to repeat."""
        with self._lock:
            if item_id in self._holders:
                return True
            first = not self._line or self._line[0] == item_id
            has_room = len(self._holders) < self._count
            if not (has_room and first):
                if item_id not in self._line:
                    self._line.append(item_id)
                return False
            if self._line:
                self._line.popleft()
            self._holders.add(item_id)
            following = self._following()
        self._call(following)
        return True

    def give_back(self, item_id: ItemId) -> None:
        """Hold no slot and stand in no line. Safe to repeat."""
        with self._lock:
            self._holders.discard(item_id)
        self.leave_line(item_id)

    def leave_line(self, item_id: ItemId) -> None:
        """Stand in line no more, for nothing is wanted; a slot that is held stays held. Safe to repeat."""
        with self._lock:
            if item_id in self._line:
                self._line.remove(item_id)
            following = self._following()
        self._call(following)

    def _following(self) -> ItemId | None:
        """Whose turn it is; called with the lock held."""
        return self._line[0] if self._line and len(self._holders) < self._count else None

    def _call(self, item_id: ItemId | None) -> None:
        if item_id is not None:
            self._wake(item_id)

    def ahead_of(self, item_id: ItemId) -> int:
        """How many stand in line before the item."""
        with self._lock:
            return self._line.index(item_id) if item_id in self._line else 0

    @property
    def holders(self) -> frozenset[ItemId]:
        """Who holds a slot now."""
        with self._lock:
            return frozenset(self._holders)

    @property
    def line(self) -> tuple[ItemId, ...]:
        """Who stands in line, the first first."""
        with self._lock:
            return tuple(self._line)
