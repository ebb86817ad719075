"""Tests reach no other machine and see nothing of the person who runs them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("family", "address"),
    [
        pytest.param(socket.AF_INET, ("192.0.2.1", 443), id="an address"),
        pytest.param(socket.AF_INET, ("example.invalid", 443), id="a name"),
        pytest.param(socket.AF_INET6, ("2001:db8::1", 443), id="an address of version 6"),
    ],
)
def test_a_connection_to_another_machine_is_a_fault_of_the_test(family, address) -> None:
    with socket.socket(family) as connection, pytest.raises(AssertionError, match="wanted to connect"):
        connection.connect(address)


def test_a_connection_to_this_machine_is_made() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), timeout=5):
        server.settimeout(5)
        server.accept()[0].close()


def test_the_state_folder_is_not_the_persons_own() -> None:
    assert not Path(os.environ["XDG_STATE_HOME"]).is_relative_to(Path.home() / ".local" / "state")


def test_no_setting_of_the_person_reaches_a_test() -> None:
    assert [name for name in os.environ if name.startswith(("THE_LOOP_", "GITHUB_", "ANTHROPIC_"))] == []
