"""The spool: the folder where hooks leave events until they are recorded.

A file has one JSON object, so it is complete when that is. One that is still being written waits. Its time is
that of its last write. A file that cannot be read is set aside with the reason. A file is deleted only when
its events are durable.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fazm_memory.agents import FAZM as FAZM
from fazm_memory.agents import (
    FazmAppSession,
    Places,
    TaskList,
    claude_hook_events,
    claude_task_events,
    codex_hook_events,
    fazm_sessions,
    ident,
    mapping,
    patched_files,
    text,
    touched_files,
)
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import SPOOL_FOLDER, private_folder, read_regular, write_private
from fazm_memory.records import dataclass
from fazm_memory.store import SEQ_MASK, Store, Writer, event_id

BAD = "bad"
NAME = lazy_regex(r"(\d+)-(\d+)\.([a-z][a-z0-9-]{0,30})\.json")
PART_SUFFIX = ".part"
STALE_SECONDS = 600.0  # a hook takes milliseconds, so an older part was cut off
WRITTEN_SECONDS = 10.0  # without a write, after which an event counts as complete
MOST = 500
MOST_BYTES = 8 << 20
LARGEST = 64 << 20
MOST_BAD = 200


@dataclass(frozen=True)
class SpoolFile:
    """What a hook left: for which agent, when, and its input."""

    path: Path
    agent: str
    at: int
    data: bytes

    @property
    def may_grow(self) -> bool:
        """Whether its hook may still be writing it."""
        return time.time() - self.at / 1_000_000 < WRITTEN_SECONDS


class Spool:
    def __init__(self, home: Path) -> None:
        self.folder = home / SPOOL_FOLDER

    def prepare(self) -> Path:
        """Create the private folder. Hooks write only into an existing folder."""
        private_folder(self.folder.parent)
        return private_folder(self.folder)

    def take(self, most: int = MOST) -> list[SpoolFile]:
        """The oldest files in their order, limited in number and size."""
        batch: list[SpoolFile] = []
        size = 0
        for path, stat in self._waiting():
            if len(batch) >= most or (batch and size + stat.st_size > MOST_BYTES):
                break
            found = NAME.fullmatch(path.name)
            if found is None or stat.st_size > LARGEST:
                why = (
                    "Its name is not that of a hook event."
                    if found is None
                    else f"It is larger than {LARGEST:,} bytes."
                )
                self.set_aside(path, why)
                continue
            try:
                batch.append(SpoolFile(path, found[3], stat.st_mtime_ns // 1000, read_regular(path, LARGEST)))
            except FileNotFoundError:
                continue  # another process reads the spool too
            except OSError as error:
                self.set_aside(path, f"It cannot be read: {error.strerror or error}")
                continue
            size += stat.st_size
        return batch

    def waiting(self) -> int:
        return len(self._waiting())

    def since(self) -> float | None:
        """The time of the oldest waiting file."""
        return next((stat.st_mtime for _, stat in self._waiting()), None)

    def _waiting(self) -> list[tuple[Path, os.stat_result]]:
        """The complete files, oldest first. Old incomplete files are set aside."""
        try:
            entries = list(os.scandir(self.folder))
        except FileNotFoundError:
            return []
        found = []
        for entry in entries:
            try:
                stat = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if not entry.is_file(follow_symlinks=False):
                continue  # no hook leaves a folder, a link or a pipe
            if not entry.name.endswith(PART_SUFFIX):
                found.append((Path(entry.path), stat))
            elif time.time() - stat.st_mtime > STALE_SECONDS:
                self.set_aside(Path(entry.path), "It was cut off while it was written.")
        return sorted(found, key=lambda file: (file[1].st_mtime_ns, file[1].st_ctime_ns, file[0].name))

    def done(self, files: Iterable[SpoolFile]) -> None:
        """Delete files whose events are durable."""
        for file in files:
            file.path.unlink(missing_ok=True)

    def set_aside(self, path: Path, why: str) -> None:
        """Move an unreadable file away, with the reason beside it."""
        folder = private_folder(self.folder / BAD)
        try:
            path.replace(folder / path.name)
        except FileNotFoundError:
            return
        write_private(folder / f"{path.name}.why", f"{why}\n".encode(), sync=False)
        reasons = sorted(folder.glob("*.why"), key=lambda file: file.stat().st_mtime_ns)
        for reason in reasons[:-MOST_BAD]:
            reason.unlink(missing_ok=True)
            reason.with_suffix("").unlink(missing_ok=True)

    def bad(self) -> dict[str, str]:
        """The names of files that were set aside, each with the reason."""
        reasons = sorted((self.folder / BAD).glob("*.why"))
        return {reason.stem: reason.read_text(encoding="utf-8").strip() for reason in reasons}


# Hook events become drafts
#
# Most events are recorded at once, with the transcripts of their sessions. Some wait a little, because the
# transcript reports the same better; what it has reported by then is not recorded again.

# Hook events as drafts, with the same keys as the agent's own records
#
# A call is reported by its hook, by the transcript and perhaps over MCP, and becomes one action. Whatever a
# transcript reports better is left to it, so most hook events give no draft.

PROBE = "FazmMemoryProbe"  # the doctor's test event: it shows that a hook works and records nothing
BEFORE_A_CALL = ("PreToolUse", "BeforeTool")
READERS = {"claude-code": claude_hook_events, "codex": codex_hook_events}
NAMED = (*READERS, "gemini", "fazm")  # agents whose events name themselves and their session
# Codex hooks do not say how a call ended, and every transcript is written a little after the hooks.
WAIT_SECONDS = {("codex", "PostToolUse"): 5.0, ("", "SessionEnd"): 2.0}
# What clients call an end, in the words of the transcripts.
END_REASONS = {"prompt_input_exit": "exit"}
HookRecord = tuple[str, dict[str, Any], str]  # kind, payload, key


class InvalidHookEvent(ValueError):
    """A spool file is not a hook event. The message says why."""

    may_be_part = False  # whether it could be the beginning of one


@dataclass(frozen=True)
class HookEvent:
    """A hook event: its drafts, transcript, and the files that a call will change.

    `wait_seconds` is how long it waits for the transcript, which may report the same call better.
    """

    spooled: SpoolFile
    name: str
    session: str
    drafts: tuple[Draft, ...] = ()
    transcript: Path | None = None
    wait_seconds: float = 0.0
    before: tuple[str, ...] = ()


def read_hook_event(
    spooled: SpoolFile,
    places: Places,
    *,
    listed: Mapping[str, FazmAppSession] = MappingProxyType({}),
    agent_of: Callable[[str], str | None] = lambda session: None,
    known_to: Callable[[str, str, int, bool], KnownFolders | None] = lambda session, cwd, at, begins: None,
    tasks_of: Callable[[str], TaskList] = lambda session: TaskList({}),
    is_prompted: Callable[[str, str], bool] = lambda session, turn: False,
) -> HookEvent:
    """Read a spool file.

    `listed` are Fazm's sessions; `agent_of` returns the agent of a recorded session. `known_to` returns what
    a session knows of its folders at a moment, `tasks_of` its list of tasks, `is_prompted` whether a turn of
    Codex, given as the beginning of the keys of its prompts, has one already.
    """
    event = _object(spooled.data)
    name, session = ident(event.get("hook_event_name")), ident(event.get("session_id"))
    if spooled.agent == "claude-code" and "cursor_version" in event:
        # Cursor also runs the hooks of Claude Code. Its own records tell of its sessions.
        return HookEvent(spooled, name, session)
    if spooled.agent not in NAMED:  # some name neither; their own records say the rest
        return HookEvent(spooled, name, session)
    if not name or not session:
        raise InvalidHookEvent("It names no event or no session.")
    path = text(event.get("transcript_path"))
    transcript = Path(path) if path and Path(path).is_file() else None
    records: list[HookRecord] = []
    if (reader := READERS.get(spooled.agent)) is not None:
        known = known_to(session, text(event.get("cwd")), spooled.at, name in BEFORE_A_CALL)
        records += reader(event, home=str(places.home), transcript=transcript is not None, known=known)
    if transcript is None and spooled.agent == "claude-code":
        records += claude_task_events(event, tasks_of(session))
    if spooled.agent == "codex":
        records = [_typed_meanwhile(record, session, is_prompted) for record in records]
    opening = _opening(spooled.agent, session, event, listed.get(session), agent_of)
    if records:
        records.insert(0, ("session.open", opening, f"{spooled.agent}:{session}:open"))
    if name == "SessionEnd":
        reason = END_REASONS.get(ident(event.get("reason")), ident(event.get("reason")))
        key = f"{spooled.agent}:{session}:end:{spooled.at}"
        records.append(("session.close", {"reason": reason} if reason else {}, key))
    drafts = (
        Draft(
            session, kind, payload, opening["agent"], spooled.at, None, _actor(kind, payload), "hook", key=key
        )
        for kind, payload, key in records
    )
    wait_seconds = WAIT_SECONDS.get((spooled.agent, name), WAIT_SECONDS.get(("", name), 0.0))
    return HookEvent(
        spooled,
        name,
        session,
        tuple(drafts),
        transcript,
        wait_seconds if transcript is not None else 0.0,
        _before(event) if name in BEFORE_A_CALL else (),
    )


def _typed_meanwhile(record: HookRecord, session: str, is_prompted: Callable[[str, str], bool]) -> HookRecord:
    """A later prompt of the same turn was typed while the agent worked."""
    kind, payload, key = record
    if kind == "prompt" and is_prompted(session, key[: key.rindex(":") + 1]):
        payload = payload | {"form": "queued"}
    return kind, payload, key


def _object(data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        invalid = InvalidHookEvent(f"It is not JSON: {str(error)[:120]}")
        invalid.may_be_part = not data.strip() or data.lstrip()[:1] == b"{"
        raise invalid from None
    if not isinstance(event, dict):
        raise InvalidHookEvent("It is JSON, but not an object.")
    return event


def _opening(
    agent: str,
    session: str,
    event: Mapping[str, Any],
    listed: FazmAppSession | None,
    agent_of: Callable[[str], str | None],
) -> dict[str, Any]:
    """The session's opening.

    Fazm runs other agents, so a session that it lists belongs to Fazm.
    """
    opening: dict[str, Any] = {
        "agent": agent,
        "agent_session_id": session,
        "workspace": text(event.get("cwd")),
    }
    if listed is not None:
        opening |= listed.opening()
    elif agent_of(session) == FAZM:
        opening["agent"] = FAZM
    return {name: value for name, value in opening.items() if value}


def _actor(kind: str, payload: Mapping[str, Any]) -> str | None:
    """Hooks report only decisions and verdicts of the user.

    Other actors follow from the kind.
    """
    verdict = kind == "plan" and payload["status"] != "presented"
    return "person" if kind == "decision" or verdict else None


def _before(event: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that a call is about to change, as far as its input names them."""
    tool, tool_input, cwd = text(event.get("tool_name")), event.get("tool_input"), text(event.get("cwd"))
    if tool == "apply_patch":
        files = patched_files(text(mapping(tool_input).get("command")), cwd)
    else:
        files = touched_files(tool, tool_input, cwd=cwd)
    changed = (file for file in files if file["change"] not in ("read", "created"))
    return tuple(str(file.get("from") or file["path"]) for file in changed)


