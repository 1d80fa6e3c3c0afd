"""A session as an ATIF v1.7 trajectory (Agent Trajectory Interchange Format).

Every statement is a step. Tool calls belong to the agent's step before them. What ATIF has no field for is
in `extra`.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any

from fazm_memory.clock import iso
from fazm_memory.formats.conversation import Conversation, Statement, TokenUse, ToolCall
from fazm_memory.text import plural

SCHEMA = "ATIF-v1.7"
UNKNOWN_VERSION = "unknown"  # ATIF wants the agent's version, which is not recorded


def to_atif(talk: Conversation) -> dict[str, Any]:
    """The trajectory as JSON."""
    steps = _Steps()
    for entry in talk.entries:
        steps.add(entry)
    if not steps.steps:
        steps.step("system", "Nothing was said or done in this session.", talk.opened_at)
    agent: dict[str, Any] = {"name": talk.agent, "version": UNKNOWN_VERSION}
    if talk.models:
        agent["model_name"] = talk.models[0]
    state = talk.state
    extra = {
        "title": talk.title, "workspace": talk.workspace, "parent": talk.parent,
        "files_modified": state["files_modified"], "pending": state["pending_actions"],
        "questions": state["questions"],
    }  # fmt: skip
    trajectory = {
        "schema_version": SCHEMA,
        "session_id": talk.id,
        "trajectory_id": talk.id,
        "agent": agent,
        "steps": steps.steps,
        "final_metrics": _final_metrics(talk, len(steps.steps)),
        "extra": {"fazm_memory": {name: value for name, value in extra.items() if value}},
    }
    if talk.forgotten:
        trajectory["notes"] = f"{plural(talk.forgotten, 'event')} without content, because it was forgotten."
    return trajectory


class _Steps:
    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.ids: set[str] = set()
        self.unspent: list[TokenUse] = []  # recorded before the agent's step of the same turn
        self.turn = -1

    def add(self, entry: Statement | ToolCall | TokenUse) -> None:
        if entry.turn != self.turn:
            self.turn, self.unspent = entry.turn, []
        if isinstance(entry, TokenUse):
            if self._agents_turn():
                _spend(self.steps[-1], entry)
            else:
                self.unspent.append(entry)
        elif isinstance(entry, ToolCall):
            if not self._agents_turn():
                self._agent_step("", entry.begin, entry.turn)
            self._call(self.steps[-1], entry)
        elif entry.role == "user":
            message = f"{entry.question}\n\n{entry.text}" if entry.question else entry.text
            self.step("user", message, entry.at)["extra"] = _about(entry)
        else:
            self._agent_step(entry.text, entry.at, entry.turn)
            self.steps[-1]["extra"] |= _about(entry)

    def _agents_turn(self) -> bool:
        """Whether the last step is the agent's and of the current turn."""
        return bool(self.steps) and self.steps[-1]["source"] == "agent" and (
            self.steps[-1]["extra"]["turn"] == self.turn
        )  # fmt: skip

    def step(self, source: str, message: str, at: int) -> dict[str, Any]:
        step = {"step_id": len(self.steps) + 1, "timestamp": iso(at, UTC), "source": source,
                "message": message}  # fmt: skip
        self.steps.append(step)
        return step

    def _agent_step(self, message: str, at: int, turn: int) -> None:
        step = self.step("agent", message, at)
        step["extra"] = {"turn": turn}
        for use in self.unspent:
            _spend(step, use)
        self.unspent = []

    def _call(self, step: dict[str, Any], call: ToolCall) -> None:
        name = call.call_id or ""
        if not name or name in self.ids:
            name = f"{call.session[:8]}-{call.seq}"
        self.ids.add(name)
        given = call.input if isinstance(call.input, dict) else {"input": call.input}
        extra = {"outcome": call.outcome, "seq": call.seq, "duration_ms": (call.end - call.begin) // 1000,
                 "agent_id": call.agent_id, "files": call.files}  # fmt: skip
        step.setdefault("tool_calls", []).append(
            {
                "tool_call_id": name,
                "function_name": call.tool,
                "arguments": {} if call.input is None else given,
                "extra": {name: value for name, value in extra.items() if value},
            }
        )
        if call.result is not None or call.outcome != "interrupted":
            result: dict[str, Any] = {"source_call_id": name, "content": call.result or ""}
            if call.error is not None:
                result["extra"] = {"error": call.error}
            step.setdefault("observation", {"results": []})["results"].append(result)


def _about(said: Statement) -> dict[str, Any]:
    about = {"turn": said.turn, "form": said.form, "trust": said.trust, "seq": said.seq,
             "question": said.question, "why": said.why, "alternatives": list(said.alternatives)}  # fmt: skip
    return {name: value for name, value in about.items() if value or name in ("turn", "seq")}


def _spend(step: dict[str, Any], use: TokenUse) -> None:
    """Add tokens to the metrics of an agent's step. In ATIF, prompt tokens include cached ones."""
    metrics = step.setdefault("metrics", {"prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0})
    metrics["prompt_tokens"] += use.input + use.cached
    metrics["completion_tokens"] += use.output
    metrics["cached_tokens"] += use.cached
    if use.usd is not None:
        metrics["cost_usd"] = metrics.get("cost_usd", 0.0) + use.usd
    if use.model:
        step["model_name"] = use.model


def _final_metrics(talk: Conversation, steps: int) -> dict[str, Any]:
    uses = [entry for entry in talk.entries if isinstance(entry, TokenUse)]
    metrics: dict[str, Any] = {"total_steps": steps}
    if uses:
        metrics |= {
            "total_prompt_tokens": sum(use.input + use.cached for use in uses),
            "total_completion_tokens": sum(use.output for use in uses),
            "total_cached_tokens": sum(use.cached for use in uses),
        }
    if any(use.usd is not None for use in uses):
        metrics["total_cost_usd"] = sum(use.usd or 0.0 for use in uses)
    return metrics
