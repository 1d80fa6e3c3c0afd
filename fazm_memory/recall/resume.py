"""Resume a session: with its agent, in another agent, or by the clipboard.

Every surface uses these options, so all of them agree. Nothing is started here.

Another agent that goes on with a session gets the user's words as they are. What tools returned, and all
other text that is not the user's or the agent's own, is quoted. What cannot be carried over is counted.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

# What belongs to writing sessions is used as `agents.X`: it is slow to load, and offers do not need it.
from fazm_memory import agents
from fazm_memory.agents import (
    INVALID_ID_REASON,
    NEW_SESSION_COMMANDS,
    RESUME_COMMANDS,
    is_resumable_id,
    native_resume_command,
    no_command_reason,
    rewound_reason,
)
from fazm_memory.events import UNTRUSTED, Action, Event, target_of
from fazm_memory.recall.quoting import plain_name, quote
from fazm_memory.records import dataclass, field, replace
from fazm_memory.store import SEQ_MASK, SessionRow, Store, effective_ranges, event_id, lineage
from fazm_memory.text import plural, shell_word

MAX_BRIEFING = 20_000  # characters; the length of a command line is limited
FAZM = "fazm"
FAZM_FIRST_MESSAGE = "Please take up this task again.\n\n"

Method = Literal["exact", "briefing", "clipboard"]


@dataclass(frozen=True)
class ResumeOption:
    """One way to resume. `reason` says why no better way is possible."""

    method: Method
    command: str | None = None  # for a shell in `folder`
    folder: str | None = None
    fazm_message: str = ""  # the first message, if Fazm has to open a new window
    reason: str = ""

    @property
    def template(self) -> str:
        """`why` before its reason is filled in, for a translation."""
        return WORDS["fazm" if self.fazm_message else self.method]

    @property
    def why(self) -> str:
        """What happens and why, in the words that every surface uses."""
        return self.template.format(reason=self.reason)


WORDS = {
    "exact": "the agent has this session itself",
    "fazm": "{reason}, so a new one gets the briefing",
    "briefing": "{reason}, so a new session is given the briefing",
    "clipboard": "{reason}, so you paste the briefing into a new session",
}


def resume_options(store: Store, row: SessionRow, briefing: str) -> list[ResumeOption]:
    """The ways to resume a session, best first.

    The last one, the clipboard, always works.

    Whether the agent's program is installed is not checked: an app sees another PATH than a terminal.
    """
    folder = row.workspace if row.workspace is not None and os.path.isdir(row.workspace) else None
    options: list[ResumeOption] = []
    if row.agent == FAZM:
        first = f"{FAZM_FIRST_MESSAGE}{briefing[:MAX_BRIEFING]}"
        options.append(ResumeOption("briefing", None, folder, first, reason="its window is closed"))
        return [*options, ResumeOption("clipboard", folder=folder, reason="Fazm did not answer")]
    why = _why_not_exact(store, row, folder)
    if not why:
        command = native_resume_command(row.agent, row.agent_session_id, None)
        options.append(ResumeOption("exact", command, folder))
    if (new_session := NEW_SESSION_COMMANDS.get(row.agent)) is not None:
        command = new_session.format(text=shlex.quote(briefing[:MAX_BRIEFING].replace("\0", "")))
        options.append(ResumeOption("briefing", command, folder, reason=why))
    return [*options, ResumeOption("clipboard", folder=folder, reason=why)]


def resume_offer(store: Store, row: SessionRow, briefing: str) -> dict[str, Any]:
    """The best option for a terminal on this machine, as JSON: `took` is the method.

    `native` is the agent's own command, also where it cannot be run here; `blocked` says why it cannot.
    """
    options = [option for option in resume_options(store, row, briefing) if not option.fazm_message]
    best = option = options[0]
    if row.agent == FAZM:
        option = replace(best, reason=no_command_reason(FAZM))
    absent = _absent_program(best.command)
    # The agent's own command is right even where its program is missing. A briefing can be pasted anywhere.
    if absent and best.method != "exact":
        option = replace(options[-1], reason=f"{best.reason} and {absent}")
    why = f"{option.why}, but {absent}" if absent and option.method == "exact" else option.why
    command = option.command
    if command is not None and option.folder is not None:
        command = f"cd {shell_word(option.folder)} && {command}"
    native = native_resume_command(row.agent, row.agent_session_id, row.workspace)
    return {
        "session": row.id,
        "briefing": briefing,
        "cwd": option.folder,
        "command": command,
        "native": native,
        "blocked": (best.reason or absent or None) if native else None,
        "took": option.method,
        "why": why,
    }


def _absent_program(command: str | None) -> str:
    """Say that the command's program is not installed.

    Only a process of a terminal has the PATH to know.
    """
    if command is None or "TERM" not in os.environ:
        return ""
    program = shlex.split(command)[0]
    return f"{program} is not installed here" if shutil.which(program) is None else ""


def _why_not_exact(store: Store, row: SessionRow, folder: str | None) -> str:
    """Why the agent itself cannot resume this session. Empty when it can."""
    if row.agent_session_id is None or row.agent not in RESUME_COMMANDS:
        return no_command_reason(row.agent)
    if not is_resumable_id(row.agent_session_id):
        return INVALID_ID_REASON
    if folder is None:
        return (
            f"the folder it worked in is gone ({shell_word(row.workspace) if row.workspace else 'unknown'})"
        )
    if (transcript := _missing_transcript(store, row)) is not None:
        return f"its own record is gone ({shell_word(transcript)})"
    if (position := _rewound_to(store, row)) is not None:
        return rewound_reason(position)
    return ""


def _missing_transcript(store: Store, row: SessionRow) -> str | None:
    """The path of the agent's transcript, if it was read once and no longer exists."""
    rows = store.db.execute(
        "SELECT path FROM cursor WHERE agent=? AND instr(path, ?) > 0", (row.agent, row.agent_session_id)
    ).fetchall()
    paths = [str(path) for (path,) in rows]
    return paths[0] if paths and not any(os.path.exists(path) for path in paths) else None


