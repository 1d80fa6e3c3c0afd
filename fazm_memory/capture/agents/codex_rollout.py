"""A Codex rollout as it is read on: the records of one thread made into drafts, and what must be remembered.

Two logs are interleaved in it, the conversation and the events; what both have is told once. The opening
waits for the model, which a later record names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fazm_memory.capture.agents import codex_call, tool_call
from fazm_memory.capture.agents import codex_kinds as kinds
from fazm_memory.capture.agents.codex_calls import Calls, Scene, Telling
from fazm_memory.capture.agents.codex_keys import NAME, open_key, prompt_key, record_key, title_key
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

BURST = 1_000_000  # a fork's copies are written within this many microseconds of its first record
UNKNOWN = 4 << 10
TITLE = 500
CARRIED = (
    "thread", "session", "agent_id", "cwd", "model", "turn", "met", "born", "copying", "opening", "total",
    "lines", "at",
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
        self.total: int = carry.get("total") or 0
        self.lines: int = carry.get("lines") or 0
        self.at: int | None = carry.get("at")
        self.calls = Calls(carry)
        self.name = ""
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}

    def carry(self) -> dict[str, Any]:
        own = {name: value for name in CARRIED if (value := getattr(self, name))}
        return own | self.calls.carry()

    def take(self, record: Mapping[str, Any]) -> None:
        """One record, in the order of the file."""
        kind, payload = text(record.get("type")), mapping(record.get("payload"))
        inner, ordinal = text(payload.get("type")), record.get("ordinal")
        self.lines += 1
        self.at = moment(record.get("timestamp")) or self.at
        self.name = str(ordinal) if type(ordinal) is int else f"line-{self.lines}"
        if kind == "session_meta":
            self._meta(payload)
        elif self.copying and not self._own_turn(payload, inner):
            return
        elif kind == "turn_context":
            self._context(payload)
        elif kind == "response_item":
            self._response(payload, inner, record)
        elif kind == "event_msg":
            self._event(payload, inner, record)
        elif kind == "compacted":
            self._compacted(text(payload.get("message")))
        elif kind == "token_usage_record":
            self._spent(mapping(payload.get("usage")), mapping(payload.get("thread_token_usage")))
        elif kind not in kinds.RECORD_NOISE:
            self._unknown(kind, record)

    def finish(self) -> None:
        """The end of the file for now: calls without a result are told as begun, once."""
        self._flush()
        self._tell_all(self.calls.started(self._scene()))

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

    def _own_turn(self, payload: Mapping[str, Any], inner: str) -> bool:
        """Whether a record in a fork opens its first turn of its own; until then all are copies."""
        turn = ident(payload.get("turn_id"))
        if not turn or (inner and inner not in kinds.TURN_STARTS):
            return False
        began = _uuid_ms(turn)
        own = began >= self.born if began is not None else (self.at or 0) - self.born * 1000 > BURST
        self.copying = not own
        return own

    def _context(self, payload: Mapping[str, Any]) -> None:
        self.cwd = text(payload.get("cwd")) or self.cwd
        self.model = ident(payload.get("model")) or self.model
        self.turn = ident(payload.get("turn_id")) or self.turn
        self._flush()

    def _response(self, payload: Mapping[str, Any], inner: str, record: Mapping[str, Any]) -> None:
        call_id = ident(payload.get("call_id")) or ident(payload.get("id"))
        if inner == "message":
            self._message(payload)
        elif inner in kinds.CALLS and call_id:
            tool, given = codex_call.begun(payload)
            self._tell_all(self.calls.begin(self._scene(), call_id, tool or inner, given))
        elif inner in kinds.RESULTS and call_id:
            said = codex_call.output_text(payload.get("output", payload.get("tools")))
            self._tell_all(self.calls.result(self._scene(), call_id, said))
        elif inner in kinds.AT_ONCE:
            tool = inner.removesuffix("_call")
            self._tell_all(self.calls.at_once(self._scene(), call_id or self.name, tool, payload))
        elif inner not in kinds.RESPONSE_NOISE:
            self._unknown(f"response_item/{inner}", record)

    def _event(self, payload: Mapping[str, Any], inner: str, record: Mapping[str, Any]) -> None:
        if inner == "item_completed" or inner in kinds.END_EVENTS:
            item = codex_call.item_of(payload)
            kind, call_id = text(item.get("type")), ident(item.get("id"))
            if kind in kinds.ITEMS and call_id:
                self._tell_all(self.calls.completed(self._scene(), call_id, item))
            elif kind not in kinds.ITEM_NOISE:
                self._unknown(f"event_msg/item_completed/{kind}", record)
        elif inner == "token_count":
            info = mapping(payload.get("info"))
            self._spent(mapping(info.get("last_token_usage")), mapping(info.get("total_token_usage")))
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

    def _interrupt(self, why: str) -> None:
        self._tell_all(self.calls.interrupt(self._scene(), why))

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
                key = prompt_key(self.session, turn, said) if turn else None
                self._tell("prompt", {"text": capped(said, SAID)}, key)

    def _compacted(self, message: str) -> None:
        _, _, after = message.partition(SUMMARY_FOLLOWS)
        said = after.strip() or message.strip()
        told = {"summary": capped(said, tool_call.OUTPUT)} if said else {}
        self._tell("evicted", {"keys": [], **told})

    def _spent(self, usage: Mapping[str, Any], total: Mapping[str, Any]) -> None:
        """An answer's tokens are told by a record of their own and by counts that are repeated at will.

        The thread's total is in all of them, and only an answer changes it: that is what names the answer.
        """
        sum_now = tokens(total.get("total_tokens"))
        if not sum_now or sum_now == self.total:
            return
        cached = tokens(usage.get("cached_input_tokens"))  # a part of the input there
        told: dict[str, Any] = {
            "input_tokens": max(0, tokens(usage.get("input_tokens")) - cached),
            "output_tokens": tokens(usage.get("output_tokens")),
            "cached_tokens": cached,
        }
        if any(told.values()):
            self.total = sum_now
            told |= {"model": self.model} if self.model else {}
            self._tell("usage", told, record_key(self.thread, f"usage:{sum_now}"))

    def _unknown(self, kind: str, record: Mapping[str, Any]) -> None:
        kind = kind[:100] or "?"
        self.unknown[kind] = self.unknown.get(kind, 0) + 1
        self._tell("unknown", {"type": kind, "raw": bounded(record, UNKNOWN)})

    # Telling.

    def _scene(self) -> Scene:
        return Scene(self.session, self.agent_id, self.cwd, self.home, self.at)

    def _flush(self) -> None:
        """Nothing is told before the opening."""
        if self.opening is not None:
            told, self.opening = self.opening | ({"model": self.model} if self.model else {}), None
            at = told.pop("at", None)
            self._draft(Telling("session.open", told, open_key(self.session), at))

    def _tell(self, kind: str, payload: Mapping[str, Any], key: str | None = None) -> None:
        self._flush()
        self._draft(Telling(kind, payload, key or record_key(self.thread, self.name), self.at))

    def _tell_all(self, tellings: Iterable[Telling]) -> None:
        for one in tellings:
            self._flush()
            self._draft(one)

    def _draft(self, one: Telling) -> None:
        draft = Draft(
            self.session, one.kind, one.payload, NAME, one.at, None, one.actor, "transcript", key=one.key
        )
        self.drafts.append(draft)


def _uuid_ms(name: str) -> int | None:
    """The moment a version 7 UUID was made, in milliseconds."""
    digits = name.replace("-", "")
    if len(digits) != 32 or digits[12] != "7":
        return None
    try:
        return int(digits[:12], 16)
    except ValueError:
        return None
