"""OpenAI's Chat Completions API, as many clients speak it."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterator
from typing import Any

from tests.e2e.model_server.plan import Utterance, call_id
from tests.e2e.scenarios.script import Call, Text, Turn

_TAG = re.compile(r"</?[a-z_]+(?: [^<>]*)?>")


class Chat:
    path = "/v1/chat/completions"

    def history(self, body: Any) -> list[Utterance]:
        return [_utterance(message) for message in body["messages"]]

    def is_compaction(self, body: Any) -> bool:
        return False

    def is_side(self, body: Any) -> bool:
        return not body.get("tools")

    def answer(self, body: Any, turn: Turn, number: int, input_tokens: int) -> Any:
        words = "".join(block.text for block in turn.says if isinstance(block, Text))
        calls = [_call(block, number) for block in turn.says if isinstance(block, Call)]
        message = {"role": "assistant", "content": words or None}
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop"}
        return {
            "id": f"chatcmpl-{uuid.uuid4().hex[:12]}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": body["model"],
            "choices": [{**choice, "message": message | ({"tool_calls": calls} if calls else {})}],
            "usage": {
                "prompt_tokens": input_tokens,
                "completion_tokens": 20,
                "total_tokens": input_tokens + 20,
            },
        }

    def stream(self, answer: Any) -> Iterator[tuple[str, Any]]:
        choice, usage = answer["choices"][0], answer["usage"]
        base = {
            **{name: answer[name] for name in ("id", "created", "model")},
            "object": "chat.completion.chunk",
        }
        message = choice["message"]
        deltas: list[tuple[Any, str | None]] = [
            ({"role": "assistant", "content": message["content"] or ""}, None)
        ]
        if "tool_calls" in message:
            calls = [{"index": index, **call} for index, call in enumerate(message["tool_calls"])]
            deltas.append(({"tool_calls": calls}, None))
        deltas.append(({}, choice["finish_reason"]))
        for delta, reason in deltas:
            yield "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        yield "", {**base, "choices": [], "usage": usage}

    def failure(self, status: int) -> Any:
        return {"error": {"message": f"scripted failure {status}", "type": "server_error"}}


def _utterance(message: Any) -> Utterance:
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or ()]
    # Clients put tags, lines of their own and quotes around what the user typed.
    lines = [line for part in parts for line in (part, *_TAG.sub("", part).splitlines())]
    texts = [text for line in lines for text in (line, line.strip('"'))]
    calls = tuple(call["id"] for call in message.get("tool_calls") or ())
    return Utterance(by_user=message["role"] == "user", texts=tuple(texts), call_ids=calls)


def _call(block: Call, number: int) -> Any:
    arguments = json.dumps(block.input)
    named = {"name": block.tool, "arguments": arguments}
    return {"id": call_id("call", number), "type": "function", "function": named}
