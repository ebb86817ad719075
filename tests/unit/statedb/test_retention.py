"""The store forgets texts after a month and keys after 400 days, and nothing that is still in play."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.model import Fate
from statedb.retention import DAY_MS, forget_some
from tests.fakes.core import Desk, comment
from tests.fakes.dispatching import START_MS, Dispatching

START = comment(1, "the-loop start")


def test_a_text_is_forgotten_after_a_month_and_its_outcome_is_kept(tmp_path: Path) -> None:
    with Dispatching(tmp_path) as dispatching:
        desk = Desk(dispatching)
        said = comment(1, "refused")
        desk.arrive(said)
        assert dispatching.committer.write(lambda c: forget_some(c, START_MS + 29 * DAY_MS)) == 0
        assert dispatching.committer.write(lambda c: forget_some(c, START_MS + 31 * DAY_MS)) == 1
        assert dispatching.rows("SELECT body FROM events") == [("",)]
        assert desk.fates(said) == ["awaiting-start"]


def test_a_key_is_forgotten_after_four_hundred_days(tmp_path: Path) -> None:
    with Dispatching(tmp_path) as dispatching:
        desk = Desk(dispatching)
        desk.arrive(comment(1, "refused"))
        while dispatching.committer.write(lambda c: forget_some(c, START_MS + 401 * DAY_MS)):
            continue
        counts = "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM fates), (SELECT count(*) FROM deliveries)"
        assert dispatching.rows(counts) == [(0, 0, 0)]


@pytest.mark.parametrize("days", [31, 401])
def test_what_is_in_play_is_never_forgotten(tmp_path: Path, days: int) -> None:
    with Dispatching(tmp_path) as dispatching:
        desk = Desk(dispatching)
        desk.arrive(START)
        while dispatching.committer.write(lambda c: forget_some(c, START_MS + days * DAY_MS)):
            continue
        assert dispatching.rows("SELECT body FROM events") == [(START.body,)]
        assert desk.row(START.key).fate is Fate.INFLIGHT
