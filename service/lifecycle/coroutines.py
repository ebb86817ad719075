"""Resources whose work is a coroutine: an event loop in a thread of its own, and what runs on it."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from service.lifecycle.clock import Clock
from service.lifecycle.latch import CancelToken, Latch, wait_for_any
from service.lifecycle.resource import PhaseContext, StartContext

Work = Coroutine[Any, Any, None]


class NotInOrder(Exception):
    """A coroutine did not come to its end in time, or the loop that it was given to does not run."""


@dataclass(slots=True)
class EventLoop:
    """One event loop for the coroutines of several resources, which depend on it."""

    name: str = "event-loop"
    depends_on: Sequence[str] = ()
    required: bool = True
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None
    _given: set[concurrent.futures.Future[None]] = field(default_factory=set)

    def start(self, context: StartContext) -> None:
        """Return when the loop runs."""
        runs = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(context, runs), name=self.name, daemon=True)
        self._thread.start()
        if not runs.wait(max(0.0, context.deadline - context.clock.monotonic())):
            raise NotInOrder(f"{self.name} does not come up")

    def submit(self, work: Work) -> concurrent.futures.Future[None]:
        """Run a coroutine on the loop; from any thread. Raises NotInOrder, and closes the coroutine, where none runs."""
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise NotInOrder(f"{self.name} does not run")
        given = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._given.add(given)
        given.add_done_callback(self._given.discard)
        return given

    def call(self, function: Callable[[], object]) -> None:
        """Call a function on the loop, soon; from any thread. Without a loop there is nobody to tell."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function)

    def stop_admission(self, context: PhaseContext) -> None:
        """What runs on the loop has resources of its own."""

    def drain(self, context: PhaseContext) -> None:
        """What runs on the loop has resources of its own."""

    def close(self, context: PhaseContext) -> None:
        """End the loop; what still runs on it is cancelled."""
        if self._thread is not None and self._loop is not None:
            self.call(self._loop.stop)
            self._thread.join(max(0.0, context.deadline - context.clock.monotonic()))

    def force(self, context: PhaseContext) -> None:
        """End the loop after what runs on it, which is forced at the same time."""
        concurrent.futures.wait(list(self._given), timeout=max(0.0, context.deadline - context.clock.monotonic()))
        self.close(context)

    def _run(self, context: StartContext, runs: threading.Event) -> None:
        try:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                self._loop.call_soon(runs.set)
                self._loop.run_forever()
        except BaseException as error:  # whatever ends the thread is the resource's end
            context.report_completion(error)
        else:
            context.report_completion(None)


@dataclass(slots=True, kw_only=True)
class Running:
    """A resource whose work is one coroutine on an event loop; if that ends by itself, so does the resource."""

    name: str
    loop: EventLoop
    work: Callable[[StartContext], Work]
    stop: Callable[[], object]
    """Asks the work to end in order; called on the loop, perhaps more than once."""
    prepare: Callable[[StartContext], Work] | None = None
    """What must succeed before the resource is ready; what it raises is why the start failed."""
    cut: Callable[[], object] | None = None
    """Asks the work to end at once; None: it is cancelled."""
    halts_at_admission: bool = False
    """Whether the work fetches: then it is asked to end as soon as nothing new is taken, and not only at the close."""
    required: bool = True
    needs: Sequence[str] = ()
    """What it depends on beside the loop."""
    _future: concurrent.futures.Future[None] | None = field(default=None, init=False)
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _is_cut: bool = field(default=False, init=False)
    _ended: Latch[None] = field(default_factory=Latch, init=False)

    @property
    def depends_on(self) -> Sequence[str]:
        """The loop, and what it needs."""
        return (self.loop.name, *self.needs)

    def start(self, context: StartContext) -> None:
        """Prepare, then begin the work."""
        if self.prepare is not None:
            self._prepare(self.prepare(context), context)
        self._future = self.loop.submit(self._run(context))
        self._future.add_done_callback(lambda future: self._end(future, context))

    def stop_admission(self, context: PhaseContext) -> None:
        """Fetch nothing more."""
        if self.halts_at_admission:
            self.loop.call(self.stop)

    def drain(self, context: PhaseContext) -> None:
        """What was admitted has ended; the rest ends at the close."""

    def close(self, context: PhaseContext) -> None:
        """Ask the work to end, and wait for it. Raises NotInOrder where it does not, in time."""
        if self._future is None:
            return
        self.loop.call(self.stop)
        self._await_end(context.cancel, context.deadline, context.clock)

    def force(self, context: PhaseContext) -> None:
        """Have the work end at once, and wait for that. Raises NotInOrder where it does not."""
        if self._future is None:
            return
        self._is_cut = True
        self.loop.call(self.cut or self._cancel)
        self._await_end(context.cancel, context.deadline, context.clock)

    async def _run(self, context: StartContext) -> None:
        self._task = asyncio.current_task()
        await self.work(context)

    def _cancel(self) -> None:
        # Not the future where there is a task: it counts as done before the task has ended.
        cancelled = self._task or self._future
        if cancelled is not None:
            cancelled.cancel()

    def _prepare(self, preparing: Work, context: StartContext) -> None:
        future = self.loop.submit(preparing)
        done: Latch[None] = Latch()
        future.add_done_callback(lambda _: done.set(None))
        wait_for_any((done, context.cancel), deadline=context.deadline, clock=context.clock)
        if not done.is_set:
            future.cancel()
            context.cancel.raise_if_cancelled()
            raise NotInOrder(f"{self.name} was not ready in time")
        future.result()

    def _end(self, future: concurrent.futures.Future[None], context: StartContext) -> None:
        if future.cancelled():
            context.report_completion(None if self._is_cut else NotInOrder(f"{self.name} was cancelled unasked"))
        else:
            context.report_completion(future.exception())
        self._ended.set(None)

    def _await_end(self, cancel: CancelToken, deadline: float, clock: Clock) -> None:
        wait_for_any((self._ended, cancel), deadline=deadline, clock=clock)
        if not self._ended.is_set:
            raise NotInOrder(f"{self.name} has not ended in time")
