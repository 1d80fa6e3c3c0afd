"""What Fazm's desktop control left in `/tmp/macos-use`: one text per click, key, scroll or opened app.

`<milliseconds>_<action>.txt` holds what the screen showed afterwards. The same actions are in the agent's
transcript, with their input: a file that a transcript names is told there and not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fazm_memory.capture.agents import tool_call
from fazm_memory.capture.agents.fazm_sessions import NAME, FazmSession
from fazm_memory.capture.agents.fields import moment_ms, text
from fazm_memory.capture.agents.reader import Chunk, Cursor, Places, RecordFile
from fazm_memory.capture.draft import Draft

FOLDER = "macos-use"
NOBODYS = "desktop"  # the session of actions that cannot be given to one
FILE_NAME = re.compile(r"(\d{12,14})_([A-Za-z0-9_-]{1,80})\.txt")
NAMED = re.compile(rb"macos-use/(\d{12,14}_[A-Za-z0-9_-]{1,80}\.txt)")
FAILED = re.compile(r"^# (?:traversal_)?error: (.+)$", re.MULTILINE)
SETTLE = 60.0  # seconds: by then the transcript has the call too
FILES = 200
LONGEST = 1 << 20
BLOCK = 8 << 20
ACTIVE_MS = 30 * 60_000


@dataclass(frozen=True, order=True)
class Left:
    """A file that an action left."""

    ms: int
    name: str
    action: str

    @property
    def call_id(self) -> str:
        return f"{self.ms}_{self.action}"


def folder(places: Places) -> Path:
    return places.tmp / FOLDER


def left_in(place: Path, now: float) -> list[Left]:
    """The files there that are old enough to be told, oldest first."""
    try:
        names = [path.name for path in place.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [Left(int(told[1]), told[0], told[2]) for name in names if (told := FILE_NAME.fullmatch(name))]
    return sorted(one for one in found if one.ms <= (now - SETTLE) * 1000)


def read_desktop(
    place: Path,
    cursor: Cursor,
    *,
    now: float,
    sessions: Mapping[str, FazmSession],
    transcripts: Callable[[], Iterable[RecordFile]],
) -> Chunk:
    """The actions after the cursor that no transcript tells."""
    after = (cursor.offset, text(cursor.carry.get("name")))
    waiting = [one for one in left_in(place, now) if (one.ms, one.name) > after]
    new, more = waiting[:FILES], len(waiting) > FILES
    if not new:
        return Chunk((), cursor)
    named = _named(transcripts(), since=new[0].ms / 1000)
    drafts: list[Draft] = []
    for one in new:
        if one.name not in named and (at := moment_ms(one.ms)) is not None:
            drafts.append(_draft(place / one.name, one, at, _session_at(one.ms, sessions)))
    opened = [_opening(session, sessions, at) for session, at in _first_met(drafts).items()]
    return Chunk((*opened, *drafts), Cursor(new[-1].ms, {"name": new[-1].name}), more)


def _draft(path: Path, one: Left, at: int, session: str) -> Draft:
    try:
        with path.open("rb") as file:
            shown = file.read(LONGEST).decode("utf-8", "replace")
    except OSError:
        shown = ""  # the folder is a temporary one: that the action happened is in the file's name
    failed = FAILED.search(shown)
    payload = tool_call.action(
        f"{FOLDER}:{one.action}",
        None,
        call_id=one.call_id,
        output=shown or None,
        outcome="error" if failed else "ok",
        error=failed[1] if failed else None,
    )
    key = f"{NAME}:{NOBODYS}:{one.call_id}"
    return Draft(session, "action", payload, NAME, at, actor="agent", source="desktop", key=key)


def _session_at(ms: int, sessions: Mapping[str, FazmSession]) -> str:
    """The one session Fazm used around a moment, or nobody's when there was none or more than one."""
    around = [
        one.session_id
        for one in sessions.values()
        if not one.background and one.updated_ms is not None and abs(one.updated_ms - ms) <= ACTIVE_MS
    ]
    return around[0] if len(around) == 1 else NOBODYS


def _first_met(drafts: Iterable[Draft]) -> dict[str, int | None]:
    met: dict[str, int | None] = {}
    for draft in drafts:
        met.setdefault(draft.session, draft.at)
    return met


def _opening(session: str, sessions: Mapping[str, FazmSession], at: int | None) -> Draft:
    payload = {"agent": NAME, "agent_session_id": session}
    payload |= sessions[session].opening() if session in sessions else {"title": "Desktop actions"}
    return Draft(session, "session.open", payload, NAME, at, source="desktop", key=f"{NAME}:{session}:open")


def _named(transcripts: Iterable[RecordFile], since: float) -> set[str]:
    """The files that transcripts written to since then name as the answers of calls."""
    found: set[str] = set()
    for record in transcripts:
        if record.mtime >= since:
            try:
                found |= _names_in(record.path)
            except OSError:
                continue  # deleted since it was listed: what it told we have from before
    return found


def _names_in(path: Path) -> set[str]:
    found: set[str] = set()
    with path.open("rb") as file:
        rest = b""
        while block := file.read(BLOCK):
            found.update(name.decode() for name in NAMED.findall(rest + block))
            rest = block[-200:]  # a name may lie across the edge of a block
    return found
