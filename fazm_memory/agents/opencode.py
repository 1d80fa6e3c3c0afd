"""opencode: the reader of its database. Parts of messages become drafts.

A part is recorded when it is complete. Until then it is checked again with each chunk; a call that still runs
is reported as started, once. When the next message begins, such a call was interrupted.
"""

from __future__ import annotations

import posixpath
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fazm_memory.agents import fields, tool_calls
from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile
from fazm_memory.agents.fields import (
    digest,
    ident,
    mapping,
    moment_ms,
    record_of,
    sequence,
    strip_injected_text,
    text,
    whole,
)
from fazm_memory.agents.sqlite_file import database_file, read_only, unreadable
from fazm_memory.agents.tool_calls import (
    CallResult,
    call_meanings,
    listed_by_command,
    listed_names,
    listed_paths,
    patched_files,
    shell_files,
    summary,
    touch,
    touched_files,
)
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass

DEEPEST_NESTING = 10
PARTS = "SELECT rowid, id, message_id, session_id, time_created, data FROM part"


@dataclass(frozen=True)
class OpencodePart:
    """A row of the table. `data` is not parsed yet."""

    row: int
    mark: str
    id: str
    message: str
    session: str
    made_ms: Any
    data: Any


@dataclass(frozen=True)
class OpencodeSession:
    id: str
    parent: str
    folder: str
    title: str
    model: str
    made_ms: int
    changed_ms: int


@dataclass(frozen=True)
class OpencodeMessage:
    id: str
    made_ms: int
    data: dict[str, Any]


