"""Finding sessions: by id, by a unique prefix of it, by the agent's own name, and listing them.

Listing reads the session rows alone, newest first, a page at a time: it costs the page, not the store.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from posixpath import dirname
from typing import Any

from fazm_memory.errors import Ambiguous, NotFound
from fazm_memory.log.database import Database, told
from fazm_memory.log.tables import HOUR, Session
from fazm_memory.model.clock import iso


@dataclass(frozen=True)
class SessionRow:
    """A session as its row tells it; `n` is ours alone and leaves the log in nothing."""

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

    def to_json(self) -> dict[str, Any]:
        """The contract's session."""
        return {
            "id": self.id,
            "agent": self.agent,
            "agent_session_id": self.agent_session_id,
            "title": self.title,
            "workspace": self.workspace,
            "lifecycle": self.lifecycle,
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
        }


COLUMNS = [getattr(Session, name) for name in SessionRow.__dataclass_fields__]


def _row(values: tuple[Any, ...]) -> SessionRow:
    named = dict(zip(SessionRow.__dataclass_fields__, values, strict=True))
    named["background"], named["forgotten"] = bool(named["background"]), bool(named["forgotten"])
    return SessionRow(**named)


@cache
def _statement(*names: str) -> str:
    """The statement peewee makes for sessions by these fields. Making it takes longer than running it."""
    query = Session.select(*COLUMNS)
    for name in names:
        query = query.where(getattr(Session, name) == "")
    return str(query.sql()[0])


class Sessions:
    def __init__(self, database: Database) -> None:
        self.db = database

    def fetch(self, query: Any) -> list[SessionRow]:
        with told(self.db.path):
            return [_row(values) for values in query.tuples().execute(self.db.peewee)]

    def _equal(self, **wanted: str) -> list[SessionRow]:
        """Sessions whose fields are these."""
        rows = self.db.execute(_statement(*wanted), tuple(wanted.values()))
        return [_row(values) for values in rows.fetchall()]

    def resolve(self, given: str) -> SessionRow:
        """The session somebody means: its id, a unique prefix of it, or the agent's own id."""
        wanted = given.strip().encode("utf-8", "replace").decode()  # an argument may hold any bytes
        if wanted:
            exact = self._equal(id=wanted)
            if exact:
                return exact[0]
            found = self.fetch(
                Session.select(*COLUMNS)
                .where((Session.id >= wanted) & (Session.id < wanted + "\U0010ffff"))
                .limit(6)
            ) or self.fetch(Session.select(*COLUMNS).where(Session.agent_session_id == wanted).limit(6))
            if len(found) == 1:
                return found[0]
            if found:
                names = ", ".join(f"{row.id[:12]} ({row.title or row.agent})" for row in found[:5])
                raise Ambiguous(f"{given!r} could be any of {names}", hint="give more characters of the id")
        raise NotFound(
            f"there is no session {given[:60]!r}", hint="`fazm-memory sessions` lists the ones there are"
        )

    def by_key(self, key: str, agent: str | None) -> SessionRow | None:
        """The session an agent calls by this name. Exact names only: a prefix must never catch a write."""
        found = self._equal(id=key)
        if found:
            return found[0]
        found = self._equal(agent_session_id=key, **({} if agent is None else {"agent": agent}))
        if len(found) > 1:
            raise Ambiguous(
                f"two agents have a session named {key[:60]!r}", hint='say which with "agent" in the line'
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
        background: bool = False,
    ) -> list[SessionRow]:
        """The latest sessions first. `before` is a `last_at` to page on from."""
        # Any bound on the hour: without one SQLite would rather sort the whole table than walk the index.
        query = Session.select(*COLUMNS).where((Session.forgotten == 0) & (Session.hour > -HOUR))
        if not background:
            query = query.where(Session.background == 0)
        wanted = ((Session.agent, agent), (Session.workspace, workspace), (Session.lifecycle, lifecycle))
        for field, value in wanted:
            if value is not None:
                query = query.where(field == value)
        if before is not None:
            query = query.where((Session.last_at < before) & (Session.hour <= before // HOUR))
        query = query.order_by(Session.hour.desc(), Session.last_at.desc(), Session.n.desc())
        return self.fetch(query.limit(limit) if limit is not None else query)

    def in_workspace(
        self, workspace: str | None, *, limit: int | None, begins: Collection[str] | None = None
    ) -> list[SessionRow]:
        """The latest sessions that worked in a folder, in one inside it, or in one around it; with `begins`
        only those whose ids begin so."""
        query = Session.select(*COLUMNS).where((Session.forgotten == 0) & (Session.background == 0))
        if begins is not None:
            ids = [(Session.id >= one) & (Session.id < one + "\U0010ffff") for one in sorted(begins) if one]
            query = query.where(reduce(or_, ids, Session.id == ""))
        if workspace is not None:
            inside = (Session.workspace >= f"{workspace}/") & (Session.workspace < f"{workspace}0")
            around = [workspace]
            while (above := dirname(around[-1].rstrip("/"))) not in ("", "/", around[-1]):
                around.append(above)
            query = query.where(Session.workspace.in_(around) | inside)
        query = query.order_by(Session.last_at.desc(), Session.n.desc())
        return self.fetch(query if limit is None else query.limit(limit))

    def numbered(self, numbers: Sequence[int]) -> list[SessionRow]:
        """These sessions, in this order."""
        found = {row.n: row for row in self.fetch(Session.select(*COLUMNS).where(Session.n.in_(numbers)))}
        return [found[number] for number in numbers if number in found]

    def children(self, session: str) -> list[SessionRow]:
        return self.fetch(Session.select(*COLUMNS).where(Session.parent == session).order_by(Session.n))

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
