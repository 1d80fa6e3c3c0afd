"""What the timeline page shows: days, pages of events, details, lanes."""

from __future__ import annotations

from base64 import b64encode
from bisect import bisect
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from fazm_memory.app.history import edit_hunks
from fazm_memory.app.memory import Memory, Service
from fazm_memory.clock import iso, to_datetime, to_micros
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.events import Event, target_of
from fazm_memory.ingest import COMPANION_AGENT
from fazm_memory.records import asdict, replace
from fazm_memory.session import (
    disk_changes_by_call,
    event_json,
    hunks,
    lane_marks,
    outline_rows,
    outline_turns,
    summary_row,
)
from fazm_memory.store import (
    EVENT_COLUMNS,
    HERE,
    EventFilter,
    EventQuery,
    FileVersion,
    FileVersions,
    SessionRow,
    effective_ranges,
    event_id,
    event_page,
    plain_root,
    projections,
    queries,
    to_event,
)

DAY = 86_400_000_000
EVERY = EventFilter()
TOKENS_WITHIN = 20  # events after the last row of a page that may count its tokens
OUTLINED = 10_000  # events of the longest session whose rows are folded and put in time order
RECENT = 200  # sessions whose agents and folders are offered as filters


def day_bounds(day: date) -> tuple[int, int]:
    """The start of a local day and of the next one. A day may not have 24 hours."""
    begin, end = (datetime.combine(date_, time()).astimezone() for date_ in (day, day + timedelta(days=1)))
    return to_micros(begin), to_micros(end)


def session_with_times(memory: Memory, row: SessionRow) -> dict[str, Any]:
    """The session as JSON, with its times in milliseconds and its day."""
    return {
        **memory.sessions.to_json(row),
        "opened_ms": row.opened_at // 1000,
        "last_ms": row.last_at // 1000,
        "day": f"{to_datetime(row.last_at):%Y-%m-%d}",
    }


SHOWN = 256 << 10  # bytes of the largest file whose text is shown
LOOK_BACK = 400  # events before an event that are searched for its causes
CAUSE_KINDS = frozenset({"prompt", "decision", "handoff.answer", "message"})
LOOK_AHEAD = 400  # events after a call in which its retry and its changes on disk are searched
STARTED_WITHIN = 100  # events before the end of a call in which its start is searched
SETTLING = 10_000_000  # microseconds after a call in which its file changes are recorded
ACTORS = {"agent": "By the agent", "person": "By you", "system": "By the system", "unknown": "By unknown"}
SOURCES = {
    "hook": "from the agent's hook", "transcript": "from the transcript", "mcp": "over MCP",
    "cli": "from the command line", "files": "seen on disk", "desktop": "seen on the desktop",
    "import": "from an imported transcript", "companion": "from the companion", "web": "from this page",
    "menubar": "from the menu bar", "record": "through record",
}  # fmt: skip


def _touched(event: Event) -> list[dict[str, Any]]:
    """The files that an event read or changed, who did it and how that is known."""
    p = event.payload
    if event.kind == "file" and p is not None:
        return [{"path": p.path, "change": p.change, "from": p.origin, "by": p.by, "evidence": p.evidence}]
    if event.kind not in ("action", "action.amend") or p is None:
        return []
    return [
        {"path": file.path, "change": file.change, "from": file.origin, "by": "agent",
         "evidence": file.why if file.inferred else None}
        for file in p.files
    ]  # fmt: skip


def _is_stored(version: FileVersion | None) -> bool:
    return version is not None and (version.absent or version.digest is not None)


def _why_not(name: str, version: FileVersion | None, side: dict[str, Any] | None) -> str | None:
    if version is None:
        return f"{name}: no version was kept"
    if side is None:
        return f"{name}: not kept ({version.reason or 'it had to make room'})"
    if side["exists"] and side["text"] is None:
        return f"{name}: not text, or too long to show"
    return None


def _text(data: bytes) -> str | None:
    if b"\0" in data[:8192] or len(data) > SHOWN:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


