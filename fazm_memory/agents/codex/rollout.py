"""A rollout of Codex: the records of one thread become drafts.

Two logs are interleaved in it, the conversation and the events; what both contain is recorded once. The
opening waits for the model, which a later record names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents import tool_calls
from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Lines, Places, RecordFile, complete_lines
from fazm_memory.agents.codex import calls
from fazm_memory.agents.codex import calls as kinds
from fazm_memory.agents.codex.calls import (
    NAME,
    CallContext,
    OpenCalls,
    PartialDraft,
    is_noise,
    open_key,
    prompt_key,
    record_key,
    title_key,
)
from fazm_memory.agents.fields import (
    MAX_TEXT,
    bounded,
    capped,
    ident,
    mapping,
    moment,
    record_of,
    records_of,
    sequence,
    strip_injected_text,
    text,
    tokens,
)
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import open_regular
from fazm_memory.text import plan_title

NOT_SAID = (
    "<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>",
    "<user_shell_command>", "<subagent_notification>", "<permissions instructions>", "<INSTRUCTIONS>",
    "<collaboration_mode>", "<hook_prompt", "<image_resize_notice>", "<user_action>",
)  # fmt: skip


def user_text(content: Any, kinds: Any) -> str:
    """The user's text in a message, without what Codex adds to it."""
    parts = []
    labels = sequence(kinds)
    for number, part in enumerate(map(mapping, sequence(content))):
        label = text(labels[number]) if number < len(labels) else ""
        words = text(part.get("text"))
        if label and not label.startswith(("user.", "unknown")):
            continue
        if words.strip() and not words.lstrip().startswith(NOT_SAID):
            parts.append(words)
        elif "image" in text(part.get("type")):
            parts.append("[image]")
    return strip_injected_text("\n".join(parts)).strip()


# A plan that Codex presents in plan mode, what it writes for the user who accepts it, and how a plan begins a
# new session.
PROPOSED_PLAN = lazy_regex(r"<proposed_plan>\s*(.*?)\s*</proposed_plan>", re.DOTALL)
PLAN_ACCEPTED = "Implement the plan."
PLAN_HANDED_OVER = lazy_regex(r"A previous agent produced the plan below[^\n]*\n\s*")
BURST = 1_000_000  # a fork's copies are written within this many microseconds of its first record
UNKNOWN = 4 << 10
TITLE = 500
CARRIED = (
    "thread", "session", "agent_id", "cwd", "model", "turn", "met", "born", "copying", "opening", "total",
    "lines", "at", "git", "plan", "prompted",
)  # fmt: skip
SUMMARY_FOLLOWS = "use the information in this summary to assist with your own analysis:"


