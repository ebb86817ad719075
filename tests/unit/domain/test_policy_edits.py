"""An edit: only what is new counts, and a command only if we know that its editor may."""

from __future__ import annotations

import pytest

from domain.control import Command, Verb
from domain.decision import Ambiguous, Apply, Behind, Decision, Effect, Queue, Replace, Settle, Suppress
from domain.keys import body_digest
from domain.model import Account, Actor, EventKey, Operator, Outcome
from domain.phase import PhaseCommand, fold
from domain.policy import ItemView, TextView, View, decide
from tests.fakes.core import ADA, BOB, EVE, comment, edited, place, policy

FIRST = comment(20, "a first text")
START_AT_10 = PhaseCommand(key=EventKey("k"), place=place(10, 10), verb=Verb.START)
RUNNING = ItemView(folded=fold([START_AT_10]))


def known(body: str = FIRST.body, *verbs: Verb, at_s: int = 20, is_waiting: bool = False) -> TextView:
    """The newest version that we have."""
    return TextView(
        updated_at_ms=at_s * 1000, body_sha256=body_digest(body), verbs=verbs, is_deleted=False, is_waiting=is_waiting
    )


def decided(
    body: str, editor: Actor | None, text: TextView | None, item: ItemView = RUNNING, at_s: int = 30
) -> Decision:
    return decide(edited(FIRST, body, at_s=at_s, editor=editor), View(item=item, text=text), policy())


def stopped(body: str) -> Apply:
    event = edited(FIRST, body, at_s=30)
    assert event.key is not None
    after = fold([START_AT_10, PhaseCommand(key=event.key, place=event.place, verb=Verb.STOP)])
    return Apply(command=Command(verb=Verb.STOP), effect=Effect.STOPPED, folded=after, newest=True)


@pytest.mark.parametrize("editor", [None, ADA, EVE], ids=["unknown", "authorised", "stranger"])
@pytest.mark.parametrize(
    ("text", "decision"),
    [
        pytest.param(known(), Queue(as_edit=True), id="a-text-that-the-session-has"),
        pytest.param(known(is_waiting=True), Replace(), id="a-text-that-waits"),
        pytest.param(known("a second text"), Settle(Outcome.SUPERSEDED), id="equal-to-the-newest"),
        pytest.param(known(at_s=40), Settle(Outcome.SUPERSEDED), id="older-than-the-newest"),
        pytest.param(known(at_s=30), Queue(as_edit=True), id="another-edit-of-the-same-second"),
        pytest.param(None, Queue(as_edit=True), id="a-text-that-we-do-not-know"),
    ],
)
def test_changed_words_reach_the_session_whoever_changed_them(
    text: TextView | None, decision: Decision, editor: Actor | None
) -> None:
    assert decided("a second text", editor, text) == decision


@pytest.mark.parametrize("editor", [ADA, BOB, Operator("op")], ids=["author", "another", "operator"])
@pytest.mark.parametrize("is_waiting", [False, True], ids=["had", "waits"])
def test_a_new_command_of_an_editor_who_may_runs(editor: Actor, is_waiting: bool) -> None:
    body = "the-loop stop"
    assert decided(body, editor, known(is_waiting=is_waiting)) == stopped(body)


@pytest.mark.parametrize(
    "editor", [None, EVE, Account(login="ada", id=999)], ids=["unknown", "stranger", "taker-of-a-login"]
)
def test_a_new_command_of_an_editor_who_may_not_is_only_text(editor: Actor | None) -> None:
    rules = policy(pinned={"ada": 5})
    event = edited(FIRST, "the-loop stop", at_s=30, editor=editor)
    assert decide(event, View(item=RUNNING, text=known()), rules) == Queue(as_edit=True, commands_ignored=True)
    waiting = View(item=RUNNING, text=known(is_waiting=True))
    assert decide(event, waiting, rules) == Replace(commands_ignored=True)


def test_a_command_that_the_last_version_had_does_not_run_again() -> None:
    assert decided("the-loop stop\nnow!", ADA, known("the-loop stop", Verb.STOP)) == Queue(as_edit=True)


def test_of_an_edit_only_the_command_that_is_new_runs() -> None:
    body = "the-loop start\n\nthe-loop stop"
    assert decided(body, ADA, known("the-loop start", Verb.START)) == stopped(body)


def test_two_new_commands_run_neither() -> None:
    body = "the-loop start\n\nthe-loop stop"
    assert decided(body, ADA, known()) == Ambiguous((Verb.START, Verb.STOP))


@pytest.mark.parametrize(
    ("item", "decision"),
    [
        pytest.param(ItemView(), Suppress(Outcome.AWAITING_START), id="no-phase"),
        pytest.param(
            ItemView(folded=RUNNING.folded, undecided=(place(25, 25),)), Behind(), id="behind-an-undecided-command"
        ),
        pytest.param(ItemView(folded=RUNNING.folded, failed=True), Queue(as_edit=True, rearm=True), id="failed"),
    ],
)
def test_an_edit_is_judged_at_its_own_place_like_a_comment(item: ItemView, decision: Decision) -> None:
    assert decided("a second text", ADA, known(), item) == decision
