"""What a host writes fits its bounds and comes back as it was; what it reads of an agent's words it reads narrowly."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from acp import update_agent_message_text, update_user_message_text
from hypothesis import given
from hypothesis import strategies as st

from sessions.host.journal import LINE_BYTES_MAX, Journal, read_journal
from sessions.host.protocol import turn_id_of
from sessions.host.records import (
    TEXT_BYTES_MAX,
    Ended,
    Exited,
    Handed,
    IdleEnded,
    PermissionAnswered,
    Receipt,
    Record,
    Recorded,
    Replayed,
    Started,
    StopReason,
    Taken,
    ToolCalled,
    Trouble,
    TroubleKind,
    Usage,
    bounded_text,
    line_of,
    read_line,
)
from sessions.host.replay import REPLAYED_MAX, Replay
from sessions.host.trouble import is_provider_notice, kind_of_error
from sessions.host.turn import RunningTurn

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


def at_noon() -> datetime:
    return NOW


@pytest.mark.parametrize(
    "record",
    [
        Started(conversation_id="c", agent="a", agent_version="1", loaded=True),
        Replayed(("t1", "t2")),
        Handed("t1"),
        Taken(turn_id="t1", receipt=Receipt.PLAN),
        ToolCalled(turn_id="t1", title="é\n", kind="read"),
        PermissionAnswered(turn_id=None, kind="edit", title="x", allowed=False, reason="y"),
        Ended(
            turn_id="t1",
            stop_reason=StopReason.CANCELLED,
            text_after_tools="a",
            text_before_tools="b",
            tool_calls=2,
            usage=Usage(input_tokens=1, cost_amount=0.5),
        ),
        Trouble(kind=TroubleKind.PROVIDER, text="x", turn_id="t1"),
        IdleEnded(),
        Exited(code=-9, reason="stop"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_every_record_comes_back_from_its_line_as_it_was(record: Record) -> None:
    line = line_of(record, NOW)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert read_line(line, 7) == Recorded(end_offset=7, at=NOW, record=record)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0\0\0\n", id="zeros of a crashed disk"),
        pytest.param(b"[]\n", id="no object"),
        pytest.param(b'{"v":1,"at":"2030-01-02T03:04:05+00:00","type":"dreamt"}\n', id="a later version's record"),
        pytest.param(b'{"v":1,"at":"2030-01-02T03:04:05+00:00","type":"handed"}\n', id="a field missing"),
        pytest.param(
            b'{"v":1,"at":"2030-01-02T03:04:05+00:00","type":"taken","turn_id":"t","receipt":"smoke"}\n', id="odd value"
        ),
    ],
)
def test_a_line_that_is_no_record_is_passed_over(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(line + line_of(Handed("t1"), NOW))
    assert [item.record for item in read_journal(path)] == [Handed("t1")]
    assert read_line(line, 0) is None


def test_a_journal_is_read_from_any_records_end(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", at_noon)
    for number in range(3):
        journal.append(Handed(f"t{number}"))
    journal.close()
    everything = list(read_journal(journal.path))
    assert everything[-1].end_offset == journal.end_offset == journal.path.stat().st_size
    for index, item in enumerate(everything):
        assert list(read_journal(journal.path, item.end_offset)) == everything[index + 1 :]


def test_a_journal_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert list(read_journal(tmp_path / "nothing")) == []


@given(st.binary(max_size=60), st.integers(0, 3))
def test_a_torn_tail_of_any_bytes_costs_no_whole_record(
    tmp_path_factory: pytest.TempPathFactory, tail: bytes, whole: int
) -> None:
    path = tmp_path_factory.mktemp("torn") / "journal"
    path.write_bytes(b"".join(line_of(Handed(f"t{number}"), NOW) for number in range(whole)) + tail.replace(b"\n", b""))
    journal = Journal(path, at_noon)
    journal.append(Handed("next"))
    journal.close()
    wanted = [Handed(f"t{number}") for number in range(whole)] + [Handed("next")]
    assert [item.record for item in read_journal(path)] == wanted


@given(st.text(alphabet=st.characters(), max_size=400), st.integers(80, 300))
def test_a_bounded_text_is_whole_or_a_beginning_with_a_mark(text: str, bytes_max: int) -> None:
    bounded = bounded_text(text, bytes_max=bytes_max)
    assert len(json.dumps(bounded, ensure_ascii=False).encode()) <= bytes_max
    clean = text.encode("utf-8", "replace").decode()
    beginning = re.sub(r"\n\n\[cut: \d+ characters in all\]$", "", bounded)
    assert bounded == clean or (clean.startswith(beginning) and f"[cut: {len(clean)} " in bounded)


def test_the_largest_answer_fits_a_message() -> None:
    turn = RunningTurn("t" * 128)
    turn.said("\0" * (2 * TEXT_BYTES_MAX), None)
    turn.called("a")
    turn.said("\0" * (2 * TEXT_BYTES_MAX), None)
    assert len(line_of(turn.ended(StopReason.FINISHED), NOW)) < LINE_BYTES_MAX


def test_another_message_of_the_agent_begins_a_paragraph() -> None:
    turn = RunningTurn("t1")
    for text, message_id in (("a", "1"), ("b", "1"), ("c", "2")):
        turn.said(text, message_id)
    assert turn.ended(StopReason.FINISHED).text_after_tools == "ab\n\nc"


def test_blank_text_between_tools_is_no_last_text() -> None:
    turn = RunningTurn("t1")
    turn.said("a", None)
    turn.called("1")
    turn.said("\n ", None)
    turn.called("2")
    assert turn.ended(StopReason.FINISHED).text_before_tools == "a"


@pytest.mark.parametrize(
    ("prompt", "turn_id"),
    [
        pytest.param("x\nturn: t-1", "t-1", id="last line"),
        pytest.param("x\nturn: t-1\n\n", "t-1", id="blank lines after it"),
        pytest.param("turn: t-1\nx", None, id="not the last"),
        pytest.param("x turn: t-1", None, id="in a line"),
        pytest.param("turn: ../t", None, id="no plain id"),
        pytest.param("turn: a b", None, id="two words"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_turns_id_is_the_prompts_last_line(prompt: str, turn_id: str | None) -> None:
    assert turn_id_of(prompt) == turn_id


def test_replayed_turns_are_bounded_to_the_newest() -> None:
    replay = Replay()
    for number in range(REPLAYED_MAX + 5):
        replay.add(update_user_message_text(f"turn: t{number}"))
        replay.add(update_agent_message_text(f"turn: not-{number}"))
    assert list(replay.turn_ids) == [f"t{number}" for number in range(5, REPLAYED_MAX + 5)]


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        pytest.param(-32000, "Authentication required", TroubleKind.PROVIDER, id="login by code"),
        pytest.param(-32603, "429 Too Many Requests", TroubleKind.PROVIDER, id="too many requests"),
        pytest.param(-32603, "HTTP 529", TroubleKind.PROVIDER, id="overload by status"),
        pytest.param(-32603, "insufficient quota", TroubleKind.PROVIDER, id="quota"),
        pytest.param(-32603, "Internal error", TroubleKind.OURS, id="anything else"),
        pytest.param(-32603, "line 429 of the file", TroubleKind.OURS, id="a number"),
    ],
)
def test_an_error_is_the_providers_by_code_or_by_words(code: int, text: str, kind: TroubleKind) -> None:
    assert kind_of_error(code, text) is kind


@pytest.mark.parametrize(
    ("answer", "tool_calls", "is_notice"),
    [
        pytest.param("Credit balance is too low", 0, True, id="credit"),
        pytest.param("Claude AI usage limit reached|1751", 0, True, id="limit"),
        pytest.param('API Error: 529 {"type":"error"}', 0, True, id="overload"),
        pytest.param("The API Error: 529 is handled now.", 0, False, id="an answer about it"),
        pytest.param("API Error: 529", 1, False, id="after work"),
        pytest.param("API Error: " + "x" * 700, 0, False, id="long"),
    ],
)
def test_a_providers_notice_is_told_from_an_answer(answer: str, tool_calls: int, is_notice: bool) -> None:
    assert is_provider_notice(answer, tool_calls) is is_notice
