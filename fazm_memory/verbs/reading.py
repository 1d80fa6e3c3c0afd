"""The verbs of reading: slices, states, files, differences, retries.

Each can be read as exports see it (`quarantined=False`), which is how agents read: what is held back is then
not in the answer. A difference names its causes; over a long span those that the states remember and those of
the last stretch, so that its cost does not grow with the span.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from difflib import unified_diff
from typing import Any

from fazm_memory.capture.contents import content
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.log import slices
from fazm_memory.log.paths import effective, parted
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.slices import Wanted
from fazm_memory.model import diff
from fazm_memory.model.commit_log import event_json
from fazm_memory.model.events import KINDS, Event, target_of
from fazm_memory.model.fold import fold, initial
from fazm_memory.model.late import LATE, place_of
from fazm_memory.model.organized import organized, organized_json
from fazm_memory.model.payloads import FAILED, Action
from fazm_memory.model.slim import slim_row
from fazm_memory.model.state import SessionState
from fazm_memory.model.state import to_json as state_json
from fazm_memory.model.trust import SOURCES, TRUSTS
from fazm_memory.recall.file_time import file_time
from fazm_memory.verbs.telling import Telling

SPAN = 1000  # events of a difference that are read one by one, five times as many as are told
RETRIES = 200  # the latest that are told
OUTPUT = 4000  # characters of an output that are compared
CHANGED_LINES = 60


class Reading(Telling):
    """What `Memory` can tell of one session, or of two. Mixed into it; not for use alone."""

    def events(
        self,
        session: str,
        *,
        start: int = 0,
        stop: int | None = None,
        kind: str | None = None,
        tool: str | None = None,
        file: str | None = None,
        outcome: str | None = None,
        trust: str | None = None,
        turns: tuple[int, int] | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int | None = None,
        quarantined: bool = True,
        slim: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """A slice of the commit log, half-open, filtered: the contract's events, or slim rows of them."""
        _known("kind", kind, KINDS)
        _known("outcome", outcome, ("ok", *sorted(FAILED)))
        _known("trust", trust, TRUSTS)
        row = self.store.sessions.resolve(session)
        held, withheld = self.store.ward.held(row.n), self.store.ward.withheld(row.n)
        wanted = Wanted(start, stop, kind, tool, file, outcome, trust, turns, since, until, limit)
        for event in slices.find(self.store.log, row.n, row.id, wanted):
            told = slim_row(event) if slim else event_json(event)
            if held.has(event.seq):
                told["quarantined"] = True
            if not quarantined and withheld(event):
                told = {**_bare(told | {"quarantined": True}), "payload": None}
            yield told

    def state(self, session: str, *, at: int | None = None, quarantined: bool = True) -> dict[str, Any]:
        """The typed state after the first `at` events, or now, with what its file operations show."""
        row = self.store.sessions.resolve(session)
        state = self._state(row, at, quarantined)
        held = self.store.ward.held(row.n)
        return {
            **state_json(state),
            **organized_json(organized(state, file_time)),
            "quarantined": {"whole": held.whole, "seqs": sorted(held.seqs)},
        }

    def files_modified(
        self, session: str, *, turns: int | None = None, quarantined: bool = True
    ) -> dict[str, Any]:
        """The net changes to files, of the whole session or of its last turns, with whose hand it was."""
        row = self.store.sessions.resolve(session)
        if turns is not None and turns < 1:
            raise InvalidRequest("the last turns are at least one", hint="leave it out for the whole session")
        first = 0 if turns is None else max(0, row.turn - turns + 1)
        with self.store.db.reading():
            if turns is None:
                source = self.store.snapshots if quarantined else self.store.ward
                state = source.state_at(row.n, row.id, row.head)
            else:
                begin = self.store.sessions.turn_position(row.n, first - 1, row.head) if first else 0
                late = (one for one in self._effective(row, begin, row.head) if place_of(one) >= begin)
                state = fold(initial(row.id), late if quarantined else self.store.ward.events(row.n, late))
        files = [entry.to_json() for entry in state.files_modified.values()]
        omitted = state.omitted.get("files_modified", 0)
        return {"session": row.id, "turns": [first, row.turn], "files": files, "omitted": omitted}

    def _effective(self, row: SessionRow, start: int, stop: int) -> Iterator[Event]:
        for low, high in effective(self.store.db, row.n, stop, start):
            yield from self.store.log.slice(row.n, row.id, low, high)

    def diff(
        self, session: str, first: int, second: int, *, turns: bool = False, quarantined: bool = True
    ) -> dict[str, Any]:
        """What changed between two positions, or between the ends of two turns, and why."""
        row = self.store.sessions.resolve(session)
        asked = {"from_turn": first, "to_turn": second} if turns else {}
        if turns:
            for turn in (first, second):
                if not 0 <= turn <= row.turn:
                    raise NotFound(
                        f"session {row.id[:8]} has no turn {turn}", hint=f"its turns go up to {row.turn}"
                    )
            position = self.store.sessions.turn_position
            first, second = position(row.n, first, row.head), position(row.n, second, row.head)
        before, after = self._state(row, first, quarantined), self._state(row, second, quarantined)
        low, high = min(first, second), max(first, second)
        because = self._causes(row, low, high, (before, after), quarantined, turns=turns)
        if turns:
            before = self._with_late(row, first, before, quarantined)
            after = self._with_late(row, second, after, quarantined)
        return {**diff.compare(before, after), **asked, "because": because}

    def _with_late(self, row: SessionRow, at: int, state: SessionState, quarantined: bool) -> SessionState:
        """The state at the end of a turn with what its calls were seen to have changed only later."""
        made = fold(state, self._late(row, at, quarantined))
        return replace(made, at=state.at, turn=state.turn, last_at=state.last_at)

    def _late(self, row: SessionRow, at: int, quarantined: bool) -> list[Event]:
        with self.store.db.reading():
            events = [one for one in self._effective(row, at, min(row.head, at + LATE)) if place_of(one) < at]
            return events if quarantined else self.store.ward.events(row.n, events)

    def compare(
        self,
        first: str,
        first_at: int | None,
        second: str,
        second_at: int | None,
        *,
        quarantined: bool = True,
    ) -> dict[str, Any]:
        """Two sessions, or two branches of one, beside each other; the causes since they parted."""
        rows = [self.store.sessions.resolve(one) for one in (first, second)]
        ends = [self.position(row, at) for row, at in zip(rows, (first_at, second_at), strict=True)]
        states = [self._state(row, at, quarantined) for row, at in zip(rows, ends, strict=True)]
        common = parted(self.store.sessions, (rows[0], ends[0]), (rows[1], ends[1]))
        because: list[dict[str, Any]] = []
        for row, at, state in zip(rows, ends, states, strict=True):
            start = common[1] if common is not None and common[0].n == row.n else 0
            causes = self._causes(row, min(start, at), at, (state,), quarantined)
            because += [{"session": row.id, **cause} for cause in causes]
        sides = [
            {"session": row.id, "at": at, "title": row.title} for row, at in zip(rows, ends, strict=True)
        ]
        made = diff.compare(states[0], states[1])
        alike = {
            one["key"]: self._alike(rows, (one["from"], one["to"]))
            for one in made["changed"].get("files_modified", ())
        }
        return {
            **diff.with_contents(made, states[0], states[1], alike),
            "because": because,
            "first": sides[0],
            "second": sides[1],
            "common": None if common is None else {"session": common[0].id, "at": common[1]},
        }

    def _alike(self, rows: list[SessionRow], entries: tuple[dict[str, Any], ...]) -> bool | None:
        """Whether two branches left the same in a file; None when of either nobody knows what."""
        kept = self.versions_kept
        first, second = (content(self.store, kept, *one) for one in zip(rows, entries, strict=True))
        return None if first is None or second is None else first == second

    def _causes(
        self,
        row: SessionRow,
        low: int,
        high: int,
        states: tuple[SessionState, ...],
        quarantined: bool,
        *,
        turns: bool = False,
    ) -> list[dict[str, Any]]:
        with self.store.db.reading():
            events = list(self._remembered(row, low, max(low, high - SPAN), states))
            unread = max(0, high - SPAN - low) - len(events)
            events += self.store.log.slice(row.n, row.id, max(low, high - SPAN), high)
            if not quarantined:
                events = self.store.ward.events(row.n, events)
        if turns:
            late = [*events, *self._late(row, high, quarantined)]
            events = sorted((one for one in late if place_of(one) >= low), key=place_of)
        made = diff.causes(events)
        if unread > 0:
            made.append({"kind": "more", "role": "more", "counts": {"earlier events": unread}})
        return made

    def _remembered(
        self, row: SessionRow, low: int, high: int, states: tuple[SessionState, ...]
    ) -> Iterator[Event]:
        """The decisions, errors and requests of a long span: the states know where they are."""
        seqs = {
            entry["seq"]
            for state in states
            for table in (state.decisions_made, state.errors, state.requests)
            for entry in table.values()
            if "session" not in entry and low <= entry["seq"] < high
        }
        for seq in sorted(seqs):
            yield from self.store.log.slice(row.n, row.id, seq, seq + 1)

    def retries(self, session: str) -> list[dict[str, Any]]:
        """Calls that were tried again, each beside what it retried: how outcome and output changed."""
        row = self.store.sessions.resolve(session)
        found = []
        with self.store.db.reading():
            for event in self._latest_retries(row):
                seq = event.payload.retry_of
                tried = next(self.store.log.slice(row.n, row.id, seq, seq + 1), None)
                found.append(_retry(event, None if tried is None else tried.payload))
        return found

    def _latest_retries(self, row: SessionRow) -> list[Event]:
        """Looked for from the end, each look back twice as long, until there are as many as are told."""
        again: list[Event] = []
        begin, span = row.head, SPAN
        while begin > 0 and len(again) < RETRIES:
            end, begin, span = begin, max(0, begin - span), 2 * span
            wanted = Wanted(begin, end, kind="action", holding='"retry_of":')
            found = slices.find(self.store.log, row.n, row.id, wanted)
            again = [event for event in found if _retries(event)] + again
        return again[-RETRIES:]

    def _state(self, row: SessionRow, at: int | None, quarantined: bool = True) -> SessionState:
        position = self.position(row, at)
        source = self.store.snapshots if quarantined else self.store.ward
        self.store.renew(row, position)
        with self.store.db.reading():
            return source.state_at(row.n, row.id, position)


