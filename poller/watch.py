"""The watch over one repository: reads what is new, hands each comment over, and moves the cursor behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from domain.model import Account, Delivery, Event, EventKey, Fate, PassReason, Road
from domain.ports import Missing, NoAnswer, Repository
from eventlog.events.poll import PollBaselined, PollCommentForwarded, PollSourceError
from eventlog.events.routing import RoutingDropped
from githubapi.addresses import since_text
from githubapi.conditional import Unchanged
from githubapi.events import with_reading
from githubapi.fields import Malformed
from poller import sources
from poller.in_play import InPlay, settled
from poller.means import Means, Watched
from poller.sources import ISSUE_COMMENTS, Entry, Listing, Taken
from statedb.cursors import Cursor, OpenArrival, cursor_of, write_cursor
from statedb.database import StoreUnavailable
from webhook.handled import Status


class SourceFailed(Exception):
    """A source could not be read; `retry_after_s` is how long GitHub asked us to wait, if it did."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


@dataclass(slots=True)
class Polled:
    """What one look at a repository found: comments that were new to us, and what became of them."""

    not_modified: int = 0
    seen: int = 0
    forwarded: int = 0
    settled: int = 0
    failures: int = 0


class Watch:
    """One repository. For one thread; what a restart must not forget stands in the store."""

    def __init__(self, watched: Watched, means: Means, in_play: InPlay, stopping: Callable[[], bool]) -> None:
        self.name = watched.name
        self._github = watched.github
        self._items = watched.items
        self._means = means
        self._in_play = in_play
        self._stopping = stopping
        self._repository: Repository | None = None
        self._taken: dict[tuple[str, str], int] = {}
        """The versions that were handed over and that the cursor's overlap shows again, with their time."""

    def poll(self) -> Polled:
        """Read what is new. Raises SourceFailed and StoreUnavailable; then the next look repeats what was not done."""
        repository = self._known_repository()
        cursor = self._cursor(repository)
        answer = sources.read_listing(self._github, repository, cursor)
        match answer:
            case Unchanged():
                return Polled(not_modified=1)
            case NoAnswer():
                raise SourceFailed(answer.reason, answer.retry_after_s)
            case Listing():
                return self._take(repository, cursor, answer)

    def _known_repository(self) -> Repository:
        """Asked for by name once; from then on its id counts, whatever it is called."""
        if self._repository is None:
            found = self._items.repository(self.name)
            if isinstance(found, Missing):
                raise SourceFailed("repository-not-visible")
            if isinstance(found, NoAnswer):
                raise SourceFailed(found.reason, found.retry_after_s)
            # Under a former name it is still the repository that the operator meant, and the Router knows it by that.
            self._repository = found if found.name.lower() == self.name.lower() else replace(found, name=self.name)
        return self._repository

    def _cursor(self, repository: Repository) -> Cursor:
        """Where we stand; on the first look, now: what is on the threads already is neither read nor delivered."""
        known = cursor_of(self._means.database.reader(), repository.host, repository.id, ISSUE_COMMENTS)
        if known is not None:
            return known
        opened = sources.open_cursor(self._github, repository, self._means.clock.wall_ms())
        if isinstance(opened, NoAnswer):
            raise SourceFailed(opened.reason, opened.retry_after_s)
        self._keep(opened)
        self._means.emit(
            PollBaselined(repository=self.name, source_name=ISSUE_COMMENTS, since=since_text(opened.since_ms))
        )
        return opened

    def _take(self, repository: Repository, cursor: Cursor, listing: Listing) -> Polled:
        """Hand over all that was listed; the cursor moves behind what is on disk with nothing missing before it."""
        polled = Polled()
        times_ms: list[int] = []
        all_taken = True
        for position, values in enumerate(listing.fetched.objects):
            if self._stopping():
                all_taken = False
                break
            entry = self._entry(values, repository, cursor)
            all_taken = self._take_one(entry, polled) and all_taken
            if entry is not None and all_taken and position < listing.fetched.gapless:
                times_ms.append(entry.updated_at_ms)
        taken = Taken(times_ms=times_ms, everything=all_taken, anything_new=polled.seen > 0)
        after = sources.moved(cursor, listing, taken, self._means.clock.wall_ms())
        self._keep(after)
        self._taken = {version: at_ms for version, at_ms in self._taken.items() if at_ms >= after.since_ms}
        return polled

    def _entry(self, values: dict[str, object], repository: Repository, cursor: Cursor) -> Entry | None:
        """One comment of the listing; None for one that has not the shape that we read, which is passed over."""
        try:
            return sources.read_entry(values, repository, cursor.watch_began_at_ms)
        except Malformed:
            self._means.emit(RoutingDropped(reason=PassReason.MALFORMED, road=Road.POLL, github_event="issue_comment"))
            return None

    def _take_one(self, entry: Entry | None, polled: Polled) -> bool:
        """Whether we are through with an entry: it is on disk, or it is nothing for us.

        A fault of ours with one comment is recorded and keeps the cursor before it; those behind it are handed over.
        Raises StoreUnavailable, for then none of them can be.
        """
        if entry is None or entry.event is None or entry.version is None or entry.version in self._taken:
            return True
        try:
            self._hand_over(entry.event, polled)
        except StoreUnavailable:
            raise
        except Exception as error:
            polled.failures += 1
            self._means.emit(
                PollSourceError(
                    event_key=entry.event.key,
                    work_item=str(entry.event.label),
                    repository=self.name,
                    source_name=ISSUE_COMMENTS,
                    error=error,
                )
            )
            return False
        self._taken[entry.version] = entry.updated_at_ms
        return True

    def _hand_over(self, event: Event, polled: Polled) -> None:
        """Give one comment to the Dispatcher. Whoever it passes over, a stranger say, is nothing to us."""
        polled.seen += 1
        dispatcher = self._means.dispatcher
        if dispatcher.policy.authorities.may(event.actor):
            event = with_reading(event)
        delivery_id = event.key or ""
        delivery = Delivery(road=Road.POLL, delivery_id=delivery_id, arrived_at_ms=self._means.clock.wall_ms())
        handled = dispatcher.handle(event, delivery)
        if handled.fate is None or handled.event_key is None:
            return
        arrival = _arrival(event, delivery_id, handled.event_key)
        is_new = handled.status is Status.ACCEPTED
        if handled.fate is Fate.INFLIGHT:
            self._in_play.add(arrival)
        if is_new and handled.fate is Fate.INFLIGHT:
            polled.forwarded += 1
            self._means.emit(_forwarded(arrival))
        elif is_new and handled.outcome:
            polled.settled += 1
            self._means.emit(settled(arrival, handled.outcome))

    def _keep(self, cursor: Cursor) -> None:
        self._means.committer.write(lambda connection: write_cursor(connection, cursor))


def _arrival(event: Event, delivery_id: str, event_key: EventKey) -> OpenArrival:
    return OpenArrival(
        delivery_id=delivery_id,
        event_key=event_key,
        object_id=event.object_id,
        actor=event.actor.login if isinstance(event.actor, Account) else None,
        label=event.label,
    )


def _forwarded(arrival: OpenArrival) -> PollCommentForwarded:
    return PollCommentForwarded(
        delivery_id=arrival.delivery_id,
        event_key=arrival.event_key,
        work_item=str(arrival.label),
        comment_id=arrival.object_id,
        actor=arrival.actor,
    )
