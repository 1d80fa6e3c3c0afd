"""A transcript of Claude Code as it is read on: its records made into drafts, and what must be remembered.

Records are taken in the order of the file; their threading says which branch was shown last, not what
happened. One answer of the model comes as several records that share its id and repeat its usage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fazm_memory.capture.agents import claude_call, claude_keys, claude_kinds, claude_prompt, tool_call
from fazm_memory.capture.agents.claude_call import Ended
from fazm_memory.capture.agents.claude_title import TITLES, Titles
from fazm_memory.capture.agents.claude_usage import Spending
from fazm_memory.capture.agents.fields import SAID, bounded, capped, ident, mapping, moment, sequence, text
from fazm_memory.capture.agents.injected import without_injected
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.shell import Known

MOST_OPEN = 200
RECENT = 32
UNKNOWN = 4 << 10
SYNTHETIC = "<synthetic>"  # the client's own words in the model's place
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
STOPPED = "interrupted by the user"
HEADLESS = "sdk-cli"  # `claude -p`: a call that is broken off reads like one that a person rejected


class Transcript:
    """The state of a reading. What `carry` gives, the next one is made of."""

    def __init__(
        self, session: str, agent_id: str | None, carry: Mapping[str, Any], home: str | None = None
    ) -> None:
        self.session = session
        self.agent_id = agent_id
        self.home = home
        self.parent: str = text(carry.get("parent"))
        self.opened: bool = bool(carry.get("opened"))
        self.cwd: str = text(carry.get("cwd"))
        self.lines: int = carry.get("lines") or 0
        self.at: int | None = carry.get("at")
        self.prompted: str = text(carry.get("prompted"))
        self.recent: list[str] = list(sequence(carry.get("recent")))
        self.boundary: dict[str, Any] = dict(mapping(carry.get("boundary")))
        self.spending = Spending(mapping(carry.get("spending")))
        self.titles = Titles(mapping(carry.get("titles")))
        self.known = Known(mapping(carry.get("known")))
        self.open: dict[str, dict[str, Any]] = {
            name: dict(call) for name, call in mapping(carry.get("open")).items()
        }
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}
        self.opening: dict[str, Any] = {}
        self.uuid = ""
        self.who: str | None = agent_id
        self.aside = agent_id is not None

    def carry(self) -> dict[str, Any]:
        names = ("parent", "opened", "cwd", "lines", "at", "prompted", "recent", "boundary", "open")
        told = {name: getattr(self, name) for name in names}
        told |= {"spending": self.spending.carry(), "titles": self.titles.carry()}
        told |= {"known": self.known.carry()}
        return {name: value for name, value in told.items() if value}

    def take(self, record: Mapping[str, Any]) -> None:
        """One record, in the order of the file."""
        kind = text(record.get("type"))
        self.at = moment(record.get("timestamp")) or self.at
        self.cwd = text(record.get("cwd")) or self.cwd
        # A copy made by some versions has a new id and names the one it had: that is what it is known by.
        copied = mapping(record.get("forkedFrom"))
        self.uuid = ident(copied.get("messageUuid")) or ident(record.get("uuid"))
        if self.uuid in self.recent:
            return  # around a compaction the client writes some records twice
        if self.uuid:
            self.recent = [*self.recent, self.uuid][-RECENT:]
        self.aside = self.agent_id is not None or record.get("isSidechain") is True
        self.who = self.agent_id or (ident(record.get("agentId")) or None if self.aside else None)
        if kind == "user":
            self._user(record)
        elif kind == "assistant":
            self._assistant(record)
        elif kind == "system":
            self._system(record)
        elif kind == "attachment":
            self._attachment(mapping(record.get("attachment")))
        elif kind in TITLES:
            if not self.aside and (title := self.titles.take(kind, record, self.recent)):
                key = f"{claude_keys.NAME}:{self.session}:title:{self.titles.count}"
                self._tell("session.title", {"title": title}, key)
        elif kind not in claude_kinds.NOISE:
            self._unknown(kind, record)

    def finish(self) -> None:
        """The end of the file for now: calls without a result are told as begun, once."""
        for call_id in list(self.open):
            self._started(call_id)

    # What a record says.

    def _user(self, record: Mapping[str, Any]) -> None:
        content = mapping(record.get("message")).get("content")
        if record.get("isCompactSummary") is True:
            self._evicted(claude_prompt.compact_summary(content))
            return
        self._evicted()
        results = [block for block in map(mapping, sequence(content)) if claude_call.is_result(block)]
        for block in results:
            if record.get("entrypoint") == HEADLESS and text(block.get("content")).startswith(
                claude_call.REJECTED
            ):
                block = block | {"content": f"{claude_prompt.INTERRUPTED}]"}  # nobody is there to reject it
            # The object beside the message is that of its only result.
            self._result(block, record.get("toolUseResult") if len(results) == 1 else None)
        if claude_prompt.is_interruption(content):
            self._interrupted()
        if results or self.aside:
            return
        if command := claude_prompt.typed_shell(content):
            self._begin(self._name(), claude_call.SHELL, {"command": command}, person=True)
        elif answer := claude_prompt.shell_answer(content):
            self._shell_answered(*answer)
        elif said := claude_prompt.typed(record, content):
            self._prompt(said, ident(record.get("promptId")))

    def _assistant(self, record: Mapping[str, Any]) -> None:
        self._evicted()
        message = mapping(record.get("message"))
        made_up = message.get("model") == SYNTHETIC
        self._model("" if made_up else ident(message.get("model")))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else sequence(content)
        for number, block in enumerate(map(mapping, blocks)):
            kind = text(block.get("type"))
            if kind == "text" and (not made_up or record.get("isApiErrorMessage") is True):
                self._said(text(block.get("text")), number, "system" if made_up else None)
            elif kind in CALLS and ident(block.get("id")):
                self._begin(ident(block["id"]), ident(block.get("name")) or "unknown", block.get("input"))
            elif claude_call.is_result(block):
                self._result(block, None)
        for told in () if made_up else self.spending.take(message, self.at):
            self._tell("usage", told["usage"], claude_keys.usage_key(told["id"]), told["at"])

    def _system(self, record: Mapping[str, Any]) -> None:
        subtype = text(record.get("subtype"))
        if subtype in claude_kinds.BOUNDARIES and not self.aside:
            self._evicted()
            told = mapping(record.get("compactMetadata")) or mapping(record.get("microcompactMetadata"))
            trigger = ident(told.get("trigger")) or None
            self.boundary = {"trigger": trigger, "at": self.at, "key": self._key()}
            if subtype != "compact_boundary":
                self._evicted()
        elif subtype not in claude_kinds.SYSTEM_NOISE | claude_kinds.BOUNDARIES:
            self._unknown(f"system/{subtype}", record)

    def _attachment(self, attachment: Mapping[str, Any]) -> None:
        """What was typed while the agent was at work is handed to the model beside a tool's result."""
        if attachment.get("type") != claude_kinds.TYPED_MEANWHILE or self.aside:
            return
        said = claude_prompt.typed(attachment, attachment.get("prompt"))
        if said and attachment.get("commandMode") in (None, "prompt"):
            self._tell("prompt", {"text": capped(said, SAID)})

    def _unknown(self, kind: str, record: Mapping[str, Any]) -> None:
        kind = kind[:100] or "?"
        self.unknown[kind] = self.unknown.get(kind, 0) + 1
        self._tell("unknown", {"type": kind, "raw": bounded(record, UNKNOWN)})

    # Words.

    def _prompt(self, said: str, prompt_id: str) -> None:
        # Everything in a turn bears the id of its prompt; only its first prompt is known by it.
        key = claude_keys.prompt_key(prompt_id) if prompt_id and prompt_id != self.prompted else None
        self.prompted = prompt_id or self.prompted
        self._tell("prompt", {"text": capped(said, SAID)}, key)

    def _said(self, said: str, number: int, actor: str | None) -> None:
        said = without_injected(said).strip()
        if said and not self.aside:
            key = f"{self._key()}:{number}" if number else self._key()
            self._tell("message", {"text": capped(said, SAID)}, key, actor=actor)

    def _evicted(self, summary: str = "") -> None:
        """A compaction is a boundary and, mostly, the summary that follows it."""
        if not self.boundary and not summary:
            return
        told, self.boundary = self.boundary or {"at": self.at, "key": self._key()}, {}
        if self.aside:
            return
        summary = capped(summary, tool_call.OUTPUT)
        payload: dict[str, Any] = {"keys": [], "trigger": told.get("trigger"), "summary": summary}
        payload = {name: value for name, value in payload.items() if value not in (None, "")}
        self._tell("evicted", payload, told["key"], told["at"])

    # Calls.

    def _begin(self, call_id: str, tool: str, given: Any, *, person: bool = False) -> None:
        if call_id in self.open:
            return
        if len(self.open) >= MOST_OPEN:
            oldest = next(iter(self.open))
            self._started(oldest)
            del self.open[oldest]
        call = {"tool": tool, "at": self.at, "cwd": self.cwd, "who": self.who, "person": person}
        self.open[call_id] = call | {"input": bounded(given, tool_call.INPUT)}

    def _started(self, call_id: str) -> None:
        call = self.open[call_id]
        if not call.get("started"):
            call["started"] = True
            payload = _told(call) | tool_call.start(call["tool"], None, call_id, call["who"])
            self._tell("action.start", payload, claude_keys.start_key(call_id), call["at"], _actor(call))

    def _result(self, block: Mapping[str, Any], result: Any) -> None:
        if not (call_id := ident(block.get("tool_use_id"))):
            return
        # The record of its beginning may be damaged; that it ended is true all the same.
        unknown = {"tool": "unknown", "input": None, "cwd": self.cwd, "who": self.who}
        call = self.open.pop(call_id, None) or unknown
        self._acted(call_id, call, claude_call.ended(block, result, **self._about(call)))

    def _shell_answered(self, stdout: str, stderr: str) -> None:
        """A person's own command has answered: there is one at a time, and its exit code is not told."""
        mine = next((call_id for call_id, call in self.open.items() if call["person"]), None)
        if mine is not None:
            call, printed = self.open.pop(mine), "\n".join(filter(None, (stdout, stderr)))
            self._acted(mine, call, claude_call.ended({"content": printed}, None, **self._about(call)))

    def _interrupted(self) -> None:
        calls, self.open = self.open, {}
        for call_id, call in calls.items():
            self._acted(call_id, call, claude_call.stopped(STOPPED, **self._about(call)))

    def _about(self, call: Mapping[str, Any]) -> dict[str, Any]:
        where = text(call["cwd"]) or self.cwd
        told = {"tool": call["tool"], "given": call["input"], "cwd": where}
        return told | {"home": self.home, "known": self.known}

    def _acted(self, call_id: str, call: Mapping[str, Any], over: Ended) -> None:
        payload = _told(call) | tool_call.action(
            call["tool"],
            None,
            call_id=call_id,
            output=over.output,
            outcome=over.outcome,
            error=over.error,
            duration_ms=over.duration_ms,
            files=over.files,
            agent_id=call["who"],
        )
        self._tell("action", payload, claude_keys.action_key(call_id), actor=_actor(call))
        for number, seen in enumerate(over.seen):
            self._tell("seen", seen, f"{claude_keys.action_key(call_id)}:seen:{number}")

    # Telling.

    def _model(self, model: str) -> None:
        """The model is first told by its first answer, mostly in the same chunk as the opening."""
        if model and self.opening:
            self.opening.setdefault("model", model)

    def _name(self) -> str:
        return self.uuid or f"{self.session}:{self.agent_id or 'line'}:{self.lines}"

    def _key(self) -> str:
        return claude_keys.record_key(self._name())

    def _tell(
        self,
        kind: str,
        payload: Mapping[str, Any],
        key: str | None = None,
        at: int | None = None,
        actor: str | None = None,
    ) -> None:
        if not self.opened:
            self._draft("session.open", self._opening(), claude_keys.open_key(self.session), self.at)
        self._draft(kind, payload, key or self._key(), at or self.at, actor)

    def _opening(self) -> dict[str, Any]:
        self.opened = True
        told = {"agent": claude_keys.NAME, "agent_session_id": self.session}
        told |= {"workspace": self.cwd, "parent": self.parent}
        self.opening = {name: value for name, value in told.items() if value}
        return self.opening

    def _draft(
        self, kind: str, payload: Mapping[str, Any], key: str, at: int | None, actor: str | None = None
    ) -> None:
        draft = Draft(
            self.session, kind, payload, claude_keys.NAME, at, actor=actor, source="transcript", key=key
        )
        self.drafts.append(draft)


def _told(call: Mapping[str, Any]) -> dict[str, Any]:
    """The input of a call, bounded when it began: a second bounding would cut what the first wrote."""
    return {"input": call["input"]} if call["input"] is not None else {}


def _actor(call: Mapping[str, Any]) -> str | None:
    return "person" if call.get("person") else None
