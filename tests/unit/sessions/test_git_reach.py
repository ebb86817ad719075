"""A git command that may run stays inside the clone and runs nothing else, unless an entry says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions.host.permissions import (
    DEFAULT_ALLOW_COMMANDS,
    PermissionMode,
    PermissionRequest,
    PermissionRules,
    Verdict,
    judge,
)

PATH = "path outside the clone"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    clone = tmp_path / "clone"
    clone.mkdir()
    (clone / "out").symlink_to(tmp_path)
    return clone


def ask(clone: Path, command: str, *entries: str) -> Verdict:
    rules = PermissionRules(
        mode=PermissionMode.ALLOW_EDITS, allow_commands=(*DEFAULT_ALLOW_COMMANDS, *entries), clone=clone
    )
    return judge(PermissionRequest(kind="execute", title="", command=command, paths=()), rules)


@pytest.mark.parametrize(
    ("command", "what"),
    [
        pytest.param("git log -p --output=/tmp/x", "--output", id="output"),
        pytest.param("git diff --output x", "--output", id="output-and-a-separate-value"),
        pytest.param("git diff --outp=x", "--output", id="abbreviated"),
        pytest.param("git diff HEAD -- --output=x", "--output", id="behind-what-may-be-a-value"),
        pytest.param("git diff --no-index a b", "--no-index", id="any-two-files"),
        pytest.param("git log --ext-diff", "--ext-diff", id="a-program-that-compares"),
        pytest.param("git diff --textc", "--textconv", id="a-program-that-converts"),
        pytest.param("git log --exec-path=/tmp", "--exec-path", id="another-git"),
        pytest.param("git diff -O/etc/passwd", "-O", id="order-file"),
        pytest.param("git log -pO /etc/passwd", "-O", id="order-file-among-letters"),
        pytest.param("git commit --file=/etc/passwd", "--file", id="message-from-a-file"),
        pytest.param("git commit --fi /etc/passwd", "--file", id="message-from-a-file-abbreviated"),
        pytest.param("git commit -F /etc/passwd", "-F", id="message-from-a-file-by-letter"),
        pytest.param("git commit -F/etc/passwd", "-F", id="letter-with-its-value"),
        pytest.param("git commit -aqF/etc/passwd", "-F", id="letter-among-letters"),
        pytest.param("git commit --template=/etc/passwd", "--template", id="template"),
        pytest.param("git commit -t /etc/passwd", "-t", id="template-by-letter"),
        pytest.param("git add --pathspec-from-file=/etc/passwd", "--pathspec-from-file", id="paths-from-a-file"),
        pytest.param("git diff /etc/passwd /dev/null", PATH, id="two-paths-outside"),
        pytest.param("git diff a.txt ../secret", PATH, id="one-of-two-paths-outside"),
        pytest.param("git diff -- a.txt out/secret", PATH, id="through-a-link"),
        pytest.param("git diff a.txt ~/secret", PATH, id="home"),
    ],
)
def test_a_git_command_that_reaches_out_is_refused_and_the_setting_named(clone: Path, command: str, what: str) -> None:
    reason = f"sessions.allow_commands allows no {what}, unless an entry names it"
    assert ask(clone, command) == Verdict(False, reason)


@pytest.mark.parametrize(
    ("command", "what"),
    [
        pytest.param("git -c core.pager=sh log", "-c", id="setting"),
        pytest.param("git --config-env=core.pager=X log", "--config-env", id="setting-from-the-environment"),
        pytest.param("git -C / status", "-C", id="folder"),
        pytest.param("git --git-dir=/x log", "--git-dir", id="repository"),
        pytest.param("git --no-pager --work-tree / status", "--work-tree", id="behind-another-option"),
        pytest.param("git --no-pager diff / a.txt", PATH, id="path"),
        pytest.param("git grep -Oless x", "-O", id="pager"),
        pytest.param("git push --receive-pack=x", "--receive-pack", id="program-of-the-other-side"),
    ],
)
def test_git_as_an_entry_is_every_verb_and_no_more(clone: Path, command: str, what: str) -> None:
    reason = f"sessions.allow_commands allows no {what}, unless an entry names it"
    assert ask(clone, command, "git") == Verdict(False, reason)


@pytest.mark.parametrize(
    "command",
    [
        "git log --oneline -5 --output-indicator-new=x main..HEAD",
        "git log -c -F --grep=x",
        "git log -SOutput",
        "git diff --text -U5 HEAD~1 .",
        "git diff a...b -- {clone}/src ':!x'",
        "git diff HEAD:../a b",
        "git show -s HEAD",
        "git commit -mFirst",
        "git commit -am 'Take out /etc/passwd' --amend",
        "git commit -m '- start it'",
        "git commit -c HEAD --date=now",
        "git add --all --force -- ../a",
        "git status -uno",
    ],
)
def test_what_stays_inside_may_run(clone: Path, command: str) -> None:
    assert ask(clone, command.format(clone=clone), "git show").allowed


@pytest.mark.parametrize(
    ("entry", "command", "allowed"),
    [
        pytest.param("git commit -F", "git commit -F ../message", True, id="letter"),
        pytest.param("git diff --no-index", "git diff --no-index /a /b", True, id="any-two-files"),
        pytest.param("git diff /a", "git diff /a", True, id="path"),
        pytest.param("git -c a=b", "git -c a=b log", True, id="setting"),
        pytest.param("git -c a=b", "git -c a=b -c core.pager=sh log", False, id="another-setting"),
        pytest.param("git -c a=b", "git -c a=b diff /a /b", False, id="setting-before-a-path"),
        pytest.param("git diff --no-index", "git diff --no-index /a /b --output=x", False, id="another-option"),
        pytest.param("git log --output", "git diff --output x", False, id="another-verb"),
        pytest.param("make", "make --file=/x", True, id="another-program"),
    ],
)
def test_what_an_entry_names_itself_is_allowed_and_nothing_else(
    clone: Path, entry: str, command: str, allowed: bool
) -> None:
    assert ask(clone, command, entry).allowed is allowed
