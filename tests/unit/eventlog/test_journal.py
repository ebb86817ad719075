"""The writer: whole lines beside other processes, and a log that cannot be written stops nothing and is not lost."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from eventlog.events.dispatch import DispatchFailed, DispatchQueued
from eventlog.held import HeldLines
from eventlog.journal import Journal

AT_S = 1_764_540_000.5
ROOT = Path(__file__).resolve().parents[3]
APPENDER = """
import sys
from pathlib import Path
from eventlog.events.dispatch import DispatchQueued
from eventlog.journal import Journal
journal = Journal(Path(sys.argv[1]), lambda: 1.0, sys.argv[2])
sys.stdin.readline()
for number in range(5_000):
    journal.emit(DispatchQueued(waiting=number, event_key="k" * (number % 400)))
"""


def journal_at(path: Path, held: HeldLines | None = None) -> Journal:
    return Journal(path, lambda: AT_S, "serve", ["correct-horse"], held)


def queued(number: int) -> DispatchQueued:
    return DispatchQueued(waiting=number)


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_bytes().splitlines() if line]


def story(path: Path) -> list[tuple]:
    return [
        (record["waiting"],) if "waiting" in record else (record["event"], record["held_lines"], record["lost_lines"])
        for record in records(path)
    ]


@pytest.fixture
def full_disk(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.symlink_to("/dev/full")
    return path


def test_the_file_and_its_folder_are_made_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "events.jsonl"
    journal_at(path).emit(queued(1))
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    (record,) = records(path)
    assert (record["event"], record["time"], record["source"], record["pid"]) == (
        *("dispatch.queued", 1_764_540_000_500, "serve"),
        os.getpid(),
    )


def test_two_processes_that_append_at_once_tear_no_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", APPENDER, path, source], cwd=ROOT, stdin=subprocess.PIPE)
        for source in ("one", "other")
    ]
    for writer in writers:
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
    written = records(path)
    for source in ("one", "other"):
        assert [record["waiting"] for record in written if record["source"] == source] == list(range(5_000))
    assert len(written) == 10_000


def test_what_cannot_be_written_is_held_and_counted_and_comes_first_when_it_can(full_disk: Path) -> None:
    journal = journal_at(full_disk)
    for number in range(3):
        journal.emit(queued(number))
    assert (journal.held, journal.lost, journal.flush()) == (3, 0, False)
    full_disk.unlink()
    journal.emit(queued(3))
    assert (journal.held, journal.lost) == (0, 0)
    assert story(full_disk) == [(0,), (1,), (2,), ("service.log_buffered", 3, 0), (3,)]


def test_held_lines_can_be_written_without_a_new_event(full_disk: Path) -> None:
    journal = journal_at(full_disk)
    journal.emit(queued(0))
    full_disk.unlink()
    assert journal.flush()
    assert story(full_disk) == [(0,), ("service.log_buffered", 1, 0)]


def test_the_oldest_held_lines_make_room_and_are_counted_as_lost(full_disk: Path) -> None:
    journal = journal_at(full_disk, HeldLines(lines_max=2))
    for number in range(5):
        journal.emit(queued(number))
    assert (journal.held, journal.lost) == (2, 3)
    full_disk.unlink()
    journal.close()
    assert story(full_disk) == [(3,), (4,), ("service.log_buffered", 2, 3)]
    assert journal.lost == 3


def test_each_outage_counts_its_own_lines(full_disk: Path) -> None:
    journal = journal_at(full_disk, HeldLines(lines_max=1))
    for outage in range(2):
        full_disk.unlink(missing_ok=True)
        full_disk.symlink_to("/dev/full")
        journal.emit(queued(outage))
        journal.emit(queued(outage))
        full_disk.unlink()
        journal.flush()
        assert story(full_disk) == [(outage,), ("service.log_buffered", 1, 1)]
    assert journal.lost == 2


def test_held_bytes_are_bounded_too() -> None:
    held = HeldLines(bytes_max=10)
    for line in (b"1234\n", b"5678\n", b"9\n"):
        held.hold(line)
    assert (len(held), held.lost, held.first()) == (2, 1, b"5678\n")


def test_a_line_of_which_the_disk_took_only_a_part_is_written_again_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    journal = journal_at(path)
    journal.emit(queued(0))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
    try:
        journal.emit(queued(1))
        journal.emit(queued(2))
        assert journal.held == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    journal.emit(queued(3))
    whole, torn, *rest = path.read_bytes().splitlines()
    assert torn == whole[:20]
    assert [json.loads(line).get("waiting") for line in (whole, *rest)] == [0, 1, 2, None, 3]


def test_events_written_together_keep_their_order_behind_what_was_held(full_disk: Path) -> None:
    journal = journal_at(full_disk)
    journal.emit_all([queued(0), queued(1)])
    assert journal.held == 2
    full_disk.unlink()
    journal.emit_all([queued(2), queued(3)])
    assert story(full_disk) == [(0,), (1,), ("service.log_buffered", 2, 0), (2,), (3,)]


def test_of_events_written_together_those_that_stand_whole_are_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    journal = journal_at(path)
    journal.emit(queued(0))
    line_bytes = path.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * line_bytes + 20, hard))
    try:
        journal.emit_all([queued(1), queued(2), queued(3), queued(4)])
        assert journal.held == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    journal.emit(queued(5))
    lines = path.read_bytes().splitlines()
    assert lines.pop(3) == lines[3][:20]
    assert [json.loads(line).get("waiting") for line in lines] == [0, 1, 2, 3, 4, None, 5]


def test_one_event_that_cannot_be_shown_keeps_the_others_not_from_the_log(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    journal_at(path).emit_all([queued(1), object(), queued(2)])
    assert story(path) == [(1,), (2,)]


def test_a_line_that_an_earlier_crash_tore_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"level":30,"ti')
    journal_at(path).emit(queued(1))
    torn, whole = path.read_bytes().splitlines()
    assert (torn, json.loads(whole)["waiting"]) == (b'{"level":30,"ti', 1)


@pytest.mark.parametrize("rotate", [lambda path: path.rename(f"{path}.1"), Path.unlink], ids=["renamed", "removed"])
def test_a_log_that_was_rotated_is_begun_anew(tmp_path: Path, rotate) -> None:
    path = tmp_path / "events.jsonl"
    journal = journal_at(path)
    journal.emit(queued(1))
    rotate(path)
    journal.emit(queued(2))
    assert story(path) == [(2,)]


def test_a_closed_journal_opens_its_file_again(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    journal = journal_at(path)
    journal.emit(queued(1))
    journal.close()
    journal.close()
    journal.emit(queued(2))
    assert story(path) == [(1,), (2,)]


def test_an_outage_is_said_once_on_the_other_book(full_disk: Path, caplog) -> None:
    journal = journal_at(full_disk)
    for number in range(3):
        journal.emit(queued(number))
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "No space left on device" in caplog.text


def test_a_fault_of_the_writer_ends_nothing_and_is_said_on_the_other_book(tmp_path: Path, caplog) -> None:
    def broken_clock() -> float:
        raise RuntimeError("no time")

    Journal(tmp_path / "events.jsonl", broken_clock, "serve").emit(queued(1))
    assert "dispatch.queued could not be written" in caplog.text


def test_no_secret_is_written(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    error = ValueError("the password correct-horse was refused")
    journal_at(path).emit(DispatchFailed(attempt=1, will_retry=False, error=error, work_item="correct-horse"))
    assert "correct-horse" not in path.read_text()
