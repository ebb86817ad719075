"""The reply ledger's sending half: which part is next, who has it, whether it may have left, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import apsw

from domain.sending import Abandon, Dead, Delivered, Doubt, Following, Wait

OWNER_KEPT_MS = 7 * 24 * 3600 * 1000
"""How long the row of a process that no longer beats is kept for people to look at."""


class PartState(StrEnum):
    """How a part's sending stands."""

    QUEUED = "queued"
    """Never tried."""
    SENDING = "sending"
    """Somebody has it, until the lease ends."""
    WAITING = "waiting"
    """Certainly not there; it is tried at `retry_at`."""
    UNKNOWN = "unknown"
    """It may be there; the thread is asked at `retry_at`."""
    DELIVERED = "delivered"
    """It stands where it belongs."""
    DEAD = "dead"
    """It can never be delivered."""
    ABANDONED = "abandoned"
    """We stopped trying."""


class Wire(StrEnum):
    """The evidence that a part's request left this machine."""

    NEVER = "never"
    """It certainly did not."""
    MAYBE = "maybe"
    """It may have."""
    YES = "yes"
    """It did: the answer, the thread or an echo says so."""


class Noted(StrEnum):
    """What became of a conclusion that was to be written."""

    WRITTEN = "written"
    ECHOED = "echoed"
    """The part was delivered already, by the echo of our own comment."""
    STALE = "stale"
    """Somebody else has taken the part since: nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process that sends. `owner_id` is random for each process; the rest is for people."""

    owner_id: str
    host: str
    boot_id: str
    pid: int
    lock_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """For whom, from when and until when a part is claimed."""

    owner_id: str
    now_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A part that may be claimed, as it was found; `due_at_ms` is when, any time gone by: now."""

    reply_id: str
    part: int
    fence: int
    state: PartState
    becomes: PartState
    """Its state in the claimer's hands."""
    due_at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A part in somebody's hands; every later write quotes `fence`, so that who lost it cannot write any more."""

    reply_id: str
    part: int
    fence: int
    state: PartState
    """SENDING, or UNKNOWN where the thread is to be asked; the state before where the part has expired."""
    wire: Wire
    """As it was when the part was claimed."""
    attempts: int
    """Sends that may have left, before this claim."""
    origin: str
    turn_id: str | None
    channel: str
    target: str
    body: str
    recorded_at_ms: int
    failed_unsent: bool
    """The try before had certainly not left."""
    tried_at_ms: int | None
    first_server_time_ms: int | None
    questions: int
    absent_since_ms: int | None


Lanes = Mapping[str, bool]
"""The channels that we send by, and whether what goes to one thread by them keeps its order. Those that do go first."""


def next_due(connection: apsw.Connection, lanes: Lanes, now_ms: int, alive_ms: int) -> Candidate | None:
    """The part that is to be sent or asked for next; where none is due, the one that will be first; None where there is none.

    A part never tried is due whatever its time says. Parts that expired by `alive_ms` are left alone.
    """
    return _candidate(connection, _NEXT_DUE, {"lanes": _written(lanes), "now": now_ms, "alive": alive_ms})


def next_lapsed(connection: apsw.Connection, lanes: Lanes, now_ms: int) -> Candidate | None:
    """A part whose sender did not come back before its lease ended, whoever it was."""
    return _candidate(connection, _NEXT_LAPSED, {"lanes": _written(lanes), "now": now_ms})


def next_expired(connection: apsw.Connection, lanes: Lanes, now_ms: int, alive_ms: int) -> Candidate | None:
    """A part that nobody is sending and whose time was over by `alive_ms`."""
    return _candidate(connection, _NEXT_EXPIRED, {"lanes": _written(lanes), "now": now_ms, "alive": alive_ms})


def claim(connection: apsw.Connection, candidate: Candidate, lease: Lease) -> Claim | None:
    """Take a part; None where somebody else has taken it since it was looked up, or where it is delivered by now.

    Looking up is apart, on a connection that only reads, because it may take long and holds up nobody there. It cannot
    grow wrong: what is first in its lane stays first, and whoever takes it changes its fence.
    """
    row = connection.execute(
        _CLAIM,
        {
            "reply": candidate.reply_id, "number": candidate.part, "found": candidate.fence, "state": candidate.state,
            "becomes": candidate.becomes, "owner": lease.owner_id, "until": lease.until_ms,
        },
    ).fetchone()  # fmt: skip
    if row is None:
        return None
    origin, turn_id, channel, target, created_at = connection.execute(
        "SELECT origin, turn_id, channel, target, created_at FROM replies WHERE reply_id = ?", (row[0],)
    ).get
    part = Claim(
        reply_id=row[0], part=row[1], fence=row[2], state=PartState(row[3]), wire=Wire(row[4]), attempts=row[5],
        body=row[6], failed_unsent=row[7] == _NOT_SENT, tried_at_ms=row[8], first_server_time_ms=row[9],
        questions=row[10], absent_since_ms=row[11], origin=origin, turn_id=turn_id, channel=channel, target=target,
        recorded_at_ms=created_at,
    )  # fmt: skip
    _log(connection, part, lease.now_ms, f"claimed {lease.owner_id}")
    return part


