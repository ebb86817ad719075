"""Mirrors: they follow the remote, over HTTP with a token too, and clean up after a git that was killed."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from domain.model import Thread
from sessions.git import Remote
from sessions.git_faults import GitFailed, GitFault
from tests.fakes.repositories import PERSON, House, by_hand, commit_file

TOKEN = "s3cret-token-of-ours"
GRANTED = f"Basic {b64encode(f'x-access-token:{TOKEN}'.encode()).decode()}"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.mark.parametrize("host", ["", "..", "a/b", "-x", "GitHub.com", "a\nb", "a..b", "x:y"])
def test_a_host_that_is_none_becomes_no_path(house: House, host: str) -> None:
    with pytest.raises(ValueError, match="a host is"):
        house.mirrors.path(Thread(host=host, repository_id=7, number=1))


def test_a_mirror_lies_under_host_and_id(house: House) -> None:
    thread = Thread(host="ghe.example.org:8443", repository_id=9, number=1)
    assert house.mirrors.path(thread) == house.folder / "mirrors" / "ghe.example.org_8443" / "9.git"


def test_a_mirror_follows_the_remote_and_does_not_know_where_it_is(house: House) -> None:
    thread = house.order().thread
    assert house.mirrors.refresh(thread, house.remote) == "main"
    commit = commit_file(house.person, "next", "x\n")
    by_hand(house.person, "push", "--quiet", "origin", "HEAD:refs/heads/a", "HEAD:main")
    house.mirrors.refresh(thread, house.remote)
    by_hand(house.person, "push", "--quiet", "origin", ":a", "HEAD:refs/heads/a/b")
    by_hand(
        house.person, "push", "--quiet", "origin", "HEAD:refs/tags/v1", "HEAD:refs/other/x", "HEAD:refs/pull/3/head"
    )
    house.mirrors.refresh(thread, house.remote)
    mirror = house.mirrors.path(thread)
    refs = by_hand(mirror, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    assert refs == [f"{ref} {commit}" for ref in ("refs/heads/a/b", "refs/heads/main", "refs/tags/v1")]
    assert not re.search(r"remote|url", (mirror / "config").read_text())


def test_a_refresh_that_fails_leaves_the_mirror_as_it_was(house: House) -> None:
    thread = house.order().thread
    house.mirrors.refresh(thread, house.remote)
    before = house.mirrors.known_to_remote(thread)
    with pytest.raises(GitFailed):
        house.mirrors.refresh(thread, Remote(address=str(house.folder / "nowhere.git")))
    assert house.mirrors.known_to_remote(thread) == before != ()


def test_what_a_killed_git_left_in_a_mirror_is_removed(house: House) -> None:
    thread = house.order().thread
    house.mirrors.refresh(thread, house.remote)
    mirror = house.mirrors.path(thread)
    left = [
        mirror / name for name in ("packed-refs.lock", "HEAD.lock", "refs/heads/main.lock", "objects/pack/tmp_pack_x")
    ]
    for path in left:
        path.write_text("")
    (mirror / "objects" / "tmp_objdir-incoming-x" / "pack").mkdir(parents=True)
    commit_file(house.person, "next", "x\n")
    by_hand(house.person, "push", "--quiet", "origin", "main")
    by_hand(house.remote_path, "branch", "-m", "main", "trunk")
    assert house.mirrors.refresh(thread, house.remote) == "trunk"
    assert [path for path in (*left, mirror / "objects" / "tmp_objdir-incoming-x") if path.exists()] == []


@pytest.mark.parametrize("missing", ["HEAD", "objects", "refs"])
def test_a_mirror_that_is_not_whole_is_made_anew(house: House, missing: str) -> None:
    thread = house.order().thread
    house.mirrors.refresh(thread, house.remote)
    mirror = house.mirrors.path(thread)
    (mirror / missing).rename(mirror / "lost")
    house.mirrors.refresh(thread, house.remote)
    assert by_hand(mirror, "fsck", "--strict") == ""
    assert not (mirror / "lost").exists()


class _Backend(BaseHTTPRequestHandler):
    """Git's own HTTP backend behind a check of the token."""

    root: Path

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def _answer(self, body: bytes) -> None:
        if self.headers.get("Authorization") != GRANTED:
            self.send_error(401)
            return
        path, _, query = self.path.partition("?")
        environment = {
            **PERSON,
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "REMOTE_USER": "somebody",
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
        }
        answer = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, capture_output=True, check=True
        ).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200 OK").split()[0]))
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        return


@pytest.fixture
def http_address(house: House) -> Iterator[str]:
    by_hand(house.remote_path, "config", "http.receivepack", "true")
    handler = type("Handler", (_Backend,), {"root": house.folder})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/remote.git"
        finally:
            server.shutdown()
            thread.join(10)


def test_a_repository_is_cloned_and_pushed_to_over_http_with_a_token_that_stays_nowhere(
    house: House, http_address: str
) -> None:
    remote = Remote(address=http_address, token=TOKEN)
    clone = house.clones.prepare(house.order(remote=remote))
    commit = commit_file(clone.path, "work", os.urandom(100_000).hex())
    assert house.clones.push(clone, clone.branch, remote) == commit
    assert house.at_remote("refs/heads/the-loop/15") == commit
    by_hand(clone.path, "commit", "--quiet", "--amend", "-m", "again")
    with pytest.raises(GitFailed) as failed:
        house.clones.push(clone, clone.branch, remote)
    assert failed.value.fault is GitFault.REJECTED
    for folder in ("mirrors", "clones"):
        for path in filter(Path.is_file, (house.folder / folder).rglob("*")):
            content = path.read_bytes()
            assert TOKEN.encode() not in content
            assert GRANTED.encode() not in content


def test_a_token_that_is_not_granted_is_said(house: House, http_address: str) -> None:
    with pytest.raises(GitFailed) as failed:
        house.clones.prepare(house.order(remote=Remote(address=http_address, token="another")))
    assert failed.value.fault is GitFault.AUTHENTICATION
