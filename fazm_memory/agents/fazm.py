"""Fazm: its chat, its desktop actions, and the agents' sessions that it runs.

Fazm runs other agents, so a transcript may belong to it: its session list says which. The chat database and
the files in `/tmp/macos-use` (`<milliseconds>_<action>.txt`, the screen after an action) are read only for
what no transcript contains.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from fazm_memory import clock
from fazm_memory.agents import tool_calls
from fazm_memory.agents.base import CHUNK, OWNERS, Chunk, Cursor, Places, Reader, RecordFile
from fazm_memory.agents.fields import (
    MAX_TEXT,
    capped,
    ident,
    mapping,
    moment,
    moment_ms,
    sequence,
    text,
    whole,
)
from fazm_memory.agents.sqlite_file import unreadable
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import open_regular
from fazm_memory.records import dataclass, field, replace

FAZM = "fazm"
OBSERVER = "observer"  # Fazm's own background session, which watches the others
LONGEST_LIST = 4 << 20
MOST_DECIDED = 200


@dataclass(frozen=True)
class FazmAppSession:
    """A row of Fazm's list. `cwd` is the folder in which the session was started."""

    session_id: str
    session_key: str = ""
    cwd: str = ""
    model: str = ""
    updated_ms: int | None = None

    @property
    def background(self) -> bool:
        return self.session_key == OBSERVER

    def opening(self) -> dict[str, Any]:
        """The fields that it adds to the opening of the session."""
        values = {"agent": FAZM, "workspace": self.cwd, "model": self.model, "background": self.background}
        return {name: value for name, value in values.items() if value}


def fazm_sessions(places: Places) -> dict[str, FazmAppSession]:
    """The sessions Fazm lists, by the agent's id.

    Empty if the list is missing or invalid.
    """
    try:
        with open_regular(places.home / ".fazm" / "acp-sessions.json") as file:
            rows = json.loads(file.read(LONGEST_LIST))
    except (OSError, ValueError, RecursionError):
        return {}
    listed = {}
    for row in map(mapping, sequence(rows)):
        if session_id := ident(row.get("sessionId")):
            listed[session_id] = FazmAppSession(
                session_id,
                ident(row.get("sessionKey")),
                text(row.get("cwd")),
                ident(row.get("model")),
                whole(row.get("updatedAt")),
            )
    return listed


@dataclass
class FazmAwareReader:
    """Wraps a reader of transcripts and assigns Fazm's sessions to Fazm.

    The owner is decided once per session and stored in the cursor, because Fazm drops old sessions from its
    list.
    """

    inner: Reader
    places: Places
    name: str = field(init=False)
    version: int = field(init=False)
    listed: dict[str, FazmAppSession] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.name, self.version = self.inner.name, self.inner.version

    def find(self, places: Places) -> Iterator[RecordFile]:
        self.listed |= fazm_sessions(places)
        for record in self.inner.find(places):
            yield replace(record, agent=FAZM) if record.session in self.listed else record

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        carry = dict(cursor.carry)
        decided = dict(mapping(carry.pop(OWNERS, None)))
        chunk = self.inner.read(record, replace(cursor, carry=carry), limit=limit)
        self._decide({draft.session for draft in chunk.drafts}, decided)
        drafts = tuple(_as_fazm(draft, decided[draft.session]) for draft in chunk.drafts)
        recent = dict(list(decided.items())[-MOST_DECIDED:])
        return replace(
            chunk, drafts=drafts, cursor=replace(chunk.cursor, carry={**chunk.cursor.carry, OWNERS: recent})
        )

    def _decide(self, sessions: Iterable[str], decided: dict[str, Any]) -> None:
        new = sorted(session for session in sessions if session not in decided)
        if not self.listed.keys() >= set(new):
            self.listed |= fazm_sessions(self.places)
        for session in new:
            decided[session] = self.listed[session].opening() if session in self.listed else {}


