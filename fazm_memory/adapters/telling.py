"""Telling: what frameworks keep as messages and items, as drafts of prompts, messages and actions.

A program may put anything into the mouth of its user. So a prompt that comes in here is believed as an
agent's word, not as the user's own, and nobody is named as its speaker.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fazm_memory.capture.agents import tool_call
from fazm_memory.capture.agents.fields import SAID, capped, ident, mapping, sequence, text
from fazm_memory.capture.draft import Draft

SOURCE = "record"
CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
}  # of OpenAI's items, and what they were given
RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


class Telling:
    """Collects the drafts of one session of an agent. Keys make each thing one, however often it is told."""

    def __init__(self, agent: str, session: str) -> None:
        self.agent = agent
        self.session = session.encode(errors="replace").decode()  # a name that can be stored
        self.drafts: list[Draft] = []
        self.last = ""  # the id of the last message
        self.open: dict[str, tuple[str, Any]] = {}
        opening = {"agent": agent, "agent_session_id": self.session}
        self._tell("session.open", opening, "open")

    def langchain(self, messages: Any, *, after: str) -> list[Draft]:
        """The messages of a graph, oldest first; those behind the one with the id `after`, if it is there.

        Those without an id cannot be told apart and are left out.
        """
        named = [(ident(getattr(one, "id", None)), one) for one in sequence(messages)]
        self.last = after
        known = max((at for at, (name, _) in enumerate(named) if name == after), default=-1)
        for at, (name, one) in enumerate(named):
            kind, said = getattr(one, "type", None), words(getattr(one, "content", None))
            if kind == "ai":
                for call in map(mapping, sequence(getattr(one, "tool_calls", None))):
                    self._begin(ident(call.get("id")), ident(call.get("name")), call.get("args"))
            elif kind == "tool" and at <= known:
                self.open.pop(ident(getattr(one, "tool_call_id", None)), None)
            if not name or at <= known:
                continue
            self.last = name
            if kind == "human":
                self._prompt(said, name)
            elif kind == "ai":
                self._message(said, name)
            elif kind == "tool":
                failed = getattr(one, "status", None) == "error"
                self._end(ident(getattr(one, "tool_call_id", None)), said, failed=failed)
        return self._finished()

    def openai(self, items: Iterable[tuple[str, Mapping[str, Any]]], before: Sequence[Any]) -> list[Draft]:
        """Named items of the Responses API; a call whose result they bring may stand `before` them."""
        for one in map(mapping, before):
            self._call(one)
            if one.get("type") in RESULTS:
                self.open.pop(ident(one.get("call_id")), None)
        for name, item in items:
            role, kind = text(item.get("role")), text(item.get("type"))
            if role == "user":
                self._prompt(words(item.get("content")), name)
            elif role == "assistant":
                self._message(words(item.get("content")), name)
            elif kind in RESULTS:
                self._end(ident(item.get("call_id")), words(item.get("output")), failed=False)
            else:
                self._call(item)
        return self._finished()

    def _call(self, item: Mapping[str, Any]) -> None:
        kind = text(item.get("type"))
        if kind in CALLS:
            given = item.get(CALLS[kind])
            self._begin(ident(item.get("call_id")), ident(item.get("name")), _read(given))

    def _prompt(self, said: str, name: str) -> None:
        if said:
            self._tell("prompt", {"text": capped(said, SAID)}, name, trust="agent", actor="unknown")

    def _message(self, said: str, name: str) -> None:
        if said:
            self._tell("message", {"text": capped(said, SAID)}, name)

    def _begin(self, call_id: str, tool: str, given: Any) -> None:
        if call_id:
            self.open[call_id] = (tool or "unknown", given)

    def _end(self, call_id: str, output: str, *, failed: bool) -> None:
        if not call_id:
            return
        tool, given = self.open.pop(call_id, ("unknown", None))
        outcome = "error" if failed else "ok"
        told = tool_call.action(
            tool, given, call_id=call_id, output=output, outcome=outcome, error=output if failed else None
        )
        self._tell("action", told, call_id)

    def _finished(self) -> list[Draft]:
        """Calls without a result are told as begun."""
        for call_id, (tool, given) in self.open.items():
            self._tell("action.start", tool_call.start(tool, given, call_id, None), f"{call_id}:start")
        return self.drafts if len(self.drafts) > 1 else []

    def _tell(
        self,
        kind: str,
        payload: Mapping[str, Any],
        name: str,
        trust: str | None = None,
        actor: str | None = None,
    ) -> None:
        key = f"{self.agent}:{self.session}:{name}"
        self.drafts.append(
            Draft(self.session, kind, payload, self.agent, source=SOURCE, key=key, trust=trust, actor=actor)
        )


def words(content: Any) -> str:
    """The text of a message: a string, or the texts among its parts."""
    if isinstance(content, str):
        return content
    parts = (one if isinstance(one, str) else text(mapping(one).get("text")) for one in sequence(content))
    return "\n".join(part for part in parts if part)


def _read(given: Any) -> Any:
    """Arguments come as JSON in a text; what is none stays as it is."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given
