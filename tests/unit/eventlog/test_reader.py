"""The reader: what is asked for and nothing else, from either end and as the log grows."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventlog.event import Level
from eventlog.events.dispatch import DispatchAccepted, DispatchGaveUp, DispatchQueued
from eventlog.events.poll import PollCommentSettled
from eventlog.events.turn import TurnFrozen
from eventlog.journal import Journal
from eventlog.lines import BLOCK_BYTES, LINE_BYTES_MAX, lines_backwards, lines_forwards
from eventlog.output import as_json, as_jsonl, as_rows, as_table
from eventlog.query import Query
from eventlog.reader import LogReader

ITEM = "github:octo/repo#15"
ENDLESS = b'{"level":30,"time":1,"event":"b","waiting":"%s"}\n' % (b"x" * (LINE_BYTES_MAX + BLOCK_BYTES))
MORNING_S = datetime(2025, 11, 30, 8, tzinfo=UTC).timestamp()


class Log:
    """A log file of one test, with a clock that goes on by a second for each event."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at_s = MORNING_S - 1
        self.journal = Journal(path, self.tick, "serve")

    def tick(self) -> float:
        self.at_s += 1
        return self.at_s

    def queue(self, *numbers: int) -> None:
        for number in numbers:
            self.journal.emit(DispatchQueued(waiting=number))

    def append(self, raw: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(raw)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "events.jsonl")


@pytest.fixture
def reader(log: Log) -> LogReader:
    return LogReader(log.path)


def numbers(entries) -> list[object]:
    return [entry.fields["waiting"] for entry in entries]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param(
            Query(), ["dispatch.accepted", "turn.frozen", "poll.comment_settled", "dispatch.gave_up"], id="all"
        ),
        pytest.param(Query(types=("dispatch.*",)), ["dispatch.accepted", "dispatch.gave_up"], id="types by pattern"),
        pytest.param(
            Query(types=("turn.frozen", "poll.*")),
            ["turn.frozen", "poll.comment_settled"],
            id="one of several patterns",
        ),
        pytest.param(Query(work_item="GitHub:Octo/Repo#15"), ["dispatch.accepted", "dispatch.gave_up"], id="work item"),
        pytest.param(Query(delivery_id="d-1"), ["dispatch.accepted"], id="delivery"),
        pytest.param(Query(event_key="k-1"), ["dispatch.accepted", "turn.frozen"], id="event and the turn with it"),
        pytest.param(Query(level_min=Level.ERROR), ["dispatch.gave_up"], id="level"),
        pytest.param(
            Query(since=datetime(2025, 11, 30, 8, 0, 2, tzinfo=UTC)),
            ["poll.comment_settled", "dispatch.gave_up"],
            id="since a moment, which is part of it",
        ),
        pytest.param(
            Query(types=("dispatch.*",), level_min=Level.ERROR, work_item=ITEM), ["dispatch.gave_up"], id="and"
        ),
    ],
)
def test_a_query_finds_what_it_asks_for_from_either_end(log: Log, reader: LogReader, query: Query, names) -> None:
    log.journal.emit(DispatchAccepted(road="poll", kind="comment", work_item=ITEM, event_key="k-1", delivery_id="d-1"))
    log.journal.emit(TurnFrozen(event_keys=("k-0", "k-1"), prompt_bytes=9))
    log.journal.emit(PollCommentSettled(comment_id=7, outcome="awaiting-start", work_item="github:octo/repo#16"))
    log.journal.emit(DispatchGaveUp(attempts=3, work_item=ITEM))
    assert [entry.event for entry in reader.entries(query)] == names
    assert [entry.event for entry in reader.last(query, 100)] == names
    assert [entry.event for entry in reader.last(query, 1)] == names[-1:]


