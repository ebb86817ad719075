"""One run of a broadcast: begins it or goes on with it, and returns when it is through, is stopped, or has to halt.

A recipient is written to at most once by all runs of a name together, whatever kills them; one who was being written to
just then is reported as uncertain, and never written to again.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

from telegrambot.broadcast import audience, journal, lock
from telegrambot.broadcast.delivery import (
    Decision,
    Done,
    Doubt,
    Halt,
    HaltCause,
    Pace,
    SendToNewId,
    Wait,
    after_attempt,
)
from telegrambot.broadcast.files import BroadcastFiles, make_directory, write_over
from telegrambot.broadcast.journal import Journal, Outcome, Progress, Released, Sending, Settled
from telegrambot.broadcast.lock import Lock
from telegrambot.broadcast.message import Message, Send
from telegrambot.broadcast.refusals import BroadcastRefused, Refusal
from telegrambot.broadcast.report import Halted, Report, RunOutcome, report_of
from telegrambot.clock import Clock, pause
from telegrambot.failures import CallFailed, Evidence, Failure, Reason
from telegrambot.floods import ChatId

INTERRUPTED = "interrupted"
"""The reason of a recipient whom an earlier run was writing to when it ended."""
DOUBTED_MAX = 3
"""So many recipients who are refused for an unknown reason, with nobody served between them: then it is the message's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be sent under which name, and where that is kept. Raises BroadcastRefused for an impossible place."""

    name: str
    directory: Path
    """Absolute; made where it is missing, closed to others. Holds personal data."""
    message: Message
    pace: Pace = field(default_factory=Pace)
    is_dry: bool = False
    """Whether to count only: nothing is sent and no file is made."""
    may_differ: bool = False
    """Whether to go on although earlier runs of this name sent another message."""

    def __post_init__(self) -> None:
        _ = self.files

    @property
    def files(self) -> BroadcastFiles:
        """Where it is kept."""
        return BroadcastFiles(directory=self.directory, name=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversight:
    """Who may stop a run, and who is told of it."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, it ends the run before the next send; one under way is finished and written down first."""
    observe: Callable[[Report], object] = lambda report: None
    """Told at the beginning and then every `every_s` at most; what it raises is passed over."""
    every_s: float = 10.0


async def broadcast(
    order: Order,
    recipients: audience.Recipients,
    send: Send,
    clock: Clock,
    oversight: Oversight,
) -> Report:
    """Send the message to each recipient in turn. Safe to repeat by its name: the recipients count the first time alone.

    Raises BroadcastRefused where nothing can be sent. A run that is cancelled leaves a recipient uncertain; `oversight`
    stops it without. Files are written on the event loop, some milliseconds for each send.
    """
    if order.is_dry:
        return await _rehearsed(order, recipients)
    files = order.files
    make_directory(files.directory)
    with lock.held(files.lock) as held:
        chats = await _begun(order, recipients)
        with journal.opened(files.journal, len(chats)) as book:
            run = _Run(order=order, chats=chats, book=book, held=held, send=send, clock=clock, oversight=oversight)
            return await run.to_its_end()


async def _rehearsed(order: Order, recipients: audience.Recipients) -> Report:
    chats, progress = _resumed(order), Progress()
    if chats is None:
        chats = await audience.gathered(recipients)
    else:
        audience.forgo(recipients)
        progress = journal.read(order.files.journal, len(chats))
        _give_up_interrupted(progress, progress.apply)
    return report_of(order.name, len(chats), progress, RunOutcome.DRY_RUN)


async def _begun(order: Order, recipients: audience.Recipients) -> Sequence[ChatId]:
    """The audience, written down if it is not yet; before it, everything is there that has to stand beside it."""
    files, digest = order.files, order.message.digest
    chats = _resumed(order)
    if chats is not None:
        audience.forgo(recipients)
        if order.may_differ:
            write_over(files.content, digest.encode())
        return chats
    gathered = await audience.gathered(recipients)
    journal.create(files.journal)
    write_over(files.content, digest.encode())
    audience.keep(files.recipients, gathered)
    return gathered


def _resumed(order: Order) -> Sequence[ChatId] | None:
    """The audience of earlier runs; None: there was none. Raises BroadcastRefused where they sent something else."""
    files = order.files
    chats = audience.kept(files.recipients)
    if chats is None or order.may_differ:
        return chats
    if not files.content.exists() or files.content.read_bytes() != order.message.digest.encode():
        why = f"the broadcast {order.name} began with another message: give this one a name of its own, or say it may differ"
        raise BroadcastRefused(Refusal.CONTENT_CHANGED, why)
    return chats


def _give_up_interrupted(progress: Progress, enter: Callable[[Settled], None]) -> None:
    for index in sorted(progress.sending):
        enter(Settled(index, Outcome.UNCERTAIN, INTERRUPTED))


@dataclass(slots=True, kw_only=True)
class _Run:
    order: Order
    chats: Sequence[ChatId]
    book: Journal
    held: Lock
    send: Send
    clock: Clock
    oversight: Oversight
    _last_sent_at: float | None = None
    _told_at: float = 0.0
    _doubted: dict[int, Failure] = field(default_factory=dict)
    """Refused for an unknown reason since somebody was served, by index."""

    async def to_its_end(self) -> Report:
        _give_up_interrupted(self.book.progress, self.book.append)
        self._tell()
        for index in range(len(self.chats)):
            if index in self.book.progress.settled:
                continue
            ended = await self._settle(index)
            if ended is not None:
                return self._report(*ended)
            if self.clock.monotonic() - self._told_at >= self.oversight.every_s:
                self._tell()
        if self._doubted and Outcome.DELIVERED not in self.book.progress.settled.values():
            return self._report(*self._message_refused())
        self._end_doubts()
        return self._report(RunOutcome.FINISHED)

    async def _settle(self, index: int) -> tuple[RunOutcome, Halted | None] | None:
        """Keep at one recipient until it is done with; how the run ends, where it ends at it."""
        attempt, wait_s = 1, 0.0
        while True:
            if not await self._came_to_its_turn(wait_s):
                return RunOutcome.STOPPED, None
            if not self.held.is_ours():
                return RunOutcome.HALTED, Halted(HaltCause.LOCK_LOST)
            failure = await self._attempt(index)
            decision = self._decided(index, failure, attempt)
            match decision:
                case Done(outcome, reason):
                    self.book.append(Settled(index, outcome, reason))
                    if outcome is Outcome.DELIVERED:
                        self._end_doubts()
                    is_end = outcome is Outcome.UNCERTAIN
                    return (RunOutcome.HALTED, Halted(HaltCause.UNCERTAIN, failure)) if is_end else None
                case Doubt(failed):
                    self.book.append(Released(index))
                    self._doubted[index] = failed
                    return self._message_refused() if len(self._doubted) >= DOUBTED_MAX else None
                case Halt(cause):
                    self.book.append(Released(index))
                    return RunOutcome.HALTED, Halted(cause, failure)
                case SendToNewId(chat_id):
                    self.book.append(Released(index, chat_id))
                    wait_s = 0.0
                case Wait(seconds):
                    # Nothing is under way during a pause: killed in it, the recipient is not even uncertain.
                    self.book.append(Released(index))
                    attempt, wait_s = attempt + 1, seconds
                case _:
                    assert_never(decision)

    def _end_doubts(self) -> None:
        """The message is one that can be sent: those who were refused it were refused for their own sake."""
        for index, failure in self._doubted.items():
            self.book.append(Settled(index, Outcome.FAILED, failure.reason))
        self._doubted.clear()

    def _message_refused(self) -> tuple[RunOutcome, Halted]:
        """Those who were refused it are still to be written to."""
        return RunOutcome.HALTED, Halted(HaltCause.MESSAGE_REFUSED, next(reversed(self._doubted.values())))

    async def _attempt(self, index: int) -> Failure | None:
        self.book.append(Sending(index))
        self._last_sent_at = self.clock.monotonic()
        try:
            await self.send(self.book.progress.moved_to.get(index, self.chats[index]))
        except CallFailed as failed:
            return failed.failure
        except Exception as fault:  # a fault of the sender's own does not say how far it got
            method, kind = self.order.message.method, type(fault).__name__
            return Failure(method=method, reason=Reason.NO_ANSWER, evidence=Evidence.NOTHING, description=kind)
        return None

    def _decided(self, index: int, failure: Failure | None, attempt: int) -> Decision:
        decision = after_attempt(failure, attempt, self.order.pace)
        if not isinstance(decision, SendToNewId):
            return decision
        # A chat that is among the recipients by both its numbers gets the message by the new one; none is followed twice.
        is_to_be_left = decision.chat_id in self.chats or index in self.book.progress.moved_to
        return Done(Outcome.UNREACHABLE, Reason.MIGRATED) if is_to_be_left else decision

    async def _came_to_its_turn(self, wait_s: float) -> bool:
        """Wait so long, and for the pace; whether nobody stopped the run by then."""
        if self._last_sent_at is not None:
            since_s = self.clock.monotonic() - self._last_sent_at
            wait_s = max(wait_s, 1 / self.order.pace.sends_per_s - since_s)
        stop = self.oversight.stop
        if wait_s > 0 and not stop.is_set():
            await pause(self.clock, wait_s, stop)
        return not stop.is_set()

    def _tell(self) -> None:
        self._told_at = self.clock.monotonic()
        with contextlib.suppress(Exception):
            self.oversight.observe(self._report(RunOutcome.RUNNING))

    def _report(self, outcome: RunOutcome, halt: Halted | None = None) -> Report:
        return report_of(self.order.name, len(self.chats), self.book.progress, outcome, halt)
