"""Our own comments come back by every road: they are receipts of what we said, and never input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from domain.marker import Sealer
from domain.model import Account, Event, Phase, Road, Thread
from eventlog.event import LogEvent
from replies.record import Recorder, target_of
from statedb.writing import write_reply
from tests.fakes.core import HOST, THREAD, Desk, comment
from tests.fakes.dispatching import START_MS, Dispatching
from webhook.handled import Handled, Status

US = Account(login="loop-bot", id=77, is_bot=True)
ADA_IS_US = Account(login="ada", id=5)
DAY_S = 24 * 3600
NOW_S = START_MS // 1000
REPLY = "0123456789abcdef"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """We post with an account of our own, that nobody listed."""
    with Dispatching(tmp_path, own_accounts={HOST: US.id}) as dispatching:
        yield Desk(dispatching)


@pytest.fixture
def personal(tmp_path: Path) -> Iterator[Desk]:
    """We post with Ada's own token: she writes with the account that we post with."""
    with Dispatching(tmp_path, own_accounts={HOST: ADA_IS_US.id}) as dispatching:
        yield Desk(dispatching)


def said(desk: Desk) -> str:
    """Let us have something to say, and give back its whole body."""
    event = comment(1)
    desk.arrive(event)
    reply = Recorder(desk.dispatching.sealer, lambda: REPLY).comment(
        "origin", "refusal", 0, item_id=desk.item().item_id, target=target_of(event), text="Not started.", now_ms=1
    )
    desk.write(lambda connection: write_reply(connection, reply))
    return reply.body


def part(desk: Desk) -> tuple[object, ...]:
    (row,) = desk.dispatching.rows(
        "SELECT p.state, wire, provider_id, r.state FROM reply_parts p JOIN replies r USING (reply_id) WHERE kind = 'refusal'"
    )
    return row


def ours(number: int, body: str, actor: Account, thread: Thread = THREAD) -> Event:
    return comment(number, body, actor=actor, thread=thread)


def is_self_authored(handled: Handled) -> bool:
    return (handled.status, handled.reason) == (Status.IGNORED, "self-authored")


UNSENT = ("queued", "never", None, "open")
DELIVERED = ("delivered", "yes", 900, "delivered")


@pytest.mark.parametrize("road", [Road.WEBHOOK, Road.POLL], ids=str)
def test_our_comment_coming_back_is_the_receipt_of_its_part(desk: Desk, road: Road) -> None:
    body = said(desk)
    assert part(desk) == UNSENT
    assert is_self_authored(desk.arrive(ours(900, body, US), road=road))
    assert part(desk) == DELIVERED


def test_our_comment_coming_back_is_a_receipt_also_where_our_account_is_a_persons(personal: Desk) -> None:
    body = said(personal)
    assert is_self_authored(personal.arrive(ours(900, body, ADA_IS_US)))
    assert part(personal) == DELIVERED


def test_an_answer_of_ours_that_quotes_a_command_runs_nothing(personal: Desk) -> None:
    body = said(personal)
    assert is_self_authored(personal.arrive(ours(900, f"the-loop start\n\n{body}", ADA_IS_US)))
    assert personal.view().phase is Phase.NONE


def test_our_comment_is_known_by_its_id_when_its_marker_was_edited_away(personal: Desk) -> None:
    body = said(personal)
    personal.arrive(ours(900, body, ADA_IS_US))
    assert is_self_authored(personal.arrive(ours(900, "the-loop start", ADA_IS_US)))
    assert personal.view().phase is Phase.NONE


def test_the_echo_by_the_second_road_changes_nothing(desk: Desk) -> None:
    body = said(desk)
    for road in (Road.WEBHOOK, Road.POLL):
        assert is_self_authored(desk.arrive(ours(900, body, US), road=road))
    assert part(desk) == DELIVERED


def test_what_the_operator_writes_with_our_account_is_a_persons_and_waits_for_nothing(personal: Desk) -> None:
    said(personal)
    assert personal.arrive(ours(900, "the-loop start", ADA_IS_US)).status is Status.ACCEPTED
    assert (personal.view().phase, part(personal)) == (Phase.RUNNING, UNSENT)


