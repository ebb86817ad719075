-- All times are milliseconds since the epoch, UTC. Nothing depends on rowid: a server database can stand behind the same port.

CREATE TABLE facts_of_ours (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE owners (
    owner_id TEXT PRIMARY KEY, host TEXT NOT NULL, boot_id TEXT NOT NULL, pid INTEGER NOT NULL,
    lock_path TEXT NOT NULL, heartbeat_at INTEGER NOT NULL
) STRICT;

CREATE TABLE accounts (
    host TEXT NOT NULL, login TEXT NOT NULL, account_id INTEGER NOT NULL, pinned_at INTEGER NOT NULL,
    PRIMARY KEY (host, login)
) STRICT;

CREATE TABLE items (
    item_id INTEGER PRIMARY KEY,
    host TEXT NOT NULL, repository_id INTEGER NOT NULL, number INTEGER NOT NULL,
    repository TEXT NOT NULL,
    phase TEXT NOT NULL, folded TEXT NOT NULL, failed_generation TEXT,
    refused INTEGER NOT NULL DEFAULT 0, refused_since INTEGER,
    snapshot TEXT, snapshot_updated_at INTEGER NOT NULL DEFAULT 0,
    other_instance TEXT, other_instance_at INTEGER,
    newest_at INTEGER NOT NULL DEFAULT 0,
    removal TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL, changed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX items_by_name ON items (host, repository, number);

CREATE TABLE threads (
    host TEXT NOT NULL, repository_id INTEGER NOT NULL, number INTEGER NOT NULL, item_id INTEGER NOT NULL,
    PRIMARY KEY (host, repository_id, number)
) STRICT;
CREATE INDEX threads_by_item ON threads (item_id);

CREATE TABLE events (
    event_key TEXT PRIMARY KEY, document TEXT NOT NULL, body TEXT NOT NULL, url TEXT NOT NULL, accepted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX events_by_url ON events (url);
CREATE INDEX events_by_age ON events (accepted_at);

CREATE TABLE fates (
    event_key TEXT NOT NULL, item_id INTEGER NOT NULL,
    fate TEXT NOT NULL, step TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,
    verb TEXT NOT NULL, effect TEXT NOT NULL,
    place_at INTEGER NOT NULL, place_fact TEXT NOT NULL, place_number INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL DEFAULT 0,
    owner_id TEXT, lease_until INTEGER, fence INTEGER NOT NULL DEFAULT 0,
    turn_id TEXT, decision TEXT NOT NULL, decided_at INTEGER NOT NULL, changed_at INTEGER NOT NULL,
    PRIMARY KEY (event_key, item_id)
) STRICT;
CREATE INDEX fates_open ON fates (item_id, place_at) WHERE fate = 'inflight';
CREATE INDEX fates_by_turn ON fates (turn_id) WHERE turn_id IS NOT NULL;
CREATE INDEX fates_by_item ON fates (item_id, changed_at);

CREATE TABLE deliveries (
    road TEXT NOT NULL, delivery_id TEXT NOT NULL, event_key TEXT NOT NULL,
    first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, arrivals INTEGER NOT NULL, resolved_at INTEGER,
    PRIMARY KEY (road, delivery_id)
) STRICT;
CREATE INDEX deliveries_by_event ON deliveries (event_key);

CREATE TABLE texts (
    host TEXT NOT NULL, fact TEXT NOT NULL, object_id INTEGER NOT NULL,
    item_id INTEGER NOT NULL, event_key TEXT NOT NULL,
    updated_at INTEGER NOT NULL, body_sha256 TEXT NOT NULL, verbs TEXT NOT NULL, deleted_at INTEGER,
    PRIMARY KEY (host, fact, object_id)
) STRICT;

CREATE TABLE commands (
    event_key TEXT NOT NULL, item_id INTEGER NOT NULL,
    verb TEXT NOT NULL, place_at INTEGER NOT NULL, place_fact TEXT NOT NULL, place_number INTEGER NOT NULL,
    PRIMARY KEY (item_id, event_key)
) STRICT;

CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY, item_id INTEGER NOT NULL, harness TEXT NOT NULL, state TEXT NOT NULL,
    conversation_id TEXT, folder TEXT NOT NULL, clone TEXT NOT NULL, branch TEXT NOT NULL, base_sha TEXT NOT NULL,
    token_sha256 TEXT NOT NULL, journal_offset INTEGER NOT NULL DEFAULT 0, host_pid INTEGER,
    waits_for_person INTEGER NOT NULL DEFAULT 0, heard INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL, last_turn_at INTEGER NOT NULL, ended_at INTEGER, end_reason TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE UNIQUE INDEX one_session_an_item ON sessions (item_id) WHERE state <> 'ended';

CREATE TABLE turns (
    turn_id TEXT PRIMARY KEY, item_id INTEGER NOT NULL, session_id TEXT NOT NULL,
    state TEXT NOT NULL, kind TEXT NOT NULL, prompt TEXT NOT NULL,
    host TEXT NOT NULL, repository_id INTEGER NOT NULL, number INTEGER NOT NULL,
    tells_refused INTEGER NOT NULL, follows TEXT,
    frozen_at INTEGER NOT NULL, handed_at INTEGER, taken_at INTEGER, ended_at INTEGER,
    receipt TEXT NOT NULL DEFAULT '', stop_reason TEXT NOT NULL DEFAULT '',
    answer TEXT NOT NULL DEFAULT '', before_tools TEXT NOT NULL DEFAULT '', used TEXT NOT NULL DEFAULT '{}',
    interruptions INTEGER NOT NULL DEFAULT 0, not_before INTEGER NOT NULL DEFAULT 0, cancelling_at INTEGER,
    owes_resumption INTEGER NOT NULL DEFAULT 0, must_repeat INTEGER NOT NULL DEFAULT 0,
    written_by_host INTEGER NOT NULL DEFAULT 0, overdue INTEGER NOT NULL DEFAULT 0,
    start_failures INTEGER NOT NULL DEFAULT 0,
    replies INTEGER NOT NULL DEFAULT 0, reply_bytes INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX turns_open ON turns (item_id) WHERE state IN ('frozen', 'handed', 'taken', 'interrupted');
CREATE INDEX turns_owing ON turns (item_id) WHERE owes_resumption = 1;
CREATE INDEX turns_by_item ON turns (item_id, frozen_at);

CREATE TABLE turn_events (
    turn_id TEXT NOT NULL, event_key TEXT NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (turn_id, event_key)
) STRICT;

CREATE TABLE replies (
    reply_id TEXT PRIMARY KEY, origin TEXT NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL,
    item_id INTEGER NOT NULL, session_id TEXT, turn_id TEXT,
    channel TEXT NOT NULL, target TEXT NOT NULL, whole TEXT NOT NULL,
    parts_total INTEGER NOT NULL, state TEXT NOT NULL, dead_reason TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    UNIQUE (origin, kind, number)
) STRICT;
CREATE INDEX replies_open ON replies (channel, created_at) WHERE state = 'open';
CREATE INDEX replies_by_item ON replies (item_id, created_at);

CREATE TABLE reply_parts (
    reply_id TEXT NOT NULL, part INTEGER NOT NULL, body TEXT NOT NULL, body_sha256 TEXT NOT NULL, marker TEXT NOT NULL,
    state TEXT NOT NULL, wire TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0, owner_id TEXT, lease_until INTEGER, retry_at INTEGER NOT NULL,
    fail_class TEXT NOT NULL DEFAULT '', fail_text TEXT NOT NULL DEFAULT '',
    provider_id INTEGER, provider_url TEXT NOT NULL DEFAULT '',
    dispatched_at_local INTEGER, dispatched_at_server INTEGER, first_dispatched_at_server INTEGER,
    probes INTEGER NOT NULL DEFAULT 0, absent_since INTEGER, updated_at INTEGER NOT NULL,
    PRIMARY KEY (reply_id, part)
) STRICT;
CREATE INDEX parts_due ON reply_parts (state, retry_at);
CREATE INDEX parts_by_provider ON reply_parts (provider_id) WHERE provider_id IS NOT NULL;

CREATE TABLE reply_attempts (
    reply_id TEXT NOT NULL, part INTEGER NOT NULL, fence INTEGER NOT NULL, at INTEGER NOT NULL, what TEXT NOT NULL,
    PRIMARY KEY (reply_id, part, fence, at, what)
) STRICT;

CREATE TABLE cursors (
    host TEXT NOT NULL, repository_id INTEGER NOT NULL, source TEXT NOT NULL,
    address TEXT NOT NULL, etag TEXT NOT NULL, token_id TEXT NOT NULL,
    since INTEGER NOT NULL, watch_began_at INTEGER NOT NULL, complete_at INTEGER,
    PRIMARY KEY (host, repository_id, source)
) STRICT;
