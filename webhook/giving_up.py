"""A failed attempt, and the one place where attempts end: an event, a sign, one notice on the thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from domain import texts
from domain.control import Verb
from domain.decision import Effect
from domain.model import TEXT_FACTS, EventKey, Fate, ItemId, Outcome, UnhandledReason
from domain.retry import Again, GiveUp, after_failure, at_no_charge
from eventlog.event import LogEvent
from eventlog.events.control import ControlExecuted
from eventlog.events.dispatch import DispatchFailed, DispatchGaveUp, DispatchSettled
from replies.record import GAVE_UP, Recorder, recorded_line, target_of
from statedb import work
from statedb.database import Connection
from statedb.reading import item_by_id
from statedb.rows import Step
from statedb.work import WaitingRow
from statedb.writing import write_reply


@dataclass(slots=True)
class Written:
    """What a transaction of the worker's leaves to be told once it is on disk."""

    log: list[LogEvent] = field(default_factory=list)
    marks: list[tuple[EventKey, str | None]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an attempt failed; `cause` is of our own making. With a free pause no attempt is spent: the trouble is not the
    comment's."""

    cause: str
    free_pause_s: float | None = None
    reason: UnhandledReason = UnhandledReason.GIVEN_UP
    """What the events are left with in the end."""


def note_failure(
    connection: Connection, item_id: ItemId, rows: Sequence[WaitingRow], failure: Failure, retries_max: int,
    recorder: Recorder, now_ms: int,
) -> Written:  # fmt: skip
    """Spend an attempt of these rows, or give them up; what waits for the same prompt shares their fate."""
    if not rows:
        return Written()
    spent = max(row.fate.attempts for row in rows)
    free_s = failure.free_pause_s
    again = at_no_charge(spent, now_ms, free_s) if free_s else after_failure(spent, retries_max, now_ms)
    match again:
        case Again(attempts=attempts, at_ms=at_ms):
            work.set_attempts(connection, item_id, [r.fate.event_key for r in rows], attempts, at_ms, now_ms)
            return Written(log=[_failed(row, attempts, at_ms, failure.cause) for row in rows])
        case GiveUp(attempts=attempts):
            return give_up(connection, item_id, rows, attempts, failure, recorder, now_ms)


def give_up(
    connection: Connection, item_id: ItemId, rows: Sequence[WaitingRow], attempts: int, failure: Failure, recorder: Recorder,
    now_ms: int,
) -> Written:  # fmt: skip
    """End the attempts of these rows. A start that gives up takes what waits behind it along, and the phase fails."""
    if any(row.fate.verb is Verb.START for row in rows):
        rows = [
            row
            for row in work.waiting_rows(connection, item_id)
            if row.fate.step in (Step.QUEUED, Step.FROZEN, Step.BEHIND)
        ]
        fail_phase(connection, item_id)
    keys = [row.fate.event_key for row in rows]
    work.set_fates(connection, item_id, keys, Fate.UNHANDLED, now_ms, reason=failure.reason)
    urls = tuple(row.event.url for row in rows if row.event.url)
    notice = recorder.comment(
        keys[0], f"notice-{now_ms}", 0, item_id=item_id, target=target_of(rows[0].event),
        text=texts.gave_up(urls, attempts, failure.cause), now_ms=now_ms,
    )  # fmt: skip
    write_reply(connection, notice)
    for row in rows:
        reaction = recorder.reaction(row.event, GAVE_UP, item_id=item_id, now_ms=now_ms)
        if reaction is not None:
            write_reply(connection, reaction)
    log: list[LogEvent] = [
        DispatchGaveUp(
            event_key=row.fate.event_key, work_item=str(row.event.label), attempts=attempts, error=failure.cause
        )
        for row in rows
    ]
    log.append(recorded_line(notice))
    return Written(log=log, marks=[(key, "" if failure.reason is UnhandledReason.GIVEN_UP else None) for key in keys])


def fail_phase(connection: Connection, item_id: ItemId) -> None:
    """The start of the item's generation gave up; the next comment re-arms it."""
    item = item_by_id(connection, item_id)
    if item is not None:
        work.set_failed(connection, item_id, item.folded.generation)


def stopped_outcome(row: WaitingRow) -> Outcome:
    """How a row ends whose turn never reached an agent: a comment is refused, a command was executed all the same."""
    is_comment = row.fate.verb is None and row.event.fact in TEXT_FACTS
    return Outcome.SESSION_STOPPED if is_comment else Outcome.CONTROL_EXECUTED


def settle_stopped(connection: Connection, item_id: ItemId, rows: Sequence[WaitingRow], now_ms: int) -> Written:
    """A stop came between: settle what no agent had, and count its comments as refused."""
    written = Written()
    for row in rows:
        outcome = stopped_outcome(row)
        key = row.fate.event_key
        work.set_fates(connection, item_id, [key], Fate.SETTLED, now_ms, outcome=outcome)
        if outcome is Outcome.SESSION_STOPPED:
            work.count_refused(connection, item_id, 1, row.event.place.at_ms)
        elif row.fate.verb in (Verb.START, Verb.RESUME):
            work.set_effect(connection, item_id, key, Effect.SUPERSEDED)
        written.marks.append((key, outcome))
        written.log.append(settled_line(row, outcome))
    return written


def settled_line(row: WaitingRow, outcome: Outcome) -> LogEvent:
    """What the log says of a row that ends without a session."""
    key, about = row.fate.event_key, str(row.event.label)
    if outcome is Outcome.CONTROL_EXECUTED:
        verb = row.fate.verb or "close"
        effect = Effect.SUPERSEDED if verb in (Verb.START, Verb.RESUME) else row.fate.effect
        return ControlExecuted(event_key=key, work_item=about, verb=verb, effect=effect)
    return DispatchSettled(event_key=key, work_item=about, outcome=outcome)


def _failed(row: WaitingRow, attempts: int, at_ms: int, cause: str) -> DispatchFailed:
    return DispatchFailed(
        event_key=row.fate.event_key, work_item=str(row.event.label), attempt=attempts, will_retry=True,
        next_at=_iso(at_ms), error=cause,
    )  # fmt: skip


def _iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
