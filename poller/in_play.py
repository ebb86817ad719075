"""The polled comments that are in play: watched until their event is settled or done, and resolved once."""

from __future__ import annotations

from domain.model import Fate, Road
from eventlog.events.poll import PollCommentSettled
from poller.means import Means
from statedb import cursors
from statedb.cursors import OpenArrival


class InPlay:
    """Remembers in memory what the store says is open; after a restart it is read from there. For one thread."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._open: dict[str, OpenArrival] | None = None

    def add(self, arrival: OpenArrival) -> None:
        """Watch an arrival. Safe to repeat."""
        self._arrivals()[arrival.delivery_id] = arrival

    def look(self) -> int:
        """Resolve what was settled or done meanwhile, and return how many were settled. Costs nothing while none is open.

        An event whose mark was released is let go here: whoever brings it anew watches it again. Raises
        StoreUnavailable; then the same is found again later.
        """
        arrivals = self._arrivals()
        outcomes: dict[str, str] = {}
        reader, dispatcher = self._means.database.reader(), self._means.dispatcher
        for delivery_id, arrival in list(arrivals.items()):
            match dispatcher.delivery_status(reader, arrival.event_key):
                case Fate.DONE:
                    outcomes[delivery_id] = ""
                case Fate.SETTLED:
                    outcomes[delivery_id] = dispatcher.delivery_outcome(reader, arrival.event_key)
                case Fate.UNHANDLED:
                    del arrivals[delivery_id]
                case Fate.INFLIGHT:
                    continue
        if outcomes:
            self._resolve(outcomes)
        return sum(outcome != "" for outcome in outcomes.values())

    def _arrivals(self) -> dict[str, OpenArrival]:
        if self._open is None:
            stored = cursors.open_arrivals(self._means.database.reader(), Road.POLL)
            self._open = {arrival.delivery_id: arrival for arrival in stored}
        return self._open

    def _resolve(self, outcomes: dict[str, str]) -> None:
        now_ms = self._means.clock.wall_ms()
        self._means.committer.write(lambda connection: cursors.resolve(connection, Road.POLL, list(outcomes), now_ms))
        for delivery_id, outcome in outcomes.items():
            arrival = self._arrivals().pop(delivery_id)
            if outcome:
                self._means.emit(settled(arrival, outcome))


def settled(arrival: OpenArrival, outcome: str) -> PollCommentSettled:
    """The log's line on a polled comment that is finished with."""
    return PollCommentSettled(
        delivery_id=arrival.delivery_id,
        event_key=arrival.event_key,
        work_item=str(arrival.label),
        comment_id=arrival.object_id,
        actor=arrival.actor,
        outcome=outcome,
    )
