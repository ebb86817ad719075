"""The verbs `push` and `pr`: the work item's own branch, with the service's credentials and never by force."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event, Lock
from typing import Final

from domain.marker import without_markers
from domain.model import ItemId, ItemKind, Thread
from domain.ports import InDoubt, NoAnswer, NotSent, Refused, Repository
from sessions.excerpt import cut, shown
from sessions.git_faults import GitFailed, GitFault
from sessions.seat import records
from sessions.seat.ports import SeatPorts, Sitter
from sessions.seat.protocol import Answer, Declined
from sessions.seat.thread_view import facts_of, given
from statedb import seat_rows
from statedb.database import Connection
from statedb.reading import item_by_id

TITLE_CHARACTERS_MAX: Final = 250
BODY_CHARACTERS_MAX: Final = 60_000
OPENING_WAIT_S: Final = 60.0
"""How long one waits for another who opens a pull request."""

WHAT_TO_DO: Final[Mapping[GitFault, str]] = {
    GitFault.BUSY: "another command works on this clone: try again in a moment",
    GitFault.CANCELLED: "the service is ending: try again in a minute",
    GitFault.CLONE_CHANGED: "the clone's git directory is not the one that the service made: put it back, or ask a person",
    GitFault.NOT_FOUND: "the clone has no such branch (commit your work on it first), or the repository is not found",
    GitFault.REFUSED: "GitHub declined the push (a protection, a hook or a missing permission): ask a person",
    GitFault.REJECTED: (
        "the branch on GitHub has commits that yours has not, and nothing is ever overwritten: say so in your answer, "
        "or ask a person what to do"
    ),
}
_TRY_AGAIN: Final = "nothing is lost, your commits are in the clone: try again in a minute, or say so in your answer"


class Pushing:
    """Pushes and opens pull requests, one pull request at a time. `stopping` ends a push in the middle."""

    def __init__(self, ports: SeatPorts, stopping: Event) -> None:
        self._ports = ports
        self._stopping = stopping
        self._opening = Lock()

    def push(self, sitter: Sitter) -> Answer:
        """Bring the item's branch to GitHub; safe to repeat. Raises Declined."""
        records.running_turn(self._ports.database.reader(), sitter.session)
        return {"ok": True, "branch": sitter.session.branch, "commit": self._push(sitter)}

    def open_pull(self, sitter: Sitter, title: str, body: str) -> Answer:
        """Push, and open a pull request that belongs to the work item from then on; an open one is returned.

        An empty title is the item's own. Safe to repeat, also after a crash in the middle. Raises Declined.
        """
        records.running_turn(self._ports.database.reader(), sitter.session)
        self._push(sitter)
        if not self._opening.acquire(timeout=OPENING_WAIT_S):
            raise Declined("another pull request is being opened: try again in a moment")
        try:
            repository = self._repository(sitter)
            found = self._find(sitter, repository)
            number = self._open(sitter, repository, title, body) if found is None else found
            return self._bound(sitter, number, was_open=found is not None)
        finally:
            self._opening.release()

    def settle_openings(self) -> None:
        """Bind the pull requests that were opened just before the service died; at start, and safe to repeat.

        Where GitHub gives no answer the note stays, for the next time. Raises StoreUnavailable.
        """
        with self._opening:
            for item_id, branch in seat_rows.openings(self._ports.database.reader()):
                self._settle_opening(item_id, branch)

    def _settle_opening(self, item_id: ItemId, branch: str) -> None:
        item = item_by_id(self._ports.database.reader(), item_id)
        repository = None if item is None else self._ports.items.repository(item.repository)
        if item is None or not isinstance(repository, Repository) or repository.id != item.home.repository_id:
            return
        number = self._ports.pulls.find_pull(repository, branch)
        if not isinstance(number, NoAnswer):
            self._settle(item_id, None if number is None else _thread(item.home, number))

    def _push(self, sitter: Sitter) -> str:
        clone = self._ports.clones.find(sitter.item.item_id, sitter.item.home)
        if clone is None:
            raise Declined("this work item has no clone any more: nothing can be pushed")
        remote = given(self._ports.remotes.remote(sitter.item.home, sitter.item.repository), "the repository")
        try:
            return self._ports.clones.push(clone, clone.branch, remote, cancelled=self._stopping)
        except GitFailed as failed:
            what_to_do = WHAT_TO_DO.get(failed.fault, _TRY_AGAIN)
            raise Declined(f"nothing was pushed: {what_to_do}. Git says: {cut(shown(failed.detail), 500)}") from failed

    def _repository(self, sitter: Sitter) -> Repository:
        repository = given(self._ports.items.repository(sitter.item.repository), "the repository")
        if repository.id != sitter.item.home.repository_id:
            raise Declined("the repository of that name is another one now: ask a person")
        return repository

    def _find(self, sitter: Sitter, repository: Repository) -> int | None:
        """The open pull request from the item's branch: as GitHub lists it, or one of ours that the list has not yet."""
        listed = self._ports.pulls.find_pull(repository, sitter.session.branch)
        if isinstance(listed, NoAnswer):
            raise Declined("it is not known whether a pull request is open already: try again in a minute")
        if listed is not None:
            return listed
        reader, item = self._ports.database.reader(), sitter.item
        ours = seat_rows.threads_of(reader, item.item_id, item.home)[1:]
        still_open = (thread.number for thread in ours if facts_of(self._ports, sitter, thread).snapshot.is_open)
        return next(still_open, None)

    def _open(self, sitter: Sitter, repository: Repository, title: str, body: str) -> int:
        branch = sitter.session.branch
        base = _base(sitter, repository)
        self._ports.committer.write(lambda connection: self._begin_opening(connection, sitter))
        opened = self._ports.pulls.open_pull(
            repository, branch, base, self._title(sitter, title), self._fit(sitter, body, BODY_CHARACTERS_MAX)
        )
        match opened:
            case NotSent(reason=reason):
                raise Declined(f"GitHub could not be asked to open it ({reason}): try again in a minute")
            case Refused() | InDoubt():
                return self._look_again(sitter, repository, opened)
            case _:
                return opened

    @staticmethod
    def _begin_opening(connection: Connection, sitter: Sitter) -> None:
        """The turn may have been stopped while the branch was pushed."""
        records.running_turn(connection, sitter.session)
        seat_rows.note_opening(connection, sitter.item.item_id, sitter.session.branch)

    def _look_again(self, sitter: Sitter, repository: Repository, answer: Refused | InDoubt) -> int:
        """A refusal may mean that it is open, and after a lost answer it may be."""
        number = self._ports.pulls.find_pull(repository, sitter.session.branch)
        if isinstance(number, int):
            return number
        if isinstance(answer, Refused):
            self._ports.committer.write(lambda connection: seat_rows.forget_opening(connection, sitter.item.item_id))
            raise Declined(
                f"GitHub refused to open a pull request ({cut(shown(answer.reason), 300)}); "
                "it needs at least one commit that the base branch has not"
            )
        raise Declined(
            "it is not known whether the pull request was opened: run the same command again, it looks first"
        )

    def _bound(self, sitter: Sitter, number: int, *, was_open: bool) -> Answer:
        thread = _thread(sitter.item.home, number)
        bound = self._settle(sitter.item.item_id, thread)
        answer: Answer = {"ok": True, "number": number, "pull": str(sitter.label_of(thread)), "was_open": was_open}
        if not bound:
            answer["note"] = "this pull request has a session of its own: what people write there does not reach you"
        return answer

    def _settle(self, item_id: ItemId, thread: Thread | None) -> bool:
        """It is known which pull request is open, or that none is; True where it is the item's now."""

        def write(connection: Connection) -> bool:
            seat_rows.forget_opening(connection, item_id)
            return thread is not None and seat_rows.bind_thread(connection, thread, item_id)

        return self._ports.committer.write(write)

    def _title(self, sitter: Sitter, title: str) -> str:
        snapshot = sitter.item.snapshot
        wanted = " ".join(title.split()) or (snapshot.title if snapshot else "") or f"Work on {sitter.label}"
        return self._fit(sitter, wanted, TITLE_CHARACTERS_MAX)

    def _fit(self, sitter: Sitter, text: str, characters_max: int) -> str:
        return cut(without_markers(sitter.masked(self._ports, text)), characters_max)


def _thread(home: Thread, number: int) -> Thread:
    return Thread(host=home.host, repository_id=home.repository_id, number=number)


def _base(sitter: Sitter, repository: Repository) -> str:
    """Work on a pull request of this repository goes into its branch; any other work into the default branch."""
    snapshot = sitter.item.snapshot
    if snapshot and snapshot.kind is ItemKind.PULL and snapshot.from_fork is False and snapshot.head_branch:
        return snapshot.head_branch
    return repository.default_branch
