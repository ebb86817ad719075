"""The seat's socket and the agent's call: private, bounded in size, time and number, and clear about what went wrong."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sessions.seat.client import OutsideSession, SeatCallFailed, SeatRefused, call
from sessions.seat.protocol import (
    REQUEST_BYTES_MAX,
    SOCKET_VARIABLE,
    TOKEN_VARIABLE,
    Answer,
    Declined,
    Request,
    Verb,
    read_request,
    seat_environment,
    write_request,
)
from sessions.seat.server import CONNECTIONS_MAX, FolderNotPrivate, SeatServer

LIMIT_S = 20.0


class Serving:
    """A server on a socket of its own; `answer` says what becomes of a request."""

    def __init__(self, folder: Path, answer: Callable[[bytes], Answer], request_s: float = 10.0) -> None:
        self.path = folder / "agent.sock"
        self.stop = threading.Event()
        self.threads: list[threading.Thread] = []
        self.server = SeatServer(self.path, answer, self.spawn, request_s)
        self.server.listen()
        self.spawn("seat", lambda: self.server.run(self.stop))

    def spawn(self, name: str, body: Callable[[], None]) -> None:
        thread = threading.Thread(target=body, name=name, daemon=True)
        self.threads.append(thread)
        thread.start()

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(LIMIT_S)
        connection.connect(str(self.path))
        return connection

    def exchange(self, sent: bytes) -> bytes:
        with self.connect() as connection, connection.makefile("rb") as answers:
            connection.sendall(sent)
            return answers.read()

    def close(self) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(LIMIT_S)
            assert not thread.is_alive()


@pytest.fixture
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s")


def echo(line: bytes) -> Answer:
    return {"ok": True, "said": line.decode()}


@pytest.fixture
def serving(private: Path) -> Iterator[Serving]:
    serving = Serving(private, echo)
    yield serving
    serving.close()


def test_the_socket_is_its_owners_alone_and_goes_when_the_service_ends(serving: Serving) -> None:
    assert serving.path.stat().st_mode & 0o777 == 0o600
    serving.close()
    assert not serving.path.exists()


def test_a_folder_that_others_may_enter_is_refused(private: Path) -> None:
    private.chmod(0o755)
    with pytest.raises(FolderNotPrivate):
        SeatServer(private / "agent.sock", echo, lambda name, body: None).listen()


def test_what_a_dead_service_left_at_the_address_is_replaced(private: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(private / "agent.sock"))
    serving = Serving(private, echo)
    assert json.loads(serving.exchange(b"x\n")) == {"ok": True, "said": "x"}
    serving.close()


def test_a_path_that_no_socket_can_have_is_refused(private: Path) -> None:
    with pytest.raises(ValueError, match="107"):
        SeatServer(private / ("x" * 120) / "agent.sock", echo, lambda name, body: None)


def test_a_connection_carries_one_request(serving: Serving) -> None:
    assert serving.exchange(b"first\nsecond\n").count(b"\n") == 1


@pytest.mark.parametrize("end", [pytest.param(b"\n", id="a line"), pytest.param(b"", id="without an end")])
def test_a_request_above_the_bound_is_refused_and_its_sender_told(serving: Serving, end: bytes) -> None:
    answer = json.loads(serving.exchange(b"x" * (REQUEST_BYTES_MAX * 3) + end))
    assert answer == {"error": "a request is larger than 256 KB: send less"}


def test_a_request_as_large_as_the_bound_is_answered(serving: Serving) -> None:
    answer = json.loads(serving.exchange(b"x" * (REQUEST_BYTES_MAX - 1) + b"\n"))
    assert len(answer["said"]) == REQUEST_BYTES_MAX - 1


def test_an_answer_that_is_too_large_is_not_sent(private: Path) -> None:
    serving = Serving(private, lambda line: {"ok": True, "text": "x" * (1024 * 1024)})
    assert json.loads(serving.exchange(b"x\n")) == {"error": "the answer is too large to be shown"}
    serving.close()


def test_a_request_that_does_not_come_in_time_is_not_waited_for(private: Path) -> None:
    serving = Serving(private, echo, request_s=0.2)
    with serving.connect() as silent, silent.makefile("rb") as answers:
        silent.sendall(b"half a requ")
        assert json.loads(answers.readline()) == {"ok": True, "said": ""}
    serving.close()


def test_more_connections_than_the_bound_are_closed_and_the_others_served(private: Path) -> None:
    entered, leave = threading.Semaphore(0), threading.Event()

    def hold(line: bytes) -> Answer:
        entered.release()
        assert leave.wait(LIMIT_S)
        return {"ok": True}

    serving = Serving(private, hold)
    held = [serving.connect() for _ in range(CONNECTIONS_MAX)]
    for connection in held:
        connection.sendall(b"x\n")
    for _ in held:
        assert entered.acquire(timeout=LIMIT_S)
    with serving.connect() as one_more:
        assert one_more.recv(1) == b""
    leave.set()
    for connection in held:
        assert connection.recv(100) == b'{"ok":true}\n'
        connection.close()
    assert json.loads(serving.exchange(b"again\n")) == {"ok": True}
    serving.close()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param(b"", "one JSON object a line", id="nothing"),
        pytest.param(b"\xff{}", "one JSON object a line", id="not UTF-8"),
        pytest.param(b"[" * 200_000, "one JSON object a line", id="nested too deep"),
        pytest.param(b"[]", "speaks version 1", id="no object"),
        pytest.param(b'{"v":2}', "speaks version 1", id="another version"),
        pytest.param(b'{"v":1,"token":5,"verb":"thread"}', "takes `token`", id="token no text"),
        pytest.param(b'{"v":1,"token":"t","verb":"stop"}', "no such verb", id="control verb"),
        pytest.param(b'{"v":1,"token":"t","verb":["reply"]}', "no such verb", id="verb no text"),
        pytest.param(b'{"v":1,"token":"t","verb":"reply","arguments":[]}', "takes `token`", id="arguments no object"),
        pytest.param(
            b'{"v":1,"token":"t","verb":"reply","arguments":{"text":5}}', "takes texts", id="argument no text"
        ),
        pytest.param(
            b'{"v":1,"token":"t","verb":"push","arguments":{"branch":"main"}}', "takes no argument", id="branch"
        ),
        pytest.param(b'{"v":1,"token":"t","verb":"reply","arguments":{"item":"x"}}', "takes text:", id="item"),
    ],
)
def test_what_is_no_request_is_declined_with_what_one_is(line: bytes, said: str) -> None:
    with pytest.raises(Declined) as declined:
        read_request(line)
    assert said in str(declined.value)


def test_a_request_is_read_as_it_was_written() -> None:
    request = Request(token="t", verb=Verb.PR, arguments={"title": "ü\n", "body": "x"})
    assert read_request(write_request(request)) == request


def test_a_call_returns_the_seats_answer(serving: Serving) -> None:
    answer = call(Verb.REPLY, {"text": "hello"}, seat_environment(serving.path, "t"), timeout_s=LIMIT_S)
    request = read_request(str(answer["said"]).encode())
    assert (request.token, request.verb, request.arguments) == ("t", Verb.REPLY, {"text": "hello"})


@pytest.mark.parametrize("missing", [SOCKET_VARIABLE, TOKEN_VARIABLE])
def test_a_call_outside_a_session_says_so(private: Path, missing: str) -> None:
    environment = seat_environment(private / "agent.sock", "t")
    del environment[missing]
    with pytest.raises(OutsideSession, match="works inside a session of the-loop"):
        call(Verb.THREAD, {}, environment)


def test_a_call_without_a_service_says_to_try_again(private: Path) -> None:
    with pytest.raises(SeatCallFailed, match="cannot be reached"):
        call(Verb.THREAD, {}, seat_environment(private / "agent.sock", "t"))


def test_a_call_that_is_too_large_is_not_sent(private: Path) -> None:
    with pytest.raises(SeatRefused, match="larger than 256 KB"):
        call(Verb.REPLY, {"text": "x" * REQUEST_BYTES_MAX}, seat_environment(private / "agent.sock", "t"))


def test_a_call_that_gets_no_answer_says_to_look_before_repeating(private: Path) -> None:
    leave = threading.Event()
    serving = Serving(private, lambda line: {"ok": leave.wait(LIMIT_S)})
    with pytest.raises(SeatCallFailed, match="look at the thread before you repeat"):
        call(Verb.THREAD, {}, seat_environment(serving.path, "t"), timeout_s=0.2)
    leave.set()
    serving.close()
