"""Drafts of one session.

For agents that record prompts, answers, calls and results one by one.

A reader of such an agent parses its records and calls these methods. What must be remembered between two
chunks, such as calls without a result, is in `carry`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from fazm_memory.agents import tool_calls
from fazm_memory.agents.base import Chunk, Cursor, RecordFile, complete_lines
from fazm_memory.agents.fields import (
    MAX_TEXT,
    bounded,
    capped,
    digest,
    ident,
    mapping,
    record_of,
    records_of,
    sequence,
    strip_injected_text,
    text,
    tokens,
    whole,
)
from fazm_memory.agents.tool_calls import (
    OUTPUT,
    CallResult,
    call_meanings,
    listed_by_command,
    plain_tool_name,
    shell_files,
    summary,
    touched_files,
)
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass

MOST_OPEN = 200
UNKNOWN = 4 << 10
TITLE = 500
SHELLS = frozenset(
    {
        "bash", "shell", "powershell", "terminal", "exec", "shellexec", "executecommand", "runcommand",
        "runcommands", "runshellcommand", "runterminalcmd", "runterminalcommand", "developershell",
    }
)  # fmt: skip
FOLDERS = ("workdir", "working_directory", "directory", "dir_path", "cwd", "Cwd")
# What touched_files calls these tools.
FILE_TOOLS = {
    "create": "create_file",
    "developertexteditor": "edit_file",
    "editor": "write_file",
    "patch": "edit_file",
    "readfiles": "read_multiple_files",
    "searchreplace": "edit_file",
    "replacefilecontent": "edit_file",
    "writetofile": "write_file",
}
TIMED_OUT = lazy_regex(r"timed? ?out", re.IGNORECASE)
DENIED = lazy_regex(
    r"denied (?:by|permission)|permission denied by|did not allow|denied execution|(?:user|was) rejected"
    r"|rejected by|user denied",
    re.IGNORECASE,
)
STOPPED = lazy_regex(r"cancell?ed|aborted|interrupted", re.IGNORECASE)
NO_RESULT = "the record has no result of the call"


@dataclass(frozen=True)
class CallEnd:
    """What a record says about the end of a call.

    `code` is an exit code, `created` whether a file is new.

    `files` is set if the record names the files. `recorded` is false if there is no record of a result.
    """

    output: str = ""
    failed: bool = False
    error: str = ""
    code: int | None = None
    created: bool | None = None
    files: tuple[dict[str, Any], ...] | None = None
    duration_ms: int | None = None
    outcome: str = ""
    recorded: bool = True
    about: Mapping[str, Any] | None = None


class SessionDrafts:
    """Collects the drafts of a session.

    `agent_id` is set for the file of a subagent: its words are not recorded, and another file opens the
    session.
    """

    def __init__(
        self,
        agent: str,
        session: str,
        carry: Mapping[str, Any],
        home: str | None,
        agent_id: str | None = None,
    ) -> None:
        self.agent = agent
        self.session = session
        self.home = home
        self.agent_id = agent_id
        self.opened: bool = carry.get("opened") is True
        self.cwd: str = text(carry.get("cwd"))
        self.title: str = text(carry.get("title"))
        self.lines: int = carry.get("lines") or 0
        self.at: int | None = carry.get("at")
        # id of a call → its tool, input, time, subagent, and whether it was reported as started
        self.calls: dict[str, list[Any]] = {
            name: list(sequence(values)) for name, values in mapping(carry.get("calls")).items()
        }
        self.known = KnownFolders(mapping(carry.get("known")))
        self.opening: dict[str, Any] = {}
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}

    def carry(self) -> dict[str, Any]:
        names = ("opened", "cwd", "title", "lines", "at", "calls")
        values = {name: getattr(self, name) for name in names} | {"known": self.known.carry()}
        return {name: value for name, value in values.items() if value}

    def describe(self, *, workspace: str = "", title: str = "", **values: str) -> None:
        """What is known of the session. The first values are part of its opening."""
        self.cwd = self.cwd or workspace[:4096]
        title = title.strip()[:TITLE]
        if self.opened and title and title != self.title and self.agent_id is None:
            self.title = title
            self.emit("session.title", {"title": title}, f"title:{digest(title)}")
        elif title and not self.opened:
            self.title = title
        for name, value in values.items():
            if value:
                self.opening.setdefault(name, value)

    def prompt(self, words: str, key: str, at: int | None = None) -> None:
        words = strip_injected_text(words).strip()
        if words and self.agent_id is None:
            self.emit("prompt", {"text": capped(words, MAX_TEXT)}, key, at)

    def message(self, words: str, key: str, at: int | None = None) -> None:
        words = words.strip()
        if words and self.agent_id is None:
            self.emit("message", {"text": capped(words, MAX_TEXT)}, key, at)

    def usage(
        self, spent: Mapping[str, Any], model: Any, key: str, at: int | None = None, *, cached_in_input: bool
    ) -> None:
        """Record tokens: `input`, `output`, `cached` and `written` (to a cache)."""
        cached = tokens(spent.get("cached"))
        used = max(0, tokens(spent.get("input")) - (cached if cached_in_input else 0))
        values: dict[str, Any] = {
            "input_tokens": used + tokens(spent.get("written")),
            "output_tokens": tokens(spent.get("output")),
            "cached_tokens": cached,
        }
        if any(values.values()):
            if written := tokens(spent.get("written")):
                values["written_tokens"] = written
            name = ident(model)
            self.emit("usage", values | ({"model": name} if name else {}), f"{key}:usage", at)

    def compacted(self, words: str, key: str, at: int | None = None) -> None:
        if self.agent_id is None:
            words = capped(strip_injected_text(words).strip(), OUTPUT)
            self.emit("evicted", {"keys": [], **({"summary": words} if words else {})}, key, at)

    def call(
        self, call_id: str, tool: str, tool_input: Any, at: int | None = None, agent: str | None = None
    ) -> None:
        """A call begins. Its result is in a later record."""
        self._came(at)
        if call_id in self.calls:
            return
        if len(self.calls) >= MOST_OPEN:
            oldest = next(iter(self.calls))
            self._started(oldest)
            del self.calls[oldest]
        bound = bounded(tool_input, tool_calls.INPUT)
        self.calls[call_id] = [tool[:200] or "unknown", bound, self.at, agent or self.agent_id, False]

    def result(self, call_id: str, end: CallEnd, key: str, at: int | None = None, tool: str = "") -> None:
        """A call has ended."""
        values = self.calls.pop(call_id, None)
        named, tool_input, _, agent, _ = values or [tool[:200] or "unknown", None, None, self.agent_id, True]
        self.act(named, tool_input, end, call_id or key, key, at, agent)

    def act(
        self,
        tool: str,
        tool_input: Any,
        end: CallEnd,
        call_id: str,
        key: str,
        at: int | None = None,
        agent: str | None = None,
    ) -> None:
        """Record a call with its end."""
        agent = agent or self.agent_id
        tool = tool[:200] or "unknown"
        ended = call_result(tool, mapping(tool_input), end, cwd=self.cwd, home=self.home, known=self.known)
        payload = tool_calls.ended_action(tool, tool_input, ended, call_id, agent)
        self.emit("action", payload, key, at)
        for number, listing in enumerate(ended.seen):
            self.emit("seen", listing, f"{key}:seen:{number}", at)
        about = end.about or {}
        for meaning in call_meanings(call_id, tool, tool_input, ended.output, ended.outcome, about):
            if agent is None or meaning.kind == "decision":
                self.emit(meaning.kind, meaning.payload, f"{key}:{meaning.suffix}", at, meaning.actor)

    def interrupt(self, key: str, at: int | None = None) -> None:
        """End all calls that have no result: the user stopped the agent."""
        end = CallEnd(outcome="interrupted", failed=True, error="cut off before it had a result")
        for number, call_id in enumerate(list(self.calls)):
            self.result(call_id, end, f"{key}:{number}", at)

    def unread(self, kind: str, record: Mapping[str, Any], key: str = "") -> None:
        """Count and store a record of an unknown type."""
        kind = kind[:100] or "record"
        self.unknown[kind] = self.unknown.get(kind, 0) + 1
        name = key or f"{self.agent_id or 'line'}-{self.lines}"
        self.emit("unknown", {"type": kind, "raw": bounded(record, UNKNOWN)}, f"unknown:{name}")

    def finish(self) -> None:
        """Report calls that still run as started, once."""
        for call_id in self.calls:
            self._started(call_id)

    def emit(
        self,
        kind: str,
        payload: Mapping[str, Any],
        key: str,
        at: int | None = None,
        actor: str | None = None,
    ) -> None:
        self._came(at)
        if not self.opened and self.agent_id is None:
            self.opened = True
            about = {"workspace": self.cwd, "title": self.title, **self.opening}
            values = {"agent": self.agent, "agent_session_id": self.session, **about}
            self._draft("session.open", {name: value for name, value in values.items() if value}, "open")
        self._draft(kind, payload, f"{self.agent_id}:{key}" if self.agent_id else key, actor)

    def _came(self, at: int | None) -> None:
        self.at = at if at is not None else self.at

    def _started(self, call_id: str) -> None:
        values = self.calls[call_id]
        if not values[4]:
            values[4] = True
            payload = tool_calls.start(values[0], values[1], call_id, values[3])
            self.emit("action.start", payload, f"{call_id}:start", values[2])

    def _draft(self, kind: str, payload: Mapping[str, Any], key: str, actor: str | None = None) -> None:
        whole_key = f"{self.agent}:{self.session}:{key}"
        self.drafts.append(
            Draft(self.session, kind, payload, self.agent, self.at, None, actor, "transcript", key=whole_key)
        )


def call_result(
    tool: str,
    tool_input: Mapping[str, Any],
    end: CallEnd,
    *,
    cwd: str,
    home: str | None,
    known: KnownFolders,
) -> CallResult:
    """The result of a call: its outcome, and the files it touched or listed."""
    output = strip_injected_text(end.output)
    outcome = end.outcome or _outcome(end, output)
    error = None
    if outcome != "ok":
        code = f"exit code {end.code}" if end.code else None
        error = ": ".join(filter(None, (code, summary(end.error or output)))) or "failed"
    files: list[dict[str, Any]] = []
    seen: list[dict[str, Any]] = []
    if plain_tool_name(tool) in SHELLS:
        if (command := command_of(tool_input)) and outcome != "denied":
            folder = posixpath.join(cwd, next(filter(None, map(text, map(tool_input.get, FOLDERS))), ""))
            ok = outcome == "ok"
            files = shell_files(command, cwd=folder, output=output, ok=ok, home=home, known=known)
            if ok and end.recorded and len(output) < OUTPUT:
                seen = listed_by_command(command, output, folder, home)
    elif outcome == "ok":
        files = _touched(tool, tool_input, end, cwd, home)
    if not end.recorded:
        files = [{**file, "inferred": True, "why": NO_RESULT} for file in files]
    if outcome == "ok":
        known.add_call(files, seen)
    return CallResult(output, outcome, error, tuple(files), tuple(seen), end.duration_ms)


def _touched(
    tool: str, tool_input: Mapping[str, Any], end: CallEnd, cwd: str, home: str | None
) -> list[dict[str, Any]]:
    if end.files is not None:
        return list(end.files)
    name = FILE_TOOLS.get(plain_tool_name(tool), tool)
    listed = [text(mapping(file).get("path")) for file in sequence(tool_input.get("files"))]
    if any(listed):
        tool_input = {"paths": [path for path in listed if path]}
    return touched_files(name, tool_input, cwd=cwd, created=end.created, home=home)


def _outcome(end: CallEnd, output: str) -> str:
    said = (end.error or output)[:300]
    if end.failed:
        for outcome, words in (("denied", DENIED), ("timeout", TIMED_OUT), ("interrupted", STOPPED)):
            if words.search(said):
                return outcome
    return "error" if end.failed or end.code else "ok"


def command_of(tool_input: Mapping[str, Any]) -> str:
    """The command of a shell call, or several as lines."""
    for name in ("command", "cmd", "CommandLine", "commands"):
        value = tool_input.get(name)
        if isinstance(value, list):
            value = "\n".join(filter(None, (text(one) or text(mapping(one).get("command")) for one in value)))
        if text(value).strip():
            return text(value)
    return ""


def arguments_of(value: Any) -> Any:
    """The arguments of a call, which some versions write as JSON text."""
    if isinstance(value, str):
        found = record_of(value)
        return found if found is not None else value
    return value


def block_text(content: Any) -> str:
    """The text of a content: a text, or a list of texts and blocks."""
    parts = content if isinstance(content, list) else [content]
    words = (part if isinstance(part, str) else _part_text(mapping(part)) for part in parts)
    return "\n".join(filter(None, words))


def _part_text(part: Mapping[str, Any]) -> str:
    return text(part.get("text")) if part.get("type", "text") == "text" and not part.get("thought") else ""


def exit_code(found: re.Match[str] | None) -> int | None:
    """The exit code in a text."""
    return whole(int(found[1])) if found is not None else None


class TakesRecords(SessionDrafts):
    """Drafts of a file of lines. A subclass takes one record at a time."""

    def take(self, record: Mapping[str, Any]) -> None:
        raise NotImplementedError


def read_lines(record: RecordFile, cursor: Cursor, limit: int, drafts: TakesRecords) -> Chunk:
    """The next chunk of a file of lines."""
    lines = complete_lines(record.path, cursor.offset, limit, quiet=record.quiet)
    bad = lines.overlong
    for line in lines.lines:
        drafts.lines += 1
        records = records_of(line)
        for taken in records:
            drafts.take(taken)
        bad += not records and bool(line.strip(b"\0 \t\r\n"))
    if not lines.more:
        drafts.finish()
    after = Cursor(lines.offset, drafts.carry())
    waiting = lines.rest and not record.quiet
    return Chunk(tuple(drafts.drafts), after, lines.more, drafts.unknown, bad, waiting)