class OpencodeDatabase:
    """The database in one transaction. Sessions and the last message are cached."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.sessions: dict[str, OpencodeSession | None] = {}
        self.message_now = OpencodeMessage("", 0, {})

    def parts_after(self, row: int, limit: int) -> Iterator[OpencodePart]:
        rows = self.connection.execute(f"{PARTS} WHERE rowid > ? ORDER BY rowid LIMIT ?", (row, limit))
        return map(_part, rows)

    def part(self, name: str) -> OpencodePart | None:
        found = self.connection.execute(f"{PARTS} WHERE id = ?", (name,)).fetchone()
        return _part(found) if found else None

    def stands(self, row: int, mark: str) -> bool:
        """Whether a row still has the part it had when the mark was taken."""
        found = self.connection.execute("SELECT id FROM part WHERE rowid = ?", (row,)).fetchone()
        return found is not None and digest(repr(found[0])) == mark

    def message(self, name: str) -> OpencodeMessage:
        if self.message_now.id != name:
            query = "SELECT time_created, data FROM message WHERE id = ?"
            created, data = self.connection.execute(query, (name,)).fetchone() or (0, None)
            self.message_now = OpencodeMessage(name, whole(created) or 0, record_of(text(data)) or {})
        return self.message_now

    def session(self, name: str) -> OpencodeSession | None:
        if name not in self.sessions:
            query = "SELECT parent_id, directory, title, model, time_created, time_updated FROM session"
            row = self.connection.execute(f"{query} WHERE id = ?", (name,)).fetchone()
            self.sessions[name] = row and OpencodeSession(
                name,
                ident(row[0]),
                text(row[1]),
                text(row[2]).strip(),
                ident(mapping(record_of(text(row[3]))).get("id")),
                whole(row[4]) or 0,
                whole(row[5]) or 0,
            )
        return self.sessions[name]

    def root(self, name: str) -> OpencodeSession | None:
        """The session that a subagent works for. Any other session is its own root."""
        found = self.session(name)
        for _ in range(DEEPEST_NESTING):
            above = self.session(found.parent) if found is not None and found.parent else None
            if above is None:
                break
            found = above
        return found

    def forked_from(self, session: OpencodeSession) -> str | None:
        """The session whose messages this one copied. A copy keeps its original time."""
        query = "SELECT max(time_created) FROM message WHERE session_id = ? AND time_created < ?"
        last = self.connection.execute(query, (session.id, session.made_ms)).fetchone()[0]
        if last is None:
            return None
        query = (
            # In this order, because messages are indexed by session and time.
            "SELECT session.id FROM session CROSS JOIN message"
            " ON message.session_id = session.id AND message.time_created = ?"
            " WHERE session.id <> ? AND session.time_created < ? ORDER BY session.time_created DESC LIMIT 1"
        )
        found = self.connection.execute(query, (last, session.id, session.made_ms)).fetchone()
        return ident(found[0]) or None if found else None


def _part(row: tuple[Any, ...]) -> OpencodePart:
    return OpencodePart(
        row[0], digest(repr(row[1])), ident(row[1]), ident(row[2]), ident(row[3]), row[4], row[5]
    )


@contextmanager
def open_database(path: Path) -> Iterator[OpencodeDatabase]:
    """Open the database for reading."""
    with read_only(path) as connection:
        yield OpencodeDatabase(connection)


PATCHES = frozenset({"apply_patch", "patch"})
TIMED_OUT = "terminated command after exceeding timeout"
ABORTED = "User aborted the command"
ABOUT_THE_SHELL = "\n\n<shell_metadata>\n"
NO_OUTPUT = "(no output)"
DENIED = ("The user rejected permission", "The user has specified a rule which prevents")


def call_result(
    tool: str, state: Mapping[str, Any], *, cwd: str, home: str | None, known: KnownFolders | None = None
) -> CallResult:
    """The result of a call, from the state of its part."""
    result = _ended(tool, state, cwd, home, known)
    if known is not None and result.outcome == "ok":
        known.add_call(result.files, result.seen)
    return result


def _ended(
    tool: str, state: Mapping[str, Any], cwd: str, home: str | None, known: KnownFolders | None
) -> CallResult:
    tool_input, metadata = mapping(state.get("input")), mapping(state.get("metadata"))
    output = text(state.get("output"))
    if state.get("status") == "error":
        error = text(state.get("error"))
        outcome = _failure(error, metadata)
        if outcome == "interrupted":
            return interrupted_result(tool, state, cwd=cwd, home=home, known=known)
        return CallResult(output, outcome, summary(error) or "failed")
    if tool == "invalid":
        # opencode's name for an unknown tool or a malformed call.
        named = text(tool_input.get("tool"))[:200]
        return CallResult(output, "error", summary(text(tool_input.get("error"))), tool=named)
    if tool == "bash":
        return _shell(tool_input, metadata, output, cwd, home, known)
    files, seen = _touched(tool, tool_input, metadata, cwd, home), _listings(tool, metadata, output, cwd)
    return CallResult(output, "ok", None, tuple(files), tuple(seen))


def interrupted_result(
    tool: str, state: Mapping[str, Any], *, cwd: str, home: str | None, known: KnownFolders | None = None
) -> CallResult:
    """The result of an interrupted call. Its command may already have changed files."""
    tool_input = mapping(state.get("input"))
    output = text(mapping(state.get("metadata")).get("output"))
    files = []
    if tool == "bash" and (command := text(tool_input.get("command"))):
        folder = posixpath.join(cwd, text(tool_input.get("workdir")))
        files = shell_files(command, cwd=folder, output=output, ok=False, home=home, known=known)
    return CallResult(output, "interrupted", "cut off before it had a result", tuple(files))


def _failure(error: str, metadata: Mapping[str, Any]) -> str:
    if metadata.get("interrupted") is True or error.startswith("Tool execution aborted"):
        return "interrupted"
    if error.startswith(DENIED):
        return "denied"
    return "timeout" if "timed out" in error[:300].lower() else "error"


def _shell(
    tool_input: Mapping[str, Any],
    metadata: Mapping[str, Any],
    output: str,
    cwd: str,
    home: str | None,
    known: KnownFolders | None,
) -> CallResult:
    command, code = text(tool_input.get("command")), whole(metadata.get("exit"))
    folder = posixpath.join(cwd, text(tool_input.get("workdir")))
    output, _, about = output.partition(ABOUT_THE_SHELL)
    output = "" if output == NO_OUTPUT else output
    outcome, error = "ok", None
    if TIMED_OUT in about:
        outcome, error = "timeout", summary(about)
    elif ABORTED in about:
        outcome, error = "interrupted", ABORTED
    elif code:
        outcome, error = "error", ": ".join(filter(None, (f"exit code {code}", summary(output))))
    ok = outcome == "ok"
    files = []
    if command:
        files = shell_files(command, cwd=folder, output=output, ok=ok, home=home, known=known)
    whole_output = ok and metadata.get("truncated") is not True
    seen = listed_by_command(command, output, folder, home) if whole_output else []
    return CallResult(output, outcome, error, tuple(files), tuple(seen))


def _touched(
    tool: str, tool_input: Mapping[str, Any], metadata: Mapping[str, Any], cwd: str, home: str | None
) -> list[dict[str, Any]]:
    if tool in PATCHES:
        values = [_patched(mapping(file)) for file in sequence(metadata.get("files"))]
        return [file for file in values if file is not None] or patched_files(
            text(tool_input.get("patchText")), cwd
        )
    if tool == "read" and mapping(metadata.get("display")).get("type") == "directory":
        return []
    created: bool | None = None
    if isinstance(metadata.get("exists"), bool):
        created = not metadata["exists"]
    elif tool == "edit":
        created = tool_input.get("oldString") == ""
    return touched_files(tool, tool_input, cwd=cwd, created=created, home=home)


def _patched(values: Mapping[str, Any]) -> dict[str, Any] | None:
    path, moved = text(values.get("filePath")), text(values.get("movePath"))
    if not path:
        return None
    if moved:
        return touch(moved, "renamed", path)
    return touch(path, {"add": "created", "delete": "deleted"}.get(text(values.get("type")), "modified"))


def _listings(tool: str, metadata: Mapping[str, Any], output: str, cwd: str) -> list[dict[str, Any]]:
    shown = mapping(metadata.get("display"))
    if tool == "read" and shown.get("type") == "directory":
        names = [name for name in sequence(shown.get("entries")) if isinstance(name, str)]
        return listed_names(posixpath.join(cwd, text(shown.get("path"))), names)
    if tool == "glob" and metadata.get("truncated") is not True:
        return listed_paths((line for line in output.splitlines() if line.startswith("/")), cwd)
    return []


NAME = "opencode"
MOST_ROWS = 2000
MOST_MARKS = 64
MOST_OPEN = 200
MOST_SESSIONS = 200
LONGEST_PART = 64 << 20
UNKNOWN = 4 << 10
TITLE = 500
UNTITLED = lazy_regex(r"(New|Child) session - \d{4}-")
NOISE = frozenset({"reasoning", "step-start", "snapshot", "patch", "file", "agent", "subtask", "retry"})


class PartLog:
    """Turns parts into drafts. `carry` returns the state for the next chunk."""

    def __init__(self, carry: Mapping[str, Any], home: str | None) -> None:
        self.home = home
        self.marks: list[list[Any]] = [list(mark) for mark in sequence(carry.get("marks"))]
        # part → its session and message, and whether it was reported as started
        self.open: dict[str, list[Any]] = {
            name: list(waiting) for name, waiting in mapping(carry.get("open")).items()
        }
        self.titles: dict[str, str] = dict(mapping(carry.get("titles")))
        self.compacting: dict[str, str] = dict(mapping(carry.get("compacting")))
        # Shared by all sessions, which use the same disk.
        self.known = KnownFolders(mapping(carry.get("known")))
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}
        self.bad = 0

    def carry(self) -> dict[str, Any]:
        names = ("marks", "open", "titles", "compacting")
        values = {name: getattr(self, name) for name in names} | {"known": self.known.carry()}
        return {name: value for name, value in values.items() if value}

    def read_on(self, store: OpencodeDatabase, limit: int) -> bool:
        """Read about `limit` bytes of new parts. Returns whether there are more."""
        for name in list(self.open):
            part = store.part(name)
            if part is None:
                del self.open[name]  # deleted
            else:
                self._part(store, part)
        while self.marks and not store.stands(*self.marks[-1]):
            self.marks.pop()
        taken = rows = 0
        more = False
        for part in store.parts_after(self.marks[-1][0] if self.marks else 0, MOST_ROWS + 1):
            if rows >= MOST_ROWS or taken >= limit:
                more = True
                break
            rows += 1
            taken += len(part.data) if isinstance(part.data, (str, bytes)) else 0
            self._part(store, part)
            last = part
        if rows:
            self.marks = [*self.marks[1 - MOST_MARKS :], [last.row, last.mark]]
        if not more:
            for name in self.open:
                self._started(store, name)
        self._titled(store)
        return more

    def _part(self, store: OpencodeDatabase, part: OpencodePart) -> None:
        data = record_of(part.data) if isinstance(part.data, str) and len(part.data) < LONGEST_PART else None
        if data is None or not part.id or not part.session:
            self.bad += 1
            self.open.pop(part.id, None)
            return
        session, message = store.session(part.session), store.message(part.message)
        if session is not None and 0 < message.made_ms < session.made_ms:
            return  # a fork's copy
        kind = text(data.get("type"))
        if kind == "text":
            self._text(store, part, data, message)
        elif kind == "tool":
            self._tool(store, part, data)
        elif kind == "step-finish":
            self._usage(store, part, mapping(data.get("tokens")), message)
        elif kind == "step-start":
            self._end_waiting(store, part)
        elif kind == "compaction":
            self.compacting = {part.session: "auto" if data.get("auto") is True else "manual"}
        elif kind not in NOISE:
            self.unknown[kind[:100]] = self.unknown.get(kind[:100], 0) + 1
            raw = {"type": kind[:100], "raw": fields.bounded(data, UNKNOWN)}
            self._emit(store, part, "unknown", raw, moment_ms(part.made_ms))

    def _text(
        self,
        store: OpencodeDatabase,
        part: OpencodePart,
        data: Mapping[str, Any],
        message: OpencodeMessage,
        complete: bool = False,
    ) -> None:
        times, words = mapping(data.get("time")), strip_injected_text(text(data.get("text"))).strip()
        from_user = message.data.get("role") == "user"
        if not from_user and "end" not in times and not complete:
            self._wait(store, part)
            return
        self.open.pop(part.id, None)
        hidden = data.get("synthetic") is True or data.get("ignored") is True
        if not words or hidden or self._agent(store, part):
            return
        at = moment_ms(times.get("end")) or moment_ms(message.made_ms if from_user else part.made_ms)
        if message.data.get("summary") is True:
            trigger = self.compacting.pop(part.session, None)
            evicted = {"keys": [], "summary": fields.capped(words, tool_calls.OUTPUT)}
            self._emit(store, part, "evicted", evicted | ({"trigger": trigger} if trigger else {}), at)
        else:
            payload = {"text": fields.capped(words, fields.MAX_TEXT)}
            self._emit(store, part, "prompt" if from_user else "message", payload, at)

    def _tool(self, store: OpencodeDatabase, part: OpencodePart, data: Mapping[str, Any]) -> None:
        state = mapping(data.get("state"))
        if state.get("status") not in ("completed", "error"):
            self._wait(store, part)
            return
        tool = _tool(data)
        where = self._cwd(store, part)
        self._act(store, part, data, call_result(tool, state, cwd=where, home=self.home, known=self.known))

    def _act(
        self, store: OpencodeDatabase, part: OpencodePart, data: Mapping[str, Any], result: CallResult
    ) -> None:
        self.open.pop(part.id, None)
        state = mapping(data.get("state"))
        times = mapping(state.get("time"))
        began, ended_at = fields.whole(times.get("start")), fields.whole(times.get("end"))
        took = ended_at - began if began is not None and ended_at is not None else None
        tool, call_id = result.tool or _tool(data), ident(data.get("callID")) or part.id
        agent = self._agent(store, part)
        payload = tool_calls.ended_action(tool, state.get("input"), result, call_id, agent, took)
        at = moment_ms(ended_at) or moment_ms(began) or moment_ms(part.made_ms)
        self._emit(store, part, "action", payload, at)
        for number, listing in enumerate(result.seen):
            self._emit(store, part, "seen", listing, at, f":seen:{number}")
        words = text(state.get("output")) or text(state.get("error"))
        about = mapping(state.get("metadata"))
        for meaning in call_meanings(call_id, tool, state.get("input"), words, result.outcome, about):
            if agent is None or meaning.kind == "decision":
                self._emit(
                    store, part, meaning.kind, meaning.payload, at, f":{meaning.suffix}", meaning.actor
                )

    def _usage(
        self, store: OpencodeDatabase, part: OpencodePart, spent: Mapping[str, Any], message: OpencodeMessage
    ) -> None:
        cache = mapping(spent.get("cache"))
        values: dict[str, Any] = {
            "input_tokens": fields.tokens(spent.get("input")) + fields.tokens(cache.get("write")),
            "output_tokens": fields.tokens(spent.get("output")) + fields.tokens(spent.get("reasoning")),
            "cached_tokens": fields.tokens(cache.get("read")),
        }
        model = ident(message.data.get("modelID"))
        if any(values.values()):
            if written := fields.tokens(cache.get("write")):
                values["written_tokens"] = written
            values |= {"model": model} if model else {}
            self._emit(store, part, "usage", values, moment_ms(part.made_ms))

    def _wait(self, store: OpencodeDatabase, part: OpencodePart) -> None:
        if part.id not in self.open and len(self.open) >= MOST_OPEN:
            oldest = next(iter(self.open))
            self._started(store, oldest)
            del self.open[oldest]
        self.open.setdefault(part.id, [part.session, part.message, False])

    def _started(self, store: OpencodeDatabase, name: str) -> None:
        waiting = self.open[name]
        part = None if waiting[2] else store.part(name)
        data = mapping(record_of(text(part.data))) if part is not None else {}
        state = mapping(data.get("state"))
        if part is None or data.get("type") != "tool" or state.get("status") == "pending":
            return  # a pending call has no input yet
        waiting[2] = True
        tool, call_id = _tool(data), ident(data.get("callID")) or name
        payload = tool_calls.start(tool, state.get("input"), call_id, self._agent(store, part))
        at = moment_ms(mapping(state.get("time")).get("start")) or moment_ms(part.made_ms)
        self._emit(store, part, "action.start", payload, at, ":start")

    def _end_waiting(self, store: OpencodeDatabase, step: OpencodePart) -> None:
        """End the parts of earlier messages that still wait: a new message has begun."""
        for name, (session, message, _) in list(self.open.items()):
            part = store.part(name) if session == step.session and message != step.message else None
            data = mapping(record_of(text(part.data))) if part is not None else {}
            if part is None:
                continue
            if data.get("type") == "text":
                self._text(store, part, data, store.message(part.message), complete=True)
            elif mapping(data.get("state")).get("status") not in ("completed", "error"):
                tool = _tool(data)
                state, where = mapping(data.get("state")), self._cwd(store, part)
                result = interrupted_result(tool, state, cwd=where, home=self.home, known=self.known)
                self._act(store, part, data, result)

    def _cwd(self, store: OpencodeDatabase, part: OpencodePart) -> str:
        session = store.session(part.session)
        values = text(mapping(store.message(part.message).data.get("path")).get("cwd"))
        return values or (session.folder if session is not None else "")

    def _agent(self, store: OpencodeDatabase, part: OpencodePart) -> str | None:
        root = store.root(part.session)
        return part.session if root is not None and root.id != part.session else None

    def _emit(
        self,
        store: OpencodeDatabase,
        part: OpencodePart,
        kind: str,
        payload: Mapping[str, Any],
        at: int | None,
        key: str = "",
        actor: str | None = None,
    ) -> None:
        root = store.root(part.session)
        name = root.id if root is not None else part.session
        if name not in self.titles:
            self._opened(store, name, root)
        self._draft(name, kind, payload, f"{NAME}:{part.id}{key}", at, actor)

    def _opened(self, store: OpencodeDatabase, name: str, session: OpencodeSession | None) -> None:
        if len(self.titles) >= MOST_SESSIONS:
            del self.titles[next(iter(self.titles))]
        self.titles[name] = title = _title(session)
        values: dict[str, Any] = {"agent": NAME, "agent_session_id": name, "title": title}
        if session is not None:
            values |= {"workspace": session.folder, "model": session.model}
            values["parent"] = store.forked_from(session)
        at = moment_ms(session.made_ms) if session is not None else None
        values = {field: value for field, value in values.items() if value}
        self._draft(name, "session.open", values, f"{NAME}:{name}:open", at)

    def _titled(self, store: OpencodeDatabase) -> None:
        for name, known in self.titles.items():
            session = store.session(name)
            title = _title(session)
            if session is not None and title and title != known:
                self.titles[name] = title
                key = f"{NAME}:{name}:title:{fields.digest(title)}"
                self._draft(name, "session.title", {"title": title}, key, moment_ms(session.changed_ms))

    def _draft(
        self,
        name: str,
        kind: str,
        payload: Mapping[str, Any],
        key: str,
        at: int | None,
        actor: str | None = None,
    ) -> None:
        self.drafts.append(Draft(name, kind, payload, NAME, at, None, actor, "transcript", key=key))


def _tool(data: Mapping[str, Any]) -> str:
    return text(data.get("tool"))[:200] or "unknown"


def _title(session: OpencodeSession | None) -> str:
    """The title of a session, or "" for the default one."""
    return "" if session is None or UNTITLED.match(session.title) else session.title[:TITLE]


class Opencode:
    """Reads the database. `home` is the folder of `~` in its commands."""

    name = NAME
    version = 2

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        path = opencode_folder(places) / "opencode.db"
        yield from database_file(NAME, path, path.name)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        parts = PartLog(cursor.carry, self.home)
        try:
            with open_database(record.path) as store:
                more = parts.read_on(store, limit)
        except sqlite3.DatabaseError as error:
            return unreadable(error, cursor)
        return Chunk(tuple(parts.drafts), Cursor(0, parts.carry()), more, parts.unknown, parts.bad)


def opencode_folder(places: Places) -> Path:
    return Path(places.env.get("XDG_DATA_HOME") or places.home / ".local" / "share") / NAME