class Rollout:
    """Turns records into drafts. `carry` returns the state for the next chunk."""

    def __init__(self, thread: str, carry: Mapping[str, Any], home: str | None) -> None:
        self.home = home
        self.thread: str = carry.get("thread") or thread
        self.session: str = carry.get("session") or thread
        self.agent_id: str | None = carry.get("agent_id")
        self.cwd: str = carry.get("cwd") or ""
        self.model: str | None = carry.get("model")
        self.turn: str = carry.get("turn") or ""
        self.prompted: str = carry.get("prompted") or ""  # the turn of the last prompt
        self.met: bool = bool(carry.get("met"))
        self.born: int = carry.get("born") or 0
        self.copying: bool = bool(carry.get("copying"))
        self.opening: dict[str, Any] | None = carry.get("opening")
        self.total: int = carry.get("total") or 0
        self.lines: int = carry.get("lines") or 0
        self.at: int | None = carry.get("at")
        self.git: Mapping[str, Any] = mapping(carry.get("git"))
        self.plan: str = carry.get("plan") or ""  # the title of a plan that waits for the user
        self.calls = OpenCalls(carry)
        self.name = ""
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}

    def carry(self) -> dict[str, Any]:
        own = {name: value for name in CARRIED if (value := getattr(self, name))}
        return own | self.calls.carry()

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
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
            self._usage(mapping(payload.get("usage")), mapping(payload.get("thread_token_usage")))
        elif kind not in kinds.RECORD_NOISE:
            self._unknown(kind, record)

    def finish(self) -> None:
        """End the chunk: report calls without a result as started, once."""
        self._flush()
        self._emit_all(self.calls.started(self._call_context()))

    def _meta(self, payload: Mapping[str, Any]) -> None:
        thread = ident(payload.get("id"))
        if self.met or not thread:
            return  # copied from an ancestor into a fork
        spawned = mapping(mapping(mapping(payload.get("source")).get("subagent")).get("thread_spawn"))
        root = ident(payload.get("session_id")) or ident(spawned.get("parent_thread_id")) or thread
        began = moment(payload.get("timestamp")) or self.at
        forked = ident(payload.get("forked_from_id"))
        self.met, self.thread, self.session = True, thread, root
        self.agent_id = thread if root != thread else None
        self.cwd = text(payload.get("cwd"))
        self.born = _uuid_ms(thread) or (began or 0) // 1000
        self.copying = bool((forked or self.agent_id) and not mapping(payload.get("history_base")))
        if self.agent_id is None:  # the root thread opens the session of its subagents
            values = {
                "agent": NAME,
                "agent_session_id": thread,
                "workspace": self.cwd,
                "parent": forked,
                "background": isinstance(payload.get("source"), dict),
                "at": began,
            }
            self.opening = {name: value for name, value in values.items() if value}
            self.git = mapping(payload.get("git"))

    def _own_turn(self, payload: Mapping[str, Any], inner: str) -> bool:
        """Whether a record starts the first own turn of a fork.

        All records before it are copies.
        """
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
            tool, tool_input = calls.call_of(payload)
            self._emit_all(self.calls.begin(self._call_context(), call_id, tool or inner, tool_input))
        elif inner in kinds.RESULTS and call_id:
            output = calls.output_text(payload.get("output", payload.get("tools")))
            self._emit_all(self.calls.result(self._call_context(), call_id, output))
        elif inner in kinds.AT_ONCE:
            tool = inner.removesuffix("_call")
            self._emit_all(self.calls.at_once(self._call_context(), call_id or self.name, tool, payload))
        elif inner not in kinds.RESPONSE_NOISE:
            self._unknown(f"response_item/{inner}", record)

    def _event(self, payload: Mapping[str, Any], inner: str, record: Mapping[str, Any]) -> None:
        if inner == "item_completed" or inner in kinds.END_EVENTS:
            item = calls.item_of(payload)
            kind, call_id = text(item.get("type")), ident(item.get("id"))
            if kind in kinds.ITEMS and call_id:
                self._emit_all(self.calls.completed(self._call_context(), call_id, item))
            elif kind not in kinds.ITEM_NOISE:
                self._unknown(f"event_msg/item_completed/{kind}", record)
        elif inner == "token_count":
            info = mapping(payload.get("info"))
            self._usage(mapping(info.get("last_token_usage")), mapping(info.get("total_token_usage")))
        elif inner in kinds.TURN_STARTS:
            self._interrupt("the turn ended before it had a result")
            self.turn = ident(payload.get("turn_id")) or self.turn
        elif inner in kinds.TURN_ENDS:
            reason = text(payload.get("reason")) if inner == "turn_aborted" else "it had no result"
            self._interrupt(f"the turn ended: {reason[:100] or 'aborted'}")
        elif inner in kinds.TITLES:
            title = text(payload.get("thread_name") or payload.get("name")).strip()[:TITLE]
            if title and self.agent_id is None:
                self._emit("session.title", {"title": title}, title_key(self.session, title))
        elif inner not in kinds.EVENT_NOISE:
            self._unknown(f"event_msg/{inner}", record)

    def _interrupt(self, why: str) -> None:
        self._emit_all(self.calls.interrupt(self._call_context(), why))

    def _message(self, payload: Mapping[str, Any]) -> None:
        if self.agent_id is not None:
            return  # messages between agents are recorded as calls
        if payload.get("role") == "assistant":
            parts = (text(mapping(part).get("text")) for part in sequence(payload.get("content")))
            words = "\n".join(filter(None, parts)).strip()
            if said := PROPOSED_PLAN.sub("", words).strip():
                self._emit("message", {"text": capped(said, MAX_TEXT)})
            if (found := PROPOSED_PLAN.search(words)) and found[1]:
                self.plan = plan_title(found[1])
                self._plan("presented", found[1])
        elif payload.get("role") == "user":
            passed = mapping(payload.get("internal_chat_message_metadata_passthrough"))
            if words := user_text(payload.get("content"), passed.get("content_item_kinds")):
                turn = ident(passed.get("turn_id")) or self.turn
                key = prompt_key(self.session, turn, words) if turn else None
                form = {"form": "queued"} if turn and turn == self.prompted else {}
                self.prompted = turn
                self._emit("prompt", {"text": capped(words, MAX_TEXT), **form}, key)
                self._judged(words)

    def _judged(self, words: str) -> None:
        """A plan that the user accepted, here or in an earlier session."""
        handed_over = PLAN_HANDED_OVER.match(words)
        if words == PLAN_ACCEPTED and self.plan:
            self._plan("accepted")
            payload = {"what": "accepted", "form": "plan", "about": self.plan}
            self._emit("decision", payload, self._plan_key("decision"), tool_calls.PERSON)
        elif handed_over and (plan := words[handed_over.end() :].strip()):
            self.plan = plan_title(plan)
            self._plan("accepted", plan)

    def _plan(self, status: str, plan: str = "") -> None:
        payload = {"title": self.plan, "status": status}
        payload |= {"text": capped(plan, MAX_TEXT)} if plan else {}
        actor = None if status == "presented" else tool_calls.PERSON
        self._emit("plan", payload, self._plan_key(status), actor)

    def _plan_key(self, what: str) -> str:
        return record_key(self.thread, f"{self.name}:{what}")

    def _compacted(self, message: str) -> None:
        _, _, after = message.partition(SUMMARY_FOLLOWS)
        summary = after.strip() or message.strip()
        values = {"summary": capped(summary, tool_calls.OUTPUT)} if summary else {}
        self._emit("evicted", {"keys": [], **values})

    def _usage(self, usage: Mapping[str, Any], total: Mapping[str, Any]) -> None:
        """Record the tokens of an answer once.

        Several records repeat them. Only an answer changes the thread's total, so the total is the key.
        """
        total_tokens = tokens(total.get("total_tokens"))
        if not total_tokens or total_tokens == self.total:
            return
        cached = tokens(usage.get("cached_input_tokens"))  # part of the input
        values: dict[str, Any] = {
            "input_tokens": max(0, tokens(usage.get("input_tokens")) - cached),
            "output_tokens": tokens(usage.get("output_tokens")),
            "cached_tokens": cached,
        }
        if any(values.values()):
            self.total = total_tokens
            values |= {"model": self.model} if self.model else {}
            self._emit("usage", values, record_key(self.thread, f"usage:{total_tokens}"))

    def _unknown(self, kind: str, record: Mapping[str, Any]) -> None:
        kind = kind[:100] or "?"
        self.unknown[kind] = self.unknown.get(kind, 0) + 1
        self._emit("unknown", {"type": kind, "raw": bounded(record, UNKNOWN)})

    def _call_context(self) -> CallContext:
        return CallContext(self.session, self.agent_id, self.cwd, self.home, self.at)

    def _flush(self) -> None:
        """Emit the opening, if it is still waiting."""
        if self.opening is not None:
            values, self.opening = self.opening | ({"model": self.model} if self.model else {}), None
            at = values.pop("at", None)
            self._draft(PartialDraft("session.open", values, open_key(self.session), at))
            if name := ident(self.git.get("branch")):
                head = ident(self.git.get("commit_hash"))
                branch = {"name": name} | ({"head": head} if head else {})
                self._draft(PartialDraft("branch", branch, record_key(self.thread, "branch"), at))

    def _emit(
        self, kind: str, payload: Mapping[str, Any], key: str | None = None, actor: str | None = None
    ) -> None:
        self._flush()
        self._draft(PartialDraft(kind, payload, key or record_key(self.thread, self.name), self.at, actor))

    def _emit_all(self, drafts: Iterable[PartialDraft]) -> None:
        for draft in drafts:
            self._flush()
            self._draft(draft)

    def _draft(self, partial: PartialDraft) -> None:
        draft = Draft(
            self.session,
            partial.kind,
            partial.payload,
            NAME,
            partial.at,
            None,
            partial.actor,
            "transcript",
            key=partial.key,
        )
        self.drafts.append(draft)


