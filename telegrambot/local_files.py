"""Files that a local Bot API server keeps on a disk which we share: found, opened and removed inside the bot's directory.

A path comes from the server's answer, and what lies on the share may be changed by others: nothing outside of the
directory is opened or removed, whatever the path says, and whatever is put in the way between the look and the act.

https://core.telegram.org/bots/api#using-a-local-bot-api-server
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath
from typing import BinaryIO, TypeVar

from telegrambot.calls import Token

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""A pipe that is opened so does not wait for its writer."""

_T = TypeVar("_T")


class FileReason(StrEnum):
    """Why a file of the server's is not to be had."""

    ROOT_NOT_ABSOLUTE = "root-not-absolute"
    BOT_DIRECTORY_UNAVAILABLE = "bot-directory-unavailable"
    """The bot has no directory there, or one in which we may not read, write and search."""
    OUTSIDE_BOT_DIRECTORY = "outside-bot-directory"
    """The path leads elsewhere, is none, or was bent while we went along it."""
    MISSING = "missing"
    NOT_A_FILE = "not-a-file"
    UNREADABLE = "unreadable"
    """The system does not let us have it: mostly, the server runs as another user."""


class LocalFileRefused(Exception):
    """Nothing was opened or removed; neither the text nor the causes show the path, in which the token stands."""

    def __init__(self, reason: FileReason) -> None:
        super().__init__(f"a file of the local Bot API server: {reason}")
        self.reason = reason


class LocalFiles:
    """The files of one bot, by paths as `getFile` gives them, relative or absolute. Safe to share by threads."""

    __slots__ = ("_root", "_server_root", "_token")

    def __init__(self, root: Path, token: Token, server_root: Path | None = None) -> None:
        """`root` is the server's working directory as we see it, `server_root` as the server does, where that differs."""
        self._root, self._token, self._server_root = root, token, server_root

    def __repr__(self) -> str:
        return f"LocalFiles(bot_id={self._token.bot_id})"

    def check(self) -> FileReason | None:
        """What keeps us from having and removing the bot's files; None: nothing."""
        try:
            directory = _plainly(self._directory)
        except LocalFileRefused as refused:
            return refused.reason
        is_usable = os.access(directory.real, os.R_OK | os.W_OK | os.X_OK)
        return None if is_usable else FileReason.BOT_DIRECTORY_UNAVAILABLE

    def resolve(self, file_path: str) -> Path:
        """Where the file lies, links followed; we may read it. Raises LocalFileRefused.

        Something else may lie there by the time it is opened: what is to be read here is read through `open`.
        """
        place, descriptor = _plainly(lambda: self._opened(file_path))
        os.close(descriptor)
        return place.path

    def open(self, file_path: str) -> BinaryIO:
        """The file, open for reading. Raises LocalFileRefused."""
        _, descriptor = _plainly(lambda: self._opened(file_path))
        return os.fdopen(descriptor, "rb")

    def remove(self, file_path: str) -> None:
        """Remove the file, of a link the one that it leads to; one that is gone is well. Raises LocalFileRefused."""
        try:
            _plainly(lambda: self._remove(file_path))
        except LocalFileRefused as refused:
            if refused.reason is not FileReason.MISSING:
                raise

    def _opened(self, file_path: str) -> "tuple[_Place, int]":
        place = self._place(file_path)
        with _folder(place) as folder:
            descriptor = _stepped_to(place.parts[-1], _FILE, folder.descriptor)
        try:
            met = os.fstat(descriptor)
            if not stat.S_ISREG(met.st_mode):
                raise LocalFileRefused(FileReason.NOT_A_FILE)
            if met.st_nlink > 1 and folder.is_open_to_others:
                # Anybody may have put a second name here for a file of ours from elsewhere.
                raise LocalFileRefused(FileReason.OUTSIDE_BOT_DIRECTORY)
        except BaseException:
            os.close(descriptor)
            raise
        return place, descriptor

    def _remove(self, file_path: str) -> None:
        place = self._place(file_path)
        with _folder(place) as folder:
            os.unlink(place.parts[-1], dir_fd=folder.descriptor)

    def _place(self, file_path: str) -> "_Place":
        """Where the path leads: judged by its words before the disk is asked, and again when all links are followed."""
        directory = self._directory()
        within = self._within(directory, file_path)
        real = Path(os.path.realpath(directory.real / within))
        if not _is_inside(real, directory.real):
            raise LocalFileRefused(FileReason.OUTSIDE_BOT_DIRECTORY)
        mode = real.lstat().st_mode
        if stat.S_ISLNK(mode):  # a link to itself: there is no end to follow it to
            raise LocalFileRefused(FileReason.OUTSIDE_BOT_DIRECTORY)
        if not stat.S_ISREG(mode):
            raise LocalFileRefused(FileReason.NOT_A_FILE)
        return _Place(directory.real, real.relative_to(directory.real).parts)

    def _within(self, directory: "_Directory", file_path: str) -> PurePath:
        """The path from the bot's directory on, in whichever way the server spells that."""
        spelled = PurePath(os.path.normpath(directory.spelled / file_path))
        by_server = [self._server_root / name for name in self._names()] if self._server_root else []
        for there in (directory.spelled, directory.real, *by_server):
            origin = PurePath(os.path.normpath(there))
            if _is_inside(spelled, origin):
                return spelled.relative_to(origin)
        raise LocalFileRefused(FileReason.OUTSIDE_BOT_DIRECTORY)

    def _directory(self) -> "_Directory":
        if not self._root.is_absolute():
            raise LocalFileRefused(FileReason.ROOT_NOT_ABSOLUTE)
        for name in self._names():
            spelled = self._root / name
            with suppress(OSError):  # one that we may not even look for is as good as none
                if spelled.is_dir():
                    return _Directory(spelled=spelled, real=spelled.resolve())
        raise LocalFileRefused(FileReason.BOT_DIRECTORY_UNAVAILABLE)

    def _names(self) -> tuple[str, ...]:
        """The bot's directory has the token's name, on a file system without colons a changed one."""
        return self._token.value, self._token.value.replace(":", "~")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Directory:
    spelled: Path
    real: Path


