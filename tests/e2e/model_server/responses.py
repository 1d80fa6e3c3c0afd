"""The OpenAI Responses API as Codex speaks it: one POST per turn, answered as server-sent events."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator
from typing import Any

from tests.e2e.model_server.plan import Utterance, call_id
from tests.e2e.scenarios.script import AGENT_ID, Call, Text, Turn

# How Codex 0.166 asks for a summary, and how it opens the conversation that goes on from one.
_ASKS_FOR_SUMMARY = "CONTEXT CHECKPOINT COMPACTION"
_GOES_ON = "Another language model started to solve this problem"

_SPAWNED = re.compile(r'"agent_id":"([^"]+)"')


class Responses:
    path = "/v1/responses"

    def history(self, body: Any) -> list[Utterance]:
        return [_utterance(item) for item in body["input"]]

    def is_compaction(self, body: Any) -> bool:
        last = self.history(body)[-1]
        return last.by_user and any(_ASKS_FOR_SUMMARY in text for text in last.texts)

    def is_side(self, body: Any) -> bool:
        return not body.get("tools")

    def answer(self, body: Any, turn: Turn, number: int, input_tokens: int) -> Any:
        return {
            "id": f"resp_{uuid.uuid4().hex[:16]}",
            "object": "response",
            "created_at": int(time.time()),
            "model": body["model"],
            "status": "completed",
            "output": [_item(block, number, _last_agent(body)) for block in turn.says],
            "usage": {
                "input_tokens": input_tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": input_tokens + 20,
            },
        }

    def stream(self, answer: Any) -> Iterator[tuple[str, Any]]:
        begun = {**answer, "status": "in_progress", "output": [], "usage": None}
        events: list[tuple[str, Any]] = [("response.created", {"response": begun})]
        for index, item in enumerate(answer["output"]):
            events += [(name, {"output_index": index, **data}) for name, data in _in_pieces(item)]
        events.append(("response.completed", {"response": answer}))
        for number, (name, data) in enumerate(events):
            yield name, {"sequence_number": number, **data}

    def failure(self, status: int) -> Any:
        return {"error": {"message": f"scripted failure {status}", "type": "server_error"}}


def _utterance(item: Any) -> Utterance:
    if item["type"] == "message":
        texts = tuple(part["text"] for part in item["content"] if "text" in part)
        return Utterance(
            by_user=item["role"] == "user",
            texts=texts,
            is_summary=any(_GOES_ON in text for text in texts),
        )
    made_here = item["type"] in ("function_call", "custom_tool_call")
    return Utterance(by_user=False, call_ids=(item["call_id"],) if made_here else ())


def _last_agent(body: Any) -> str:
    """The id of the subagent spawned last, from what the client answered to the call that spawned it."""
    outputs = [item["output"] for item in body["input"] if item["type"] == "function_call_output"]
    ids = [found[1] for output in outputs if (found := _SPAWNED.search(str(output)))]
    return ids[-1] if ids else ""


def _item(block: Any, number: int, last_agent: str) -> Any:
    unique = uuid.uuid4().hex[:12]
    if isinstance(block, Text):
        content = [{"type": "output_text", "text": block.text, "annotations": []}]
        message = {"type": "message", "id": f"msg_{unique}", "role": "assistant"}
        return {**message, "status": "completed", "content": content}
    if not isinstance(block, Call):
        summary = [{"type": "summary_text", "text": block.text}]
        return {"type": "reasoning", "id": f"rs_{unique}", "summary": summary}
    item = {"call_id": call_id("call", number), "name": block.tool, "status": "completed"}
    if isinstance(block.input, str):
        return {"type": "custom_tool_call", "id": f"ctc_{unique}", "input": block.input, **item}
    if block.namespace is not None:
        item["namespace"] = block.namespace
    arguments = json.dumps(block.input).replace(str(AGENT_ID), last_agent)
    return {"type": "function_call", "id": f"fc_{unique}", "arguments": arguments, **item}


def _in_pieces(item: Any) -> Iterator[tuple[str, Any]]:
    if item["type"] != "message":
        yield "response.output_item.added", {"item": item}
    else:
        text = item["content"][0]["text"]
        place = {"item_id": item["id"], "content_index": 0}
        yield "response.output_item.added", {"item": {**item, "content": []}}
        empty = {"type": "output_text", "text": "", "annotations": []}
        yield "response.content_part.added", {**place, "part": empty}
        yield "response.output_text.delta", {**place, "delta": text}
        yield "response.output_text.done", {**place, "text": text}
    yield "response.output_item.done", {"item": item}
