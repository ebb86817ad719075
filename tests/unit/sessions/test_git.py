"""The door to git: what a call inherits, what ends it, what its faults are called and what they do not repeat."""

from __future__ import annotations

import base64
import os
import re
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sessions.git import Git, Remote, Scope, is_branch_name, item_branch
from sessions.git_faults import GitFailed, GitFault, fault_of, redacted
from tests.fakes.repositories import SURROUNDINGS, by_hand, make_remote

TOKEN = "s3cret-token-of-ours"
BASIC = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()


def stand_in(folder: Path, script: str) -> dict[str, str]:
    """An environment in which `git` is the script."""
    program = folder / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {**SURROUNDINGS, "PATH": f"{program.parent}:{SURROUNDINGS['PATH']}"}


def test_git_inherits_nothing_but_what_is_allowed(tmp_path: Path) -> None:
    surroundings = stand_in(tmp_path, "env") | {
        "GITHUB_TOKEN": TOKEN,
        "HOME": str(tmp_path),
        "GIT_DIR": "/elsewhere",
        "GIT_SSH_COMMAND": "evil",
        "SSH_ASKPASS": "evil",
        "LD_PRELOAD": "evil",
        "GIT_CONFIG_PARAMETERS": "'core.pager=evil'",
        "no_proxy": "localhost",
    }
    seen = dict(line.split("=", 1) for line in Git(10, surroundings).text(Scope(), "any").splitlines())
    allowed = {"PATH", "TMPDIR", "no_proxy", "HOME", "LANG", "LC_ALL", "PWD", "_", "SHLVL", "OLDPWD"}
    assert {name for name in seen if not name.startswith("GIT_")} <= allowed
    assert seen["HOME"] == "/dev/null"
    assert seen["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert seen["GIT_ALLOW_PROTOCOL"] == "file"
    assert not {"GIT_DIR", "GIT_SSH_COMMAND", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"} & set(seen)


def test_git_reads_nothing_from_standard_input_but_what_it_is_given(tmp_path: Path) -> None:
    git = Git(10, stand_in(tmp_path, "cat"))
    assert git.run(Scope(), "any") == b""
    assert git.run(Scope(), "any", stdin=b"x" * 300_000) == b"x" * 300_000


@pytest.mark.parametrize("script", ["sleep 60 & sleep 60", "trap '' TERM; sleep 60 & sleep 60; sleep 60"])
def test_a_call_ends_at_its_deadline_with_all_its_children(tmp_path: Path, script: str) -> None:
    git = Git(0.3, stand_in(tmp_path, f"echo $$ > {tmp_path}/pid\n{script}"))
    with pytest.raises(GitFailed) as failed:
        git.run(Scope(), "any")
    assert failed.value.fault is GitFault.TIMEOUT
    _assert_group_ends(int((tmp_path / "pid").read_text()))


def test_a_call_that_closed_its_output_ends_at_its_deadline(tmp_path: Path) -> None:
    git = Git(0.3, stand_in(tmp_path, f"echo $$ > {tmp_path}/pid\nexec sleep 60 >&- 2>&-"))
    with pytest.raises(GitFailed) as failed:
        git.run(Scope(), "any")
    assert failed.value.fault is GitFault.TIMEOUT
    _assert_group_ends(int((tmp_path / "pid").read_text()))


def test_a_call_ends_when_it_is_called_off(tmp_path: Path) -> None:
    cancelled = threading.Event()
    os.mkfifo(tmp_path / "begun")
    git = Git(60, stand_in(tmp_path, f"echo $$ > {tmp_path}/begun\nsleep 60"))
    pids: list[int] = []

    def call_off() -> None:
        pids.append(int((tmp_path / "begun").read_text()))
        cancelled.set()

    other = threading.Thread(target=call_off)
    other.start()
    with pytest.raises(GitFailed) as failed:
        git.run(Scope(cancelled=cancelled), "any")
    other.join(10)
    assert failed.value.fault is GitFault.CANCELLED
    _assert_group_ends(pids[0])


def test_a_call_that_writes_without_end_is_ended(tmp_path: Path) -> None:
    git = Git(60, stand_in(tmp_path, "exec yes"), output_bytes_max=1_000_000)
    with pytest.raises(GitFailed) as failed:
        git.run(Scope(), "any")
    assert failed.value.fault is GitFault.TOO_MUCH_OUTPUT


def test_a_missing_git_is_a_fault_and_no_crash(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="could not be run"):
        Git(10, {"PATH": str(tmp_path)}).run(Scope(git_dir=tmp_path / "nowhere"), "status")


def _assert_group_ends(group: int) -> None:
    """The signal is sent when the call returns; the kernel may need a moment to carry it out."""
    until = time.monotonic() + 10
    while True:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        assert time.monotonic() < until, "a process of the group is still there"
        threading.Event().wait(0.01)


def test_a_local_call_speaks_to_no_address(tmp_path: Path) -> None:
    make_remote(tmp_path)
    with pytest.raises(GitFailed, match="transport 'http' not allowed"):
        Git(10, SURROUNDINGS).run(Scope(), "ls-remote", "http://127.0.0.1:1/x")


def test_a_call_to_an_address_speaks_to_no_local_path(tmp_path: Path) -> None:
    remote = Remote(address="http://127.0.0.1:1/x")
    with pytest.raises(GitFailed, match="transport 'file' not allowed"):
        Git(10, SURROUNDINGS).run(Scope(), "ls-remote", str(make_remote(tmp_path)), remote=remote)


@pytest.mark.parametrize("extra", ["core.hooksPath", "core.fsmonitor"])
def test_the_repositorys_own_settings_do_not_win(tmp_path: Path, extra: str) -> None:
    make_remote(tmp_path)
    person = tmp_path / "person"
    by_hand(person, "config", extra, "/evil")
    seen = Git(10, SURROUNDINGS).text(Scope(git_dir=person / ".git"), "config", "--get", extra)
    assert seen in {"/dev/null", "false"}


class _Remote(BaseHTTPRequestHandler):
    seen: list[tuple[str, str | None]]
    status = 401

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get("Authorization")))
        self.send_response(self.status)
        if self.status == 302:
            self.send_header("Location", f"http://localhost:{self.server.server_address[1]}{self.path}")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        return


