"""Recipients and journal of a broadcast are read as they were written, or the broadcast is refused: nothing is guessed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from telegrambot.broadcast import audience, journal
from telegrambot.broadcast.files import write_once
from telegrambot.broadcast.journal import Entry, Outcome, Progress, Released, Sending, Settled
from telegrambot.broadcast.refusals import BroadcastRefused, Refusal
from tests.fakes.broadcasting import Broadcasting, counts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "news.journal.ndjson"


@pytest.fixture
def begun(tmp_path: Path) -> Broadcasting:
    """A broadcast to A, B, C and D that was stopped after A."""
    news = Broadcasting(tmp_path)
    news.stop_at("A")
    news.run()
    news.oversight = Broadcasting(tmp_path).oversight
    return news


def refusal_of(news: Broadcasting) -> Refusal:
    """Why the broadcast does not go on; nobody was written to."""
    attempts = list(news.chats.attempts)
    with pytest.raises(BroadcastRefused) as refused:
        news.run()
    assert news.chats.attempts == attempts
    return refused.value.refusal


@pytest.mark.parametrize(
    ("entries", "progress"),
    [
        pytest.param([Sending(1)], Progress(sending={1}), id="an intent without an end"),
        pytest.param([Sending(1), Released(1)], Progress(), id="given back"),
        pytest.param([Released(1, -5), Sending(1)], Progress(sending={1}, moved_to={1: -5}), id="moved"),
        pytest.param(
            [Sending(1), Settled(1, Outcome.DELIVERED)], Progress(settled={1: Outcome.DELIVERED}), id="delivered"
        ),
        pytest.param(
            [Sending(0), Settled(0, Outcome.FAILED, "unknown"), Sending(2), Settled(2, Outcome.UNREACHABLE)],
            Progress(settled={0: Outcome.FAILED, 2: Outcome.UNREACHABLE}),
            id="one by one",
        ),
        pytest.param(
            [Settled(1, Outcome.FAILED), Settled(1, Outcome.UNCERTAIN)],
            Progress(settled={1: Outcome.UNCERTAIN}),
            id="the last line counts",
        ),
        pytest.param([Settled(1, Outcome.FAILED), Sending(1)], Progress(sending={1}), id="an intent behind a result"),
    ],
)
def test_what_was_written_is_read_again(path: Path, entries: list[Entry], progress: Progress) -> None:
    journal.create(path)
    with journal.opened(path, total=3) as book:
        for entry in entries:
            book.append(entry)
    assert book.progress == progress
    assert journal.read(path, total=3) == progress


def test_a_torn_last_line_is_cut_off_before_more_is_written(path: Path) -> None:
    path.write_bytes(b'{"i":0,"o":"delivered"}\n{"i":1,"s":"sen')
    with journal.opened(path, total=3) as book:
        book.append(Sending(1))
    assert path.read_bytes() == b'{"i":0,"o":"delivered"}\n{"i":1,"s":"sending"}\n'


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"i":1,"s":"sen{"i":1,"s":"sending"}', id="a line glued to a torn one"),
        pytest.param(b"", id="an empty line"),
        pytest.param(b"\0\0\0\0", id="zeros"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(b"[" * 100_000, id="nested without end"),
        pytest.param(b"1", id="no object"),
        pytest.param(b'{"s":"sending"}', id="nobody"),
        pytest.param(b'{"i":true,"s":"sending"}', id="no number"),
        pytest.param(b'{"i":1,"s":"resting"}', id="an unknown state"),
        pytest.param(b'{"i":1,"o":"lost"}', id="an unknown outcome"),
        pytest.param(b'{"i":1,"s":"released","to":"x"}', id="moved to no number"),
        pytest.param(b'{"i":4,"s":"sending"}', id="a place behind the last recipient"),
        pytest.param(b'{"i":-1,"s":"sending"}', id="a place before the first recipient"),
    ],
)
def test_a_line_in_the_middle_that_says_nothing_refuses_the_run_and_is_named(begun: Broadcasting, line: bytes) -> None:
    with begun.journal.open("ab") as lines:
        lines.write(line + b'\n{"i":1,"s":"released"}\n')
    with pytest.raises(BroadcastRefused, match=r"line 3 of news\.journal\.ndjson") as refused:
        begun.run()
    assert (refused.value.refusal, begun.chats.attempts) == (Refusal.JOURNAL_UNREADABLE, ["A"])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b'["A","B"', id="torn"),
        pytest.param(b"", id="empty"),
        pytest.param(b'{"A":1}', id="no list"),
        pytest.param(b'["A","A"]', id="one twice"),
        pytest.param(b'["A",1.5]', id="half a number"),
        pytest.param(b'["A",true]', id="a truth"),
        pytest.param(b'["A",""]', id="no name"),
        pytest.param(b'["A",["B"]]', id="a list within"),
    ],
)
def test_recipients_that_cannot_be_read_are_an_error_and_stay_as_they_are(begun: Broadcasting, content: bytes) -> None:
    recipients = begun.directory / "news.recipients.json"
    recipients.write_bytes(content)
    assert refusal_of(begun) is Refusal.AUDIENCE_UNREADABLE
    assert recipients.read_bytes() == content


@pytest.mark.parametrize(
    ("lost", "refusal"),
    [
        pytest.param("news.recipients.json", Refusal.JOURNAL_LOST, id="the recipients"),
        pytest.param("news.journal.ndjson", Refusal.JOURNAL_LOST, id="the journal"),
        pytest.param("news.content.sha256", Refusal.CONTENT_CHANGED, id="what was sent"),
    ],
)
def test_a_broadcast_of_which_a_file_is_lost_is_refused(begun: Broadcasting, lost: str, refusal: Refusal) -> None:
    (begun.directory / lost).unlink()
    assert refusal_of(begun) is refusal


def test_a_start_that_was_cut_short_before_the_recipients_were_written_is_made_again(tmp_path: Path) -> None:
    news = Broadcasting(tmp_path)
    journal.create(news.journal)
    (tmp_path / ".news.recipients.json.new").write_bytes(b'["A"')
    (tmp_path / "news.content.sha256").write_bytes(b"of another message")
    assert counts(news.run("AB")) == {"delivered": 2}


def test_a_file_that_is_written_once_is_never_replaced(tmp_path: Path) -> None:
    write_once(tmp_path / "list", b"first")
    with pytest.raises(FileExistsError):
        write_once(tmp_path / "list", b"second")
    assert (tmp_path / "list").read_bytes() == b"first"


@pytest.mark.parametrize("recipient", [True, 1.0, "", "x" * 65, None])
def test_what_is_no_chat_is_no_recipient_and_leaves_no_audience(tmp_path: Path, recipient: Any) -> None:
    with pytest.raises(BroadcastRefused) as refused:
        Broadcasting(tmp_path).run([5, recipient])
    assert refused.value.refusal is Refusal.RECIPIENT
    assert audience.kept(tmp_path / "news.recipients.json") is None


def test_an_intent_is_on_disk_before_the_send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    news, synced = Broadcasting(tmp_path), []

    def fsync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", fsync)
    news.chats.before_each = lambda chat_id: seen.append((synced.count(news.journal.stat().st_ino), chat_id))
    seen: list[tuple[int, object]] = []
    news.run("AB")
    assert seen == [(1, "A"), (2, "B")]


def test_a_line_that_could_not_be_written_whole_ends_the_run_before_the_send(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    news, write = Broadcasting(tmp_path), os.write
    with monkeypatch.context() as full_disk:
        full_disk.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:7]))
        with pytest.raises(OSError, match="disk full"):
            news.run("AB")
    assert news.chats.attempts == []
    assert counts(news.run("AB")) == {"delivered": 2}
