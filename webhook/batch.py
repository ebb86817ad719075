"""One pass of deciding: the store as it was found, what the events before have changed of it, and the rows to write."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from domain.model import Event, EventKey, Fate, ItemId, Place, TurnId
from domain.phase import PhaseCommand
from domain.policy import ItemView, TextView, View
from eventlog.event import LogEvent
from replies.record import THREAD, recorded_line
from statedb import reading
from statedb.database import Connection
from statedb.reading import Seen
from statedb.rows import AcceptedEvent, FateRow, ItemRow, ReplyRow, Rows, Step, TextRow

OTHER_INSTANCE_MS = 7 * 24 * 3600 * 1000
"""How long another instance's marker keeps a start back."""


@dataclass(slots=True)
class Batch:
    """The state that a pass over several events works on. Each event sees what those before it changed."""

    connection: Connection
    seen: Seen
    now_ms: int
    rows: Rows = field(default_factory=Rows)
    log: list[LogEvent] = field(default_factory=list)
    marks: list[tuple[EventKey, str | None]] = field(default_factory=list)
    """What the Deduper is to learn: key and outcome, None for a released mark."""

    def item_of(self, event: Event) -> ItemRow | None:
        """The item that the event's thread belongs to, if we know it."""
        item_id = self.seen.threads.get(event.thread)
        return self.seen.items[item_id] if item_id is not None else None

    def claim_item(self, event: Event) -> ItemRow:
        """The event's item, made now where there is none; its name and snapshot follow the newest."""
        item = self.item_of(event)
        if item is None:
            item = ItemRow(
                item_id=ItemId(self.seen.next_item_id),
                home=event.thread,
                repository=event.label.repository,
                created_at_ms=self.now_ms,
                changed_at_ms=self.now_ms,
            )
            self.seen.next_item_id += 1
            self.rows.threads.append((event.thread, item.item_id))
        return self.put_item(_with_news(item, event))

    def put_item(self, item: ItemRow) -> ItemRow:
        """Keep a changed item, for the events behind and for the store, which notes when it was changed."""
        self.seen.threads.setdefault(item.home, item.item_id)
        self.seen.items[item.item_id] = self.rows.items[item.item_id] = item
        return item

    def put_fate(self, row: FateRow) -> FateRow:
        """Keep what became of an event."""
        known = [other for other in self.seen.fates.get(row.event_key, []) if other.item_id != row.item_id]
        self.seen.fates[row.event_key] = [*known, row]
        self.rows.fates.append(row)
        released = row.fate is Fate.UNHANDLED and not row.gave_up
        self.marks.append((row.event_key, None if released else row.outcome or ""))
        waits = row.fate is Fate.INFLIGHT and row.step in (Step.QUEUED, Step.BEHIND)
        (self.seen.waiting.add if waits else self.seen.waiting.discard)(row.event_key)
        if row.step is Step.NEED:
            self.seen.undecided.setdefault(row.item_id, []).append(row.place)
        return row

    def no_longer_undecided(self, item_id: ItemId, place: Place) -> None:
        """A command got its facts: comments behind it may be decided."""
        self.seen.undecided[item_id] = [other for other in self.seen.undecided.get(item_id, []) if other != place]

    def accept(self, event: Event, key: EventKey) -> None:
        """Keep the event and its text."""
        self.rows.events.append(AcceptedEvent(event=event, key=key, accepted_at_ms=self.now_ms))

    def text_of(self, event: Event) -> TextRow | None:
        """The newest version known of the text that the event is about."""
        return self.seen.texts.get((event.thread.host, event.fact.value, event.object_id))

    def put_text(self, text: TextRow) -> None:
        """Keep the newest version of a text."""
        self.seen.texts[(text.host, text.fact.value, text.object_id)] = text
        self.rows.texts.append(text)

    def say(self, reply: ReplyRow | None) -> None:
        """Record something to say, if there is anything."""
        if reply is None:
            return
        self.rows.replies.append(reply)
        if reply.channel == THREAD:
            self.log.append(recorded_line(reply))

    def take_back(self, key: EventKey) -> TurnId | None:
        """Cancel the frozen turn that carries the event, so that what remains of it is frozen anew."""
        turn_id = self.seen.turns.pop(key, None)
        if turn_id is not None and turn_id not in self.rows.cancelled_turns:
            self.rows.cancelled_turns.append(turn_id)
        return turn_id

    def commands(self, item_id: ItemId) -> list[PhaseCommand]:
        """All commands of an item, those of this pass among them."""
        stored = reading.commands_of(self.connection, item_id)
        return stored + [command for owner, command in self.rows.commands if owner == item_id]

    def refused(self, item: ItemRow) -> int:
        """How many comments that stand on the thread the next session is told of."""
        fresh = [row.place for row in self.rows.fates if row.item_id == item.item_id and row.outcome in reading.REFUSED]
        stored = reading.still_refused(self.connection, item, item.refused - len(fresh))
        gone = {(text.fact, text.object_id) for text in self.rows.texts if text.deleted_at_ms is not None}
        return len((stored | {(place.fact, place.number) for place in fresh}) - gone)

    def view(self, event: Event, item: ItemRow) -> View:
        """What a decision on the event looks at."""
        text = self.text_of(event)
        return View(item=self.item_view(item), text=self._text_view(text) if text else None)

    def item_view(self, item: ItemRow) -> ItemView:
        """The item as a decision sees it."""
        heard_at = item.other_instance_at_ms
        other = item.other_instance if heard_at is not None and self.now_ms - heard_at < OTHER_INSTANCE_MS else None
        return ItemView(
            folded=item.folded,
            failed=item.failed_generation is not None and item.failed_generation == item.folded.generation,
            undecided=tuple(self.seen.undecided.get(item.item_id, ())),
            refused=item.refused,
            has_session=item.item_id in self.seen.live,
            home=item.home,
            other_instance=other,
        )

    def _text_view(self, text: TextRow) -> TextView:
        return TextView(
            updated_at_ms=text.updated_at_ms,
            body_sha256=text.body_sha256,
            verbs=text.verbs,
            is_deleted=text.deleted_at_ms is not None,
            is_waiting=text.event_key in self.seen.waiting,
        )


def _with_news(item: ItemRow, event: Event) -> ItemRow:
    """The item with the newest name, snapshot and time that the event brings."""
    snapshot = event.snapshot
    if snapshot is None or (item.snapshot is not None and snapshot.updated_at_ms < item.snapshot.updated_at_ms):
        snapshot = item.snapshot
    return replace(
        item,
        repository=event.label.repository if event.thread == item.home else item.repository,
        snapshot=snapshot if event.thread == item.home else item.snapshot,
        newest_ms=max(item.newest_ms, event.place.at_ms),
    )