def _as_fazm(draft: Draft, opening: Mapping[str, Any]) -> Draft:
    if not opening:
        return draft
    if draft.kind == "session.open":
        values = {**draft.payload, **{name: opening[name] for name in opening if name != "model"}}
        if "model" in opening:
            values.setdefault("model", opening["model"])
        return replace(draft, agent=FAZM, payload=values)
    return replace(draft, agent=FAZM)


DATABASE = "fazm.db"
APPS = ("Fazm", "Fazm-Dev")
ROWS = 500
SETTLE = 60.0  # seconds: an answer is saved while it is still being written
WANTED = ("messageId", "sender", "messageText", "createdAt", "session_id")
UNPLACED = "chat message without a session"


def chat_databases(places: Places) -> Iterator[Path]:
    support = places.home / "Library" / "Application Support"
    for app in APPS:
        yield from (support / app / "users").glob(f"*/{DATABASE}")


def read_chat(
    path: Path,
    cursor: Cursor,
    *,
    now: float,
    sessions: Mapping[str, FazmAppSession],
    transcripts: Callable[[], Iterable[RecordFile]],
) -> Chunk:
    """The messages after the cursor that no transcript has.

    Raises OSError if the chat is busy.
    """
    last, recorded = text(cursor.carry.get("last")), list(sequence(cursor.carry.get("told")))
    open_regular(path).close()  # raises if it is no regular file
    try:
        rows = _rows(path, last, recorded)
    except sqlite3.OperationalError as error:
        raise OSError(f"Fazm's chat cannot be read just now: {error}") from error
    except sqlite3.DatabaseError as error:
        return unreadable(error, cursor)
    settled = _moment_text(now - SETTLE)
    new = [row for row in rows if text(row["createdAt"]) <= settled]
    covered = {record.session for record in transcripts()} if new else set()
    drafts: list[Draft] = []
    unplaced = 0
    for row in new:
        session = ident(row["session_id"])
        if not session:
            unplaced += 1
        elif session not in covered:
            drafts += _drafts(row, session, sessions.get(session))
        at = text(row["createdAt"])
        recorded = [*recorded, text(row["messageId"])] if at == last else [text(row["messageId"])]
        last = at
    carry = {"last": last, "told": recorded[-ROWS:]} if last else {}
    more = len(rows) == ROWS and len(new) == len(rows)
    unknown = {UNPLACED: unplaced} if unplaced else {}
    return Chunk(tuple(drafts), Cursor(cursor.offset + len(new), carry), more, unknown)


def _drafts(row: Mapping[str, Any], session: str, listed: FazmAppSession | None) -> Iterator[Draft]:
    kind = {"user": "prompt", "ai": "message"}.get(text(row["sender"]))
    words, name = text(row["messageText"]).strip(), ident(row["messageId"])
    if kind is None or not words or not name:
        return
    at = moment(f"{text(row['createdAt'])[:23]}+00:00")
    opening = {"agent": FAZM, "agent_session_id": session} | (listed.opening() if listed else {})
    source = "transcript"
    yield Draft(session, "session.open", opening, FAZM, at, source=source, key=f"{FAZM}:{session}:open")
    yield Draft(
        session, kind, {"text": capped(words, MAX_TEXT)}, FAZM, at, source=source, key=f"{FAZM}:{name}"
    )


def _rows(path: Path, last: str, recorded: list[Any]) -> list[dict[str, Any]]:
    """Messages from a time on. Row numbers are reused after a chat is cleared."""
    with closing(sqlite3.connect(_address(path), uri=True, timeout=0.2)) as database:
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        columns = {row[1] for row in database.execute("PRAGMA table_info(chat_messages)")}
        if not columns.issuperset(WANTED):
            return []  # no chat yet, or an old version without session ids
        query = (
            f"SELECT {', '.join(WANTED)} FROM chat_messages WHERE typeof(createdAt) = 'text'"
            " AND createdAt >= ? ORDER BY createdAt, messageId LIMIT ?"
        )
        found = database.execute(query, (last, ROWS + len(recorded))).fetchall()
    rows = [dict(zip(WANTED, row, strict=True)) for row in found]
    return [row for row in rows if row["createdAt"] != last or row["messageId"] not in recorded][:ROWS]