# Pictures that a browser draws without running anything, by their first bytes.
IMAGES = {
    b"\x89PNG\r\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}
IMAGE_SHOWN = 2 << 20  # bytes


def _image(data: bytes) -> str | None:
    """A picture as a data URL."""
    kind = next((kind for start, kind in IMAGES.items() if data.startswith(start)), None)
    if kind is None or len(data) > IMAGE_SHOWN or (kind == "image/webp" and data[8:12] != b"WEBP"):
        return None
    return f"data:{kind};base64,{b64encode(data).decode()}"


def _provenance(event: Event) -> dict[str, Any]:
    who = ACTORS.get(event.actor, f"By {event.actor}")
    words = f"{who} · {SOURCES.get(event.source, event.source)} · trust: {event.trust}"
    return {"actor": event.actor, "source": event.source, "trust": event.trust, "digest": event.digest,
            "words": words}  # fmt: skip


def _causes(event: Event, before: list[Event]) -> list[dict[str, Any]]:
    """What led to an event.

    The prompt, decisions and answers of its turn, and the call it retries.
    """
    if event.kind == "rewind" and event.actor == "person":
        return []  # a person decided it, whatever the agent was asked before
    causes: list[dict[str, Any]] = []
    retry_of = getattr(event.payload, "retry_of", None)
    for earlier in before:
        p = earlier.payload
        if p is None:
            continue
        cause: dict[str, Any] = {"seq": earlier.seq, "kind": earlier.kind}
        if earlier.kind == "prompt" and earlier.turn == event.turn:
            causes.append(cause | {"what": p.text[:500]})
        elif earlier.kind == "decision" and earlier.turn == event.turn:
            causes.append(cause | {"what": p.what, "why": p.why})
        elif earlier.kind == "message" and earlier.turn == event.turn and earlier is before[-1]:
            causes.append(cause | {"what": p.text[:500]})
        elif earlier.kind == "handoff.answer" and earlier.turn == event.turn:
            causes.append(cause | {"what": "answered" if not p.waived else "waived", "why": p.answer})
        elif earlier.seq == retry_of:
            causes.append(cause | {"what": f"{p.tool} {target_of(p.input)}", "why": p.error})
    return causes[-20:]


def context_item_id(event: Event) -> str | None:
    """The id of the context item that shows this event, if it can have one."""
    p, session = event.payload, event.session[:8]
    if p is None:
        return None
    if event.kind == "decision":
        return f"{session}:decision:{event.seq}"
    if event.kind == "fact":
        return f"preference:{p.key}" if event.trust == "user" else f"{session}:fact:{p.key}"
    if event.kind == "handoff":
        return f"{session}:question:{p.id}"
    if event.kind == "pending":
        return f"{session}:pending:{p.id}"
    if event.kind == "action" and p.outcome != "ok":
        return f"{session}:failed:{event.seq}"
    return None


BUCKETS = {"minute": 60_000_000, "hour": 3_600_000_000, "day": DAY}
MOST_BUCKETS = 3000
LANES = ("actions", "decisions", "files", "apps", "marks")
MOST_SESSIONS = 24
MOST_DRAWN = 1000  # events of all sessions together
LEAST_DRAWN = 40  # events of one session, if it has that many


def _gap(since: int, until: int, why: str, note: str | None) -> dict[str, Any]:
    return {
        "from_ms": since // 1000, "to_ms": until // 1000, "from": iso(since), "to": iso(until), "why": why,
        "note": note,
    }  # fmt: skip


class TimelineService(Service):
    """What the timeline page shows: days, pages of events, details, lanes.

    Use it as `memory.timeline`.
    """

    def days(self, *, cursor: str | None = None, limit: int = 30) -> dict[str, Any]:
        """Days on which anything happened, newest first."""
        before = self.now() + DAY if cursor is None else queries.read_cursor(cursor, "d", 1)[0]
        items: list[dict[str, Any]] = []
        self.store.index_backlog()
        with self.store.db.reading():
            last = projections.latest_minute(self.store, before)
            while last is not None and len(items) < limit:
                day = to_datetime(last).date()
                begin, end = day_bounds(day)
                count = (
                    projections.count_by_time(self.store, begin, end, end - begin).get(0)
                    or projections.TimeBucket()
                )
                items.append(
                    {"day": f"{day:%Y-%m-%d}", "from_ms": begin // 1000, "to_ms": end // 1000,
                     "sessions": len(count.sessions), "events": count.events, "failures": count.failures}
                )  # fmt: skip
                before = begin
                last = projections.latest_minute(self.store, before)
        return {"items": items, "next": None if last is None else f"d.{before}"}

    def day_totals(self) -> dict[str, Any] | None:
        """The latest day on which anything happened, in numbers.

        Sessions, actions, files, failures and active minutes.
        """
        days = self.days(limit=1)["items"]
        if not days:
            return None
        begin, end = (days[0][name] * 1000 for name in ("from_ms", "to_ms"))
        minutes = self.rollup(begin, end)["buckets"]
        counts = {name: sum(bucket[name] for bucket in minutes) for name in ("actions", "decisions", "files")}
        return {**days[0], **counts, "active_minutes": sum(bool(bucket["events"]) for bucket in minutes)}

    def session_page(
        self,
        *,
        day: date | None = None,
        outcome: str | None = None,
        words: str | None = None,
        background: bool = False,
        device: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        **equal: str | None,
    ) -> dict[str, Any]:
        """A page of sessions, latest first.

        The first page also lists agents, folders and machines to filter by.

        `device` is the name of the machine that records them, or HERE.
        """
        wanted = (words or "").casefold().split()
        if outcome not in (None, "ok", "failed", "waiting"):
            raise InvalidRequest(
                f"there is no outcome {outcome[:40]!r} of a session", hint="ok, failed or waiting"
            )

        def matches(row: SessionRow) -> bool:
            text = f"{row.title}\n{row.workspace}\n{row.agent}\n{row.id}".casefold()
            ended = "waiting" if row.questions else "failed" if row.failures else "ok"
            if device is not None and (row.device_name or row.device or HERE) != device:
                return False
            if outcome is not None and ended != outcome and not (outcome == "failed" and row.failures):
                return False
            return all(word in text for word in wanted)

        self.store.index_backlog()
        with self.store.db.reading():
            only = None
            if day is not None:
                begin, end = day_bounds(day)
                counts = projections.count_by_time(self.store, begin, end, end - begin).get(0)
                only = counts.sessions if counts is not None else set()
            page = queries.session_page(
                self.store, cursor=cursor, limit=limit, only=only, background=background,
                matches=matches if wanted or outcome or device else None, **equal,
            )  # fmt: skip
            items = [session_with_times(self._memory, row) for row in page.items]
            choices = self.filter_choices() if cursor is None else {}
        return {"items": items, "next": page.next, **choices}

    def filter_choices(self) -> dict[str, list[str]]:
        """The agents and folders of the latest sessions.

        Also the machines, if there are several.
        """
        rows = self.store.sessions.listing(limit=RECENT)
        return {
            "agents": sorted({row.agent for row in rows}),
            "workspaces": list(dict.fromkeys(row.workspace for row in rows if row.workspace)),
            "devices": [HERE, *machines] if (machines := self._machines()) else [],
        }

    def _machines(self) -> list[str]:
        """The names of the other machines with sessions here."""
        rows = self.store.db.execute(
            "SELECT DISTINCT coalesce(device_name, device) FROM standing"
            " WHERE device IS NOT NULL AND forgotten=0 ORDER BY 1"
        )
        return [name for (name,) in rows.fetchall()]

    def event_page(
        self,
        session: str,
        wanted: EventFilter = EVERY,
        *,
        turns: tuple[int, int] | None = None,
        since: int | None = None,
        until: int | None = None,
        cursor: str | None = None,
        limit: int = 100,
        backwards: bool = False,
        housekeeping: bool = False,
    ) -> dict[str, Any]:
        """Events of a session as summary rows with marks.

        With `housekeeping`, token counts too.
        """
        with self.store.db.reading():
            row = self.store.sessions.resolve(session)
            narrowed = self._narrowed(row, wanted, turns, since, until)
            if not housekeeping and "usage" not in wanted.kinds:
                # Token counts are shown with the call or turn they belong to, not as rows.
                narrowed = replace(narrowed, without=narrowed.without | {"usage"})
            page = queries.event_page(
                self.store, row, narrowed, cursor=cursor, limit=limit, backwards=backwards
            )
            items = self.with_marks(row, page.items)
            self._add_tokens(row, items)
        return {"items": items, "next": page.next, "head": row.head}

    def outline(self, session: str) -> dict[str, Any]:
        """The rows that a reader wants, in time order, with runs folded.

        None for a very long session.

        A row is a position, or a fold with the positions in it. `late` are positions recorded out of order,
        `said` is what the agent said right before a row, `turns` are the rows between two requests.
        """
        with self.store.db.reading():
            row = self.store.sessions.resolve(session)
            if row.head > OUTLINED:
                return {"items": None, "turns": [], "late": [], "said": {}, "head": row.head}
            events = list(self.store.log.slice(row.n, row.id, 0, row.head))
        rows = outline_rows(events)
        items = [
            found.seqs[0] if found.label is None else
            {"seqs": found.seqs, "ms": found.at // 1000, "tool": found.tool, "label": found.label,
             "detail": found.detail, "inside": found.inside}
            for found in rows
        ]  # fmt: skip
        return {
            "items": items,
            "turns": [asdict(turn) for turn in outline_turns(rows, events)],
            "late": [found.seqs[0] for found in rows if found.late],
            "said": {found.seqs[0]: found.said for found in rows if found.said},
            "head": row.head,
        }

    def _add_tokens(self, row: SessionRow, items: list[dict[str, Any]]) -> None:
        """Add the tokens that were counted after each row, up to the next one, to the row."""
        if not items:
            return
        rows = sorted(items, key=lambda item: int(item["seq"]))
        places = [item["seq"] for item in rows]
        span = EventQuery(places[0], min(row.head, places[-1] + TOKENS_WITHIN), kind="usage")
        for event in queries.find_events(self.store.log, row.n, row.id, span):
            if event.payload is not None:
                item = rows[bisect(places, event.seq) - 1]
                counted = event.payload.input_tokens + event.payload.output_tokens
                item["tokens"] = item.get("tokens", 0) + counted

    def _narrowed(
        self,
        row: SessionRow,
        wanted: EventFilter,
        turns: tuple[int, int] | None,
        since: int | None,
        until: int | None,
    ) -> EventFilter:
        """The filter with turns and times turned into positions."""
        low, high = wanted.start, row.head if wanted.stop is None else wanted.stop
        if turns is not None:
            position = self.store.sessions.turn_position
            low = max(low, position(row.n, turns[0] - 1, row.head) if turns[0] > 0 else 0)
            high = min(high, position(row.n, turns[1], row.head))
        if since is not None:
            low = max(low, projections.position_at(self.store, row.n, since - 1))
        if until is not None:
            high = min(high, projections.position_at(self.store, row.n, until - 1))
        return replace(wanted, start=low, stop=high)

    def with_marks(self, row: SessionRow, events: Sequence[Event]) -> list[dict[str, Any]]:
        """Summary rows, with marks for rewound, quarantined and forked events."""
        effective = effective_ranges(self.store.db, row.n, row.head)
        branches: dict[int, list[str]] = {}
        for child in self.store.sessions.children(row.id):
            branches.setdefault((child.parent_seq or 0) - 1, []).append(child.id)
        in_quarantine = self.store.quarantine_view.marks_of(row.n)
        rows = []
        for event in events:
            summary = summary_row(event)
            if not any(start <= event.seq < stop for start, stop in effective):
                summary["marks"].append("rewound")
            if in_quarantine.has(event.seq):
                summary["marks"].append("quarantined")
            if event.seq in branches:
                summary["marks"].append("fork")
                summary["branches"] = branches[event.seq]
            rows.append(summary)
        return rows

    def position_at(self, session: str, at: int) -> dict[str, Any]:
        """The position of a session at a time."""
        row = self.store.sessions.resolve(session)
        with self.store.db.reading():
            return {
                "session": row.id,
                "at": projections.position_at(self.store, row.n, at),
                "ms": at // 1000,
                "head": row.head,
            }

    def position_of(self, session: str, moment: str) -> dict[str, Any]:
        """The position that a moment names, and the first event of that moment."""
        row = self.store.sessions.resolve(session)
        at = self._memory.sessions.position(row, moment, begin=True)
        return {"session": row.id, "at": at, "seq": max(0, min(at, row.head - 1)), "head": row.head}

    def rewind_point(self, session: str, seq: int | None = None) -> dict[str, Any]:
        """The event from which a rewind goes back, by default the last action that counts.

        `actions` is how many actions from there on count, the event itself included.
        """
        row = self.store.sessions.resolve(session)
        with self.store.db.reading():
            ranges = effective_ranges(self.store.db, row.n, row.head)
            if seq is None:
                seq = self._last_action(row, ranges)
            row, event = self._event(session, seq)
            spans = [(max(start, seq), stop) for start, stop in ranges if stop > seq]
            actions = sum(
                self.store.db.execute(
                    "SELECT count(*) FROM event WHERE id >= ? AND id < ? AND kind='action'",
                    (event_id(row.n, start), event_id(row.n, stop)),
                ).fetchone()[0]
                for start, stop in spans
            )
            before = self._possible_causes(row, event)
        asked = next((cause for cause in before if cause.kind == "prompt" and cause.payload), None)
        summary = summary_row(event)
        return {
            "seq": seq, "ms": summary["ms"], "kind": event.kind, "title": summary["title"],
            "target": summary["target"], "request": None if asked is None else asked.payload.text[:500],
            "request_seq": None if asked is None else asked.seq,
            "actions": actions, "head": row.head,
        }  # fmt: skip

    def _last_action(self, row: SessionRow, ranges: Sequence[tuple[int, int]]) -> int:
        for start, stop in reversed(ranges):
            found = self.store.db.execute(
                "SELECT id FROM event WHERE id >= ? AND id < ? AND kind='action' ORDER BY id DESC LIMIT 1",
                (event_id(row.n, start), event_id(row.n, stop)),
            ).fetchone()
            if found is not None:
                return int(found[0]) - event_id(row.n, 0)
        return max(0, row.head - 1)

    def event_details(self, session: str, seq: int) -> dict[str, Any]:
        """An event with its causes, the call it retries and the files it changed."""
        with self.store.db.reading():
            row, event = self._event(session, seq)
            summary = self.with_marks(row, [event])[0]
            before = self._possible_causes(row, event)
            of = getattr(event.payload, "retry_of", None)
            retry = None if of is None else self._memory.history.retry(row, event) | {"of": of}
            resolved_by = self._resolved_by(row, event)
            times = queries.ClaimedTimes(self.store.db, row.n).times(event)
            undone = self._undone_by(row, event)
        p = event.payload
        return {
            "event": event_json(event) | {name: iso(at) for name, at in times.items()},
            "row": summary,
            "ms": event.at // 1000,
            "input": getattr(p, "input", None),
            "output": getattr(p, "output", None),
            "error": getattr(p, "error", None),
            "provenance": _provenance(event),
            "causes": _causes(event, before),
            "retry": retry,
            "mended_by": resolved_by,
            "undone_by": None if undone is None else {"seq": undone.seq, "ms": undone.at // 1000},
            "files": self._files(row, event),
            "context_item": context_item_id(event),
            "quarantined": "quarantined" in summary["marks"],
            "previous": seq - 1 if seq > 0 else None,
            "next": seq + 1 if seq + 1 < row.head else None,
        }

    def event_file(self, session: str, seq: int, path: str) -> dict[str, Any]:
        """A file before and after an event, and the difference.

        From kept versions, else from the call.
        """
        with self.store.db.reading():
            row, event = self._event(session, seq)
            touched = {file["path"]: file for file in self._touched_by(row, event)}
        if path not in touched:
            raise NotFound(f"event {seq} did not touch {path[:200]!r}", hint="take one of the event's files")
        change = touched[path]
        before, after = self._sides(row, event, change)
        old, new = self._side(before), self._side(after)
        result: dict[str, Any] = {"path": path, "change": change["change"], "from": change["from"],
                                  "before": old, "after": new, "hunks": [], "note": None}  # fmt: skip
        reasons = (_why_not("before", before, old), _why_not("after", after, new))
        result["left_out"] = "; ".join(filter(None, reasons)) or None
        texts = [side["text"] if side["exists"] else "" for side in (old, new) if side is not None]
        if len(texts) == 2 and None not in texts:
            result["hunks"], result["left_out"] = hunks(*texts)
        elif change["change"] != "read" and event.kind == "action" and event.payload is not None:
            line = next((file.line for file in event.payload.files if file.path == path), None)
            result["hunks"], result["note"] = edit_hunks(event.payload.input, path, line)
        return result

    def _touched_by(self, row: SessionRow, event: Event) -> list[dict[str, Any]]:
        """The files of an event, and what was seen on disk of the same call."""
        files = _touched(event)
        if event.kind != "action":
            return files
        known = {file["path"] for file in files}
        until = min(row.head, event.seq + LOOK_AHEAD)
        window = self.store.log.slice(row.n, row.id, max(0, event.seq - STARTED_WITHIN), until)
        seen = disk_changes_by_call(window).get(event.seq, ())
        return files + [
            {"path": change.path, "change": change.change, "from": change.origin, "by": change.by,
             "evidence": change.evidence}
            for change in seen if change.path not in known
        ]  # fmt: skip

    def latest_rewind(self, session: str) -> int | None:
        """The position of the latest rewind of a session, which can be undone."""
        number = self.store.sessions.resolve(session).n
        found = self.store.db.execute("SELECT max(seq) FROM rewind WHERE session=?", (number,)).fetchone()
        return None if found[0] is None else int(found[0])

    def _undone_by(self, row: SessionRow, event: Event) -> Event | None:
        """The later rewind that takes back a rewind."""
        if event.kind != "rewind":
            return None
        later = self.store.db.execute(
            "SELECT seq FROM rewind WHERE session=? AND seq > ? ORDER BY seq", (row.n, event.seq)
        ).fetchall()
        found = (next(self.store.log.slice(row.n, row.id, seq, seq + 1), None) for (seq,) in later)
        return next((one for one in found if one and getattr(one.payload, "undoes", None) == event.seq), None)

    def _event(self, session: str, seq: int) -> tuple[SessionRow, Event]:
        row = self.store.sessions.resolve(session)
        found = next(self.store.log.slice(row.n, row.id, seq, seq + 1), None) if 0 <= seq < row.head else None
        if found is None:
            raise NotFound(
                f"session {row.id[:8]} has no event {seq}",
                hint=f"its events go from 0 to {row.head - 1}",
                details={"head": row.head},
            )
        return row, found

    def _possible_causes(self, row: SessionRow, event: Event) -> list[Event]:
        """Earlier events of the turn that can be causes.

        Also the call that the event retries.
        """
        turn = self.store.sessions.turn_position(row.n, event.turn - 1, row.head)
        begin = max(min(turn, event.seq), event.seq - LOOK_BACK)
        wanted = EventFilter(start=begin, stop=event.seq, kinds=CAUSE_KINDS)
        found = event_page(self.store, row, wanted, cursor=None, limit=LOOK_BACK, backwards=False).items
        of = getattr(event.payload, "retry_of", None)
        retried = [] if of is None else self.store.log.slice(row.n, row.id, of, of + 1)
        return sorted([*found, *retried], key=lambda cause: cause.seq)

    def _resolved_by(self, row: SessionRow, event: Event) -> int | None:
        """The position of the successful retry of a failed action."""
        if event.kind != "action" or event.payload is None or event.payload.outcome == "ok":
            return None
        wanted = EventFilter(start=event.seq + 1, stop=event.seq + LOOK_AHEAD, kinds=frozenset({"action"}))
        later = event_page(self.store, row, wanted, cursor=None, limit=LOOK_AHEAD, backwards=False).items
        actions = [action for action in later if action.payload is not None]
        retries = [action for action in actions if action.payload.retry_of == event.seq]
        return next((retry.seq for retry in retries if retry.payload.outcome == "ok"), None)

    def _files(self, row: SessionRow, event: Event) -> list[dict[str, Any]]:
        files = []
        for file in self._touched_by(row, event)[:200]:
            before, after = self._sides(row, event, file) if file["change"] != "read" else (None, None)
            files.append({**file, "has_before": _is_stored(before), "has_after": _is_stored(after)})
        return files

    def _sides(
        self, row: SessionRow, event: Event, change: dict[str, Any]
    ) -> tuple[FileVersion | None, FileVersion | None]:
        """The versions of a file before and after an event."""
        versions = self._memory.existing_file_versions
        if versions is None:
            return None, None
        after, before = self._around(versions, row, event, change["path"])
        if change["from"] and (before is None or before.absent):
            _, before = self._around(versions, row, event, change["from"])
        return before, after

    def _around(
        self, versions: FileVersions, row: SessionRow, event: Event, path: str
    ) -> tuple[FileVersion | None, FileVersion | None]:
        """The version after an event and the one before.

        By the event's position, or else by its time.
        """
        began = event.at - 1000 * (getattr(event.payload, "duration_ms", None) or 0)
        for root in versions.roots_around(path.rsplit("/", 1)[0] or "/", row.device):
            inside = f"{plain_root(root).rstrip('/')}/"
            if not path.startswith(inside):
                continue
            history = versions.history(root, path.removeprefix(inside))
            for nth, version in enumerate(history):
                if (version.session, version.seq) == (row.id, event.seq):
                    return version, history[nth - 1] if nth else None
            before = [version for version in history if version.at < began]
            after = [version for version in history if began <= version.at <= event.at + SETTLING]
            if history:
                return (after[0] if after else None), (before[-1] if before else None)
        return None, None

    def _side(self, version: FileVersion | None) -> dict[str, Any] | None:
        if version is None:
            return None
        side = {"exists": not version.absent, "digest": version.digest, "bytes": None, "text": None,
                "at": iso(version.at)}  # fmt: skip
        versions = self._memory.existing_file_versions
        data = versions.read(version.digest) if version.digest and versions is not None else None
        if data is None:
            return side if version.absent else None
        return side | {"bytes": len(data), "text": _text(data), "image": _image(data)}

    def rollup(
        self, begin: int, end: int, *, bucket: str = "minute", sessions: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Counts of events per bucket of time, and the gaps in which nothing was recorded."""
        names = list(BUCKETS)
        if bucket not in BUCKETS:
            raise InvalidRequest(f"there is no bucket {bucket[:40]!r}", hint=", ".join(names))
        while (end - begin) / BUCKETS[bucket] > MOST_BUCKETS and bucket != names[-1]:
            bucket = names[names.index(bucket) + 1]
        size = BUCKETS[bucket]
        size *= max(1, -(-(end - begin) // (size * MOST_BUCKETS)))
        self.store.index_backlog()
        with self.store.db.reading():
            only = {self.store.sessions.resolve(session).n for session in sessions} or None
            counts = projections.count_by_time(self.store, begin, end, size, only)
            gaps = projections.gaps(self.store, begin, end)
        first = begin // BUCKETS["minute"] * BUCKETS["minute"]
        buckets = [
            {
                "ms": (first + nth * size) // 1000,
                **{name: getattr(count, name) for name in projections.COUNTS},
            }
            for nth, count in sorted(counts.items())
        ]
        return {
            "from_ms": begin // 1000,
            "to_ms": end // 1000,
            "bucket": bucket,
            "bucket_ms": size // 1000,
            "buckets": buckets,
            "gaps": [_gap(gap.since, gap.until, gap.what, gap.note) for gap in gaps]
            + self._paused(begin, end),
        }

    def _paused(self, begin: int, end: int) -> list[dict[str, Any]]:
        """The current pause. It is in the log only after it has ended."""
        status = self._memory.recording.status()
        if status["recording"]:
            return []
        since = to_micros(datetime.fromisoformat(status["paused_since"]))
        until = min(end, self.now())
        if until <= begin or since >= until:
            return []
        return [_gap(since, until, "paused", None) | {"open": True}]

    def lanes(self, begin: int, end: int, *, sessions: Sequence[str] = (), most: int = 400) -> dict[str, Any]:
        """Events of each session in a time range, by lane.

        Evenly sampled if there are too many.
        """
        with self.store.db.reading():
            if sessions:
                rows, left = [self.store.sessions.resolve(session) for session in sessions][:MOST_SESSIONS], 0
            else:
                rows, left = self._active(begin, end)
            spans = [(row, *projections.positions_between(self.store, row.n, begin, end)) for row in rows]
            spans = [(row, low, high) for row, low, high in spans if high > low]
            share = min(most, max(LEAST_DRAWN, MOST_DRAWN // max(1, len(spans))))
            items = [self._lanes_of(row, low, high, share) for row, low, high in spans]
        return {"from_ms": begin // 1000, "to_ms": end // 1000, "items": items, "more_sessions": left}

    def _active(self, begin: int, end: int) -> tuple[list[SessionRow], int]:
        """The latest sessions with events in this time, and how many more there may be.

        Includes the companion's own session, which has the apps and files without a known agent.
        """
        numbers = self.store.db.execute(
            "SELECT n FROM standing WHERE hour >= ? AND last_at >= ? AND opened_at < ?"
            " AND (background=0 OR agent=?) AND forgotten=0 ORDER BY hour DESC, last_at DESC, n DESC",
            (begin // BUCKETS["hour"], begin, end, COMPANION_AGENT),
        ).fetchall()
        active = [
            number
            for (number,) in numbers[: 4 * MOST_SESSIONS]
            if len(set(projections.positions_between(self.store, number, begin, end))) == 2
        ]
        rows = self.store.sessions.numbered(active[:MOST_SESSIONS])
        return rows, len(numbers) - len(rows) if len(active) > MOST_SESSIONS else 0

    def _lanes_of(self, row: SessionRow, low: int, high: int, most: int) -> dict[str, Any]:
        total = high - low
        seqs = range(low, high) if total <= most else [low + nth * total // most for nth in range(most)]
        events = self._at(row, seqs)
        lanes: dict[str, list[dict[str, Any]]] = {name: [] for name in LANES}
        for event in events:
            for lane, drawn in lane_marks(event):
                lanes[lane].append(drawn)
        times = [event.at // 1000 for event in events]
        shown = ("id", "title", "agent", "lifecycle", "background")
        return {
            "session": {name: getattr(row, name) for name in shown}
            | {"device": row.device_name or row.device},
            "from_ms": min(times, default=0),
            "to_ms": max(times, default=0),
            "events": total,
            "lanes": lanes,
            "more": total - len(events),
        }

    def _at(self, row: SessionRow, seqs: Sequence[int]) -> list[Event]:
        """The events at these positions. A range is read in one piece."""
        if isinstance(seqs, range):
            where = "id >= ? AND id < ?"
            values = [event_id(row.n, seqs.start), event_id(row.n, seqs.stop)]
        else:
            where = f"id IN ({','.join('?' * len(seqs))})"
            values = [event_id(row.n, seq) for seq in seqs]
        rows = self.store.db.execute(f"SELECT {EVENT_COLUMNS} FROM event WHERE {where} ORDER BY id", values)
        return [to_event(columns, row.id, b"") for columns in rows.fetchall()]
