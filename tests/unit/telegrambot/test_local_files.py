"""Of the files that a local Bot API server keeps, those in the bot's own directory are had, and nothing else ever is."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from telegrambot.calls import BotApi, Token, sending_client
from telegrambot.local_files import FileReason, LocalFileRefused, LocalFiles
from tests.fakes.bot_api.server import StandInBotApi

TOKEN = Token("123456:a-token-of-thirty-five-characters-x")
OUTSIDE = FileReason.OUTSIDE_BOT_DIRECTORY


class Share:
    """A server's directory with the bot's own in it, and a secret beside them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "share"
        self.bot = self.root / TOKEN.value
        self.photo = self.bot / "photos" / "file_1.jpg"
        self.photo.parent.mkdir(parents=True)
        self.photo.write_bytes(b"a photo")
        self.secret = folder / "secret"
        self.secret.write_bytes(b"a secret")
        self.files = LocalFiles(self.root, TOKEN)

    def link(self, name: str, target: Path | str) -> str:
        (self.bot / name).symlink_to(target)
        return name


@pytest.fixture
def share(tmp_path: Path) -> Share:
    return Share(tmp_path)


def reason_of(work: Callable[[], object]) -> FileReason:
    """Why it is refused; the error shows nothing of the path, not even in what caused it."""
    with pytest.raises(LocalFileRefused) as refused:
        work()
    error = refused.value
    assert str(error) == f"a file of the local Bot API server: {error.reason}"
    assert (error.__cause__, error.__context__) == (None, None)
    return error.reason


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param("photos/file_1.jpg", id="relative"),
        pytest.param("./photos//../photos/file_1.jpg", id="relative, in a roundabout way"),
        pytest.param("{bot}/photos/file_1.jpg", id="absolute"),
        pytest.param("{root}/x/../{token}/photos/file_1.jpg", id="absolute, in a roundabout way"),
    ],
)
def test_a_file_is_the_same_however_the_server_spells_it(share: Share, spelled: str) -> None:
    file_path = spelled.format(bot=share.bot, root=share.root, token=TOKEN.value)
    assert share.files.resolve(file_path) == share.photo.resolve()
    with share.files.open(file_path) as file:
        assert file.read() == b"a photo"


@pytest.mark.parametrize("is_local", [False, True], ids=["relative", "absolute"])
def test_the_path_that_a_server_tells_leads_to_the_file(tmp_path: Path, is_local: bool) -> None:
    with StandInBotApi(files_root=tmp_path, is_local=is_local) as bot_api:
        file_id = bot_api.files.put("documents/file_7.txt", b"a document")
        token = Token(bot_api.token)

        async def told() -> str:
            async with sending_client() as client:
                answer = await BotApi(token, client, bot_api.root_url).call("getFile", {"file_id": file_id})
                assert isinstance(answer, dict)
                return str(answer["file_path"])

        file_path = asyncio.run(told())
    assert file_path.startswith("/") == is_local
    with LocalFiles(tmp_path, token).open(file_path) as file:
        assert file.read() == b"a document"


def test_a_file_is_found_through_a_linked_root_by_both_its_names(share: Share, tmp_path: Path) -> None:
    (tmp_path / "mounted").symlink_to(share.root)
    files = LocalFiles(tmp_path / "mounted", TOKEN)
    by_link = tmp_path / "mounted" / TOKEN.value / "photos" / "file_1.jpg"
    assert files.resolve(str(by_link)) == files.resolve(str(share.photo)) == share.photo.resolve()


def test_a_file_is_found_where_the_server_sees_its_directory_elsewhere(share: Share) -> None:
    files = LocalFiles(share.root, TOKEN, server_root=Path("/var/lib/telegram-bot-api"))
    told = f"/var/lib/telegram-bot-api/{TOKEN.value}/photos/file_1.jpg"
    assert files.resolve(told) == share.photo.resolve()
    assert reason_of(lambda: files.resolve("/var/lib/telegram-bot-api/photos/file_1.jpg")) is OUTSIDE
    assert reason_of(lambda: share.files.resolve(told)) is OUTSIDE


def test_a_directory_is_found_where_its_name_can_have_no_colon(share: Share) -> None:
    without_colon = share.bot.rename(share.root / TOKEN.value.replace(":", "~"))
    assert share.files.check() is None
    assert share.files.resolve("photos/file_1.jpg") == without_colon.resolve() / "photos" / "file_1.jpg"


