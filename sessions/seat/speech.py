"""The verbs by which an agent speaks in the middle of a turn: recorded before they are sent, and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from eventlog.events.reply import ReplyRecorded
from sessions.seat import records
from sessions.seat.ports import Saying, SeatPorts, Sitter
from sessions.seat.protocol import Answer, Declined
from statedb import seat_rows, turn_rows
from statedb.database import Connection
from statedb.rows import ReplyRow
from statedb.writing import write_reply

REPLIES_MAX = 5
"""In one turn; a question is one."""
REPLY_BYTES_MAX = 64 * 1024
"""Of all replies of one turn together, in UTF-8."""


class Kind(StrEnum):
    """What an agent says through the seat."""

    REPLY = "reply"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class _Recorded:
    """`row` None: the same was said in this turn before."""

    row: ReplyRow | None
    said: int


def say(ports: SeatPorts, sitter: Sitter, kind: Kind, text: str) -> Answer:
    """Record a reply or a question on the running turn's thread; saying the same again in that turn records nothing.

    Raises Declined for an empty text, beyond the bounds, and where no turn is running.
    """
    said = sitter.masked(ports, text).strip()
    if not said:
        raise Declined("there is nothing to post: the text is empty")
    recorded = ports.committer.write(lambda connection: _record(connection, ports, sitter, kind, said))
    if recorded.row is not None:
        _tell(ports, sitter, recorded.row)
    return {"ok": True, "already_said": recorded.row is None, "replies_left": max(0, REPLIES_MAX - recorded.said)}


def _record(connection: Connection, ports: SeatPorts, sitter: Sitter, kind: Kind, text: str) -> _Recorded:
    """Inside the committer's transaction: the session and its turn may have ended since the request came."""
    now = records.sitter(connection, sitter.token)
    turn = records.running_turn(connection, now.session)
    earlier = turn_rows.said_in_turn(connection, turn.turn_id)
    row = ports.compose(
        Saying(
            turn_id=turn.turn_id,
            kind=kind,
            number=len(earlier),
            item_id=turn.item_id,
            thread=turn.thread,
            repository=now.item.repository,
            text=text,
            now_ms=ports.clock(),
        )
    )
    if kind is Kind.QUESTION:
        seat_rows.mark_waiting(connection, now.session.session_id)
    if row.whole in earlier:
        return _Recorded(None, len(earlier))
    _require_room(earlier, row.whole)
    write_reply(connection, row)
    return _Recorded(row, len(earlier) + 1)


def _require_room(earlier: Sequence[str], text: str) -> None:
    if len(earlier) >= REPLIES_MAX:
        raise Declined(
            f"{REPLIES_MAX} replies were posted in this turn, and no more are: say the rest in your answer at its end"
        )
    total_bytes = sum(len(said.encode()) for said in (*earlier, text))
    if total_bytes > REPLY_BYTES_MAX:
        raise Declined(
            f"the replies of a turn hold {REPLY_BYTES_MAX // 1024} KB together, and with this one they would have "
            f"{total_bytes} bytes: say it shorter, or put it into a file on your branch"
        )


def _tell(ports: SeatPorts, sitter: Sitter, row: ReplyRow) -> None:
    ports.emit(
        ReplyRecorded(
            work_item=str(sitter.label),
            session_id=sitter.session.session_id,
            turn_id=row.turn_id,
            reply_id=row.reply_id,
            kind=row.kind,
            channel=row.channel,
            body_bytes=len(row.body.encode()),
        )
    )
    ports.wake()
