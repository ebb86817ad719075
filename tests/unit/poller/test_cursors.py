"""What the store keeps for the polled road: cursors, and the arrivals that nothing has resolved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from domain.model import Label, Road
from statedb.cursors import Cursor, OpenArrival, cursor_of, open_arrivals, resolve, write_cursor
from statedb.database import Connection
from tests.fakes.core import comment, delivery
from tests.fakes.dispatching import Dispatching

CURSOR = Cursor(
    host="github.com",
    repository_id=7,
    source="issue-comments",
    address="/asked?since=1",
    etag='"e"',
    token_id="t",
    since_ms=2_000,
    watch_began_at_ms=1_000,
)


@pytest.fixture
def dispatching(tmp_path: Path) -> Iterator[Dispatching]:
    with Dispatching(tmp_path) as dispatching:
        yield dispatching


@pytest.fixture
def reader(dispatching: Dispatching) -> Connection:
    return dispatching.database.reader()


def test_a_source_that_is_not_watched_has_no_cursor(dispatching: Dispatching, reader: Connection) -> None:
    dispatching.committer.write(lambda c: write_cursor(c, CURSOR))
    for other in (("ghe.example", 7, "issue-comments"), ("github.com", 8, "issue-comments"), ("github.com", 7, "x")):
        assert cursor_of(reader, *other) is None


@pytest.mark.parametrize("complete_at_ms", [None, 9])
def test_a_cursor_is_read_as_it_was_written(
    dispatching: Dispatching, reader: Connection, complete_at_ms: int | None
) -> None:
    cursor = replace(CURSOR, complete_at_ms=complete_at_ms)
    dispatching.committer.write(lambda c: write_cursor(c, cursor))
    assert cursor_of(reader, "github.com", 7, "issue-comments") == cursor


def test_a_cursor_moves_and_when_its_watch_began_never_changes(dispatching: Dispatching, reader: Connection) -> None:
    later = replace(CURSOR, address="/b", etag="", token_id="u", since_ms=5_000, complete_at_ms=6_000)
    dispatching.committer.write(lambda c: write_cursor(c, CURSOR))
    dispatching.committer.write(lambda c: write_cursor(c, replace(later, watch_began_at_ms=4_000)))
    assert cursor_of(reader, "github.com", 7, "issue-comments") == later


def test_an_arrival_is_open_until_it_is_resolved_and_other_roads_are_not_ours(
    dispatching: Dispatching, reader: Connection
) -> None:
    start, queued, pushed = comment(1, "the-loop start"), comment(2), comment(3)
    for event in (start, queued):
        dispatching.dispatcher.handle(event, delivery(Road.POLL, f"poll {event.object_id}"))
    dispatching.dispatcher.handle(pushed, delivery())
    label = Label(host="github.com", repository="o/r", number=15)
    expected = [
        OpenArrival(
            delivery_id=f"poll {event.object_id}",
            event_key=event.key,
            object_id=event.object_id,
            actor="ada",
            label=label,
        )
        for event in (start, queued)
        if event.key is not None
    ]
    assert open_arrivals(reader, Road.POLL) == expected
    dispatching.committer.write(lambda c: resolve(c, Road.POLL, ["poll 1", "unknown"], 77))
    dispatching.committer.write(lambda c: resolve(c, Road.POLL, ["poll 1"], 99))
    assert open_arrivals(reader, Road.POLL) == expected[1:]
    assert dispatching.rows("SELECT resolved_at FROM deliveries WHERE delivery_id = 'poll 1'") == [(77,)]