@dataclass(frozen=True, slots=True)
class _Place:
    """A regular file as it was seen; `parts` lead to it from the directory without any link."""

    directory: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        return self.directory.joinpath(*self.parts)


@dataclass(frozen=True, slots=True)
class _Folder:
    descriptor: int
    is_open_to_others: bool
    """Whether anybody may make names in it, or in one on the way to it."""


@contextmanager
def _folder(place: _Place) -> Iterator[_Folder]:
    """The folder of a file, reached step by step: a link that was put in the way since the look is not followed."""
    descriptor = os.open(place.directory, _FOLDER)
    try:
        is_open_to_others = _is_writable_by_others(descriptor)
        for part in place.parts[:-1]:
            inner = _stepped_to(part, _FOLDER, descriptor)
            os.close(descriptor)
            descriptor = inner
            is_open_to_others = is_open_to_others or _is_writable_by_others(descriptor)
        yield _Folder(descriptor, is_open_to_others)
    finally:
        os.close(descriptor)


def _stepped_to(name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise LocalFileRefused(FileReason.OUTSIDE_BOT_DIRECTORY) from error
        raise


def _is_writable_by_others(folder: int) -> bool:
    return bool(os.fstat(folder).st_mode & stat.S_IWOTH)


def _is_inside(path: PurePath, directory: PurePath) -> bool:
    """By whole names: a sibling whose name begins alike is elsewhere, and so is the directory itself."""
    return directory in path.parents


def _plainly(work: Callable[[], _T]) -> _T:
    """What the work returns; its errors without their causes, which carry the path."""
    try:
        return work()
    except LocalFileRefused as refused:
        reason = refused.reason
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, FileReason.UNREADABLE)
    except ValueError:  # a NUL byte, or half a character
        reason = FileReason.OUTSIDE_BOT_DIRECTORY
    raise LocalFileRefused(reason)


_REASONS = {
    errno.ENOENT: FileReason.MISSING,
    errno.ENOTDIR: FileReason.MISSING,
    errno.ENAMETOOLONG: FileReason.MISSING,
    errno.ELOOP: FileReason.OUTSIDE_BOT_DIRECTORY,
    errno.EISDIR: FileReason.NOT_A_FILE,
    errno.ENXIO: FileReason.NOT_A_FILE,
}
