"""The readers of Claude Code and Claude Cowork, and the lineage of forks.

A fork is a new file that starts with copies of its parent's records. Some versions mark every copy
(`forkedFrom`), older ones left the old session id in them, and 2.1.197 rewrites the id without a mark: then
the parent is the transcript that shares the first record. Copies are not recorded again.

The conversations of Claude Cowork are transcripts of Claude Code, in a folder of each session.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import (
    CHUNK,
    Chunk,
    Cursor,
    Places,
    RecordFile,
    complete_lines,
    lines_of,
)
from fazm_memory.agents.claude_code.calls import refusal_reason
from fazm_memory.agents.claude_code.transcript import NAME, Transcript, is_noise
from fazm_memory.agents.fields import (
    SESSION_NAME,
    digest,
    ident,
    mapping,
    moment,
    record_of,
    records_of,
    sequence,
    text,
)
from fazm_memory.agents.tool_calls import PERSON
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import open_regular, read_regular
from fazm_memory.records import dataclass, field, replace

HEAD = 256 << 10
PROJECT = "-*"  # names of project folders: the path of the workspace, with dashes for slashes
UUID = lazy_regex(rb'"uuid":"([0-9a-fA-F-]{36})"')
TIMESTAMP = lazy_regex(rb'"timestamp":"([^"\\]{1,40})"')
SESSION = lazy_regex(rb'"sessionId":"([^"\\]{1,100})"')
FORKED = lazy_regex(rb'"forkedFrom":\{"sessionId":"([^"\\]{1,100})"')
INHERITED = lazy_regex(rb'"parentUuid":"|"subtype":"compact_boundary"|"isCompactSummary":true')


@dataclass(frozen=True)
class Lineage:
    """The session a transcript was forked from.

    Its own records begin at `offset`.
    """

    parent: str
    begins: int


@dataclass(frozen=True)
class TranscriptHead:
    """The start of a transcript, which never changes.

    `inherited`: it begins within a conversation, as a fork does that was made after a compaction.
    """

    uuid: bytes
    session: str
    since: bytes
    forked_from: str
    inherited: bool


@dataclass
class ForkFinder:
    """Finds the parents of forks. The head of each transcript is read once."""

    heads: dict[Path, TranscriptHead] = field(default_factory=dict)
    folders: dict[Path, tuple[int, dict[bytes, list[Path]]]] = field(default_factory=dict)
    holders: dict[Path, dict[bytes, list[Path]]] = field(default_factory=dict)

    def head(self, path: Path) -> TranscriptHead | None:
        """The head of a transcript, or None while it has no record with an id."""
        if path not in self.heads:
            with open_regular(path) as file:
                start = file.read(HEAD)
            if (uuid := UUID.search(start)) is None:
                return None
            line = start[start.rfind(b"\n", 0, uuid.start()) + 1 :].split(b"\n", 1)[0]
            self.heads[path] = TranscriptHead(
                uuid[1],
                _name(SESSION, line),
                _first(TIMESTAMP, start),
                _name(FORKED, line),
                INHERITED.search(line) is not None,
            )
        return self.heads[path]

    def lineage(self, path: Path) -> Lineage | None:
        """The lineage of a transcript, or None if it is no fork or the parent is unknown."""
        head = self.head(path)
        if head is None:
            return None
        if head.forked_from:
            return _marked_copies(path, lambda line: _name(FORKED, line))
        if head.session and head.session != path.stem:
            return _marked_copies(path, lambda line: _name(SESSION, line))
        elder = [other for other in self._candidates(path, head) if self._age(other) < self._age(path)]
        shared = [_copies_of(path, other) for other in sorted(elder, key=self._age)]
        # `max` returns the first of equals, which is the oldest.
        return max(shared, key=lambda lineage: lineage.begins, default=None)

    def _age(self, path: Path) -> tuple[bytes, float]:
        """Sorts by age. The first line of a fork is younger than the records it copied."""
        return self.heads[path].since, getattr(path.stat(), "st_birthtime", 0.0)

    def _candidates(self, path: Path, head: TranscriptHead) -> list[Path]:
        """The other transcripts in the folder that contain the first record of this one."""
        alike = self._folder(path.parent).get(head.uuid, [])
        if head.inherited:
            alike = [*alike, *(other for other in self._holders(path.parent, head) if other not in alike)]
        return [other for other in alike if other != path]

    def _holders(self, folder: Path, head: TranscriptHead) -> list[Path]:
        """The transcripts of a folder that contain a record with which another one begins.

        All such records are searched in one pass, so that the cost is linear in the files of a folder.
        """
        known = self.holders.get(folder, {})
        if head.uuid not in known:
            paths = [path for paths in self.folders[folder][1].values() for path in paths]
            wanted = {self.heads[path].uuid for path in paths if self.heads[path].inherited} | {head.uuid}
            known = {uuid: [] for uuid in wanted}
            for path in paths:
                for uuid in wanted.intersection(_ids_in(path)):
                    known[uuid].append(path)
            self.holders[folder] = known
        return known[head.uuid]

    def _folder(self, folder: Path) -> dict[bytes, list[Path]]:
        """The transcripts of a folder by the id of their first record."""
        changed = folder.stat().st_mtime_ns
        known = self.folders.get(folder)
        if known is not None and known[0] == changed:
            return known[1]
        transcripts: dict[bytes, list[Path]] = {}
        for path in folder.glob("*.jsonl"):
            if SESSION_NAME.fullmatch(path.stem):
                try:
                    head = self.head(path)
                except OSError:
                    continue  # deleted or unreadable
                if head is not None:
                    transcripts.setdefault(head.uuid, []).append(path)
        self.folders[folder] = changed, transcripts
        self.holders.pop(folder, None)
        return transcripts


def _ids_in(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as file:
            for line in lines_of(file):
                yield from UUID.findall(line)
    except OSError:
        return  # deleted or unreadable


def _marked_copies(path: Path, whose: Callable[[bytes], str]) -> Lineage:
    """The lineage that the copies name.

    If the parent has no transcript, no copy is skipped.
    """
    found = _copies(path, whose)
    known = SESSION_NAME.fullmatch(found.parent) and any(path.parent.parent.glob(f"*/{found.parent}.jsonl"))
    return found if known else Lineage(found.parent, 0)


def _copies_of(path: Path, elder: Path) -> Lineage:
    """The records at the beginning that the elder has too.

    They have the same id and the same content.
    """
    with open_regular(elder) as file:
        known = {uuid: line for line in lines_of(file) for uuid in UUID.findall(line)}

    def whose(line: bytes) -> str:
        original = next((known[uuid] for uuid in UUID.findall(line) if uuid in known), None)
        return elder.stem if original is not None and _content(original) == _content(line) else ""

    return _copies(path, whose)


def _content(line: bytes) -> object:
    """What a record says. Its ids and places differ in a copy."""
    record = record_of(line) or {}
    return next((record[name] for name in ("message", "content", "attachment") if name in record), None)


def _copies(path: Path, whose: Callable[[bytes], str]) -> Lineage:
    """The owner of the copies that begin a file, and the offset after the last."""
    parent, offset, begins = "", 0, 0
    with open_regular(path) as file:
        for line in lines_of(file):
            offset += len(line)
            if not UUID.search(line):
                continue
            owner = whose(line)
            if owner in ("", path.stem) or not line.endswith(b"\n"):
                break
            parent, begins = owner, offset
    return Lineage(parent, begins)


def _first(pattern: re.Pattern[bytes], start: bytes) -> bytes:
    found = pattern.search(start)
    return found[1] if found else b""


def _name(pattern: re.Pattern[bytes], line: bytes) -> str:
    return _first(pattern, line).decode("utf-8", "replace")


SUBAGENT = "agent-"


@dataclass
class ClaudeCode:
    """Reads transcripts. `home` is the folder of `~` in their commands."""

    home: str | None = None
    name: str = field(default=NAME, init=False)
    version: int = field(default=3, init=False)
    forks: ForkFinder = field(default_factory=ForkFinder, compare=False, repr=False)

    def find(self, places: Places) -> Iterator[RecordFile]:
        """Oldest first and subagents last, so that a parent usually comes before its fork."""
        chosen = Path(places.env.get("CLAUDE_CONFIG_DIR") or places.home / ".claude")
        root = chosen / "projects"
        if not root.is_dir() and next(chosen.glob(f"{PROJECT}/*.jsonl"), None) is not None:
            root = chosen  # a copy of the projects folder under another name
        sessions, subagents = [], []
        for path in root.glob("*/*.jsonl"):
            if SESSION_NAME.fullmatch(path.stem):
                sessions.append(path)
            elif path.name.startswith(SUBAGENT):
                subagents.append(path)
        found = [
            *self._records((path, path.stem) for path in sessions),
            *self._records(_session_subagents(root)),
            *self._records((path, self._session_of(path)) for path in subagents),
        ]
        yield from sorted(
            found, key=lambda file: (file.path.stem.startswith(SUBAGENT), file.mtime, file.path)
        )

    def _records(self, found: Iterator[tuple[Path, str]]) -> Iterator[RecordFile]:
        for path, session in found:
            try:
                stat = path.stat()
            except FileNotFoundError:
                continue  # the vendor deletes old transcripts
            if session:
                yield RecordFile(NAME, path, session, stat.st_size, stat.st_mtime)

    def _session_of(self, path: Path) -> str:
        """The session of a subagent stored beside it, from its first record."""
        try:
            head = self.forks.head(path)
        except FileNotFoundError:
            return ""
        return head.session if head is not None else ""

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        agent_id = _agent_id(record.path)
        if agent_id is None and not cursor.carry.get("opened"):
            cursor = self._skip_copies(record, cursor)
        lines = complete_lines(record.path, cursor.offset, limit, quiet=record.quiet)
        transcript = Transcript(record.session, agent_id, cursor.carry, self.home)
        bad = lines.overlong
        for line in lines.lines:
            transcript.lines += 1
            if is_noise(line):
                continue
            records = records_of(line)
            for taken in records:
                transcript.take(taken)
            if not records and line.strip(b"\0 \t\r\n"):
                bad += 1
        if not lines.more:
            transcript.finish(quiet=record.quiet)
        before = (
            *plan_accepted_here(record.path, record.session, transcript.accepted),
            *cleared_before(record.path, record.session, transcript.cleared_at),
        )
        drafts = _with_times([*transcript.drafts, *before], transcript.at or round(record.mtime * 1_000_000))
        waits = bool(transcript.queued or transcript.spending.held)
        waiting = not record.quiet and (lines.rest or waits)
        after = Cursor(lines.offset, transcript.carry())
        return Chunk(drafts, after, lines.more, transcript.unknown, bad, waiting)

    def _skip_copies(self, record: RecordFile, cursor: Cursor) -> Cursor:
        """Skip copied records.

        Checked until the session has own records: a fork may still be copying.
        """
        lineage = self.forks.lineage(record.path)
        if lineage is None:
            return cursor
        return Cursor(max(cursor.offset, lineage.begins), {**cursor.carry, "parent": lineage.parent})


def _with_times(drafts: list[Draft], last: int) -> tuple[Draft, ...]:
    """Give drafts without a time the first time in the chunk."""
    first = next((draft.at for draft in drafts if draft.at is not None), last)
    return tuple(draft if draft.at is not None else replace(draft, at=first) for draft in drafts)


def _session_subagents(root: Path) -> Iterator[tuple[Path, str]]:
    for path in root.glob(f"*/*/subagents/**/{SUBAGENT}*.jsonl"):
        session = path.relative_to(root).parts[1]
        if SESSION_NAME.fullmatch(session):
            yield path, session


def _agent_id(path: Path) -> str | None:
    return path.stem.removeprefix(SUBAGENT)[:100] if path.stem.startswith(SUBAGENT) else None


# The session before: its plan was accepted here, or it was cleared
#
# A transcript does not say that it was replaced; only the new one does. It seldom names the session before,
# so that is searched for in the same folder. If more than one session fits, nothing is reported.

PRESENTS = b'"ExitPlanMode"'  # the call that presents a plan
ACCEPTED = "plan accepted in a new session"
CLEARED = "clear"  # as the hook calls it
TAIL = 64 << 10
LARGEST = 512 << 20  # bytes of a transcript that is searched whole
RECENT = 60 * 60 * 1_000_000  # a session that was silent for longer is not the one that was cleared
TIME = lazy_regex(rb'"timestamp":"([^"\\]{1,40})"')
LEFT = lazy_regex(rb"<command-name>/(?:exit|quit|logout)</command-name>")


def cleared_before(path: Path, session: str, at: int | None) -> Iterator[Draft]:
    """The end of the session that `/clear` replaced by this one.

    It is the only session that was in use shortly before.
    """
    if at is None:
        return
    others = (other for other in path.parent.glob("*.jsonl") if other != path)
    found = [other.stem for other in others if SESSION_NAME.fullmatch(other.stem) and _was_in_use(other, at)]
    if len(found) == 1:
        key = f"{NAME}:{found[0]}:cleared:{session}"
        payload = {"reason": CLEARED}
        yield Draft(found[0], "session.close", payload, NAME, at, None, PERSON, "transcript", key=key)


def _was_in_use(path: Path, at: int) -> bool:
    """Whether a session was still in use shortly before a time.

    Its last record is from then, and does not end the session.
    """
    try:
        with open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            tail = file.read()
    except OSError:
        return False
    times = [time for found in TIME.findall(tail) if (time := moment(found.decode("ascii", "replace")))]
    if not times or not at - RECENT <= max(times) <= at:
        return False
    return LEFT.search(tail) is None


def plan_accepted_here(path: Path, session: str, accepted: Mapping[str, Any]) -> Iterator[Draft]:
    """The acceptance of a plan, for the session that presented it.

    The session that carries the plan out begins with it.
    """
    elder = _presenter(path, accepted) if accepted else ""
    if not elder or elder == session:
        return
    title, key = accepted["title"], f"{NAME}:{elder}:accepted:{session}"
    for kind, payload in (
        ("plan", {"title": title, "status": "accepted"}),
        ("decision", {"what": "accepted", "form": "plan", "about": title}),
        ("session.close", {"reason": ACCEPTED}),
    ):
        yield Draft(
            elder, kind, payload, NAME, accepted["at"], None, PERSON, "transcript", key=f"{key}:{kind}"
        )


def _presenter(path: Path, accepted: Mapping[str, Any]) -> str:
    """The session that presented a plan.

    It is the one that the plan names, or the only one that ended with it.
    """
    if named := accepted.get("session"):
        return str(named) if (path.parent / f"{named}.jsonl").is_file() else ""
    mark = _plan_mark(accepted["text"])
    found = [
        other.stem for other in path.parent.glob("*.jsonl") if other != path and mark in _plans_left(other)
    ]
    return found[0] if len(found) == 1 and SESSION_NAME.fullmatch(found[0]) else ""


def _plan_mark(plan: str) -> bytes:
    return hashlib.sha256(plan.encode("utf-8", "replace")).digest()


def _plans_left(path: Path) -> frozenset[bytes]:
    """Marks of the presented plans that the user left without a word."""
    try:
        stat = path.stat()
        return _plans_in(path, stat.st_mtime_ns, stat.st_size)
    except OSError:
        return frozenset()


@lru_cache(maxsize=4096)
def _plans_in(path: Path, mtime_ns: int, size: int) -> frozenset[bytes]:
    """The same for a transcript as it is now.

    Each is searched once, however many plans are looked up.
    """
    data = read_regular(path, LARGEST)
    if PRESENTS not in data:
        return frozenset()
    left: dict[bytes, bool] = {}  # by the first answer to a plan
    waiting: dict[str, bytes] = {}  # the plan of each call that has no answer yet
    for line in data.splitlines():
        if b'"plan"' not in line and not any(call.encode() in line for call in waiting):
            continue
        content = mapping((record_of(line) or {}).get("message")).get("content")
        for block in map(mapping, sequence(content)):
            plan, call = text(mapping(block.get("input")).get("plan")).strip(), text(block.get("id"))
            if plan and call:
                waiting[call] = _plan_mark(plan)
            elif (answered := waiting.pop(text(block.get("tool_use_id")), None)) is not None:
                left.setdefault(answered, refusal_reason(text(block.get("content"))) == "")
    return frozenset(mark for mark, silent in left.items() if silent)


COWORK = "claude-cowork"
FOLDER = "local-agent-mode-sessions"
TITLE = 500
VIRTUAL = "/sessions/"  # a folder in Cowork's virtual machine, not on this one


class ClaudeCowork:
    """Reads the transcripts with the reader of Claude Code.

    `home` is the folder of `~` in commands.
    """

    name = COWORK

    def __init__(self, home: str | None = None) -> None:
        self.inner = ClaudeCode(home)
        self.version = self.inner.version

    def find(self, places: Places) -> Iterator[RecordFile]:
        for root in cowork_folders(places):
            for about in sorted([*root.glob("*/*/local_*.json"), *root.glob("*/*/agent/local_*.json")]):
                own = replace(places, env={"CLAUDE_CONFIG_DIR": str(about.with_suffix("") / ".claude")})
                for record in self.inner.find(own):
                    yield replace(record, agent=COWORK)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        carry = dict(cursor.carry)
        known = text(carry.pop("cowork_title", None))
        about = _about(record.path)
        title = text(about.get("title")).strip()[:TITLE]
        chunk = self.inner.read(record, replace(cursor, carry=carry), limit=limit)
        drafts = [_as_cowork(draft, about, title) for draft in chunk.drafts]
        if title and title != known and (drafts or known):
            opened = any(draft.kind == "session.open" for draft in drafts)
            if not opened and record.path.stem == record.session:
                drafts.append(_titled(record.session, title, drafts))
            known = title
        after = replace(chunk.cursor, carry={**chunk.cursor.carry, "cowork_title": known})
        return replace(chunk, drafts=tuple(drafts), cursor=after)


def cowork_folders(places: Places) -> list[Path]:
    """Where Cowork stores sessions: on macOS and on Linux."""
    return [
        places.home / "Library" / "Application Support" / "Claude" / FOLDER,
        places.home / ".config" / "Claude" / FOLDER,
    ]


def _about(path: Path) -> dict[str, Any]:
    """The file that describes the session of a transcript."""
    own = next((folder for folder in path.parents if folder.name == ".claude"), None)
    if own is None:
        return {}
    try:
        return record_of(read_regular(own.parent.with_name(f"{own.parent.name}.json"))) or {}
    except OSError:
        return {}


def _as_cowork(draft: Draft, about: Mapping[str, Any], title: str) -> Draft:
    if draft.kind != "session.open":
        return replace(draft, agent=COWORK)
    folder = text(about.get("cwd"))
    values = {**mapping(dict(draft.payload)), "agent": COWORK}
    if folder and not folder.startswith(VIRTUAL):
        values["workspace"] = folder
    more = {"title": title, "model": ident(about.get("model"))}
    values |= {name: value for name, value in more.items() if value and not values.get(name)}
    return replace(draft, agent=COWORK, payload=values)


def _titled(session: str, title: str, drafts: list[Draft]) -> Draft:
    at = drafts[-1].at if drafts else None
    key = f"{COWORK}:{session}:title:{digest(title)}"
    return Draft(session, "session.title", {"title": title}, COWORK, at, None, None, "transcript", key=key)
