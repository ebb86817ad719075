"""The Dispatcher's settlements: each site, what outranks what, and what releases an event instead of settling it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from domain.model import Event, EventKey, Fact, Fate, ItemId, Outcome, Road, UnhandledReason
from domain.policy import Spawn
from statedb.database import StoreUnavailable
from statedb.rows import FateRow, Rows, Step, derived_fate, derived_outcome
from statedb.writing import write_rows
from tests.fakes.core import ADA, Desk, closed, comment, deleted, delivery, edited, place, snapshot
from tests.fakes.dispatching import Dispatching
from webhook.dispatcher import (
    SETTLED_CONTROL_AMBIGUOUS,
    SETTLED_CONTROL_EXECUTED,
    SETTLED_CONTROL_REJECTED,
    SETTLED_SUPPRESSED,
)
from webhook.handled import Status


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Dispatching(tmp_path) as dispatching:
        yield Desk(dispatching)


def command(number: int, words: str, **about) -> Event:
    return comment(number, f"the-loop {words}", **about)


START, PAUSE = command(1, "start"), command(2, "pause")


# The sites


@pytest.mark.parametrize(
    ("before", "event", "outcome"),
    [
        pytest.param([], comment(9), "awaiting-start", id="nobody-started"),
        pytest.param([START, PAUSE], comment(9), "session-paused", id="paused-when-it-came"),
        pytest.param([START], command(9, "pause"), "control-executed", id="command-applied"),
        pytest.param([START], command(9, "status"), "control-executed", id="question-answered"),
        pytest.param([START], command(9, "help"), "control-executed", id="help"),
        pytest.param([], command(9, "resume"), "control-rejected", id="nothing-to-resume"),
        pytest.param([], command(9, "start", told=snapshot()), "control-rejected", id="start-without-the-label"),
        pytest.param([], command(9, "strat"), "control-rejected", id="near-miss"),
        pytest.param([START], comment(9, "the-loop stop\n\nthe-loop start"), "control-ambiguous", id="two-commands"),
        pytest.param([START], closed(9), "control-executed", id="closed"),
        pytest.param([comment(9)], deleted(comment(9)), "withdrawn", id="deleted"),
        pytest.param([deleted(comment(9))], comment(9), "withdrawn", id="deleted-before-it-came"),
        pytest.param([], replace(comment(9), before_watch=True), "baselined", id="before-we-watched"),
    ],
)
def test_an_event_that_we_are_finished_with_is_settled_and_says_why(
    desk: Desk, before: list[Event], event: Event, outcome: str
) -> None:
    if before:
        desk.arrive(*before)
    handled = desk.arrive(event)
    assert (handled.fate, handled.outcome, desk.fate(event)) == (Fate.SETTLED, outcome, (Fate.SETTLED, outcome))
    assert desk.dispatching.deduper.outcome(str(event.key)) == outcome


def test_a_comment_paused_between_its_acceptance_and_its_turn_is_settled_when_its_turn_comes(desk: Desk) -> None:
    said = comment(2)
    desk.arrive(START, said, command(3, "pause"))
    assert desk.fate(said) == (Fate.INFLIGHT, "")
    desk.carry_out()
    assert desk.fate(said) == (Fate.SETTLED, "session-paused")


def test_the_outcomes_of_the_five_sites_are_literals_of_ours() -> None:
    assert SETTLED_SUPPRESSED == ("awaiting-start", "session-paused", "session-stopped")
    assert [SETTLED_CONTROL_EXECUTED, SETTLED_CONTROL_REJECTED, SETTLED_CONTROL_AMBIGUOUS] == [
        "control-executed",
        "control-rejected",
        "control-ambiguous",
    ]


def test_no_text_from_outside_enters_a_settlement(desk: Desk) -> None:
    """Its row holds our own words, numbers and the key; the decision's record has no part of the body either."""
    secret = "zebra"
    desk.arrive(comment(1, f"the-loop strat {secret}"), comment(2, f"the-loop start {secret}", told=snapshot(secret)))
    desk.arrive(comment(3, f"{secret}"), comment(4, f"the-loop stop {secret}\n\nthe-loop start {secret}"))
    fates = desk.dispatching.rows("SELECT outcome, reason, verb, effect, event_key FROM fates")
    assert not [row for row in fates if secret in str(row)]
    assert not [whole for (whole,) in desk.dispatching.rows("SELECT whole FROM replies") if secret in str(whole)]


