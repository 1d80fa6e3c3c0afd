"""Decide who changed a file: an agent, a person or unknown.

Each answer says what it is based on.

No system reports which process wrote a file. The evidence is when it changed, which calls ran then, which
paths they named, and where their sessions work. The answer says which evidence it uses and how sure it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from fazm_memory.events import Action, ActionAmend, ActionStart, By, Event, FileChange
from fazm_memory.paths import inside
from fazm_memory.records import dataclass, replace
from fazm_memory.store import ABSENT, CallEffects, FileVersion, FileVersions, SessionRow, Store
from fazm_memory.watch.scope import FOLLOWED, WORKING

SLACK = 1_500_000  # microseconds: clocks of hooks, delays of the disk, what a tool does on its way out
LATE = 30_000_000  # microseconds: how long an agent may take to report a call that it gives no time for
Confidence = Literal["certain", "likely", "possible"]

# Tools that only read, so they are no evidence of who wrote.
ONLY_LOOK = frozenset(
    {
        "read", "readfile", "notebookread", "view", "viewimage", "grep", "glob", "ls", "list",
        "listdirectory", "search", "searchfilecontent", "webfetch", "websearch", "todowrite", "todoread",
        "updateplan", "askuserquestion", "exitplanmode", "toolsearch",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DiskChange:
    """A change on disk: it happened between `earliest` and `latest`."""

    path: str
    change: str
    earliest: int
    latest: int
    origin: str | None = None
    away: bool = False


@dataclass(frozen=True, slots=True)
class CallInterval:
    """A tool call, running (`ended` is None) or over.

    `touched` are the changes it reported, path and change. `named` is the text of its input.
    `untimed`: it was reported when it was over, without a start or a duration.
    """

    session: str
    tool: str
    started: int
    ended: int | None = None
    seq: int | None = None
    touched: tuple[tuple[str, str], ...] = ()
    named: str = ""
    untimed: bool = False

    def label(self) -> str:
        place = "" if self.seq is None else f" (#{self.seq})"
        return f"{self.tool}{place} of session {self.session[:8]}"


@dataclass(frozen=True, slots=True)
class ActiveWorkspace:
    """A session at work, or paused, and its folder.

    `heard`: its calls are reported while they run.

    `pauses` has the times at which it did not work: when it was paused or closed, and when it went on.
    """

    session: str
    workspace: str
    last_at: int
    heard: bool = True
    pauses: tuple[tuple[int, int], ...] = ()

    def paused_in(self, earliest: int, latest: int) -> bool:
        return any(since < latest and earliest < until for since, until in self.pauses)

    def paused_throughout(self, earliest: int, latest: int) -> bool:
        return any(since <= earliest and latest <= until for since, until in self.pauses)


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who made a change, and the evidence.

    `told`: an action has already reported this change.
    """

    by: By
    evidence: str
    session: str | None = None
    seq: int | None = None
    sure: Confidence | None = None
    told: bool = False


def attribute(
    changed: DiskChange, calls: Iterable[CallInterval], places: Sequence[ActiveWorkspace]
) -> Attribution:
    """The best answer that the evidence allows."""
    calls = list(calls)
    then = [call for call in calls if _overlaps(call, changed)]
    late = [call for call in calls if _may_be_reported_late(call, changed)]
    for call in [*then, *late]:
        if _reported(call, changed):
            return Attribution(
                "agent", f"told by {call.label()}", call.session, call.seq, "certain", told=True
            )
    writers = [call for call in then if _bare(call.tool) not in ONLY_LOOK]
    naming = [call for call in writers if _names(call, changed)]
    if naming:
        return _by_agents(naming, "named by", "certain" if not changed.away else "likely")
    near = [place for place in places if inside(changed.path, place.workspace)]
    here = {place.session for place in near}
    beside = [call for call in writers if call.session in here]
    if beside and not changed.away:
        return _by_agents(beside, "in the workspace while it ran:", "likely")
    working = [place for place in near if not place.paused_throughout(changed.earliest, changed.latest)]
    inner = max(working or near, key=lambda place: (len(place.workspace), place.last_at), default=None)
    session = None if inner is None else inner.session
    unheard = [place for place in working if not place.heard]
    if changed.away:
        paused = [place for place in near if place.paused_in(changed.earliest, changed.latest)]
        if paused and not then and not unheard:
            evidence = f"session {paused[0].session[:8]} was paused, and no tool call ran in that time"
            return Attribution("person", evidence, session, None, "possible")
        what = "calls ran then that do not name it" if beside else "no call of that time names it"
        return Attribution("unknown", f"changed while not watched; {what}", session)
    if unheard:
        return Attribution("unknown", "a session at work here is not heard as it works", session)
    if inner is None:
        return Attribution("unknown", "no session works in this folder", None)
    if not working:
        evidence = f"session {inner.session[:8]} was paused, and no tool call that could write was running"
        return Attribution("person", evidence, session, None, "likely" if inner.heard else "possible")
    return Attribution("person", "no tool call that could write was running", session, None, "likely")