def _rewound_to(store: Store, row: SessionRow) -> int | None:
    """The position of the last rewind, if the agent has not continued from there.

    The agent's own session would continue with what was rewound.
    """
    rewind = store.db.execute(
        "SELECT seq, target FROM rewind WHERE session=? ORDER BY seq DESC LIMIT 1", (row.n,)
    ).fetchone()
    if rewind is None:
        return None
    latest = store.db.execute(
        "SELECT id FROM event WHERE id >= ? AND id < ? AND kind IN ('prompt', 'message', 'action')"
        " ORDER BY id DESC LIMIT 1",
        (event_id(row.n, 0), event_id(row.n, row.head)),
    ).fetchone()
    last = -1 if latest is None else int(latest[0]) & SEQ_MASK
    counts = any(start <= last < stop for start, stop in effective_ranges(store.db, row.n, row.head))
    return None if last < 0 or counts else int(rewind[1])


# -- in another agent ------------------------------------------------------------------------------------

MAX_CHARACTERS = 160_000  # of the conversation: about 40,000 tokens
MAX_OUTPUT = 1500
MAX_COMMAND = 4000
USER = "user"
KINDS = frozenset({"prompt", "message", "action", "decision", "plan"})
REASONING = "the model's reasoning, which is never recorded"


@dataclass
class Continuation:
    """The entries in order, and what is missing, each with how often."""

    entries: list[agents.CarriedEntry]
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
    """The handover of a session, then its conversation.

    The conversation includes those of the sessions it was forked from.
    """
    built = Continuation([])
    found = list(_entries(_events(store, row, built.missing), built.missing))
    room = MAX_CHARACTERS
    for entry in reversed(found):
        room -= len(entry.text) + (len(entry.call.output) + len(entry.call.text) if entry.call else 0)
        if room < 0:
            break
        built.entries.append(entry)
    built.entries.reverse()
    for entry in found[: len(found) - len(built.entries)]:
        built.missing["earlier message" if entry.call is None else "earlier call"] += 1
    begin = built.entries[0].at if built.entries else now
    built.entries.insert(0, agents.CarriedEntry("user", handover, begin, row.head))
    return built


def _events(store: Store, row: SessionRow, missing: Counter[str]) -> Iterator[Event]:
    """The events that are not rewound, forgotten or in quarantine, oldest first."""
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


def _entries(events: Iterable[Event], missing: Counter[str]) -> Iterator[agents.CarriedEntry]:
    for event in events:
        if event.kind == "action":
            if event.payload.agent_id is not None:
                missing["call of a subagent"] += 1
                continue
            yield agents.CarriedEntry(
                "assistant", "", event.at, event.seq, _call(event, event.payload, missing)
            )
        elif (text := _text(event)) is not None:
            role, said = text
            yield agents.CarriedEntry(role, said, event.at, event.seq)  # type: ignore[arg-type]


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


def _call(event: Event, action: Action, missing: Counter[str]) -> agents.CarriedCall:
    output = _output(action)
    if len(output) > MAX_OUTPUT or (action.output is None and action.output_summary):
        missing["shortened output"] += 1
    command = agents.shell_command(action.input)
    what = f"Called {plain_name(action.tool)}"
    if target := target_of(action.input):
        what += f" on {quote(target, 300)}"
    ended = "" if action.outcome == "ok" else f"{action.outcome}: "
    return agents.CarriedCall(
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
