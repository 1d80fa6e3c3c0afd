"""The schema of the log's database, as numbered migration steps.

Shipped steps are never edited: tests keep every shipped schema and migrate it.
"""

from __future__ import annotations

HOUR = 3_600_000_000


STEP_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE session (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, agent_session_id TEXT,
    title TEXT, workspace TEXT, lifecycle TEXT NOT NULL, parent TEXT, parent_seq INTEGER,
    background INTEGER NOT NULL DEFAULT 0, opened_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
    head INTEGER NOT NULL DEFAULT 0, turn INTEGER NOT NULL DEFAULT 0, actions INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0, files_modified INTEGER NOT NULL DEFAULT 0,
    questions INTEGER NOT NULL DEFAULT 0, mac BLOB NOT NULL, indexed INTEGER NOT NULL DEFAULT 0,
    snapped INTEGER NOT NULL DEFAULT 0, verified INTEGER NOT NULL DEFAULT 0,
    forgotten INTEGER NOT NULL DEFAULT 0, hour INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX session_agent ON session (agent_session_id, agent) WHERE agent_session_id IS NOT NULL;
CREATE INDEX session_last ON session (hour);
CREATE INDEX session_workspace ON session (workspace, hour);
CREATE TABLE waiting (session INTEGER PRIMARY KEY);
CREATE TABLE event (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, turn INTEGER NOT NULL, kind TEXT NOT NULL,
    version INTEGER NOT NULL, actor TEXT NOT NULL, source TEXT NOT NULL, trust TEXT NOT NULL, key TEXT,
    payload BLOB, digest BLOB NOT NULL, mac BLOB NOT NULL);
CREATE UNIQUE INDEX event_key ON event (key) WHERE key IS NOT NULL;
CREATE TABLE turn (
    session INTEGER NOT NULL, turn INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (session, turn)) WITHOUT ROWID;
CREATE TABLE minute (
    session INTEGER NOT NULL, minute INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    events INTEGER NOT NULL, failures INTEGER NOT NULL, PRIMARY KEY (session, minute)) WITHOUT ROWID;
CREATE INDEX minute_all ON minute (minute, session);
CREATE TABLE rewind (
    session INTEGER NOT NULL, seq INTEGER NOT NULL, target INTEGER NOT NULL,
    PRIMARY KEY (session, seq)) WITHOUT ROWID;
CREATE TABLE failed_call (
    session INTEGER NOT NULL, hash TEXT NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (session, hash)) WITHOUT ROWID;
CREATE TABLE snapshot (
    session INTEGER NOT NULL, seq INTEGER NOT NULL, fold INTEGER NOT NULL, state BLOB NOT NULL,
    PRIMARY KEY (session, seq)) WITHOUT ROWID;
CREATE TABLE cursor (
    path TEXT PRIMARY KEY, agent TEXT NOT NULL, offset INTEGER NOT NULL, size INTEGER NOT NULL,
    inode INTEGER, fingerprint TEXT, carry BLOB, updated_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (
    body, event UNINDEXED, content='', contentless_delete=1, contentless_unindexed=1,
    tokenize="porter unicode61 remove_diacritics 2");
"""

# Facts by key, of all sessions. No fact was long enough to be compressed before this step.
STEP_2 = """
CREATE TABLE fact (
    session INTEGER NOT NULL, seq INTEGER NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL,
    retracted INTEGER NOT NULL, value TEXT, trust TEXT NOT NULL, actor TEXT NOT NULL,
    PRIMARY KEY (session, seq)) WITHOUT ROWID;
CREATE INDEX fact_key ON fact (key, at);
INSERT INTO fact
    SELECT id >> 32, id & 4294967295, json_extract(CAST(payload AS TEXT), '$.key'), at, kind = 'fact.retract',
        CAST(payload AS TEXT) -> '$.value', trust, actor
    FROM event WHERE kind IN ('fact', 'fact.retract') AND substr(payload, 1, 1) = CAST('{' AS BLOB)
"""

# The last state of each watched folder, to find changes made while the watcher was not running.
STEP_3 = """
CREATE TABLE tree (root TEXT PRIMARY KEY, at INTEGER NOT NULL, state BLOB NOT NULL) WITHOUT ROWID
"""

# Counts by minute and recording gaps, for the timeline.
STEP_4 = """
ALTER TABLE minute ADD COLUMN actions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE minute ADD COLUMN decisions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE minute ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
ALTER TABLE minute ADD COLUMN apps INTEGER NOT NULL DEFAULT 0;
UPDATE minute SET actions=t.actions, decisions=t.decisions, files=t.files, apps=t.apps FROM (
    SELECT e.id >> 32 AS session, e.at / 60000000 AS minute, sum(e.kind = 'action') AS actions,
        sum(e.kind = 'decision') AS decisions, sum(e.kind = 'file') AS files, sum(e.kind = 'app') AS apps
    FROM event e JOIN session s ON s.n = e.id >> 32 WHERE (e.id & 4294967295) < s.indexed GROUP BY 1, 2
) AS t WHERE t.session = minute.session AND t.minute = minute.minute;
CREATE INDEX event_gap ON event (at) WHERE kind = 'gap'
"""

# The session of each run of indexed documents, so that a search in one session reads only those.
STEP_5 = """
CREATE TABLE run (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, session INTEGER NOT NULL, low INTEGER NOT NULL,
    high INTEGER NOT NULL);
CREATE INDEX run_session ON run (session, low);
INSERT INTO run SELECT min(document), max(document), session, min(seq), max(seq) FROM (
    SELECT rowid AS document, event >> 32 AS session, event & 4294967295 AS seq,
        rowid - row_number() OVER (PARTITION BY event >> 32 ORDER BY rowid) AS island FROM words
) GROUP BY session, island
"""

# An index of pending items and questions, which are few and queried by name.
STEP_6 = """
CREATE INDEX event_asked ON event (id) WHERE kind BETWEEN 'handoff' AND 'handoff.answer'
    OR kind BETWEEN 'pending' AND 'pending.done'
"""

# `tally` has the failures and changed files of a session up to a call, so that most calls need not update the
# session's row. The view `standing` combines both.
STEP_7 = """
ALTER TABLE event ADD COLUMN tally INTEGER;
CREATE VIEW standing AS SELECT s.n, s.id, s.agent, s.agent_session_id, s.title, s.workspace, s.lifecycle,
    s.parent, s.parent_seq, s.background, s.opened_at, coalesce(e.at, s.last_at) AS last_at,
    coalesce((e.id & 4294967295) + 1, s.head) AS head, s.turn,
    s.actions + coalesce((e.id & 4294967295) + 1 - s.head, 0) AS actions,
    coalesce(e.tally >> 32, s.failures) AS failures,
    coalesce(e.tally & 4294967295, s.files_modified) AS files_modified, s.questions,
    coalesce(e.mac, s.mac) AS mac, s.indexed, s.snapped, s.verified, s.forgotten, s.hour
    FROM session s LEFT JOIN waiting w ON w.session = s.n
    LEFT JOIN event e ON e.id = (
        SELECT max(id) FROM event WHERE id >= (w.session << 32) + s.head AND id < (w.session + 1) << 32)
"""

# The machine that records a session, if it is another one. Its name is in `meta` and may change.
STEP_8 = """
ALTER TABLE session ADD COLUMN device TEXT;
DROP VIEW standing;
CREATE VIEW standing AS SELECT s.n, s.id, s.agent, s.agent_session_id, s.title, s.workspace, s.lifecycle,
    s.parent, s.parent_seq, s.background, s.opened_at, coalesce(e.at, s.last_at) AS last_at,
    coalesce((e.id & 4294967295) + 1, s.head) AS head, s.turn,
    s.actions + coalesce((e.id & 4294967295) + 1 - s.head, 0) AS actions,
    coalesce(e.tally >> 32, s.failures) AS failures,
    coalesce(e.tally & 4294967295, s.files_modified) AS files_modified, s.questions,
    coalesce(e.mac, s.mac) AS mac, s.indexed, s.snapped, s.verified, s.forgotten, s.hour, s.device,
    (SELECT value FROM meta WHERE key = 'device:' || s.device) AS device_name
    FROM session s LEFT JOIN waiting w ON w.session = s.n
    LEFT JOIN event e ON e.id = (
        SELECT max(id) FROM event WHERE id >= (w.session << 32) + s.head AND id < (w.session + 1) << 32)
"""

# When each session arrived here: retention counts imported history from its import. Of sessions before this
# step that time is not known, so theirs is the time of this step.
STEP_9 = """
CREATE TABLE arrival (session INTEGER PRIMARY KEY, at INTEGER NOT NULL);
INSERT INTO arrival SELECT n, CAST(strftime('%s', 'now') AS INTEGER) * 1000000 FROM session
"""

# `receipt`: from this position on, events arrived at this time or later, though they are dated earlier.
# `usage`: bytes of payloads per session and day, and how many events the quota cut. Session 0 is all of them.
# `claimed`: the times that events claimed, where those were in the future when they arrived. Of events before
# this step, those in the future now; but if most sessions are, then the clock is wrong and not they.
STEP_10 = """
CREATE TABLE receipt (
    session INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (session, seq)
) WITHOUT ROWID;
CREATE TABLE usage (
    session INTEGER NOT NULL, day INTEGER NOT NULL, bytes INTEGER NOT NULL, cut INTEGER NOT NULL,
    PRIMARY KEY (session, day)) WITHOUT ROWID;
CREATE TABLE claimed (event INTEGER PRIMARY KEY, at INTEGER NOT NULL);
INSERT INTO claimed
    SELECT e.id, e.at FROM session s JOIN event e ON e.id >= s.n << 32 AND e.id < (s.n + 1) << 32
    WHERE s.last_at > strftime('%s', 'now') * 1000000 AND e.at > strftime('%s', 'now') * 1000000
    AND (SELECT sum(last_at > strftime('%s', 'now') * 1000000) * 2 <= count(*) FROM session);
UPDATE session SET last_at = strftime('%s', 'now') * 1000000, hour = strftime('%s', 'now') / 3600
    WHERE n IN (SELECT event >> 32 FROM claimed)
"""

STEPS: tuple[str, ...] = (
    STEP_1, STEP_2, STEP_3, STEP_4, STEP_5, STEP_6, STEP_7, STEP_8, STEP_9, STEP_10,
)  # fmt: skip
SCHEMA_VERSION = len(STEPS)


def statements(step: str) -> list[str]:
    return [part.strip() for part in step.split(";") if part.strip()]
