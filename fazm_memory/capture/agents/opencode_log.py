"""opencode's parts as they are read on: rows made into drafts, and what must be remembered of them.

A part is told when it is complete. Until then it waits, and is looked at again with each reading; a call that
waits is told as begun, once. When the next message begins, a call that still runs will never end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fazm_memory.capture.agents import fields, tool_call
from fazm_memory.capture.agents.fields import ident, mapping, moment_ms, record_of, sequence, text
from fazm_memory.capture.agents.injected import without_injected
from fazm_memory.capture.agents.opencode_call import Ended, ended, stopped
from fazm_memory.capture.agents.opencode_store import Message, Part, Session, Store
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.shell import Known

NAME = "opencode"
MOST_ROWS = 2000
MOST_MARKS = 64
MOST_OPEN = 200
MOST_SESSIONS = 200
LONGEST_PART = 64 << 20
UNKNOWN = 4 << 10
TITLE = 500
UNTITLED = re.compile(r"(New|Child) session - \d{4}-")
NOISE = frozenset({"reasoning", "step-start", "snapshot", "patch", "file", "agent", "subtask", "retry"})


class PartLog:
    """The state of a reading. What `carry` gives, the next one is made of."""

    def __init__(self, carry: Mapping[str, Any], home: str | None) -> None:
        self.home = home
        self.marks: list[list[Any]] = [list(mark) for mark in sequence(carry.get("marks"))]
        # part → the session and message it stands in, and whether it was told as begun
        self.open: dict[str, list[Any]] = {
            name: list(one) for name, one in mapping(carry.get("open")).items()
        }
        self.titles: dict[str, str] = dict(mapping(carry.get("titles")))
        self.compacting: dict[str, str] = dict(mapping(carry.get("compacting")))
        self.known = Known(mapping(carry.get("known")))  # of all sessions: their folders are on one disk
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}
        self.bad = 0

    def carry(self) -> dict[str, Any]:
        names = ("marks", "open", "titles", "compacting")
        told = {name: getattr(self, name) for name in names} | {"known": self.known.carry()}
        return {name: value for name, value in told.items() if value}

    def read_on(self, store: Store, limit: int) -> bool:
        """What is new, about `limit` bytes of it; whether there is more."""
        for name in list(self.open):
            part = store.part(name)
            if part is None:
                del self.open[name]  # taken back
            else:
                self._part(store, part)
        while self.marks and not store.stands(*self.marks[-1]):
            self.marks.pop()
        taken = rows = 0
        more = False
        for part in store.parts_after(self.marks[-1][0] if self.marks else 0, MOST_ROWS + 1):
            if rows >= MOST_ROWS or taken >= limit:
                more = True
                break
            rows += 1
            taken += len(part.data) if isinstance(part.data, (str, bytes)) else 0
            self._part(store, part)
            last = part
        if rows:
            self.marks = [*self.marks[1 - MOST_MARKS :], [last.row, last.mark]]
        if not more:
            for name in self.open:
                self._started(store, name)
        self._titled(store)
        return more

    def _part(self, store: Store, part: Part) -> None:
        data = record_of(part.data) if isinstance(part.data, str) and len(part.data) < LONGEST_PART else None
        if data is None or not part.id or not part.session:
            self.bad += 1
            self.open.pop(part.id, None)
            return
        session, message = store.session(part.session), store.message(part.message)
        if session is not None and 0 < message.made_ms < session.made_ms:
            return  # a fork's copy
        kind = text(data.get("type"))
        if kind == "text":
            self._text(store, part, data, message)
        elif kind == "tool":
            self._tool(store, part, data)
        elif kind == "step-finish":
            self._spent(store, part, mapping(data.get("tokens")), message)
        elif kind == "step-start":
            self._over(store, part)
        elif kind == "compaction":
            self.compacting = {part.session: "auto" if data.get("auto") is True else "manual"}
        elif kind not in NOISE:
            self.unknown[kind[:100]] = self.unknown.get(kind[:100], 0) + 1
            raw = {"type": kind[:100], "raw": fields.bounded(data, UNKNOWN)}
            self._tell(store, part, "unknown", raw, moment_ms(part.made_ms))

    def _text(
        self, store: Store, part: Part, data: Mapping[str, Any], message: Message, over: bool = False
    ) -> None:
        times, said = mapping(data.get("time")), without_injected(text(data.get("text"))).strip()
        asked = message.data.get("role") == "user"
        if not asked and "end" not in times and not over:
            self._wait(store, part)
            return
        self.open.pop(part.id, None)
        unsaid = data.get("synthetic") is True or data.get("ignored") is True
        if not said or unsaid or self._agent(store, part):
            return
        at = moment_ms(times.get("end")) or moment_ms(message.made_ms if asked else part.made_ms)
        if message.data.get("summary") is True:
            trigger = self.compacting.pop(part.session, None)
            evicted = {"keys": [], "summary": fields.capped(said, tool_call.OUTPUT)}
            self._tell(store, part, "evicted", evicted | ({"trigger": trigger} if trigger else {}), at)
        else:
            words = {"text": fields.capped(said, fields.SAID)}
            self._tell(store, part, "prompt" if asked else "message", words, at)

    def _tool(self, store: Store, part: Part, data: Mapping[str, Any]) -> None:
        state = mapping(data.get("state"))
        if state.get("status") not in ("completed", "error"):
            self._wait(store, part)
            return
        tool = text(data.get("tool"))[:200] or "unknown"
        where = self._cwd(store, part)
        self._act(store, part, data, ended(tool, state, cwd=where, home=self.home, known=self.known))

    def _act(self, store: Store, part: Part, data: Mapping[str, Any], over: Ended) -> None:
        self.open.pop(part.id, None)
        state = mapping(data.get("state"))
        times = mapping(state.get("time"))
        began, ended_at = fields.whole(times.get("start")), fields.whole(times.get("end"))
        payload = tool_call.action(
            over.tool,
            state.get("input"),
            call_id=ident(data.get("callID")) or part.id,
            output=over.output,
            outcome=over.outcome,
            error=over.error,
            duration_ms=ended_at - began if began is not None and ended_at is not None else None,
            files=over.files,
            agent_id=self._agent(store, part),
        )
        at = moment_ms(ended_at) or moment_ms(began) or moment_ms(part.made_ms)
        self._tell(store, part, "action", payload, at)
        for number, seen in enumerate(over.seen):
            self._tell(store, part, "seen", seen, at, f":seen:{number}")

    def _spent(self, store: Store, part: Part, spent: Mapping[str, Any], message: Message) -> None:
        cache = mapping(spent.get("cache"))
        told: dict[str, Any] = {
            "input_tokens": fields.tokens(spent.get("input")) + fields.tokens(cache.get("write")),
            "output_tokens": fields.tokens(spent.get("output")) + fields.tokens(spent.get("reasoning")),
            "cached_tokens": fields.tokens(cache.get("read")),
        }
        model = ident(message.data.get("modelID"))
        if any(told.values()):
            told |= {"model": model} if model else {}
            self._tell(store, part, "usage", told, moment_ms(part.made_ms))

    # Parts that are not complete.

    def _wait(self, store: Store, part: Part) -> None:
        if part.id not in self.open and len(self.open) >= MOST_OPEN:
            oldest = next(iter(self.open))
            self._started(store, oldest)
            del self.open[oldest]
        self.open.setdefault(part.id, [part.session, part.message, False])

    def _started(self, store: Store, name: str) -> None:
        waiting = self.open[name]
        part = None if waiting[2] else store.part(name)
        data = mapping(record_of(text(part.data))) if part is not None else {}
        state = mapping(data.get("state"))
        if part is None or data.get("type") != "tool" or state.get("status") == "pending":
            return  # a call that is pending has no input yet
        waiting[2] = True
        tool, call_id = text(data.get("tool"))[:200] or "unknown", ident(data.get("callID")) or name
        payload = tool_call.start(tool, state.get("input"), call_id, self._agent(store, part))
        at = moment_ms(mapping(state.get("time")).get("start")) or moment_ms(part.made_ms)
        self._tell(store, part, "action.start", payload, at, ":start")

    def _over(self, store: Store, step: Part) -> None:
        """A message begins only when the one before it is done: what still waits there was cut off."""
        for name, (session, message, _) in list(self.open.items()):
            part = store.part(name) if session == step.session and message != step.message else None
            data = mapping(record_of(text(part.data))) if part is not None else {}
            if part is None:
                continue
            if data.get("type") == "text":
                self._text(store, part, data, store.message(part.message), over=True)
            elif mapping(data.get("state")).get("status") not in ("completed", "error"):
                tool = text(data.get("tool"))[:200] or "unknown"
                state, where = mapping(data.get("state")), self._cwd(store, part)
                over = stopped(tool, state, cwd=where, home=self.home, known=self.known)
                self._act(store, part, data, over)

    # Telling.

    def _cwd(self, store: Store, part: Part) -> str:
        session = store.session(part.session)
        told = text(mapping(store.message(part.message).data.get("path")).get("cwd"))
        return told or (session.folder if session is not None else "")

    def _agent(self, store: Store, part: Part) -> str | None:
        root = store.root(part.session)
        return part.session if root is not None and root.id != part.session else None

    def _tell(
        self, store: Store, part: Part, kind: str, payload: Mapping[str, Any], at: int | None, key: str = ""
    ) -> None:
        root = store.root(part.session)
        name = root.id if root is not None else part.session
        if name not in self.titles:
            self._opened(store, name, root)
        self._draft(name, kind, payload, f"{NAME}:{part.id}{key}", at)

    def _opened(self, store: Store, name: str, session: Session | None) -> None:
        if len(self.titles) >= MOST_SESSIONS:
            del self.titles[next(iter(self.titles))]
        self.titles[name] = title = _title(session)
        told: dict[str, Any] = {"agent": NAME, "agent_session_id": name, "title": title}
        if session is not None:
            told |= {"workspace": session.folder, "model": session.model}
            told["parent"] = store.forked_from(session)
        at = moment_ms(session.made_ms) if session is not None else None
        told = {one: value for one, value in told.items() if value}
        self._draft(name, "session.open", told, f"{NAME}:{name}:open", at)

    def _titled(self, store: Store) -> None:
        for name, known in self.titles.items():
            session = store.session(name)
            title = _title(session)
            if session is not None and title and title != known:
                self.titles[name] = title
                key = f"{NAME}:{name}:title:{fields.digest(title)}"
                self._draft(name, "session.title", {"title": title}, key, moment_ms(session.changed_ms))

    def _draft(self, name: str, kind: str, payload: Mapping[str, Any], key: str, at: int | None) -> None:
        self.drafts.append(Draft(name, kind, payload, NAME, at, source="transcript", key=key))


def _title(session: Session | None) -> str:
    """The title a session has been given; the one it is born with says nothing."""
    return "" if session is None or UNTITLED.match(session.title) else session.title[:TITLE]
