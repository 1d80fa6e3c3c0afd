"""A session as turns of statements and tool calls, and as Markdown.

The other formats begin with these turns too.

Ancestors are included. What a rewind took back is left out, and forgotten events are counted. In all texts
the home folder is written as `~`.

In Markdown recorded text never becomes a link, a picture, HTML or part of the outline: it is escaped, and
verbatim only in code. Of its own markup only bold text, code, lists with dashes, and headings as bold text
are kept. Signs that do not print are left out.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Literal

from fazm_memory.clock import to_datetime
from fazm_memory.events import (
    UNTRUSTED,
    Action,
    ActionAmend,
    ActionStart,
    Decision,
    Event,
    Usage,
    codec,
    target_of,
)
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import move_folders
from fazm_memory.records import dataclass, field
from fazm_memory.session import SessionState, state_to_json
from fazm_memory.store import SessionRow, Store, effective_ranges, lineage
from fazm_memory.text import plural

MICROSECONDS = 1000  # in a millisecond
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Statement:
    """Something that the user or the agent said, asked for, planned or decided."""

    session: str
    seq: int
    at: int
    turn: int
    role: Literal["user", "agent"]
    form: str  # prompt, message, plan, decision, answer, refusal
    text: str
    trust: str
    question: str | None = None
    why: str | None = None
    alternatives: tuple[str, ...] = ()


@dataclass
class ToolCall:
    """A tool call with its result. A call that nothing ended is interrupted."""

    session: str
    seq: int
    begin: int
    end: int
    turn: int
    tool: str
    input: Any
    trust: str
    outcome: str = INTERRUPTED
    output: str | None = None
    error: str | None = None
    call_id: str | None = None
    agent_id: str | None = None
    files: list[dict[str, Any]] = field(default_factory=list)

    @property
    def result(self) -> str | None:
        return self.output if self.output is not None else self.error


@dataclass(frozen=True)
class TokenUse:
    """Tokens and dollars as the agent recorded them. `input` is without `cached`."""

    turn: int
    model: str | None
    input: int
    output: int
    cached: int
    usd: float | None


Entry = Statement | ToolCall | TokenUse


@dataclass(frozen=True)
class Turn:
    number: int
    entries: list[Entry]

    @property
    def statements(self) -> list[Statement]:
        return [entry for entry in self.entries if isinstance(entry, Statement)]

    @property
    def calls(self) -> list[ToolCall]:
        return [entry for entry in self.entries if isinstance(entry, ToolCall)]

    @property
    def usage(self) -> list[TokenUse]:
        return [entry for entry in self.entries if isinstance(entry, TokenUse)]


@dataclass
class Conversation:
    """A session and its ancestors, with the state at its end as JSON."""

    id: str
    agent: str
    title: str | None
    workspace: str | None
    opened_at: int
    last_at: int
    parent: str | None
    state: dict[str, Any]
    turns: list[Turn]
    forgotten: int = 0

    @property
    def entries(self) -> Iterator[Entry]:
        return (entry for turn in self.turns for entry in turn.entries)

    @property
    def models(self) -> list[str]:
        """The models in the order of their first use."""
        used = (entry.model for entry in self.entries if isinstance(entry, TokenUse))
        return list(dict.fromkeys(model for model in used if model))

    def counts(self) -> dict[str, int]:
        return {
            "turns": len(self.turns),
            "statements": sum(len(turn.statements) for turn in self.turns),
            "calls": sum(len(turn.calls) for turn in self.turns),
            "forgotten": self.forgotten,
        }


def read_conversation(store: Store, row: SessionRow, state: SessionState, home: str) -> Conversation:
    """The conversation of a session with everything that counts at its end."""
    folder = home.rstrip("/")

    def portable(value: Any) -> Any:
        return move_folders(value, {folder: "~"}) if folder else value

    reader = _Reader(portable)
    for member, position in reversed(lineage(store.sessions, row, row.head)):
        for low, high in effective_ranges(store.db, member.n, position):
            for event in store.log.slice(member.n, member.id, low, high):
                reader.read(event)
    turns = [Turn(number, list(entries)) for number, entries in groupby(reader.entries, lambda e: e.turn)]
    return Conversation(
        id=row.id,
        agent=row.agent,
        title=portable(row.title),
        workspace=portable(row.workspace),
        opened_at=row.opened_at,
        last_at=row.last_at,
        parent=row.parent,
        state=portable(state_to_json(state)),
        turns=turns,
        forgotten=reader.forgotten,
    )


class _Reader:
    """Turns events into entries, in order.

    Start, end and amendment of a call become one entry.
    """

    def __init__(self, portable: Callable[[Any], Any]) -> None:
        self.portable = portable
        self.entries: list[Entry] = []
        self.forgotten = 0
        self.calls: dict[str, ToolCall] = {}

    def read(self, event: Event) -> None:
        payload = event.payload
        if payload is None:
            self.forgotten += 1
        elif isinstance(payload, ActionStart):
            self._start(event, payload)
        elif isinstance(payload, Action):
            self._end(event, payload)
        elif isinstance(payload, ActionAmend):
            self._amend(payload)
        elif isinstance(payload, Usage):
            spent = (payload.input_tokens, payload.output_tokens, payload.cached_tokens, payload.cost_usd)
            if any(spent):
                self.entries.append(TokenUse(event.turn, payload.model, *spent))
        elif event.kind in ("prompt", "message", "plan", "decision"):
            self._say(event, payload)

    def _start(self, event: Event, start: ActionStart) -> None:
        call = ToolCall(
            event.session, event.seq, event.at, event.at, event.turn, start.tool, self.portable(start.input),
            event.trust, call_id=start.call_id, agent_id=start.agent_id,
        )  # fmt: skip
        self.entries.append(call)
        if start.call_id is not None:
            self.calls[start.call_id] = call

    def _end(self, event: Event, action: Action) -> None:
        call = self.calls.get(action.call_id or "")
        if call is None:
            begin = event.at - (action.duration_ms or 0) * MICROSECONDS
            call = ToolCall(event.session, event.seq, begin, event.at, event.turn, action.tool, None, "")
            self.entries.append(call)
            if action.call_id is not None:
                self.calls[action.call_id] = call
        call.input = self.portable(action.input) if action.input is not None else call.input
        call.end, call.trust, call.outcome = max(call.begin, event.at), event.trust, action.outcome
        call.output = self._output(action.output if action.output is not None else action.output_summary)
        call.error = self.portable(action.error)
        call.call_id, call.agent_id = action.call_id, action.agent_id or call.agent_id
        call.files = [self.portable(codec.encode(touch)) for touch in action.files]

    def _amend(self, amend: ActionAmend) -> None:
        call = self.calls.get(amend.call_id)
        if call is None:
            return
        call.outcome = amend.outcome or call.outcome
        call.error = self.portable(amend.error) or call.error
        if amend.duration_ms is not None:
            call.end = max(call.end, call.begin + amend.duration_ms * MICROSECONDS)
        if call.output is None:
            call.output = self._output(amend.output_summary)
        call.files += [self.portable(codec.encode(touch)) for touch in amend.files]

    def _output(self, value: Any) -> str | None:
        if value is None or isinstance(value, str):
            return self.portable(value)  # type: ignore[no-any-return]
        return json.dumps(self.portable(value), ensure_ascii=False)

    def _say(self, event: Event, payload: Any) -> None:
        decision = payload if isinstance(payload, Decision) else None
        text = payload.text if decision is None else decision.what
        if not (text or "").strip():
            return
        by_user = event.kind == "prompt" or (decision is not None and decision.form is not None)
        form = event.kind if decision is None else decision.form or event.kind
        more: dict[str, Any] = {}
        if decision is not None:
            more = {"question": decision.question or decision.about, "why": decision.why,
                    "alternatives": list(decision.alternatives)}  # fmt: skip
            more = self.portable(more)
            more["alternatives"] = tuple(more["alternatives"])
        self.entries.append(
            Statement(
                event.session,
                event.seq,
                event.at,
                event.turn,
                "user" if by_user else "agent",
                form,
                self.portable(text),
                event.trust,
                **more,
            )
        )


MAX_BLOCK = 4000  # characters of a call's input or output
MAX_LINE = 300
MAX_FILES = 200
# What Markdown or GitHub takes for markup inside a line. The rest stays as it is, so that it reads well.
SPECIAL = lazy_regex(
    r"[\\`*\[\]<|$]|(?<![^\W_])_|_(?![^\W_])|~(?!/)|(?<!\w)[#@](?=\w)|&(?=#?\w+;)|\{(?=[{%:])|(?<=\w):(?=//)"
    r"|(?<=www)\.",
    re.IGNORECASE,
)
AT_START = lazy_regex(r"(\d{0,9})([-+=#>]|(?<=\d)[.)])")  # of a line: headings, lists, quotes, rules
# Harmless, and agents use them all the time: code in single backticks, and bold text.
CODE_SPAN = lazy_regex(r"(?<!`)`[^`]+`(?!`)")
CODE_OR_STRONG = lazy_regex(r"(?<!`)`[^`]+`(?!`)|(?<![\w*])\*\*(?=\S)(?P<strong>[^*`]+)(?<=\S)\*\*(?![\w*])")
HEADING = lazy_regex(r"#{1,6}\s+(\S.*)")
FENCE = lazy_regex(r"\s*+(`{3,}+|~{3,}+)\s*+([\w+.-]{0,20}+)[^`]*+")
TABLE_ROW = lazy_regex(r"\s*\|.*\|\s*")
ITEM = "- "
TICKS = lazy_regex(r"`+")
TITLES = {
    "prompt": "User", "message": "Agent", "plan": "Plan", "decision": "Decision", "answer": "User's answer",
    "refusal": "User refused",
}  # fmt: skip


def to_markdown(talk: Conversation) -> str:
    """The whole document.

    Facts, request, decisions, files and open points come first, then turn by turn.
    """
    parts = [f"# {_line(talk.title or 'Session ' + talk.id[:8])}", *_facts(talk)]
    parts += _section("Request", _request(talk.state))
    parts += _section("Decisions", _decisions(talk.state))
    parts += _section("Files", _files(talk.state, talk.workspace or ""))
    parts += _section("Open points", _open_points(talk.state))
    parts += _section("What was done", (part for turn in talk.turns for part in _turn(turn)))
    return "\n\n".join(parts) + "\n"


def _section(title: str, parts: Iterable[str]) -> list[str]:
    found = list(parts)
    return [f"## {title}", *found] if found else []


# -- text -----------------------------------------------------------------------------------------------


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " if char.isspace() else "" for char in text)


def _escaped(text: str, *, strong: bool = False) -> str:
    """A text without markup but code in backticks and, with `strong`, bold text."""
    parts, end = [], 0
    for found in (CODE_OR_STRONG if strong else CODE_SPAN).finditer(text):
        bold = found["strong"] if strong else None
        shown = found[0] if bold is None else f"**{SPECIAL.sub(_backslashed, bold)}**"
        parts += [SPECIAL.sub(_backslashed, text[end : found.start()]), shown]
        end = found.end()
    escaped = "".join([*parts, SPECIAL.sub(_backslashed, text[end:])])
    return AT_START.sub(r"\1\\\2", escaped, count=1) if AT_START.match(text) else escaped


def _backslashed(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _line(text: object, cap: int = MAX_LINE) -> str:
    """A text as one escaped line."""
    line = " ".join(_printable(str(text)).split())
    return _escaped(line if len(line) <= cap else line[: cap - 1].rstrip() + "…")


def block_quote(text: str) -> str:
    """A text as a block quote with its own line breaks.

    Code and tables in it are code blocks.
    """
    lines: list[str] = []
    said: list[str] = []
    for language, part in _parts(text.strip().splitlines()):
        if language is None:
            said += map(_quoted_line, part)
            continue
        code = "\n".join(part)
        lines += [*_broken(said), *_block(code, language, len(code)).splitlines()]
        said = []
    return "\n".join(f"> {line}".rstrip() for line in [*lines, *_broken(said)])


def _broken(lines: list[str]) -> Iterator[str]:
    """Lines with a line break between two of one paragraph."""
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        yield f"{line}\\" if line and following and not following.startswith(ITEM) else line


def _parts(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    """The paragraphs of a text, and its code blocks and tables with their language."""
    said: list[str] = []
    code: list[str] = []
    fence, language = "", ""
    for line in lines:
        opening = FENCE.fullmatch(line)
        if fence:
            if opening is not None and opening[1].startswith(fence) and not opening[2]:
                yield language, code
                code, fence = [], ""
            else:
                code.append(line)
            continue
        if opening is None:
            said.append(line)
            continue
        yield from _tables(said)
        said, fence, language = [], opening[1], opening[2]
    yield from _tables(said)
    if fence:
        yield language, code


def _tables(lines: list[str]) -> Iterator[tuple[str | None, list[str]]]:
    for is_row, group in groupby(lines, lambda line: TABLE_ROW.fullmatch(line) is not None):
        rows = list(group)
        yield ("" if is_row and len(rows) > 1 else None), rows


def _quoted_line(line: str) -> str:
    line = _printable(line).rstrip()
    body = line.lstrip()
    if (heading := HEADING.fullmatch(body)) is not None:
        return f"**{_escaped(heading[1].strip('# *') or '#')}**"
    item = ITEM if body.startswith(ITEM) else ""
    return "\u00a0" * (len(line) - len(body)) + item + _escaped(body.removeprefix(ITEM).lstrip(), strong=True)


def _block(text: str, language: str = "", cap: int = MAX_BLOCK) -> str:
    """A text as a code block."""
    rest = len(text) - cap
    lines = "\n".join(_printable(line) for line in text[:cap].splitlines())
    fence = "`" * max(3, 1 + max((len(run) for run in TICKS.findall(lines)), default=0))
    more = f"\n\n… and {plural(rest, 'character')} more" if rest > 0 else ""
    return f"{fence}{language}\n{lines}\n{fence}{more}"


def _time(at: int) -> str:
    return f"{to_datetime(at):%Y-%m-%d %H:%M}"


# -- summary --------------------------------------------------------------------------------------------


def _facts(talk: Conversation) -> Iterator[str]:
    counts = talk.counts()
    facts = [("Agent", _line(talk.agent)), ("Session", talk.id)]
    if talk.models:
        facts.append(("Model", ", ".join(_line(model, 60) for model in talk.models)))
    if talk.workspace:
        facts.append(("Folder", _line(talk.workspace)))
    facts.append(("Time", f"{_time(talk.opened_at)} to {_time(talk.last_at)}"))
    facts.append(("Work", f"{plural(counts['turns'], 'turn')}, {plural(counts['calls'], 'tool call')}"))
    if talk.parent is not None:
        facts.append(("Forked from", f"session {_line(talk.parent)}"))
    if talk.forgotten:
        facts.append(("Forgotten", f"{plural(talk.forgotten, 'event')} without content"))
    yield "\n".join(f"- **{name}:** {value}" for name, value in facts)


def _request(state: dict[str, Any]) -> Iterator[str]:
    if state.get("goal"):
        yield block_quote(str(state["goal"]["text"]))


def _decisions(state: dict[str, Any]) -> Iterator[str]:
    lines = []
    for decision in state["decisions_made"]:
        question = f"{_line(decision['question'])} → " if decision.get("question") else ""
        why = f" — because {_line(decision['why'])}" if decision.get("why") else ""
        passed = [other for other in decision.get("alternatives") or () if other != decision["what"]]
        others = ", ".join(_line(other, 100) for other in passed)
        instead = f" (not: {others})" if others else ""
        later = " *(superseded later)*" if decision.get("superseded_by") is not None else ""
        lines.append(f"- {question}**{_line(decision['what'])}**{why}{instead}{later}")
    if lines:
        yield "\n".join(lines)


def _files(state: dict[str, Any], folder: str) -> Iterator[str]:
    """The changed files. Those in the folder of the session are named from there."""

    def name(path: str) -> str:
        return _line(path.removeprefix(f"{folder.rstrip('/')}/") if folder else path)

    files = state["files_modified"]
    lines = [
        f"- {name(entry['path'])} — {_line(entry['change'])}"
        + (f" from {name(entry['from'])}" if entry.get("from") else "")
        + (f" (by {_line(entry['by'])})" if entry.get("by") != "agent" else "")
        for entry in files[:MAX_FILES]
    ]
    if len(files) > MAX_FILES:
        lines.append(f"- and {plural(len(files) - MAX_FILES, 'file')} more")
    if lines:
        yield "\n".join(lines)


def _open_points(state: dict[str, Any]) -> Iterator[str]:
    lines = [f"- [ ] {_line(entry['what'])}" for entry in state["pending_actions"]]
    lines += [f"- The agent asked: {_line(entry['text'])}" for entry in state["questions"]]
    lines += [f"- Waiting for an answer: {_line(entry.get('note'))}" for entry in state["open_questions"]]
    lines += [
        f"- Still fails: {_line(entry['tool'])} {_line(entry.get('target') or '')}: {_line(entry['error'])}"
        for entry in state["errors"]
        if entry.get("mended_by") is None and not entry.get("minor") and entry.get("error")
    ]
    if lines:
        yield "\n".join(lines)


# -- turns ----------------------------------------------------------------------------------------------


def _turn(turn: Turn) -> Iterator[str]:
    entries = [entry for entry in turn.entries if not isinstance(entry, TokenUse)]
    if not entries:
        return
    first = entries[0]
    at = first.begin if isinstance(first, ToolCall) else first.at
    name = f"Turn {turn.number}" if turn.number else "Before the first turn"
    yield f"### {name} · {_time(at)}"
    for is_call, group in groupby(entries, lambda entry: isinstance(entry, ToolCall)):
        if is_call:
            yield from _calls([entry for entry in group if isinstance(entry, ToolCall)])
        else:
            for entry in group:
                if isinstance(entry, Statement):
                    yield from _statement(entry)


def _statement(said: Statement) -> Iterator[str]:
    untrusted = f" *({said.trust}, not trusted)*" if said.trust in UNTRUSTED else ""
    question = f" {_line(said.question)}" if said.question else ""
    yield f"**{TITLES.get(said.form, said.form.capitalize())}:**{question}{untrusted}"
    yield block_quote(said.text)
    if said.why:
        yield f"Because: {_line(said.why)}"


def _calls(calls: list[ToolCall]) -> Iterator[str]:
    """Consecutive calls, folded."""
    tools = Counter(" ".join(_printable(call.tool).split())[:60] for call in calls)
    names = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in tools.items())
    failed = sum(call.outcome != "ok" for call in calls)
    summary = f"{plural(len(calls), 'tool call')}: {names}" + (f" ({failed} failed)" if failed else "")
    yield f"<details><summary>{html.escape(summary)}</summary>"
    for call in calls:
        target = _line(target_of(call.input))
        took = f", {(call.end - call.begin) / 1e6:.1f} s" if call.end > call.begin else ""
        yield f"**{_line(call.tool, 60)}** {target} — {call.outcome}{took}"
        if call.input:
            yield _input(call.input)
        if call.result:
            yield _block(call.result)
    yield "</details>"


def _input(value: Any) -> str:
    if isinstance(value, dict) and set(value) <= {"command", "description"} and value.get("command"):
        return _block(str(value["command"]), "sh")
    if isinstance(value, str):
        return _block(value)
    return _block(json.dumps(value, ensure_ascii=False, indent=2), "json")
