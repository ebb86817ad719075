"""Notices for the operator's chat: posted from anywhere without waiting, sent one by one, and dropped rather than kept long.

It is no journal: the chat must not slow the application, so the queue is bounded. What must not be lost, such as a
question that waits for its answer, is not to be told here alone.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from telegrambot.clock import Clock
from telegrambot.destinations import REDIRECTIONS_MAX, Destination, Destinations
from telegrambot.failures import Failure
from telegrambot.floods import Floods
from telegrambot.masking import Masker
from telegrambot.operator_dedupe import Dedupe, Held, Ticket, Unsaid, fingerprint
from telegrambot.operator_notices import Dropped, DropReason, OperatorChat, drop_reason_after, drop_reason_of
from telegrambot.operator_sending import Sender, failure_of
from telegrambot.texts import TEXT_UNITS_MAX, cut, utf16_units


@dataclass(frozen=True, slots=True, eq=False)
class _Notice:
    text: str
    topic: str | None
    ticket: Ticket | None


class OperatorChannel:
    """The way to one operator's chat.

    `post`, `close`, `pending` and `muted_until` are for any thread, also before `run` and after it. `on_dropped` is called
    where the drop comes about, in the thread that posts or closes or on the loop: it must not wait, nor post itself. What
    it raises is passed over.
    """

    def __init__(
        self,
        chat: OperatorChat,
        sender: Sender,
        clock: Clock,
        on_dropped: Callable[[Dropped], object],
        floods: Floods | None = None,
    ) -> None:
        """`floods`: what the bot's other senders know, and are to know, of Telegram's limits."""
        self._chat, self._sender, self._clock = chat, sender, clock
        self._on_dropped = on_dropped
        self._floods = Floods(clock) if floods is None else floods
        self._masker = Masker(chat.secrets)
        self._destinations = Destinations()
        self._called_at: float | None = None
        self._changed = asyncio.Event()  # never stays set: it wakes those on the loop who wait for a change
        self._lock = threading.Lock()  # of what follows; nothing foreign is called under it
        self._dedupe = Dedupe(chat.deduping) if chat.deduping else None
        self._queue: deque[_Notice] = deque()
        self._in_flight: _Notice | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def pending(self) -> int:
        """How many notices are neither sent nor dropped: queued, and in flight."""
        with self._lock:
            return len(self._queue) + (self._in_flight is not None)

    @property
    def muted_until(self) -> float | None:
        """The clock's monotonic reading until which Telegram takes nothing for the chat; None: it takes messages.

        However long that is, nothing is sent meanwhile, and the queue may overflow.
        """
        return self._floods.muted_until(self._destinations.now(Destination(self._chat.chat_id)).chat_id)

    def post(self, text: str, topic: str | None = None, about: str | None = None) -> None:
        """Have a notice sent; returns at once, and never raises. It is masked before it is queued.

        Numbers do not tell notices apart: those about different things are different only where `about` names the things.
        """
        shown = cut(self._masker.mask(text))
        key = fingerprint(shown, topic, about)
        with self._lock:
            was_empty = not self._queue
            dropped = self._enqueue(shown, topic, key)
            is_first = was_empty and bool(self._queue)
        if is_first:  # behind others, nobody waits for it
            self._ring()
        if dropped is not None:
            self._report(dropped)

    async def run(self) -> None:
        """Send what is posted, until `close`; to be called once. Cancelled, it leaves what it was sending to `close`."""
        with self._lock:
            if self._loop is not None:
                raise RuntimeError("the channel runs already, or did")
            self._loop = asyncio.get_running_loop()
        tasks = (asyncio.ensure_future(self._work()), asyncio.ensure_future(self._until(lambda: self._closed)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if tasks[0].done():
                tasks[0].result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def drain(self, timeout_s: float | None = None, abort: asyncio.Event | None = None) -> bool:
        """Wait until nothing is pending, for so long at most or until `abort` is set; whether it came to that.

        To be called on the loop of `run`. What is still pending then stays so, and is sent if there is time.
        """
        waiting = [asyncio.ensure_future(self._until(lambda: self.pending == 0))]
        if abort is not None:
            waiting.append(asyncio.ensure_future(_is_set(abort)))
        try:
            await asyncio.wait(waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        return self.pending == 0

    def close(self) -> None:
        """Take no more, give up what is in flight and drop what is queued; all of it is reported. Safe to repeat."""
        with self._lock:
            self._closed = True
            left = [*self._queue, *((self._in_flight,) if self._in_flight else ())]
            self._queue.clear()
            self._in_flight = None
        self._ring()
        for notice in left:
            self._report(_dropped(notice, DropReason.CLOSED))

    def _enqueue(self, text: str, topic: str | None, key: str) -> Dropped | None:
        """Queue a notice; what is dropped for it, or instead of it."""
        if self._closed:
            return Dropped(text=text, topic=topic, reason=DropReason.CLOSED)
        ticket = self._dedupe.admit(key, self._clock.monotonic()) if self._dedupe else None
        if isinstance(ticket, Held):
            return Dropped(text=text, topic=topic, reason=drop_reason_of(ticket))
        dropped = None
        if len(self._queue) >= self._chat.queued_max:
            oldest = self._queue.popleft()
            self._never_sent(oldest)
            dropped = _dropped(oldest, DropReason.OVERFLOW)
        self._queue.append(_Notice(text, topic, ticket))
        return dropped

    async def _work(self) -> None:
        while True:
            await self._until(lambda: bool(self._queue))
            await self._pace()
            with self._lock:
                self._in_flight = notice = self._queue.popleft() if self._queue else None
            if notice is not None:
                await self._deliver(notice)

    async def _deliver(self, notice: _Notice) -> None:
        """Send one notice until it is sent or to be dropped."""
        failures: list[Failure] = []
        redirected = 0
        while True:
            destination = self._destination(notice.topic)
            unsaid = self._unsaid(notice)
            failure = await self._call(notice.text, unsaid, destination)
            if failure is None:
                return self._settle(notice, told=unsaid)
            if redirected < REDIRECTIONS_MAX and self._destinations.learn(destination, failure):
                redirected += 1
            else:
                failures.append(failure)
                if reason := drop_reason_after(failures, self._chat.attempts_max):
                    return self._settle(notice, _dropped(notice, reason, failure))
            await self._pace()

    async def _call(self, text: str, unsaid: Unsaid, destination: Destination) -> Failure | None:
        said = cut(text, TEXT_UNITS_MAX - utf16_units(unsaid.text)) + unsaid.text
        try:
            await self._sender.send(said, destination)
        except Exception as error:  # a sender's fault costs one notice, not the channel
            failure = failure_of(error)
            if failure.retry_after_s is not None:
                self._floods.mute(destination.chat_id, failure.retry_after_s)
            return failure
        finally:
            self._called_at = self._clock.monotonic()
        return None

    async def _pace(self) -> None:
        """Return when the chat may be written to."""
        while (wait_s := self._sendable_at() - self._clock.monotonic()) > 0:
            await self._clock.sleep(wait_s)

    def _sendable_at(self) -> float:
        now = self._clock.monotonic()
        paced = now if self._called_at is None else self._called_at + self._chat.interval_s
        return max(paced, self.muted_until or now)

    def _destination(self, topic: str | None) -> Destination:
        thread_id = None if topic is None else self._chat.topics.get(topic)
        return self._destinations.now(Destination(self._chat.chat_id, thread_id))

    def _unsaid(self, notice: _Notice) -> Unsaid:
        with self._lock:
            return self._dedupe.unsaid(notice.ticket) if self._dedupe and notice.ticket else Unsaid()

    def _settle(self, notice: _Notice, dropped: Dropped | None = None, told: Unsaid | None = None) -> None:
        """A notice is sent, or dropped; unless it was given up meanwhile."""
        with self._lock:
            if self._in_flight is not notice:
                return
            self._in_flight = None
            if told is None:
                self._never_sent(notice)
            elif self._dedupe and notice.ticket:
                self._dedupe.sent(notice.ticket, told, self._clock.monotonic())
        self._ring()
        if dropped is not None:
            self._report(dropped)

    def _never_sent(self, notice: _Notice) -> None:
        if self._dedupe and notice.ticket:
            self._dedupe.dropped(notice.ticket)

    def _report(self, dropped: Dropped) -> None:
        with contextlib.suppress(Exception):  # who watches must not be able to hurt who posts
            self._on_dropped(dropped)

    def _ring(self) -> None:
        """Wake who waits for a change, on the loop. Without a loop nobody does: what is queued is seen when it begins."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._changed.set()
        self._changed.clear()

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            await self._changed.wait()


async def _is_set(event: asyncio.Event) -> None:
    await event.wait()


def _dropped(notice: _Notice, reason: DropReason, failure: Failure | None = None) -> Dropped:
    return Dropped(text=notice.text, topic=notice.topic, reason=reason, failure=failure)
