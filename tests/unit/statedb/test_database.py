"""The store's file: who may read it, how it grows to a newer schema, and which it refuses."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest

from statedb import database
from statedb.database import Database, StoreTooNew, StoreUnavailable


def at(folder: Path) -> Database:
    return Database(folder / "state.db", lambda: 1_234)


def schemas(monkeypatch: pytest.MonkeyPatch, *scripts: str) -> None:
    """Let these be the migrations that this version knows."""
    monkeypatch.setattr(database, "_scripts", lambda: list(scripts))


FIRST, SECOND = "CREATE TABLE old (name TEXT); INSERT INTO old VALUES ('kept')", "CREATE TABLE newer (name TEXT)"


def version(path: Path) -> int:
    return int(apsw.Connection(str(path)).pragma("user_version"))


def tables(path: Path) -> set[str]:
    return {name for (name,) in apsw.Connection(str(path)).execute("SELECT name FROM sqlite_master")}


def test_a_new_store_has_the_newest_schema_and_is_for_us_alone(tmp_path: Path) -> None:
    at(tmp_path).writer().close()
    path = tmp_path / "state.db"
    assert (version(path), path.stat().st_mode & 0o777) == (len(database._scripts()), 0o600)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state.db"]


def test_a_commit_is_on_disk_before_it_is_told(tmp_path: Path) -> None:
    connection = at(tmp_path).writer()
    assert (connection.pragma("journal_mode"), connection.pragma("synchronous")) == ("wal", 2)


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        at(tmp_path).writer().close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["state.db"]


def test_an_older_store_is_copied_before_it_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas(monkeypatch, FIRST)
    at(tmp_path).writer().close()
    schemas(monkeypatch, FIRST, SECOND)
    connection = at(tmp_path).writer()
    assert list(connection.execute("SELECT name FROM old")) == [("kept",)]
    copy = tmp_path / "state.db.before-2"
    assert (version(copy), tables(copy)) == (1, {"old"})
    assert (version(tmp_path / "state.db"), tables(tmp_path / "state.db")) == (2, {"old", "newer"})


def test_a_copy_that_a_killed_migration_left_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas(monkeypatch, FIRST)
    at(tmp_path).writer().close()
    (tmp_path / "state.db.before-2").write_bytes(b"half a copy")
    schemas(monkeypatch, FIRST, SECOND)
    at(tmp_path).writer().close()
    assert tables(tmp_path / "state.db.before-2") == {"old"}


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas(monkeypatch, FIRST)
    at(tmp_path).writer().close()
    schemas(monkeypatch, FIRST, "CREATE TABLE newer (name TEXT); INSERT INTO nowhere VALUES (1)")
    with pytest.raises(StoreUnavailable):
        at(tmp_path).writer()
    assert (version(tmp_path / "state.db"), tables(tmp_path / "state.db")) == (1, {"old"})


def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas(monkeypatch, FIRST, SECOND)
    at(tmp_path).writer().close()
    schemas(monkeypatch, FIRST)
    with pytest.raises(StoreTooNew, match=r"has schema 2, this the-loop knows 1: upgrade the-loop"):
        at(tmp_path).writer()
    assert version(tmp_path / "state.db") == 2


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    store = at(tmp_path)
    store.writer().close()
    with pytest.raises(apsw.ReadOnlyError):
        store.reader().execute("DELETE FROM items")


def test_a_reader_of_no_store_says_that_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        at(tmp_path).reader()


@pytest.mark.parametrize("content", [b"not a store" * 500, b"SQLite format 3\0" + b"\xff" * 5000], ids=["text", "torn"])
def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state.db").write_bytes(content)
    with pytest.raises(StoreUnavailable):
        at(tmp_path).writer()
    assert (tmp_path / "state.db").read_bytes() == content


def test_each_thread_has_a_reader_of_its_own(tmp_path: Path) -> None:
    store = at(tmp_path)
    store.writer().close()
    others: list[object] = []
    thread = threading.Thread(target=lambda: others.append(store.reader()))
    thread.start()
    thread.join()
    assert store.reader() is store.reader()
    assert store.reader() is not others[0]


def test_the_stores_clock_is_ours(tmp_path: Path) -> None:
    connection = at(tmp_path).writer()
    assert list(connection.execute("SELECT now_ms()")) == [(1_234,)]
