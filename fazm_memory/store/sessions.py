"""Session rows: by id, prefix or the agent's id, listings, ancestors.

Listing reads one page of session rows, newest first, so its cost does not grow with the store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from posixpath import dirname
from typing import Any

from fazm_memory.clock import iso
from fazm_memory.errors import Ambiguous, NotFound
from fazm_memory.events import kinds
from fazm_memory.records import dataclass, fields
from fazm_memory.store.database import Database, translated_errors
from fazm_memory.store.event_log import EVENT_COLUMNS, event_id, to_event
from fazm_memory.store.schema import HOUR

AT_WORK = ("open", "active", "resumed")
SILENT = 6 * 3_600_000_000  # microseconds without an event after which an agent counts as gone
CLOSE_WITHIN = 50  # events at the end of a closed session that are searched for its closing
HERE = "here"  # the name of this machine in filters


@dataclass(frozen=True)
class SessionRow:
    """A session's row. `n` is internal and never shown."""

    n: int
    id: str
    agent: str
    agent_session_id: str | None
    title: str | None
    workspace: str | None
    lifecycle: str
    parent: str | None
    parent_seq: int | None
    background: bool
    opened_at: int
    last_at: int
    head: int
    turn: int
    actions: int
    failures: int
    files_modified: int
    questions: int
    forgotten: bool
    device: str | None = None  # the id of the machine that records it, if not this one
    device_name: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "agent": self.agent,
            "agent_session_id": self.agent_session_id,
            "title": self.title,
            "workspace": self.workspace,
            "lifecycle": self.lifecycle,
            "ended": None,
            "parent": self.parent,
            "parent_seq": self.parent_seq,
            "opened_at": iso(self.opened_at),
            "last_at": iso(self.last_at),
            "turns": self.turn,
            "events": self.head,
            "actions": self.actions,
            "failures": self.failures,
            "files_modified": self.files_modified,
            "open_questions": self.questions,
            "background": self.background,
            "device": self.device_name or self.device,
        }


NAMES = tuple([column.name for column in fields(SessionRow)])
SELECT = f"SELECT {', '.join(NAMES)} FROM standing"
BACKGROUND, FORGOTTEN = NAMES.index("background"), NAMES.index("forgotten")
AFTER_ANY = "\U0010ffff"  # behind a prefix it sorts after every id with that prefix


def _row(values: Sequence[Any]) -> SessionRow:
    columns = list(values)
    columns[BACKGROUND], columns[FORGOTTEN] = bool(columns[BACKGROUND]), bool(columns[FORGOTTEN])
    return SessionRow(*columns)


def _marks(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))


