"""A transcript of Claude Code: its records become drafts.

Records are taken in the order of the file; their threading says which branch was shown last, not what
happened. One answer of the model comes as several records that share its id and repeat its usage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fazm_memory.agents import tool_calls
from fazm_memory.agents.claude_code.calls import (
    REFUSED_BY_USER,
    SHELL,
    TaskList,
    call_result,
    interrupted_result,
    is_result,
    meanings,
    output_text,
    presented_plan,
    refusal_reason,
)
from fazm_memory.agents.claude_code.user_records import (
    CLEAR,
    INTERRUPTED,
    accepted_plan,
    command_name,
    compact_summary,
    ending_reason,
    is_interruption,
    is_summary,
    shell_answer,
    typed_shell,
    typed_text,
    user_words,
    without_plan_tail,
)
from fazm_memory.agents.fields import (
    MAX_TEXT,
    bounded,
    capped,
    digest,
    ident,
    is_carried,
    mapping,
    moment,
    sequence,
    strip_injected_text,
    text,
    tokens,
)
from fazm_memory.agents.tool_calls import PERSON, CallResult, Meaning
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.text import plan_title

NAME = "claude-code"


def action_key(call_id: str) -> str:
    """The key of a call. A hook has the id as `tool_use_id`; a fork copies it."""
    return f"{NAME}:{call_id}"


def start_key(call_id: str) -> str:
    return f"{action_key(call_id)}:start"


def prompt_key(prompt_id: str) -> str:
    """The key of a prompt. A hook has the id as `prompt_id`."""
    return f"{NAME}:{prompt_id}:prompt"


def open_key(session: str) -> str:
    return f"{NAME}:{session}:open"


def usage_key(message_id: str) -> str:
    return f"{NAME}:{message_id}:usage"


def record_key(uuid: str) -> str:
    return f"{NAME}:{uuid}"


# Bookkeeping of the client: queues, modes, names, links, its own snapshots of files.
NOISE = frozenset(
    {
        "agent-color", "agent-name", "agent-setting", "attribution-snapshot", "bridge-session",
        "content-replacement", "ended-by-model", "file-history-snapshot", "fork-context-ref", "frame-link",
        "isolation-latch", "last-prompt", "marble-origami-commit", "marble-origami-reset",
        "marble-origami-snapshot", "mode", "permission-mode", "pr-link", "progress", "relocated",
        "saved_hook_context", "speculation-accept", "tag", "task-summary", "worktree-state",
    }
)  # fmt: skip
# Notices on the screen. Compactions are the only system records that change what the model knows.
SYSTEM_NOISE = frozenset(
    {
        "agents_killed", "api_error", "api_metrics", "away_summary", "bridge_status", "file_snapshot",
        "informational", "local_command", "memory_recall", "memory_saved", "message_rated",
        "model_consent_fallback", "model_fallback", "model_refusal_fallback", "model_refusal_no_fallback",
        "notification", "permission_denied", "permission_retry", "post_turn_summary", "scheduled_task_fire",
        "status", "stop_hook_summary", "task_notification", "task_progress", "task_started", "task_summary",
        "task_updated", "thinking", "thinking_tokens", "turn_duration", "turn_starting", "init",
        "hook_started", "hook_progress", "hook_response", "api_retry", "commands_changed",
    }
)  # fmt: skip
BOUNDARIES = frozenset({"compact_boundary", "microcompact_boundary"})

# An attachment is context from the client. Only what a person typed while the agent worked is recorded.
TYPED_MEANWHILE = "queued_command"
QUEUE = "queue-operation"

TYPE_FIRST = lazy_regex(rb'\s*\{"type":"([a-z_-]{1,40})"[,}]')
ATTACHMENT = lazy_regex(
    rb'\s*\{"parentUuid":(?:null|"[^"\\]{0,80}"),(?:"[A-Za-z]{1,30}":(?:true|false|null|"[^"\\]{0,200}"),){0,8}'
    rb'"attachment":\{"type":"([a-z_]{1,60})"'
)


def is_noise(line: bytes) -> bool:
    """Whether the beginning of a line shows that it need not be read.

    It is bookkeeping, or it was carried over and is recorded already.
    """
    if is_carried(line):
        return True
    if found := TYPE_FIRST.match(line):
        return found.group(1).decode() in NOISE
    if found := ATTACHMENT.match(line):
        return found.group(1).decode() != TYPED_MEANWHILE
    return False


TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
LONGEST = 500


class TitleTracker:
    """The current title and the number of titles."""

    def __init__(self, carry: Mapping[str, Any]) -> None:
        self.title: str = text(carry.get("title"))
        self.named: bool = bool(carry.get("named"))
        self.count: int = carry.get("count") or 0

    def carry(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value}

    def take(self, kind: str, record: Mapping[str, Any], recent: Sequence[str]) -> str:
        """The title in a record if it is new, or "".

        `recent` are the ids of the latest records.
        """
        named = kind == "custom-title"
        title = " ".join(text(record.get(TITLES[kind]))[: LONGEST * 2].split())[:LONGEST]
        foreign = kind == "summary" and record.get("leafUuid") not in recent
        if not title or title == self.title or foreign or (self.named and not named):
            return ""
        self.title, self.named, self.count = title, named, self.count + 1
        return title


RECENT = 32


class UsageCounter:
    """The answers already counted, and the last answer while it is not final."""

    def __init__(self, carry: Mapping[str, Any]) -> None:
        self.counted: list[str] = list(sequence(carry.get("counted")))
        self.held: dict[str, Any] = dict(mapping(carry.get("held")))

    def carry(self) -> dict[str, Any]:
        values = {"counted": self.counted, "held": self.held}
        return {name: value for name, value in values.items() if value}

    def take(self, message: Mapping[str, Any], at: int | None) -> list[dict[str, Any]]:
        """The answers that became final, at most two: `id`, `at` and the `usage` payload."""
        answer, usage = ident(message.get("id")), _usage(message)
        if not answer or not usage:
            return []
        final = []
        if self.held and self.held["id"] != answer:
            final.append(self.held)
            self.held = {}
        if answer not in self.counted:
            answered = {"id": answer, "at": at, "usage": usage}
            if message.get("stop_reason") is None:
                self.held = answered
            else:
                self.held = {}
                final.append(answered)
        self.counted = [*self.counted, *(answered["id"] for answered in final)][-RECENT:]
        return final

    def end(self) -> list[dict[str, Any]]:
        """The last answer, if it was not final.

        Nothing followed it that would have said so.
        """
        final = [self.held] if self.held else []
        self.counted = [*self.counted, *(answered["id"] for answered in final)][-RECENT:]
        self.held = {}
        return final


def _usage(message: Mapping[str, Any]) -> dict[str, Any]:
    usage = mapping(message.get("usage"))
    written = tokens(usage.get("cache_creation_input_tokens"))
    counts: dict[str, Any] = {
        "input_tokens": tokens(usage.get("input_tokens")) + written,
        "output_tokens": tokens(usage.get("output_tokens")),
        "cached_tokens": tokens(usage.get("cache_read_input_tokens")),
    }
    if not any(counts.values()):
        return {}
    hour = tokens(mapping(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    for name, count in (("written_tokens", written), ("written_hour_tokens", min(hour, written))):
        if count:
            counts[name] = count
    model = text(message.get("model"))[:100]
    return counts | ({"model": model} if model else {})


MOST_OPEN = 200
MOST_QUEUED = 50
COMMAND = lazy_regex(r"/[A-Za-z][\w:-]*(?:\s|\Z)")
RECENT_RECORDS = 32
UNKNOWN = 4 << 10
SYNTHETIC = "<synthetic>"  # a message by the client in place of the model
CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
STOPPED_CALL = "interrupted by the user"
HEADLESS = "sdk-cli"  # `claude -p`: an interrupted call looks like a rejected one


class Transcript:
    """Turns records into drafts. `carry` returns the state for the next chunk."""

    def __init__(
        self, session: str, agent_id: str | None, carry: Mapping[str, Any], home: str | None = None
    ) -> None:
        self.session = session
        self.agent_id = agent_id
        self.home = home
        self.parent: str = text(carry.get("parent"))
        self.opened: bool = bool(carry.get("opened"))
        self.cwd: str = text(carry.get("cwd"))
        self.lines: int = carry.get("lines") or 0
        self.at: int | None = carry.get("at")
        self.prompted: str = text(carry.get("prompted"))
        self.recent: list[str] = list(sequence(carry.get("recent")))
        self.boundary: dict[str, Any] = dict(mapping(carry.get("boundary")))
        self.spending = UsageCounter(mapping(carry.get("spending")))
        self.titles = TitleTracker(mapping(carry.get("titles")))
        self.known = KnownFolders(mapping(carry.get("known")))
        self.tasks = TaskList(mapping(carry.get("tasks")))
        self.queued: list[dict[str, Any]] = [dict(typed) for typed in sequence(carry.get("queued"))]
        self.branch: str = text(carry.get("branch"))
        self.branches: int = carry.get("branches") or 0
        self.branch_now = self.branch
        self.plan: str = text(carry.get("plan"))  # the accepted plan that it carries out
        self.open: dict[str, dict[str, Any]] = {
            name: dict(call) for name, call in mapping(carry.get("open")).items()
        }
        self.drafts: list[Draft] = []
        self.unknown: dict[str, int] = {}
        self.opening: dict[str, Any] = {}
        self.accepted: dict[str, Any] = {}
        self.cleared_at: int | None = None  # when `/clear` ended the session before and began this one
        self.uuid = ""
        self.who: str | None = agent_id
        self.aside = agent_id is not None

    def carry(self) -> dict[str, Any]:
        names = ("parent", "opened", "cwd", "lines", "at", "prompted", "recent", "boundary", "open")
        values = {name: getattr(self, name) for name in (*names, "queued", "branch", "branches", "plan")}
        values |= {"spending": self.spending.carry(), "titles": self.titles.carry()}
        values |= {"known": self.known.carry(), "tasks": self.tasks.tasks}
        return {name: value for name, value in values.items() if value}

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of the file."""
        kind = text(record.get("type"))
        self.at = moment(record.get("timestamp")) or self.at
        self.cwd = text(record.get("cwd")) or self.cwd
        # Some versions give a copy a new id and name the original, which is the one we use.
        copied = mapping(record.get("forkedFrom"))
        self.uuid = ident(copied.get("messageUuid")) or ident(record.get("uuid"))
        if self.uuid in self.recent:
            return  # the client writes some records twice around a compaction
        if self.uuid:
            self.recent = [*self.recent, self.uuid][-RECENT_RECORDS:]
        self.aside = self.agent_id is not None or record.get("isSidechain") is True
        self.who = self.agent_id or (ident(record.get("agentId")) or None if self.aside else None)
        if not self.aside:
            self.branch_now = ident(record.get("gitBranch")) or self.branch_now
        if kind == "user":
            self._user(record)
        elif kind == "assistant":
            if self.queued:
                self._delivered()
            self._assistant(record)
        elif kind == "system":
            self._system(record)
        elif kind == "attachment":
            self._attachment(mapping(record.get("attachment")))
        elif kind == QUEUE:
            self._queue(record)
        elif kind in TITLES:
            if not self.aside and (title := self.titles.take(kind, record, self.recent)):
                key = f"{NAME}:{self.session}:title:{self.titles.count}"
                self._emit("session.title", {"title": title}, key)
        elif kind not in NOISE:
            self._unknown(kind, record)

    def finish(self, *, quiet: bool = False) -> None:
        """End the chunk: report calls without a result as started, once.

        If the file is `quiet`, what a person typed and the client never passed on is reported too, and the
        last answer is final.
        """
        for call_id in list(self.open):
            self._started(call_id)
        if quiet:
            self._delivered(always=True)
            self._used(self.spending.end())

    def _user(self, record: Mapping[str, Any]) -> None:
        content = mapping(record.get("message")).get("content")
        if is_summary(record, content):
            self._evicted(compact_summary(content))
            return
        self._evicted()
        results = [block for block in map(mapping, sequence(content)) if is_result(block)]
        for block in results:
            if record.get("entrypoint") == HEADLESS and refusal_reason(text(block.get("content"))) == "":
                block = block | {"content": f"{INTERRUPTED}]"}  # there is no person to reject it
            # With several results it is unknown which one the object belongs to.
            self._result(block, record.get("toolUseResult") if len(results) == 1 else None)
        if is_interruption(content):
            self._interrupted()
        if self.aside:
            return
        if results:
            if words := typed_text(record, content):  # typed while the tool ran
                self._forget_queued(words)
                self._typed_meanwhile(words, f"{self._key()}:typed", self.at)
        elif command := typed_shell(content):
            self._begin(self._name(), SHELL, {"command": command}, person=True)
        elif answer := shell_answer(content):
            self._shell_answered(*answer)
        elif command_name(content) == CLEAR and not self.opened:
            self.cleared_at = self.at
        elif reason := ending_reason(content):
            self._delivered(always=True)
            self._emit("session.close", {"reason": reason}, f"{self._key()}:end", actor=PERSON)
        elif words := typed_text(record, content):
            self._forget_queued(words)
            self._delivered()
            self._prompt(words, ident(record.get("promptId")))

    def _assistant(self, record: Mapping[str, Any]) -> None:
        self._evicted()
        message = mapping(record.get("message"))
        synthetic = message.get("model") == SYNTHETIC
        self._model("" if synthetic else ident(message.get("model")))
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else sequence(content)
        for number, block in enumerate(map(mapping, blocks)):
            kind = text(block.get("type"))
            if kind == "text" and (not synthetic or record.get("isApiErrorMessage") is True):
                self._message(text(block.get("text")), number, "system" if synthetic else None)
            elif kind in CALLS and ident(block.get("id")):
                self._begin(ident(block["id"]), ident(block.get("name")) or "unknown", block.get("input"))
            elif is_result(block):
                self._result(block, None)
        if not synthetic:
            self._used(self.spending.take(message, self.at))

    def _used(self, answers: Sequence[Mapping[str, Any]]) -> None:
        for answer in answers:
            self._emit("usage", answer["usage"], usage_key(answer["id"]), answer["at"])

    def _system(self, record: Mapping[str, Any]) -> None:
        subtype = text(record.get("subtype"))
        if subtype in BOUNDARIES and not self.aside:
            self._evicted()
            metadata = mapping(record.get("compactMetadata")) or mapping(record.get("microcompactMetadata"))
            trigger = ident(metadata.get("trigger")) or None
            self.boundary = {"trigger": trigger, "at": self.at, "key": self._key()}
            if subtype != "compact_boundary":
                self._evicted()
        elif subtype not in SYSTEM_NOISE | BOUNDARIES:
            self._unknown(f"system/{subtype}", record)

    def _attachment(self, attachment: Mapping[str, Any]) -> None:
        """A prompt typed while the agent worked comes with a tool's result."""
        if attachment.get("type") != TYPED_MEANWHILE or self.aside:
            return
        words = typed_text(attachment, attachment.get("prompt"))
        if words and attachment.get("commandMode") in (None, "prompt"):
            self._forget_queued(words)
            self._typed_meanwhile(words, self._key(), self.at)

    # What a person types while the agent works is queued. It comes again as a prompt of its own, or it is
    # removed from the queue for the model, with an attachment; older versions write no attachment.

    def _queue(self, record: Mapping[str, Any]) -> None:
        operation, content = record.get("operation"), text(record.get("content"))
        if self.aside:
            return
        if operation == "enqueue":
            words = user_words(iter((content,)))
            self.queued = [*self.queued, {"text": words, "at": self.at}][-MOST_QUEUED:]
            return
        first = next((number for number, typed in enumerate(self.queued) if not typed.get("left")), None)
        if operation == "popAll":  # back into the input line, to be edited
            self.queued = [typed for typed in self.queued if typed.get("left")]
        elif operation == "remove" and first is not None:
            self.queued[first]["left"] = True
        elif operation == "dequeue" and first is not None:
            del self.queued[first]

    def _forget_queued(self, words: str) -> None:
        """A queued text has arrived as a record of its own."""
        for number, typed in enumerate(self.queued):
            if typed["text"] == words:
                del self.queued[number]
                return

    def _delivered(self, *, always: bool = False) -> None:
        """Report the queued texts that have left the queue and came in no other record."""
        waiting, self.queued = self.queued, []
        for typed in waiting:
            left, words = typed.get("left"), typed["text"]
            if not left and not always:
                self.queued.append(typed)
            elif words and not COMMAND.match(words):  # a command to the client says nothing to the agent
                self._typed_meanwhile(words, f"{NAME}:{self.session}:queued:{typed['at']}", typed["at"])

    def _typed_meanwhile(self, words: str, key: str, at: int | None) -> None:
        self._emit("prompt", {"text": capped(words, MAX_TEXT), "form": "queued"}, key, at)

    def _unknown(self, kind: str, record: Mapping[str, Any]) -> None:
        kind = kind[:100] or "?"
        self.unknown[kind] = self.unknown.get(kind, 0) + 1
        self._emit("unknown", {"type": kind, "raw": bounded(record, UNKNOWN)})

    def _prompt(self, words: str, prompt_id: str) -> None:
        # Every record of a turn has the id of its prompt. It is the key of the first prompt only.
        key = prompt_key(prompt_id) if prompt_id and prompt_id != self.prompted else None
        self.prompted = prompt_id or self.prompted
        self._emit("prompt", {"text": capped(without_plan_tail(words), MAX_TEXT)}, key)
        if (plan := accepted_plan(words)) is not None:
            self._accepted_elsewhere(*plan)

    def _accepted_elsewhere(self, body: str, presented_in: str) -> None:
        """The plan of a session that was accepted to be carried out in this one."""
        title = plan_title(body)
        if not title or digest(body) == self.plan:
            return  # the same prompt again
        self.plan = digest(body)
        payload = {"title": title, "text": capped(body, MAX_TEXT), "status": "accepted"}
        self._emit("plan", payload, f"{self._key()}:plan", actor=PERSON)
        self.accepted = {"title": title, "text": body, "at": self.at}
        self.accepted |= {"session": presented_in} if presented_in else {}

    def _message(self, words: str, number: int, actor: str | None) -> None:
        words = strip_injected_text(words).strip()
        if words and not self.aside:
            key = f"{self._key()}:{number}" if number else self._key()
            self._emit("message", {"text": capped(words, MAX_TEXT)}, key, actor=actor)

    def _evicted(self, summary: str = "") -> None:
        """Record a compaction: a boundary and usually a summary after it."""
        if not self.boundary and not summary:
            return
        boundary, self.boundary = self.boundary or {"at": self.at, "key": self._key()}, {}
        if self.aside:
            return
        summary = capped(summary, tool_calls.OUTPUT)
        payload: dict[str, Any] = {"keys": [], "trigger": boundary.get("trigger"), "summary": summary}
        payload = {name: value for name, value in payload.items() if value not in (None, "")}
        self._emit("evicted", payload, boundary["key"], boundary["at"])

    def _begin(self, call_id: str, tool: str, tool_input: Any, *, person: bool = False) -> None:
        if call_id in self.open:
            return
        if len(self.open) >= MOST_OPEN:
            oldest = next(iter(self.open))
            self._started(oldest)
            del self.open[oldest]
        call = {"tool": tool, "at": self.at, "cwd": self.cwd, "who": self.who, "person": person}
        self.open[call_id] = call | {"input": bounded(tool_input, tool_calls.INPUT)}

    def _started(self, call_id: str) -> None:
        call = self.open[call_id]
        if not call.get("started"):
            call["started"] = True
            payload = _input(call) | tool_calls.start(call["tool"], None, call_id, call["who"])
            self._emit("action.start", payload, start_key(call_id), call["at"], _actor(call))
            self._mean(call_id, presented_plan(call_id, call["tool"], call["input"]), call["at"])

    def _result(self, block: Mapping[str, Any], result: Any) -> None:
        if not (call_id := ident(block.get("tool_use_id"))):
            return
        # The record of its start may be damaged.
        unknown: dict[str, Any] = {"tool": "unknown", "input": None, "cwd": self.cwd, "who": self.who}
        call = self.open.pop(call_id, None) or unknown
        ended = call_result(block, result, **self._about(call))
        if call is unknown and ended.error == REFUSED_BY_USER:
            return  # a new session begins with the refusal of a call of the one before
        self._ended(call_id, call, ended)
        tool, tool_input, words = call["tool"], call["input"], output_text(block.get("content"))
        about = mapping(result)
        self._mean(call_id, meanings(call_id, tool, tool_input, words, ended.outcome, about))
        if ended.outcome == "ok" and not self.aside:
            self._mean(call_id, self.tasks.ended(tool, tool_input, words, about))

    def _mean(self, call_id: str, found: Iterable[Meaning], at: int | None = None) -> None:
        """Report what a call means.

        The plans and steps of a subagent are not the session's.
        """
        for meaning in found:
            if not self.aside or meaning.kind == "decision":
                key = f"{action_key(call_id)}:{meaning.suffix}"
                self._emit(meaning.kind, meaning.payload, key, at, meaning.actor)

    def _shell_answered(self, stdout: str, stderr: str) -> None:
        """End the command a person ran with `!`. Its exit code is unknown."""
        mine = next((call_id for call_id, call in self.open.items() if call["person"]), None)
        if mine is not None:
            call, printed = self.open.pop(mine), "\n".join(filter(None, (stdout, stderr)))
            self._ended(mine, call, call_result({"content": printed}, None, **self._about(call)))

    def _interrupted(self) -> None:
        calls, self.open = self.open, {}
        for call_id, call in calls.items():
            self._ended(call_id, call, interrupted_result(STOPPED_CALL, **self._about(call)))

    def _about(self, call: Mapping[str, Any]) -> dict[str, Any]:
        where = text(call["cwd"]) or self.cwd
        values = {"tool": call["tool"], "tool_input": call["input"], "cwd": where}
        return values | {"home": self.home, "known": self.known}

    def _ended(self, call_id: str, call: Mapping[str, Any], result: CallResult) -> None:
        ended = tool_calls.ended_action(call["tool"], None, result, call_id, call["who"])
        self._emit("action", _input(call) | ended, action_key(call_id), actor=_actor(call))
        for number, listing in enumerate(result.seen):
            self._emit("seen", listing, f"{action_key(call_id)}:seen:{number}")

    def _model(self, model: str) -> None:
        """Add the model to the opening.

        It is first named by an answer, usually in the same chunk.
        """
        if model and self.opening:
            self.opening.setdefault("model", model)

    def _name(self) -> str:
        return self.uuid or f"{self.session}:{self.agent_id or 'line'}:{self.lines}"

    def _key(self) -> str:
        return record_key(self._name())

    def _emit(
        self,
        kind: str,
        payload: Mapping[str, Any],
        key: str | None = None,
        at: int | None = None,
        actor: str | None = None,
    ) -> None:
        if not self.opened:
            self._draft("session.open", self._opening(), open_key(self.session), self.at)
        if self.branch_now != self.branch:
            self.branch, self.branches = self.branch_now, self.branches + 1
            branch_key = f"{NAME}:{self.session}:branch:{self.branches}"
            self._draft("branch", {"name": self.branch}, branch_key, at or self.at)
        self._draft(kind, payload, key or self._key(), at or self.at, actor)

    def _opening(self) -> dict[str, Any]:
        self.opened = True
        values = {"agent": NAME, "agent_session_id": self.session}
        values |= {"workspace": self.cwd, "parent": self.parent}
        self.opening = {name: value for name, value in values.items() if value}
        return self.opening

    def _draft(
        self, kind: str, payload: Mapping[str, Any], key: str, at: int | None, actor: str | None = None
    ) -> None:
        draft = Draft(self.session, kind, payload, NAME, at, actor=actor, source="transcript", key=key)
        self.drafts.append(draft)


def _input(call: Mapping[str, Any]) -> dict[str, Any]:
    """The input of a call.

    It was limited at the start; limiting it again would cut the note.
    """
    return {"input": call["input"]} if call["input"] is not None else {}


def _actor(call: Mapping[str, Any]) -> str | None:
    return "person" if call.get("person") else None