def _known(name: str, given: str | None, options: Any) -> None:
    if given is not None and given not in options:
        raise InvalidRequest(f"there is no {name} {given[:40]!r}", hint=f"there are: {', '.join(options)}")


def _bare(event: dict[str, Any]) -> dict[str, Any]:
    kept = ("session", "seq", "at", "turn", "kind", "actor", "source", "trust", "digest", "prev")
    bare = {name: event[name] for name in (*kept, "quarantined")}
    # Who records may name an address as the source: that is a text like any other.
    return bare if bare["source"] in SOURCES else {**bare, "source": "record"}


def _retries(event: Event) -> bool:
    return event.payload is not None and event.payload.retry_of is not None


def _retry(event: Event, tried: Any) -> dict[str, Any]:
    after: Action = event.payload
    before = tried if isinstance(tried, Action) else None
    lines = unified_diff(_lines(before), _lines(after), "before", "after", lineterm="", n=1)
    return {
        "seq": event.seq,
        "retry_of": after.retry_of,
        "tool": after.tool,
        "target": target_of(after.input),
        "same_input": before is not None and before.input_hash == after.input_hash,
        "before": None if before is None else _ended(before),
        "after": _ended(after),
        "diff": "\n".join(list(lines)[2 : CHANGED_LINES + 2]),
    }


def _ended(action: Action) -> dict[str, Any]:
    return {"outcome": action.outcome, "error": action.error, "output": action.output_summary}


def _lines(action: Action | None) -> list[str]:
    """What a call brought back, as lines: its output or, when it had none, its error."""
    said = None if action is None else action.output if action.output is not None else action.error
    if said is None:
        return []
    return (said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, indent=1))[
        :OUTPUT
    ].splitlines()