# Reading: a file is deleted when its events are durable

SECOND = 1_000_000
HOOK_SEEN_PREFIX = (
    "hook:"  # in the store's meta table, with the agent's name: when its hook was last heard, and which
)


# Session, folder, time, whether a call begins.
KnownTo = Callable[[str, str, int, bool], KnownFolders | None]


@dataclass(frozen=True)
class SpoolBatch:
    """Events from the spool: to record now, or waiting for their transcript."""

    now: tuple[HookEvent, ...] = ()
    waiting: tuple[HookEvent, ...] = ()

    @property
    def events(self) -> tuple[HookEvent, ...]:
        return (*self.now, *self.waiting)

    @property
    def transcripts(self) -> set[Path]:
        """The transcripts of the same sessions."""
        return {event.transcript for event in self.events if event.transcript is not None}

    def save_last_events(self, writer: Writer) -> None:
        """Store each agent's last hook event, in the transaction that records the events."""
        latest = {event.spooled.agent: event for event in self.events if event.name != PROBE}
        for agent, event in latest.items():
            value = json.dumps({"at": event.spooled.at, "event": event.name})
            writer.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (HOOK_SEEN_PREFIX + agent, value))


class SpoolReader:
    """Reads the spool.

    `known_to` returns what a session knows of its folders at a moment.
    """

    def __init__(
        self, spool: Spool, store: Store, places: Places, known_to: KnownTo = lambda *moment: None
    ) -> None:
        self.spool = spool
        self.store = store
        self.places = places
        self.known_to = known_to
        self._met: dict[Path, HookEvent] = {}
        self._tasks: dict[str, TaskList] = {}
        self._prompted: dict[str, str] = {}  # session of Codex → its last turn with a prompt

    def take(self) -> SpoolBatch:
        """The next batch, oldest first. Invalid files are set aside with the reason.

        A file that is still being written is left for later. Its next write wakes the companion.
        """
        files = self.spool.take()
        listed = fazm_sessions(self.places) if files else {}
        events: list[HookEvent] = []
        for file in files:
            try:
                # Read once, however long it waits: reading changes what the session knows of its folders.
                event = self._met.get(file.path) or read_hook_event(
                    file,
                    self.places,
                    listed=listed,
                    agent_of=self._agent_of,
                    known_to=self.known_to,
                    tasks_of=self._tasks_of,
                    is_prompted=self._is_prompted,
                )
                events.append(event)
            except InvalidHookEvent as why:
                if not (why.may_be_part and file.may_grow):
                    self.spool.set_aside(file.path, str(why))
        self._met = {event.spooled.path: event for event in events}
        return SpoolBatch(
            tuple(event for event in events if not event.wait_seconds),
            tuple(event for event in events if event.wait_seconds),
        )

    def drafts(self, events: tuple[HookEvent, ...]) -> list[Draft]:
        """The drafts of events. The end of a session that was never used is left out."""
        drafts = [draft for event in events for draft in event.drafts]
        used = {draft.session for draft in drafts if draft.kind != "session.close"}
        return [
            draft
            for draft in drafts
            if draft.kind != "session.close" or draft.session in used or self._agent_of(draft.session)
        ]

    def ripe(self, drained: SpoolBatch, now: int, *, last: bool = False) -> tuple[HookEvent, ...]:
        """Events that have waited long enough, or all with `last`.

        Deletes those recorded meanwhile.
        """
        ripe = []
        for event in drained.waiting:
            if all(self._is_recorded(draft) for draft in event.drafts):
                self.spool.done([event.spooled])
            elif last or now >= due_at(event):
                ripe.append(event)
        return tuple(ripe)

    def _is_recorded(self, draft: Draft) -> bool:
        if draft.kind == "session.open":
            return True  # recorded with the events that it opens the session for
        return self.store.db.execute("SELECT 1 FROM event WHERE key=?", (draft.key,)).fetchone() is not None

    def _tasks_of(self, session: str) -> TaskList:
        """The tasks of a session without a transcript: recorded, then changed by hooks."""
        if session not in self._tasks:
            self._tasks[session] = TaskList(self._recorded_tasks(session))
        return self._tasks[session]

    def _recorded_tasks(self, session: str) -> dict[str, dict[str, str]]:
        row = self.store.sessions.by_key(session, "claude-code")
        if row is None:
            return {}
        (last,) = self.store.db.execute(
            "SELECT max(id) FROM event WHERE id >= ? AND id <= ? AND kind='todos'",
            (event_id(row.n, 0), event_id(row.n, SEQ_MASK)),
        ).fetchone()
        if last is None:
            return {}
        seq = last & SEQ_MASK
        payload = next(self.store.log.slice(row.n, row.id, seq, seq + 1)).payload
        items = () if payload is None else payload.items
        return {item.id: {"text": item.text, "status": item.status} for item in items if item.id}

    def _is_prompted(self, session: str, turn: str) -> bool:
        """Whether a turn has a prompt that was recorded, or read a moment ago."""
        if self._prompted.get(session) == turn:
            return True
        self._prompted[session] = turn
        later = turn[:-1] + chr(ord(turn[-1]) + 1)
        found = self.store.db.execute("SELECT 1 FROM event WHERE key >= ? AND key < ? LIMIT 1", (turn, later))
        return found.fetchone() is not None

    def _agent_of(self, session: str) -> str | None:
        found = self.store.db.execute(
            "SELECT agent FROM session WHERE agent_session_id=? LIMIT 1", (session,)
        ).fetchone()
        return None if found is None else str(found[0])


def due_at(event: HookEvent) -> int:
    """When an event has waited long enough."""
    return event.spooled.at + round(event.wait_seconds * SECOND)
