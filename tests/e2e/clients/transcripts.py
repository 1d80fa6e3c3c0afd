"""What a client's own transcript says it did: an independent witness for the memory's record of the same run.

Only the little that a scripted run needs is read here; reading transcripts as they come is the memory's task.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.clients.run import Run
from tests.e2e.scenarios.script import JsonObject, Outcome

Done = tuple[str, JsonObject | str, Outcome]


def claude_actions(run: Run) -> list[Done]:
    """Calls in the order they began, a subagent's after the call that begot it."""
    denied = {
        denial["tool_use_id"]
        for line in run.stdout_json
        if line["type"] == "result"
        for denial in line["permission_denials"]
    }
    subagents = list(run.transcripts[1:])

    def calls(transcript: Path) -> list[Done]:
        records = [record for record in _records(transcript) if record["type"] in ("user", "assistant")]
        blocks = [block for record in records for block in _blocks(record)]
        results = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
        done: list[Done] = []
        for block in blocks:
            if block["type"] == "tool_use":
                done.append((block["name"], block["input"], _claude_outcome(block["id"], results, denied)))
                if block["name"] == "Agent":
                    done += calls(subagents.pop(0))
        return done

    return calls(run.transcripts[0])


def codex_actions(run: Run) -> list[Done]:
    """Calls in the order they began, a subagent's after the call that begot it."""
    subagents = list(run.transcripts[1:])

    def calls(rollout: Path) -> list[Done]:
        records = [record["payload"] for record in _records(rollout)]
        items = {
            record["item"]["id"]: record["item"]
            for record in records
            if record.get("type") == "item_completed"
        }
        outputs = {
            record["call_id"]: str(record["output"])
            for record in records
            if record.get("type") in ("function_call_output", "custom_tool_call_output")
        }
        done: list[Done] = []
        for record in records:
            if record.get("type") not in ("function_call", "custom_tool_call"):
                continue
            key = record["call_id"]
            words = record["input"] if "input" in record else json.loads(record["arguments"])
            done.append((record["name"], words, _codex_outcome(items.get(key), outputs.get(key))))
            if record["name"] == "spawn_agent":
                done += calls(subagents.pop(0))
        return done

    return calls(run.transcripts[0])


def _claude_outcome(call_id: str, results: dict[str, Any], denied: set[str]) -> Outcome:
    if call_id in denied:
        return "denied"
    if call_id not in results:
        return "interrupted"
    return "error" if results[call_id].get("is_error") else "ok"


def _codex_outcome(item: Any, output: str | None) -> Outcome:
    if output is None:
        return "interrupted"
    if "rejected: policy forbids" in output:
        return "denied"
    # A call that Codex refuses before it begins (a patch that does not apply) leaves an answer but no item.
    return "ok" if item is not None and item["status"] == "completed" else "error"


def _records(path: Path) -> list[Any]:
    """The whole lines: a killed client may leave the last one torn."""
    whole, _, _ = path.read_text().rpartition("\n")
    return [json.loads(line) for line in whole.splitlines()]


def _blocks(record: Any) -> list[Any]:
    content = record["message"]["content"]
    return content if isinstance(content, list) else []
