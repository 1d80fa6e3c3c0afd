"""A Codex rollout as it is read on: the records of one thread made into drafts, and what must be remembered.

Two logs are interleaved in it, the conversation and the events; a call is told once, when the conversation
has its result, with what the event log knew by then. A process that outlives its call is told by an
amendment when it ends. When a turn ends, the calls it left open have been interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fazm_memory.capture.agents import codex_call, tool_call
from fazm_memory.capture.agents import codex_kinds as kinds
from fazm_memory.capture.agents.codex_call import Ended
from fazm_memory.capture.agents.codex_keys import (
    NAME,
    action_key,
    open_key,
    prompt_key,
    record_key,
    start_key,
    title_key,
)
from fazm_memory.capture.agents.codex_prompt import asked
from fazm_memory.capture.agents.fields import (
    SAID,
    bounded,
    capped,
    ident,
    mapping,
    moment,
    sequence,
    text,
    tokens,
)
from fazm_memory.capture.draft import Draft

MOST_OPEN = 200
BURST = 1_000_000  # a fork's copies are written within this many microseconds of its first record
UNKNOWN = 4 << 10
TITLE = 500
CARRIED = (
    "thread", "session", "agent_id", "cwd", "model", "turn", "met", "born", "copying", "opening", "usage",
    "lines", "at", "open", "done",
)  # fmt: skip
SUMMARY_FOLLOWS = "use the information in this summary to assist with your own analysis:"


class Rollout:
    """The state of a reading. What `carry` gives, the next one is made of."""

    def __init__(self, thread: str, carry: Mapping[str, Any], home: str | None) -> None:
        self.home = home
        self.thread: str = carry.get("thread") or thread
        self.session: str = carry.get("session") or thread
        self.agent_id: str | None = carry.get("agent_id")
        self.cwd: str = carry.get("cwd") or ""
        self.model: str | None = carry.get("model")
        self.turn: str = carry.get("turn") or ""
        self.met: bool = bool(carry.get("met"))
        self.born: int = carry.get("born") or 0
        self.copying: bool = bool(carry.get("copying"))
        self.opening: dict[str, Any] | None = carry.get("opening")
        self.usage: str = carry.get("usage") or ""
        self.lines: int = carry.get("lines") or 0
        self.open: dict[str, dict[str, Any]] = {
            name: dict(one) for name, one in mapping(carry.get("open")).items()
        }
        self.done: dict[str, bool] = dict(mapping(carry.get("done")))  # call → its process still runs
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}
        self.at: int | None = carry.get("at")
        self.name = ""

    def carry(self) -> dict[str, Any]:
        return {name: value for name in CARRIED if (value := getattr(self, name))}

    def take(self, record: Mapping[str, Any]) -> None:
        """One record, in the order of the file."""
        kind, payload = text(record.get("type")), mapping(record.get("payload"))
        self.lines += 1
        self.at = moment(record.get("timestamp")) or self.at
        ordinal = record.get("ordinal")
        self.name = str(ordinal) if isinstance(ordinal, int) else f"line-{self.lines}"
        inner = text(payload.get("type"))
        if kind == "session_meta":
            self._meta(payload)
        elif self.copying and not self._own_turn(payload, inner):
            return
        elif kind == "turn_context":
            self._context(payload)
        elif kind == "response_item":
            self._item(payload, inner, record)
        elif kind == "event_msg":
            self._event(payload, inner, record)
        elif kind == "compacted":
            _, _, after = text(payload.get("message")).partition(SUMMARY_FOLLOWS)
            said = after.strip() or text(payload.get("message")).strip()
            told = {"summary": capped(said, tool_call.OUTPUT)} if said else {}
            self._tell("evicted", {"keys": [], **told})
        elif kind == "token_usage_record":
            self.usage = "records"
            self._spent(mapping(payload.get("usage")))
        elif kind not in kinds.RECORD_NOISE:
            self._unknown(kind, record)

    def finish(self) -> None:
        """The end of the file for now: calls without a result are told as begun, once."""
        self._flush()
        for call_id in list(self.open):
            self._started(call_id)

    # What a record says.

    def _meta(self, payload: Mapping[str, Any]) -> None:
        thread = ident(payload.get("id"))
        if self.met or not thread:
            return  # an ancestor's, copied into a fork
        spawned = mapping(mapping(mapping(payload.get("source")).get("subagent")).get("thread_spawn"))
        root = ident(payload.get("session_id")) or ident(spawned.get("parent_thread_id")) or thread
        began = moment(payload.get("timestamp")) or self.at
        forked = ident(payload.get("forked_from_id"))
        self.met, self.thread, self.session = True, thread, root
        self.agent_id = thread if root != thread else None
        self.cwd = text(payload.get("cwd"))
        self.born = _uuid_ms(thread) or (began or 0) // 1000
        self.copying = bool((forked or self.agent_id) and not mapping(payload.get("history_base")))
        if self.agent_id is None:  # a subagent works in a session that its root opens
            told = {
                "agent": NAME,
                "agent_session_id": thread,
                "workspace": self.cwd,
                "parent": forked,
                "background": isinstance(payload.get("source"), dict),
                "at": began,
            }
            self.opening = {name: value for name, value in told.items() if value}

    def _context(self, payload: Mapping[str, Any]) -> None:
        self.cwd = text(payload.get("cwd")) or self.cwd
        self.model = ident(payload.get("model")) or self.model
        self.turn = ident(payload.get("turn_id")) or self.turn
        self._flush()

    def _item(self, payload: Mapping[str, Any], inner: str, record: Mapping[str, Any]) -> None:
        call_id = ident(payload.get("call_id")) or ident(payload.get("id"))
        if inner == "message":
            self._message(payload)
        elif inner in kinds.CALLS and call_id:
            tool, given = codex_call.begun(payload)
            self._begin(call_id, tool or inner, given)
        elif inner in kinds.RESULTS and call_id in self.open:
            said = codex_call.output_text(payload.get("output", payload.get("tools")))
            self._end(call_id, self.open.pop(call_id), said)
        elif inner in kinds.AT_ONCE:
            self._at_once(call_id or self.name, inner.removesuffix("_call"), payload)
        elif inner not in kinds.RESPONSE_NOISE and call_id not in self.done:
            self._unknown(f"response_item/{inner}", record)

    def _event(self, payload: Mapping[str, Any], inner: str, record: Mapping[str, Any]) -> None:
        if inner == "item_completed" or inner in kinds.END_EVENTS:
            item = codex_call.item_of(payload)
            if item.get("type") in kinds.ITEMS and ident(item.get("id")):
                self._completed(ident(item.get("id")), item)
            elif item.get("type") not in kinds.ITEM_NOISE:
                self._unknown(f"event_msg/item_completed/{text(item.get('type'))}", record)
        elif inner == "token_count":
            self._counted(mapping(payload.get("info")))
        elif inner in kinds.TURN_STARTS:
            self._interrupt("the turn ended before it had a result")
            self.turn = ident(payload.get("turn_id")) or self.turn
        elif inner in kinds.TURN_ENDS:
            reason = text(payload.get("reason")) if inner == "turn_aborted" else "it had no result"
            self._interrupt(f"the turn ended: {reason[:100] or 'aborted'}")
        elif inner in kinds.TITLES:
            title = text(payload.get("thread_name") or payload.get("name")).strip()[:TITLE]
            if title and self.agent_id is None:
                self._tell("session.title", {"title": title}, title_key(self.session, title))
        elif inner not in kinds.EVENT_NOISE:
            self._unknown(f"event_msg/{inner}", record)

    def _message(self, payload: Mapping[str, Any]) -> None:
        if self.agent_id is not None:
            return  # what agents say to each other is in the calls that said it
        if payload.get("role") == "assistant":
            parts = (text(mapping(part).get("text")) for part in sequence(payload.get("content")))
            if said := "\n".join(filter(None, parts)).strip():
                self._tell("message", {"text": capped(said, SAID)})
        elif payload.get("role") == "user":
            passed = mapping(payload.get("internal_chat_message_metadata_passthrough"))
            if said := asked(payload.get("content"), passed.get("content_item_kinds")):
                turn = ident(passed.get("turn_id")) or self.turn
                self._tell("prompt", {"text": said}, prompt_key(self.session, turn, said) if turn else None)

    # Calls.

    def _begin(self, call_id: str, tool: str, given: Any) -> None:
        if len(self.open) >= MOST_OPEN:
            oldest = next(iter(self.open))
            self._started(oldest)
            del self.open[oldest]
        given = bounded(given, tool_call.INPUT)
        self.open[call_id] = {"tool": tool[:200], "input": given, "at": self.at, "cwd": self.cwd}

    def _started(self, call_id: str) -> None:
        call = self.open[call_id]
        if not call.get("started"):
            call["started"] = True
            payload = tool_call.start(call["tool"], call["input"], call_id, self.agent_id)
            self._tell("action.start", payload, start_key(self.session, call_id), call["at"])

    def _completed(self, call_id: str, item: dict[str, Any]) -> None:
        if call_id in self.open:
            self.open[call_id]["item"] = item
            return
        still = self.done.get(call_id)
        if still is False:
            return
        tool, given = codex_call.called_by_item(item)
        over = codex_call.ended(tool, given, "", item, cwd=self.cwd, home=self.home)
        if still:
            self.done[call_id] = False
            news = {
                "call_id": call_id,
                "outcome": over.outcome,
                "error": over.error if over.outcome != "ok" else None,
                "duration_ms": over.duration_ms,
                "output_summary": tool_call.summary(over.output),
                "files": list(over.files) or None,
            }
            news = {name: value for name, value in news.items() if value is not None}
            self._tell("action.amend", news, f"{action_key(self.session, call_id)}:end")
            return
        person = item.get("source") == "user_shell"
        self._act(call_id, tool, given, over, actor="person" if person else None)

    def _end(self, call_id: str, call: Mapping[str, Any], said: str) -> None:
        tool, given, item = call["tool"], call["input"], call.get("item")
        cwd = text(call.get("cwd")) or self.cwd
        self._act(call_id, tool, given, codex_call.ended(tool, given, said, item, cwd=cwd, home=self.home))

    def _at_once(self, call_id: str, tool: str, payload: Mapping[str, Any]) -> None:
        if call_id not in self.done:
            given = {name: payload[name] for name in ("action", "query", "revised_prompt") if name in payload}
            failed = payload.get("status") == "failed"
            self._act(call_id, tool, given, Ended("", "error" if failed else "ok"))

    def _interrupt(self, why: str) -> None:
        for call_id, call in list(self.open.items()):
            del self.open[call_id]
            cwd = text(call.get("cwd")) or self.cwd
            over = codex_call.stopped(call["tool"], call["input"], why, cwd=cwd, home=self.home)
            self._act(call_id, call["tool"], call["input"], over)

    def _act(self, call_id: str, tool: str, given: Any, over: Ended, *, actor: str | None = None) -> None:
        payload = tool_call.action(
            tool[:200],
            given,
            call_id=call_id,
            output=over.output,
            outcome=over.outcome,
            error=over.error,
            duration_ms=over.duration_ms,
            files=over.files,
            agent_id=self.agent_id,
        )
        key = action_key(self.session, call_id)
        self._tell("action", payload, key, actor=actor)
        for number, seen in enumerate(over.seen):
            self._tell("seen", seen, f"{key}:seen:{number}")
        self.done[call_id] = over.running
        if len(self.done) > MOST_OPEN:
            del self.done[next(iter(self.done))]

    # Tokens, turns, telling.

    def _counted(self, info: Mapping[str, Any]) -> None:
        """The older count, which is repeated whenever a limit changes: only a new total is a new answer."""
        total = str(sorted(mapping(info.get("total_token_usage")).items()))[:500]
        if info and self.usage not in ("records", total):
            self.usage = total
            self._spent(mapping(info.get("last_token_usage")))

    def _spent(self, usage: Mapping[str, Any]) -> None:
        cached = tokens(usage.get("cached_input_tokens"))  # a part of the input there
        told: dict[str, Any] = {
            "input_tokens": max(0, tokens(usage.get("input_tokens")) - cached),
            "output_tokens": tokens(usage.get("output_tokens")),
            "cached_tokens": cached,
        }
        if any(told.values()):
            self._tell("usage", told | ({"model": self.model} if self.model else {}))

    def _own_turn(self, payload: Mapping[str, Any], inner: str) -> bool:
        """Whether a record in a fork opens its first turn of its own; until then all are copies."""
        turn = ident(payload.get("turn_id"))
        if not turn or (inner and inner not in kinds.TURN_STARTS):
            return False
        began = _uuid_ms(turn)
        own = began >= self.born if began is not None else (self.at or 0) - self.born * 1000 > BURST
        self.copying = not own
        return own

    def _flush(self) -> None:
        """The opening waits for the model, which is told by a later record; nothing is told before it."""
        if self.opening is not None:
            told, self.opening = self.opening | ({"model": self.model} if self.model else {}), None
            at = told.pop("at", None)
            self._draft("session.open", told, open_key(self.session), at)

    def _tell(
        self,
        kind: str,
        payload: Mapping[str, Any],
        key: str | None = None,
        at: int | None = None,
        actor: str | None = None,
    ) -> None:
        self._flush()
        self._draft(kind, payload, key or record_key(self.thread, self.name), at or self.at, actor)

    def _draft(
        self, kind: str, payload: Mapping[str, Any], key: str, at: int | None, actor: str | None = None
    ) -> None:
        draft = Draft(self.session, kind, payload, NAME, at, actor=actor, source="transcript", key=key)
        self.drafts.append(draft)

    def _unknown(self, kind: str, record: Mapping[str, Any]) -> None:
        kind = kind[:100] or "?"
        self.unknown[kind] = self.unknown.get(kind, 0) + 1
        self._tell("unknown", {"type": kind, "raw": bounded(record, UNKNOWN)})


def _uuid_ms(name: str) -> int | None:
    """The moment a version 7 UUID was made, in milliseconds."""
    digits = name.replace("-", "")
    if len(digits) != 32 or digits[12] != "7":
        return None
    try:
        return int(digits[:12], 16)
    except ValueError:
        return None