@pytest.fixture
def http_remote() -> Iterator[type[_Remote]]:
    handler = type("Handler", (_Remote,), {"seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        handler.address = f"http://127.0.0.1:{server.server_address[1]}/owner/repo.git"
        try:
            yield handler
        finally:
            server.shutdown()
            thread.join(10)


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (401, GitFault.AUTHENTICATION),
        (403, GitFault.AUTHENTICATION),
        (404, GitFault.NOT_FOUND),
        (503, GitFault.UNREACHABLE),
    ],
)
def test_an_http_remotes_answer_names_the_fault(http_remote: type[_Remote], status: int, fault: GitFault) -> None:
    http_remote.status = status
    remote = Remote(address=http_remote.address, token=TOKEN)
    with pytest.raises(GitFailed) as failed:
        Git(10, SURROUNDINGS).run(Scope(), "ls-remote", "--", remote.address, remote=remote)
    assert failed.value.fault is fault
    assert TOKEN not in str(failed.value)
    assert BASIC not in str(failed.value)


def test_a_token_reaches_its_host_and_is_in_no_argument_and_no_file(http_remote: type[_Remote], tmp_path: Path) -> None:
    remote = Remote(address=http_remote.address, token=TOKEN)
    git = Git(10, SURROUNDINGS)
    git.run(Scope(), "init", "--quiet", "--bare", str(tmp_path / "x.git"))
    with pytest.raises(GitFailed):
        git.run(Scope(git_dir=tmp_path / "x.git"), "fetch", "--", remote.address, remote=remote)
    assert [header for _, header in http_remote.seen if header] == [f"Basic {BASIC}"] * len(http_remote.seen)
    assert http_remote.seen
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        assert TOKEN.encode() not in path.read_bytes()
        assert BASIC.encode() not in path.read_bytes()

    arguments = stand_in(tmp_path, 'echo "$@"')
    assert TOKEN not in Git(10, arguments).run(Scope(), "fetch", remote=remote).decode()
    assert TOKEN not in repr(remote)


