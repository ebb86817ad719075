"""What follows from a try, and from asking the thread."""

from __future__ import annotations

import pytest

from domain import sending
from domain.ports import InDoubt, NotSent, Posted, Refused, SendResult
from domain.sending import (
    Abandon,
    Absent,
    Asked,
    Dead,
    Delivered,
    Doubt,
    Finding,
    Following,
    Found,
    Tried,
    Unresolved,
    Wait,
)

NOW = 1_800_000_000_000


def tried(sends: int = 1, *, failed_unsent_before: bool = False) -> Tried:
    return Tried(sends=sends, failed_unsent_before=failed_unsent_before, now_ms=NOW)


def asked(age_s: float, *, absent_s_ago: float | None = None, sends: int = 1, questions: int = 1) -> Asked:
    """A question `age_s` after the try; `absent_s_ago`: the first listing without it."""
    absent_since_ms = None if absent_s_ago is None else NOW - round(absent_s_ago * 1000)
    return Asked(
        sends=sends,
        questions=questions,
        tried_at_ms=NOW - round(age_s * 1000),
        absent_since_ms=absent_since_ms,
        now_ms=NOW,
    )


def wait(seconds: float, reason: str = "connect", *, spends: bool = False) -> Wait:
    return Wait(at_ms=NOW + round(seconds * 1000), reason=reason, spends=spends)


def doubt(seconds: float, reason: str = "absent", absent_s_ago: float | None = None) -> Doubt:
    absent_since_ms = None if absent_s_ago is None else NOW - round(absent_s_ago * 1000)
    return Doubt(ask_at_ms=NOW + round(seconds * 1000), reason=reason, absent_since_ms=absent_since_ms)


@pytest.mark.parametrize(
    ("result", "trial", "following"),
    [
        pytest.param(Posted(id=7, url="u", server_time_ms=None), tried(), Delivered(7, "u"), id="posted"),
        pytest.param(Refused("locked"), tried(), Dead("locked"), id="refused"),
        pytest.param(InDoubt("read-timeout"), tried(), doubt(5, "read-timeout"), id="in doubt"),
        pytest.param(InDoubt("http-500"), tried(3), doubt(5, "http-500"), id="in doubt for the third time"),
        pytest.param(NotSent("connect"), tried(), wait(30), id="not sent"),
        pytest.param(NotSent("connect"), tried(failed_unsent_before=True), wait(120), id="not sent again"),
        pytest.param(NotSent("connect", 45), tried(), wait(45), id="not sent and told to wait longer"),
        pytest.param(NotSent("connect", 1), tried(), wait(30), id="not sent and told to wait shorter"),
        pytest.param(NotSent("connect", 86_400), tried(), wait(3_600), id="told to wait for a day"),
        pytest.param(NotSent("connect", -5), tried(), wait(30), id="told nonsense"),
    ],
)
def test_what_follows_from_trying_to_post_a_comment(result: SendResult, trial: Tried, following: Following) -> None:
    assert sending.after_comment(result, trial) == following


@pytest.mark.parametrize(
    ("result", "trial", "following"),
    [
        pytest.param(Posted(id=7, url="", server_time_ms=None), tried(), Delivered(7, ""), id="posted"),
        pytest.param(Refused("not-found"), tried(), Dead("not-found"), id="refused"),
        pytest.param(NotSent("connect"), tried(), wait(30), id="not sent"),
        pytest.param(InDoubt("http-500"), tried(1), wait(30, "http-500", spends=True), id="in doubt once"),
        pytest.param(InDoubt("http-500"), tried(2), wait(120, "http-500", spends=True), id="in doubt twice"),
        pytest.param(InDoubt("http-500"), tried(3), Abandon("http-500"), id="in doubt three times"),
    ],
)
def test_what_follows_from_trying_to_put_a_reaction(result: SendResult, trial: Tried, following: Following) -> None:
    assert sending.after_reaction(result, trial) == following


@pytest.mark.parametrize(
    ("finding", "question", "following"),
    [
        pytest.param(Found(7, "u", (8,)), asked(1), Delivered(7, "u"), id="found"),
        pytest.param(Absent(), asked(59.9), doubt(15), id="absent before it settled"),
        pytest.param(Absent(), asked(60), doubt(15, absent_s_ago=0), id="absent for the first time that counts"),
        pytest.param(Absent(), asked(74, absent_s_ago=14), doubt(15, absent_s_ago=14), id="absent twice, too close"),
        pytest.param(
            Absent(), asked(75, absent_s_ago=15), wait(0, "absent", spends=True), id="absent twice: sent again"
        ),
        pytest.param(
            Absent(),
            asked(80, absent_s_ago=15, sends=2),
            wait(40, "absent", spends=True),
            id="absent twice after the second send: two minutes after it",
        ),
        pytest.param(
            Absent(), asked(75, absent_s_ago=15, sends=3), Abandon("attempts-spent"), id="absent after three sends"
        ),
        pytest.param(
            Absent(),
            asked(80, absent_s_ago=30),
            doubt(15, absent_s_ago=0),
            id="an absence before it settled does not count later",
        ),
        pytest.param(
            Absent(), asked(75, absent_s_ago=-3_600), doubt(15, absent_s_ago=0), id="an absence still to come is now"
        ),
        pytest.param(Absent(), asked(-3_600), doubt(15), id="a try still to come has no age"),
        pytest.param(Unresolved("listing-incomplete"), asked(90), doubt(1, "listing-incomplete"), id="unresolved"),
        pytest.param(
            Unresolved("rate-limit", 40), asked(90, questions=2), doubt(40, "rate-limit"), id="unresolved, told to wait"
        ),
        pytest.param(
            Unresolved("http-500"),
            asked(90, absent_s_ago=20, questions=9),
            doubt(300, "http-500", absent_s_ago=20),
            id="unresolved after an absence: the absence still counts",
        ),
    ],
)
def test_what_follows_from_asking_the_thread(finding: Finding, question: Asked, following: Following) -> None:
    assert sending.after_question(finding, question) == following


@pytest.mark.parametrize(
    ("first_server_time_ms", "since_ms"),
    [
        pytest.param(NOW + 7_000, NOW + 7_000 - 300_000, id="GitHub's own time, less a request's length"),
        pytest.param(None, NOW - 172_800_000, id="ours, less what a wrong clock may be off by"),
    ],
)
def test_the_thread_is_listed_from_before_the_first_try(first_server_time_ms: int | None, since_ms: int) -> None:
    assert sending.ask_since_ms(first_server_time_ms, NOW) == since_ms


def test_what_certainly_did_not_leave_with_its_owner_is_sent_at_once() -> None:
    assert sending.after_never_left(NOW) == wait(0, "owner-lost")
