"""Gemini CLI: the reader of its chats.

Gemini writes a message again when its tokens or its calls are known. So the reader remembers what it has
recorded of recent messages, and records the text, the tokens and each call once.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents import tool_calls
from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile, complete_lines, damaged
from fazm_memory.agents.fields import (
    MAX_TEXT,
    bounded,
    capped,
    digest,
    ident,
    mapping,
    moment,
    moment_ms,
    record_of,
    records_of,
    sequence,
    strip_injected_text,
    text,
    tokens,
)
from fazm_memory.agents.tool_calls import (
    OUTPUT,
    CallResult,
    call_meanings,
    listed_by_command,
    listed_names,
    listed_paths,
    shell_files,
    summary,
    touched_files,
)
from fazm_memory.clock import iso
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import open_regular, read_regular

SHELL = "run_shell_command"
FENCE = ("<untrusted_context>\n", "</untrusted_context>")
EXIT = lazy_regex(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)
SIGNAL = lazy_regex(r"^Signal: (\S+)$", re.MULTILINE)
BELOW_OUTPUT = ("Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ")
TIMED_OUT = "Command was automatically cancelled because it exceeded the timeout"
CANCELLED = ("Command was cancelled by user", "[Operation Cancelled]", "User cancelled")
DENIED = lazy_regex(r"denied by policy|did not allow|denied execution|rejected|user denied", re.IGNORECASE)
LISTED_FILE = lazy_regex(r"(.+) \(\d+ bytes\)")


def call_result(
    tool: str,
    tool_input: Mapping[str, Any],
    call: Mapping[str, Any],
    *,
    cwd: str,
    home: str | None,
    known: KnownFolders | None = None,
) -> CallResult:
    """The result of a call, from its record."""
    result = _ended(tool, tool_input, call, cwd, home, known)
    if known is not None and result.outcome == "ok":
        known.add_call(result.files, result.seen)
    return result


def _ended(
    tool: str,
    tool_input: Mapping[str, Any],
    call: Mapping[str, Any],
    cwd: str,
    home: str | None,
    known: KnownFolders | None,
) -> CallResult:
    values, failure = _result(call.get("result"))
    body = values or failure
    outcome = _outcome(call, body)
    if tool == SHELL:
        return _shell(tool_input, body, outcome, cwd, home, known)
    if outcome != "ok":
        return CallResult(body, outcome, summary(failure or body))
    shown = mapping(call.get("resultDisplay"))
    new = shown.get("isNewFile") is True or body.startswith(("Created new file", "Successfully created"))
    files = touched_files(tool, tool_input, cwd=cwd, created=new, home=home)
    return CallResult(body, outcome, None, tuple(files), tuple(_listings(tool, body, cwd)))


def _result(result: Any) -> tuple[str, str]:
    """The output and the error text of a result."""
    answers, complaints = [], []
    for part in [result] if isinstance(result, (str, dict)) else sequence(result):
        if isinstance(part, str):
            answers.append(part)
            continue
        response = mapping(mapping(mapping(part).get("functionResponse")).get("response"))
        answers.append(text(response.get("output")))
        complaints.append(text(response.get("error")))
    answer = "\n".join(filter(None, answers))
    if answer.startswith(FENCE[0]) and answer.endswith(FENCE[1]):
        answer = answer[len(FENCE[0]) : -len(FENCE[1])].removesuffix("\n")
    return answer, "\n".join(filter(None, complaints))


def _outcome(call: Mapping[str, Any], body: str) -> str:
    status = call.get("status")
    if DENIED.search(body[:300]) and status != "success":
        return "denied"
    if body.startswith(TIMED_OUT):
        return "timeout"
    if status == "cancelled" or (body.startswith(CANCELLED) and status != "success"):
        return "interrupted"
    return "error" if status == "error" else "ok"


def _shell(
    tool_input: Mapping[str, Any],
    body: str,
    outcome: str,
    cwd: str,
    home: str | None,
    known: KnownFolders | None,
) -> CallResult:
    command = text(tool_input.get("command"))
    folder = posixpath.join(cwd, text(tool_input.get("dir_path")) or text(tool_input.get("directory")))
    output, tail = body, ""
    if body.startswith("Output: "):
        start = _tail_start(body)
        output, tail = body[len("Output: ") : start], body[start:]
        output = "" if output == "(empty)" else output
    elif body.startswith(CANCELLED) and outcome == "ok":
        outcome = "interrupted"
    code, signal = EXIT.search(tail), SIGNAL.search(tail)
    if outcome == "ok" and (code or signal or "\nError: " in tail):
        outcome = "error"
    error = None
    if outcome != "ok":
        first = summary(output)
        ended_by = f"exit code {code.group(1)}" if code else f"signal {signal.group(1)}" if signal else None
        error = ": ".join(filter(None, (ended_by, first))) or None
    ok = outcome == "ok"
    ran = bool(command) and outcome != "denied"
    files = shell_files(command, cwd=folder, output=output, ok=ok, home=home, known=known) if ran else []
    seen = listed_by_command(command, output, folder, home) if ok and len(output) < OUTPUT else []
    return CallResult(output, outcome, error, tuple(files), tuple(seen))


def _tail_start(body: str) -> int:
    """The start of the lines that Gemini adds below the output."""
    start = len(body)
    for line in reversed(body.split("\n")):
        if not line.startswith(BELOW_OUTPUT):
            break
        start -= len(line) + 1
    return start


def _listings(tool: str, body: str, cwd: str) -> list[dict[str, Any]]:
    lines = body.split("\n")
    if tool == "list_directory" and lines[0].startswith("Directory listing for "):
        folder = lines[0].removeprefix("Directory listing for ").rstrip(":")
        files = filter(None, map(LISTED_FILE.fullmatch, lines[1:]))
        return listed_names(posixpath.join(cwd, folder), (found.group(1) for found in files))
    if tool == "glob" and lines[0].startswith("Found "):
        return listed_paths([line for line in lines[1:] if line.startswith("/")], cwd)
    return []


NAME = "gemini"
MOST_TOLD = 200
UNKNOWN = 4 << 10
TITLE = 500
HOOK_CONTEXT = ("<hook_context>", "</hook_context>")  # added to a prompt by hooks
WORKSPACE = lazy_regex(r"Workspace Directories:\*\*\n\s+- (.+)")
SNAPSHOT = "<state_snapshot>"
NOISE = frozenset({"info", "error", "warning"})
PENDING = frozenset({"validating", "scheduled", "executing", "awaiting_approval"})


class GeminiChat:
    """Turns records into drafts. `carry` returns the state for the next chunk."""

    def __init__(self, session: str, project: str, carry: Mapping[str, Any], home: str | None) -> None:
        self.home = home
        self.session = session
        self.agent_id: str | None = carry.get("agent_id")
        self.cwd: str = carry.get("cwd") or project
        self.opening: dict[str, Any] | None = carry.get("opening")
        self.title: str = carry.get("title") or ""
        # message id → whether its text and its tokens are recorded, and how many of its calls
        self.told: dict[str, list[int]] = {
            name: list(sequence(values)) for name, values in mapping(carry.get("told")).items()
        }
        self.known = KnownFolders(mapping(carry.get("known")))
        self.lines: int = carry.get("lines") or 0
        self.at: int | None = carry.get("at")
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}

    def carry(self) -> dict[str, Any]:
        names = ("agent_id", "cwd", "opening", "title", "told", "lines", "at")
        values = {name: getattr(self, name) for name in names} | {"known": self.known.carry()}
        return {name: value for name, value in values.items() if value}

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
        self.lines += 1
        if "$set" in record:
            self._patched(mapping(record["$set"]))
        elif "$rewindTo" in record:
            return  # a rewind does not undo what was done
        elif ident(record.get("id")):
            self._message(record)
        elif ident(record.get("sessionId")):
            self._header(record)
        else:
            self._unknown("record", record)

    def finish(self) -> None:
        self._flush()

    def _header(self, record: Mapping[str, Any]) -> None:
        if record.get("kind") == "subagent":  # another chat opens its session
            self.agent_id = ident(record.get("sessionId"))
        folders = [text(folder) for folder in sequence(record.get("directories"))]
        self.cwd = self.cwd or (folders[0] if folders else "")
        self.at = moment(record.get("startTime")) or self.at
        if self.agent_id is None:
            self.opening = {"at": self.at}
        self._patched(record)

    def _patched(self, patch: Mapping[str, Any]) -> None:
        """Take changed metadata: a title, or a history that was replaced by a summary."""
        self.at = moment(patch.get("lastUpdated")) or self.at
        title = text(patch.get("summary")).strip()[:TITLE]
        if title and title != self.title and self.agent_id is None:
            self.title = title
            self._emit("session.title", {"title": title}, f"title:{digest(title)}", self.at)
        for message in map(mapping, sequence(patch.get("messages"))):
            words = _text(message.get("content"))
            if not self.cwd and (found := WORKSPACE.search(words)):
                self.cwd = found.group(1).strip()
            if SNAPSHOT in words and (name := ident(message.get("id"))) and self._is_first(name, 0):
                payload = {"keys": [], "summary": capped(words.strip(), tool_calls.OUTPUT)}
                self._emit("evicted", payload, name, self.at)

    def _message(self, record: Mapping[str, Any]) -> None:
        name, kind = ident(record.get("id")), text(record.get("type"))
        self.at = at = moment(record.get("timestamp")) or self.at
        if kind == "user":
            prompt = _without_hook_context(_text(record.get("displayContent") or record.get("content")))
            from_user = self.agent_id is None and not prompt.startswith(("<session_context>", SNAPSHOT))
            if prompt and from_user and self._is_first(name, 0):
                self._emit("prompt", {"text": capped(prompt, MAX_TEXT)}, name, at)
        elif kind == "gemini":
            words = _text(record.get("content")).strip()
            if words and self.agent_id is None and self._is_first(name, 0):
                self._emit("message", {"text": capped(words, MAX_TEXT)}, name, at)
            self._usage(record, name, at)
            self._calls(record, name)
        elif kind not in NOISE:
            self._unknown(f"message/{kind}", record)

    def _usage(self, record: Mapping[str, Any], name: str, at: int | None) -> None:
        spent = mapping(record.get("tokens"))
        cached = tokens(spent.get("cached"))  # part of the input
        values: dict[str, Any] = {
            "input_tokens": max(0, tokens(spent.get("input")) - cached) + tokens(spent.get("tool")),
            "output_tokens": tokens(spent.get("output")) + tokens(spent.get("thoughts")),
            "cached_tokens": cached,
        }
        if any(values.values()) and self._is_first(name, 1):
            model = ident(record.get("model"))
            self._emit("usage", values | ({"model": model} if model else {}), f"{name}:usage", at)

    def _calls(self, record: Mapping[str, Any], name: str) -> None:
        calls = [mapping(call) for call in sequence(record.get("toolCalls"))]
        already = self._progress(name)[2]
        for number in range(already, len(calls)):
            call = calls[number]
            if text(call.get("status")) in PENDING:
                break  # later calls wait too: only their number is remembered
            self._progress(name)[2] = number + 1
            self._call(call, f"{name}:{number}")

    def _call(self, call: Mapping[str, Any], key: str) -> None:
        tool, tool_input = text(call.get("name"))[:200] or "unknown", call.get("args")
        self.at = at = moment(call.get("timestamp")) or self.at
        result = call_result(tool, mapping(tool_input), call, cwd=self.cwd, home=self.home, known=self.known)
        call_id = ident(call.get("id")) or key
        payload = tool_calls.ended_action(tool, tool_input, result, call_id, self.agent_id)
        self._emit("action", payload, key, at)
        for number, listing in enumerate(result.seen):
            self._emit("seen", listing, f"{key}:seen:{number}", at)
        for meaning in call_meanings(call_id, tool, tool_input, result.output, result.outcome, {}):
            if self.agent_id is None or meaning.kind == "decision":
                self._emit(meaning.kind, meaning.payload, f"{key}:{meaning.suffix}", at, meaning.actor)

    def _progress(self, name: str) -> list[int]:
        values = self.told.pop(name, None) or [0, 0, 0]
        self.told[name] = values  # moved to the end: the oldest is dropped first
        if len(self.told) > MOST_TOLD:
            del self.told[next(iter(self.told))]
        return values

    def _is_first(self, name: str, what: int) -> bool:
        values = self._progress(name)
        first = not values[what]
        values[what] = 1
        return first

    def _flush(self) -> None:
        """Emit the opening.

        It waits for the record after the header, which names the workspace.
        """
        if self.opening is not None:
            at, self.opening = self.opening.get("at"), None
            values = {"agent": NAME, "agent_session_id": self.session, "workspace": self.cwd}
            self._draft("session.open", {name: value for name, value in values.items() if value}, "open", at)

    def _emit(
        self, kind: str, payload: Mapping[str, Any], key: str, at: int | None, actor: str | None = None
    ) -> None:
        self._flush()
        self._draft(kind, payload, key, at, actor)

    def _draft(
        self, kind: str, payload: Mapping[str, Any], key: str, at: int | None, actor: str | None = None
    ) -> None:
        whole = f"{NAME}:{self.session}:{key}"
        self.drafts.append(Draft(self.session, kind, payload, NAME, at, None, actor, "transcript", key=whole))

    def _unknown(self, kind: str, record: Mapping[str, Any]) -> None:
        kind = kind[:100]
        self.unknown[kind] = self.unknown.get(kind, 0) + 1
        name = ident(record.get("id")) or f"{self.agent_id or 'line'}-{self.lines}"
        self._emit("unknown", {"type": kind, "raw": bounded(record, UNKNOWN)}, f"unknown:{name}", self.at)


def _text(content: Any) -> str:
    """The text of a message, which is a text, a part, or a list of these."""
    parts = content if isinstance(content, list) else [content]
    words = (part if isinstance(part, str) else _part_text(mapping(part)) for part in parts)
    return "\n".join(filter(None, words))


def _part_text(part: Mapping[str, Any]) -> str:
    return "" if part.get("thought") else text(part.get("text"))


def _without_hook_context(words: str) -> str:
    """A prompt without the context that hooks added."""
    opening, closing = HOOK_CONTEXT
    start = 0
    parts = []
    while (begin := words.find(opening, start)) >= 0 and (end := words.find(closing, begin)) >= 0:
        parts.append(words[start:begin])
        start = end + len(closing)
    return strip_injected_text("".join([*parts, words[start:]])).strip()


HEADER = 4 << 10
SESSION_ID = lazy_regex(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
ROOT_MARK = ".project_root"  # a file beside `chats` with the path of the project


class Gemini:
    """Reads chats. `home` is the folder of `~` in their commands."""

    name = NAME
    version = 3

    def __init__(self, home: str | None = None) -> None:
        self.home = home
        self._sessions: dict[Path, str] = {}  # a chat never changes its session

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = places.home / ".gemini" / "tmp"
        main = sorted(root.glob("*/chats/session-*.json*"), key=lambda path: path.name)
        chats = (path for path in main if path.suffix in (".json", ".jsonl"))
        for path in [*chats, *sorted(root.glob("*/chats/*/*.jsonl"))]:
            try:
                stat = path.stat()
                session = path.parent.name if path.parent.name != "chats" else self._session(path)
            except FileNotFoundError:
                continue  # Gemini deletes empty sessions
            yield RecordFile(NAME, path, session, stat.st_size, stat.st_mtime)

    def _session(self, path: Path) -> str:
        """The id of the session. The file name has only a part of it."""
        if path not in self._sessions:
            try:
                with open_regular(path) as file:
                    header = file.read(HEADER) if path.suffix == ".json" else file.readline(HEADER)
            except OSError:
                header = b""  # `read` reports the error
            found = SESSION_ID.search(header)
            if found is None or not (session := ident(found[1].decode("utf-8", "replace"))):
                return path.stem
            self._sessions[path] = session
        return self._sessions[path]

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        if record.path.suffix == ".json":
            return self._read_whole(record, cursor)
        lines = complete_lines(record.path, cursor.offset, limit, quiet=record.quiet)
        chat = GeminiChat(record.session, _project(record.path), cursor.carry, self.home)
        bad = lines.overlong
        for line in lines.lines:
            records = records_of(line)
            for taken in records:
                chat.take(taken)
            bad += not records and bool(line.strip())
        if not lines.more:
            chat.finish()
        after = Cursor(lines.offset, chat.carry())
        waiting = lines.rest and not record.quiet
        return Chunk(tuple(chat.drafts), after, lines.more, chat.unknown, bad, waiting)

    def _read_whole(self, record: RecordFile, cursor: Cursor) -> Chunk:
        """Read a chat of an older version: one object, written anew with each message."""
        stored = record_of(read_regular(record.path))
        if stored is None:  # being written, or damaged
            return damaged(record, Cursor(0, cursor.carry))
        chat = GeminiChat(record.session, _project(record.path), cursor.carry, self.home)
        messages = sequence(stored.pop("messages", None)) or _history(stored.pop("history", None))
        if not cursor.carry:
            chat.take({"sessionId": record.session, **stored})
        for message in map(mapping, messages):
            chat.take(message)
        chat.finish()
        return Chunk(tuple(chat.drafts), Cursor(0, chat.carry()), unknown=chat.unknown)


def _history(history: Any) -> list[dict[str, Any]]:
    """The messages of a chat in the oldest form.

    They have roles and parts, no ids, and times in seconds.
    """
    found = []
    for number, turn in enumerate(map(mapping, sequence(history))):
        seconds = turn.get("ts")
        at = moment_ms(seconds * 1000) if isinstance(seconds, (int, float)) else None
        message = {"id": f"history-{number}", "content": turn.get("parts")}
        message["type"] = "user" if turn.get("role") == "user" else "gemini"
        found.append(message | ({"timestamp": iso(at)} if at is not None else {}))
    return found


def _project(path: Path) -> str:
    """The folder of the project, or "" if Gemini did not store it."""
    chats = path.parent if path.parent.name == "chats" else path.parent.parent
    try:
        return read_regular(chats.parent / ROOT_MARK).decode("utf-8", "replace").strip()[:4096]
    except OSError:
        return ""
