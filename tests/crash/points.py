"""The points at which a service may die: before and after each call of a port between a request and its answer."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from domain.ports import ItemPort, PullPort, ThreadPort
from githubapi.door import GitHub
from replies.publisher import Publisher
from sessions.clones import Clones
from sessions.port import Harness, Live, Records
from webhook.means import RemotePort


class Store(Protocol):
    """The disk, as the committer meets it."""

    def transaction(self) -> None:
        """One batch: begun, written and committed, or nothing of it."""


class When(StrEnum):
    """On which side of the call."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The n-th call of a port's method in a process, counted from 1."""

    call: str
    """port.method"""
    nth: int
    when: When

    def __str__(self) -> str:
        return f"{self.when}:{self.call}:{self.nth}"


PORTS: Mapping[str, type] = {
    "items": ItemPort,
    "threads": ThreadPort,
    "pulls": PullPort,
    "remotes": RemotePort,
    "github": GitHub,
    "harness": Harness,
    "live": Live,
    "records": Records,
    "clones": Clones,
    "store": Store,
    "publisher": Publisher,
}
"""What leaves the process, and the two places in it at which something becomes true."""

OURSELVES = {"publisher.run", "publisher.wake"}
"""Bodies and signals of threads, which are no calls to anything outside."""


def calls_of(port: str) -> list[str]:
    """The calls that a port has, by the methods of its type."""
    members = inspect.getmembers(PORTS[port], inspect.isfunction)
    names = [f"{port}.{name}" for name, _ in members if not name.startswith("_")]
    return [name for name in names if name not in OURSELVES]


CALLS = frozenset(call for port in PORTS for call in calls_of(port))


def read_point(text: str) -> Point:
    """The point that `str` made a text of."""
    when, call, nth = text.split(":")
    return Point(call=call, nth=int(nth), when=When(when))


def points(counts: Mapping[str, int]) -> list[Point]:
    """Both sides of every call, where `counts` says how often each is made."""
    return [
        Point(call=call, nth=nth, when=when)
        for call, count in sorted(counts.items())
        for nth in range(1, count + 1)
        for when in When
    ]