def _by_agents(calls: Sequence[CallInterval], why: str, sure: Confidence) -> Attribution:
    """Attribute a change to one call, one session or several sessions.

    Several, if they cannot be distinguished.
    """
    sessions = sorted({call.session for call in calls})
    latest = max(calls, key=lambda call: call.started)
    if len(sessions) == 1:
        return Attribution("agent", f"{why} {latest.label()}", latest.session, latest.seq, sure)
    names = " or ".join(session[:8] for session in sessions)
    evidence = f"{why} calls of sessions {names}, which cannot be told apart"
    return Attribution("agent", evidence, latest.session, None, "possible")


def _overlaps(call: CallInterval, changed: DiskChange) -> bool:
    ended = changed.latest if call.ended is None else call.ended
    return call.started - SLACK <= changed.latest and changed.earliest <= ended + SLACK


def _may_be_reported_late(call: CallInterval, changed: DiskChange) -> bool:
    """Whether a call may have made a change shortly before it was reported.

    Only a call without a start or a duration, and only a move or a deletion: most calls would have failed
    if somebody else had done it. A person may have written to a file just before the call did.
    """
    moved = changed.change in ("renamed", "deleted")
    return moved and call.untimed and call.started - LATE <= changed.earliest <= call.started


def _reported(call: CallInterval, changed: DiskChange) -> bool:
    """Whether the call reports this change.

    A write may be reported as created or as modified.
    """
    return any(
        path == changed.path
        and (change == changed.change or {change, changed.change} == {"created", "modified"})
        for path, change in call.touched
    )


def _names(call: CallInterval, changed: DiskChange) -> bool:
    touched = {path for path, _ in call.touched}
    return any(
        path in touched or path in call.named or _relative(path, call.named)
        for path in (changed.path, changed.origin)
        if path is not None
    )


def _relative(path: str, text: str) -> bool:
    """Whether a text has the file's name as a word of its own.

    `a.txt` is none at the end of `data.txt`.
    """
    name = path.rpartition("/")[2]
    at = text.find(name) if len(name) >= 3 else -1
    while at >= 0:
        end = at + len(name)
        around = (text[at - 1] if at else " ") + (text[end] if end < len(text) else " ")
        if not any(letter.isalnum() or letter in "_-." for letter in around):
            return True
        at = text.find(name, at + 1)
    return False


def _bare(tool: str) -> str:
    return tool.rsplit("__", 1)[-1].replace("_", "").replace("-", "").lower()


BACK = 300  # events of a session that are searched
STILL = 1 << 62  # the end of a pause that goes on
LONGEST = 3_600_000_000  # microseconds: the longest duration believed if the start was not recorded
# Agents that report a call before it ends. Others may report it long after it wrote.
TELL_AT_ONCE = frozenset({"claude-code", "codex", "fazm", "opencode"})
MOST_TEXT = 20_000


def active_workspaces(store: Store, rows: Sequence[SessionRow]) -> list[ActiveWorkspace]:
    """The sessions at work or paused, with their folders.

    Also whether their calls are reported as they run.
    """
    return [
        ActiveWorkspace(row.id, row.workspace, row.last_at, _heard(store, row), _pauses(store, row))
        for row in rows
        if row.workspace is not None and row.lifecycle in FOLLOWED
    ]


def _pauses(store: Store, row: SessionRow) -> tuple[tuple[int, int], ...]:
    """The latest times between a pause or a close and the next resume.

    The last one may still go on.
    """
    last = row.n << 32 | row.head
    rows = store.db.execute(
        "SELECT kind, at FROM event WHERE id>? AND id<=?"
        " AND kind IN ('session.pause', 'session.close', 'session.resume') ORDER BY id",
        (max(last - BACK, row.n << 32), last),
    )
    found: list[tuple[int, int]] = []
    since: int | None = None
    for kind, at in rows.fetchall():
        if kind != "session.resume":
            since = at if since is None else since
        elif since is not None:
            found.append((since, at))
            since = None
    if row.lifecycle == "paused":
        found.append((since or 0, STILL))  # 0: the pause began before these events
    return tuple(found)


