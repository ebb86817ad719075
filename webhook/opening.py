"""Opens an item's session: its row first, then its clone, then its agent; and reaches one that an earlier run left."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import assert_never

from domain.model import ItemId, ItemKind, SessionId
from domain.ports import Missing, NoAnswer
from domain.turns import SessionState
from eventlog.events.session import SessionAttached
from sessions.clones import CloneOrder, PreparedClone
from sessions.git import Remote
from sessions.git_faults import GitFailed, GitFault
from sessions.port import CloneHeld, HarnessFailed, Live, SessionOrder
from sessions.seat.protocol import token_digest
from statedb import session_rows
from statedb.rows import ItemRow
from statedb.session_rows import SessionRow
from webhook.means import Means


class OpeningFailed(Exception):
    """The session could not be opened; the text is of our own making and may be shown on the thread.

    `costs_nothing`: it is the network's or GitHub's trouble, which spends no attempt of the comment's. `is_held`: somebody
    else holds the clone. `session`: a host may have been started for it, and may have written why it ended.
    """

    def __init__(
        self, text: str, *, costs_nothing: bool = False, is_held: bool = False, session: SessionRow | None = None
    ) -> None:
        super().__init__(text)
        self.is_held = is_held
        self.costs_nothing = costs_nothing
        self.session = session


@dataclass(slots=True)
class Opening:
    """A start under way; setting `cancelled` ends whatever it waits for."""

    cancelled: threading.Event
    began_ms: int
    is_overdue: bool = False
    """It was ended because it took too long; otherwise because nobody wants it any more."""


def open_session(means: Means, item: ItemRow, opening: Opening) -> tuple[SessionRow, Live]:
    """Open the item's session, or load its conversation. Raises OpeningFailed.

    Safe to repeat: the row is on disk before anything of it exists, so that whatever a crash leaves is found again.
    """
    session = _session(means, item)
    try:
        live = means.harness.attach(session.session_id, means.sessions_folder / session.session_id)
        if live is not None:
            return _keep(means, session, state=SessionState.LIVE), live
        clone = means.clones.prepare(_clone_order(means, item), opening.cancelled)
        token = means.new_id() + means.new_id()
        order = _order(means, item, session, clone, token)
        session = _keep(means, _with_clone(session, clone, token), state=SessionState.OPENING)
        live = means.harness.open(order, opening.cancelled)
    except GitFailed as failed:
        text = f"the clone could not be made: {failed.fault}"
        raise OpeningFailed(text, costs_nothing=failed.fault is GitFault.UNREACHABLE) from failed
    except CloneHeld as failed:
        raise OpeningFailed("somebody else holds the clone of this thread", is_held=True) from failed
    except HarnessFailed as failed:
        raise OpeningFailed(str(failed), session=session) from failed
    return _keep(means, session, state=SessionState.LIVE), live


def attach(means: Means, session: SessionRow) -> Live | None:
    """Reach a session that an earlier run of the service left; None where its host is gone."""
    live = means.harness.attach(session.session_id, means.sessions_folder / session.session_id)
    if live is not None:
        means.emit(SessionAttached(session_id=session.session_id, from_offset_bytes=session.journal_offset))
    return live


def _session(means: Means, item: ItemRow) -> SessionRow:
    known = session_rows.session_of(means.database.reader(), item.item_id)
    if known is not None:
        return known
    now_ms = means.clock()
    session_id = SessionId(means.new_id())
    session = SessionRow(
        session_id=session_id,
        item_id=item.item_id,
        harness=means.harness.name,
        state=SessionState.OPENING,
        conversation_id=None,
        folder=session_id,
        clone="",
        branch="",
        base_sha="",
        token_sha256="",
        journal_offset=0,
        created_at_ms=now_ms,
        last_turn_at_ms=now_ms,
    )
    means.committer.write(lambda c: session_rows.write_session(c, session))
    return session


def _keep(means: Means, session: SessionRow, *, state: SessionState) -> SessionRow:
    kept = replace(session, state=state)
    means.committer.write(lambda c: session_rows.write_session(c, kept))
    return kept


def _with_clone(session: SessionRow, clone: PreparedClone, token: str) -> SessionRow:
    return replace(
        session,
        clone=str(clone.path),
        branch=clone.branch,
        base_sha=clone.base_sha,
        token_sha256=token_digest(token),
    )


def _order(means: Means, item: ItemRow, session: SessionRow, clone: PreparedClone, token: str) -> SessionOrder:
    return SessionOrder(
        session_id=session.session_id,
        item_id=item.item_id,
        folder=means.sessions_folder / session.session_id,
        clone=clone.path,
        conversation_id=session.conversation_id,
        environment=means.agent_environment(session.session_id, token),
        is_untrusted=_is_untrusted(item),
    )


def _is_untrusted(item: ItemRow) -> bool:
    """A fork's tree, and a pull request of which we do not know better."""
    snapshot = item.snapshot
    return snapshot is not None and snapshot.kind is ItemKind.PULL and snapshot.from_fork is not False


def _clone_order(means: Means, item: ItemRow) -> CloneOrder:
    return CloneOrder(
        item_id=ItemId(item.item_id),
        thread=item.home,
        kind=item.snapshot.kind if item.snapshot else ItemKind.ISSUE,
        remote=_remote(means, item),
        author_name=means.author_name,
        author_email=means.author_email,
    )


def _remote(means: Means, item: ItemRow) -> Remote:
    found = means.remotes.remote(item.home, item.repository)
    match found:
        case Remote():
            return found
        case Missing():
            raise OpeningFailed("GitHub says that the repository does not exist, or we may not see it")
        case NoAnswer():
            raise OpeningFailed("GitHub did not say where the repository is", costs_nothing=True)
        case _:
            assert_never(found)
