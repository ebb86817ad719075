"""Which stories are told over which roads, and how often each makes which call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.crash.points import Point, points
from tests.crash.setting import Setting
from tests.crash.stories import Story, pause_resume, start_comment_stop, stop_in_mid_turn
from tests.crash.world import ORDINARY, World

TRANSACTION = "store.transaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A story over its roads. `calls`: how often it makes each call at least; `stride`: every how many-th of the store's
    transactions is a point, for what they write is much the same in all cases."""

    name: str
    story: Story
    calls: Mapping[str, int]
    setting: Setting = ORDINARY
    stride: int = 1

    def world(self, folder: Path, *fatal: Point) -> World:
        """A world with the case's roads."""
        return World(folder, *fatal, setting=self.setting)

    def points(self) -> list[Point]:
        """Where the service dies."""
        every = points(self.calls)
        return [point for point in every if point.call != TRANSACTION or (point.nth - 1) % self.stride == 0]


ONCE = dict.fromkeys(
    (
        "items.me",
        "harness.missing",
        "remotes.remote",
        "clones.prepare",
        "harness.open",
        "live.records",
        "live.end",
        "live.close",
        "harness.left_behind",
    ),
    1,
)
"""What every story does once: who we are, one session opened, followed, ended, and read to its end."""

POLLING = {"items.repository": 1, "github.read": 3}

CASES = (
    Case(
        name="start-comment-stop",
        story=start_comment_stop,
        calls=ONCE
        | {
            "harness.attach": 2,
            "live.hand": 2,
            "records.next": 8,
            "threads.react": 6,
            "threads.post": 2,
            "publisher.step": 8,
            TRANSACTION: 42,
        },
    ),
    Case(
        name="pause-resume",
        story=pause_resume,
        calls=ONCE
        | {
            "harness.attach": 2,
            "live.hand": 2,
            "records.next": 8,
            "threads.react": 8,
            "threads.post": 2,
            "publisher.step": 10,
            TRANSACTION: 49,
        },
        stride=4,
    ),
    Case(
        name="stop-in-mid-turn",
        story=stop_in_mid_turn,
        calls=ONCE
        | {
            "harness.attach": 2,
            "live.hand": 1,
            "live.cancel": 1,
            "records.next": 5,
            "threads.react": 4,
            "publisher.step": 4,
            TRANSACTION: 25,
        },
        stride=3,
    ),
    Case(
        name="polled",
        story=start_comment_stop,
        calls=ONCE
        | POLLING
        | {
            "harness.attach": 2,
            "items.item": 1,
            "live.hand": 2,
            "records.next": 8,
            "threads.react": 6,
            "threads.post": 2,
            "publisher.step": 8,
            TRANSACTION: 49,
        },
        setting=Setting(pushed=False, polled=True),
        stride=4,
    ),
    Case(
        name="both-roads",
        story=start_comment_stop,
        calls=POLLING | {"threads.post": 2, TRANSACTION: 43},
        setting=Setting(polled=True),
        stride=6,
    ),
)
