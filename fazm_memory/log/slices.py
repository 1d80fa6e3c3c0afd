"""Slices by position, turn, time, kind, tool, file, outcome and trust: a question about one session's events.

Positions are a range of keys, turns and minutes lead to positions through their own tables, so the work grows
with the range that is left. Within it kind and trust are columns; tool, file and outcome are looked for in
the stored bytes first, and only what may match is decoded. A change that only the watcher saw counts as its
call's: a call is found by it, and it by the call's tool.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from fazm_memory.log import chain
from fazm_memory.log.database import told
from fazm_memory.log.effects import OF_A_CALL, Effects, needle
from fazm_memory.log.eventlog import EventLog
from fazm_memory.log.rows import EVENT_COLUMNS, ZSTD_MAGIC, to_event
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.model.events import Event
from fazm_memory.model.payloads import Seen

MINUTE = 60_000_000
WITH_FILES = ("action", "action.amend", "file", "seen")


@dataclass(frozen=True)
class Wanted:
    """Which events of a session; what is None asks for nothing. `turns` are the first and the last turn."""

    start: int = 0
    stop: int | None = None
    kind: str | None = None
    tool: str | None = None
    file: str | None = None
    outcome: str | None = None
    trust: str | None = None
    turns: tuple[int, int] | None = None
    since: int | None = None
    until: int | None = None
    limit: int | None = None
    holding: str | None = None  # text that the stored payload must hold, as far as that can be seen


def find(log: EventLog, number: int, session: str, wanted: Wanted) -> Iterator[Event]:
    """The events of a session that are wanted, in order; streams, so that memory stays flat."""
    low, high = _range(log, number, wanted)
    effects = Effects(log, number, session)
    touching: set[int] = set()
    if (file := wanted.file) is not None:
        touching = effects.touching(low, high, file, lambda path: names(path, file))
    clauses, values = _clauses(wanted, [event_id(number, seq) for seq in sorted(touching)])
    columns = ", ".join(f"event.{name.strip()}" for name in EVENT_COLUMNS.split(","))
    rows = log.db.execute(
        f"SELECT {columns}, (SELECT mac FROM event AS before WHERE before.id = event.id - 1) FROM event"
        f" WHERE id >= ? AND id < ?{clauses} ORDER BY id",
        (event_id(number, low), event_id(number, high), *values),
    )
    count = 0
    with told(log.db.path):
        for row in rows:
            first = row[0] & SEQ_MASK == 0  # the row before it is another session's
            event = to_event(
                row[:-1], session, chain.genesis(log.key, session) if first else bytes(row[-1] or b"")
            )
            if not _matches(event, wanted, effects, touching):
                continue
            if count == wanted.limit:
                return
            count += 1
            yield event


def _range(log: EventLog, number: int, wanted: Wanted) -> tuple[int, int]:
    """The positions in which anything wanted can be."""
    low = max(0, min(wanted.start, SEQ_MASK))
    high = SEQ_MASK if wanted.stop is None else max(0, min(wanted.stop, SEQ_MASK))
    if wanted.turns is not None:
        first, last = wanted.turns
        low = max(low, _turn_begins(log, number, first, SEQ_MASK))
        high = min(high, _turn_begins(log, number, last + 1, high))
    if wanted.since is not None or wanted.until is not None:
        begin = -(1 << 60) if wanted.since is None else wanted.since // MINUTE
        end = 1 << 60 if wanted.until is None else -(-wanted.until // MINUTE)
        first, last = log.db.execute(
            "SELECT min(first), max(last) FROM minute WHERE session=? AND minute >= ? AND minute < ?",
            (number, begin, end),
        ).fetchone()
        # Minutes follow the log in batches: what they have not taken in yet may be of any time.
        (indexed,) = log.db.execute("SELECT indexed FROM session WHERE n=?", (number,)).fetchone()
        low = max(low, indexed if first is None else min(first, indexed))
        behind = log.db.execute("SELECT head > indexed FROM session WHERE n=?", (number,)).fetchone()[0]
        if not behind:
            high = min(high, 0 if last is None else last + 1)
    return low, max(low, high)


def _turn_begins(log: EventLog, number: int, turn: int, otherwise: int) -> int:
    row = log.db.execute(
        "SELECT seq FROM turn WHERE session=? AND turn >= ? ORDER BY turn LIMIT 1", (number, turn)
    ).fetchone()
    return otherwise if row is None else int(row[0])


def _clauses(wanted: Wanted, touching: list[int]) -> tuple[str, list[Any]]:
    """What the database can tell by itself: columns for sure, bytes of a payload as a first look."""
    clauses: list[str] = []
    values: list[Any] = []
    for column, value in (("kind", wanted.kind), ("trust", wanted.trust)):
        if value is not None:
            clauses.append(f"{column} = ?")
            values.append(value)
    for column, sign, moment in (("at", ">=", wanted.since), ("at", "<", wanted.until)):
        if moment is not None:
            clauses.append(f"{column} {sign} ?")
            values.append(moment)
    held = "(substr(payload, 1, 4) = ? OR instr(payload, ?) > 0)"
    if wanted.tool is not None:
        clauses.append(f"(kind IN ('action', 'action.start') AND {held} OR {OF_A_CALL})")
        said = f'"tool":{json.dumps(wanted.tool, ensure_ascii=False)}'
        values += [ZSTD_MAGIC, said.encode("utf-8", "replace")]
    if wanted.outcome is not None:
        clauses.append("kind IN ('action', 'action.amend')")
        if wanted.outcome != "ok":  # a call that went well says nothing about it: that is the default
            clauses.append(held)
            values += [ZSTD_MAGIC, f'"{wanted.outcome}"'.encode()]
    if wanted.file is not None:
        kinds = ", ".join(f"'{kind}'" for kind in WITH_FILES)
        clauses.append(f"(kind IN ({kinds}) AND {held} OR id IN (SELECT value FROM json_each(?)))")
        values += [ZSTD_MAGIC, needle(wanted.file), json.dumps(touching)]
    if wanted.holding is not None:
        clauses.append(held)
        values += [ZSTD_MAGIC, wanted.holding.encode("utf-8", "replace")]
    return "".join(f" AND {clause}" for clause in clauses), values


def _matches(event: Event, wanted: Wanted, effects: Effects, touching: Set[int]) -> bool:
    """What only the decoded payload can tell."""
    p = event.payload
    if p is None:
        return wanted.tool is None and wanted.outcome is None and wanted.file is None
    if wanted.outcome is not None and getattr(p, "outcome", None) != wanted.outcome:
        return False
    if wanted.tool is not None and effects.tool_of(event) != wanted.tool:
        return False
    if wanted.file is None or event.seq in touching:
        return True
    return any(names(path, wanted.file) for path in paths_of(event))


def paths_of(event: Event) -> Iterator[str]:
    """Every path an event tells of."""
    p = event.payload
    if event.kind == "file":
        yield from (path for path in (p.path, p.origin) if path)
    elif event.kind == "seen":
        yield from _shown(p)
    else:
        for touch in getattr(p, "files", ()):
            yield from (path for path in (touch.path, touch.origin) if path)
        for shown in getattr(p, "seen", ()):
            yield from _shown(shown)


def _shown(seen: Seen) -> Iterator[str]:
    yield seen.folder
    yield from (one if one.startswith("/") else f"{seen.folder.rstrip('/')}/{one}" for one in seen.files)


def names(path: str, asked: str) -> bool:
    """Whether a path is the one asked for: as a whole, by its end, or by being inside it."""
    wanted = asked.rstrip("/")
    return path == wanted or path.endswith(f"/{wanted.lstrip('/')}") or path.startswith(f"{wanted}/")
