"""What the adapters share.

Drafts from a framework's messages, and the memory on one thread. A program can write any text as its user's
prompt. Such a prompt therefore gets the trust of an agent, not of the user, and its actor is unknown.

The framework's data is stored unchanged. Prompts, messages and calls found in it are also recorded, without
secrets. Recording may fail or be paused; a failure is logged and the framework loses nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from fazm_memory import config
from fazm_memory.agents import MAX_TEXT, capped, ident, mapping, sequence, text, tool_calls
from fazm_memory.app import Memory
from fazm_memory.clock import to_micros
from fazm_memory.errors import FazmMemoryError
from fazm_memory.events import Draft
from fazm_memory.store import FrameworkStore

SOURCE = "record"
CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
}  # OpenAI item types, and their input fields
RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


class MessageDrafts:
    """Collects the drafts of one session. Keys make sure that each is recorded once."""

    def __init__(self, agent: str, session: str) -> None:
        self.agent = agent
        self.session = session.encode(
            errors="replace"
        ).decode()  # without lone surrogates, which cannot be stored
        self.drafts: list[Draft] = []
        self.last = ""  # the id of the last message
        self.open_calls: dict[str, tuple[str, Any]] = {}
        opening = {"agent": agent, "agent_session_id": self.session}
        self._add("session.open", opening, "open")

    def from_langchain(self, messages: Any, *, after: str) -> list[Draft]:
        """Drafts of a graph's messages, oldest first.

        Begins after the message with the id `after`, if it is there. Messages without an id cannot be
        distinguished and are left out.
        """
        named = [(ident(getattr(message, "id", None)), message) for message in sequence(messages)]
        self.last = after
        known = max((at for at, (name, _) in enumerate(named) if name == after), default=-1)
        for at, (name, message) in enumerate(named):
            kind, body = getattr(message, "type", None), content_text(getattr(message, "content", None))
            if kind == "ai":
                for call in map(mapping, sequence(getattr(message, "tool_calls", None))):
                    self._begin(ident(call.get("id")), ident(call.get("name")), call.get("args"))
            elif kind == "tool" and at <= known:
                self.open_calls.pop(ident(getattr(message, "tool_call_id", None)), None)
            if not name or at <= known:
                continue
            self.last = name
            if kind == "human":
                self._prompt(body, name)
            elif kind == "ai":
                self._message(body, name)
            elif kind == "tool":
                failed = getattr(message, "status", None) == "error"
                self._end(ident(getattr(message, "tool_call_id", None)), body, failed=failed)
        return self._finished()

    def from_openai(
        self, items: Iterable[tuple[str, Mapping[str, Any]]], before: Sequence[Any]
    ) -> list[Draft]:
        """Drafts of items of the Responses API.

        A result may belong to a call among the items `before`.
        """
        for earlier in map(mapping, before):
            self._call(earlier)
            if earlier.get("type") in RESULTS:
                self.open_calls.pop(ident(earlier.get("call_id")), None)
        for name, item in items:
            role, kind = text(item.get("role")), text(item.get("type"))
            if role == "user":
                self._prompt(content_text(item.get("content")), name)
            elif role == "assistant":
                self._message(content_text(item.get("content")), name)
            elif kind in RESULTS:
                self._end(ident(item.get("call_id")), content_text(item.get("output")), failed=False)
            else:
                self._call(item)
        return self._finished()

    def _call(self, item: Mapping[str, Any]) -> None:
        kind = text(item.get("type"))
        if kind in CALLS:
            arguments = _parse_json(item.get(CALLS[kind]))
            self._begin(ident(item.get("call_id")), ident(item.get("name")), arguments)

    def _prompt(self, body: str, name: str) -> None:
        if body:
            self._add("prompt", {"text": capped(body, MAX_TEXT)}, name, trust="agent", actor="unknown")

    def _message(self, body: str, name: str) -> None:
        if body:
            self._add("message", {"text": capped(body, MAX_TEXT)}, name)

    def _begin(self, call_id: str, tool: str, arguments: Any) -> None:
        if call_id:
            self.open_calls[call_id] = (tool or "unknown", arguments)

    def _end(self, call_id: str, output: str, *, failed: bool) -> None:
        if not call_id:
            return
        tool, arguments = self.open_calls.pop(call_id, ("unknown", None))
        outcome = "error" if failed else "ok"
        payload = tool_calls.action(
            tool, arguments, call_id=call_id, output=output, outcome=outcome, error=output if failed else None
        )
        self._add("action", payload, call_id)

    def _finished(self) -> list[Draft]:
        """All drafts, with calls that have no result yet as started."""
        for call_id, (tool, arguments) in self.open_calls.items():
            self._add("action.start", tool_calls.start(tool, arguments, call_id, None), f"{call_id}:start")
        return self.drafts if len(self.drafts) > 1 else []

    def _add(
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


def content_text(content: Any) -> str:
    """The text of a message: a string, or the texts among its parts."""
    if isinstance(content, str):
        return content
    parts = (part if isinstance(part, str) else text(mapping(part).get("text")) for part in sequence(content))
    return "\n".join(part for part in parts if part)


def _parse_json(value: Any) -> Any:
    """The value of JSON text; anything else unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


# The memory


T = TypeVar("T")
log = logging.getLogger(__name__)


def open_memory() -> Memory:
    """The memory of this user on this machine."""
    return Memory(config.load(), lambda: to_micros(datetime.now(UTC)))


class MemoryThread:
    """Runs functions on the framework store, one after the other."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory")

    def run(self, work: Callable[[FrameworkStore], T]) -> T:
        return self.worker.submit(lambda: work(self.memory.framework_store)).result()

    async def run_async(self, work: Callable[[FrameworkStore], T]) -> T:
        """Like `run`, without blocking the event loop.

        Cancelling does not stop work that has begun.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.worker, lambda: work(self.memory.framework_store))

    def record(self, drafts: Sequence[Draft]) -> None:
        """Record drafts; called from within work. What cannot be recorded is logged."""
        if not drafts:
            return
        try:
            for result in self.memory.sessions.record(drafts):
                if result.error is not None:
                    log.warning("not recorded: %s", result.error)
        except FazmMemoryError as error:
            log.warning("stored for the framework, but not recorded: %s", error)

    def close(self) -> None:
        self.worker.submit(self.memory.close).result()
        self.worker.shutdown()


class MemoryAdapter:
    """Base of the adapters: a context manager.

    Without a memory it opens the user's own.
    """

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory_thread = MemoryThread(memory or open_memory())

    def close(self) -> None:
        self.memory_thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