def _address(path: Path) -> str:
    """A read-only URI that creates no files.

    Without shared memory the app is not running.
    """
    shared = path.with_name(f"{path.name}-shm").exists()
    return f"file:{quote(str(path))}?mode=ro&{'readonly_shm' if shared else 'immutable'}=1"


def _moment_text(seconds: float) -> str:
    """A time as the app writes it, in UTC."""
    return clock.to_datetime(round(seconds * 1_000_000), UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:23]


FOLDER = "macos-use"
NOBODYS = "desktop"  # the session of actions whose session is unknown
FILE_NAME = lazy_regex(r"(\d{12,14})_([A-Za-z0-9_-]{1,80})\.txt")
NAMED = lazy_regex(rb"macos-use/(\d{12,14}_[A-Za-z0-9_-]{1,80}\.txt)")
FAILED = lazy_regex(r"^# (?:traversal_)?error: (.+)$", re.MULTILINE)
DESKTOP_SETTLE = 60.0  # seconds: by then the transcript has the call too
FILES = 200
LONGEST = 1 << 20
BLOCK = 8 << 20
LARGEST = 1 << 30  # bytes of a log that is searched
ACTIVE_MS = 30 * 60_000


@dataclass(frozen=True, order=True)
class DesktopAction:
    """A file written by a desktop action."""

    ms: int
    name: str
    action: str

    @property
    def call_id(self) -> str:
        return f"{self.ms}_{self.action}"


def desktop_folder(places: Places) -> Path:
    return places.tmp / FOLDER


