"""Threads of the service, as resources of its lifecycle: the only place where threads are started."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from service.lifecycle.resource import PhaseContext, StartContext

log = logging.getLogger(__name__)

Body = Callable[[], None]


def spawn(name: str, body: Body) -> None:
    """Start a thread that nobody waits for; what it raises is recorded."""

    def guarded() -> None:
        try:
            body()
        except Exception:  # the end of a thread must leave a trace
            log.exception("the thread %s ended by a fault", name)

    threading.Thread(target=guarded, name=name, daemon=True).start()


@dataclass(slots=True)
class Threads:
    """A resource made of threads that run until they are told to stop.

    `begin` runs before the threads start; `stop` tells them to end and must not block; `finish` runs after they ended.
    """

    name: str
    bodies: Sequence[tuple[str, Body]]
    stop: Body
    depends_on: Sequence[str] = ()
    required: bool = True
    begin: Callable[[StartContext], None] | None = None
    finish: Body | None = None
    halts_at_admission: bool = False
    """Whether it takes nothing new from the moment that admission ends: it stops then, and not only at close."""
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, context: StartContext) -> None:
        """Start the threads; the end of any of them by itself is the end of the resource."""
        if self.begin is not None:
            self.begin(context)
        for name, body in self.bodies:
            thread = threading.Thread(target=self._guard(body, context), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop_admission(self, context: PhaseContext) -> None:
        """Take nothing new."""
        if self.halts_at_admission:
            self.stop()

    def drain(self, context: PhaseContext) -> None:
        """Nothing is waited for here: what is under way is on disk and goes on after a restart."""

    def close(self, context: PhaseContext) -> None:
        """Tell the threads to end, and wait for them within the deadline."""
        self.stop()
        for thread in self._threads:
            thread.join(max(0.0, context.deadline - context.clock.monotonic()))
        if self.finish is not None:
            self.finish()

    def force(self, context: PhaseContext) -> None:
        """The threads are daemons: the process's end is theirs."""
        self.stop()

    @staticmethod
    def _guard(body: Body, context: StartContext) -> Body:
        def guarded() -> None:
            try:
                body()
            except BaseException as error:  # whatever ends a thread is the resource's end, and is reported
                context.report_completion(error)
            else:
                context.report_completion(None)

        return guarded
