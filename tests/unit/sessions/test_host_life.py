"""A session host outlives its clients, ends for named reasons, and leaves nothing running and nothing unsaid."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sessions.host.journal import read_journal
from sessions.host.protocol import MESSAGE_BYTES_MAX, HandState, HostExit
from sessions.host.records import (
    Ended,
    Exited,
    Handed,
    IdleEnded,
    Receipt,
    Replayed,
    Started,
    StopReason,
    Taken,
    Trouble,
    TroubleKind,
)
from sessions.host.spec import SPEC_NAME
from sessions.link import HostGone, HostRefused, HostRefusedCall, SessionLink, clone_is_held, start_host
from sessions.process_tree import end_marked, find_session
from tests.fakes.session_hosts import QUICK, WAIT_S, Room, is_alive, one, prompt_of, wait_until

CLIENT = """
import sys
from pathlib import Path
from sessions.link import SessionLink
link = SessionLink.connect(Path(sys.argv[1]), 20)
link.hand("t1", sys.argv[2], 20)
stream = link.records(0)
while (recorded := stream.next(20)) is not None:
    print(type(recorded.record).__name__, flush=True)
"""


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    room = Room(tmp_path)
    yield room
    room.close()


def test_a_killed_client_interrupts_no_turn_and_another_reads_everything(room: Room) -> None:
    room.start().close()
    go = room.agent_folder / "go"
    prompt = prompt_of("t1", ["say", "a"], ["await_file", str(go)], ["say", "b"])
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(room.spec.socket_path), prompt], stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    while client.stdout.readline() != "Taken\n":
        pass
    client.kill()
    client.wait()
    client.stdout.close()
    go.touch()
    stream = SessionLink.connect(room.spec.socket_path, WAIT_S).records(0)
    seen = []
    while not seen or not isinstance(seen[-1], Ended):
        recorded = stream.next(WAIT_S)
        assert recorded is not None
        seen.append(recorded.record)
    assert [type(record) for record in seen] == [Started, Handed, Taken, Ended]
    assert one(seen, Ended).text_after_tools == "ab"


def test_a_record_stream_goes_on_at_the_offset_where_another_stopped(room: Room) -> None:
    link = room.start()
    link.hand("t1", prompt_of("t1"), WAIT_S)
    with link.records(0) as first:
        started = first.next(WAIT_S)
    assert started is not None
    with link.records(started.end_offset) as second:
        handed = second.next(WAIT_S)
    assert handed is not None
    assert handed.record == Handed("t1")
    assert next(read_journal(room.journal_path, started.end_offset)) == handed


def test_a_record_stream_says_when_nothing_came_and_when_the_host_is_gone(room: Room) -> None:
    link = room.start()
    room.wait_for(Started)
    with link.records(0) as stream:
        assert stream.next(WAIT_S) is not None
        assert stream.next(0.05) is None
        link.end("stop")
        last = stream.next(WAIT_S)
        assert last is not None
        assert isinstance(last.record, Exited)
        with pytest.raises(HostGone):
            stream.next(WAIT_S)


def test_a_conversation_is_loaded_by_a_new_host_which_knows_its_turns(room: Room) -> None:
    link = room.start()
    link.hand("t1", prompt_of("t1", ["say", "a"], ["hang"]), WAIT_S)
    room.wait_for(Taken)
    room.kill_host()
    link = room.start(conversation_id="conversation-1")
    assert link.hand("t1", prompt_of("t1"), WAIT_S) is HandState.TAKEN
    assert room.records()[-3:] == [
        Started(conversation_id="conversation-1", agent="fake", agent_version="1", loaded=True),
        Replayed(("t1",)),
        Taken(turn_id="t1", receipt=Receipt.REPLAYED),
    ]
    assert link.hand("t2", prompt_of("t2"), WAIT_S) is HandState.HANDED


def test_a_turn_that_the_conversation_forgot_is_handed_over_again(room: Room) -> None:
    link = room.start()
    link.hand("t0", prompt_of("t0"), WAIT_S)
    room.wait_for(Ended)
    room.kill_host()
    link = room.start("--forgetful", conversation_id="conversation-1")
    link.hand("t1", prompt_of("t1", ["say", "a"], ["hang"]), WAIT_S)
    wait_until(lambda: Taken(turn_id="t1", receipt=Receipt.MESSAGE) in room.records())
    room.kill_host()
    link = room.start(conversation_id="conversation-1")
    assert link.hand("t0", prompt_of("t0"), WAIT_S) is HandState.ENDED
    assert link.hand("t1", prompt_of("t1", ["say", "now"]), WAIT_S) is HandState.HANDED


@pytest.mark.parametrize("flag", ["--forget", "--no-load"])
def test_a_conversation_that_cannot_be_loaded_is_said_to_be_gone(room: Room, flag: str) -> None:
    room.launch(flag, conversation_id="conversation-1")
    room.wait_gone()
    assert one(room.records(), Trouble).kind is TroubleKind.CONVERSATION_GONE


@pytest.mark.parametrize(
    ("flag", "kind", "text"),
    [
        pytest.param(
            "--die-at-start",
            TroubleKind.OURS,
            "exited with code 3 before its conversation was open; sessions/",
            id="dies",
        ),
        pytest.param("--never-initialize", TroubleKind.OURS, "did not open", id="never answers"),
        pytest.param("--login", TroubleKind.PROVIDER, "Authentication required", id="wants a login"),
    ],
)
def test_an_agent_that_does_not_start_is_trouble_and_the_host_ends(
    room: Room, flag: str, kind: TroubleKind, text: str
) -> None:
    room.launch(flag, times=replace(QUICK, start_s=1.0))
    room.wait_gone()
    trouble = one(room.records(), Trouble)
    assert (trouble.kind, trouble.turn_id) == (kind, None)
    assert text in trouble.text


def test_an_agent_whose_program_is_missing_is_trouble(room: Room) -> None:
    room.spec = replace(room.spec, argv=("/nowhere/agent",))
    room.launch()
    room.wait_gone()
    assert "cannot be started" in one(room.records(), Trouble).text


@pytest.mark.parametrize(
    ("step", "text"),
    [
        pytest.param(["die", 7], "the agent exited with code 7", id="dies"),
        pytest.param(["close"], "the agent closed its output", id="falls silent"),
    ],
)
def test_an_agent_that_dies_in_a_turn_leaves_it_without_an_end(room: Room, step: list, text: str) -> None:
    link = room.start()
    link.hand("t1", prompt_of("t1", ["say", "a"], step), WAIT_S)
    room.wait_gone()
    assert one(room.records(), Trouble) == Trouble(kind=TroubleKind.OURS, text=text, turn_id="t1")
    assert isinstance(room.records()[-1], Exited)
    assert not any(isinstance(record, Ended) for record in room.records())


def test_stopping_ends_the_whole_tree_also_a_child_that_left_its_group(room: Room) -> None:
    link, pid_path = room.start(), room.agent_folder / "child"
    link.hand("t1", prompt_of("t1", ["spawn", str(pid_path)], ["say", "a"], ["wait"]), WAIT_S)
    room.wait_for(Taken)
    child_pid = int(pid_path.read_text())
    assert is_alive(child_pid)
    link.end("stop")
    room.wait_gone()
    assert one(room.records(), Ended).stop_reason is StopReason.CANCELLED
    assert one(room.records(), Exited).reason == "stop"
    assert not is_alive(child_pid)
    assert find_session(room.session_id) == set()


def test_a_killed_hosts_journal_is_read_and_everything_it_left_is_ended(room: Room) -> None:
    link, pid_path = room.start(), room.agent_folder / "child"
    link.hand("t1", prompt_of("t1", ["spawn", str(pid_path)], ["say", "a"], ["hang"]), WAIT_S)
    room.wait_for(Taken)
    room.kill_host()
    assert [type(record) for record in room.records()] == [Started, Handed, Taken]
    child_pid = int(pid_path.read_text())
    assert is_alive(child_pid)
    assert end_marked(room.session_id, grace_s=0.2) == ()
    assert not is_alive(child_pid)


def test_a_new_host_ends_what_a_killed_one_left_before_it_starts_its_agent(room: Room) -> None:
    link, pid_path = room.start(), room.agent_folder / "child"
    link.hand("t1", prompt_of("t1", ["spawn", str(pid_path)], ["say", "a"], ["hang"]), WAIT_S)
    room.wait_for(Taken)
    room.kill_host()
    room.start(conversation_id="conversation-1")
    room.wait_for(Replayed)
    assert not is_alive(int(pid_path.read_text()))


def test_a_signal_interrupts_the_turn_instead_of_ending_it(room: Room) -> None:
    link = room.start()
    link.hand("t1", prompt_of("t1", ["say", "a"], ["wait"]), WAIT_S)
    room.wait_for(Taken)
    os.kill(room.pids[-1], signal.SIGTERM)
    room.wait_gone()
    assert not any(isinstance(record, Ended) for record in room.records())
    assert one(room.records(), Exited).reason == "terminated"


def test_a_second_host_of_the_same_clone_is_refused(room: Room) -> None:
    room.start()
    with pytest.raises(HostRefused) as refused:
        start_host(room.folder, room.spec)
    assert refused.value.exit_code == HostExit.CLONE_HELD
    assert refused.value.clone_is_held
    assert clone_is_held(room.spec.lock_path)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.unlink(), id="missing"),
        pytest.param(lambda path: path.write_text("{}"), id="empty"),
        pytest.param(
            lambda path: path.write_text(path.read_text().replace('"version": 1', '"version": 9')), id="newer"
        ),
    ],
)
def test_a_spec_that_cannot_be_read_is_refused(room: Room, spoil: object) -> None:
    room.start().end("stop")
    room.wait_gone()
    spoil(room.folder / SPEC_NAME)  # type: ignore[operator]
    done = subprocess.run([sys.executable, "-m", "sessions.host", str(room.folder)], check=False, capture_output=True)
    assert done.returncode == HostExit.SPEC_REFUSED


def test_a_socket_path_that_no_system_holds_is_refused(room: Room) -> None:
    with pytest.raises(HostRefused, match="107"):
        start_host(room.folder, replace(room.spec, socket_path=Path("/tmp") / ("x" * 110)))


def test_an_idle_host_ends_itself(room: Room) -> None:
    room.launch(times=replace(QUICK, idle_s=0.2))
    room.wait_gone()
    assert [type(record) for record in room.records()] == [Started, IdleEnded, Exited]


def test_a_host_with_a_running_turn_is_not_idle_but_ends_when_nobody_attaches(room: Room) -> None:
    # The turn has to be handed over before the host may call itself idle: a busy machine needs its time for that.
    link = room.start(times=replace(QUICK, idle_s=2.0, unattached_s=3.0))
    assert link.hand("t1", prompt_of("t1", ["say", "a"], ["wait"]), WAIT_S) is HandState.HANDED
    room.wait_for(Taken)
    link.close()
    room.wait_gone()
    assert one(room.records(), Exited).reason == "unattached"
    assert not any(isinstance(record, (IdleEnded, Ended)) for record in room.records())


def test_a_torn_last_line_is_passed_over_by_readers_and_cut_by_the_next_host(room: Room) -> None:
    room.start()
    room.wait_for(Started)
    room.kill_host()
    whole = room.journal_path.read_bytes()
    room.journal_path.write_bytes(whole + b'{"v":1,"type":"handed","turn_')
    assert [type(record) for record in room.records()] == [Started]
    room.start().hand("t1", prompt_of("t1"), WAIT_S)
    records = room.wait_for(Ended)
    assert [type(record) for record in records] == [Started, Started, Handed, Taken, Ended]
    assert room.journal_path.read_bytes().startswith(whole + b'{"v":1,"at"')


def test_a_client_that_does_not_read_holds_nobody_up(room: Room) -> None:
    link = room.start()
    with socket.socket(socket.AF_UNIX) as stalled:
        stalled.connect(str(room.spec.socket_path))
        stalled.sendall(b'{"v":1,"verb":"attach","from_offset":0}\n')
        for number in range(4):
            prompt = prompt_of(f"t{number}", ["flood", 2_700])
            assert link.hand(f"t{number}", prompt, WAIT_S) is HandState.HANDED
            wait_until(lambda: isinstance(room.records()[-1], Ended))
        link.end("stop")
        room.wait_gone()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        pytest.param(b"what\n", b"not JSON", id="not JSON"),
        pytest.param(b"[]\n", b"not an object", id="not an object"),
        pytest.param(b'{"v":2,"verb":"ping"}\n', b"version 2", id="another version"),
        pytest.param(b'{"v":1,"verb":"dance"}\n', b"no such verb", id="unknown verb"),
        pytest.param(b'{"v":1,"verb":"cancel","turn_id":"../x"}\n', b"plain id", id="no plain turn id"),
        pytest.param(b'{"v":1,"verb":"attach","from_offset":-1}\n', b"outside the journal", id="offset below"),
        pytest.param(b'{"v":1,"verb":"attach","from_offset":1e9}\n', b"outside the journal", id="offset beyond"),
    ],
)
def test_a_malformed_message_is_refused_and_the_connection_stays(room: Room, line: bytes, answer: bytes) -> None:
    room.start()
    with socket.socket(socket.AF_UNIX) as client, client.makefile("rb") as answers:
        client.connect(str(room.spec.socket_path))
        client.sendall(line)
        assert answer in answers.readline()
        client.sendall(b'{"v":1,"verb":"ping"}\n')
        assert b"alive" in answers.readline()


def test_a_message_beyond_the_bound_ends_its_connection_only(room: Room) -> None:
    link = room.start()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(room.spec.socket_path))
        with pytest.raises(OSError):  # noqa: PT012 - the host hangs up at whichever of the two comes first
            client.sendall(b"x" * (3 * MESSAGE_BYTES_MAX))
            if client.recv(1) == b"":
                raise OSError("hung up")
    assert link.ping() == room.pids[-1]


def test_a_full_disk_refuses_the_turn_and_hands_nothing_over(room: Room) -> None:
    link = room.start()
    room.wait_for(Started)
    size = room.journal_path.stat().st_size
    resource.prlimit(room.pids[-1], resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))
    with pytest.raises(HostRefusedCall, match="cannot write"):
        link.hand("t1", prompt_of("t1"), WAIT_S)
    resource.prlimit(room.pids[-1], resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert room.journal_path.stat().st_size == size
    assert link.hand("t1", prompt_of("t1", ["say", "a"]), WAIT_S) is HandState.HANDED
    assert one(room.wait_for(Ended), Ended).text_after_tools == "a"


def test_the_agent_gets_the_environment_of_the_spec_and_the_mark_and_nothing_else(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    room.start()
    room.wait_for(Started)
    (agent,) = find_session(room.session_id)
    environment = Path(f"/proc/{agent.pid}/environ").read_bytes().rstrip(b"\0").split(b"\0")
    names = {entry.partition(b"=")[0] for entry in environment}
    assert names == {b"PATH", b"FAKE_AGENT_FOLDER", b"THE_LOOP_SESSION"}
