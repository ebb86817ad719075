"""What holds of every decision, whatever comes and whatever is known."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from domain import control, decision
from domain.decision import Ambiguous, Apply, Close
from domain.keys import body_digest
from domain.model import Account, Actor, Change, Event, EventKey, Fact, Operator, Phase, Place
from domain.phase import MOVES, PhaseCommand, fold
from domain.policy import ItemView, Spawn, TextView, View, decide, judge_again
from tests.fakes.core import THREAD, comment, edited, policy, snapshot

BODIES = [
    "hello", "the-loop start", "the-loop stop", "the-loop pause", "the-loop resume", "the-loop cleanup --force",
    "the-loop status", "the-loop help", "the-loop strat", "the-loop is stuck", "the-loop start\n\nthe-loop stop",
    "the-loop start --take-over please", "",
]  # fmt: skip

facts = st.sampled_from(Fact)
places = st.builds(
    lambda at_s, fact, number: Place(at_ms=at_s * 1000, fact=fact, number=number),
    st.integers(0, 3),
    facts,
    st.integers(1, 3),
)
accounts = st.builds(
    lambda login, number: Account(login=login, id=number),
    st.sampled_from(["ada", "Ada", "eve", ""]),
    st.integers(5, 6),
)
actors: st.SearchStrategy[Actor | None] = st.one_of(st.none(), accounts, st.just(Operator("op")))
snapshots = st.sampled_from([None, snapshot(), snapshot("the-loop"), snapshot("the-loop", is_open=False)])
commands = st.builds(
    lambda verb, at: PhaseCommand(key=EventKey(f"{at}"), place=at, verb=verb), st.sampled_from(MOVES), places
)
items = st.builds(
    ItemView,
    folded=st.lists(commands, max_size=4).map(fold),
    failed=st.booleans(),
    undecided=st.lists(places, max_size=2).map(tuple),
    has_session=st.booleans(),
    home=st.sampled_from([None, THREAD]),
    other_instance=st.sampled_from([None, "99999999"]),
    snapshot=snapshots,
    is_gone=st.booleans(),
)
text_views = st.one_of(
    st.none(),
    st.builds(
        TextView,
        updated_at_ms=st.integers(0, 4000),
        body_sha256=st.sampled_from([body_digest(body) for body in BODIES]),
        verbs=st.lists(st.sampled_from(control.Verb), max_size=2).map(tuple),
        is_deleted=st.booleans(),
        is_waiting=st.booleans(),
    ),
)
views = st.builds(View, item=items, text=text_views)
policies = st.builds(policy, st.sampled_from(Spawn))


@st.composite
def events(draw: st.DrawFn) -> Event:
    body, actor, told, at = draw(st.sampled_from(BODIES)), draw(actors), draw(snapshots), draw(places)
    event = comment(at.number, body, at_s=at.at_ms // 1000, actor=actor, told=told)
    change = draw(st.sampled_from(Change))
    if change is Change.EDITED:
        event = edited(event, body, at_s=at.at_ms // 1000, editor=draw(actors))
    return _with(event, at, change, draw(st.booleans()), draw(st.booleans()), draw(st.booleans()))


def _with(event: Event, at: Place, change: Change, before_watch: bool, unseen: bool, keyless: bool) -> Event:
    return replace(
        event,
        key=None if keyless else event.key,
        place=at,
        fact=at.fact,
        change=change,
        before_watch=before_watch,
        edited_unseen=unseen,
    )


@given(events(), views, policies)
def test_every_event_is_decided_and_the_same_each_time(event: Event, view: View, rules) -> None:
    decided = decide(event, view, rules)
    assert isinstance(decided, get_args(decision.Decision))
    assert decide(event, view, rules) == decided


@given(events(), items, policies)
def test_judging_again_is_total(event: Event, item: ItemView, rules) -> None:
    outcome = judge_again(event, item, rules)
    assert outcome is None or outcome in list(type(outcome))


@given(events(), views, policies)
def test_only_commands_and_closings_move_the_phase(event: Event, view: View, rules) -> None:
    decided = decide(event, view, rules)
    if isinstance(decided, Close):
        assert event.fact is Fact.CLOSURE
    if isinstance(decided, Apply):
        assert event.reading is not None
        assert decided.command in event.reading.commands


@given(events(), views, policies)
def test_no_command_runs_that_an_unknown_or_unauthorised_editor_may_have_written(
    event: Event, view: View, rules
) -> None:
    """The Router has looked at the author; of an edit, the editor's right is looked at here."""
    is_doubtful = event.change is Change.EDITED and not rules.authorities.may(event.editor)
    is_doubtful |= event.change is Change.CREATED and event.edited_unseen
    if event.fact not in (Fact.CLOSURE, Fact.SNAPSHOT) and is_doubtful:
        assert not isinstance(decide(event, view, rules), Apply | Ambiguous)


@given(events(), views)
def test_where_nothing_may_start_nothing_starts(event: Event, view: View) -> None:
    decided = decide(event, view, policy(Spawn.NEVER))
    assert not (isinstance(decided, Apply) and decided.command.verb is control.Verb.START)


@given(events(), views, policies)
def test_what_may_be_queued_may_also_be_handed_over_at_once(event: Event, view: View, rules) -> None:
    """The two judgements are one: nothing is refused at hand-over that nothing came between."""
    if isinstance(decide(event, view, rules), decision.Queue):
        allowed = event.actor is None or rules.authorities.may(event.actor)
        assert not allowed or judge_again(event, view.item, rules) is None
        assert view.item.phase in (Phase.RUNNING, Phase.FAILED)
