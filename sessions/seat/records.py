"""What the seat asks the store before anything else: who sits in it, and which turn the agent is in."""

from __future__ import annotations

import hmac

from domain.turns import TurnState
from sessions.seat.ports import Sitter
from sessions.seat.protocol import Declined, token_digest
from statedb import session_rows, turn_rows
from statedb.database import Connection
from statedb.reading import item_by_id
from statedb.session_rows import SessionRow
from statedb.turn_rows import TurnRow

NO_SESSION = "this token belongs to no running session: the session has ended, and nothing more can be done from it"
NO_TURN = "no turn is running: do it in your next turn, which begins with the next prompt"
STOPPING = "a person stopped this turn: nothing more of it is carried out or posted. End the turn"


def sitter(connection: Connection, token: str) -> Sitter:
    """Who shows this token. Raises Declined where it is no running session's."""
    digest = token_digest(token)
    for session in session_rows.live_sessions(connection):
        if hmac.compare_digest(digest, session.token_sha256):
            item = item_by_id(connection, session.item_id)
            if item is not None:
                return Sitter(session=session, item=item, token=token)
    raise Declined(NO_SESSION)


def running_turn(connection: Connection, session: SessionRow) -> TurnRow:
    """The turn that the session's agent is in. Raises Declined where there is none, or where it is being stopped."""
    open_turn = turn_rows.open_turn(connection, session.item_id)
    if open_turn is None or open_turn.state not in (TurnState.HANDED, TurnState.TAKEN):
        raise Declined(NO_TURN)
    turn = turn_rows.turn(connection, open_turn.turn_id)
    if turn is None or turn.session_id != session.session_id:
        raise Declined(NO_TURN)
    if open_turn.cancelling_at_ms is not None:
        raise Declined(STOPPING)
    return turn