class Sessions:
    def __init__(self, database: Database) -> None:
        self.db = database
        # A session as it was at an earlier time, or None if it was opened later. See `Store.show_as_of`.
        self.as_of: Callable[[SessionRow], SessionRow | None] | None = None

    def fetch(self, query: Any) -> list[SessionRow]:
        """The rows of a query of the model."""
        with translated_errors(self.db.path):
            return self._shown([_row(values) for values in query.tuples().execute(self.db.peewee)])

    def _where(self, conditions: str, values: Iterable[Any] = ()) -> list[SessionRow]:
        return self._shown(self._present(conditions, values))

    def _present(self, conditions: str, values: Iterable[Any]) -> list[SessionRow]:
        rows = self.db.execute(f"{SELECT} WHERE {conditions}", tuple(values)).fetchall()
        return [_row(row) for row in rows]

    def _shown(self, rows: list[SessionRow]) -> list[SessionRow]:
        if self.as_of is None:
            return rows
        return [row for row in map(self.as_of, rows) if row is not None]

    def _latest(self, conditions: str, values: Iterable[Any], limit: int | None) -> list[SessionRow]:
        """The first rows of a statement that is ordered by the time of the last event."""
        if self.as_of is None:
            return self._where(f"{conditions} LIMIT ?", (*values, -1 if limit is None else limit))
        return sorted(self._where(conditions, values), key=lambda row: (-row.last_at, -row.n))[:limit]

    def resolve(self, text: str) -> SessionRow:
        """The session with this id, unique prefix of an id, or the agent's own id."""
        wanted = text.strip().encode("utf-8", "replace").decode()  # arguments may have any bytes
        if wanted:
            exact = self._where("id = ?", (wanted,))
            if exact:
                return exact[0]
            found = self._where("id >= ? AND id < ? LIMIT 6", (wanted, wanted + AFTER_ANY)) or self._where(
                "agent_session_id = ? LIMIT 6", (wanted,)
            )
            if len(found) == 1:
                return found[0]
            if found:
                names = ", ".join(f"{row.id[:12]} ({row.title or row.agent})" for row in found[:5])
                raise Ambiguous(
                    f'"{text}" matches several sessions: {names}.', hint="give more characters of the id"
                )
        raise NotFound(f'No session matches "{text[:60]}".', hint="`fazm-memory sessions` lists all sessions")

    def by_key(self, key: str, agent: str | None) -> SessionRow | None:
        """The session with this id or agent session id.

        Prefixes do not count, so that a write never goes to the wrong session.
        """
        theirs, values = ("", ()) if agent is None else (" AND agent = ?", (agent,))
        found = self._present(
            f"id = ? UNION ALL {SELECT} WHERE agent_session_id = ?{theirs}", (key, key, *values)
        )
        if exact := [row for row in found if row.id == key]:
            return exact[0]
        if len(found) > 1:
            raise Ambiguous(
                f"Two agents have a session named {key[:60]!r}.", hint='say which with "agent" in the line'
            )
        return found[0] if found else None

    def listing(
        self,
        *,
        limit: int | None = 50,
        before: int | None = None,
        agent: str | None = None,
        workspace: str | None = None,
        lifecycle: str | None = None,
        device: str | None = None,
        since: int | None = None,
        background: bool = False,
    ) -> list[SessionRow]:
        """Sessions, latest first.

        `before` is a `last_at` to continue from, `since` the earliest one. `device` is the name or id of the
        machine that records them, or HERE.
        """
        # Without a bound on the hour SQLite would sort the whole table instead of using the index.
        wanted: dict[str, tuple[Any, ...]] = {f"forgotten = 0 AND hour > {-HOUR}": ()}
        if not background:
            wanted["background = 0"] = ()
        if agent is not None:
            wanted["agent = ?"] = (agent,)
        if workspace is not None:
            wanted["workspace = ?"] = (workspace,)
        if device == HERE:
            wanted["device IS NULL"] = ()
        elif device is not None:
            wanted["(device = ? OR device_name = ?)"] = (device, device)
        if self.as_of is None:  # the columns have the present state
            if lifecycle is not None:
                wanted["lifecycle = ?"] = (lifecycle,)
            if since is not None:
                wanted["last_at >= ? AND hour >= ?"] = (since, since // HOUR)
            if before is not None:
                wanted["last_at < ? AND hour <= ?"] = (before, before // HOUR)
        conditions = " AND ".join(wanted) + " ORDER BY hour DESC, last_at DESC, n DESC"
        values = [value for given in wanted.values() for value in given]
        if self.as_of is None:
            return self._latest(conditions, values, limit)
        rows = self._latest(conditions, values, None)
        earliest = -1 if since is None else since
        return [row for row in rows if lifecycle in (None, row.lifecycle) and row.last_at >= earliest][:limit]

    def in_workspace(
        self, workspace: str | None, *, limit: int | None, begins: Collection[str] | None = None
    ) -> list[SessionRow]:
        """The latest sessions in a folder, in one inside it, or in one around it.

        With `begins` only those whose ids begin so.
        """
        conditions, values = "forgotten = 0 AND background = 0", list[str]()
        if begins is not None:
            prefixes = [prefix for prefix in sorted(begins) if prefix]
            conditions += f" AND ({' OR '.join(['id = ?', *['id >= ? AND id < ?'] * len(prefixes)])})"
            values += ["", *(bound for prefix in prefixes for bound in (prefix, prefix + AFTER_ANY))]
        if workspace is not None:
            around = [workspace]
            while (above := dirname(around[-1].rstrip("/"))) not in ("", "/", around[-1]):
                around.append(above)
            names = self.folder_names()
            around += [names[folder] for folder in around if names.get(folder)]
            around += [
                theirs for theirs, here in names.items() if here in around or here.startswith(f"{workspace}/")
            ]
            conditions += f" AND (workspace IN ({_marks(around)}) OR workspace >= ? AND workspace < ?)"
            values += [*around, f"{workspace}/", f"{workspace}0"]
        return self._latest(f"{conditions} ORDER BY last_at DESC, n DESC", values, limit)

    def folder_names(self) -> dict[str, str]:
        """Folders of other machines and where they are here. Empty if they are not here.

        Also the folders that one session has for itself, and which folder each is a copy of.
        """
        rows = self.db.execute("SELECT key, value FROM meta WHERE key >= 'folder:' AND key < 'folder;'")
        return {key.removeprefix("folder:"): value for key, value in rows.fetchall()}

    def set_folder_name(self, theirs: str, here: str) -> None:
        """Remember where a folder of another machine is here."""
        with self.db.transaction():
            self.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (f"folder:{theirs}", here))

    def own_folders(self) -> dict[int, str]:
        """The sessions that work in a copy of a folder, and that folder."""
        rows = self.db.execute(
            "SELECT key, value FROM meta WHERE key >= 'own-folder:' AND key < 'own-folder;'"
        )
        return {int(key.removeprefix("own-folder:")): value for key, value in rows.fetchall()}

    def set_own_folder(self, row: SessionRow, origin: str) -> None:
        """Remember that a session works in a copy of a folder."""
        with self.db.transaction():
            self.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (f"own-folder:{row.n}", origin))
            self.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (f"folder:{row.workspace}", origin))

    def numbered(self, numbers: Sequence[int]) -> list[SessionRow]:
        """These sessions, in this order."""
        found = {row.n: row for row in self._where(f"n IN ({_marks(numbers)})", numbers)}
        return [found[number] for number in numbers if number in found]

    def children(self, session: str) -> list[SessionRow]:
        return self._where("parent = ? ORDER BY n", (session,))

    def totals(self) -> dict[str, int]:
        row = self.db.execute(
            "SELECT count(*), coalesce(sum(head), 0), coalesce(sum(actions), 0) FROM standing"
            " WHERE forgotten=0"
        ).fetchone()
        return {"sessions": row[0], "events": row[1], "actions": row[2]}

    def turn_position(self, number: int, turn: int, head: int) -> int:
        """The position after a turn: where the next one begins, or the head."""
        row = self.db.execute(
            "SELECT seq FROM turn WHERE session=? AND turn > ? ORDER BY turn LIMIT 1", (number, turn)
        ).fetchone()
        return head if row is None else int(row[0])


