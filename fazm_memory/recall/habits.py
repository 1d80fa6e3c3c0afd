"""Habits: what recurs across sessions, as a small graph.

Nodes are tasks, folders, files, apps, tools and conventions, each with its number of sessions and some events
as evidence. Edges say what goes together. What occurred only once is no habit.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from statistics import median
from typing import Any

from fazm_memory.clock import iso, to_datetime
from fazm_memory.recall.fixes import SHELLS, Fix, fixes_of
from fazm_memory.recall.items import WEIGHTS, Item
from fazm_memory.recall.quoting import quote
from fazm_memory.records import dataclass, field
from fazm_memory.session import SessionState, learn_from_session
from fazm_memory.store import STOP_WORDS, SessionRow, Store
from fazm_memory.text import plural

MIN_OCCURRENCES = 3  # for a rhythm
MOSTLY = 0.7  # share of the gaps that must agree
GAPS: dict[str, tuple[int, int]] = {
    "daily": (1, 1),
    "weekly": (6, 8),
    "every two weeks": (13, 15),
    "monthly": (27, 32),
}


@dataclass(frozen=True)
class Rhythm:
    """`name` is None without a pattern. `around` is the usual hour of the day."""

    name: str | None
    weekday: str | None
    around: int | None

    def text(self) -> str:
        if self.name is None:
            return "no rhythm yet"
        day = f" on {self.weekday}" if self.weekday else ""
        hour = f", around {self.around:02d}:00" if self.around is not None else ""
        return f"{self.name}{day}{hour}"

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


def rhythm_of(moments: Sequence[int]) -> Rhythm:
    """The rhythm of some times, by the user's calendar."""
    local = [to_datetime(at) for at in moments]
    days = sorted({time.date() for time in local})
    hours = sorted(time.hour for time in local)
    around = int(median(hours)) if len(hours) >= MIN_OCCURRENCES and _close(hours) else None
    if len(days) < MIN_OCCURRENCES:
        return Rhythm(None, None, around)
    gaps = [(after - before).days for before, after in itertools.pairwise(days)]
    name = _name(gaps, days)
    weekday = f"{days[-1]:%A}" if name in ("weekly", "every two weeks") and _same_weekday(days) else None
    return Rhythm(name, weekday, around)


def _name(gaps: list[int], days: list[date]) -> str | None:
    if all(day.weekday() < 5 for day in days) and _mostly([gap in (1, 3) for gap in gaps]) and 3 in gaps:
        return "on weekdays"
    for name, (low, high) in GAPS.items():
        if _mostly([low <= gap <= high for gap in gaps]):
            return name
    return None


def _mostly(agree: list[bool]) -> bool:
    return sum(agree) >= MOSTLY * len(agree)


def _same_weekday(days: list[date]) -> bool:
    return Counter(day.weekday() for day in days).most_common(1)[0][1] >= MOSTLY * len(days)


def _close(hours: list[int]) -> bool:
    """Whether most are within three hours of the median."""
    middle = median(hours)
    return _mostly([abs(hour - middle) <= 3 for hour in hours])


MAX_SESSIONS = 200
ALIKE = 0.5  # share of common words from which two requests are the same task
MAX_TRACES = 5
TWICE = 2
MAX_PER_SESSION = 12  # nodes of a kind from one session

Trace = tuple[str, int]  # session and position


@dataclass
class HabitNode:
    """Something that occurred in `count` sessions."""

    kind: str
    name: str
    count: int = 0
    first: int = 0
    last: int = 0
    traces: list[Trace] = field(default_factory=list)

    def add(self, at: int, trace: Trace) -> None:
        self.count += 1
        self.first = min(self.first or at, at)
        self.last = max(self.last, at)
        self.traces = [*self.traces, trace][-MAX_TRACES:]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": f"{self.kind}:{self.name}",
            "kind": self.kind,
            "name": self.name,
            "count": self.count,
            "first_seen": iso(self.first),
            "last_seen": iso(self.last),
            "events": [{"session": session, "seq": seq} for session, seq in self.traces],
        }


