"""The operator's socket: private, bounded, and an order asked twice is carried out once."""

from __future__ import annotations

import os
import secrets
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from domain.control import Verb
from domain.model import Account, Label, Phase, Thread
from domain.ports import ItemFacts, Missing, NoAnswer, Repository
from service.control_socket import ControlSocket, NotReachable, SocketRefused, ask
from service.operating import Operating
from service.orders import (
    LINE_BYTES_MAX,
    HowAreYou,
    Live,
    NotAnOrder,
    NotDone,
    Order,
    Result,
    read_answer,
    read_request,
    write_answer,
    write_request,
)
from tests.fakes.core import ADA, HOST, THREAD, Desk, comment, snapshot
from tests.fakes.dispatching import LIMIT_S, Dispatching

ITEM = Label(host=HOST, repository="o/r", number=15)
LIVE = Live(
    pid=7, store_writable=True, workers_up=True, admission_open=True, log_lines_held=0, log_lines_lost=0
)  # fmt: skip


class Asked:
    """Answers about items as a test sets it."""

    def __init__(self) -> None:
        self.answer: ItemFacts | Missing | NoAnswer = ItemFacts(
            snapshot=snapshot("the-loop"), url="https://github.com/o/r/issues/15", body="", author=ADA
        )
        self.repository_answer: Repository | Missing | NoAnswer = Repository(
            host=HOST, id=THREAD.repository_id, name="o/r", default_branch="main", clone_url="file:///nowhere"
        )

    def me(self) -> Account | NoAnswer:
        return ADA

    def item(self, thread: Thread, repository: str) -> ItemFacts | Missing | NoAnswer:
        return self.answer

    def repository(self, name: str) -> Repository | Missing | NoAnswer:
        return self.repository_answer

    def comment(self, thread, repository, fact, object_id) -> NoAnswer:
        return NoAnswer("not asked here")


class Room:
    """A store, and the socket over it."""

    def __init__(self, folder: Path, dispatching: Dispatching) -> None:
        self.path = folder / "control.sock"
        self.desk, self.items = Desk(dispatching), Asked()
        operating = Operating(dispatching.dispatcher, dispatching.database, self.items, HOST, dispatching.clock)
        self.threads: list[threading.Thread] = []
        self.control = ControlSocket(self.path, operating, self.spawn)
        self.control.bind(lambda: LIVE)
        self.spawn("control", self.control.run)

    def spawn(self, name: str, body) -> None:
        thread = threading.Thread(target=body, name=name, daemon=True)
        self.threads.append(thread)
        thread.start()

    def order(self, verb: Verb, order_id: str | None = None, item: Label = ITEM, *flags: str):
        order = Order(order_id=order_id or secrets.token_hex(16), verb=verb, item=item, flags=frozenset(flags))
        return ask(self.path, order, LIMIT_S)

    def send(self, line: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(LIMIT_S)
            connection.connect(str(self.path))
            connection.sendall(line)
            with connection.makefile("rb") as answer:
                return answer.readline()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, because a socket's path is."""
    with tempfile.TemporaryDirectory(prefix="loop-") as path:
        yield Path(path)


@pytest.fixture
def room(folder: Path, tmp_path: Path) -> Iterator[Room]:
    with Dispatching(tmp_path) as dispatching:
        room = Room(folder, dispatching)
        yield room
        room.control.stop()
        for thread in room.threads:
            thread.join(LIMIT_S)
            assert not thread.is_alive()


# Orders


def test_an_order_is_decided_and_on_disk_when_it_is_answered(room) -> None:
    result = room.order(Verb.START)
    assert isinstance(result, Result)
    assert (result.item, result.fate, result.effect) == (str(ITEM), "inflight", "started")
    assert room.desk.item().folded.phase is Phase.RUNNING


def test_an_order_that_is_repeated_is_carried_out_once(room) -> None:
    order_id = secrets.token_hex(16)
    room.order(Verb.START)
    first, again = room.order(Verb.PAUSE, order_id), room.order(Verb.PAUSE, order_id)
    room.order(Verb.RESUME)
    late = room.order(Verb.PAUSE, order_id)
    assert first == again == late
    assert room.desk.item().folded.phase is Phase.RUNNING


def test_an_order_stands_behind_everything_known_of_the_item(room) -> None:
    room.desk.arrive(comment(1, "the-loop start", at_s=9_000_000_000))
    assert room.order(Verb.STOP).effect == "stopped"
    assert room.desk.item().folded.phase is Phase.STOPPED


def test_the_delivery_of_an_order_is_its_id_on_the_road_cli(room) -> None:
    order_id = secrets.token_hex(16)
    result = room.order(Verb.START, order_id)
    rows = room.desk.dispatching.rows("SELECT road, delivery_id, event_key FROM deliveries")
    assert rows == [("cli", order_id, result.event_key)]


def test_a_start_without_the_label_is_refused_with_the_reason(room) -> None:
    room.items.answer = ItemFacts(snapshot=snapshot(), url="", body="", author=ADA)
    result = room.order(Verb.START)
    assert (result.outcome, result.fate) == ("control-rejected", "settled")
    assert "routing.spawn" in result.said


@pytest.mark.parametrize("verb", [Verb.STOP, Verb.PAUSE, Verb.RESUME, Verb.CLEANUP])
def test_nothing_is_recorded_of_an_item_that_nobody_started(room, verb) -> None:
    answer = room.order(verb)
    assert isinstance(answer, NotDone)
    assert answer.is_missing
    assert room.desk.dispatching.rows("SELECT * FROM items") == []


@pytest.mark.parametrize(
    ("missing", "is_missing"), [(Missing(), True), (NoAnswer("connect"), False)], ids=["missing", "no answer"]
)
@pytest.mark.parametrize("what", ["answer", "repository_answer"])
def test_a_start_of_an_unknown_item_needs_githubs_yes(room, what, missing, is_missing) -> None:
    setattr(room.items, what, missing)
    answer = room.order(Verb.START)
    assert isinstance(answer, NotDone)
    assert answer.is_missing is is_missing
    assert room.desk.dispatching.rows("SELECT * FROM events") == []


def test_a_start_of_a_known_item_is_taken_also_while_github_does_not_answer(room) -> None:
    room.desk.arrive(comment(1))
    room.items.answer = NoAnswer("connect")
    result = room.order(Verb.START)
    assert (result.fate, result.effect) == ("inflight", "")


def test_another_hosts_item_is_refused(room) -> None:
    answer = room.order(Verb.START, None, Label(host="other.example", repository="o/r", number=15))
    assert answer == NotDone(f"this service works on {HOST}, not on other.example", is_missing=True)


# The socket


def test_only_its_user_can_reach_the_socket(room) -> None:
    assert stat.S_IMODE(room.path.stat().st_mode) == 0o600


def test_the_service_says_how_it_is(room) -> None:
    assert ask(room.path, HowAreYou(), LIMIT_S) == LIVE


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"hello\n", id="no JSON"),
        pytest.param(b"[1]\n", id="no object"),
        pytest.param(b'{"v":99,"ask":"live"}\n', id="another version"),
        pytest.param(b'{"v":1,"ask":"order","id":"short","verb":"stop","item":["h","o/r",1],"flags":[]}\n', id="id"),
        pytest.param(b'{"v":1,"ask":"order","id":"12345678","verb":"status","item":["h","o/r",1],"flags":[]}\n', id="verb"),
        pytest.param(b'{"v":1,"ask":"order","id":"12345678","verb":"stop","item":["h","../x",1],"flags":[]}\n', id="item"),
        pytest.param(b'{"v":1,"ask":"order","id":"12345678","verb":"stop","item":["h","o/r",0],"flags":[]}\n', id="number"),
        pytest.param(b'{"v":1,"ask":"order","id":"12345678","verb":"stop","item":["h","o/r",1],"flags":["--force"]}\n',
                     id="flag"),
        pytest.param(b"[" * 30_000 + b"\n", id="nested too deep"),
        pytest.param(b"x" * (LINE_BYTES_MAX + 10), id="no end"),
    ],
)  # fmt: skip
def test_what_is_no_order_is_refused_and_the_next_one_is_served(room, line) -> None:
    assert isinstance(read_answer(room.send(line)), NotDone)
    assert ask(room.path, HowAreYou(), LIMIT_S) == LIVE