def test_a_refused_command_gets_a_short_reply_and_a_refused_comment_nothing(desk: Desk) -> None:
    desk.arrive(comment(1))
    assert desk.dispatching.rows("SELECT * FROM replies") == []
    desk.arrive(command(2, "resume"))
    assert len(desk.replies("refusal")) == 1


# The lines of the log


@pytest.mark.parametrize(
    ("event", "names"),
    [
        pytest.param(comment(9), ["dispatch.accepted", "dispatch.settled"], id="refused"),
        pytest.param(command(9, "stop"), ["dispatch.accepted", "control.command", "control.executed"], id="command"),
        pytest.param(
            command(9, "resume"),
            ["dispatch.accepted", "reply.recorded", "control.rejected", "dispatch.settled"],
            id="rejected",
        ),
        pytest.param(
            comment(9, "the-loop stop\n\nthe-loop start"),
            ["dispatch.accepted", "reply.recorded", "control.ambiguous", "dispatch.settled"],
            id="ambiguous",
        ),
    ],
)
def test_what_became_of_an_event_is_in_the_log(desk: Desk, event: Event, names: list[str]) -> None:
    desk.arrive(event)
    logged = desk.dispatching.events.all()
    assert [line.name for line in logged] == names
    assert {line.event_key for line in logged} == {event.key}


# Precedence


def row(fate: Fate, number: int = 1, outcome: Outcome | None = None) -> FateRow:
    return FateRow(
        event_key=EventKey("k"), item_id=ItemId(number), fate=fate, outcome=outcome, place=place(1, 1), decided_at_ms=1,
        changed_at_ms=number,
    )  # fmt: skip


DONE, INFLIGHT, UNHANDLED = row(Fate.DONE), row(Fate.INFLIGHT, 2), row(Fate.UNHANDLED, 3)
STOPPED, PAUSED = row(Fate.SETTLED, 4, Outcome.SESSION_STOPPED), row(Fate.SETTLED, 5, Outcome.SESSION_PAUSED)


@pytest.mark.parametrize(
    ("rows", "fate", "outcome"),
    [
        pytest.param([], Fate.UNHANDLED, "", id="unknown"),
        pytest.param([DONE], Fate.DONE, "", id="done"),
        pytest.param([INFLIGHT], Fate.INFLIGHT, "", id="inflight"),
        pytest.param([UNHANDLED], Fate.UNHANDLED, "", id="unhandled"),
        pytest.param([STOPPED], Fate.SETTLED, "session-stopped", id="settled"),
        pytest.param([PAUSED, DONE], Fate.DONE, "", id="delivered-to-one-and-paused-at-another"),
        pytest.param([PAUSED, INFLIGHT, UNHANDLED, DONE], Fate.DONE, "", id="done-outranks-everything"),
        pytest.param([PAUSED, UNHANDLED, INFLIGHT], Fate.INFLIGHT, "", id="inflight-outranks-unhandled"),
        pytest.param([PAUSED, UNHANDLED], Fate.UNHANDLED, "", id="unhandled-outranks-settled"),
        pytest.param([PAUSED, STOPPED], Fate.SETTLED, "session-paused", id="all-settled-the-newest-says-why"),
    ],
)
def test_an_events_own_fate_is_derived_and_its_outcome_is_empty_unless_all_of_it_is_settled(
    desk: Desk, rows: list[FateRow], fate: Fate, outcome: str
) -> None:
    dispatcher, reader = desk.dispatching.dispatcher, desk.dispatching.database.reader()
    assert (derived_fate(rows), derived_outcome(rows)) == (fate, outcome)
    desk.write(lambda connection: write_rows(connection, Rows(fates=rows), 1))
    assert dispatcher.delivery_status(reader, EventKey("k")) is fate
    assert dispatcher.delivery_outcome(reader, EventKey("k")) == outcome