def session_end(db: Database, row: SessionRow, now: int) -> str | None:
    """How a session is known to be over, or None if it is not.

    It exited, was replaced, was closed or has been silent since a time.
    """
    if row.lifecycle in ("closed", "archived"):
        found = db.execute(
            f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? AND kind='session.close'"
            " AND payload IS NOT NULL ORDER BY id DESC LIMIT 1",
            (event_id(row.n, max(0, row.head - CLOSE_WITHIN)), event_id(row.n, row.head)),
        ).fetchone()
        return kinds.end_of(None if found is None else to_event(found, row.id, b"").payload.reason)
    if row.lifecycle in AT_WORK and row.last_at < now - SILENT:
        return f"silent since {iso(row.last_at)}"
    return None


Range = tuple[int, int]
MAX_FORK_DEPTH = 1000


def effective_ranges(db: Database, number: int, at: int, start: int = 0) -> list[Range]:
    """The ranges of positions, from `start` on, that make up the state at a position.

    Ranges are half-open and in order; rewinds leave some out.
    """
    ranges: list[Range] = []
    while at > start:
        row = db.execute(
            "SELECT seq, target FROM rewind WHERE session=? AND seq < ? ORDER BY seq DESC LIMIT 1",
            (number, at),
        ).fetchone()
        begin, before = (0, 0) if row is None else (int(row[0]), int(row[1]))
        if max(begin, start) < at:
            ranges.append((max(begin, start), at))
        at = before
    return ranges[::-1]


def lineage(sessions: Sessions, row: SessionRow, at: int) -> list[tuple[SessionRow, int]]:
    """The session with a position, its parent with that of the fork, and so on."""
    found = [(row, at)]
    while row.parent is not None and row.parent_seq is not None and len(found) < MAX_FORK_DEPTH:
        parent, at = sessions.resolve(row.parent), row.parent_seq
        found.append((parent, at))
        row = parent
    return found


def common_ancestor(
    sessions: Sessions, first: tuple[SessionRow, int], second: tuple[SessionRow, int]
) -> tuple[SessionRow, int] | None:
    """The session and position up to which two sessions share their history, or None."""
    known = {row.n: (row, at) for row, at in lineage(sessions, *first)}
    for row, at in lineage(sessions, *second):
        if row.n in known:
            return row, min(at, known[row.n][1])
    return None
