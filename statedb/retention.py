"""What the store forgets: texts after a month, keys and outcomes after more than a year; never what is still in play.

Telegram's updates go as a whole, a day after they ended.
"""

from __future__ import annotations

from statedb import update_rows
from statedb.database import Connection

DAY_MS = 24 * 3600 * 1000
TEXTS_KEPT_MS = 30 * DAY_MS
KEYS_KEPT_MS = 400 * DAY_MS
ROWS_AT_ONCE = 500
"""How many rows one transaction forgets, so that nobody waits for it."""

_TEXTS = (
    """UPDATE events SET body = '' WHERE event_key IN (
        SELECT event_key FROM events e WHERE accepted_at < :before AND body <> '' AND NOT EXISTS (
            SELECT 1 FROM fates f WHERE f.event_key = e.event_key AND f.fate = 'inflight') LIMIT :most)""",
    """UPDATE turns SET prompt = '', answer = '', before_tools = '' WHERE turn_id IN (
        SELECT turn_id FROM turns WHERE ended_at < :before AND prompt <> '' AND owes_resumption = 0 LIMIT :most)""",
    """UPDATE replies SET whole = '' WHERE reply_id IN (
        SELECT reply_id FROM replies WHERE created_at < :before AND whole <> '' AND state <> 'open' LIMIT :most)""",
    """UPDATE reply_parts SET body = '' WHERE reply_id IN (
        SELECT p.reply_id FROM reply_parts p JOIN replies r USING (reply_id)
        WHERE p.updated_at < :before AND p.body <> '' AND r.state <> 'open' LIMIT :most)""",
)
_KEYS = (
    """DELETE FROM events WHERE event_key IN (
        SELECT event_key FROM events e WHERE accepted_at < :before AND NOT EXISTS (
            SELECT 1 FROM fates f WHERE f.event_key = e.event_key AND f.fate = 'inflight') LIMIT :most)""",
    """DELETE FROM deliveries WHERE (road, delivery_id) IN (
        SELECT road, delivery_id FROM deliveries WHERE last_at < :before LIMIT :most)""",
    """DELETE FROM fates WHERE (event_key, item_id) IN (
        SELECT event_key, item_id FROM fates WHERE changed_at < :before AND fate <> 'inflight' LIMIT :most)""",
)


def forget_some(connection: Connection, now_ms: int) -> int:
    """Forget a bounded number of rows and return how many; inside the committer's transaction. Safe to repeat.

    0: there is nothing more to forget today.
    """
    forgotten = 0
    for statements, kept_ms in ((_TEXTS, TEXTS_KEPT_MS), (_KEYS, KEYS_KEPT_MS)):
        for statement in statements:
            connection.execute(statement, {"before": now_ms - kept_ms, "most": ROWS_AT_ONCE})
            forgotten += connection.changes()
    return forgotten + update_rows.forget(connection, now_ms, ROWS_AT_ONCE)
