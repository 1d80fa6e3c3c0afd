"""The schema as numbered steps; a store is brought from any shipped version to the present one.

Each step runs in one transaction with the version number it leads to, so a step killed half way has not
happened. A store from a newer program is refused. Shipped steps are never edited: tests keep every shipped
schema and migrate it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fazm_memory.errors import FazmMemoryError, StoreNewer
from fazm_memory.model.counting import plural

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

# Facts by key, whatever session said them. Payloads that are compressed are longer than any fact of then.
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

# The last look at each watched folder, so that what changed while nobody watched is found at the next start.
STEP_3 = """
CREATE TABLE tree (root TEXT PRIMARY KEY, at INTEGER NOT NULL, state BLOB NOT NULL) WITHOUT ROWID
"""

# What each minute was made of, and the times nobody recorded: what the timeline draws.
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

# Which documents of the index are whose, so that a search in one session or day need not look at all others.
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

# Work left to do and questions with their ends: few among many events, and asked for by name.
STEP_6 = """
CREATE INDEX event_asked ON event (id) WHERE kind BETWEEN 'handoff' AND 'handoff.answer'
    OR kind BETWEEN 'pending' AND 'pending.done'
"""

# A call changes of its session's row only what its own row tells as well: `tally` is the failures and changed
# files of the session up to it. So most calls write one page less. `standing` is what both together tell.
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

STEPS: tuple[str, ...] = (STEP_1, STEP_2, STEP_3, STEP_4, STEP_5, STEP_6, STEP_7)
SCHEMA_VERSION = len(STEPS)
MANY = 50_000  # events from which on a step is announced: below that it takes a moment
SECONDS_PER_EVENT = 30e-6  # of the step that takes longest


def version_of(execute: Callable[[str], Any]) -> int:
    return int(execute("PRAGMA user_version").fetchone()[0])


def migrate(
    execute: Callable[[str], Any], steps: tuple[str, ...] = STEPS, tell: Callable[[str], None] | None = None
) -> int:
    """Bring the store to the present schema; the number of steps taken.

    `tell` is given words before each step that will take more than a moment.
    """
    newest = len(steps)
    found = version_of(execute)
    if found > newest:
        raise StoreNewer(
            f"the store has schema {found}; this program knows up to {newest}",
            hint="update Fazm Memory; the store was not touched",
        )
    taken = 0
    while found < newest:
        execute("BEGIN IMMEDIATE")
        try:
            found = version_of(execute)  # another process may have been faster
            if found < newest:
                if tell is not None and found > 0:
                    _announce(execute, found + 1, newest, tell)
                for statement in statements(steps[found]):
                    execute(statement)
                found += 1
                taken += 1
                execute(f"PRAGMA user_version = {found}")
            execute("COMMIT")
        except BaseException as error:
            try:
                execute("ROLLBACK")
            except FazmMemoryError:  # a full disk ends the transaction by itself: that is what to tell
                raise error from None
            raise
    return taken


def _announce(execute: Callable[[str], Any], step: int, last: int, tell: Callable[[str], None]) -> None:
    # By the heads of the sessions: to count the events themselves would take a moment of its own.
    events = int(execute("SELECT coalesce(sum(head), 0) FROM session").fetchone()[0])
    if events >= MANY:
        about = max(1, round(events * SECONDS_PER_EVENT))
        what = f"step {step} of {last}, {plural(events, 'event')}"
        length = f"this may take about {plural(about, 'second')}"
        tell(f"note: bringing the store to a new version, once: {what}; {length}")


def statements(step: str) -> list[str]:
    return [part.strip() for part in step.split(";") if part.strip()]
