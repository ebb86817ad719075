"""A session host takes turns one at a time, says what became of each, and never does one twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.host.protocol import CancelState, HandState
from sessions.host.records import (
    Ended,
    Handed,
    PermissionAnswered,
    Receipt,
    Started,
    StopReason,
    Taken,
    ToolCalled,
    Trouble,
    TroubleKind,
    Usage,
)
from sessions.link import HostRefusedCall
from tests.fakes.session_hosts import WAIT_S, Room, one, prompt_of


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    room = Room(tmp_path)
    yield room
    room.close()


def run_turn(room: Room, *steps: list) -> Ended:
    link = room.start()
    assert link.hand("t1", prompt_of("t1", *steps), WAIT_S) is HandState.HANDED
    ended = one(room.wait_for(Ended), Ended)
    link.close()
    return ended


def test_a_turn_is_handed_taken_and_ended_with_its_answer_and_use(room: Room) -> None:
    run_turn(room, ["say", "done"])
    assert room.records() == [
        Started(conversation_id="conversation-1", agent="fake", agent_version="1", loaded=False),
        Handed("t1"),
        Taken(turn_id="t1", receipt=Receipt.MESSAGE),
        Ended(
            turn_id="t1",
            stop_reason=StopReason.FINISHED,
            text_after_tools="done",
            text_before_tools="",
            tool_calls=0,
            usage=Usage(input_tokens=7, output_tokens=5, total_tokens=12),
        ),
    ]


@pytest.mark.parametrize(
    ("steps", "receipt"),
    [
        pytest.param([["noise"], ["say", "x"]], Receipt.MESSAGE, id="message"),
        pytest.param([["noise"], ["think", "x"]], Receipt.THOUGHT, id="thought"),
        pytest.param([["noise"], ["tool", "a", "read"]], Receipt.TOOL, id="tool call"),
        pytest.param([["noise"], ["plan"]], Receipt.PLAN, id="plan"),
        pytest.param([["noise"], ["usage"]], Receipt.USAGE, id="usage"),
        pytest.param([["noise"]], Receipt.ANSWER, id="nothing but its answer"),
        pytest.param([["clutter"], ["say", "x"]], Receipt.MESSAGE, id="lines that are no message are passed over"),
    ],
)
def test_the_receipt_is_the_first_sign_that_only_a_prompt_causes(
    room: Room, steps: list[list], receipt: Receipt
) -> None:
    run_turn(room, *steps)
    assert one(room.records(), Taken) == Taken(turn_id="t1", receipt=receipt)


@pytest.mark.parametrize(
    ("steps", "after", "before"),
    [
        pytest.param([["say", "a"], ["say", "b"]], "ab", "", id="no tool"),
        pytest.param([["say", "a"], ["tool", "1", "read"], ["say", "b"]], "b", "a", id="one tool"),
        pytest.param([["say", "a"], ["tool", "1", "read"]], "", "a", id="nothing after the tool"),
        pytest.param(
            [["say", "a"], ["tool", "1", "read"], ["tool", "2", "read"]], "", "a", id="the last text before, not none"
        ),
        pytest.param(
            [["say", "a"], ["tool", "1", "read"], ["say", "b"], ["progress", "1"], ["say", "c"]],
            "bc",
            "a",
            id="news of an old call is no new call",
        ),
    ],
)
def test_the_answer_is_the_text_after_the_last_tool_call(
    room: Room, steps: list[list], after: str, before: str
) -> None:
    ended = run_turn(room, *steps)
    assert (ended.text_after_tools, ended.text_before_tools) == (after, before)


def test_what_the_agent_says_about_its_use_is_gathered_from_both_places(room: Room) -> None:
    ended = run_turn(room, ["usage"])
    assert ended.usage == Usage(
        input_tokens=7,
        output_tokens=5,
        total_tokens=12,
        context_tokens=100,
        context_tokens_max=1000,
        cost_amount=0.25,
        cost_currency="USD",
    )


def test_handing_the_same_turn_again_is_harmless_and_says_what_is_known(room: Room) -> None:
    link, go = room.start(), room.agent_folder / "go"
    prompt = prompt_of("t1", ["say", "a"], ["await_file", str(go)])
    assert link.hand("t1", prompt, WAIT_S) is HandState.HANDED
    room.wait_for(Taken)
    assert link.hand("t1", prompt, WAIT_S) is HandState.TAKEN
    go.touch()
    room.wait_for(Ended)
    assert link.hand("t1", prompt, WAIT_S) is HandState.ENDED
    assert [record for record in room.records() if isinstance(record, Handed)] == [Handed("t1")]


def test_a_second_turn_while_one_runs_is_answered_busy_and_not_written_down(room: Room) -> None:
    link, go = room.start(), room.agent_folder / "go"
    link.hand("t1", prompt_of("t1", ["await_file", str(go)]), WAIT_S)
    assert link.hand("t2", prompt_of("t2"), WAIT_S) is HandState.BUSY
    go.touch()
    room.wait_for(Ended)
    assert link.hand("t2", prompt_of("t2"), WAIT_S) is HandState.HANDED


def test_a_prompt_without_its_turns_id_on_the_last_line_is_refused(room: Room) -> None:
    link = room.start()
    with pytest.raises(HostRefusedCall, match="last line"):
        link.hand("t1", "turn: t1\nand more", WAIT_S)


def test_a_cancelled_turn_ends_as_cancelled_and_keeps_its_text(room: Room) -> None:
    link = room.start()
    link.hand("t1", prompt_of("t1", ["say", "so far"], ["wait"]), WAIT_S)
    room.wait_for(Taken)
    assert link.cancel("t1") is CancelState.CANCELLING
    ended = one(room.wait_for(Ended), Ended)
    assert (ended.stop_reason, ended.text_after_tools) == (StopReason.CANCELLED, "so far")
    assert link.cancel("t1") is CancelState.NOT_RUNNING
    assert link.hand("t2", prompt_of("t2"), WAIT_S) is HandState.HANDED


def test_a_cancelled_turn_of_an_agent_that_never_answers_ends_with_the_agents_tree(room: Room) -> None:
    link = room.start()
    link.hand("t1", prompt_of("t1", ["say", "so far"], ["hang"]), WAIT_S)
    room.wait_for(Taken)
    link.cancel("t1")
    room.wait_gone()
    ended, trouble = one(room.records(), Ended), one(room.records(), Trouble)
    assert (ended.stop_reason, ended.text_after_tools) == (StopReason.CANCELLED, "so far")
    assert (trouble.kind, trouble.turn_id) == (TroubleKind.OURS, "t1")


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        pytest.param(["fail", -32000, "Authentication required"], TroubleKind.PROVIDER, id="login"),
        pytest.param(["fail", -32603, "overloaded_error: try later"], TroubleKind.OURS, id="a word inside a word"),
        pytest.param(["fail", -32603, "API is overloaded"], TroubleKind.PROVIDER, id="overload"),
        pytest.param(["fail", -32603, "list index out of range"], TroubleKind.OURS, id="the agent's own fault"),
        pytest.param(
            ["say", "Invalid API key · Please run /login"], TroubleKind.PROVIDER, id="login said as an answer"
        ),
    ],
)
def test_trouble_is_named_and_its_turn_may_be_handed_over_again(room: Room, step: list, kind: TroubleKind) -> None:
    link = room.start()
    link.hand("t1", prompt_of("t1", step), WAIT_S)
    records = room.wait_for(Ended)
    assert (one(records, Trouble).kind, one(records, Trouble).turn_id) == (kind, "t1")
    assert one(records, Ended).stop_reason is StopReason.TROUBLE
    assert link.hand("t1", prompt_of("t1", ["say", "fine"]), WAIT_S) is HandState.HANDED


def test_permission_is_given_once_or_refused_and_written_down_with_its_reason(room: Room) -> None:
    ended = run_turn(
        room,
        ["ask", "edit", {}, [str(room.clone / "a.txt")]],
        ["ask", "execute", {"command": "rm -rf /"}, []],
    )
    assert '"optionId": "yes"' in ended.text_after_tools
    assert '"optionId": "no"' in ended.text_after_tools
    answers = [record for record in room.records() if isinstance(record, PermissionAnswered)]
    assert [(answer.kind, answer.allowed) for answer in answers] == [("edit", True), ("execute", False)]
    assert "sessions.allow_commands" in answers[1].reason


def test_an_agent_that_floods_costs_a_bounded_journal_and_its_answer_is_cut_visibly(room: Room) -> None:
    ended = run_turn(room, ["flood", 20_000], ["tools", 700], ["flood", 3_000])
    assert ended.text_after_tools.endswith("[cut: 300000 characters in all]")
    assert ended.tool_calls == 700
    assert sum(isinstance(record, ToolCalled) for record in room.records()) == 500
    assert room.journal_path.stat().st_size < 1024 * 1024


def test_an_agent_whose_line_never_ends_is_ended(room: Room) -> None:
    link = room.start()
    link.hand("t1", prompt_of("t1", ["long_line", 9]), WAIT_S)
    room.wait_gone()
    assert "more than" in one(room.records(), Trouble).text


def test_what_an_agent_says_before_it_leaves_still_counts(room: Room) -> None:
    link = room.start("--leave")
    link.hand("t1", prompt_of("t1", ["flood", 2_000], ["tool", "a", "read"], ["say", "done"]), WAIT_S)
    room.wait_gone()
    assert one(room.records(), Ended).text_after_tools == "done"
    assert one(room.records(), Trouble).turn_id is None
