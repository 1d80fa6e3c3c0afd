"""Habits: what recurs across sessions, as a small graph of a person's things.

Tasks, folders, files, apps, tools and conventions are nodes with a count of sessions and when they were last
seen; what goes with what is an edge. Every node and edge names events it comes from. Nothing is guessed: what
was seen once is no habit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.terms import SMALL
from fazm_memory.model.clock import iso
from fazm_memory.model.organized import organized
from fazm_memory.model.state import SessionState
from fazm_memory.recall.mends import Mend, mends_of
from fazm_memory.recall.rhythm import Rhythm, rhythm_of

SESSIONS = 200  # latest sessions looked at
ALIKE = 0.5  # share of their words that two requests of one task have in common
TRACES = 5
TWICE = 2
PER_SESSION = 12  # things of a kind that one session may tell of

Trace = tuple[str, int]  # session and position


@dataclass
class Node:
    """A thing that was met in `count` sessions."""

    kind: str
    name: str
    count: int = 0
    first: int = 0
    last: int = 0
    traces: list[Trace] = field(default_factory=list)

    def met(self, at: int, trace: Trace) -> None:
        self.count += 1
        self.first = min(self.first or at, at)
        self.last = max(self.last, at)
        self.traces = [*self.traces, trace][-TRACES:]

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
class Task:
    """A request that came back, in the words it was last made in."""

    words: str
    moments: tuple[int, ...]
    rhythm: Rhythm
    folders: tuple[str, ...]
    traces: tuple[Trace, ...]


@dataclass(frozen=True)
class Stumble:
    """A command that failed in several sessions, and what then helped."""

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
    tasks: tuple[Task, ...]
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str, str, int], ...]  # from, how, to, in how many sessions
    stumbles: tuple[Stumble, ...]

    def of(self, kind: str) -> list[Node]:
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
                    "command": one.command,
                    "failures": one.failures,
                    "mended": one.mended,
                    "error": one.error,
                    "mended_by": [{"what": what, "count": count} for what, count in one.by],
                    "last_seen": iso(one.last),
                    "events": [{"session": session, "seq": seq} for session, seq in one.traces],
                }
                for one in self.stumbles
            ],
            "nodes": [node.to_json() for node in self.nodes],
            "edges": [
                {"from": source, "how": how, "to": target, "count": count}
                for source, how, target, count in self.edges
            ],
        }


class _Graph:
    def __init__(self) -> None:
        self.nodes: dict[tuple[str, str], Node] = {}
        self.edges: Counter[tuple[str, str, str]] = Counter()

    def meet(self, kind: str, name: str, at: int, trace: Trace) -> str:
        self.nodes.setdefault((kind, name), Node(kind, name)).met(at, trace)
        return f"{kind}:{name}"


@dataclass
class _Told:
    """The sessions of one task, while they are gathered."""

    words: set[str]
    text: str
    moments: list[int] = field(default_factory=list)
    folders: Counter[str] = field(default_factory=Counter)
    traces: list[Trace] = field(default_factory=list)
    things: list[set[str]] = field(default_factory=list)


def habits(store: Store) -> Habits:
    """The habits that the latest sessions show."""
    listed = store.ward.rows(store.sessions.listing(limit=SESSIONS))
    rows = _once(sorted(listed, key=lambda row: (row.opened_at, row.n)))
    graph = _Graph()
    tasks: list[_Told] = []
    mends: list[Mend] = []
    for row in rows:
        state = store.ward.state_at(row.n, row.id, row.head)
        met = _meet(graph, row, state)
        _join(tasks, row, state, met)
        mends += mends_of(store, row, state)
    recurring = sorted(
        (told for told in tasks if len(told.moments) >= TWICE), key=lambda told: -len(told.moments)
    )
    for told in recurring:
        for trace, at in zip(told.traces, told.moments, strict=True):
            graph.meet("task", told.text, at, trace)
        for things in told.things:
            graph.edges.update((f"task:{told.text}", "goes with", thing) for thing in things)
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
    return Habits(len(rows), tuple(map(_task, recurring)), tuple(nodes), tuple(edges), _stumbles(mends))


def _once(rows: Iterable[SessionRow]) -> list[SessionRow]:
    """Of a session and its forks the first: what a fork inherits was asked and done but once."""
    families: dict[str, str] = {}
    firsts: dict[str, SessionRow] = {}
    for row in rows:
        families[row.id] = row.id if row.parent is None else families.get(row.parent, row.parent)
        firsts.setdefault(families[row.id], row)
    return list(firsts.values())


def _meet(graph: _Graph, row: SessionRow, state: SessionState) -> set[str]:
    """Everything the session had to do with, each once."""
    at, last = row.last_at, max(0, row.head - 1)
    met = {graph.meet("tool", tool, at, (row.id, last)) for tool in list(state.tools_used)[-PER_SESSION:]}
    folders = [
        (path, entry["last_seq"])
        for path, entry in state.folders.items()
        if any(entry.get(change) for change in ("created", "modified", "renamed", "deleted"))
    ]
    met |= {graph.meet("folder", path, at, (row.id, seq)) for path, seq in folders[-PER_SESSION:]}
    files = [(one.path, one.seq) for one in state.files_modified.values() if one.by == "agent"]
    met |= {graph.meet("file", path, at, (row.id, seq)) for path, seq in files[-PER_SESSION:]}
    met |= {graph.meet("app", app, at, (row.id, one["last_seq"])) for app, one in state.apps.items()}
    for one in organized(state).conventions:
        name = graph.meet("convention", one.pattern, at, (row.id, last))
        met.add(name)
        graph.edges[f"folder:{one.folder}", "names files by", name] += 1
    return met


def _join(tasks: list[_Told], row: SessionRow, state: SessionState, met: set[str]) -> None:
    """Count the session towards the task it is most like, or begin a new one."""
    asked = next(iter(state.requests.values()), None)
    text = " ".join(((asked["text"] if asked else row.title) or "").split())
    words = content_words(text)
    if not words:
        return
    best = max(tasks, key=lambda told: _alike(told.words, words), default=None)
    if best is None or _alike(best.words, words) < ALIKE:
        best = _Told(words, text)
        tasks.append(best)
    best.text = text[:160]
    best.moments.append(row.opened_at)
    best.folders.update([row.workspace] if row.workspace else [])
    best.traces.append((row.id, asked["seq"] if asked else 0))
    best.things.append(met)


def content_words(text: str) -> set[str]:
    """The words of a request that say what it is about; numbers change from week to week."""
    words = re.findall(r"[^\W\d_]{2,}", text.lower())
    return {word.rstrip("s") for word in words if word not in SMALL}


def _alike(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)


def _task(told: _Told) -> Task:
    return Task(
        told.text,
        tuple(told.moments),
        rhythm_of(told.moments),
        tuple(folder for folder, _ in told.folders.most_common(3)),
        tuple(told.traces[-TRACES:]),
    )


def _stumbles(mends: Iterable[Mend]) -> tuple[Stumble, ...]:
    groups: dict[str, list[Mend]] = {}
    for one in mends:
        groups.setdefault(one.command, []).append(one)
    made = []
    for command, some in groups.items():
        if len(some) < TWICE:
            continue
        by = Counter(what for one in some for what in dict.fromkeys(one.by))
        latest = max(some, key=lambda one: one.at)
        made.append(
            Stumble(
                command,
                len(some),
                sum(one.worked_at is not None for one in some),
                latest.error,
                tuple(by.most_common(3)),
                latest.at,
                tuple((one.session, one.seq) for one in some[-TRACES:]),
            )
        )
    return tuple(sorted(made, key=lambda one: (-one.failures, one.command)))
