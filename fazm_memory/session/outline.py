"""The rows of a session that a reader wants: in time order, without housekeeping, with runs folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from fazm_memory.events import FAILED, UNTRUSTED, Event, target_of
from fazm_memory.records import dataclass
from fazm_memory.session.consequences import call_position
from fazm_memory.text import plural

# These are shown with the call, the turn or the session they belong to.
HOUSEKEEPING = frozenset({"usage", "seen", "action.amend", "session.title"})
EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch", "edit_file", "write_file",
                   "replace"})  # fmt: skip
LOOKS = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead", "read_file", "grep", "glob",
                   "list_directory", "search_file_content", "ToolSearch"})  # fmt: skip
LISTS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "update_plan", "todowrite"})
WEB = frozenset({"WebFetch", "WebSearch", "web_fetch", "google_web_search"})
DIALOGUE = frozenset({"AskUserQuestion", "ExitPlanMode", "EnterPlanMode"})  # shown as a decision or a plan
SUBAGENT_CALLS = frozenset({"Task", "Agent", "task", "spawn_agent", "delegate_task"})
FINISHED = ("completed", "cancelled")
SHORTEST_RUN = 3  # events; fewer are as quickly read as their label
SHORTEST_LOOK = 2  # reads and searches in a row
NARRATION = 240  # characters of the longest words before a call that are shown with the call
LIST_WITHIN = 6  # positions after a call in which the list or decision that it led to is recorded
LATE = 1_000_000  # microseconds by which an event precedes an earlier recorded one
SHORTEST_TURN = 3  # rows of a turn that can be collapsed


@dataclass(frozen=True)
class OutlineRow:
    """One event, or a run of similar events with a label.

    `late`: recorded after a later event. `said`: what the agent said right before. `inside`: belongs to the
    call in the row before.
    """

    seqs: tuple[int, ...]
    at: int
    tool: str | None = None
    label: str | None = None
    detail: str | None = None
    late: bool = False
    said: str | None = None
    inside: bool = False


@dataclass(frozen=True)
class OutlineTurn:
    """The rows of a turn: its request at `start`, how many follow it, and its result.

    `result` is the position of the agent's last words, None if the turn ended without any.
    """

    start: int
    size: int
    result: int | None
    label: str


def outline_rows(events: Sequence[Event]) -> list[OutlineRow]:
    """The rows of a session. `events` are all of its events by position."""
    ended = {e.payload.call_id for e in events if e.kind == "action" and e.payload is not None}
    shown = [event for event in events if not _is_housekeeping(event, events, ended)]
    late = _late(shown)
    shown = _without_repeats(sorted(shown, key=lambda event: (event.seq > 0, event.at, event.seq)))
    shown, nested = _subagents(shown)
    narration = _narration(shown)
    narration |= _lone_looks(shown, narration)
    rows: list[OutlineRow] = []
    for run, group in groupby(_with_runs(shown, narration), key=itemgetter(0)):
        members = [event for _, event in group]
        calls = [event for event in members if event.seq not in narration]
        if run is not None and len(calls) >= (SHORTEST_LOOK if run[0] == "look" else SHORTEST_RUN):
            label, detail = _label(run, calls)
            seqs = tuple(event.seq for event in members)
            rows.append(OutlineRow(seqs, members[0].at, calls[0].payload.tool, label, detail))
            continue
        said: list[str] = []
        for event in members:
            if event.seq in narration:
                said.append(_words_of(event))
                continue
            words = " ".join(said) or None
            rows.append(OutlineRow((event.seq,), event.at, late=event.seq in late, said=words))
            said = []
            rows += nested.get(event.seq, ())
    return rows


def outline_turns(rows: Sequence[OutlineRow], events: Sequence[Event]) -> list[OutlineTurn]:
    """The turns of the rows: from each request to the next one."""
    starts = [
        nth for nth, row in enumerate(rows) if row.label is None and events[row.seqs[0]].kind == "prompt"
    ]
    turns = []
    for start, end in pairwise([*starts, len(rows)]):
        if end - start - 1 < SHORTEST_TURN:
            continue
        members = [events[seq] for row in rows[start + 1 : end] for seq in row.seqs]
        result = next((row.seqs[0] for row in reversed(rows[start + 1 : end])
                       if row.label is None and events[row.seqs[0]].kind == "message"), None)  # fmt: skip
        turns.append(OutlineTurn(start, end - start - 1, result, _turn_label(members)))
    return turns


def _turn_label(members: Sequence[Event]) -> str:
    calls = [event.payload for event in members if event.kind == "action" and event.payload is not None]
    changed = {file.path for call in calls for file in call.files if file.change != "read"}
    failed = sum(call.outcome in FAILED for call in calls)
    parts = [plural(len(calls), "action"), f"{plural(len(changed), 'file')} changed" if changed else "",
             f"{failed} failed" if failed else ""]  # fmt: skip
    decisions = sum(event.kind == "decision" for event in members)
    return ", ".join(filter(None, [*parts, plural(decisions, "decision") if decisions else ""]))


def _subagents(events: Sequence[Event]) -> tuple[list[Event], dict[int, list[OutlineRow]]]:
    """The events of the session's own agent, and a row for each subagent by the call that started it.

    A subagent belongs to the call that was running when it began. Without such a call it stays in the list.
    """
    by_agent: dict[str, list[Event]] = {}
    for event in events:
        agent = getattr(event.payload, "agent_id", None)
        if agent is not None:
            by_agent.setdefault(agent, []).append(event)
    calls = [e for e in events if e.kind == "action" and e.payload is not None
             and e.payload.tool in SUBAGENT_CALLS and e.payload.agent_id is None]  # fmt: skip
    nested: dict[int, list[OutlineRow]] = {}
    placed: set[int] = set()
    for members in by_agent.values():
        call = _call_of(members, [call for call in calls if call.seq not in nested] or calls)
        if call is None:
            continue
        label = f"{plural(len(members), 'action')} of the subagent"
        names = dict.fromkeys(event.payload.tool for event in members)
        seqs = tuple(event.seq for event in members)
        row = OutlineRow(
            seqs, call.at, members[0].payload.tool, label, ", ".join(list(names)[:6]), inside=True
        )
        nested.setdefault(call.seq, []).append(row)
        placed.update(seqs)
    return [event for event in events if event.seq not in placed], nested


def _call_of(members: Sequence[Event], calls: Sequence[Event]) -> Event | None:
    """The call that ran while these events happened: the one whose end or start is nearest."""
    first, last = members[0].at, members[-1].at
    running = [
        call for call in calls
        if call.at - 1000 * (call.payload.duration_ms or 0) <= first
        and last <= call.at + 1000 * (call.payload.duration_ms or 0) + LATE
    ]  # fmt: skip
    return min(running, key=lambda call: abs(call.at - last), default=None)


def _narration(events: Sequence[Event]) -> set[int]:
    """The positions of short words of the agent with a call of the same turn right after them."""
    found: set[int] = set()
    for event, after in zip(events[::-1][1:], events[::-1], strict=False):
        if event.kind != "message" or event.payload is None or len(event.payload.text) > NARRATION:
            continue
        if after.turn == event.turn and (after.kind == "action" or after.seq in found):
            found.add(event.seq)
    return found


def _is_housekeeping(event: Event, events: Sequence[Event], ended: Set[str | None]) -> bool:
    """Whether an event is shown with another one. `ended` are the calls that ended."""
    if event.kind in HOUSEKEEPING:
        return True
    if event.kind == "file":
        return call_position(event) is not None  # shown with its call
    p = event.payload
    if event.kind == "action.start" and p is not None:
        return p.call_id is not None and p.call_id in ended
    if event.kind == "plan" and p is not None and p.status != "presented":
        return _follows(event, events, "decision")  # the user's own words say more
    if event.kind != "action" or p is None:
        return False
    if p.tool in DIALOGUE:
        return (
            p.tool == "EnterPlanMode"
            or _follows(event, events, "decision")
            or _follows(event, events, "plan")
        )
    return p.tool in LISTS and p.outcome not in FAILED and _follows(event, events, "todos")


def _follows(event: Event, events: Sequence[Event], kind: str) -> bool:
    return any(later.kind == kind for later in events[event.seq + 1 : event.seq + 1 + LIST_WITHIN])


def _late(events: Iterable[Event]) -> set[int]:
    """The positions of events that happened before an event recorded earlier."""
    late: set[int] = set()
    latest = 0
    for event in events:
        if event.at < latest - LATE:
            late.add(event.seq)
        latest = max(latest, event.at)
    return late


def _without_repeats(events: Iterable[Event]) -> list[Event]:
    """Leave out a branch and a list of steps that say what the one before said."""
    kept: list[Event] = []
    branch: str | None = None
    before: tuple[int, int] | None = None
    for event in events:
        if event.kind == "branch" and event.payload is not None:
            if event.payload.name == branch:
                continue
            branch = event.payload.name
        if event.kind == "todos" and event.payload is not None:
            items = event.payload.items
            progress = (sum(item.status in FINISHED for item in items), len(items))
            if kept and kept[-1].kind == "todos":
                kept.pop()
            elif progress == before:
                continue  # another step was begun, none was finished
            before = progress
        kept.append(event)
    return kept


Run = tuple[str, str]


def _run_of(event: Event) -> Run | None:
    """What makes an event similar to its neighbours. Failures and untrusted input are never folded."""
    p: Any = event.payload
    if event.kind != "action" or p is None or p.outcome in FAILED or event.trust in UNTRUSTED - {"web"}:
        return None
    if p.tool in EDITS:
        return "edit", target_of(p.input)
    if p.tool in LOOKS:
        return "look", ""
    if p.tool in WEB:
        return "web", ""
    return None if p.tool in LISTS else (p.tool, target_of(p.input))


def _lone_looks(events: Sequence[Event], narration: Set[int]) -> set[int]:
    """The positions of single reads and searches right before another call of their turn."""
    found: set[int] = set()
    calls = [event for event in events if event.seq not in narration]
    for before, event, after in zip([None, *calls], calls, calls[1:], strict=False):
        if not _is_look(event) or (before is not None and _is_look(before)):
            continue
        if after.kind == "action" and after.turn == event.turn and not _is_look(after):
            found.add(event.seq)
    return found


def _is_look(event: Event) -> bool:
    run = _run_of(event)
    return run is not None and run[0] == "look"


def _words_of(event: Event) -> str:
    """What the agent said, or what it looked at."""
    if event.kind == "message":
        return " ".join(event.payload.text.split())
    return f"({event.payload.tool} {target_of(event.payload.input).rsplit('/', 1)[-1]})"


def _with_runs(events: Sequence[Event], narration: Set[int]) -> list[tuple[Run | None, Event]]:
    """The events with their runs. The words before a call belong to the run of the call."""
    found: list[tuple[Run | None, Event]] = []
    for event in reversed(events):
        run = found[-1][0] if event.seq in narration else _run_of(event)
        found.append((run, event))
    return found[::-1]


def _label(run: Run, members: Sequence[Event]) -> tuple[str, str]:
    """What a run did, and to what."""
    kind, target = run
    count = len(members)
    if kind == "edit":
        return plural(count, "edit"), f"in {target}"
    names = dict.fromkeys(target_of(event.payload.input).rsplit("/", 1)[-1] for event in members)
    some = ", ".join(list(names)[:4]) + (", …" if len(names) > 4 else "")
    if kind == "look":
        return f"{count} reads and searches", some
    if kind == "web":
        return plural(count, "web page"), some
    return f"{count} × {kind}", target