def may_leave(connection: apsw.Connection, claim: Claim, now_ms: int) -> bool:
    """Note that the request may leave from the moment this is on disk; False where the part is no longer the claimer's."""
    connection.execute(
        "UPDATE reply_parts SET wire = 'maybe', attempts = attempts + 1, dispatched_at_local = ?, absent_since = NULL,"
        " updated_at = ? WHERE reply_id = ? AND part = ? AND fence = ? AND state = 'sending'",
        (now_ms, now_ms, claim.reply_id, claim.part, claim.fence),
    )
    if not connection.changes():
        return False
    _log(connection, claim, now_ms, "may-leave")
    return True


def conclude(
    connection: apsw.Connection, claim: Claim, following: Following, *, now_ms: int, server_time_ms: int | None = None
) -> Noted:
    """Write what follows from a try or a question, and let go of the part. Safe to repeat while nobody else has taken it."""
    columns = _columns(claim, following, now_ms) | {
        "owner_id": None,
        "lease_until": None,
        "updated_at": now_ms,
    }
    names = ", ".join(f"{name} = :{name}" for name in columns)
    connection.execute(
        f"UPDATE reply_parts SET {names}, dispatched_at_server = coalesce(:server, dispatched_at_server),"  # noqa: S608 our names
        " first_dispatched_at_server = CASE WHEN attempts = 1 THEN coalesce(first_dispatched_at_server, :server)"
        " ELSE first_dispatched_at_server END"
        f" WHERE reply_id = :reply AND part = :number AND fence = :held AND state IN {_OPEN_STATES}",
        columns | {"server": server_time_ms, "reply": claim.reply_id, "number": claim.part, "held": claim.fence},
    )
    if not connection.changes():
        return _why_not(connection, claim)
    _log(connection, claim, now_ms, _what(following))
    _close_reply(connection, claim.reply_id, following)
    return Noted.WRITTEN


def release_dead(connection: apsw.Connection, now_ms: int) -> None:
    """Let every lease lapse: whoever held one is gone, for the caller holds the state folder. Once at start."""
    connection.execute(
        "UPDATE reply_parts SET lease_until = ? WHERE owner_id IS NOT NULL AND lease_until > ?", (now_ms, now_ms)
    )


def beat(connection: apsw.Connection, owner: Owner, now_ms: int) -> None:
    """Say that a sender lives, and forget those that have not for a week."""
    connection.execute(
        "INSERT INTO owners (owner_id, host, boot_id, pid, lock_path, heartbeat_at) VALUES (?,?,?,?,?,?)"
        " ON CONFLICT (owner_id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at",
        (owner.owner_id, owner.host, owner.boot_id, owner.pid, owner.lock_path, now_ms),
    )
    connection.execute("DELETE FROM owners WHERE heartbeat_at < ?", (now_ms - OWNER_KEPT_MS,))


def clamp(connection: apsw.Connection, now_ms: int, *, wait_max_ms: int, lease_max_ms: int) -> int:
    """Shorten waits and leases that no rule of ours gives: they were written by a clock that was wrong. How many."""
    connection.execute(
        "UPDATE reply_parts SET retry_at = :latest WHERE state IN ('waiting', 'unknown') AND retry_at > :latest",
        {"latest": now_ms + wait_max_ms},
    )
    shortened = connection.changes()
    connection.execute(
        f"UPDATE reply_parts SET lease_until = :latest WHERE state IN {_OPEN_STATES} AND lease_until > :latest",  # noqa: S608
        {"latest": now_ms + lease_max_ms},
    )
    return shortened + connection.changes()


_OPEN_STATES = "('queued', 'waiting', 'sending', 'unknown')"

