"""What the formats have in common: a session as turns of statements and tool calls.

Ancestors are included. What a rewind took back is left out, and forgotten events are counted. In all texts
the home folder is written as `~`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Literal

from fazm_memory.events import Action, ActionAmend, ActionStart, Decision, Event, Usage, codec
from fazm_memory.paths import move_folders
from fazm_memory.records import dataclass, field
from fazm_memory.session import SessionState, state_to_json
from fazm_memory.store import SessionRow, Store, effective_ranges, lineage

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
    """Turns events into entries, in order. Start, end and amendment of a call become one entry."""

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
