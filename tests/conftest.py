"""What holds for every test: loopback only, nothing of the person who runs them, no deadline by luck."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# Two cores are shared with whatever else runs: a slow example is no failure, a hanging one meets pytest's timeout.
settings.register_profile("the-loop", deadline=None)
settings.load_profile("the-loop")

FOREIGN_PREFIXES = ("THE_LOOP_", "GIT_", "GITHUB_", "GH_", "ANTHROPIC_", "CLAUDE")


@pytest.fixture(autouse=True, scope="session")
def _nobodys_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Settings, tokens and the state folder of whoever runs the tests neither help nor get hurt."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(FOREIGN_PREFIXES)]:
            patch.delenv(name)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _loopback_only() -> Iterator[None]:
    """A connection of the test process to another machine is a fault of the test."""
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            raise AssertionError(f"a test wanted to connect to {address!r}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_here)
        yield


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
