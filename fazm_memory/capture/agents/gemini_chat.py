"""A chat of Gemini CLI as it is read on: records made into drafts, and what must be remembered of them.

A message is written again when its tokens or its calls are known, so what was already told of the recent ones
is remembered: the text once, the tokens once, each call once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fazm_memory.capture.agents import tool_call
from fazm_memory.capture.agents.fields import (
    SAID,
    bounded,
    capped,
    digest,
    ident,
    mapping,
    moment,
    sequence,
    text,
    tokens,
)
from fazm_memory.capture.agents.gemini_call import ended
from fazm_memory.capture.agents.injected import without_injected
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.shell import Known

NAME = "gemini"
MOST_TOLD = 200
UNKNOWN = 4 << 10
TITLE = 500
HOOK_CONTEXT = ("<hook_context>", "</hook_context>")  # what hooks, ours among them, put beside a prompt
WORKSPACE = re.compile(r"Workspace Directories:\*\*\n\s+- (.+)")
SNAPSHOT = "<state_snapshot>"
NOISE = frozenset({"info", "error", "warning"})
PENDING = frozenset({"validating", "scheduled", "executing", "awaiting_approval"})


class Chat:
    """The state of a reading. What `carry` gives, the next one is made of."""

    def __init__(self, session: str, project: str, carry: Mapping[str, Any], home: str | None) -> None:
        self.home = home
        self.session = session
        self.agent_id: str | None = carry.get("agent_id")
        self.cwd: str = carry.get("cwd") or project
        self.opening: dict[str, Any] | None = carry.get("opening")
        self.title: str = carry.get("title") or ""
        # message id → what was told of it: its text, its tokens, how many of its calls
        self.told: dict[str, list[int]] = {
            name: list(sequence(one)) for name, one in mapping(carry.get("told")).items()
        }
        self.known = Known(mapping(carry.get("known")))
        self.lines: int = carry.get("lines") or 0
        self.at: int | None = carry.get("at")
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}

    def carry(self) -> dict[str, Any]:
        names = ("agent_id", "cwd", "opening", "title", "told", "lines", "at")
        told = {name: getattr(self, name) for name in names} | {"known": self.known.carry()}
        return {name: value for name, value in told.items() if value}

    def take(self, record: Mapping[str, Any]) -> None:
        """One record, in the order of the file."""
        self.lines += 1
        if "$set" in record:
            self._patched(mapping(record["$set"]))
        elif "$rewindTo" in record:
            return  # what was done is not undone by forgetting it
        elif ident(record.get("id")):
            self._message(record)
        elif ident(record.get("sessionId")):
            self._header(record)
        else:
            self._unknown("record", record)

    def finish(self) -> None:
        self._flush()

    def _header(self, record: Mapping[str, Any]) -> None:
        if record.get("kind") == "subagent":  # it works in a session that another chat opens
            self.agent_id = ident(record.get("sessionId"))
        folders = [text(one) for one in sequence(record.get("directories"))]
        self.cwd = self.cwd or (folders[0] if folders else "")
        self.at = moment(record.get("startTime")) or self.at
        if self.agent_id is None:
            self.opening = {"at": self.at}
        self._patched(record)

    def _patched(self, patch: Mapping[str, Any]) -> None:
        """Metadata: a title when the session has been summed up, and the history when it was replaced."""
        self.at = moment(patch.get("lastUpdated")) or self.at
        title = text(patch.get("summary")).strip()[:TITLE]
        if title and title != self.title and self.agent_id is None:
            self.title = title
            self._tell("session.title", {"title": title}, f"title:{digest(title)}", self.at)
        for message in map(mapping, sequence(patch.get("messages"))):
            said = _said(message.get("content"))
            if not self.cwd and (found := WORKSPACE.search(said)):
                self.cwd = found.group(1).strip()
            if SNAPSHOT in said and (name := ident(message.get("id"))) and self._once(name, 0):
                payload = {"keys": [], "summary": capped(said.strip(), tool_call.OUTPUT)}
                self._tell("evicted", payload, name, self.at)

    def _message(self, record: Mapping[str, Any]) -> None:
        name, kind = ident(record.get("id")), text(record.get("type"))
        self.at = at = moment(record.get("timestamp")) or self.at
        if kind == "user":
            asked = _asked(_said(record.get("displayContent") or record.get("content")))
            mine = self.agent_id is None and not asked.startswith(("<session_context>", SNAPSHOT))
            if asked and mine and self._once(name, 0):
                self._tell("prompt", {"text": capped(asked, SAID)}, name, at)
        elif kind == "gemini":
            said = _said(record.get("content")).strip()
            if said and self.agent_id is None and self._once(name, 0):
                self._tell("message", {"text": capped(said, SAID)}, name, at)
            self._spent(record, name, at)
            self._calls(record, name)
        elif kind not in NOISE:
            self._unknown(f"message/{kind}", record)

    def _spent(self, record: Mapping[str, Any], name: str, at: int | None) -> None:
        spent = mapping(record.get("tokens"))
        cached = tokens(spent.get("cached"))  # a part of the input there
        told: dict[str, Any] = {
            "input_tokens": max(0, tokens(spent.get("input")) - cached) + tokens(spent.get("tool")),
            "output_tokens": tokens(spent.get("output")) + tokens(spent.get("thoughts")),
            "cached_tokens": cached,
        }
        if any(told.values()) and self._once(name, 1):
            model = ident(record.get("model"))
            self._tell("usage", told | ({"model": model} if model else {}), f"{name}:usage", at)

    def _calls(self, record: Mapping[str, Any], name: str) -> None:
        calls = [mapping(call) for call in sequence(record.get("toolCalls"))]
        already = self._of(name)[2]
        for number in range(already, len(calls)):
            call = calls[number]
            if text(call.get("status")) in PENDING:
                break  # those after it wait with it, so that the count of the told ones holds
            self._of(name)[2] = number + 1
            self._call(call, f"{name}:{number}")

    def _call(self, call: Mapping[str, Any], key: str) -> None:
        tool, given = text(call.get("name"))[:200] or "unknown", call.get("args")
        self.at = at = moment(call.get("timestamp")) or self.at
        over = ended(tool, mapping(given), call, cwd=self.cwd, home=self.home, known=self.known)
        payload = tool_call.action(
            tool,
            given,
            call_id=ident(call.get("id")) or key,
            output=over.output,
            outcome=over.outcome,
            error=over.error,
            files=over.files,
            agent_id=self.agent_id,
        )
        self._tell("action", payload, key, at)
        for number, seen in enumerate(over.seen):
            self._tell("seen", seen, f"{key}:seen:{number}", at)

    def _of(self, name: str) -> list[int]:
        told = self.told.pop(name, None) or [0, 0, 0]
        self.told[name] = told  # the one last spoken of is the last to be forgotten
        if len(self.told) > MOST_TOLD:
            del self.told[next(iter(self.told))]
        return told

    def _once(self, name: str, what: int) -> bool:
        told = self._of(name)
        first = not told[what]
        told[what] = 1
        return first

    def _flush(self) -> None:
        """The opening waits for the record after the header, which names the workspace."""
        if self.opening is not None:
            at, self.opening = self.opening.get("at"), None
            told = {"agent": NAME, "agent_session_id": self.session, "workspace": self.cwd}
            self._draft("session.open", {name: one for name, one in told.items() if one}, "open", at)

    def _tell(self, kind: str, payload: Mapping[str, Any], key: str, at: int | None) -> None:
        self._flush()
        self._draft(kind, payload, key, at)

    def _draft(self, kind: str, payload: Mapping[str, Any], key: str, at: int | None) -> None:
        whole = f"{NAME}:{self.session}:{key}"
        self.drafts.append(Draft(self.session, kind, payload, NAME, at, source="transcript", key=whole))

    def _unknown(self, kind: str, record: Mapping[str, Any]) -> None:
        kind = kind[:100]
        self.unknown[kind] = self.unknown.get(kind, 0) + 1
        name = ident(record.get("id")) or f"{self.agent_id or 'line'}-{self.lines}"
        self._tell("unknown", {"type": kind, "raw": bounded(record, UNKNOWN)}, f"unknown:{name}", self.at)


def _said(content: Any) -> str:
    """The words of a message: text, a part, or a list of either; thoughts and calls are not words."""
    parts = content if isinstance(content, list) else [content]
    words = (one if isinstance(one, str) else _part_text(mapping(one)) for one in parts)
    return "\n".join(filter(None, words))


def _part_text(part: Mapping[str, Any]) -> str:
    return "" if part.get("thought") else text(part.get("text"))


def _asked(said: str) -> str:
    """What the user said, without the context that hooks put beside it."""
    opening, closing = HOOK_CONTEXT
    start = 0
    kept = []
    while (begin := said.find(opening, start)) >= 0 and (end := said.find(closing, begin)) >= 0:
        kept.append(said[start:begin])
        start = end + len(closing)
    return without_injected("".join([*kept, said[start:]])).strip()
