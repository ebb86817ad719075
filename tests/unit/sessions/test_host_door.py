"""The door of a session host: its socket is its owner's alone, and nobody waits at one that is shut."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.host.spec import SPEC_NAME
from sessions.link import HostGone, SessionLink
from tests.fakes.session_hosts import WAIT_S, Room, prompt_of


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    room = Room(tmp_path)
    yield room
    room.close()


def test_the_socket_and_the_spec_are_their_owners_alone(room: Room) -> None:
    room.start()
    assert room.spec.socket_path.stat().st_mode & 0o777 == 0o600
    assert (room.folder / SPEC_NAME).stat().st_mode & 0o777 == 0o600


def test_a_host_that_has_ended_is_not_waited_for(room: Room) -> None:
    room.launch("--die-at-start")
    room.wait_gone()
    with pytest.raises(HostGone):
        SessionLink.connect(room.spec.socket_path, 3600.0, room.spec.lock_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_connection_of_another_user_is_refused(room: Room) -> None:
    room.start()
    room.socket_folder.chmod(0o755)
    room.spec.socket_path.chmod(0o666)
    with socket.socket(socket.AF_UNIX) as client:
        os.seteuid(65534)
        try:
            client.connect(str(room.spec.socket_path))
        finally:
            os.seteuid(0)
        with pytest.raises(OSError):  # noqa: PT012 - the host hangs up at whichever of the two comes first
            client.sendall(b'{"v":1,"verb":"ping"}\n')
            if client.recv(100) == b"":
                raise OSError("hung up")


def test_a_closed_link_asks_nothing_more(room: Room) -> None:
    link = room.start("--never-initialize")
    link.close()
    with pytest.raises(HostGone):
        link.hand("t1", prompt_of("t1"), WAIT_S)
