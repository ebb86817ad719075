"""From a recorded reply to the comment that people see, over real HTTP: one comment, whatever GitHub does meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from domain.ports import ThreadPort
from service.demo.github.faults import Trouble
from statedb.rows import EchoRow, Rows
from statedb.writing import write_rows
from tests.fakes.publishing import Around, HandClock, Hub, Publishing, Store

COMMENTS = "*/issues/*/comments"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub(tmp_path / "hub") as hub:
        yield hub


@pytest.fixture
def store(tmp_path: Path, hub: Hub) -> Iterator[Store]:
    clock = HandClock(round(hub.stand_in.now().timestamp() * 1000))
    with Store(tmp_path, clock) as store:
        yield store


def publishing(hub: Hub, store: Store, owner_id: str = "owner-1", port: ThreadPort | None = None) -> Publishing:
    return Publishing(store, port or hub.port(), owner_id=owner_id, tick=hub.stand_in.advance_clock)


def test_what_was_recorded_stands_on_the_thread_and_its_receipt_in_the_store(hub: Hub, store: Store) -> None:
    reply_id = store.comment(hub.thread, "Sorted.")
    process = publishing(hub, store)
    process.run_for(0)
    assert hub.comments() == ["Sorted."]
    assert store.part(reply_id) == ("delivered", "yes", 1)
    assert store.rows("SELECT state FROM replies") == [("delivered",)]
    [(comment_id, url)] = store.rows("SELECT provider_id, provider_url FROM reply_parts")
    assert comment_id == hub.ids()[0]
    assert str(url).endswith(f"#issuecomment-{comment_id}")
    assert process.names() == ["reply.sent", "reply.delivered"]


@pytest.mark.parametrize(
    ("trouble", "seconds"),
    [
        pytest.param(Trouble.COMMIT_THEN_HANG, 3.0, id="88: it hangs"),
        pytest.param(Trouble.COMMIT_THEN_ERROR, 0.0, id="89: it answers 500"),
        pytest.param(Trouble.COMMIT_THEN_BAD_GATEWAY, 0.0, id="89: it answers 502"),
        pytest.param(Trouble.COMMIT_THEN_RESET, 0.0, id="the connection is lost"),
    ],
)
def test_88_89_what_github_took_without_saying_so_is_found_and_not_repeated(
    hub: Hub, store: Store, trouble: Trouble, seconds: float
) -> None:
    hub.stand_in.fault(trouble, "POST", COMMENTS, seconds=seconds)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    process.run_for(600)
    assert (hub.posts(), hub.comments()) == (1, ["Done."])
    assert store.part(reply_id) == ("delivered", "yes", 1)
    assert process.names() == ["reply.sent", "reply.unknown", "reply.probed", "reply.delivered"]


@pytest.mark.parametrize("trouble", [Trouble.ERROR, Trouble.BAD_GATEWAY, Trouble.RESET], ids=str)
def test_what_github_did_not_take_is_sent_again_once_its_absence_has_settled(
    hub: Hub, store: Store, trouble: Trouble
) -> None:
    hub.stand_in.fault(trouble, "POST", COMMENTS)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    process.run_for(74)
    assert hub.posts() == 1
    process.run_for(20)
    assert (hub.posts(), hub.comments()) == (2, ["Done."])
    assert store.part(reply_id) == ("delivered", "yes", 2)


def test_90_a_comment_that_shows_late_is_unresolved_until_it_shows(hub: Hub, store: Store) -> None:
    hub.stand_in.fault(Trouble.COMMIT_THEN_ERROR, "POST", COMMENTS)
    hub.stand_in.fault(Trouble.LATE_LISTING, seconds=20)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    process.run_for(18)
    assert store.part(reply_id) == ("unknown", "maybe", 1)
    process.run_for(600)
    assert (hub.posts(), hub.comments()) == (1, ["Done."])
    assert store.part(reply_id) == ("delivered", "yes", 1)


def test_91_a_listing_that_is_not_whole_says_nothing_and_spends_nothing(hub: Hub, store: Store) -> None:
    for number in range(101):
        hub.stand_in.comment("ada", "octo/demo", hub.thread.number, f"And {number}?")
    hub.stand_in.fault(Trouble.ERROR, "POST", COMMENTS)
    hub.stand_in.fault(Trouble.NOT_FOUND, "GET", COMMENTS, page=2, times=None)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    process.run_for(900)
    assert hub.posts() == 1
    assert store.part(reply_id) == ("unknown", "maybe", 1)
    hub.stand_in.clear_faults()
    process.run_for(900)
    assert (hub.posts(), hub.comments()) == (2, ["Done."])


def test_91_a_listing_that_fails_says_nothing_and_spends_nothing(hub: Hub, store: Store) -> None:
    hub.stand_in.fault(Trouble.ERROR, "POST", COMMENTS)
    hub.stand_in.fault(Trouble.UNAUTHORIZED, "GET", COMMENTS, times=None)
    reply_id = store.comment(hub.thread)
    publishing(hub, store).run_for(900)
    assert hub.posts() == 1
    assert store.part(reply_id) == ("unknown", "maybe", 1)


def test_92_our_marker_in_somebody_elses_comment_is_text(hub: Hub, store: Store) -> None:
    reply_id = store.comment(hub.thread)
    [(body,)] = store.rows("SELECT body FROM reply_parts WHERE reply_id = ?", reply_id)
    hub.stand_in.comment("eve", "octo/demo", hub.thread.number, str(body))
    hub.stand_in.fault(Trouble.ERROR, "POST", COMMENTS)
    publishing(hub, store).run_for(600)
    assert hub.comments() == ["Done."]
    assert store.part(reply_id) == ("delivered", "yes", 2)


def test_92_our_marker_copied_from_another_thread_is_text(hub: Hub, store: Store) -> None:
    reply_id = store.comment(hub.thread)
    [(body,)] = store.rows("SELECT body FROM reply_parts WHERE reply_id = ?", reply_id)
    other = hub.stand_in.open_issue("ada", "octo/demo", "Another", "Too.").number
    store.committer.write(
        lambda connection: connection.execute(
            "UPDATE replies SET target = json_replace(target, '$[2]', ?) WHERE reply_id = ?", (other, reply_id)
        )
    )
    hub.stand_in.comment("loop", "octo/demo", other, str(body))
    hub.stand_in.fault(Trouble.ERROR, "POST", COMMENTS)
    publishing(hub, store).run_for(600)
    assert hub.posts() == 2


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(lambda body: f"Edited.\n\n{body}", id="above"),
        pytest.param(lambda body: f"{body}\n\nEdited: see also the manual.", id="below the marker"),
    ],
)
def test_93_a_comment_of_ours_that_somebody_edited_is_delivered(hub: Hub, store: Store, edit) -> None:
    hub.stand_in.fault(Trouble.COMMIT_THEN_ERROR, "POST", COMMENTS)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    assert process.publisher.step() == 0
    hub.stand_in.edit_comment("ada", hub.ids()[0], edit(hub.bodies()[0][1]))
    process.run_for(600)
    assert hub.posts() == 1
    assert store.part(reply_id) == ("delivered", "yes", 1)


def test_94_the_answer_after_our_own_echo_changes_nothing(hub: Hub, store: Store) -> None:
    reply_id = store.comment(hub.thread)

    def echo(call: str) -> None:
        _echo(store, reply_id, hub.ids()[0])

    process = publishing(hub, store, port=Around(hub.port(), after=echo))
    process.run_for(600)
    assert (hub.posts(), hub.comments()) == (1, ["Done."])
    assert store.part(reply_id) == ("delivered", "yes", 1)
    assert process.names() == ["reply.sent", "reply.delivered"]


def test_94_an_echo_ends_the_doubt_of_a_lost_answer(hub: Hub, store: Store) -> None:
    hub.stand_in.fault(Trouble.COMMIT_THEN_ERROR, "POST", COMMENTS)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    assert process.publisher.step() == 0
    _echo(store, reply_id, hub.ids()[0])
    process.run_for(600)
    assert hub.posts() == 1
    assert hub.stand_in.requests("GET", COMMENTS) == []


def test_95_a_comment_that_was_deleted_before_we_knew_its_id_is_not_posted_again(hub: Hub, store: Store) -> None:
    hub.stand_in.fault(Trouble.COMMIT_THEN_ERROR, "POST", COMMENTS)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    assert process.publisher.step() == 0
    comment_id = hub.ids()[0]
    hub.stand_in.delete_comment("ada", comment_id)
    _echo(store, reply_id, comment_id)
    process.run_for(86_500)
    assert (hub.posts(), hub.comments()) == (1, [])


def test_96_of_two_publishers_that_look_in_vain_one_sends(hub: Hub, store: Store) -> None:
    hub.stand_in.fault(Trouble.ERROR, "POST", COMMENTS)
    store.comment(hub.thread)
    first, second = publishing(hub, store, "owner-1"), publishing(hub, store, "owner-2")
    for _ in range(200):
        waits_s = [process.publisher.step() for process in (first, second)]
        store.clock.advance(min(waits_s))
        hub.stand_in.advance_clock(min(waits_s))
    assert (hub.posts(), hub.comments()) == (2, ["Done."])


def test_96_of_two_comments_of_one_part_the_oldest_is_the_receipt(hub: Hub, store: Store) -> None:
    hub.stand_in.fault(Trouble.COMMIT_THEN_ERROR, "POST", COMMENTS)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    assert process.publisher.step() == 0
    hub.stand_in.comment("loop", "octo/demo", hub.thread.number, hub.bodies()[0][1])
    process.run_for(60)
    assert store.rows("SELECT provider_id FROM reply_parts WHERE reply_id = ?", reply_id) == [(hub.ids()[0],)]


@pytest.mark.parametrize(
    "trouble", [Trouble.SECONDARY_LIMIT, Trouble.TOO_MANY_REQUESTS, Trouble.PRIMARY_LIMIT], ids=str
)
def test_98_a_rate_limit_is_waited_for_and_spends_nothing(hub: Hub, store: Store, trouble: Trouble) -> None:
    hub.stand_in.freeze_clock(hub.stand_in.now() + timedelta(0))
    hub.stand_in.fault(trouble, "POST", COMMENTS, seconds=60)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    process.run_for(59)
    assert hub.posts() == 1
    assert store.part(reply_id) == ("waiting", "never", 0)
    process.run_for(3)
    assert hub.comments() == ["Done."]
    assert store.part(reply_id) == ("delivered", "yes", 1)


@pytest.mark.parametrize("trouble", [Trouble.NOT_FOUND, Trouble.GONE, Trouble.LOCKED], ids=str)
def test_99_what_is_refused_is_dead_at_once_and_after_every_restart(hub: Hub, store: Store, trouble: Trouble) -> None:
    hub.stand_in.fault(trouble, "POST", COMMENTS)
    reply_id = store.comment(hub.thread)
    process = publishing(hub, store)
    process.run_for(600)
    again = publishing(hub, store, "owner-2")
    again.run_for(600)
    assert (hub.posts(), hub.comments()) == (1, [])
    assert store.part(reply_id)[0] == "dead"
    assert store.rows("SELECT state FROM replies") == [("dead",)]
    assert (process.names(), again.names()) == (["reply.sent", "reply.dead"], [])


def test_a_reaction_stands_on_its_comment_and_is_just_put_again_when_in_doubt(hub: Hub, store: Store) -> None:
    comment = hub.stand_in.comment("ada", "octo/demo", hub.thread.number, "the-loop start")
    hub.stand_in.fault(Trouble.COMMIT_THEN_ERROR, "POST", "*/reactions")
    reply_id = store.reaction(hub.thread, comment.id)
    process = publishing(hub, store)
    process.run_for(600)
    assert len(hub.stand_in.requests("POST", "*/reactions")) == 2
    assert hub.stand_in.requests("GET") == []
    assert store.part(reply_id)[0] == "delivered"
    assert process.names() == ["reaction.added"]
    assert len(hub.stand_in.state.tables.reactions) == 1


def test_a_reaction_that_fails_three_times_is_given_up_quietly(hub: Hub, store: Store) -> None:
    comment = hub.stand_in.comment("ada", "octo/demo", hub.thread.number, "the-loop start")
    hub.stand_in.fault(Trouble.ERROR, "POST", "*/reactions", times=None)
    reply_id = store.reaction(hub.thread, comment.id)
    process = publishing(hub, store)
    process.run_for(3600)
    assert len(hub.stand_in.requests("POST", "*/reactions")) == 3
    assert store.part(reply_id)[0] == "abandoned"
    assert process.names() == ["reaction.failed"]


def _echo(store: Store, reply_id: str, comment_id: int) -> None:
    """Our own comment comes back by another road."""
    rows = Rows(echoes=[EchoRow(reply_id=reply_id, part=0, provider_id=comment_id, url="https://example.org")])
    store.committer.write(lambda connection: write_rows(connection, rows, store.clock.wall()))