@dataclass(frozen=True)
class RecurringTask:
    """A request that recurs, in the words of the last time."""

    words: str
    moments: tuple[int, ...]
    rhythm: Rhythm
    folders: tuple[str, ...]
    traces: tuple[Trace, ...]


@dataclass(frozen=True)
class RecurringFailure:
    """A command that failed several times, and what helped."""

    command: str
    failures: int
    mended: int
    error: str
    by: tuple[tuple[str, int], ...]
    last: int
    traces: tuple[Trace, ...]


@dataclass(frozen=True)
class Habits:
    sessions: int
    tasks: tuple[RecurringTask, ...]
    nodes: tuple[HabitNode, ...]
    edges: tuple[tuple[str, str, str, int], ...]  # from, how, to, in how many sessions
    recurring_failures: tuple[RecurringFailure, ...]

    def of(self, kind: str) -> list[HabitNode]:
        return [node for node in self.nodes if node.kind == kind]

    def to_json(self) -> dict[str, Any]:
        return {
            "sessions": self.sessions,
            "tasks": [
                {
                    "words": task.words,
                    "count": len(task.moments),
                    "rhythm": task.rhythm.to_json(),
                    "last_seen": iso(task.moments[-1]),
                    "folders": list(task.folders),
                    "events": [{"session": session, "seq": seq} for session, seq in task.traces],
                }
                for task in self.tasks
            ],
            "failing_first": [
                {
                    "command": failure.command,
                    "failures": failure.failures,
                    "mended": failure.mended,
                    "error": failure.error,
                    "mended_by": [{"what": what, "count": count} for what, count in failure.by],
                    "last_seen": iso(failure.last),
                    "events": [{"session": session, "seq": seq} for session, seq in failure.traces],
                }
                for failure in self.recurring_failures
            ],
            "nodes": [node.to_json() for node in self.nodes],
            "edges": [
                {"from": source, "how": how, "to": target, "count": count}
                for source, how, target, count in self.edges
            ],
        }


class _Graph:
    def __init__(self) -> None:
        self.nodes: dict[tuple[str, str], HabitNode] = {}
        self.edges: Counter[tuple[str, str, str]] = Counter()

    def add(self, kind: str, name: str, at: int, trace: Trace) -> str:
        self.nodes.setdefault((kind, name), HabitNode(kind, name)).add(at, trace)
        return f"{kind}:{name}"


@dataclass
class _TaskBuilder:
    """The sessions of one task, while they are collected."""

    words: set[str]
    text: str
    moments: list[int] = field(default_factory=list)
    folders: Counter[str] = field(default_factory=Counter)
    traces: list[Trace] = field(default_factory=list)
    names: list[set[str]] = field(default_factory=list)


def find_habits(store: Store) -> Habits:
    """The habits of the latest sessions."""
    listed = store.quarantine_view.rows(store.sessions.listing(limit=MAX_SESSIONS))
    rows = _without_forks(sorted(listed, key=lambda row: (row.opened_at, row.n)))
    graph = _Graph()
    tasks: list[_TaskBuilder] = []
    fixes: list[Fix] = []
    for row in rows:
        state = store.quarantine_view.state_at(row.n, row.id, row.head)
        names = _add_session(graph, row, state)
        _add_to_task(tasks, row, state, names)
        fixes += fixes_of(store, row, state)
    recurring = sorted(
        (task for task in tasks if len(task.moments) >= TWICE), key=lambda task: -len(task.moments)
    )
    for task in recurring:
        for trace, at in zip(task.traces, task.moments, strict=True):
            graph.add("task", task.text, at, trace)
        for names in task.names:
            graph.edges.update((f"task:{task.text}", "goes with", name) for name in names)
    nodes = sorted(
        (node for node in graph.nodes.values() if node.count >= TWICE),
        key=lambda node: (node.kind, -node.count, node.name),
    )
    known = {f"{node.kind}:{node.name}" for node in nodes}
    edges = sorted(
        ((*edge, count) for edge, count in graph.edges.items()
         if count >= TWICE and edge[0] in known and edge[2] in known),
        key=lambda edge: (-edge[3], edge),
    )  # fmt: skip
    return Habits(
        len(rows), tuple(map(_task, recurring)), tuple(nodes), tuple(edges), _recurring_failures(fixes)
    )


