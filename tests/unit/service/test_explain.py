"""`explain` tells the truth of a comment: how it came, how it was read, what was decided and why, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from domain.control import Verb
from domain.decision import Decision, RejectReason
from domain.model import Fate, Outcome, PassReason, Road, UnhandledReason
from eventlog.events.routing import RoutingDropped
from eventlog.journal import Journal
from eventlog.reader import LogReader
from replies.record import target_of
from service import meanings
from service.addresses import named
from service.explain import Explanation, Sources, explain
from service.explain_form import form
from service.explain_page import page
from statedb.rows import Step
from statedb.writing import write_reply
from tests.fakes.core import ADA, EVE, HOST, Desk, comment, deleted, delivery, edited, operators
from tests.fakes.dispatching import Dispatching

PAGE = f"https://{HOST}/o/r/issues/15"


class Room:
    """A store with what a test lets happen, and the questions about it."""

    def __init__(self, dispatching: Dispatching, log: Path) -> None:
        self.dispatching, self.log, self.desk = dispatching, log, Desk(dispatching)

    def ask(self, text: str) -> Explanation:
        sources = Sources(
            connection=self.dispatching.database.reader(),
            log=LogReader(self.log),
            authorities=self.dispatching.policy.authorities,
        )
        return explain(text, named(text, HOST), sources)

    def form(self, text: str) -> Any:
        return form(self.ask(text))

    def page(self, text: str, whole: bool = False) -> str:
        return "\n".join(page(self.ask(text), whole))


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with Dispatching(tmp_path) as dispatching:
        yield Room(dispatching, tmp_path / "events.jsonl")


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda event: f"{PAGE}#issuecomment-1", id="address"),
        pytest.param(lambda event: event.key, id="event key"),
        pytest.param(lambda event: "delivery-x", id="delivery id"),
    ],
)
def test_an_event_is_found_by_address_key_and_delivery(room, ask) -> None:
    event = comment(1)
    room.dispatching.dispatcher.handle(event, delivery(delivery_id="delivery-x"))
    assert [story.key for story in room.ask(ask(event)).stories] == [event.key]


def test_every_arrival_is_shown_by_road_with_its_count(room) -> None:
    event = comment(1)
    for road, delivery_id in ((Road.WEBHOOK, "a"), (Road.WEBHOOK, "a"), (Road.POLL, "b")):
        room.dispatching.dispatcher.handle(event, delivery(road, delivery_id))
    (story,) = room.ask(event.key).stories
    assert [(each.road, each.delivery_id, each.count) for each in story.arrivals] == [
        ("webhook", "a", 2),
        ("poll", "b", 1),
    ]


def test_a_refused_comment_says_what_was_seen_and_why_it_was_refused(room) -> None:
    event = comment(1, "please go on")
    room.desk.arrive(event)
    said = room.page(event.key)
    assert "a comment, no command" in said
    assert "refuse it on purpose (awaiting-start)" in said
    assert "phase none, no session" in said
    assert "rules tests" in said
    assert meanings.OUTCOMES[Outcome.AWAITING_START] in said


def test_words_that_did_not_count_are_named_with_their_line_and_the_reason(room) -> None:
    event = comment(1, "the-loop start\n\n> the-loop stop\n\nAnd `the-loop pause` is code.")
    room.desk.arrive(event)
    said = room.page(event.key)
    assert "the command `the-loop start`" in said
    assert "line 3: 'the-loop stop' did not count (quote)" in said
    assert "line 5: 'the-loop pause' did not count (inline-code)" in said


def test_a_near_miss_names_the_command_that_was_meant(room) -> None:
    event = comment(1, "the-loop strat")
    room.desk.arrive(event)
    said = room.page(event.key)
    assert "meant was probably `the-loop start`" in said
    assert meanings.REFUSALS[RejectReason.NEAR_MISS] in said


def test_what_was_said_about_it_stands_there_with_its_sending(room) -> None:
    event = comment(1, "the-loop strat")
    room.desk.arrive(event)
    said = room.page(event.key)
    assert "refusal" in said
    assert "queued (left this machine: never)" in said
    assert "| That is not a command of mine." in said


def test_a_long_reply_is_cut_visibly_and_whole_when_asked_for(room) -> None:
    event = comment(1, "the-loop strat")
    room.desk.arrive(event)
    text = "\n".join(f"line {number}" for number in range(50))
    row = room.dispatching.dispatcher._recorder.comment(
        event.key, "answer", 0, item_id=room.desk.item().item_id, text=text, now_ms=5,
        target=target_of(event),
    )  # fmt: skip
    room.desk.write(lambda connection: write_reply(connection, row))
    assert "| line 49" not in room.page(event.key)
    assert "`--whole` shows all of it" in room.page(event.key)
    assert "| line 49" in room.page(event.key, whole=True)


def test_the_address_of_a_comment_shows_its_edits_and_its_deletion_too(room) -> None:
    event = comment(1)
    edit = edited(event, "changed", at_s=9)
    room.desk.arrive(event, edit, deleted(event))
    assert [story.key for story in room.ask(f"{PAGE}#issuecomment-1").stories] == [
        event.key,
        edit.key,
        deleted(event).key,
    ]


def test_another_comment_whose_number_begins_alike_is_not_shown(room) -> None:
    room.desk.arrive(comment(1), comment(10))
    assert len(room.ask(f"{PAGE}#issuecomment-1").stories) == 1


def test_the_operators_command_names_the_operator(room) -> None:
    room.desk.arrive(comment(1, "the-loop start"), event := operators(Verb.STOP, "client-1", at_ms=9_000))
    assert "the operator, op; may do anything at this machine" in room.page(event.key)


def test_a_work_item_shows_its_phase_and_its_newest_events(room) -> None:
    room.desk.arrive(comment(1), comment(2, "the-loop start"))
    said = room.page("o/r#15")
    assert "phase      running" in said
    assert comment(1).key in said
    assert comment(2).key in said
    assert room.form("O/R#15")["items"][0]["phase"] == "running"


def test_who_lost_the_right_since_is_told_apart_from_who_had_it_then(room) -> None:
    event = comment(1)
    room.desk.arrive(event)
    assert "authorised, pinned to the id 5" in room.page(event.key)
    room.dispatching.policy.authorities.pinned["ada"] = 99
    assert "no right: the login is pinned to the id 99" in room.page(event.key)


def test_a_strangers_comment_left_no_row_and_the_log_says_why(room) -> None:
    event = comment(1, actor=EVE)
    journal = Journal(room.log, lambda: 1.0, "test")
    journal.emit(
        RoutingDropped(event_key=event.key, reason=PassReason.UNAUTHORIZED_ACTOR, road="webhook", actor=EVE.login)
    )
    room.desk.arrive(event)
    assert meanings.PASSED[PassReason.UNAUTHORIZED_ACTOR] in room.page(f"{PAGE}#issuecomment-1")


def test_what_nobody_knows_is_empty(room) -> None:
    room.desk.arrive(comment(1))
    for asked in (f"{PAGE}#issuecomment-2", "no-such-key", "other/repo#15"):
        assert room.ask(asked).is_empty, asked


def test_text_from_outside_cannot_steer_the_terminal(room) -> None:
    event = comment(1, "the-loop strat\x1b[2J\u202e")
    room.desk.arrive(event)
    assert "\x1b" not in room.page(event.key)
    assert "\u202e" not in room.page(event.key)


def test_the_form_for_programs_says_the_same(room) -> None:
    event = comment(1, "> the-loop stop\n\nno")
    room.desk.arrive(event)
    (told,) = room.form(event.key)["events"]
    assert told["event"]["by"] == {"login": ADA.login, "id": ADA.id, "bot": False}
    assert told["reading"]["ignored"] == [{"line": 1, "written": "the-loop stop", "because": "quote"}]
    assert [(each["fate"], each["outcome"]) for each in told["decisions"]] == [("settled", "awaiting-start")]


@pytest.mark.parametrize(
    ("words", "table"),
    [
        pytest.param(Fate, meanings.FATES, id="fates"),
        pytest.param(Step, meanings.STEPS, id="steps"),
        pytest.param(Outcome, meanings.OUTCOMES, id="outcomes"),
        pytest.param(UnhandledReason, meanings.REASONS, id="reasons"),
        pytest.param(PassReason, meanings.PASSED, id="passed over"),
        pytest.param(RejectReason, meanings.REFUSALS, id="refusals"),
    ],
)
def test_every_word_has_a_sentence(words, table) -> None:
    assert set(table) == set(words)


def test_every_decision_has_a_sentence() -> None:
    assert set(meanings.DECISIONS) == {kind.__name__ for kind in get_args(Decision)}
