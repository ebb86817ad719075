-- The updates that Telegram brought: each is kept until it has ended, and a day longer, so that it is not taken twice.
-- Numbers are a bot's own, and may begin anew: what stands first in a line is what arrived first.
-- due_at: when it may be claimed: at once, after a pause, or when the lease of its claim has run out.
CREATE TABLE telegram_updates (
    arrival INTEGER PRIMARY KEY,
    bot_id INTEGER NOT NULL, update_id INTEGER NOT NULL,
    line TEXT NOT NULL, kind TEXT NOT NULL, document TEXT NOT NULL,
    state TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 0, claim_id TEXT NOT NULL DEFAULT '', due_at INTEGER NOT NULL,
    failure TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, finished_at INTEGER,
    UNIQUE (bot_id, update_id)
) STRICT;
CREATE INDEX telegram_updates_open ON telegram_updates (bot_id, line, arrival) WHERE finished_at IS NULL;
CREATE INDEX telegram_updates_by_end ON telegram_updates (finished_at) WHERE finished_at IS NOT NULL;