LEADING_OUT = [
    pytest.param(lambda share: "../../secret", id="up and out"),
    pytest.param(lambda share: "photos/../../../secret", id="in, up and out"),
    pytest.param(lambda share: str(share.secret), id="an absolute path elsewhere"),
    pytest.param(lambda share: "/etc/passwd", id="a file of the system"),
    pytest.param(lambda share: "//etc/passwd", id="two slashes"),
    pytest.param(lambda share: share.link("out", share.secret), id="a link out"),
    pytest.param(lambda share: share.link("out", "../../secret"), id="a relative link out"),
    pytest.param(lambda share: share.link("out", "../../none"), id="a link out to nothing"),
    pytest.param(lambda share: share.link("out", share.root.parent) + "/secret", id="through a link out"),
    pytest.param(lambda share: share.link("loop", "loop"), id="a link to itself"),
    pytest.param(lambda share: share.link("loop", "loop") + "/x", id="through a link to itself"),
    pytest.param(lambda share: "photos/file_1.jpg\0", id="a NUL byte"),
    pytest.param(lambda share: "photos/\udc00\ud800", id="half a character"),
    pytest.param(lambda share: "", id="nothing"),
    pytest.param(lambda share: ".", id="the directory itself"),
    pytest.param(lambda share: "photos/..", id="the directory itself, in a roundabout way"),
    pytest.param(lambda share: str(share.bot), id="the directory itself, absolute"),
    pytest.param(lambda share: share.link("self", "."), id="a link to the directory itself"),
]


@pytest.mark.parametrize("path_in", LEADING_OUT)
@pytest.mark.parametrize("act", ["resolve", "open", "remove"])
def test_what_leads_out_of_the_directory_is_refused_and_left_alone(
    share: Share, path_in: Callable[[Share], str], act: str
) -> None:
    file_path = path_in(share)
    assert reason_of(lambda: getattr(share.files, act)(file_path)) is OUTSIDE
    assert share.secret.read_bytes() == b"a secret"
    assert share.photo.exists()


