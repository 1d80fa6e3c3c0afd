"""The verbs of a closer look: one event with all that belongs to it, and a file before and after it."""

from __future__ import annotations

import json
from typing import Any

from fazm_memory.errors import NotFound
from fazm_memory.log.pages import EventFilter, event_page
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.versions import Version, Versions
from fazm_memory.model.clock import iso
from fazm_memory.model.commit_log import event_json
from fazm_memory.model.events import Event, target_of
from fazm_memory.model.hunks import as_text, hunks
from fazm_memory.verbs.browsing import Browsing

SHOWN = 256 << 10  # characters of a file's text that are given as they are
COMPARED = 20_000  # characters of two outputs
LOOK_BACK = 400  # events before one among which its causes are looked for
LEADING = frozenset({"prompt", "decision", "handoff.answer"})  # kinds that lead to what follows
LOOK_AHEAD = 400
SETTLING = 10_000_000  # microseconds after a call within which its change to a file was seen
WHO = {"agent": "The agent did it", "person": "A person did it", "system": "The system did it",
       "unknown": "Nobody is known to have done it"}  # fmt: skip
DOORS = {
    "hook": "told by the agent's hook", "transcript": "read from the agent's own record",
    "mcp": "told over MCP", "cli": "said on the command line", "files": "seen on disk",
    "desktop": "seen on the desktop", "import": "imported from the agent's record",
    "companion": "noted by the companion", "web": "said on this page", "menubar": "said in the menu bar",
    "record": "told through record",
}  # fmt: skip


class Inspecting(Browsing):
    """What `Memory` can tell of one event. Mixed into it; not for use alone."""

    def event_details(self, session: str, seq: int) -> dict[str, Any]:
        """One event: as it is, why it happened, what it retried, the files it changed."""
        with self.store.db.reading():
            row, event = self._event(session, seq)
            told = self.marked(row, [event])[0]
            before = self._leading(row, event)
            retry = self._retry(row, event)
            mended = self._mended_by(row, event)
        p = event.payload
        return {
            "event": event_json(event),
            "row": told,
            "ms": event.at // 1000,
            "input": getattr(p, "input", None),
            "output": getattr(p, "output", None),
            "error": getattr(p, "error", None),
            "provenance": _provenance(event),
            "causes": _causes(event, before),
            "retry": retry,
            "mended_by": mended,
            "files": self._files(row, event),
            "context_item": item_id(event),
            "quarantined": "quarantined" in told["marks"],
            "previous": seq - 1 if seq > 0 else None,
            "next": seq + 1 if seq + 1 < row.head else None,
        }

    def event_file(self, session: str, seq: int, path: str) -> dict[str, Any]:
        """A file before and after an event, from the kept versions, and how the two differ."""
        with self.store.db.reading():
            row, event = self._event(session, seq)
        touched = {one["path"]: one for one in _touched(event)}
        if path not in touched:
            raise NotFound(f"event {seq} did not touch {path[:200]!r}", hint="take one of the event's files")
        change = touched[path]
        before, after = self._sides(row, event, change)
        old, new = self._side(before), self._side(after)
        told: dict[str, Any] = {"path": path, "change": change["change"], "from": change["from"],
                                "before": old, "after": new, "hunks": []}  # fmt: skip
        lacking = [_why_not(name, one, side) for name, one, side in
                   (("before", before, old), ("after", after, new))]  # fmt: skip
        told["left_out"] = "; ".join(one for one in lacking if one) or None
        texts = [one["text"] if one["exists"] else "" for one in (old, new) if one is not None]
        if len(texts) == 2 and None not in texts:
            told["hunks"], told["left_out"] = hunks(*texts)
        return told

    def can_undo_rewind(self, session: str) -> bool:
        """Whether this session has a rewind that can be taken back."""
        number = self.store.sessions.resolve(session).n
        found = self.store.db.execute("SELECT 1 FROM rewind WHERE session=? LIMIT 1", (number,)).fetchone()
        return found is not None

    # -- one event ---------------------------------------------------------------------------------------

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

    def _leading(self, row: SessionRow, event: Event) -> list[Event]:
        """What may have led to an event: of its turn, and of that only the few of a kind that can."""
        turn = self.store.sessions.turn_position(row.n, event.turn - 1, row.head)
        begin = max(min(turn, event.seq), event.seq - LOOK_BACK)
        wanted = EventFilter(start=begin, stop=event.seq, kinds=LEADING)
        found = event_page(self.store, row, wanted, cursor=None, limit=LOOK_BACK, backwards=False).items
        of = getattr(event.payload, "retry_of", None)
        tried = [] if of is None else self.store.log.slice(row.n, row.id, of, of + 1)
        return sorted([*found, *tried], key=lambda one: one.seq)

    def _retry(self, row: SessionRow, event: Event) -> dict[str, Any] | None:
        of = getattr(event.payload, "retry_of", None)
        if of is None:
            return None
        first = next(self.store.log.slice(row.n, row.id, of, of + 1), None)
        was = None if first is None else first.payload
        if was is None:
            return {"of": of, "before": None, "after": _ended(event.payload), "diff": ""}
        diff = as_text(_said(was), _said(event.payload), first=f"event {of}", second=f"event {event.seq}")
        return {"of": of, "before": _ended(was), "after": _ended(event.payload), "diff": diff}

    def _mended_by(self, row: SessionRow, event: Event) -> int | None:
        if event.kind != "action" or event.payload is None or event.payload.outcome == "ok":
            return None
        wanted = EventFilter(start=event.seq + 1, stop=event.seq + LOOK_AHEAD, kinds=frozenset({"action"}))
        later = event_page(self.store, row, wanted, cursor=None, limit=LOOK_AHEAD, backwards=False).items
        tries = [one for one in later if one.payload is not None and one.payload.retry_of == event.seq]
        return next((one.seq for one in tries if one.payload.outcome == "ok"), None)

    # -- files -------------------------------------------------------------------------------------------

    def _files(self, row: SessionRow, event: Event) -> list[dict[str, Any]]:
        files = []
        for one in _touched(event)[:200]:
            before, after = self._sides(row, event, one) if one["change"] != "read" else (None, None)
            files.append({**one, "has_before": _kept(before), "has_after": _kept(after)})
        return files

    def _sides(
        self, row: SessionRow, event: Event, change: dict[str, Any]
    ) -> tuple[Version | None, Version | None]:
        """The versions before and after an event made a change."""
        versions = self.versions_kept
        if versions is None:
            return None, None
        after, before = self._around(versions, row, event, change["path"])
        if change["from"] and (before is None or before.absent):
            _, before = self._around(versions, row, event, change["from"])
        return before, after

    def _around(
        self, versions: Versions, row: SessionRow, event: Event, path: str
    ) -> tuple[Version | None, Version | None]:
        """The version an event made, and the one before it: by its position, else by its time."""
        began = event.at - 1000 * (getattr(event.payload, "duration_ms", None) or 0)
        for root in versions.roots_around(path.rsplit("/", 1)[0] or "/"):
            inside = f"{root.rstrip('/')}/"
            if not path.startswith(inside):
                continue
            history = versions.history(root, path.removeprefix(inside))
            for nth, one in enumerate(history):
                if (one.session, one.seq) == (row.id, event.seq):
                    return one, history[nth - 1] if nth else None
            before = [one for one in history if one.at < began]
            after = [one for one in history if began <= one.at <= event.at + SETTLING]
            if history:
                return (after[0] if after else None), (before[-1] if before else None)
        return None, None

    def _side(self, version: Version | None) -> dict[str, Any] | None:
        if version is None:
            return None
        told = {"exists": not version.absent, "digest": version.digest, "bytes": None, "text": None,
                "at": iso(version.at)}  # fmt: skip
        versions = self.versions_kept
        data = versions.read(version.digest) if version.digest and versions is not None else None
        if data is None:
            return told if version.absent else None
        return told | {"bytes": len(data), "text": _text(data)}


