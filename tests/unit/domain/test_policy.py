"""Comments, commands, closings and deletions: what is decided of each, as whole values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.control import Command, NearMiss, Verb
from domain.decision import (
    Ambiguous,
    Answer,
    Apply,
    Ask,
    Behind,
    Close,
    Decision,
    Effect,
    Leave,
    Need,
    Note,
    Queue,
    Reject,
    RejectReason,
    Settle,
    Suppress,
    Withdraw,
)
from domain.model import Event, EventKey, Fact, Outcome, Place, UnhandledReason
from domain.phase import Folded, PhaseCommand, fold
from domain.policy import ItemView, Policy, Spawn, TextView, View, decide, judge_again
from tests.fakes.core import (
    ADA,
    BOB,
    EVE,
    THREAD,
    closed,
    comment,
    deleted,
    noted,
    place,
    policy,
    snapshot,
)

START, STOP, PAUSE, RESUME = Verb.START, Verb.STOP, Verb.PAUSE, Verb.RESUME


def said(at_s: int, verb: Verb) -> PhaseCommand:
    return PhaseCommand(key=EventKey(f"k{at_s}"), place=place(at_s, at_s), verb=verb)


RUNNING = ItemView(folded=fold([said(10, START)]))
PAUSED = ItemView(folded=fold([said(10, START), said(20, PAUSE)]))
STOPPED = ItemView(folded=fold([said(10, START), said(20, STOP)]))
FAILED = replace(RUNNING, failed=True)
NEW = ItemView()


def decided(event: Event, item: ItemView = NEW, rules: Policy | None = None, text: TextView | None = None) -> Decision:
    return decide(event, View(item=item, text=text), rules or policy())


def command(verb: str, at_s: int = 30, **about) -> Event:
    return comment(at_s, f"the-loop {verb}", **about)


def applied(event: Event, verb: Verb, effect: Effect, item: ItemView, *flags: str) -> Apply:
    """A command behind all that is known."""
    assert event.key is not None
    after = fold([*_known(item.folded), PhaseCommand(key=event.key, place=event.place, verb=verb)])
    return Apply(command=Command(verb=verb, flags=frozenset(flags)), effect=effect, folded=after, newest=True)


def _known(folded: Folded) -> list[PhaseCommand]:
    opening = [said(10, START)] if folded.last else []
    return [*opening, *([folded.last] if folded.last and folded.last.verb is not START else [])]


@pytest.mark.parametrize(
    ("at_s", "item", "decision"),
    [
        pytest.param(30, NEW, Suppress(Outcome.AWAITING_START), id="none"),
        pytest.param(30, STOPPED, Suppress(Outcome.AWAITING_START), id="stopped"),
        pytest.param(30, RUNNING, Queue(), id="running"),
        pytest.param(5, RUNNING, Suppress(Outcome.AWAITING_START), id="older-than-the-start"),
        pytest.param(10, RUNNING, Queue(), id="in-the-second-of-the-start-and-behind-it"),
        pytest.param(30, PAUSED, Suppress(Outcome.SESSION_PAUSED), id="paused"),
        pytest.param(15, PAUSED, Suppress(Outcome.SESSION_PAUSED), id="written-before-the-pause-and-come-after-it"),
        pytest.param(5, PAUSED, Suppress(Outcome.AWAITING_START), id="paused-and-older-than-the-start"),
        pytest.param(30, FAILED, Queue(rearm=True), id="failed"),
        pytest.param(5, FAILED, Suppress(Outcome.AWAITING_START), id="failed-and-older-than-the-start"),
    ],
)
@pytest.mark.parametrize("labels", [(), ("the-loop",)], ids=["unlabelled", "labelled"])
@pytest.mark.parametrize("has_session", [False, True], ids=["no-session", "session"])
def test_a_comment_is_judged_by_the_phase_at_its_place(
    at_s: int, item: ItemView, decision: Decision, labels: tuple[str, ...], has_session: bool
) -> None:
    """Neither the label nor whether a session exists says anything about a comment."""
    event = comment(90, at_s=at_s, told=snapshot(*labels))
    assert decided(event, replace(item, has_session=has_session)) == decision


@pytest.mark.parametrize("fact", [Fact.COMMENT, Fact.REVIEW, Fact.INLINE], ids=str)
def test_reviews_and_inline_comments_are_comments(fact: Fact) -> None:
    assert decided(comment(30, fact=fact), RUNNING) == Queue()
    stop = comment(30, "the-loop stop", fact=fact)
    assert decided(stop, RUNNING) == applied(stop, STOP, Effect.STOPPED, RUNNING)


@pytest.mark.parametrize(
    ("undecided", "decision"),
    [
        pytest.param(place(20, 20), Behind(), id="a-command-before-it"),
        pytest.param(place(30, 29), Behind(), id="in-its-second-and-before-it"),
        pytest.param(place(30, 99, Fact.REVIEW), Behind(), id="in-its-second-and-of-another-kind"),
        pytest.param(place(30, 31), Queue(), id="in-its-second-and-behind-it"),
        pytest.param(place(40, 40), Queue(), id="a-command-behind-it"),
    ],
)
def test_a_comment_waits_only_while_a_command_before_it_is_undecided(undecided: Place, decision: Decision) -> None:
    assert decided(comment(30), replace(RUNNING, undecided=(undecided,))) == decision


def test_a_command_never_waits_behind_another() -> None:
    event = command("stop")
    assert decided(event, replace(RUNNING, undecided=(place(20, 20),))) == applied(event, STOP, Effect.STOPPED, RUNNING)


@pytest.mark.parametrize(
    ("item", "decision"),
    [
        pytest.param(NEW, Leave(UnhandledReason.SPAWN_POLICY), id="without-a-phase-it-is-released"),
        pytest.param(RUNNING, Queue(), id="running"),
        pytest.param(STOPPED, Suppress(Outcome.AWAITING_START), id="stopped"),
    ],
)
def test_where_nothing_may_start_a_comment_without_a_phase_is_left_unhandled(
    item: ItemView, decision: Decision
) -> None:
    assert decided(comment(30), item, policy(Spawn.NEVER)) == decision


@pytest.mark.parametrize(
    ("verb", "item", "effect"),
    [
        pytest.param(START, NEW, Effect.STARTED, id="start"),
        pytest.param(START, STOPPED, Effect.STARTED, id="start-after-a-stop"),
        pytest.param(START, RUNNING, Effect.ALREADY_RUNNING, id="start-on-running"),
        pytest.param(START, PAUSED, Effect.RESUMED, id="start-on-paused"),
        pytest.param(START, FAILED, Effect.REARMED, id="start-on-failed"),
        pytest.param(RESUME, FAILED, Effect.REARMED, id="resume-on-failed"),
        pytest.param(RESUME, PAUSED, Effect.RESUMED, id="resume"),
        pytest.param(PAUSE, RUNNING, Effect.PAUSED, id="pause"),
        pytest.param(PAUSE, PAUSED, Effect.NOTHING_TO_DO, id="pause-on-paused"),
        pytest.param(PAUSE, NEW, Effect.NOTHING_TO_DO, id="pause-of-nothing"),
        pytest.param(STOP, RUNNING, Effect.STOPPED, id="stop"),
        pytest.param(STOP, NEW, Effect.STOPPED, id="stop-of-nothing"),
        pytest.param(Verb.CLEANUP, PAUSED, Effect.CLEANED, id="cleanup"),
    ],
)
def test_a_command_is_applied_at_its_place(verb: Verb, item: ItemView, effect: Effect) -> None:
    event = command(verb)
    assert decided(event, item) == applied(event, verb, effect, item)


@pytest.mark.parametrize("item", [NEW, RUNNING, STOPPED], ids=["none", "running", "stopped"])
def test_a_resume_of_what_is_not_paused_is_refused_and_stands(item: ItemView) -> None:
    """A pause that arrives late may give it its sense."""
    assert decided(command("resume"), item) == Reject(RejectReason.NOTHING_TO_RESUME, RESUME, stands=True)


@pytest.mark.parametrize("verb", [START, STOP, PAUSE, RESUME, Verb.CLEANUP], ids=str)
def test_a_command_that_arrives_late_is_to_be_folded_in_at_its_place(verb: Verb) -> None:
    decision = decided(command(verb, at_s=15), PAUSED)
    assert isinstance(decision, Apply)
    assert (decision.command.verb, decision.newest) == (verb, False)


@pytest.mark.parametrize("verb", [Verb.STATUS, Verb.HELP], ids=str)
@pytest.mark.parametrize("item", [NEW, RUNNING, PAUSED, FAILED], ids=["none", "running", "paused", "failed"])
def test_who_asks_is_answered_whatever_the_phase(verb: Verb, item: ItemView) -> None:
    assert decided(command(verb), item) == Answer(verb)


@pytest.mark.parametrize(
    ("event", "item", "rules", "decision"),
    [
        pytest.param(
            command("start", told=snapshot()),
            NEW,
            policy(),
            Reject(RejectReason.SPAWN_POLICY, START),
            id="without-the-label",
        ),
        pytest.param(
            command("start", told=snapshot("the-loop")),
            NEW,
            policy(Spawn.NEVER),
            Reject(RejectReason.SPAWN_POLICY, START),
            id="where-nothing-may-start",
        ),
        pytest.param(command("start", told=None), NEW, policy(), Ask(Need.ITEM), id="labels-unknown"),
        pytest.param(
            command("start", told=None),
            replace(NEW, snapshot=snapshot("bug")),
            policy(),
            Reject(RejectReason.SPAWN_POLICY, START),
            id="asked-and-without-the-label",
        ),
        pytest.param(
            command("start", told=snapshot("the-loop")),
            replace(NEW, snapshot=snapshot("bug")),
            policy(),
            Reject(RejectReason.SPAWN_POLICY, START),
            id="what-was-asked-for-outweighs-what-came-along",
        ),
        pytest.param(
            command("start", told=None),
            replace(NEW, is_gone=True),
            policy(),
            Reject(RejectReason.NO_SUCH_ITEM, START),
            id="no-such-item",
        ),
        pytest.param(
            command("start"),
            replace(NEW, other_instance="99999999"),
            policy(),
            Reject(RejectReason.OTHER_INSTANCE, START),
            id="another-instance-spoke-here",
        ),
    ],
)
def test_a_start_that_may_not_be_leaves_nothing_standing(
    event: Event, item: ItemView, rules: Policy, decision: Decision
) -> None:
    assert decided(event, item, rules) == decision


@pytest.mark.parametrize(
    ("event", "rules"),
    [
        pytest.param(command("start", told=snapshot("bug", "The-Loop")), policy(), id="label-in-another-case"),
        pytest.param(command("start", told=snapshot()), policy(Spawn.ALWAYS), id="always-without-a-label"),
    ],
)
def test_a_start_needs_the_label_only_as_the_policy_says(event: Event, rules: Policy) -> None:
    assert decided(event, NEW, rules) == applied(event, START, Effect.STARTED, NEW)


def test_a_take_over_starts_although_another_instance_spoke_here() -> None:
    event = command("start --take-over")
    item = replace(NEW, other_instance="99999999")
    assert decided(event, item) == applied(event, START, Effect.STARTED, NEW, "--take-over")


def test_another_instance_keeps_back_a_start_and_no_other_command() -> None:
    event = command("stop")
    item = replace(RUNNING, other_instance="99999999")
    assert decided(event, item) == applied(event, STOP, Effect.STOPPED, RUNNING)


def test_two_different_commands_run_neither_and_forward_nothing() -> None:
    event = comment(30, "the-loop stop\n\nthe-loop start")
    assert decided(event, RUNNING) == Ambiguous((STOP, START))


def test_one_command_said_twice_is_one_command() -> None:
    event = comment(30, "the-loop stop\n\nthe-loop stop")
    assert decided(event, RUNNING) == applied(event, STOP, Effect.STOPPED, RUNNING)


def test_a_near_miss_is_refused_with_the_command_that_was_meant() -> None:
    miss = NearMiss(written="the-loop strat", meant=START)
    assert decided(command("strat"), RUNNING) == Reject(RejectReason.NEAR_MISS, START, near_miss=miss)


@pytest.mark.parametrize("body", ["the-loop is stuck", "> the-loop stop", "see `the-loop stop`"])
def test_prose_and_quotes_that_name_us_are_comments(body: str) -> None:
    assert decided(comment(30, body), RUNNING) == Queue()


@pytest.mark.parametrize(
    ("event", "decision"),
    [
        pytest.param(comment(30), Queue(), id="a-comment"),
        pytest.param(command("stop"), Queue(commands_ignored=True), id="a-command-is-only-text"),
        pytest.param(comment(30, "the-loop stop\n\nthe-loop start"), Queue(commands_ignored=True), id="two-commands"),
        pytest.param(command("strat"), Queue(), id="a-near-miss"),
    ],
)
def test_what_was_edited_before_we_first_read_it_is_text(event: Event, decision: Decision) -> None:
    assert decided(replace(event, edited_unseen=True), RUNNING) == decision


def test_a_refused_text_that_was_edited_unseen_says_that_its_command_did_not_run() -> None:
    event = replace(command("start"), edited_unseen=True)
    assert decided(event, NEW) == Suppress(Outcome.AWAITING_START, commands_ignored=True)


@pytest.mark.parametrize(
    "event",
    [comment(30), command("start"), comment(30, "the-loop stop\n\nthe-loop start")],
    ids=["comment", "start", "two"],
)
def test_what_was_written_before_we_watched_is_seen_and_not_carried_out(event: Event) -> None:
    assert decided(replace(event, before_watch=True), RUNNING) == Settle(Outcome.BASELINED)


def test_a_deletion_withdraws_what_waits() -> None:
    assert decided(deleted(comment(30)), RUNNING) == Withdraw()


@pytest.mark.parametrize("event", [comment(30), command("stop")], ids=["comment", "command"])
def test_a_text_whose_deletion_came_first_is_withdrawn(event: Event) -> None:
    gone = TextView(updated_at_ms=0, body_sha256="", verbs=(), is_deleted=True, is_waiting=False)
    assert decided(event, RUNNING, text=gone) == Settle(Outcome.WITHDRAWN)


def test_the_state_of_an_item_moves_nothing() -> None:
    assert decided(noted(snapshot("the-loop")), RUNNING) == Note()


@pytest.mark.parametrize(
    ("actor", "removes"),
    [
        pytest.param(None, False, id="nobody-named"),
        pytest.param(EVE, False, id="a-stranger"),
        pytest.param(ADA, True, id="somebody-authorised"),
    ],
)
def test_anybody_may_end_by_closing_and_only_an_authorised_person_removes_the_clone(actor, removes: bool) -> None:
    event = closed(30, actor)
    stop = PhaseCommand(key=EventKey(event.key or ""), place=event.place, verb=STOP)
    after = fold([said(10, START), stop])
    expected = Close(effect=Effect.CLOSED, folded=after, newest=True, removes=removes)
    assert decided(event, replace(RUNNING, home=THREAD)) == expected


def test_closing_a_bound_pull_request_ends_nothing() -> None:
    item = replace(RUNNING, home=replace(THREAD, number=1))
    expected = Close(effect=Effect.BOUND_PULL_CLOSED, folded=item.folded, newest=False, removes=False)
    assert decided(closed(30, ADA), item) == expected


@pytest.mark.parametrize(
    ("item", "at_s", "outcome"),
    [
        pytest.param(RUNNING, 30, None, id="running"),
        pytest.param(STOPPED, 15, Outcome.SESSION_STOPPED, id="stopped-since"),
        pytest.param(PAUSED, 15, Outcome.SESSION_PAUSED, id="paused-since"),
        pytest.param(
            ItemView(folded=fold([said(10, START), said(20, STOP), said(30, START)])),
            15,
            Outcome.SESSION_STOPPED,
            id="stopped-and-started-again-since",
        ),
        pytest.param(
            ItemView(folded=fold([said(10, START), said(20, PAUSE), said(30, RESUME)])),
            15,
            None,
            id="paused-and-resumed",
        ),
        pytest.param(ItemView(folded=fold([said(5, START), said(10, START)])), 15, None, id="generation-renamed"),
        pytest.param(NEW, 15, Outcome.SESSION_STOPPED, id="the-start-is-gone"),
    ],
)
def test_what_is_carried_out_is_judged_again_by_its_own_place(
    item: ItemView, at_s: int, outcome: Outcome | None
) -> None:
    assert judge_again(comment(90, at_s=at_s), item, policy()) == outcome


def test_who_lost_the_right_meanwhile_is_not_handed_over() -> None:
    assert judge_again(comment(30, actor=BOB), RUNNING, policy(logins=("ada",))) is Outcome.NOT_AUTHORIZED