# The gate


@pytest.fixture
def never(tmp_path: Path) -> Iterator[Desk]:
    with Dispatching(tmp_path, spawn=Spawn.NEVER) as dispatching:
        yield Desk(dispatching)


def test_a_refusal_for_the_spawn_policy_releases_the_mark_and_spends_no_attempt(never: Desk) -> None:
    said = comment(1)
    never.arrive(said)
    row = never.row(said.key)
    assert (row.fate, row.reason, row.attempts) == (Fate.UNHANDLED, UnhandledReason.SPAWN_POLICY, 0)
    assert said.key not in never.dispatching.deduper


def test_a_new_arrival_of_a_released_event_claims_its_row(tmp_path: Path) -> None:
    said = comment(2)
    with Dispatching(tmp_path, spawn=Spawn.NEVER) as dispatching:
        assert Desk(dispatching).arrive(said).reason == "spawn-policy"
    with Dispatching(tmp_path, spawn=Spawn.LABELED) as dispatching:
        desk = Desk(dispatching)
        desk.arrive(START)
        assert desk.arrive(said, road=Road.POLL).status is Status.ACCEPTED
        assert (desk.row(said.key).step, said.key in dispatching.deduper) == (Step.QUEUED, True)


def test_a_released_comment_that_comes_again_as_an_edit_without_a_change_claims_its_row(tmp_path: Path) -> None:
    """A listing shows a comment with a newer time although its text is the same."""
    said = comment(2)
    with Dispatching(tmp_path, spawn=Spawn.NEVER) as dispatching:
        Desk(dispatching).arrive(said)
    with Dispatching(tmp_path) as dispatching:
        desk = Desk(dispatching)
        desk.arrive(START, edited(said, said.body, at_s=5))
        assert (desk.row(said.key).fate, desk.row(said.key).step) == (Fate.INFLIGHT, Step.QUEUED)


def test_a_new_arrival_of_an_event_that_gave_up_is_a_duplicate(desk: Desk) -> None:
    said = comment(2)
    desk.arrive(START, said)
    desk.fail_start(START, said)
    assert desk.arrive(said, road=Road.POLL).status is Status.DUPLICATE
    assert desk.row(said.key).reason is UnhandledReason.GIVEN_UP


# Arrivals


def test_the_same_fact_by_another_road_is_recorded_and_not_decided_again(desk: Desk) -> None:
    said = comment(2)
    desk.arrive(START, said)
    first = desk.row(said.key)
    dispatcher = desk.dispatching.dispatcher
    again = [
        dispatcher.handle(said, delivery(Road.WEBHOOK, "redelivered")),
        dispatcher.handle(said, delivery(Road.WEBHOOK, "redelivered")),
        dispatcher.handle(said, delivery(Road.POLL, str(said.key))),
    ]
    assert [(one.status, one.fate, one.event_key) for one in again] == [(Status.DUPLICATE, Fate.INFLIGHT, said.key)] * 3
    assert desk.row(said.key) == first
    arrivals = desk.dispatching.rows(
        f"SELECT road, delivery_id, arrivals FROM deliveries WHERE event_key = '{said.key}' AND delivery_id NOT LIKE"  # noqa: S608 ours
        " 'delivery-%' ORDER BY road"
    )
    assert arrivals == [("poll", said.key, 1), ("webhook", "redelivered", 2)]
    assert len(desk.dispatching.events.named("dispatch.duplicate")) == 3