@pytest.mark.parametrize("file_path", ["../../secret", "/etc/passwd", "", ".", "photos/file_1.jpg\0"])
def test_what_leads_out_by_its_words_is_refused_before_the_disk_is_asked_for_it(
    share: Share, file_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    monkeypatch.setattr(os, "open", lambda path, *rest, **more: opened.append(path))
    assert reason_of(lambda: share.files.open(file_path)) is OUTSIDE
    assert opened == []


def test_a_sibling_whose_name_begins_with_the_token_is_refused(share: Share) -> None:
    sibling = share.root / f"{TOKEN.value}-x"
    sibling.mkdir()
    (sibling / "file").write_bytes(b"of another bot")
    for spelled in (str(sibling / "file"), f"../{sibling.name}/file"):
        assert reason_of(partial(share.files.open, spelled)) is OUTSIDE


def test_what_is_no_file_is_refused_without_waiting_for_it(share: Share, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(share.bot / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(share.bot)  # a socket's path has room for 107 bytes
        listening.bind("socket")
    for name in ("pipe", "socket", "photos"):
        for act in (share.files.resolve, share.files.open, share.files.remove):
            assert reason_of(partial(act, name)) is FileReason.NOT_A_FILE
    assert sorted(path.name for path in share.bot.iterdir()) == ["photos", "pipe", "socket"]


def test_a_link_within_the_directory_leads_to_its_target(share: Share) -> None:
    share.link("latest", "photos/file_1.jpg")
    assert share.files.resolve("latest") == share.photo.resolve()
    share.files.remove("latest")
    assert not share.photo.exists()


@pytest.mark.parametrize("missing", ["none", "photos/none", "none/file", "photos/file_1.jpg/file", "x" * 300])
def test_a_file_that_is_not_there_is_missing(share: Share, missing: str) -> None:
    assert reason_of(lambda: share.files.resolve(missing)) is FileReason.MISSING


def before_opening(monkeypatch: pytest.MonkeyPatch, bend: Callable[[], object]) -> None:
    """Bend the way when all was looked at and nothing is opened yet."""
    opening = os.open

    def bent(*arguments, **more) -> int:
        monkeypatch.setattr(os, "open", opening)
        bend()
        return opening(*arguments, **more)

    monkeypatch.setattr(os, "open", bent)


def put_a_link_for_the_file(share: Share) -> None:
    share.photo.unlink()
    share.photo.symlink_to(share.secret)


def put_a_link_for_the_folder(share: Share) -> None:
    share.photo.parent.rename(share.bot / "before")
    elsewhere = share.root.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / share.photo.name).write_bytes(b"a secret")
    share.photo.parent.symlink_to(elsewhere)


def put_a_pipe_for_the_file(share: Share) -> None:
    share.photo.unlink()
    os.mkfifo(share.photo)


@pytest.mark.parametrize(
    ("bend", "reason"),
    [
        pytest.param(put_a_link_for_the_file, OUTSIDE, id="a link for the file"),
        pytest.param(put_a_link_for_the_folder, OUTSIDE, id="a link for a folder on the way"),
        pytest.param(put_a_pipe_for_the_file, FileReason.NOT_A_FILE, id="a pipe for the file"),
        pytest.param(lambda share: share.photo.unlink(), FileReason.MISSING, id="nothing for the file"),
    ],
)
def test_a_way_that_is_bent_between_the_look_and_the_opening_is_not_gone(
    share: Share, monkeypatch: pytest.MonkeyPatch, bend: Callable[[Share], object], reason: FileReason
) -> None:
    before_opening(monkeypatch, lambda: bend(share))
    assert reason_of(lambda: share.files.open("photos/file_1.jpg")) is reason


def test_a_link_that_is_put_in_the_way_of_a_removal_is_not_followed(
    share: Share, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_opening(monkeypatch, lambda: put_a_link_for_the_folder(share))
    assert reason_of(lambda: share.files.remove("photos/file_1.jpg")) is OUTSIDE
    assert (share.photo.parent.resolve() / share.photo.name).read_bytes() == b"a secret"


@pytest.mark.parametrize(
    ("mode", "folder_mode", "is_had"),
    [
        pytest.param(0o700, 0o700, True, id="a share that others cannot write to"),
        pytest.param(0o700, 0o777, False, id="a folder that others can write to"),
        pytest.param(0o1777, 0o700, False, id="a directory that others can write to"),
    ],
)
def test_a_file_with_a_second_name_is_had_only_where_nobody_else_can_have_given_it(
    share: Share, mode: int, folder_mode: int, is_had: bool
) -> None:
    os.link(share.secret, share.photo.with_name("file_2.jpg"))
    share.bot.chmod(mode)
    share.photo.parent.chmod(folder_mode)
    if is_had:
        assert share.files.resolve("photos/file_2.jpg").read_bytes() == b"a secret"
    else:
        assert reason_of(lambda: share.files.open("photos/file_2.jpg")) is OUTSIDE
    assert share.files.resolve("photos/file_1.jpg") == share.photo.resolve()


def test_a_removed_file_is_gone_and_may_be_removed_again(share: Share) -> None:
    share.files.remove("photos/file_1.jpg")
    share.files.remove("photos/file_1.jpg")
    assert not share.photo.exists()


def test_a_directory_that_can_be_used_has_nothing_against_it(share: Share) -> None:
    assert share.files.check() is None


def test_a_root_that_is_relative_is_refused(share: Share, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(share.root.parent)
    files = LocalFiles(Path("share"), TOKEN)
    assert files.check() is FileReason.ROOT_NOT_ABSOLUTE
    assert reason_of(lambda: files.resolve("photos/file_1.jpg")) is FileReason.ROOT_NOT_ABSOLUTE


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda share: share.bot.rename(share.root / "123456:another"), id="another bot's"),
        pytest.param(lambda share: share.root.rename(share.root.parent / "moved"), id="no root"),
        pytest.param(lambda share: (share.bot.rename(share.root / "x"), share.bot.touch()), id="a file"),
    ],
)
def test_a_bot_without_a_directory_is_refused(share: Share, spoil: Callable[[Share], object]) -> None:
    spoil(share)
    assert share.files.check() is FileReason.BOT_DIRECTORY_UNAVAILABLE
    for act in (share.files.resolve, share.files.open, share.files.remove):
        assert reason_of(partial(act, "photos/file_1.jpg")) is FileReason.BOT_DIRECTORY_UNAVAILABLE


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is allowed to the superuser")
def test_what_the_system_does_not_let_us_have_is_told_so(share: Share) -> None:
    share.photo.chmod(0)
    assert reason_of(lambda: share.files.open("photos/file_1.jpg")) is FileReason.UNREADABLE
    share.bot.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert share.files.check() is FileReason.BOT_DIRECTORY_UNAVAILABLE


def test_nothing_that_is_printed_shows_the_token(share: Share) -> None:
    assert repr(share.files) == "LocalFiles(bot_id=123456)"


def test_no_descriptor_is_left_open(share: Share) -> None:
    share.link("out", share.secret)
    os.mkfifo(share.bot / "pipe")
    before = descriptors()
    for file_path in ("photos/file_1.jpg", "out", "none", "pipe", "photos"):
        for act in (lambda path: share.files.open(path).close(), share.files.resolve, share.files.remove):
            try:
                act(file_path)
            except LocalFileRefused:
                continue
    assert descriptors() == before


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))