# Only the first open part of a lane is ever found: whatever is sent, waits or is in doubt holds back what comes after it.
_NEXT_DUE = (
    "WITH open AS (SELECT p.reply_id, p.part, p.fence, p.state, p.retry_at, r.expires_at, l.value AS keeps_order,"  # noqa: S608
    " max(CASE p.state WHEN 'queued' THEN 0 ELSE p.retry_at END, coalesce(p.lease_until, 0)) AS due_at,"
    " row_number() OVER (PARTITION BY r.channel, CASE WHEN l.value"
    " THEN json_array(r.target ->> 0, r.target ->> 1, r.target ->> 2) ELSE r.reply_id END"
    " ORDER BY r.created_at, r.number, r.reply_id, p.part) AS place"
    " FROM reply_parts p JOIN replies r ON r.reply_id = p.reply_id JOIN json_each(:lanes) l ON l.key = r.channel"
    f" WHERE p.state IN {_OPEN_STATES})"
    " SELECT reply_id, part, fence, state, CASE state WHEN 'unknown' THEN state ELSE 'sending' END, due_at FROM open"
    " WHERE place = 1 AND state <> 'sending' AND expires_at > :alive"
    " ORDER BY due_at > :now, due_at <= :now AND NOT keeps_order,"
    " CASE WHEN due_at > :now THEN due_at ELSE retry_at END, reply_id LIMIT 1"
)
_LEFT_ALONE = (
    "SELECT p.reply_id, p.part, p.fence, p.state, p.state, :now FROM reply_parts p"
    " JOIN replies r ON r.reply_id = p.reply_id JOIN json_each(:lanes) l ON l.key = r.channel"
    " WHERE coalesce(p.lease_until, 0) <= :now"
)
_NEXT_LAPSED = f"{_LEFT_ALONE} AND p.state = 'sending' LIMIT 1"
_NEXT_EXPIRED = f"{_LEFT_ALONE} AND p.state IN ('queued', 'waiting', 'unknown') AND r.expires_at <= :alive LIMIT 1"
_CLAIM = (
    "UPDATE reply_parts SET fence = fence + 1, state = :becomes, owner_id = :owner, lease_until = :until"
    " WHERE reply_id = :reply AND part = :number AND fence = :found AND state = :state"
    " RETURNING reply_id, part, fence, state, wire, attempts, body, fail_class, dispatched_at_local,"
    " first_dispatched_at_server, probes, absent_since"
)


def _candidate(connection: apsw.Connection, query: str, bindings: Mapping[str, str | int]) -> Candidate | None:
    row = connection.execute(query, bindings).fetchone()
    if row is None:
        return None
    return Candidate(
        reply_id=row[0], part=row[1], fence=row[2], state=PartState(row[3]), becomes=PartState(row[4]), due_at_ms=row[5]
    )


def _written(lanes: Lanes) -> str:
    return json.dumps(dict(lanes))


_NOT_SENT = "not-sent"
_IN_DOUBT = "in-doubt"


def _columns(claim: Claim, following: Following, now_ms: int) -> dict[str, str | int | None]:
    """What a conclusion changes in the part's row."""
    match following:
        case Delivered(comment_id=comment_id, url=url):
            return {
                "state": PartState.DELIVERED, "wire": Wire.YES, "provider_id": comment_id, "provider_url": url,
                "fail_class": "", "fail_text": "",
            }  # fmt: skip
        case Wait(at_ms=at_ms, reason=reason, spends=True):
            return {"state": PartState.WAITING, "retry_at": at_ms, "fail_class": _IN_DOUBT, "fail_text": reason}
        case Wait(at_ms=at_ms, reason=reason):
            return {
                "state": PartState.WAITING, "retry_at": at_ms, "fail_class": _NOT_SENT, "fail_text": reason,
                "wire": claim.wire, "attempts": claim.attempts,
            }  # fmt: skip
        case Doubt(ask_at_ms=ask_at_ms, reason=reason, absent_since_ms=absent_since_ms):
            questions = claim.questions + (1 if claim.state is PartState.UNKNOWN else 0)
            return {
                "state": PartState.UNKNOWN, "retry_at": ask_at_ms, "fail_class": _IN_DOUBT, "fail_text": reason,
                "absent_since": absent_since_ms, "probes": questions,
            }  # fmt: skip
        case Dead(reason=reason):
            return {"state": PartState.DEAD, "fail_class": "refused", "fail_text": reason}
        case Abandon(reason=reason):
            return {"state": PartState.ABANDONED, "fail_class": "abandoned", "fail_text": reason}


def _what(following: Following) -> str:
    name = type(following).__name__.lower()
    return name if isinstance(following, Delivered) else f"{name} {following.reason}"


def _why_not(connection: apsw.Connection, claim: Claim) -> Noted:
    state = connection.execute(
        "SELECT state FROM reply_parts WHERE reply_id = ? AND part = ?", (claim.reply_id, claim.part)
    ).get
    return Noted.ECHOED if state == PartState.DELIVERED else Noted.STALE


def _close_reply(connection: apsw.Connection, reply_id: str, following: Following) -> None:
    """A reply is delivered when its last part is, and ends with the first part that never will be."""
    match following:
        case Delivered():
            connection.execute(
                "UPDATE replies SET state = 'delivered' WHERE reply_id = ?1 AND NOT EXISTS"
                " (SELECT 1 FROM reply_parts WHERE reply_id = ?1 AND state <> 'delivered')",
                (reply_id,),
            )
        case Dead(reason=reason) | Abandon(reason=reason):
            state = PartState.DEAD if isinstance(following, Dead) else PartState.ABANDONED
            connection.execute(
                "UPDATE replies SET state = ?, dead_reason = ? WHERE reply_id = ?", (state, reason, reply_id)
            )
        case Wait() | Doubt():
            return


def _log(connection: apsw.Connection, claim: Claim, now_ms: int, what: str) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO reply_attempts (reply_id, part, fence, at, what) VALUES (?,?,?,?,?)",
        (claim.reply_id, claim.part, claim.fence, now_ms, what),
    )
