"""What calls were seen to do: a change that only the watcher saw names the position of its call, and no tool.

So a call is found by a file that it changed and did not tell, and such a change by the tool that made it. A
start's key is its call's key and `:start`, an amendment's `:amend`: each is one look into an index. Changes
are looked for only in minutes that counted some.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from fazm_memory.log.eventlog import EventLog
from fazm_memory.log.minutes import counted
from fazm_memory.log.rows import EVENT_COLUMNS, ZSTD_MAGIC, to_event
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.model.events import Event
from fazm_memory.model.late import LATE, call_of

WATCHED = "(kind = 'file' AND source = 'files')"
# What a call did or became that its own row does not say: only the call itself can tell its tool.
OF_A_CALL = f"({WATCHED} OR kind = 'action.amend')"


class Effects:
    """The calls of one session and what was seen of them. For one question: it keeps what it looked up."""

    def __init__(self, log: EventLog, number: int, session: str) -> None:
        self.log = log
        self.number = number
        self.session = session
        self._tools: dict[int, str | None] = {}

    def tool_of(self, event: Event) -> str | None:
        """The tool of a call, or of the call that an event belongs to."""
        own = getattr(event.payload, "tool", None)
        if own is not None or event.payload is None:
            return own
        call = self._amended(event.seq) if event.kind == "action.amend" else call_of(event)
        return None if call is None else self._tool_at(call)

    def touching(self, low: int, high: int, file: str, named: Callable[[str], bool]) -> set[int]:
        """The calls among these positions, where they began and where they ended, of which a change to a file
        was seen that none of them may have told. `named` says whether a path is the file's."""
        calls: set[int] = set()
        for event in self._seen(low, high, file):
            call, seen = call_of(event), event.payload
            if call is not None and any(named(path) for path in (seen.path, seen.origin) if path):
                calls |= {call, *self._ended(call)}
        return {call for call in calls if low <= call < high}

    def span(self, seq: int) -> tuple[int, int]:
        """Where the call ended that an event is or amends, and where it began, as far as that was told."""
        call = self._amended(seq)
        ended = seq if call is None else call
        key = self._key(ended)
        began = None if key is None else self._at_key(f"{key}:start")
        return ended, ended if began is None else began

    def _seen(self, low: int, high: int, file: str) -> Iterator[Event]:
        """Changes that the watcher saw among these positions and soon after, whose bytes may name a file."""
        end = min(high + LATE, SEQ_MASK)
        for begin, stop in counted(self.log.db, self.number, "files", low, end):
            rows = self.log.db.execute(
                f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? AND {WATCHED}"
                " AND (substr(payload, 1, 4) = ? OR instr(payload, ?) > 0) ORDER BY id",
                (event_id(self.number, begin), event_id(self.number, stop), ZSTD_MAGIC, needle(file)),
            )
            for row in rows:
                yield to_event(row, self.session, b"")

    def _ended(self, call: int) -> Iterator[int]:
        """Where a call ended, if what is at this position is its beginning."""
        key = self._key(call)
        if key is not None and key.endswith(":start"):
            ends = (key.removesuffix(":start"), key.removesuffix("start") + "interrupted")
            found = self.log.db.execute("SELECT id FROM event WHERE key IN (?, ?)", ends)
            yield from (id_ & SEQ_MASK for (id_,) in found.fetchall())

    def _amended(self, seq: int) -> int | None:
        """Where the call stands that an amendment is of."""
        key = self._key(seq)
        return None if key is None else self._at_key(key.removesuffix(":amend"))

    def _at_key(self, key: str) -> int | None:
        found = self.log.db.execute("SELECT id FROM event WHERE key=?", (key,)).fetchone()
        return None if found is None else int(found[0]) & SEQ_MASK

    def _key(self, seq: int) -> str | None:
        found = self.log.db.execute(
            "SELECT key FROM event WHERE id=?", (event_id(self.number, seq),)
        ).fetchone()
        return None if found is None else found[0]

    def _tool_at(self, seq: int) -> str | None:
        if seq not in self._tools:
            event = next(self.log.slice(self.number, self.session, seq, seq + 1), None)
            self._tools[seq] = None if event is None else getattr(event.payload, "tool", None)
        return self._tools[seq]


def needle(file: str) -> bytes:
    """What the bytes of a payload hold that names a file, or anything inside a folder of that name."""
    name = file.rstrip("/").rsplit("/", 1)[-1]
    return json.dumps(name, ensure_ascii=False)[1:-1].encode("utf-8", "replace")