def _uuid_ms(name: str) -> int | None:
    """The time of a version 7 UUID, in milliseconds."""
    digits = name.replace("-", "")
    if len(digits) != 32 or digits[12] != "7":
        return None
    try:
        return int(digits[:12], 16)
    except ValueError:
        return None


# The reader
#
# `$CODEX_HOME or ~/.codex`, `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` and `archived_sessions/`.
# Tested with rollouts of Codex 0.166.0. Older formats are read as in their sources.
#
# A subagent belongs to the session of its root thread, as in hooks. Hooks and rollouts use the same keys
# for calls and prompts. Everything else is reported only by rollouts; its key is the thread and the
# ordinal.
#
# A fork names its parent. Older versions also copied the parent's records into it, all at once. Records
# before the first turn that is younger than the thread are such copies and are skipped.

NAMES_FILE = "session_index.jsonl"
HEAD = 1024
ROOT = lazy_regex(rb'"type":"session_meta","payload":\{"session_id":"([0-9A-Za-z-]{1,100})"')


def _rollouts(root: Path) -> Iterator[Path]:
    yield from root.glob("sessions/*/*/*/rollout-*.jsonl")
    yield from root.glob("archived_sessions/**/rollout-*.jsonl")


class Codex:
    """Reads rollouts. `home` is the folder of `~` in their commands."""

    name = NAME
    version = 3

    def __init__(self, home: str | None = None) -> None:
        self.home = home
        self._sessions: dict[Path, str] = {}  # a rollout never changes its session

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = Path(places.env.get("CODEX_HOME") or places.home / ".codex")
        # Oldest first and names last, so that a session comes before its parts.
        for path in [*sorted(_rollouts(root), key=lambda path: path.name), root / NAMES_FILE]:
            try:
                stat, session = path.stat(), self._session(path)
            except FileNotFoundError:
                continue  # no thread has a name, or the rollout was just archived
            yield RecordFile(NAME, path, session, stat.st_size, stat.st_mtime)

    def _session(self, path: Path) -> str:
        """The session of a rollout, from its first record. A subagent names its root's."""
        if path not in self._sessions:
            try:
                with open_regular(path) as file:
                    found = ROOT.search(file.read(HEAD))
            except OSError:
                found = None  # `read` reports the error
            if found is None:
                return _thread(path)  # an older version, or not written yet
            self._sessions[path] = found.group(1).decode()
        return self._sessions[path]

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        lines = complete_lines(record.path, cursor.offset, limit, quiet=record.quiet)
        if record.path.name == NAMES_FILE:
            return _names(lines, record)
        rollout = Rollout(_thread(record.path), cursor.carry, self.home)
        bad = lines.overlong
        for line in lines.lines:
            if is_noise(line):
                rollout.lines += 1
                continue
            records = records_of(line)
            for taken in records:
                rollout.take(taken)
            bad += not records and bool(line.strip())
        if not lines.more:
            rollout.finish()
        after = Cursor(lines.offset, rollout.carry())
        waiting = lines.rest and not record.quiet
        return Chunk(tuple(rollout.drafts), after, lines.more, rollout.unknown, bad, waiting)


def _thread(path: Path) -> str:
    """The thread in a file name such as `rollout-2026-11-16T00-12-15-<thread>`."""
    stem = path.stem
    return stem[len("rollout-2026-11-16T00-12-15-") :] or stem if stem.startswith("rollout-") else stem


def _names(lines: Lines, record: RecordFile) -> Chunk:
    """The names of threads that still have a rollout."""
    threads = {_thread(path) for path in _rollouts(record.path.parent)} if lines.lines else set()
    drafts = []
    bad = lines.overlong
    for line in lines.lines:
        entry = record_of(line)
        if entry is None:
            bad += bool(line.strip())
            continue
        thread, title = ident(entry.get("id")), text(entry.get("thread_name")).strip()[:TITLE]
        if title and thread in threads:
            at = moment(entry.get("updated_at")) or round(record.mtime * 1_000_000)
            key = title_key(thread, title)
            drafts.append(
                Draft(thread, "session.title", {"title": title}, NAME, at, source="transcript", key=key)
            )
    return Chunk(tuple(drafts), Cursor(lines.offset), lines.more, {}, bad)
