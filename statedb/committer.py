"""The one writing connection and the thread that owns it: what is there is taken as a batch, written, and woken at once."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

import apsw

from statedb.database import Connection, Database, StoreUnavailable

T = TypeVar("T")
S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)
A = TypeVar("A")

BATCH_MAX = 256
"""How many jobs one transaction takes at most."""
QUEUE_MAX = 4_096
"""How many jobs may wait in front of the committer."""

LINGER_S = 0.000_5
LINGERS_MAX = 8
"""Under load a batch is let grow while each pause brings more, so often at most: every batch costs a sync, and while it
is written its submitters fight it for the interpreter."""

DISK_FAULTS = (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.CorruptError, apsw.ReadOnlyError, apsw.CantOpenError)
"""What no job is to blame for: the whole batch fails, and nothing of it is recorded."""

log = logging.getLogger(__name__)


class Overloaded(StoreUnavailable):
    """The queue in front of the committer is full, or the answer came too late: nothing was recorded."""


class _State(Enum):
    WAITING = "waiting"
    TAKEN = "taken"
    LEFT = "left"


class Notifier(Protocol):
    """Wakes those who wait for tickets, all of one batch by one call."""

    def wake(self, tickets: Sequence[Ticket[Any]]) -> None:
        """The tickets have an answer or an error. Must not block."""


@dataclass(eq=False, slots=True)
class Ticket(Generic[A]):
    """One job in front of the committer, and later its answer or its error."""

    notifier: Notifier
    answer: A | None = None
    error: BaseException | None = None
    _state: _State = _State.WAITING
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def leave(self) -> bool:
        """Take the job back. True: its batch had not begun, and nothing of it will be recorded."""
        with self._lock:
            if self._state is _State.WAITING:
                self._state = _State.LEFT
            return self._state is _State.LEFT

    def take(self) -> bool:
        """Claim the job for a batch; False where the waiter has left."""
        with self._lock:
            if self._state is _State.WAITING:
                self._state = _State.TAKEN
            return self._state is _State.TAKEN


class BlockingNotifier:
    """Wakes a thread that waits for one ticket."""

    def __init__(self) -> None:
        self._done = threading.Event()

    def wake(self, tickets: Sequence[Ticket[Any]]) -> None:
        """Let the waiting thread go on."""
        self._done.set()

    def wait(self, ticket: Ticket[A], timeout_s: float) -> A:
        """The answer. Raises its error, or Overloaded when it is late and could be taken back.

        A job whose batch has begun is waited for once more: its outcome is about to be known.
        """
        if not self._done.wait(timeout_s) and ticket.leave():
            raise Overloaded("the store did not answer in time")
        if not self._done.wait(timeout_s):
            raise Overloaded("the store is stuck")
        if ticket.error is not None:
            raise ticket.error
        return ticket.answer  # type: ignore[return-value]


@dataclass(slots=True)
class _Intake(Generic[S, A]):
    submission: S
    ticket: Ticket[A]


@dataclass(slots=True)
class _Write:
    work: Callable[[Connection], Any]
    ticket: Ticket[Any]


class Plan(Protocol[S_contra, A]):
    """What the committer does with a batch of submissions: read, decide and write inside the open transaction."""

    def __call__(self, connection: Connection, batch: Sequence[S_contra]) -> Sequence[A]:
        """One answer per submission, in order."""

    def committed(self, answers: Sequence[A]) -> None:
        """The batch is on disk."""


class Committer(Generic[S, A]):
    """Owns the writing connection. `run` is the body of its one thread; everything else may be called from any thread."""

    def __init__(
        self, database: Database, queue_max: int = QUEUE_MAX, pause: Callable[[float], None] = time.sleep
    ) -> None:
        """`queue_max` jobs may wait; `pause` waits so many seconds while others submit."""
        self._database = database
        self._queue_max = queue_max
        self._pause = pause
        self._jobs: deque[_Intake[S, A] | _Write] = deque()
        self._wanted = threading.Condition()
        self._stopping = False
        self._writable = True
        self._company = 1
        """How many jobs the last batch had."""
        self._plan: Plan[S, A] | None = None
        self._connection = database.writer()

    def before_run(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction of its own, on the caller's thread; only before `run`."""
        done: list[T] = []
        with self._connection:
            done.append(work(self._connection))
        return done[0]

    @property
    def is_writable(self) -> bool:
        """Whether the newest batch was taken by the disk."""
        return self._writable

    def serve(self, plan: Plan[S, A]) -> None:
        """Say what a batch of submissions means; before the first `submit`."""
        self._plan = plan

    def submit(self, submission: S, notifier: Notifier) -> Ticket[A]:
        """Put a submission in front of the committer without waiting. Raises Overloaded when the queue is full."""
        ticket: Ticket[A] = Ticket(notifier)
        self._put(_Intake(submission, ticket))
        return ticket

    def write(self, work: Callable[[Connection], T], timeout_s: float = 10.0) -> T:
        """Run `work` in a transaction and return what it returned once that is on disk.

        An exception of `work` undoes its own writes alone and is raised here. Raises StoreUnavailable when the disk did
        not take it, Overloaded when it came too late; nothing of it was recorded then.
        """
        notifier = BlockingNotifier()
        ticket: Ticket[T] = Ticket(notifier)
        self._put(_Write(work, ticket))
        return notifier.wait(ticket, timeout_s)

    def stop(self) -> None:
        """Let `run` end once all that is queued is written; later jobs are refused."""
        with self._wanted:
            self._stopping = True
            self._wanted.notify()

    def run(self) -> None:
        """Write batches until stopped, then close the store."""
        while jobs := self._take():
            self._commit(jobs)
        self._connection.close()

    def _put(self, job: _Intake[S, A] | _Write) -> None:
        with self._wanted:
            if self._stopping:
                raise StoreUnavailable("the store is closing")
            if len(self._jobs) >= self._queue_max:
                raise Overloaded("too much waits in front of the store")
            self._jobs.append(job)
            self._wanted.notify()

    def _take(self) -> list[_Intake[S, A] | _Write]:
        """Wait for work and take at most a batch of it; empty when stopped and nothing is left."""
        with self._wanted:
            while not self._jobs and not self._stopping:
                self._wanted.wait()
        if self._company > 1:
            self._linger()
        with self._wanted:
            count = min(BATCH_MAX, len(self._jobs))
            self._company = count
            return [self._jobs.popleft() for _ in range(count)]

    def _linger(self) -> None:
        """Let those who are about to submit get into this batch, until it is as large as the last one."""
        for _ in range(LINGERS_MAX):
            there = len(self._jobs)
            if there >= self._company:
                return
            self._pause(LINGER_S)
            if len(self._jobs) == there:
                return

    def _commit(self, jobs: list[_Intake[S, A] | _Write]) -> None:
        taken = [job for job in jobs if job.ticket.take()]
        try:
            self._transaction(taken)
            self._writable = True
        except apsw.Error as error:
            self._writable = False
            for job in taken:
                job.ticket.error = StoreUnavailable(f"the store did not take the write: {error}")
            log.error("a batch of %d was not written: %s", len(taken), error)
        self._wake(taken)

    def _transaction(self, jobs: list[_Intake[S, A] | _Write]) -> None:
        intakes = [job for job in jobs if isinstance(job, _Intake)]
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            planned = self._run_intakes(intakes)
            for job in jobs:
                if isinstance(job, _Write):
                    self._run_write(job)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._tell_plan(planned)

    def _tell_plan(self, planned: list[A]) -> None:
        if self._plan is None or not planned:
            return
        try:
            self._plan.committed(planned)
        except Exception:  # it is on disk: what goes wrong in telling must not keep those who wait from their answer
            log.exception("a batch was written, and telling of it failed")

    def _run_intakes(self, intakes: list[_Intake[S, A]]) -> list[A]:
        """Plan all of them as one pass; where that fails, one by one, so that one bad submission fails alone."""
        if not intakes or self._plan is None:
            return []
        try:
            with self._connection:
                answers = list(self._plan(self._connection, [job.submission for job in intakes]))
        except Exception as error:  # what the plan raises is a fault of ours, and must not stop the committer
            if self._is_the_batchs(error):
                raise
            if len(intakes) > 1:
                return [answer for job in intakes for answer in self._run_intakes([job])]
            log.exception("a submission could not be planned")
            intakes[0].ticket.error = error
            return []
        for job, answer in zip(intakes, answers, strict=True):
            job.ticket.answer = answer
        return answers

    def _run_write(self, job: _Write) -> None:
        try:
            with self._connection:
                job.ticket.answer = job.work(self._connection)
        except Exception as error:  # belongs to the job's owner, who waits for it
            if self._is_the_batchs(error):
                raise
            job.ticket.error = error

    def _is_the_batchs(self, error: BaseException) -> bool:
        """Whether a fault takes the whole batch with it: the disk's, also where undoing failed because of it."""
        causes: list[BaseException] = [error]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
            causes.append(cause)
        return not self._connection.in_transaction or any(isinstance(cause, DISK_FAULTS) for cause in causes)

    @staticmethod
    def _wake(jobs: list[_Intake[S, A] | _Write]) -> None:
        by_notifier: dict[int, tuple[Notifier, list[Ticket[Any]]]] = {}
        for job in jobs:
            by_notifier.setdefault(id(job.ticket.notifier), (job.ticket.notifier, []))[1].append(job.ticket)
        for notifier, tickets in by_notifier.values():
            notifier.wake(tickets)