def desktop_actions(place: Path, now: float) -> list[DesktopAction]:
    """The actions that are old enough to be recorded, oldest first."""
    try:
        names = [path.name for path in place.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [
        DesktopAction(int(match[1]), match[0], match[2])
        for name in names
        if (match := FILE_NAME.fullmatch(name))
    ]
    return sorted(action for action in found if action.ms <= (now - DESKTOP_SETTLE) * 1000)


def read_desktop(
    place: Path,
    cursor: Cursor,
    *,
    now: float,
    sessions: Mapping[str, FazmAppSession],
    transcripts: Callable[[], Iterable[RecordFile]],
) -> Chunk:
    """The actions after the cursor that no transcript has."""
    after = (cursor.offset, text(cursor.carry.get("name")))
    waiting = [action for action in desktop_actions(place, now) if (action.ms, action.name) > after]
    new, more = waiting[:FILES], len(waiting) > FILES
    if not new:
        return Chunk((), cursor)
    named = _reported_files(transcripts(), since=new[0].ms / 1000)
    drafts: list[Draft] = []
    for action in new:
        if action.name not in named and (at := moment_ms(action.ms)) is not None:
            drafts.append(_draft(place / action.name, action, at, _session_at(action.ms, sessions)))
    opened = [_opening(session, sessions, at) for session, at in _first_times(drafts).items()]
    return Chunk((*opened, *drafts), Cursor(new[-1].ms, {"name": new[-1].name}), more)


def _draft(path: Path, action: DesktopAction, at: int, session: str) -> Draft:
    try:
        with open_regular(path) as file:
            screen = file.read(LONGEST).decode("utf-8", "replace")
    except OSError:
        screen = ""  # deleted; the file name still shows that the action happened
    failed = FAILED.search(screen)
    payload = tool_calls.action(
        f"{FOLDER}:{action.action}",
        None,
        call_id=action.call_id,
        output=screen or None,
        outcome="error" if failed else "ok",
        error=failed[1] if failed else None,
    )
    key = f"{FAZM}:{NOBODYS}:{action.call_id}"
    return Draft(session, "action", payload, FAZM, at, actor="agent", source="desktop", key=key)


def _session_at(ms: int, sessions: Mapping[str, FazmAppSession]) -> str:
    """The session Fazm used around a time, or NOBODYS if there is not exactly one."""
    around = [
        session.session_id
        for session in sessions.values()
        if not session.background
        and session.updated_ms is not None
        and abs(session.updated_ms - ms) <= ACTIVE_MS
    ]
    return around[0] if len(around) == 1 else NOBODYS


def _first_times(drafts: Iterable[Draft]) -> dict[str, int | None]:
    first: dict[str, int | None] = {}
    for draft in drafts:
        first.setdefault(draft.session, draft.at)
    return first


def _opening(session: str, sessions: Mapping[str, FazmAppSession], at: int | None) -> Draft:
    payload = {"agent": FAZM, "agent_session_id": session}
    payload |= sessions[session].opening() if session in sessions else {"title": "Desktop actions"}
    return Draft(session, "session.open", payload, FAZM, at, source="desktop", key=f"{FAZM}:{session}:open")


def _reported_files(transcripts: Iterable[RecordFile], since: float) -> set[str]:
    """The names of action files in transcripts changed since a time."""
    found: set[str] = set()
    for record in transcripts:
        if record.mtime >= since:
            try:
                found |= _names_in(record.path)
            except OSError:
                continue  # deleted
    return found


def _names_in(path: Path) -> set[str]:
    found: set[str] = set()
    with open_regular(path) as file:
        rest = b""
        while (block := file.read(BLOCK)) and file.tell() < LARGEST:
            found.update(name.decode() for name in NAMED.findall(rest + block))
            rest = block[-200:]  # a name may cross the end of a block
    return found


@dataclass
class Fazm:
    """Reads the chat and the desktop actions. `beside` are the readers of transcripts."""

    places: Places
    beside: tuple[Reader, ...] = ()
    now: Callable[[], float] = time.time
    name: str = field(default=FAZM, init=False)
    version: int = field(default=1, init=False)
    found: dict[Path, Places] = field(default_factory=dict, init=False, repr=False)

    def find(self, places: Places) -> Iterator[RecordFile]:
        for record in self._records(places):
            self.found[record.path] = places
            yield record

    def _records(self, places: Places) -> Iterator[RecordFile]:
        now = self.now()
        for path in chat_databases(places):
            if (stats := _size_and_mtime(path)) is not None:
                yield RecordFile(FAZM, path, "", stats[0], _settled_mtime(stats[1], now))
        if actions := desktop_actions(desktop_folder(places), now):
            yield RecordFile(FAZM, desktop_folder(places), NOBODYS, len(actions), actions[-1].ms / 1000)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        places = self.found.get(record.path, self.places)  # a copied home has its own list and transcripts
        sessions, now = fazm_sessions(places), self.now()

        def beside() -> Iterator[RecordFile]:
            for reader in self.beside:
                yield from reader.find(places)

        if record.path.name == DATABASE:
            return read_chat(record.path, cursor, now=now, sessions=sessions, transcripts=beside)
        return read_desktop(record.path, cursor, now=now, sessions=sessions, transcripts=beside)


def _size_and_mtime(path: Path) -> tuple[int, float] | None:
    """The size and the last change of a database with its log, or None if it is gone."""
    size, changed = 0, 0.0
    for part in (path, path.with_name(f"{path.name}-wal")):
        try:
            stat = part.stat()
        except FileNotFoundError:
            if part is path:
                return None
            continue
        size, changed = size + stat.st_size, max(changed, stat.st_mtime)
    return size, changed


def _settled_mtime(changed: float, now: float) -> float:
    """The last change, moved on until new messages have settled."""
    return max(changed, min(now, changed + DESKTOP_SETTLE + 1))


# Control commands: which windows are open, and a message to one of them
#
# Fazm listens to the distributed notification `com.fazm.control` and answers in files. Both are a debugging
# aid of Fazm and may disappear in its next version, so nothing is sent before Fazm has answered. Anybody
# can write in /tmp: only files of our own user count.

FAZM_NOTIFICATION = "com.fazm.control"
FAZM_APP = "com.fazm.app"
STATE_FILE = "fazm-control-state.json"
WINDOWS_FILE = "fazm-control-popouts.json"
GET_STATE, LIST_WINDOWS, NEW_WINDOW = "getState", "listPopOuts", "newPopOutChat"
SET_WORKSPACE, SEND = "setWorkspace:", "sendQueryToWindow:"

ANSWER_SECONDS = 1.5
LAUNCH_SECONDS = 20.0
WINDOW_SECONDS = 8.0
POLL_SECONDS = 0.05
LARGEST_ANSWER = 4 << 20
is_session_key = re.compile(r"[A-Za-z0-9._-]{1,200}").fullmatch  # a colon would end it early

CONTINUE = "Please go on with this task where it was left."
Resumed = Literal["exact", "new window", "no answer"]


@dataclass(frozen=True)
class FazmWindow:
    """An open window of Fazm, and whether its agent works at this moment."""

    session_key: str
    title: str = ""
    busy: bool = False


class FazmControl:
    """Sends commands with `post` and reads the answers.

    Not for the main thread: it waits.
    """

    def __init__(
        self,
        post: Callable[[str], None],
        *,
        launch: Callable[[], bool] = lambda: False,
        folder: Path = Path("/tmp"),
        wait_factor: float = 1.0,
    ) -> None:
        self.post, self.launch, self.folder, self.wait_factor = post, launch, folder, wait_factor

    def state(self) -> Mapping[str, Any] | None:
        """Fazm's state, or None if it does not answer."""
        return self._ask(GET_STATE, STATE_FILE, ANSWER_SECONDS)

    def windows(self) -> list[FazmWindow] | None:
        """The open windows, or None if Fazm does not answer."""
        found = self._ask(LIST_WINDOWS, WINDOWS_FILE, ANSWER_SECONDS)
        if found is None:
            return None
        rows = [mapping(window) for window in sequence(found.get("popouts"))]
        windows = [
            FazmWindow(ident(row.get("sessionKey")), text(row.get("title")), row.get("isAILoading") is True)
            for row in rows
        ]
        return [window for window in windows if is_session_key(window.session_key)]

    def _keys(self) -> list[str] | None:
        windows = self.windows()
        return None if windows is None else [window.session_key for window in windows]

    def resume(self, session_key: str, folder: str | None, first_message: str) -> Resumed:
        """Continue in the session's own window, or in a new one with the first message.

        A new window starts in Fazm's default folder, which is therefore changed for a moment and restored.
        """
        state = self._state_or_launch()
        before = None if state is None else self._keys()
        if state is None or before is None:
            return "no answer"
        if session_key in before:
            self.post(f"{SEND}{session_key}:{CONTINUE}")
            return "exact"
        default = text(state.get("workspace"))
        try:
            if folder is not None:
                self.post(f"{SET_WORKSPACE}{folder}")
            self.post(NEW_WINDOW)
            opened = self._new_window(before)
        finally:
            if folder is not None and folder != default:
                self.post(f"{SET_WORKSPACE}{default}")
        if opened is None:
            return "no answer"
        self.post(f"{SEND}{opened}:{first_message}")
        return "new window"

    def _state_or_launch(self) -> Mapping[str, Any] | None:
        state = self.state()
        if state is None and self.launch():
            deadline = time.monotonic() + LAUNCH_SECONDS * self.wait_factor
            while state is None and time.monotonic() < deadline:
                state = self.state()
        return state

    def _new_window(self, before: list[str]) -> str | None:
        deadline = time.monotonic() + WINDOW_SECONDS * self.wait_factor
        while time.monotonic() < deadline:
            new = [key for key in self._keys() or () if key not in before]
            if len(new) == 1:
                return new[0]
            time.sleep(POLL_SECONDS)
        return None

    def _ask(self, command: str, name: str, seconds: float) -> Mapping[str, Any] | None:
        """Send a command that is answered in a file, and read the new answer."""
        path = self.folder / name
        before = _stamp(path)
        self.post(command)
        deadline = time.monotonic() + seconds * self.wait_factor
        while _stamp(path) in (before, None):
            if time.monotonic() >= deadline:
                return None
            time.sleep(POLL_SECONDS)
        return _read(path)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino) if found.st_uid == os.getuid() else None


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            os.close(descriptor)
            return None
        with os.fdopen(descriptor, "rb") as file:
            return mapping(json.loads(file.read(LARGEST_ANSWER)))
    except (OSError, ValueError, RecursionError):
        return None