def test_a_token_is_not_carried_along_to_another_host(http_remote: type[_Remote]) -> None:
    http_remote.status = 302
    remote = Remote(address=http_remote.address, token=TOKEN)
    with pytest.raises(GitFailed):
        Git(10, SURROUNDINGS).run(Scope(), "ls-remote", "--", remote.address, remote=remote)
    assert http_remote.seen[0][1] == f"Basic {BASIC}"
    assert {header for _, header in http_remote.seen[1:]} <= {None}


def test_nobody_who_answers_is_unreachable() -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        port = server.server_address[1]
    remote = Remote(address=f"http://127.0.0.1:{port}/owner/repo.git")
    with pytest.raises(GitFailed) as failed:
        Git(10, SURROUNDINGS).run(Scope(), "ls-remote", "--", remote.address, remote=remote)
    assert failed.value.fault is GitFault.UNREACHABLE


@pytest.mark.parametrize(
    "address",
    [
        *("", "relative/path", "-x", "--upload-pack=touch", "ext::sh -c touch", "ssh://host/x", "git@host:owner/repo"),
        *("https://user:password@host/x", "https://token@host/x", "https:///x", "/a\nb", "file:///x", "ftp://host/x"),
    ],
)
def test_an_address_that_is_no_plain_one_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"address"):
        Remote(address=address)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("fatal: write error: No space left on device", GitFault.DISK_FULL),
        ("error: file write error (Disk quota exceeded)", GitFault.DISK_FULL),
        ("fatal: could not read Username for 'https://h': terminal prompts disabled", GitFault.AUTHENTICATION),
        ("remote: Repository not found.\nfatal: repository 'https://h/o/r/' not found", GitFault.NOT_FOUND),
        ("fatal: couldn't find remote ref refs/pull/9/head", GitFault.NOT_FOUND),
        (" ! [rejected] a -> a (non-fast-forward)", GitFault.REJECTED),
        ("!\trefs/heads/a:refs/heads/a\t[rejected] (fetch first)", GitFault.REJECTED),
        (" ! [remote rejected] a -> a (protected branch hook declined)", GitFault.REFUSED),
        ("fatal: unable to access 'https://h/': Could not resolve host: h", GitFault.UNREACHABLE),
        ("fatal: bad object", GitFault.OTHER),
    ],
)
def test_gits_words_name_the_fault(words: str, fault: GitFault) -> None:
    assert fault_of(words) is fault


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fatal: 'https://user:pw@host/x' failed", "fatal: 'https://***@host/x' failed"),
        ("Authorization: Basic abc=", "Authorization: ***"),
        ("token ghp_abcDEF123 and github_pat_11AA_bb", "token *** and ***"),
        (f"it was {TOKEN}", "it was ***"),
        ("10%\r20%\rdone\n\n\x1b[31mred\x07", "done\n�[31mred�"),
    ],
)
def test_a_faults_text_holds_no_credential_and_no_control_character(text: str, shown: str) -> None:
    assert redacted(text, [TOKEN]) == shown


def test_a_faults_text_is_cut() -> None:
    assert len(redacted("x" * 100_000)) == 2000


@pytest.mark.parametrize("name", ["main", "the-loop/15", "a/b/c", "v1.0", "ünï", "a-b", "feature@2"])
def test_a_branch_name_is_taken(name: str, tmp_path: Path) -> None:
    assert is_branch_name(name)
    by_hand(tmp_path, "check-ref-format", "--branch", name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "-x",
            "--force",
            "a/-x",
            "@",
            "a@{1}",
            "a..b",
            ".a",
            "a/.b",
            "a.",
            "a/",
            "/a",
            "a//b",
            "a.lock",
            "a.lock/b",
        ),
        *(
            "a b",
            "a\tb",
            "a\nb",
            "a\0b",
            "a\x7f",
            "a~b",
            "a^b",
            "a:b",
            "a?b",
            "a*b",
            "a[b",
            "a\\b",
            "x" * 201,
            "\ud800",
        ),
    ],
)
def test_what_git_or_we_could_misread_is_no_branch_name(name: str) -> None:
    assert not is_branch_name(name)


def test_the_items_branch_bears_its_number() -> None:
    assert re.fullmatch(r"the-loop/\d+", item_branch(15))