def _without_forks(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """One session of each family: what a fork inherits must not count twice."""
    families: dict[str, str] = {}
    firsts: dict[str, SessionRow] = {}
    for row in rows:
        families[row.id] = row.id if row.parent is None else families.get(row.parent, row.parent)
        firsts.setdefault(families[row.id], row)
    return list(firsts.values())


def _add_session(graph: _Graph, row: SessionRow, state: SessionState) -> set[str]:
    """Add the nodes of a session. Returns their names."""
    at, last = row.last_at, max(0, row.head - 1)
    names = {
        graph.add("tool", tool, at, (row.id, last)) for tool in list(state.tools_used)[-MAX_PER_SESSION:]
    }
    names |= _add_folders(graph, row, state)
    files = [(entry.path, entry.seq) for entry in state.files_modified.values() if entry.by == "agent"]
    names |= {graph.add("file", path, at, (row.id, seq)) for path, seq in files[-MAX_PER_SESSION:]}
    names |= {graph.add("app", app, at, (row.id, entry["last_seq"])) for app, entry in state.apps.items()}
    for convention in learn_from_session(state).conventions:
        name = graph.add("convention", convention.pattern, at, (row.id, last))
        names.add(name)
        graph.edges[f"folder:{convention.folder}", "names files by", name] += 1
    return names


def _add_folders(graph: _Graph, row: SessionRow, state: SessionState) -> set[str]:
    """Add the folders in which a session changed files. Returns their names."""
    folders = [
        (path, entry["last_seq"])
        for path, entry in state.folders.items()
        if any(entry.get(change) for change in ("created", "modified", "renamed", "deleted"))
    ]
    return {graph.add("folder", path, row.last_at, (row.id, seq)) for path, seq in folders[-MAX_PER_SESSION:]}


def _add_to_task(tasks: list[_TaskBuilder], row: SessionRow, state: SessionState, names: set[str]) -> None:
    """Add the session to the most similar task, or to a new one."""
    asked = next(iter(state.requests.values()), None)
    text = " ".join(((asked["text"] if asked else row.title) or "").split())
    words = content_words(text)
    if not words:
        return
    best = max(tasks, key=lambda task: _alike(task.words, words), default=None)
    if best is None or _alike(best.words, words) < ALIKE:
        best = _TaskBuilder(words, text)
        tasks.append(best)
    best.text = text[:160]
    best.moments.append(row.opened_at)
    best.folders.update([row.workspace] if row.workspace else [])
    best.traces.append((row.id, asked["seq"] if asked else 0))
    best.names.append(names)


def content_words(text: str) -> set[str]:
    """The words of a request without small words and numbers, which change each time."""
    words = re.findall(r"[^\W\d_]{2,}", text.lower())
    return {word.rstrip("s") for word in words if word not in STOP_WORDS}


def _alike(first: set[str], second: set[str]) -> float:
    return len(first & second) / len(first | second)


def _task(task: _TaskBuilder) -> RecurringTask:
    return RecurringTask(
        task.text,
        tuple(task.moments),
        rhythm_of(task.moments),
        tuple(folder for folder, _ in task.folders.most_common(3)),
        tuple(task.traces[-MAX_TRACES:]),
    )


def _recurring_failures(fixes: Iterable[Fix]) -> tuple[RecurringFailure, ...]:
    groups: dict[str, list[Fix]] = {}
    for fix in fixes:
        groups.setdefault(fix.command, []).append(fix)
    failures = []
    for command, group in groups.items():
        if len(group) < TWICE:
            continue
        by = Counter(what for fix in group for what in dict.fromkeys(fix.by))
        latest = max(group, key=lambda fix: fix.at)
        failures.append(
            RecurringFailure(
                command,
                len(group),
                sum(fix.worked_at is not None for fix in group),
                latest.error,
                tuple(by.most_common(3)),
                latest.at,
                tuple((fix.session, fix.seq) for fix in group[-MAX_TRACES:]),
            )
        )
    return tuple(sorted(failures, key=lambda failure: (-failure.failures, failure.command)))


# A context has only what helps the next session: few habits, each with its evidence.
MOST_READ = 12  # latest sessions whose states are read
MOST_EACH = 2  # habits of a kind
OFTEN = 3  # sessions that make a folder a usual one


def habit_items(store: Store, rows: Sequence[SessionRow]) -> list[Item]:
    """The habits that a context of these sessions tells.

    Rhythms, failures with their solution, and folders.
    """
    rows = _without_forks(sorted(rows, key=lambda row: (row.opened_at, row.n)))
    read = [(row, store.quarantine_view.state_at(row.n, row.id, row.head)) for row in rows[-MOST_READ:]]
    return [*_rhythm_items(rows), *_failure_items(store, read), *_folder_items(read)]


def _rhythm_items(rows: Sequence[SessionRow]) -> list[Item]:
    """What is asked for in a rhythm, by the titles of the sessions."""
    tasks: list[_TaskBuilder] = []
    for row in rows:
        words = set() if row.background else content_words(row.title or "")
        if not words:
            continue
        best = max(tasks, key=lambda task: _alike(task.words, words), default=None)
        if best is None or _alike(best.words, words) < ALIKE:
            best = _TaskBuilder(words, "")
            tasks.append(best)
        best.text = row.title or ""
        best.moments.append(row.opened_at)
        best.folders.update([row.workspace] if row.workspace else [])
        best.traces.append((row.id, 0))
    found = [task for task in map(_task, tasks) if task.rhythm.name is not None]
    found.sort(key=lambda task: -task.moments[-1])
    items = []
    for task in found[:MOST_EACH]:
        folder = f" in {quote(task.folders[0], 120)}" if task.folders else ""
        count = plural(len(task.moments), "time")
        text = f"{quote(task.words, 100)} was asked {count}{folder}: {task.rhythm.text()}"
        items.append(_habit_item("rhythm", task.words, text, task.traces))
    return items


def _failure_items(store: Store, read: Sequence[tuple[SessionRow, SessionState]]) -> list[Item]:
    """Commands that fail first in several sessions and that one command solves."""
    fixes = [
        fix
        for row, state in read
        if any(error["tool"] in SHELLS and error["mended_by"] for error in state.errors.values())
        for fix in fixes_of(store, row, state)
    ]
    items = []
    for failure in _recurring_failures(fixes):
        sessions = {session for session, _ in failure.traces}
        what, solved = failure.by[0] if failure.by else ("", 0)
        tool, _, command = what.partition(" ")
        if len(sessions) < TWICE or solved < TWICE or 2 * solved < failure.failures or tool not in SHELLS:
            continue
        text = (
            f"{quote(failure.command, 60)} failed first {plural(failure.failures, 'time')}"
            f" ({quote(failure.error, 90)}), {quote(command, 90)} solved it {plural(solved, 'time')}"
        )
        items.append(_habit_item("failure", failure.command, text, failure.traces))
    return items[:MOST_EACH]


def _folder_items(read: Sequence[tuple[SessionRow, SessionState]]) -> list[Item]:
    """Folders in which several sessions changed files.

    In a repository they say nothing new.
    """
    graph = _Graph()
    for row, state in read:
        if not state.branch:
            _add_folders(graph, row, state)
    nodes = [node for node in graph.nodes.values() if node.count >= OFTEN]
    nodes.sort(key=lambda node: (-node.count, node.name))
    return [
        _habit_item(
            "folder", node.name, f"{quote(node.name, 120)} was changed in {node.count} sessions", node.traces
        )
        for node in nodes[:MOST_EACH]
    ]


def _habit_item(what: str, name: str, text: str, traces: Sequence[Trace]) -> Item:
    """A habit as an item of a context. Its evidence are the latest two events."""
    evidence = ", ".join(f"{session[:8]}@{seq}" for session, seq in traces[-TWICE:])
    kind = "habit"
    return Item(
        f"habit:{what}:{name}",
        "DONE",
        kind,
        f"{text} [{evidence}]",
        WEIGHTS[kind],
        "",
        traces[-1][1],
        "tool",
        kind,
    )
