"""What an agent may do by itself: one table of modes, tool kinds and commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions.host.commands import plain_words
from sessions.host.permissions import (
    DEFAULT_ALLOW_COMMANDS,
    SEAT_COMMANDS,
    PermissionMode,
    PermissionRequest,
    PermissionRules,
    Verdict,
    judge,
)

DENY, EDITS, ALL = PermissionMode.DENY, PermissionMode.ALLOW_EDITS, PermissionMode.ALLOW_ALL


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    clone = tmp_path / "clone"
    (clone / "src").mkdir(parents=True)
    (tmp_path / "clone-neighbour").mkdir()
    (clone / "out").symlink_to(tmp_path)
    (clone / "in").symlink_to(clone / "src")
    (clone / "dangling").symlink_to(tmp_path / "nothing")
    return clone


def ask(clone: Path, mode: PermissionMode, kind: str, *, command: str | None = None, paths: tuple = ()) -> Verdict:
    rules = PermissionRules(mode=mode, allow_commands=(*DEFAULT_ALLOW_COMMANDS, "make test"), clone=clone)
    return judge(PermissionRequest(kind=kind, title="", command=command, paths=paths), rules)


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [
        pytest.param("read", (True, True, True), id="read"),
        pytest.param("search", (True, True, True), id="search"),
        pytest.param("think", (True, True, True), id="think"),
        pytest.param("edit", (False, True, True), id="edit"),
        pytest.param("delete", (False, True, True), id="delete"),
        pytest.param("move", (False, True, True), id="move"),
        pytest.param("fetch", (False, False, True), id="fetch"),
        pytest.param("switch_mode", (False, False, True), id="switch mode"),
        pytest.param("other", (False, False, True), id="other"),
        pytest.param("unheard-of", (False, False, True), id="a kind of a later protocol"),
        pytest.param("execute", (False, False, True), id="execute without a command"),
    ],
)
def test_each_mode_allows_its_tool_kinds(clone: Path, kind: str, allowed: tuple[bool, bool, bool]) -> None:
    paths = (str(clone / "a.txt"),)
    assert tuple(ask(clone, mode, kind, paths=paths).allowed for mode in (DENY, EDITS, ALL)) == allowed


@pytest.mark.parametrize(
    ("paths", "allowed"),
    [
        pytest.param(("a.txt",), True, id="relative"),
        pytest.param(("{clone}/src/new/a.txt",), True, id="not there yet"),
        pytest.param(("{clone}/src/../a.txt",), True, id="dots that stay inside"),
        pytest.param(("in/a.txt",), True, id="a link that stays inside"),
        pytest.param((), False, id="no file named"),
        pytest.param(("{clone}",), False, id="the clone itself"),
        pytest.param(("{clone}/../a.txt",), False, id="dots that leave"),
        pytest.param(("{clone}-neighbour/a.txt",), False, id="a neighbour of the same beginning"),
        pytest.param(("out/a.txt",), False, id="a link that leaves"),
        pytest.param(("out/clone/a.txt",), True, id="a link that leaves and comes back"),
        pytest.param(("dangling",), False, id="a link to nothing outside"),
        pytest.param(("/etc/passwd",), False, id="absolute"),
        pytest.param(("~/a.txt",), False, id="home"),
        pytest.param(("a.txt", "/etc/passwd"), False, id="one of two outside"),
        pytest.param(("a\0b",), False, id="no path at all"),
    ],
)
def test_edits_stay_inside_the_clone(clone: Path, paths: tuple[str, ...], allowed: bool) -> None:
    named = tuple(path.format(clone=clone) for path in paths)
    assert ask(clone, EDITS, "edit", paths=named).allowed is allowed


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".git/config", id="settings"),
        pytest.param("{clone}/.git/hooks/pre-commit", id="a hook"),
        pytest.param(".GIT/config", id="in capitals"),
        pytest.param(".git", id="the folder"),
        pytest.param("src/../.git/config", id="by dots"),
        pytest.param("vendor/.git/config", id="of a repository inside"),
        pytest.param("gits/config", id="by a link"),
    ],
)
def test_what_git_runs_programs_by_is_not_edited(clone: Path, path: str) -> None:
    (clone / ".git").mkdir()
    (clone / "gits").symlink_to(".git")
    verdict = ask(clone, EDITS, "edit", paths=("a.txt", path.format(clone=clone)))
    assert (verdict.allowed, "file of git's own" in verdict.reason) == (False, True)


def test_files_that_only_remind_of_gits_own_are_edited(clone: Path) -> None:
    assert ask(clone, EDITS, "edit", paths=(".gitignore", ".github/workflows/ci.yml", "git/config")).allowed


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        pytest.param("git add a.txt", True, id="an entry and more"),
        pytest.param("git  add\t.", True, id="spaces between words"),
        pytest.param("make test", True, id="exactly an entry"),
        pytest.param("make tests", False, id="a longer word"),
        pytest.param("make", False, id="half an entry"),
        pytest.param("git addx", False, id="git addx"),
        pytest.param("git push", False, id="another verb"),
        pytest.param("git -c alias.add=!sh add", False, id="an option before the verb"),
        pytest.param("/tmp/git add .", False, id="another program of that name"),
        pytest.param('git commit -m "fix (a) & b; c"', True, id="operators inside double quotes are text"),
        pytest.param("git commit -m 'costs $5 `x` | y'", True, id="anything inside single quotes is text"),
        pytest.param('git commit -m "first\n\nsecond"', True, id="a quoted line break is text"),
        pytest.param(r"git commit -m \$5", True, id="an escaped sign is text"),
        pytest.param("git status && rm -rf .", False, id="and"),
        pytest.param("git status || true", False, id="or"),
        pytest.param("git status; id", False, id="semicolon"),
        pytest.param("git status & id", False, id="background"),
        pytest.param("git log | sh", False, id="pipe"),
        pytest.param("git diff > /etc/passwd", False, id="output"),
        pytest.param("git commit -F - < secret", False, id="input"),
        pytest.param("git commit -F - <<EOF", False, id="here document"),
        pytest.param("git diff <(id)", False, id="process substitution"),
        pytest.param("git add $(id)", False, id="substitution"),
        pytest.param("git add `id`", False, id="backticks"),
        pytest.param('git commit -m "$(id)"', False, id="substitution in double quotes"),
        pytest.param('git commit -m "`id`"', False, id="backticks in double quotes"),
        pytest.param("git add $HOME", False, id="variable"),
        pytest.param("git add $'a'", False, id="ANSI quotes"),
        pytest.param("git status\nid", False, id="second line"),
        pytest.param("git status\rid", False, id="carriage return"),
        pytest.param("git status \\\nid", False, id="continued line"),
        pytest.param("GIT_PAGER=sh git log", False, id="assignment"),
        pytest.param("A+=1 git log", False, id="appending assignment"),
        pytest.param("(git status)", False, id="subshell"),
        pytest.param("git commit -m 'open", False, id="open quote"),
        pytest.param("git status \\", False, id="open escape"),
        pytest.param("git\0 add", False, id="NUL"),
        pytest.param("", False, id="nothing"),
        pytest.param("   ", False, id="blank"),
        pytest.param("'git add' x", False, id="two words in one"),
        pytest.param("the-loop status", True, id="ours by default"),
        pytest.param("the-loop sessions stop octo/repo#1", False, id="the operator's"),
        pytest.param(
            "the-loop --config x.toml sessions cleanup octo/repo#1", False, id="the operator's behind an option"
        ),
    ],
)
def test_one_plain_command_that_begins_with_an_entry_may_run(clone: Path, command: str, allowed: bool) -> None:
    assert ask(clone, EDITS, "execute", command=command).allowed is allowed
    assert not ask(clone, DENY, "execute", command=command).allowed


@pytest.mark.parametrize("mode", [DENY, EDITS, ALL])
@pytest.mark.parametrize("command", SEAT_COMMANDS)
def test_the_seats_verbs_are_allowed_in_every_mode(clone: Path, mode: PermissionMode, command: str) -> None:
    assert ask(clone, mode, "execute", command=f"{command} --json").allowed
    assert ask(clone, mode, "execute", command=f"{command}; id").allowed is (mode is ALL)


@pytest.mark.parametrize("command", ["the-loop sessions stop", "the-loop", "the-loop --help reply", "the-loop replys"])
def test_other_verbs_than_the_seats_are_not(clone: Path, command: str) -> None:
    assert not ask(clone, DENY, "execute", command=command).allowed


@pytest.mark.parametrize(
    ("mode", "kind", "command", "setting"),
    [
        pytest.param(DENY, "edit", None, "sessions.permissions is deny", id="deny"),
        pytest.param(EDITS, "fetch", None, "sessions.permissions is allow_edits", id="kind"),
        pytest.param(EDITS, "execute", "git log | sh", "sessions.permissions is allow_edits", id="not plain"),
        pytest.param(EDITS, "execute", "cargo test", "sessions.allow_commands", id="no entry"),
        pytest.param(EDITS, "edit", None, "sessions.permissions is allow_edits", id="outside"),
    ],
)
def test_a_refusal_names_the_setting(
    clone: Path, mode: PermissionMode, kind: str, command: str | None, setting: str
) -> None:
    verdict = ask(clone, mode, kind, command=command, paths=("/etc/passwd",))
    assert not verdict.allowed
    assert setting in verdict.reason


def test_an_empty_entry_allows_nothing(clone: Path) -> None:
    rules = PermissionRules(mode=EDITS, allow_commands=("", "  "), clone=clone)
    assert not judge(PermissionRequest(kind="execute", title="", command="id", paths=()), rules).allowed


def test_the_words_of_a_plain_command_are_what_a_shell_would_see() -> None:
    assert plain_words("""git commit -m 'a b' "c\\"d" e\\ f""") == ("git", "commit", "-m", "a b", 'c"d', "e f")