def test_a_duplicate_says_what_became_of_the_event(desk: Desk) -> None:
    desk.arrive(comment(2))
    again = desk.arrive(comment(2))
    assert (again.status, again.fate, again.outcome) == (Status.DUPLICATE, Fate.SETTLED, "awaiting-start")


@pytest.mark.parametrize(
    ("event", "is_resolved"), [(comment(2), False), (command(2, "stop"), True)], ids=["inflight", "settled"]
)
def test_the_pollers_book_says_whether_an_arrival_is_resolved(desk: Desk, event: Event, is_resolved: bool) -> None:
    desk.arrive(START)
    desk.dispatching.dispatcher.handle(event, delivery(Road.POLL, "known"))
    ((resolved_at,),) = desk.dispatching.rows("SELECT resolved_at FROM deliveries WHERE delivery_id = 'known'")
    assert (resolved_at is not None) is is_resolved


def test_an_event_without_a_key_is_carried_out_and_logged_each_time_and_marks_nothing(desk: Desk) -> None:
    by_hand = replace(command(5, "pause"), key=None)
    desk.arrive(START)
    handled = [desk.arrive(by_hand), desk.arrive(by_hand)]
    assert [(one.status, one.fate, one.outcome) for one in handled] == [
        (Status.ACCEPTED, Fate.SETTLED, "control-executed")
    ] * 2
    assert (len(desk.dispatching.deduper), len(desk.dispatching.events.named("control.command"))) == (1, 3)


def test_two_refused_commands_built_by_hand_are_both_answered(desk: Desk) -> None:
    desk.arrive(*(replace(command(number, "resume"), key=None) for number in (5, 6)))
    assert len(desk.replies("refusal")) == 2


# What is learned of people


def test_an_authorised_login_is_pinned_on_disk_to_the_account_that_first_used_it(desk: Desk) -> None:
    desk.arrive(comment(1))
    assert desk.dispatching.rows("SELECT host, login, account_id FROM accounts") == [("github.com", "ada", 5)]
    handled = desk.arrive(comment(2, actor=replace(ADA, id=99)))
    assert (handled.status, handled.reason) == (Status.IGNORED, "unauthorized-actor")


def test_an_account_first_seen_while_the_disk_is_full_is_pinned_on_disk_when_it_is_seen_again(desk: Desk) -> None:
    ((pages,),) = desk.dispatching.rows("SELECT page_count FROM pragma_page_count")
    desk.write(lambda connection: connection.pragma("max_page_count", int(str(pages)) + 2))
    with pytest.raises(StoreUnavailable):
        desk.arrive(comment(1, "x" * 200_000))
    desk.write(lambda connection: connection.pragma("max_page_count", 1_000_000))
    desk.arrive(comment(2))
    assert desk.dispatching.rows("SELECT login, account_id FROM accounts") == [("ada", 5)]


# What is decided is kept


def test_a_decision_is_stored_with_its_view_and_the_policys_digest(desk: Desk) -> None:
    desk.arrive(START, comment(2))
    for part in ('"decision":"Queue"', '"phase":"running"', '"policy":"tests"', '"session":false'):
        assert part in desk.row(comment(2).key).decision


def test_workers_are_woken_for_the_item_once_it_is_on_disk(desk: Desk) -> None:
    desk.arrive(START)
    assert desk.dispatching.woken == [desk.item().item_id]


def test_a_command_is_acknowledged_when_seen_and_when_carried_out(desk: Desk) -> None:
    desk.arrive(command(1, "stop"))
    assert sorted(str(kind) for (kind,) in desk.dispatching.rows("SELECT kind FROM replies")) == ["eyes", "rocket"]


def test_a_command_in_a_review_is_acknowledged_in_words(desk: Desk) -> None:
    desk.arrive(command(1, "stop", fact=Fact.REVIEW))
    assert desk.replies("acknowledgement") == ["`the-loop stop`: stopped."]