def test_a_log_that_does_not_exist_is_empty(reader: LogReader) -> None:
    assert list(reader.entries(Query())) == []
    assert reader.last(Query(), 5) == []


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"level":30,"ti\n', id="torn"),
        pytest.param(b"\xff\xfe\n", id="no text"),
        pytest.param(b"[1,2]\n", id="no object"),
        pytest.param(b'"text"\n', id="text"),
        pytest.param(b'{"level":30,"time":1,"msg":"a"}\n', id="without an event"),
        pytest.param(b'{"level":"30","time":1,"msg":"a","event":"b"}\n', id="level that is no number"),
        pytest.param(b'{"level":30,"time":1e30,"msg":"a","event":"b"}\n', id="time that is no integer"),
        pytest.param(b'{"level":30,"time":99999999999999999999,"event":"b"}\n', id="time beyond all calendars"),
        pytest.param(b'{"a":' * 20_000 + b"\n", id="nested without end"),
        pytest.param(ENDLESS, id="longer than any line of ours"),
    ],
)
def test_a_line_that_is_no_record_is_skipped_and_counted_from_either_end(log, reader, raw: bytes) -> None:
    log.queue(1)
    log.append(raw)
    log.queue(2)
    assert numbers(reader.entries(Query())) == [1, 2]
    assert reader.corrupt_lines == 1
    assert numbers(reader.last(Query(), 9)) == [1, 2]
    assert reader.corrupt_lines == 2


def test_a_last_line_without_its_end_is_still_being_written(log: Log, reader: LogReader) -> None:
    log.queue(1)
    log.append(log.path.read_bytes().rstrip(b"\n"))
    assert numbers(reader.entries(Query())) == numbers(reader.last(Query(), 9)) == [1]
    assert reader.corrupt_lines == 0


def test_the_last_entries_are_found_without_reading_what_comes_before(log: Log, reader: LogReader, monkeypatch) -> None:
    log.append(b"not read\n" * 100_000)
    log.queue(1, 2)
    assert numbers(reader.last(Query(), 2)) == [1, 2]
    assert reader.corrupt_lines == 0


@given(st.lists(st.binary(max_size=6), max_size=30), st.integers(0, 3))
def test_a_file_has_the_same_lines_from_either_end(pieces: list[bytes], around: int) -> None:
    filler = b"x" * (BLOCK_BYTES - around)
    content = filler + b"\n".join(pieces)
    *finished, _unfinished = content.split(b"\n")
    assert list(lines_forwards(BytesIO(content))) == finished
    assert list(lines_backwards(BytesIO(content))) == finished[::-1]


class Script:
    """Stands for the time that passes while a reader waits: one thing happens at each wait, then the waiting ends."""

    def __init__(self, *happenings: Callable[[], object]) -> None:
        self.happenings = list(happenings)

    def __call__(self) -> bool:
        if not self.happenings:
            return False
        self.happenings.pop(0)()
        return True


def test_a_follower_sees_what_is_written_from_now_on(log: Log, reader: LogReader) -> None:
    log.queue(1)
    script = Script(lambda: log.queue(2, 3), lambda: None, lambda: log.queue(4))
    assert numbers(reader.follow(Query(), script)) == [2, 3, 4]


def test_a_follower_is_first_given_the_last_entries(log: Log, reader: LogReader) -> None:
    log.queue(1, 2, 3)
    assert numbers(reader.follow(Query(), Script(lambda: log.queue(4)), limit=2)) == [2, 3, 4]


def test_a_follower_may_be_there_before_the_log(log: Log, reader: LogReader) -> None:
    assert numbers(reader.follow(Query(), Script(lambda: None, lambda: log.queue(1)), limit=5)) == [1]


def test_a_follower_goes_on_in_the_file_that_replaces_the_old_one_and_misses_no_line_of_either(log, reader) -> None:
    def rotate() -> None:
        log.queue(1)
        log.path.rename(f"{log.path}.1")
        log.queue(2)
        log.path.rename(f"{log.path}.2")

    script = Script(lambda: log.queue(0), rotate, lambda: None, lambda: log.queue(3))
    assert numbers(reader.follow(Query(), script)) == [0, 1, 3]


