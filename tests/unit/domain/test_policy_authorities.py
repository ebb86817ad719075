"""Who may: listed logins without regard to case, pinned to their numbers; nobody else, and nobody when nobody is listed."""

from __future__ import annotations

import pytest

from domain.model import Account, Actor, Operator
from domain.policy import Authorities

OCTOCAT = Account(login="OctoCat", id=583231)


def may(actor: Actor | None, *logins: str, **pinned: int) -> bool:
    return Authorities(logins=frozenset(logins), pinned=pinned).may(actor)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        pytest.param(may(OCTOCAT, "octocat"), True, id="listed-in-another-case"),
        pytest.param(may(OCTOCAT, "ada"), False, id="not-listed"),
        pytest.param(may(OCTOCAT), False, id="nobody-is-listed"),
        pytest.param(may(None, "octocat"), False, id="deleted-author"),
        pytest.param(may(None), False, id="deleted-author-and-nobody-listed"),
        pytest.param(may(Account(login="", id=1), "octocat"), False, id="empty-login"),
        pytest.param(may(Operator("op")), True, id="operator-although-nobody-is-listed"),
        pytest.param(may(Account(login="ci[bot]", id=9, is_bot=True), "ada"), False, id="bot-not-listed"),
        pytest.param(may(Account(login="ci[bot]", id=9, is_bot=True), "ci[bot]"), True, id="bot-listed"),
        pytest.param(may(OCTOCAT, "octocat", octocat=583231), True, id="the-account-seen-before"),
        pytest.param(may(OCTOCAT, "octocat", octocat=1), False, id="another-account-took-the-login"),
        pytest.param(may(Account(login="renamed", id=1), "octocat", octocat=1), True, id="renamed-account-keeps-its-right"),
        pytest.param(may(OCTOCAT, "ada", octocat=583231), False, id="pinned-but-no-longer-listed"),
        pytest.param(may(Account(login="renamed", id=1), "ada", octocat=1), False, id="renamed-and-no-longer-listed"),
        pytest.param(
            may(Account(login="ada", id=1), "octocat", "ada", octocat=1, ada=2), False, id="renamed-to-a-login-of-somebody"
        ),
        pytest.param(may(Account(login="ada", id=2), "octocat", "ada", octocat=1), True, id="listed-and-not-yet-seen"),
    ],
)  # fmt: skip
def test_who_may_move_anything(allowed: bool, expected: bool) -> None:
    assert allowed is expected