def _touched(event: Event) -> list[dict[str, Any]]:
    """Files an event tells of: path, change, where from, by whom and how that is known."""
    p = event.payload
    if event.kind == "file" and p is not None:
        return [{"path": p.path, "change": p.change, "from": p.origin, "by": p.by, "evidence": p.evidence}]
    if event.kind not in ("action", "action.amend") or p is None:
        return []
    return [
        {"path": one.path, "change": one.change, "from": one.origin, "by": "agent",
         "evidence": one.why if one.inferred else None}
        for one in p.files
    ]  # fmt: skip


def _kept(version: Version | None) -> bool:
    return version is not None and (version.absent or version.digest is not None)


def _why_not(name: str, version: Version | None, side: dict[str, Any] | None) -> str | None:
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


def _provenance(event: Event) -> dict[str, Any]:
    who = WHO.get(event.actor, f"{event.actor} did it")
    words = f"{who}; {DOORS.get(event.source, event.source)}; believed as far as “{event.trust}”."
    return {"actor": event.actor, "source": event.source, "trust": event.trust, "digest": event.digest,
            "words": words}  # fmt: skip


def _causes(event: Event, before: list[Event]) -> list[dict[str, Any]]:
    """What led to it, as far as the log tells: the request of its turn, decisions since, what it retried."""
    found: list[dict[str, Any]] = []
    of = getattr(event.payload, "retry_of", None)
    for one in before:
        p = one.payload
        if p is None:
            continue
        told: dict[str, Any] = {"seq": one.seq, "kind": one.kind}
        if one.kind == "prompt" and one.turn == event.turn:
            found.append(told | {"what": p.text[:500]})
        elif one.kind == "decision" and one.turn == event.turn:
            found.append(told | {"what": p.what, "why": p.why})
        elif one.kind == "handoff.answer" and one.turn == event.turn:
            found.append(told | {"what": "answered" if not p.waived else "waived", "why": p.answer})
        elif one.seq == of:
            found.append(told | {"what": f"{p.tool} {target_of(p.input)}", "why": p.error})
    return found[-20:]


def _ended(action: Any) -> dict[str, Any]:
    return {"outcome": action.outcome, "error": action.error, "output": _said(action)[:COMPARED]}


def _said(action: Any) -> str:
    said = action.output if action.output is not None else action.output_summary or action.error or ""
    return (said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, indent=1))[:COMPARED]


def item_id(event: Event) -> str | None:
    """The id under which a context may hold what this event said."""
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
