"""The calls of a Codex thread that are under way, and those just told: each becomes one action.

An item may come before the result it belongs to, long after it, or without any: before, it waits with its
call; after, it amends; alone, it is the call. When a turn ends, the calls it left open have been interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fazm_memory.capture.agents import codex_call, tool_call
from fazm_memory.capture.agents.codex_call import Ended
from fazm_memory.capture.agents.codex_keys import action_key, start_key
from fazm_memory.capture.agents.fields import bounded, mapping, text
from fazm_memory.capture.shell import Known

MOST_OPEN = 200
TOOL_NAME = 200


@dataclass(frozen=True)
class Scene:
    """Where and when a record stands: what a call is told with."""

    session: str
    agent_id: str | None
    cwd: str
    home: str | None
    at: int | None


@dataclass(frozen=True)
class Telling:
    """What is to be told: a draft but for what all drafts of a thread share."""

    kind: str
    payload: Mapping[str, Any]
    key: str
    at: int | None
    actor: str | None = None


class Calls:
    """Both tables are bounded and JSON-able, so that they can be carried in a cursor."""

    def __init__(self, carry: Mapping[str, Any]) -> None:
        self.open: dict[str, dict[str, Any]] = {
            name: dict(one) for name, one in mapping(carry.get("open")).items()
        }
        self.done: dict[str, bool] = dict(mapping(carry.get("done")))  # whether its process still runs
        self.known = Known(mapping(carry.get("known")))

    def carry(self) -> dict[str, Any]:
        told = {"open": self.open, "done": self.done, "known": self.known.carry()}
        return {name: value for name, value in told.items() if value}

    def begin(self, scene: Scene, call_id: str, tool: str, given: Any) -> Iterator[Telling]:
        if len(self.open) >= MOST_OPEN:
            oldest = next(iter(self.open))
            yield from self._started(scene, oldest)
            del self.open[oldest]
        call = {"tool": tool[:TOOL_NAME], "input": bounded(given, tool_call.INPUT)}
        self.open[call_id] = call | {"at": scene.at, "cwd": scene.cwd}

    def started(self, scene: Scene) -> Iterator[Telling]:
        """The calls that have no result yet, each told as begun once."""
        for call_id in self.open:
            yield from self._started(scene, call_id)

    def _started(self, scene: Scene, call_id: str) -> Iterator[Telling]:
        call = self.open[call_id]
        if not call.get("started"):
            call["started"] = True
            payload = tool_call.start(call["tool"], call["input"], call_id, scene.agent_id)
            yield Telling("action.start", payload, start_key(scene.session, call_id), call["at"])

    def result(self, scene: Scene, call_id: str, said: str) -> Iterator[Telling]:
        """The conversation has the result of a call."""
        call = self.open.pop(call_id, None)
        if call is None:
            if call_id in self.done:
                return
            # The record of its beginning may be damaged; that it ended is true all the same.
            call = {"tool": "unknown", "input": None}
        tool, given, cwd = call["tool"], call["input"], text(call.get("cwd")) or scene.cwd
        over = codex_call.ended(
            tool, given, said, call.get("item"), cwd=cwd, home=scene.home, known=self.known
        )
        yield from self._act(scene, call_id, tool, given, over)

    def completed(self, scene: Scene, call_id: str, item: dict[str, Any]) -> Iterator[Telling]:
        """The event log says how something ended."""
        if call_id in self.open:
            self.open[call_id]["item"] = item
            return
        runs = self.done.get(call_id)
        if runs is False:
            return
        tool, given = codex_call.called_by_item(item)
        over = codex_call.ended(tool, given, "", item, cwd=scene.cwd, home=scene.home, known=self.known)
        if runs is None:
            actor = "person" if item.get("source") == "user_shell" else None
            yield from self._act(scene, call_id, tool, given, over, actor)
            return
        self.done[call_id] = False
        news = {
            "call_id": call_id,
            "outcome": over.outcome,
            "error": over.error if over.outcome != "ok" else None,
            "duration_ms": over.duration_ms,
            "output_summary": tool_call.summary(over.output),
            "files": list(over.files) or None,
        }
        known = {name: value for name, value in news.items() if value is not None}
        yield Telling("action.amend", known, f"{action_key(scene.session, call_id)}:end", scene.at)

    def at_once(self, scene: Scene, call_id: str, tool: str, payload: Mapping[str, Any]) -> Iterator[Telling]:
        """A call that the model's own host carried out: call and result are one record."""
        if call_id not in self.done:
            given = {name: payload[name] for name in ("action", "query", "revised_prompt") if name in payload}
            over = Ended("", "error" if payload.get("status") == "failed" else "ok")
            yield from self._act(scene, call_id, tool, given, over)

    def interrupt(self, scene: Scene, why: str) -> Iterator[Telling]:
        calls, self.open = self.open, {}
        for call_id, call in calls.items():
            tool, given, cwd = call["tool"], call["input"], text(call.get("cwd")) or scene.cwd
            over = codex_call.stopped(tool, given, why, cwd=cwd, home=scene.home, known=self.known)
            yield from self._act(scene, call_id, tool, given, over)

    def _act(
        self, scene: Scene, call_id: str, tool: str, given: Any, over: Ended, actor: str | None = None
    ) -> Iterator[Telling]:
        payload = tool_call.action(
            tool[:TOOL_NAME],
            given,
            call_id=call_id,
            output=over.output,
            outcome=over.outcome,
            error=over.error,
            duration_ms=over.duration_ms,
            files=over.files,
            agent_id=scene.agent_id,
        )
        key = action_key(scene.session, call_id)
        yield Telling("action", payload, key, scene.at, actor)
        for number, seen in enumerate(over.seen):
            yield Telling("seen", seen, f"{key}:seen:{number}", scene.at)
        self.done[call_id] = over.running
        if len(self.done) > MOST_OPEN:
            del self.done[next(iter(self.done))]