def test_our_marker_copied_by_the_operator_is_a_persons_once_its_part_has_arrived(personal: Desk) -> None:
    body = said(personal)
    marker = body.rsplit("\n", 1)[-1]
    personal.arrive(ours(900, body, ADA_IS_US))
    assert personal.arrive(ours(901, f"the-loop start\n\n{marker}", ADA_IS_US)).status is Status.ACCEPTED
    assert (personal.view().phase, part(personal)) == (Phase.RUNNING, DELIVERED)


def test_our_marker_copied_by_somebody_else_is_text(desk: Desk) -> None:
    body = said(desk)
    marker = body.rsplit("\n", 1)[-1]
    assert desk.arrive(comment(900, f"the-loop start\n\n{marker}")).status is Status.ACCEPTED
    assert (desk.view().phase, part(desk)) == (Phase.RUNNING, UNSENT)


def test_our_marker_on_another_thread_is_text(personal: Desk) -> None:
    body = said(personal)
    elsewhere = replace(THREAD, number=16)
    assert personal.arrive(ours(900, body, ADA_IS_US, elsewhere)).status is Status.ACCEPTED
    assert part(personal) == UNSENT


def test_a_marker_with_a_guessed_seal_is_text(personal: Desk) -> None:
    said(personal)
    forged = Sealer("abcdef01", b"guessed").line(REPLY, 0, THREAD)
    assert personal.arrive(ours(900, f"words\n\n{forged}", ADA_IS_US)).status is Status.ACCEPTED
    assert part(personal) == UNSENT


# Another instance, with the same account

ANOTHER = Sealer("99999999", b"another").line(REPLY, 0, THREAD)


def heard(desk: Desk, account: Account, at_s: int) -> Handled:
    return desk.arrive(comment(at_s % 1_000_000, f"words\n\n{ANOTHER}", at_s=at_s, actor=account))


def start(number: int, rest: str = "") -> Event:
    return comment(number, f"the-loop start {rest}".rstrip(), at_s=NOW_S + number)


@pytest.mark.parametrize("whose", ["own", "personal"])
def test_a_start_is_refused_where_another_instance_spoke_within_a_week(whose: str, tmp_path: Path) -> None:
    account = US if whose == "own" else ADA_IS_US
    with Dispatching(tmp_path, own_accounts={HOST: account.id}) as dispatching:
        desk = Desk(dispatching)
        assert is_self_authored(heard(desk, account, NOW_S - 6 * DAY_S))
        assert desk.arrive(start(1)).outcome == "control-rejected"
        assert "--take-over" in desk.replies("refusal")[0]


def test_a_take_over_starts_all_the_same(personal: Desk) -> None:
    heard(personal, ADA_IS_US, NOW_S - DAY_S)
    personal.arrive(start(1, "--take-over"))
    assert personal.view().phase is Phase.RUNNING


def test_what_another_instance_said_more_than_a_week_ago_counts_no_more(personal: Desk) -> None:
    heard(personal, ADA_IS_US, NOW_S - 8 * DAY_S)
    personal.arrive(start(1))
    assert personal.view().phase is Phase.RUNNING


def test_the_newest_that_another_instance_said_counts_whatever_arrives_last(personal: Desk) -> None:
    heard(personal, ADA_IS_US, NOW_S - DAY_S)
    heard(personal, ADA_IS_US, NOW_S - 8 * DAY_S)
    assert personal.arrive(start(1)).outcome == "control-rejected"


def test_another_instances_marker_in_anybody_elses_comment_is_text(desk: Desk) -> None:
    assert heard(desk, ADA_IS_US, NOW_S - DAY_S).status is Status.ACCEPTED
    desk.arrive(start(1))
    assert desk.view().phase is Phase.RUNNING


def test_our_own_comment_is_no_event_and_leaves_no_row(desk: Desk) -> None:
    body = said(desk)
    before = desk.dispatching.rows("SELECT event_key FROM events")
    lines: list[LogEvent] = desk.dispatching.events.all()
    desk.arrive(ours(900, body, US))
    assert desk.dispatching.rows("SELECT event_key FROM events") == before
    assert len(desk.dispatching.events.all()) - len(lines) <= 1


def test_a_text_of_our_account_that_is_none_of_our_words_needs_a_right_like_any_other(desk: Desk) -> None:
    said(desk)
    handled = desk.arrive(ours(900, "the-loop start", US))
    assert (handled.status, handled.reason) == (Status.IGNORED, "unauthorized-actor")
    assert desk.view().phase is Phase.NONE
