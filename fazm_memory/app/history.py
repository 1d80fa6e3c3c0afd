"""Read sessions: events, states, files, differences, retries."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fazm_memory import session as sessions
from fazm_memory.app.memory import Service
from fazm_memory.clock import iso, modification_time
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.events import (
    FAILED,
    KINDS,
    SOURCES,
    TRUSTS,
    UNTRUSTED,
    Action,
    By,
    Event,
    causal_position,
    target_of,
)
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import replace
from fazm_memory.store import (
    EventQuery,
    FileVersion,
    SessionRow,
    common_ancestor,
    effective_ranges,
    plain_root,
    queries,
    session_end,
)
from fazm_memory.text import shorten
from fazm_memory.watch import content_after

MOST_SESSIONS = 500  # latest sessions that are searched for untrusted input
SPAN = 1000  # latest events of a difference that are read one by one
RETRIES = 200  # latest retries that are returned
OUTPUT = 4000  # characters of an output that are compared
CHANGED_LINES = 60
MEANWHILE = 20  # latest files, requests and decisions between a call and its retry


def _check_option(name: str, value: str | None, options: Any) -> None:
    if value is not None and value not in options:
        raise InvalidRequest(f"there is no {name} {value[:40]!r}", hint=f"there are: {', '.join(options)}")


def _without_content(event: dict[str, Any]) -> dict[str, Any]:
    names = ("session", "seq", "at", "turn", "kind", "actor", "source", "trust", "digest", "prev")
    # A source that is not one of ours is free text, such as an address.
    source = event["source"] if event["source"] in SOURCES else "record"
    return {**{name: event[name] for name in names}, "source": source, "quarantined": True, "payload": None}


def _retry(event: Event, tried: Event | None) -> dict[str, Any]:
    after: Action = event.payload
    before = tried.payload if tried is not None and isinstance(tried.payload, Action) else None
    from difflib import unified_diff

    lines = unified_diff(_lines(before), _lines(after), "before", "after", lineterm="", n=1)
    return {
        "seq": event.seq,
        "retry_of": after.retry_of,
        "tool": after.tool,
        "target": target_of(after.input),
        "same_input": before is not None and before.input_hash == after.input_hash,
        "before": None if before is None else _result(before),
        "after": _result(after),
        "changed": [] if before is None else _changed(before, after),
        "turns": [None if tried is None else tried.turn, event.turn],
        "diff": "\n".join(list(lines)[2 : CHANGED_LINES + 2]),
    }


def _result(action: Action) -> dict[str, Any]:
    return {
        "outcome": action.outcome,
        "error": action.error,
        "output": action.output_summary,
        "duration_ms": action.duration_ms,
    }


def _changed(before: Action, after: Action) -> list[str]:
    """What differs between two calls: input, outcome, output, duration."""
    pairs = {
        "input": (before.input_hash, after.input_hash),
        "outcome": (before.outcome, after.outcome),
        "output": (before.output, after.output),
        "error": (before.error, after.error),
    }
    changed = [name for name, (old, new) in pairs.items() if old != new]
    durations = (before.duration_ms, after.duration_ms)
    return [*changed, "duration"] if None not in durations and len(set(durations)) > 1 else changed


def _changes_of(file: dict[str, Any]) -> list[dict[str, Any]]:
    """The last change of a file, and the last one of each author."""
    return [file, *file.get("changed_by", ())]


def _is_creation(change: dict[str, Any], row: SessionRow) -> bool:
    """Whether a change of this session says that it created the file."""
    return change["change"] == "created" and change.get("session") in (None, row.id)


class _StateHashes:
    """The hashes of the states after events that are asked for in order.

    Reads each event once.
    """

    def __init__(self, history: HistoryService, row: SessionRow, quarantined: bool) -> None:
        self.history, self.row, self.quarantined = history, row, quarantined
        self.state: sessions.SessionState | None = None

    def after(self, seq: int) -> str:
        store = self.history.store
        # A fold continues only over plain events: a rewind jumps, and the quarantine leaves some out.
        near = self.state is not None and seq + 1 - SPAN <= self.state.at <= seq and self.quarantined
        if near and self.state is not None:
            events = list(store.log.slice(self.row.n, self.row.id, self.state.at, seq + 1))
            if not any(event.kind in ("rewind", "session.open") for event in events):
                self.state = sessions.fold(self.state, events)
                return sessions.state_hash(self.state)
        self.state = self.history.state_at(self.row, seq + 1, self.quarantined)
        return sessions.state_hash(self.state)


def _lines(action: Action | None) -> list[str]:
    """The lines of a call's output or, without one, of its error."""
    output = None if action is None else action.output if action.output is not None else action.error
    if output is None:
        return []
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=1)
    return text[:OUTPUT].splitlines()