def test_who_hangs_up_hinders_nobody(room) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(room.path))
    assert ask(room.path, HowAreYou(), LIMIT_S) == LIVE


def test_what_a_dead_service_left_is_replaced(folder: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(folder / "control.sock"))
    with Dispatching(tmp_path) as dispatching:
        room = Room(folder, dispatching)
        assert ask(room.path, HowAreYou(), LIMIT_S) == LIVE
        room.control.stop()
        room.threads[0].join(LIMIT_S)
    assert not room.path.exists()


def test_a_folder_that_others_may_enter_is_refused_on_both_sides(folder: Path, tmp_path: Path) -> None:
    folder.chmod(0o755)
    with Dispatching(tmp_path) as dispatching, pytest.raises(SocketRefused, match="0700"):
        Room(folder, dispatching)
    with pytest.raises(SocketRefused, match="0700"):
        ask(folder / "control.sock", HowAreYou())


def test_a_path_that_no_socket_can_have_is_said_with_what_to_do(folder: Path) -> None:
    with pytest.raises(SocketRefused, match="XDG_RUNTIME_DIR"):
        ask(folder / ("x" * 120), HowAreYou())


@pytest.mark.parametrize("is_left", [False, True], ids=["no socket", "a dead one"])
def test_without_a_service_it_is_not_reachable(folder: Path, is_left) -> None:
    if is_left:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
            left.bind(str(folder / "control.sock"))
    with pytest.raises(NotReachable):
        ask(folder / "control.sock", HowAreYou())


def test_another_users_process_gets_no_answer(room, monkeypatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    answer = b""
    with suppress(OSError):  # the other side may have hung up before we were done
        answer = room.send(write_request(HowAreYou()))
    assert answer == b""


# The lines


@pytest.mark.parametrize("flags", [frozenset(), frozenset({"--force"})], ids=["plain", "with a flag"])
def test_an_order_survives_its_way(flags) -> None:
    order = Order(order_id="a" * 32, verb=Verb.CLEANUP, item=ITEM, flags=flags)
    assert read_request(write_request(order)) == order


@pytest.mark.parametrize(
    "answer",
    [LIVE, NotDone("no", is_missing=True), Result(item="i", event_key="k", fate="settled", said="é\n\u2028")],
    ids=["live", "not done", "result"],
)
def test_an_answer_survives_its_way(answer) -> None:
    assert read_answer(write_answer(answer)) == answer


@pytest.mark.parametrize(
    "line", [b'{"v":1,"answer":"Result"}', b'{"v":1,"answer":"Else"}'], ids=["fields missing", "unknown"]
)
def test_an_answer_of_another_version_is_no_answer(line) -> None:
    with pytest.raises(NotAnOrder, match="version"):
        read_answer(line)