def _heard(store: Store, row: SessionRow) -> bool:
    """Whether calls of a session are reported before they end.

    The agent says so, or its calls so far show it.
    """
    if row.agent in TELL_AT_ONCE:
        return True
    last = row.n << 32 | row.head
    found = store.db.execute(
        "SELECT 1 FROM event WHERE id>? AND id<=? AND kind=? LIMIT 1", (last - BACK, last, "action.start")
    )
    return found.fetchone() is not None


def recent_calls(
    store: Store, rows: Sequence[SessionRow], since: int, *, user_home: str = ""
) -> list[CallInterval]:
    """Calls of these sessions that ended after a moment or are still running."""
    found: list[CallInterval] = []
    for row in rows:
        if row.last_at < since and row.lifecycle not in WORKING:
            continue
        start = max(0, row.head - BACK)
        found += _calls(store.log.slice(row.n, row.id, start, row.head), since, user_home, row.opened_at)
    return found


def _calls(events: Iterable[Event], since: int, user_home: str, opened: int) -> list[CallInterval]:
    running: dict[str, CallInterval] = {}
    over: dict[str, CallInterval] = {}
    for event in events:
        match event.payload:
            case ActionStart() as begun:
                call = CallInterval(
                    event.session, begun.tool, event.at, None, event.seq, (), _text(begun.input)
                )
                running[begun.call_id or str(event.seq)] = call
            case Action() as action:
                key = action.call_id or str(event.seq)
                over[key] = _ended(event, action, running.pop(key, None), user_home, opened)
            case ActionAmend() as amend if (known := over.get(amend.call_id)) is not None:
                over[amend.call_id] = _with(known, _touched(amend, user_home))
    return [*running.values(), *(call for call in over.values() if (call.ended or since) >= since)]


def _ended(
    event: Event, action: Action, begun: CallInterval | None, user_home: str, opened: int
) -> CallInterval:
    """A call that is over.

    Its time may be its start or its end, depending on the source: allow for both.

    A false duration would claim the changes of others. It is believed for an hour at most, and for no time
    before the session was opened.
    """
    length = min(max((action.duration_ms or 0) * 1000, 0), LONGEST)
    started = begun.started if begun is not None else min(max(event.at - length, opened), event.at)
    # A call is reported through MCP when it is over, so its time is the end.
    ended = event.at if begun is not None or event.source == "mcp" else event.at + length
    touched = _touched(action, user_home)
    untimed = begun is None and not length
    named = _text(action.input)
    return CallInterval(event.session, action.tool, started, ended, event.seq, touched, named, untimed)


def _with(call: CallInterval, touched: tuple[tuple[str, str], ...]) -> CallInterval:
    return replace(call, touched=(*call.touched, *touched))


def _touched(action: Action | ActionAmend, user_home: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (user_home + file.path[1:] if file.path.startswith("~/") else file.path, file.change)
        for file in action.files
        if file.change != "read"
    )


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text[:MOST_TEXT]


def content_after(
    store: Store, versions: FileVersions | None, row: SessionRow, entry: Mapping[str, Any]
) -> str | None:
    """The digest of a file after a `files_modified` entry, or `absent`.

    None if it is not known.
    """
    if entry["change"] == "deleted":
        return ABSENT
    own = store.sessions.resolve(entry.get("session") or row.id)
    event = next(store.log.slice(own.n, own.id, entry["seq"], entry["seq"] + 1), None)
    if event is None or event.payload is None:
        return None
    if isinstance(event.payload, FileChange):
        return event.payload.after
    if versions is None:
        return None
    ended, began = CallEffects(store.log, own.n, own.id).span(event.seq)
    before = next(store.log.slice(own.n, own.id, began, began + 1), event).at

    def from_call(version: FileVersion) -> bool:
        if version.session != own.id:
            return False
        if version.seq is not None:
            return version.seq == ended
        return before - SLACK <= version.at <= event.at + SLACK  # observed while the call still ran

    last = [version for version in versions.histories([entry["path"]]) if from_call(version)][-1:]
    return last[0].digest if last else None
