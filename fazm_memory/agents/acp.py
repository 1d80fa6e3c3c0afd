"""A reading client of the Agent Client Protocol.

It calls `session/list` and `session/load` and nothing else.

The agent is started as a program and spoken to in lines of JSON. It replays each session, and the replay
becomes drafts. It gets no access: requests for files, terminals or permissions are refused. A replay has no
times, so everything in a session has the time of its last change.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from fazm_memory import __version__
from fazm_memory.agents.fields import MAX_TEXT, capped, ident, mapping, moment, record_of, sequence, text
from fazm_memory.agents.session_drafts import CallEnd, SessionDrafts
from fazm_memory.errors import AgentUnavailable, InvalidRequest
from fazm_memory.events import Draft
from fazm_memory.records import dataclass

PROTOCOL = 1
SECONDS = 60.0  # that a request may take without any message of the agent
MOST_SESSIONS = 10_000
METHOD_NOT_FOUND = -32601
SPOKEN = {"user_message_chunk": "user", "agent_message_chunk": "agent", "agent_thought_chunk": "thought"}
NOISE = frozenset(
    {
        "plan", "plan_update", "plan_removed", "current_mode_update", "session_info_update", "usage_update",
        "available_commands_update", "config_option_update",
    }
)  # fmt: skip


@dataclass(frozen=True)
class AcpSession:
    """A session that an agent lists."""

    id: str
    cwd: str
    title: str
    updated_at: int | None


class AcpClient:
    """A running agent. Use it as a context manager."""

    def __init__(self, command: Sequence[str], *, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self.agent = ""
        try:
            self._process = subprocess.Popen(
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise InvalidRequest(f"{command[0]} cannot be started: {error.strerror or error}.") from None
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: PT018
        self._input = self._process.stdin
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()
        self._last = 0

    def __enter__(self) -> AcpClient:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the agent."""
        with contextlib.suppress(OSError):
            self._input.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(2)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def sessions(self) -> Iterator[AcpSession]:
        """The sessions that the agent lists."""
        cursor: str | None = None
        for _ in range(MOST_SESSIONS):
            answer = self._call("session/list", {"cursor": cursor} if cursor else {})
            for about in map(mapping, sequence(answer.get("sessions"))):
                if name := ident(about.get("sessionId")):
                    title, updated = text(about.get("title")), moment(about.get("updatedAt"))
                    yield AcpSession(name, text(about.get("cwd")), title, updated)
            following = text(answer.get("nextCursor"))
            if not following or following == cursor:
                return
            cursor = following

    def load(self, session: AcpSession, home: str | None = None) -> list[Draft]:
        """Let the agent replay a session. Returns its drafts."""
        replay = _Replay(self.agent, session, home)
        parameters = {"sessionId": session.id, "cwd": session.cwd or "/", "mcpServers": []}
        self._call("session/load", parameters, replay)
        replay.end()
        return replay.drafts.drafts

    def _start(self) -> None:
        no_files = {"readTextFile": False, "writeTextFile": False}
        answer = self._call(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "clientCapabilities": {"fs": no_files, "terminal": False},
                "clientInfo": {"name": "fazm-memory", "title": "Fazm Memory", "version": __version__},
            },
        )
        if answer.get("protocolVersion") != PROTOCOL:
            raise AgentUnavailable(
                f"The agent speaks version {answer.get('protocolVersion')!r} of ACP, not {PROTOCOL}."
            )
        able = mapping(answer.get("agentCapabilities"))
        self.agent = ident(mapping(answer.get("agentInfo")).get("name")) or "acp"
        if (
            able.get("loadSession") is not True
            or mapping(able.get("sessionCapabilities")).get("list") is None
        ):
            raise AgentUnavailable(f"{self.agent} cannot list and load sessions over ACP.")

    def _call(
        self, method: str, parameters: Mapping[str, Any], replay: _Replay | None = None
    ) -> dict[str, Any]:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": parameters})
        while True:
            message = self._next(method)
            if "method" in message:
                self._serve(message, replay)
            elif message.get("id") == self._last:
                if "error" in message:
                    raise AgentUnavailable(
                        f"{method} failed: {text(mapping(message['error']).get('message'))[:300]}"
                    )
                return mapping(message.get("result"))

    def _serve(self, message: Mapping[str, Any], replay: _Replay | None) -> None:
        """Take a notification, or refuse a request."""
        parameters = mapping(message.get("params"))
        if "id" not in message:
            if message["method"] == "session/update" and replay is not None:
                replay.take(parameters)
        elif message["method"] == "session/request_permission":
            self._send({"id": message["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        else:
            error = {"code": METHOD_NOT_FOUND, "message": "Fazm Memory only reads."}
            self._send({"id": message["id"], "error": error})

    def _next(self, method: str) -> dict[str, Any]:
        try:
            message = self._messages.get(timeout=self.seconds)
        except queue.Empty:
            raise AgentUnavailable(
                f"The agent did not answer {method} within {self.seconds:.0f} s."
            ) from None
        if message is None:
            raise AgentUnavailable(f"The agent ended before it answered {method}.")
        return message

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            self._input.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._input.flush()
        except (OSError, ValueError):
            raise AgentUnavailable("The agent ended.") from None

    def _read(self, output: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in output:
                if (message := record_of(line)) is not None:
                    self._messages.put(message)
        self._messages.put(None)


class _Replay:
    """Turns the updates of one session into drafts. Chunks of one speaker are joined."""

    def __init__(self, agent: str, session: AcpSession, home: str | None) -> None:
        self.session = session
        self.drafts = SessionDrafts(agent, session.id, {}, home)
        self.drafts.at = session.updated_at
        self.drafts.describe(workspace=session.cwd, title=session.title)
        self.speaker, self.message = "", ""
        self.words: list[str] = []
        self.number = 0

    def take(self, parameters: Mapping[str, Any]) -> None:
        update = mapping(parameters.get("update"))
        kind = text(update.get("sessionUpdate"))
        if parameters.get("sessionId") != self.session.id:
            return
        if kind in SPOKEN:
            self._chunk(SPOKEN[kind], ident(update.get("messageId")), mapping(update.get("content")))
            return
        self.end()
        if kind in ("tool_call", "tool_call_update"):
            self._call(ident(update.get("toolCallId")), update)
        elif kind not in NOISE:
            self.number += 1
            self.drafts.unread(kind, update, f"acp-{self.number}")

    def _chunk(self, speaker: str, message: str, content: Mapping[str, Any]) -> None:
        if (speaker, message) != (self.speaker, self.message):
            self.end()
        self.speaker, self.message = speaker, message
        self.words.append(text(content.get("text")))

    def end(self) -> None:
        """Finish what was being said."""
        words, speaker = "".join(self.words), self.speaker
        self.words, self.speaker = [], ""
        if not words.strip() or speaker == "thought":
            return
        self.number += 1
        key = self.message or f"acp-{self.number}"
        if speaker == "user":
            self.drafts.prompt(capped(words, MAX_TEXT), key)
        else:
            self.drafts.message(capped(words, MAX_TEXT), key)

    def _call(self, name: str, update: Mapping[str, Any]) -> None:
        status = update.get("status")
        if not name:
            return
        if update.get("sessionUpdate") == "tool_call" or name not in self.drafts.calls:
            tool = text(update.get("title")) or text(update.get("kind"))
            given = update.get("rawInput")
            places = [text(mapping(one).get("path")) for one in sequence(update.get("locations"))]
            self.drafts.call(name, tool, given if given is not None else {"paths": places})
        if status in ("completed", "failed"):
            output = _output(update)
            self.drafts.result(name, CallEnd(output, status == "failed"), name)


def _output(update: Mapping[str, Any]) -> str:
    """The result of a call: its raw output, or the text of its content."""
    raw = update.get("rawOutput")
    if isinstance(raw, str):
        return raw
    parts = [mapping(mapping(one).get("content")) for one in sequence(update.get("content"))]
    words = "\n".join(filter(None, (text(part.get("text")) for part in parts)))
    return words or ("" if raw is None else json.dumps(raw, ensure_ascii=False)[:MAX_TEXT])
