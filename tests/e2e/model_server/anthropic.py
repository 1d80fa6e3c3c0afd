"""The Anthropic Messages API as Claude Code speaks it: one POST per turn, answered as server-sent events."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.e2e.model_server.plan import Utterance, call_id
from tests.e2e.scenarios.script import Call, Text, Turn

# How Claude Code 2.1 asks for a summary, and how it opens the conversation that goes on from one.
_ASKS_FOR_SUMMARY = "Your task is to create a detailed summary of"
_GOES_ON = "This session is being continued from a previous conversation"

_ERRORS = {
    400: "invalid_request_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Messages:
    path = "/v1/messages"

    def history(self, body: Any) -> list[Utterance]:
        return [_utterance(message) for message in body["messages"]]

    def is_compaction(self, body: Any) -> bool:
        last = self.history(body)[-1]
        return last.by_user and any(_ASKS_FOR_SUMMARY in text for text in last.texts)

    def is_side(self, body: Any) -> bool:
        """Titles and topic checks carry no tools; the agent's own turns always do."""
        return not body.get("tools")

    def answer(self, body: Any, turn: Turn, number: int, input_tokens: int) -> Any:
        return {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [_block(block, number) for block in turn.says],
            "stop_reason": "tool_use" if turn.calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": input_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 20,
            },
        }

    def stream(self, answer: Any) -> Iterator[tuple[str, Any]]:
        yield "message_start", {"message": {**answer, "content": [], "stop_reason": None}}
        for index, block in enumerate(answer["content"]):
            empty, deltas = _in_pieces(block)
            yield "content_block_start", {"index": index, "content_block": empty}
            for delta in deltas:
                yield "content_block_delta", {"index": index, "delta": delta}
            yield "content_block_stop", {"index": index}
        stop = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        yield "message_delta", {"delta": stop, "usage": {"output_tokens": answer["usage"]["output_tokens"]}}
        yield "message_stop", {}

    def failure(self, status: int) -> Any:
        kind = _ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": f"scripted failure {status}"}}


def _utterance(message: Any) -> Utterance:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    texts = tuple(block["text"] for block in content if block["type"] == "text")
    calls = tuple(block["id"] for block in content if block["type"] == "tool_use")
    return Utterance(
        by_user=message["role"] == "user",
        texts=texts,
        call_ids=calls,
        is_summary=any(_GOES_ON in text for text in texts),
    )


def _block(block: Any, number: int) -> Any:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Call):
        return {"type": "tool_use", "id": call_id("toolu", number), "name": block.tool, "input": block.input}
    return {"type": "thinking", "thinking": block.text, "signature": "c2NyaXB0ZWQ="}


def _in_pieces(block: Any) -> tuple[Any, list[Any]]:
    """A content block as it starts, empty, and the deltas that fill it."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    if block["type"] == "tool_use":
        partial = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        return {**block, "input": {}}, [partial]
    thought = {"type": "thinking_delta", "thinking": block["thinking"]}
    signature = {"type": "signature_delta", "signature": block["signature"]}
    return {"type": "thinking", "thinking": "", "signature": ""}, [thought, signature]