def test_a_follower_misses_no_line_that_was_written_while_it_looked_whether_the_log_was_replaced(log: Log) -> None:
    class PathUnderRotation(type(log.path)):
        """At the first look at the file behind it, one more line is written, and then the file is replaced."""

        rotated = False

        def stat(self, **options):
            if not PathUnderRotation.rotated:
                PathUnderRotation.rotated = True
                log.queue(1)
                log.path.rename(f"{log.path}.1")
                log.queue(2)
            return super().stat(**options)

    log.queue(0)
    reader = LogReader(PathUnderRotation(log.path))
    assert numbers(reader.follow(Query(), Script())) == [1, 2]


def test_a_follower_goes_on_when_the_log_is_removed(log: Log, reader: LogReader) -> None:
    log.queue(0)
    script = Script(log.path.unlink, lambda: None, lambda: log.queue(1))
    assert numbers(reader.follow(Query(), script)) == [1]


def test_a_follower_goes_on_at_the_beginning_of_a_log_that_was_truncated(log: Log, reader: LogReader) -> None:
    log.queue(0, 1)

    def truncate() -> None:
        log.path.write_bytes(b"")
        log.queue(2)

    assert numbers(reader.follow(Query(), Script(truncate, lambda: log.queue(3)))) == [2, 3]
    assert reader.corrupt_lines == 0


def test_a_follower_waits_for_the_end_of_a_line(log: Log, reader: LogReader) -> None:
    log.queue(1)
    line = log.path.read_bytes()
    script = Script(lambda: log.append(line[:30]), lambda: log.append(line[30:]))
    assert numbers(reader.follow(Query(), script)) == [1]
    assert reader.corrupt_lines == 0


@pytest.mark.parametrize("end", ["unlink", "truncate", "go on"])
def test_a_follower_counts_a_line_that_never_got_its_end(log: Log, reader: LogReader, end: str) -> None:
    def ends() -> None:
        if end == "unlink":
            log.path.unlink()
        elif end == "truncate":
            log.path.write_bytes(b"")
        log.queue(1)

    log.journal.close()
    script = Script(lambda: log.append(b'{"torn":'), ends)
    assert numbers(reader.follow(Query(), script)) == [1]
    assert reader.corrupt_lines == 1


def test_entries_can_be_had_as_json_lines_and_as_one_json_array(log: Log, reader: LogReader) -> None:
    log.queue(1, 2)
    written = log.path.read_text().splitlines()
    assert list(as_jsonl(reader.entries(Query()))) == written
    assert json.loads("".join(as_json(reader.entries(Query())))) == [json.loads(line) for line in written]
    assert json.loads("".join(as_json([]))) == []


def test_entries_can_be_had_as_a_table_and_as_rows(log: Log, reader: LogReader) -> None:
    log.journal.emit(DispatchGaveUp(attempts=3, work_item=ITEM, error=ValueError("no")))
    expected = ("2025-11-30 08:00:00.000", "error", "dispatch.gave_up", ITEM, "attempts=3 error=ValueError: no")
    assert list(as_rows(reader.entries(Query()))) == ["  ".join(expected)]
    heading, row = as_table(reader.entries(Query()), width=160).splitlines()
    assert heading.split() == ["time", "(UTC)", "level", "event", "work", "item", "details"]
    assert row.split() == "  ".join(expected).split()


def test_what_a_terminal_would_obey_is_shown_as_a_question_mark(log: Log, reader: LogReader) -> None:
    log.journal.emit(DispatchAccepted(road="poll", kind="comment", actor="a\x1b[2J\x9b1m\u202eb [red]c"))
    (row,) = as_rows(reader.entries(Query()))
    assert row.endswith("actor=a?[2J?1m?b [red]c")
    assert "actor=a?[2J?1m?b [red]c" in as_table(reader.entries(Query()), width=200)
