"""The Router: what strangers write and what is not ours ends here, and leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from domain.control import Verb
from domain.model import Account, Actor, Event, Operator, PassReason, Snapshot
from domain.policy import Authorities
from eventlog.events.routing import RoutingDropped
from tests.fakes.core import (
    ADA,
    EVE,
    Desk,
    closed,
    comment,
    deleted,
    edited,
    noted,
    policy,
    snapshot,
)
from tests.fakes.dispatching import Dispatching
from webhook.handled import Status
from webhook.router import Deduper, Passed, Routed, Router, first_pin, verbs_of


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with Dispatching(tmp_path) as dispatching:
        yield Desk(dispatching)


BOT = Account(login="ci[bot]", id=9, is_bot=True)


def router(*repositories: str, logins: tuple[str, ...] = ("ada", "bob"), deduper: Deduper | None = None) -> Router:
    return Router(deduper or Deduper(), policy(logins=logins).authorities, frozenset(repositories))


@pytest.mark.parametrize(
    ("actor", "routed"),
    [
        pytest.param(ADA, True, id="authorised"),
        pytest.param(Account(login="ADA", id=5), True, id="authorised-in-another-case"),
        pytest.param(Operator("op"), True, id="operator"),
        pytest.param(EVE, False, id="stranger"),
        pytest.param(BOT, False, id="bot-that-is-not-listed"),
        pytest.param(None, False, id="deleted-author"),
    ],
)
@pytest.mark.parametrize(
    "event",
    [
        pytest.param(comment(1), id="comment"),
        pytest.param(comment(1, "the-loop stop"), id="command"),
        pytest.param(edited(comment(1), "new", at_s=2), id="edit"),
        pytest.param(deleted(comment(1)), id="deletion"),
    ],
)
def test_only_what_authorised_people_write_goes_on(event: Event, actor: Actor | None, routed: bool) -> None:
    event = replace(event, actor=actor)
    expected = Routed(event, is_known=False) if routed else Passed(PassReason.UNAUTHORIZED_ACTOR)
    assert router().route(event) == expected


def test_with_nobody_listed_nobody_may_do_anything() -> None:
    assert router(logins=()).route(comment(1)) == Passed(PassReason.UNAUTHORIZED_ACTOR)


@pytest.mark.parametrize(
    "event", [closed(1), closed(1, EVE), noted(snapshot())], ids=["closed", "by-a-stranger", "state"]
)
def test_a_closing_and_the_state_of_an_item_need_nobodys_right(event: Event) -> None:
    assert router().route(event) == Routed(event, is_known=False)


@pytest.mark.parametrize(
    ("watched", "expected"),
    [
        pytest.param((), Routed(comment(1), is_known=False), id="whatever-is-signed"),
        pytest.param(("o/r",), Routed(comment(1), is_known=False), id="watched"),
        pytest.param(("o/other",), Passed(PassReason.NOT_FOR_US), id="not-watched"),
    ],
)
def test_only_repositories_that_we_watch_are_ours(watched: tuple[str, ...], expected: Routed | Passed) -> None:
    assert router(*watched).route(comment(1)) == expected


def test_what_the_deduper_has_seen_goes_on_as_known() -> None:
    deduper = Deduper()
    deduper.add(str(comment(1).key))
    assert router(deduper=deduper).route(comment(1)) == Routed(comment(1), is_known=True)


def test_a_listed_login_is_pinned_to_the_account_that_first_has_it() -> None:
    authorities = Authorities(logins=frozenset({"ada", "bob"}), pinned={"bob": 6})
    assert first_pin(comment(1), authorities) == ADA
    assert first_pin(comment(1, actor=Account(login="bob", id=6)), authorities) is None
    assert first_pin(comment(1, actor=EVE), authorities) is None
    assert first_pin(comment(1, actor=Operator("op")), authorities) is None
    assert first_pin(deleted(comment(1)), authorities) is None


def test_the_verbs_of_a_text_are_its_commands() -> None:
    assert verbs_of(comment(1, "the-loop stop\n\nthe-loop start")) == (Verb.STOP, Verb.START)
    assert verbs_of(comment(1)) == ()


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(comment(1, actor=EVE), id="a-strangers-comment"),
        pytest.param(comment(1, "the-loop start", actor=EVE), id="a-strangers-command"),
        pytest.param(closed(1, EVE), id="closing-of-an-item-that-is-not-ours"),
        pytest.param(noted(snapshot("the-loop")), id="state-of-an-item-that-is-not-ours"),
    ],
)
def test_a_stranger_cannot_make_the_store_grow(desk: Desk, event: Event) -> None:
    before = sizes(desk)
    assert desk.arrive(event).status is Status.IGNORED
    assert (sizes(desk), len(desk.dispatching.deduper)) == (before, 0)


def test_what_is_passed_over_is_one_line_of_the_log_with_its_reason(desk: Desk) -> None:
    assert desk.arrive(comment(1, actor=EVE)).reason == PassReason.UNAUTHORIZED_ACTOR
    (line,) = desk.dispatching.events.all()
    assert isinstance(line, RoutingDropped)
    assert (line.actor, line.reason) == ("eve", "unauthorized-actor")


def test_the_state_of_an_item_that_is_ours_is_kept_and_the_newest_wins(desk: Desk) -> None:
    desk.arrive(comment(1, "the-loop start", told=snapshot("the-loop", updated_at_s=5)))
    assert told(desk, snapshot(updated_at_s=9)) == snapshot(updated_at_s=9)
    assert told(desk, snapshot("bug", updated_at_s=7)) == snapshot(updated_at_s=9)
    assert desk.item().folded.phase == "running"


def told(desk: Desk, state: Snapshot) -> Snapshot | None:
    desk.arrive(noted(state))
    return desk.item().snapshot


def sizes(desk: Desk) -> dict[str, int]:
    tables = [name for (name,) in desk.dispatching.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {str(table): len(desk.dispatching.rows(f"SELECT * FROM {table}")) for table in tables}  # noqa: S608 our names
