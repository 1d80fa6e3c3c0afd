"""What of a session is carried over when another agent goes on with it.

The user's words stay as they are. What tools returned, and all other text that is not the user's or the
agent's own, is quoted. What cannot be carried over is counted.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator

from fazm_memory.agents import CarriedCall, CarriedEntry, shell_command
from fazm_memory.events import UNTRUSTED, Action, Event, target_of
from fazm_memory.recall.quoting import plain_name, quote
from fazm_memory.records import dataclass, field
from fazm_memory.store import SessionRow, Store, effective_ranges, lineage
from fazm_memory.text import plural

MAX_CHARACTERS = 160_000  # of the conversation: about 40,000 tokens
MAX_OUTPUT = 1500
MAX_COMMAND = 4000
USER = "user"
KINDS = frozenset({"prompt", "message", "action", "decision", "plan"})
REASONING = "the model's reasoning, which is never recorded"


@dataclass
class Continuation:
    """The entries in order, and what is missing, each with how often."""

    entries: list[CarriedEntry]
    missing: Counter[str] = field(default_factory=Counter)

    def not_carried(self) -> list[str]:
        counted = [plural(count, what) for what, count in sorted(self.missing.items())]
        return [*counted, REASONING]

    def counts(self) -> dict[str, int]:
        calls = [entry.call for entry in self.entries if entry.call is not None]
        return {
            "messages": len(self.entries) - len(calls),
            "calls": len(calls),
            "calls_as_text": sum(call.command is None for call in calls),
        }


def build_continuation(store: Store, row: SessionRow, handover: str, now: int) -> Continuation:
    """The conversation of a session and of those it was forked from, with the handover on top."""
    built = Continuation([])
    found = list(_entries(_events(store, row, built.missing), built.missing))
    room = MAX_CHARACTERS
    for entry in reversed(found):
        room -= len(entry.text) + (len(entry.call.output) + len(entry.call.text) if entry.call else 0)
        if room < 0:
            break
        built.entries.append(entry)
    built.entries.reverse()
    if earlier := len(found) - len(built.entries):
        built.missing["earlier message or call"] += earlier
    begin = built.entries[0].at if built.entries else now
    built.entries.insert(0, CarriedEntry("user", handover, begin, row.head))
    return built


def _events(store: Store, row: SessionRow, missing: Counter[str]) -> Iterator[Event]:
    """The events that count, oldest first: not rewound, not forgotten, not in quarantine."""
    for member, position in reversed(lineage(store.sessions, row, row.head)):
        for low, high in effective_ranges(store.db, member.n, position):
            events = [
                event for event in store.log.slice(member.n, member.id, low, high) if event.kind in KINDS
            ]
            visible = store.quarantine_view.events(member.n, events)
            missing["event in quarantine"] += len(events) - len(visible)
            for event in visible:
                if event.payload is None:
                    missing["forgotten event"] += 1
                else:
                    yield event
    for name in [name for name, count in missing.items() if not count]:
        del missing[name]


def _entries(events: Iterable[Event], missing: Counter[str]) -> Iterator[CarriedEntry]:
    for event in events:
        if event.kind == "action":
            if event.payload.agent_id is not None:
                missing["call of a subagent"] += 1
                continue
            yield CarriedEntry("assistant", "", event.at, event.seq, _call(event, event.payload, missing))
        elif (text := _text(event)) is not None:
            role, said = text
            yield CarriedEntry(role, said, event.at, event.seq)  # type: ignore[arg-type]


def _text(event: Event) -> tuple[str, str] | None:
    """Who said what; None if it says nothing."""
    payload = event.payload
    if event.kind == "prompt":
        return "user", payload.text if event.trust == USER else quote(payload.text, MAX_OUTPUT)
    if event.kind == "message":
        return "assistant", _own_words(event, payload.text)
    if event.kind == "plan":
        return ("assistant", f"Plan: {_own_words(event, payload.text)}") if payload.text else None
    if payload.form is not None:  # a decision of the user
        about = payload.question or payload.about
        said = payload.what if event.trust == USER else quote(payload.what, MAX_OUTPUT)
        return "user", f"{quote(about, 300)}: {said}" if about else said
    reason = f", because {_own_words(event, payload.why)}" if payload.why else ""
    return "assistant", f"Decided: {_own_words(event, payload.what)}{reason}"


def _own_words(event: Event, text: str) -> str:
    """The agent's words, quoted if they come from something that is not trusted."""
    return quote(text, MAX_OUTPUT) if event.trust in UNTRUSTED else text


def _call(event: Event, action: Action, missing: Counter[str]) -> CarriedCall:
    output = _output(action)
    if len(output) > MAX_OUTPUT or (action.output is None and action.output_summary):
        missing["shortened output"] += 1
    command = shell_command(action.input)
    what = f"Called {plain_name(action.tool)}"
    if target := target_of(action.input):
        what += f" on {quote(target, 300)}"
    ended = "" if action.outcome == "ok" else f"{action.outcome}: "
    return CarriedCall(
        id=hashlib.sha256(f"{event.session}:{event.seq}".encode()).hexdigest()[:24],
        command=command[:MAX_COMMAND] if command else None,
        text=f"{what}: {action.outcome}.",
        output=f"{ended}{quote(output, MAX_OUTPUT)}" if output else ended.rstrip(": "),
        failed=action.outcome != "ok",
    )


def _output(action: Action) -> str:
    found = action.output if action.output is not None else action.error or action.output_summary
    if found is None:
        return ""
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