class HistoryService(Service):
    """Read sessions: events, states, files, differences, retries.

    Use it as `memory.history`.
    """

    def events(
        self,
        session: str,
        *,
        start: int | str = 0,
        stop: int | str | None = None,
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
        rows_only: bool = False,
        state_hashes: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """The events from `start` to before `stop` that match, as JSON or as summary rows.

        `start` and `stop` are positions or other names of moments. With `state_hashes` each event has the
        hash of the state after it.
        """
        _check_option("kind", kind, KINDS)
        _check_option("outcome", outcome, ("ok", *sorted(FAILED)))
        _check_option("trust", trust, TRUSTS)
        row = self.store.sessions.resolve(session)
        view = self.store.quarantine_view
        in_quarantine, withheld = view.marks_of(row.n), view.withheld(row.n)
        arrivals = queries.ClaimedTimes(self.store.db, row.n)
        if isinstance(start, str):
            start = self._memory.sessions.position(row, start, begin=True)
        if isinstance(stop, str):
            stop = self._memory.sessions.position(row, stop, begin=True)
        hashes = _StateHashes(self, row, quarantined) if state_hashes else None
        if self.store.as_of is not None:
            stop = row.head if stop is None else min(stop, row.head)
        wanted = EventQuery(start, stop, kind, tool, file, outcome, trust, turns, since, until, limit)
        for event in queries.find_events(self.store.log, row.n, row.id, wanted):
            row_json = sessions.summary_row(event) if rows_only else sessions.event_json(event)
            row_json |= {name: iso(at) for name, at in arrivals.times(event).items()}
            if in_quarantine.has(event.seq):
                row_json["quarantined"] = True
            if event.kind == "evicted" and event.payload is not None and not rows_only:
                row_json["evicted_keys"] = self._evicted_by(row, event, quarantined)
            if hashes is not None:
                row_json["state_hash"] = hashes.after(event.seq)
            yield _without_content(row_json) if not quarantined and withheld(event) else row_json

    def _evicted_by(self, row: SessionRow, event: Event, quarantined: bool) -> list[str]:
        """The keys that left the context with an event.

        It may name only what its summary still has.
        """
        if event.payload.keys:
            return list(event.payload.keys)
        before = self.state_at(row, event.seq, quarantined).evicted_keys
        return [
            key for key in self.state_at(row, event.seq + 1, quarantined).evicted_keys if key not in before
        ]

    def state(self, session: str, *, at: int | str | None = None, quarantined: bool = True) -> dict[str, Any]:
        """The state after the first `at` events, by default now.

        It includes the conventions learned from it.
        """
        row = self.store.sessions.resolve(session)
        state = self.state_at(row, at, quarantined)
        in_quarantine = self.store.quarantine_view.marks_of(row.n)
        shown = sessions.state_to_json(state)
        if at is None and shown["ended"] is None:  # how long it has been silent, the log alone cannot say
            shown["ended"] = session_end(self.store.db, row, self.now())
        return {
            **shown,
            "files_modified": self._creations_checked(row, shown["files_modified"]),
            **sessions.naming_json(state, modification_time),
            "quarantined": {"whole": in_quarantine.whole, "seqs": sorted(in_quarantine.seqs)},
            "state_hash": sessions.state_hash(state),
        }

    def budget(self, session: str) -> dict[str, Any]:
        """What was spent and what is left, with the time up to now."""
        row = self.store.sessions.resolve(session)
        return sessions.budget_now(self.state_at(row, None, quarantined=False), self.now())

    def files_modified(
        self, session: str, *, turns: int | None = None, by: By | None = None, quarantined: bool = True
    ) -> dict[str, Any]:
        """The net changes to files in the session or its last turns, by author.

        A file that several changed is listed for each of them: `by` gives it as this author left it.
        """
        row = self.store.sessions.resolve(session)
        if turns is not None and turns < 1:
            raise InvalidRequest(
                "the number of turns must be 1 or more", hint="leave it out for the whole session"
            )
        first = 0 if turns is None else max(0, row.turn - turns + 1)
        with self.store.db.reading():
            begin = 0
            if turns is None:
                source = self.store.snapshots if quarantined else self.store.quarantine_view
                state = source.state_at(row.n, row.id, row.head)
            else:
                begin = self.store.sessions.turn_position(row.n, first - 1, row.head) if first else 0
                events = self._effective(row, begin, row.head)
                late = (event for event in events if causal_position(event) >= begin)
                state = sessions.fold(
                    sessions.initial_state(row.id),
                    late if quarantined else self.store.quarantine_view.events(row.n, late),
                )
        entries = state.files_modified.values()
        rows = [entry.to_json() if by is None else entry.json_by(by) for entry in entries]
        files = self._creations_checked(row, [file for file in rows if file is not None], begin)
        omitted = state.omitted.get("files_modified", 0)
        return {"session": row.id, "turns": [first, row.turn], "files": files, "omitted": omitted}

    def file_changes(self, path: str, *, by: By | None = None, limit: int = 50) -> dict[str, Any]:
        """Which sessions changed a file and why, newest first.

        The reason is the request that led to the change.

        A relative path stands for the end of one. Changes of one turn by one author are one entry.
        """
        self.store.index_if_possible()
        found: dict[tuple[str, int, str], dict[str, Any]] = {}
        as_of = self.store.as_of
        with self.store.db.reading():
            for event, touch in self.store.search.changes(path):
                author = getattr(touch, "by", "agent")
                if (as_of is not None and event.at > as_of) or by not in (None, author):
                    continue
                key = (event.session, event.turn, author)
                if key in found:
                    found[key]["count"] += 1
                elif len(found) < limit:
                    found[key] = self._file_change(event, touch, author)
        return {"path": path, "changes": list(found.values())}

    def changed_files(self, names: Iterable[str], *, limit: int = 3) -> list[dict[str, Any]]:
        """Changed files with these names or ends of paths.

        The file that was changed last comes first.
        """
        found: dict[str, dict[str, Any]] = {}
        with self.store.db.reading():
            for event, touch in (change for name in names for change in self.store.search.changes(name)):
                if self.store.as_of is not None and event.at > self.store.as_of:
                    continue
                file = found.setdefault(
                    touch.path, {"path": touch.path, "at": event.at, "changes": 0, "sessions": set()}
                )
                file["at"] = max(file["at"], event.at)
                file["changes"] += 1
                file["sessions"].add(event.session)
        latest = sorted(found.values(), key=lambda file: -file["at"])[:limit]
        return [file | {"at": iso(file["at"]), "sessions": len(file["sessions"])} for file in latest]

    def _file_change(self, event: Event, touch: Any, author: str) -> dict[str, Any]:
        row = self.store.sessions.resolve(event.session)
        begin = self.store.sessions.turn_position(row.n, event.turn - 1, row.head) if event.turn else 0
        turn = self.store.log.slice(row.n, row.id, begin, min(event.seq, begin + SPAN))
        asked = next((past.payload for past in turn if past.kind == "prompt" and past.payload), None)
        return {
            "session": row.id,
            "title": row.title,
            "agent": row.agent,
            "at": iso(event.at),
            "turn": event.turn,
            "seq": event.seq,
            "path": touch.path,
            "change": touch.change,
            "from": touch.origin,
            "by": author,
            "count": 1,
            "request": None if asked is None or author != "agent" else asked.text,
        }

    def _creations_checked(
        self, row: SessionRow, files: list[dict[str, Any]], begin: int = 0
    ) -> list[dict[str, Any]]:
        """Correct "created" where a stored version shows an earlier file, for each author.

        `files` are the changes of the session from the position `begin` on.
        """
        versions = self._memory.existing_file_versions
        created = [file["path"] for file in files if any(_is_creation(one, row) for one in _changes_of(file))]
        if versions is None or not created:
            return files
        known: dict[str, list[FileVersion]] = defaultdict(list)
        for version in versions.histories(created):
            known[f"{plain_root(version.root).rstrip('/')}/{version.path}"].append(version)

        def checked(path: str, change: dict[str, Any]) -> dict[str, Any]:
            if not _is_creation(change, row) or not self._was_there(row, change["seq"], known[path], begin):
                return change
            return change | {
                "change": "modified",
                "evidence": "a stored version shows that it was there before",
            }

        return [
            checked(file["path"], file)
            | ({"changed_by": [checked(file["path"], one) for one in authors]} if authors else {})
            for file in files
            for authors in (file.get("changed_by"),)
        ]

    def _was_there(self, row: SessionRow, seq: int, versions: list[FileVersion], begin: int) -> bool:
        """Whether the file existed before the session's own changes.

        The last older version decides.
        """
        event = next(self.store.log.slice(row.n, row.id, seq, seq + 1), None)
        if event is None:
            return False
        before = None
        for version in versions:
            own = version.session == row.id and (version.seq is None or version.seq >= begin)
            if own or version.at >= event.at:
                break
            before = version
        return before is not None and not before.absent

    def _effective(self, row: SessionRow, start: int, stop: int) -> Iterator[Event]:
        for low, high in effective_ranges(self.store.db, row.n, stop, start):
            yield from self.store.log.slice(row.n, row.id, low, high)

    def diff(
        self,
        session: str,
        first: int | str,
        second: int | str,
        *,
        turns: bool = False,
        quarantined: bool = True,
    ) -> dict[str, Any]:
        """What changed between two moments, or between the ends of two turns, and why."""
        row = self.store.sessions.resolve(session)
        first, second = self._ends(row, first, second, turns)
        asked = {"from_turn": first, "to_turn": second} if turns else {}
        if turns:
            for turn in (first, second):
                if not 0 <= turn <= row.turn:
                    raise NotFound(
                        f"session {row.id[:8]} has no turn {turn}", hint=f"its turns go up to {row.turn}"
                    )
            position = self.store.sessions.turn_position
            first, second = position(row.n, first, row.head), position(row.n, second, row.head)
        before, after = self.state_at(row, first, quarantined), self.state_at(row, second, quarantined)
        low, high = min(first, second), max(first, second)
        because = self._causes(row, low, high, (before, after), quarantined, turns=turns)
        if turns:
            before = self._with_late(row, first, before, quarantined)
            after = self._with_late(row, second, after, quarantined)
        result = sessions.diff.compare(before, after)
        sessions.diff.add_replaced(because, (before, after))
        return {
            **result,
            **asked,
            "because": because,
            "state_hashes": [sessions.state_hash(before), sessions.state_hash(after)],
        }

    def _ends(self, row: SessionRow, first: int | str, second: int | str, turns: bool) -> tuple[int, int]:
        """Two moments as positions, or as numbers of turns."""
        if not turns:
            find = self._memory.sessions.position
            return find(row, first), find(row, second)
        try:
            return int(first), int(second)
        except ValueError:
            raise InvalidRequest(
                f'"{first}" and "{second}" are not two turns.', hint="Give numbers, or leave `turns` out."
            ) from None

    def _with_late(
        self, row: SessionRow, at: int, state: sessions.SessionState, quarantined: bool
    ) -> sessions.SessionState:
        """The state at the end of a turn, with late changes by its calls.

        A late change was recorded after the turn.
        """
        later = sessions.fold(state, self._late(row, at, quarantined))
        return replace(later, at=state.at, turn=state.turn, last_at=state.last_at)

    def _late(self, row: SessionRow, at: int, quarantined: bool) -> list[Event]:
        with self.store.db.reading():
            events = [
                event
                for event in self._effective(row, at, min(row.head, at + sessions.DEFERRED_WINDOW))
                if causal_position(event) < at
            ]
            return events if quarantined else self.store.quarantine_view.events(row.n, events)

    def compare(
        self,
        first: str,
        first_at: int | str | None,
        second: str,
        second_at: int | str | None,
        *,
        quarantined: bool = True,
    ) -> dict[str, Any]:
        """Compare two sessions or branches, with the causes since their common ancestor."""
        rows = [self.store.sessions.resolve(session) for session in (first, second)]
        ends = [
            self._memory.sessions.position(row, at)
            for row, at in zip(rows, (first_at, second_at), strict=True)
        ]
        states = [self.state_at(row, at, quarantined) for row, at in zip(rows, ends, strict=True)]
        common = common_ancestor(self.store.sessions, (rows[0], ends[0]), (rows[1], ends[1]))
        because: list[dict[str, Any]] = []
        for row, at, state in zip(rows, ends, states, strict=True):
            start = common[1] if common is not None and common[0].n == row.n else 0
            causes = self._causes(row, min(start, at), at, (state,), quarantined)
            because += [{"session": row.id, **cause} for cause in causes]
        sides = [
            {"session": row.id, "at": at, "title": row.title} for row, at in zip(rows, ends, strict=True)
        ]
        result = sessions.diff.compare(states[0], states[1])
        same_content = {
            change["key"]: self._same_content(rows, (change["from"], change["to"]))
            for change in result["changed"].get("files_modified", ())
        }
        return {
            **sessions.diff.with_contents(result, states[0], states[1], same_content),
            "because": because,
            "first": sides[0],
            "second": sides[1],
            "common": None if common is None else {"session": common[0].id, "at": common[1]},
        }

    def _same_content(self, rows: list[SessionRow], entries: tuple[dict[str, Any], ...]) -> bool | None:
        """Whether a file has the same content in both branches.

        None when one content is unknown.
        """
        versions = self._memory.existing_file_versions
        pairs = zip(rows, entries, strict=True)
        first, second = (content_after(self.store, versions, row, entry) for row, entry in pairs)
        return None if first is None or second is None else first == second

    def _causes(
        self,
        row: SessionRow,
        low: int,
        high: int,
        states: tuple[sessions.SessionState, ...],
        quarantined: bool,
        *,
        turns: bool = False,
    ) -> list[dict[str, Any]]:
        with self.store.db.reading():
            events = list(self._notable(row, low, max(low, high - SPAN), states))
            unread = max(0, high - SPAN - low) - len(events)
            events += self.store.log.slice(row.n, row.id, max(low, high - SPAN), high)
            if not quarantined:
                events = self.store.quarantine_view.events(row.n, events)
        if turns:
            late = [*events, *self._late(row, high, quarantined)]
            events = sorted(
                (event for event in late if causal_position(event) >= low),
                key=causal_position,
            )
        causes = sessions.diff.causes(events)
        if unread > 0:
            causes.append({"kind": "more", "role": "more", "counts": {"earlier events": unread}})
        return causes

    def _notable(
        self, row: SessionRow, low: int, high: int, states: tuple[sessions.SessionState, ...]
    ) -> Iterator[Event]:
        """The decisions, errors and requests of a long span.

        They are found at the positions listed in the states.
        """
        seqs = {
            entry["seq"]
            for state in states
            for table in (state.decisions_made, state.errors, state.requests)
            for entry in table.values()
            if "session" not in entry and low <= entry["seq"] < high
        }
        for seq in sorted(seqs):
            yield from self.store.log.slice(row.n, row.id, seq, seq + 1)

    def retries(
        self, session: str, *, quarantined: bool = True, meanwhile: bool = True
    ) -> list[dict[str, Any]]:
        """Calls that retry an earlier call, and what changed in between.

        Compared are outcome, output and duration.

        Without `meanwhile` the events between the calls are not read.
        """
        row = self.store.sessions.resolve(session)
        withheld = None if quarantined else self.store.quarantine_view.withheld(row.n)
        with self.store.db.reading():
            return [
                self.retry(row, event, withheld, meanwhile=meanwhile)
                for event in self._latest_retries(row)
                if withheld is None or not withheld(event)
            ]

    def retry(
        self,
        row: SessionRow,
        event: Event,
        withheld: Callable[[Event], bool] | None = None,
        *,
        meanwhile: bool = True,
    ) -> dict[str, Any]:
        """A call that retries another, both results, and what changed in between."""
        seq = event.payload.retry_of
        tried = next(self.store.log.slice(row.n, row.id, seq, seq + 1), None)
        if tried is not None and withheld is not None and withheld(tried):
            tried = None
        result = _retry(event, tried)
        if not meanwhile:
            return result
        return result | {"meanwhile": self._meanwhile(row, seq, event.seq, withheld is None)}

    def _meanwhile(self, row: SessionRow, first: int, second: int, quarantined: bool) -> dict[str, Any]:
        """What differed between two calls: files, requests, decisions."""
        files: dict[str, str] = {}
        requests, decisions = [], []
        events = list(self.store.log.slice(row.n, row.id, max(first + 1, second - SPAN), second))
        for event in events if quarantined else self.store.quarantine_view.events(row.n, events):
            payload = event.payload
            if payload is None:
                continue
            if event.kind in ("action", "action.amend"):
                files |= {touch.path: "agent" for touch in payload.files if touch.change != "read"}
            elif event.kind == "file":
                files[payload.path] = payload.by
            elif event.kind == "prompt":
                requests.append({"seq": event.seq, "text": shorten(payload.text)})
            elif event.kind == "decision":
                decisions.append({"seq": event.seq, "what": shorten(payload.what)})
        changed = [{"path": path, "by": by} for path, by in files.items()]
        return {"files": changed[-MEANWHILE:], "requests": requests[-MEANWHILE:],
                "decisions": decisions[-MEANWHILE:]}  # fmt: skip

    def _latest_retries(self, row: SessionRow) -> list[Event]:
        """Read backwards in spans that double, until there are enough."""
        retries: list[Event] = []
        begin, span = row.head, SPAN
        while begin > 0 and len(retries) < RETRIES:
            end, begin, span = begin, max(0, begin - span), 2 * span
            wanted = EventQuery(begin, end, kind="action", holding='"retry_of":')
            found = queries.find_events(self.store.log, row.n, row.id, wanted)
            actions = [event for event in found if event.payload is not None]
            retries = [event for event in actions if event.payload.retry_of is not None] + retries
        return retries[-RETRIES:]

    def untrusted(
        self,
        *,
        session: str | None = None,
        workspace: str | None = None,
        trust: str | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        """Untrusted input of all sessions, latest first.

        Each entry has its hash and what followed it.
        """
        _check_option("trust", trust, sorted(UNTRUSTED))
        if session is not None:
            rows = [self.store.sessions.resolve(session)]
        else:
            rows = self.store.sessions.listing(limit=MOST_SESSIONS, workspace=workspace, background=True)
        found: list[dict[str, Any]] = []
        for row in rows:
            state = self.state_at(row, None, quarantined=False)
            entries = [
                entry for entry in reversed(state.untrusted.values()) if trust in (None, entry["trust"])
            ]
            found += [{"session": row.id, "title": row.title, **entry} for entry in entries]
            if len(found) >= limit:
                break
        return found[:limit]

    def state_at(
        self, row: SessionRow, at: int | str | None, quarantined: bool = True
    ) -> sessions.SessionState:
        position = self._memory.sessions.position(row, at)
        source = self.store.snapshots if quarantined else self.store.quarantine_view
        self.store.rebuild_snapshots(row, position)
        with self.store.db.reading():
            return source.state_at(row.n, row.id, position)


# What an edit changed in a file, read from the call itself
#
# Used where no version of the file was kept: agents' edit tools carry the old and the new text, or a patch.

OLD = ("old_string", "oldString", "old_str", "old_text", "search", "old")
NEW = ("new_string", "newString", "new_str", "new_text", "replace", "new", "new_source", "insert_text")
WHOLE = ("content", "contents", "file_text", "text")
PATCH = ("patch", "diff", "input", "patch_text")
PATCH_FILE = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")
PATCH_WORD = "*** "
PATCH_PLACE = lazy_regex(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
MAX_LINES = 2000  # of a patch

Hunk = dict[str, Any]


def edit_hunks(call_input: Any, path: str, line: int | None = None) -> tuple[list[Hunk], str | None]:
    """The hunks of a call for one file, and a note: how much they show.

    `line` is the first line that the call changed. A hunk without `a` and `b` has no line numbers.
    """
    if isinstance(call_input, str):
        return _patch_hunks(call_input, path)
    if not isinstance(call_input, dict):
        return [], None
    for name in PATCH:
        text = call_input.get(name)
        if isinstance(text, str) and _is_patch(text):
            return _patch_hunks(text, path)
    edits = call_input.get("edits")
    parts = [part for part in edits if isinstance(part, dict)] if isinstance(edits, list) else [call_input]
    pairs = [(_first(part, OLD), _first(part, NEW)) for part in parts]
    texts = [(old or "", new or "") for old, new in pairs if (old, new) != (None, None)]
    if len(texts) == 1 and line is not None:
        every = " It was made everywhere in the file; this is the first place." if _everywhere(parts) else ""
        start = max(1, line - _equal_lines(*texts[0]))
        return _starting_at(sessions.hunks(*texts[0])[0], start), f"From the edit itself.{every}"
    found = [hunk for old, new in texts for hunk in _without_numbers(sessions.hunks(old, new)[0])]
    if found:
        return found, "From the edit itself. Line numbers are not known."
    whole = _first(call_input, WHOLE)
    if whole is not None and target_of(call_input).endswith(path.rsplit("/", 1)[-1]):
        return sessions.hunks("", whole)[0], "The whole new content. What was there before is not known."
    return [], None


def _first(part: dict[str, Any], names: Iterable[str]) -> str | None:
    return next((part[name] for name in names if isinstance(part.get(name), str)), None)


def _everywhere(parts: list[dict[str, Any]]) -> bool:
    return any(part.get(name) is True for part in parts for name in ("replace_all", "replaceAll"))


def _starting_at(found: list[Hunk], start: int) -> list[Hunk]:
    """The hunks of a part of a file that starts at a line."""
    return [{**hunk, "a": hunk["a"] + start - 1, "b": hunk["b"] + start - 1} for hunk in found]


def _equal_lines(old: str, new: str) -> int:
    """How many lines at the beginning are the same."""
    pairs = zip(old.splitlines(), new.splitlines(), strict=False)
    return next((nth for nth, (one, other) in enumerate(pairs) if one != other),
                min(len(old.splitlines()), len(new.splitlines())))  # fmt: skip


def _without_numbers(found: list[Hunk]) -> list[Hunk]:
    return [{"a": None, "b": None, "lines": hunk["lines"]} for hunk in found]


def _is_patch(text: str) -> bool:
    return text.lstrip().startswith(("*** Begin Patch", "--- ", "diff --git ")) or "<<<<<<< SEARCH" in text


def _patch_hunks(text: str, path: str) -> tuple[list[Hunk], str | None]:
    if "<<<<<<< SEARCH" in text:
        blocks = [_without_numbers(sessions.hunks(old, new)[0]) for old, new in _search_blocks(text)]
        found = [hunk for block in blocks for hunk in block]
    else:
        found = [hunk for file, hunk in _patch_parts(text) if _same_file(file, path)]
    return found, "From the patch of the call." if found else None


def _same_file(named: str, path: str) -> bool:
    return not named or path == named or path.endswith(f"/{named.removeprefix('./')}")


def _patch_parts(text: str) -> Iterator[tuple[str, Hunk]]:
    """Each hunk of a unified diff or of an apply_patch text, with its file."""
    file = ""
    lines: list[dict[str, str]] = []
    place: tuple[int | None, int | None] = (None, None)
    for line in text.splitlines()[:MAX_LINES]:
        name = _file_named(line)
        if name is not None or line.startswith(("@@", PATCH_WORD)):
            if lines:
                yield file, {"a": place[0], "b": place[1], "lines": lines}
            file, lines = name if name is not None else file, []
            numbers = PATCH_PLACE.match(line)
            place = (int(numbers.group(1)), int(numbers.group(2))) if numbers else (None, None)
        elif line[:1] in ("+", "-", " ") and not line.startswith("--- "):
            lines.append({"op": line[0], "text": line[1:]})
    if lines:
        yield file, {"a": place[0], "b": place[1], "lines": lines}


def _file_named(line: str) -> str | None:
    for word in PATCH_FILE:
        if line.startswith(word):
            return line.removeprefix(word).strip()
    if line.startswith("+++ "):
        return line.removeprefix("+++ ").split("\t")[0].strip().removeprefix("b/")
    return None


def _search_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Old and new text of the blocks between SEARCH and REPLACE marks."""
    sides: list[list[str]] = [[], []]
    side: int | None = None
    for line in text.splitlines()[:MAX_LINES]:
        if line.startswith("<<<<<<< SEARCH"):
            sides, side = [[], []], 0
        elif line.startswith("=======") and side == 0:
            side = 1
        elif line.startswith(">>>>>>> REPLACE") and side == 1:
            yield "\n".join(sides[0]), "\n".join(sides[1])
            side = None
        elif side is not None:
            sides[side].append(line)
