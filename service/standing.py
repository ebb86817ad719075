"""How the service and its work items stand, from the store, the lock and the service itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from domain.model import EventKey, Label
from service.orders import Live
from service.telling import at, count, harmless, iso
from statedb import inquiries
from statedb.database import Connection
from statedb.inquiries import ItemStanding

GAVE_UP_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The answer to `status`."""

    state_folder: str
    is_running: bool
    """Whether a process holds the state folder's lock."""
    live: Live | None
    """What the service says of itself; None where none runs, or it does not answer."""
    counts: Mapping[str, Mapping[str, int]]
    """By what is counted, then by kind; empty where nothing was ever stored."""
    gave_up: Sequence[tuple[EventKey, str, int]]


def standing_of(state_folder: Path, connection: Connection | None, *, is_running: bool, live: Live | None) -> Standing:
    """How everything stands by the store; None: nothing was ever stored."""
    return Standing(
        state_folder=str(state_folder),
        is_running=is_running,
        live=live,
        counts=_counted(connection) if connection else {},
        gave_up=inquiries.gave_up(connection, GAVE_UP_MAX) if connection else [],
    )


def _counted(connection: Connection) -> dict[str, dict[str, int]]:
    """Everything that `status` counts."""
    return {what: inquiries.count_by(connection, what) for what in inquiries.COUNTS}


def standing_lines(standing: Standing) -> Iterator[str]:
    """`status` as people read it."""
    yield f"state      {standing.state_folder}"
    yield f"service    {_service(standing)}"
    if standing.live and (standing.live.log_lines_held or standing.live.log_lines_lost):
        held, lost = standing.live.log_lines_held, standing.live.log_lines_lost
        yield f"log        cannot be written: {count(held, 'line')} held in memory, {lost} lost (is the disk full?)"
    if standing.live and standing.live.telegram is not None:
        yield f"telegram   {harmless(standing.live.telegram)}"
    if not standing.counts:
        yield "           nothing was ever stored here"
        return
    yield f"items      {_kinds(standing.counts['phases'])}"
    yield f"sessions   {_kinds(standing.counts['sessions'])}"
    yield f"waiting    {_kinds(standing.counts['waiting'])}"
    yield f"unhandled  {_kinds(standing.counts['unhandled'])}"
    yield f"replies    {_kinds(standing.counts['replies'])} on their way; {_kinds(standing.counts['lost_replies'])} lost"
    for key, url, at_ms in standing.gave_up:
        yield f"gave up    {at(at_ms)}  {harmless(url or key)}"


def standing_form(standing: Standing) -> dict[str, object]:
    """`status` as programs read it."""
    return {
        "state_folder": standing.state_folder,
        "running": standing.is_running,
        "service": asdict(standing.live) if standing.live else None,
        **standing.counts,
        "gave_up": [{"event_key": key, "url": url, "at": iso(at_ms)} for key, url, at_ms in standing.gave_up],
    }


def session_lines(standings: Sequence[ItemStanding]) -> Iterator[str]:
    """`sessions list` as people read it."""
    rows = [("work item", "phase", "session", "waiting", "last turn", "title"), *map(_cells, standings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, [*widths, 0], strict=True)).rstrip()


def _cells(standing: ItemStanding) -> tuple[str, str, str, str, str, str]:
    item, session = standing.item, standing.session
    failed = item.failed_generation is not None and item.failed_generation == item.folded.generation
    state = "-" if session is None else "in a turn" if standing.in_turn else session.state
    if session and session.waits_for_person and not standing.in_turn:
        state += ", asked"
    return (
        harmless(str(Label(host=item.home.host, repository=item.repository, number=item.home.number))),
        "failed" if failed else item.folded.phase,
        state,
        str(standing.waiting),
        at(session.last_turn_at_ms) if session else "-",
        harmless(item.snapshot.title)[:60] if item.snapshot else "",
    )


def _service(standing: Standing) -> str:
    live = standing.live
    if not standing.is_running:
        return "not running: start it with `the-loop serve`"
    if live is None:
        return "running, but it does not answer: it is starting, ending or stuck"
    wrong = [
        words
        for holds, words in (
            (live.store_writable, "the store cannot be written"),
            (live.workers_up, "the workers are ending"),
            (live.admission_open, "it takes nothing new"),
        )
        if not holds
    ]
    return f"running (pid {live.pid}), {', '.join(wrong) if wrong else 'ready'}"


def _kinds(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind or 'other'}" for kind, number in sorted(kinds.items())) or "none"
