"""How far a cursor moves after a listing, and what may be asked for by its ETag."""

from __future__ import annotations

import pytest

from domain.ports import Repository
from githubapi.conditional import Fetched
from githubapi.fields import Malformed
from poller.sources import OVERLAP_MS, Entry, Listing, Taken, moved, read_entry
from statedb.cursors import Cursor

NOW_MS = 1_000_000_000
SINCE_MS = NOW_MS - 600_000
CURSOR = Cursor(
    host="github.com",
    repository_id=7,
    source="issue-comments",
    address="/before",
    etag="",
    token_id="old",
    since_ms=SINCE_MS,
    watch_began_at_ms=1_000,
    complete_at_ms=5,
)
REPOSITORY = Repository(host="github.com", id=7, name="o/r", default_branch="main", clone_url="")


def _after(
    *times_ms: int,
    complete: bool = True,
    etag: str | None = '"e"',
    everything: bool = True,
    anything_new: bool = True,
    server_time_ms: int | None = NOW_MS,
) -> Cursor:
    fetched = Fetched(objects=[], complete=complete, gapless=0, etag=etag, server_time_ms=server_time_ms)
    taken = Taken(times_ms=times_ms, everything=everything, anything_new=anything_new)
    return moved(CURSOR, Listing(address="/asked", token_id="new", fetched=fetched), taken, NOW_MS)


@pytest.mark.parametrize(
    ("after", "since_ms"),
    [
        pytest.param(_after(), SINCE_MS, id="nothing was listed"),
        pytest.param(_after(SINCE_MS + 60_000), SINCE_MS + 60_000, id="what is old enough is behind it"),
        pytest.param(_after(NOW_MS - 1_000), NOW_MS - OVERLAP_MS, id="what is recent keeps it back"),
        pytest.param(_after(SINCE_MS - 5_000), SINCE_MS, id="it never moves back"),
        pytest.param(_after(SINCE_MS + 9_000, SINCE_MS + 2_000), SINCE_MS + 9_000, id="the newest counts"),
        pytest.param(_after(SINCE_MS + 1_999), SINCE_MS + 1_000, id="whole seconds only"),
        pytest.param(
            _after(NOW_MS, server_time_ms=SINCE_MS + OVERLAP_MS + 7_000), SINCE_MS + 7_000, id="by GitHub's own clock"
        ),
        pytest.param(
            _after(NOW_MS - 1_000, server_time_ms=None), NOW_MS - OVERLAP_MS, id="by our clock where it tells none"
        ),
        pytest.param(_after(SINCE_MS + 60_000, anything_new=False), SINCE_MS, id="nothing new: the request stands"),
        pytest.param(
            _after(SINCE_MS + 60_000, anything_new=False, etag=None), SINCE_MS + 60_000, id="no ETag to stand for"
        ),
    ],
)
def test_a_cursor_moves_behind_what_is_on_disk_and_no_further(after: Cursor, since_ms: int) -> None:
    assert after.since_ms == since_ms


@pytest.mark.parametrize(
    ("after", "etag", "complete_at_ms"),
    [
        pytest.param(_after(), '"e"', NOW_MS, id="whole, and the request stands"),
        pytest.param(_after(SINCE_MS + 60_000), "", NOW_MS, id="the request changed"),
        pytest.param(_after(complete=False), "", 5, id="a page is missing"),
        pytest.param(_after(everything=False), "", 5, id="something was not handed over"),
        pytest.param(_after(etag=None), "", NOW_MS, id="there is none"),
    ],
)
def test_an_etag_is_kept_only_for_an_answer_with_nothing_left_in_it(
    after: Cursor, etag: str, complete_at_ms: int
) -> None:
    assert (after.etag, after.complete_at_ms) == (etag, complete_at_ms)


def test_a_cursor_keeps_what_was_asked_and_with_which_token() -> None:
    after = _after()
    assert (after.address, after.token_id, after.watch_began_at_ms) == ("/asked", "new", 1_000)


def _comment(**changes: object) -> dict[str, object]:
    return {
        "id": 3,
        "body": "hello",
        "user": {"login": "ada", "id": 5, "type": "User"},
        "html_url": "https://github.com/o/r/issues/15#issuecomment-3",
        "issue_url": "https://api.github.com/repos/o/r/issues/15",
        "created_at": "1970-01-01T00:00:01Z",
        "updated_at": "1970-01-01T00:00:01Z",
        **changes,
    }


@pytest.mark.parametrize(
    ("began_ms", "is_before"),
    [(1_000, False), (1_001, True), (2_000, True)],
    ids=["in the second in which the watch began", "just before", "before"],
)
def test_what_was_created_before_the_watch_is_marked_so(began_ms: int, is_before: bool) -> None:
    event = read_entry(_comment(updated_at="1970-01-01T00:01:00Z"), REPOSITORY, began_ms).event
    assert event is not None
    assert event.before_watch is is_before


@pytest.mark.parametrize("body", [None, "", " \n"])
def test_an_empty_body_is_no_event_but_has_its_time(body: object) -> None:
    assert read_entry(_comment(body=body), REPOSITORY, 0) == Entry(updated_at_ms=1_000, event=None)


@pytest.mark.parametrize(
    "changes", [{"updated_at": "yesterday"}, {"issue_url": "https://api.github.com/"}, {"id": 0}, {"body": 5}]
)
def test_another_shape_is_malformed(changes: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        read_entry(_comment(**changes), REPOSITORY, 0)


def test_two_texts_of_one_second_are_two_versions() -> None:
    first, second = (read_entry(_comment(body=body), REPOSITORY, 0) for body in ("one", "two"))
    assert first.version != second.version
