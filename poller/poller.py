"""The polled road's loop: looks at every repository in turn, and lets no failing one hold up another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime

from eventlog.events.poll import PollCycle, PollSourceError
from poller.in_play import InPlay
from poller.means import Means, Watched
from poller.sources import ISSUE_COMMENTS
from poller.watch import Polled, SourceFailed, Watch

ADMISSION_PAUSE_S = 0.5
"""Before admission is asked for again while the service takes no new work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleResult:
    """What one round found. `repositories` counts those that answered, `failures` what went wrong, each in the log."""

    repositories: int
    not_modified: int
    comments_seen: int
    comments_forwarded: int
    comments_settled: int
    failures: int


class Poller:
    """Polls repositories. `run` is the body of its one thread; `stop` may be called from any."""

    def __init__(
        self,
        watched: Sequence[Watched],
        means: Means,
        *,
        admit: Callable[[], AbstractContextManager[object] | None],
        interval_s: float,
    ) -> None:
        """`admit` gives a lease for one round, None while the service takes no new work. `interval_s`: the pause
        between two rounds."""
        self._means = means
        self._admit = admit
        self._interval_s = interval_s
        self._in_play = InPlay(means)
        self._watches = [Watch(each, means, self._in_play, lambda: self._stopping) for each in watched]
        self._not_before: dict[str, float] = {}
        self._changed = threading.Condition()
        self._stopping = False

    def run(self) -> None:
        """Poll until stopped, each round under a lease."""
        while not self._stopping:
            lease = self._admit()
            if lease is None:
                self._pause(ADMISSION_PAUSE_S)
                continue
            with lease:
                self.cycle()
            self._pause(self._interval_s)

    def stop(self) -> None:
        """Let `run` end once the comment in hand is handed over. Does not block; safe to repeat."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def cycle(self) -> CycleResult:
        """Look at every repository once, except those that GitHub asked us to leave alone for a while. Never raises."""
        began_s = self._means.clock.monotonic()
        looks = [self._look(watch) for watch in self._watches if self._is_due(watch)]
        polled = [look for look in looks if look is not None]
        settled, trouble = self._look_at_what_is_in_play()
        result = CycleResult(
            repositories=len(polled),
            not_modified=sum(each.not_modified for each in polled),
            comments_seen=sum(each.seen for each in polled),
            comments_forwarded=sum(each.forwarded for each in polled),
            comments_settled=sum(each.settled for each in polled) + settled,
            failures=len(looks) - len(polled) + sum(each.failures for each in polled) + trouble,
        )
        self._means.emit(_cycle_line(result, took_s=self._means.clock.monotonic() - began_s))
        return result

    def _is_due(self, watch: Watch) -> bool:
        return not self._stopping and self._means.clock.monotonic() >= self._not_before.get(watch.name, 0.0)

    def _look(self, watch: Watch) -> Polled | None:
        """One repository; None where it failed, for whatever cause: the others go on."""
        try:
            return watch.poll()
        except SourceFailed as failed:
            self._note_failure(watch.name, failed, failed.retry_after_s or 0.0)
        except Exception as error:
            self._note_failure(watch.name, error, 0.0)
        return None

    def _note_failure(self, name: str, error: Exception, retry_after_s: float) -> None:
        pause_s = max(retry_after_s, self._interval_s)
        if retry_after_s:
            self._not_before[name] = self._means.clock.monotonic() + retry_after_s
        next_at = datetime.fromtimestamp(self._means.clock.wall_ms() / 1000 + pause_s, UTC)
        self._means.emit(
            PollSourceError(
                repository=name,
                source_name=ISSUE_COMMENTS,
                next_at=next_at.isoformat(timespec="seconds"),
                error=str(error) if isinstance(error, SourceFailed) else error,
            )
        )

    def _look_at_what_is_in_play(self) -> tuple[int, int]:
        """How many comments were settled meanwhile, and 1 where that could not be found out."""
        try:
            return self._in_play.look(), 0
        except Exception as error:
            self._means.emit(PollSourceError(repository="", source_name="in-play", error=error))
            return 0, 1

    def _pause(self, seconds: float) -> None:
        deadline = self._means.clock.monotonic() + seconds
        with self._changed:
            while not self._stopping and self._means.clock.monotonic() < deadline:
                self._means.clock.wait(self._changed, deadline)


def _cycle_line(result: CycleResult, took_s: float) -> PollCycle:
    return PollCycle(
        repositories=result.repositories,
        not_modified=result.not_modified,
        comments_seen=result.comments_seen,
        comments_forwarded=result.comments_forwarded,
        comments_settled=result.comments_settled,
        failures=result.failures,
        took_ms=round(took_s * 1000),
    )
