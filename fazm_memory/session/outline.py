"""The rows of a session that a reader wants: in time order, without housekeeping, with runs folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import groupby
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
SHORTEST_RUN = 4  # events; fewer are as quickly read as their label
LIST_WITHIN = 6  # positions after a call in which the list that it wrote is recorded
LATE = 1_000_000  # microseconds by which an event precedes an earlier recorded one


@dataclass(frozen=True)
class OutlineRow:
    """One event, or a run of similar events with a label. `late`: recorded after a later event."""

    seqs: tuple[int, ...]
    at: int
    tool: str | None = None
    label: str | None = None
    detail: str | None = None
    late: bool = False


def outline_rows(events: Sequence[Event]) -> list[OutlineRow]:
    """The rows of a session. `events` are all of its events by position."""
    ended = {e.payload.call_id for e in events if e.kind == "action" and e.payload is not None}
    shown = [event for event in events if not _is_housekeeping(event, events, ended)]
    late = _late(shown)
    shown = _without_repeats(sorted(shown, key=lambda event: (event.seq > 0, event.at, event.seq)))
    rows: list[OutlineRow] = []
    for run, group in groupby(shown, key=_run_of):
        members = list(group)
        if run is None or len(members) < SHORTEST_RUN:
            rows += [OutlineRow((e.seq,), e.at, late=e.seq in late) for e in members]
        else:
            label, detail = _label(run, members)
            seqs = tuple(event.seq for event in members)
            rows.append(OutlineRow(seqs, members[0].at, members[0].payload.tool, label, detail))
    return rows


def _is_housekeeping(event: Event, events: Sequence[Event], ended: Set[str | None]) -> bool:
    """Whether an event is shown with another one. `ended` are the calls that ended."""
    if event.kind in HOUSEKEEPING:
        return True
    if event.kind == "file":
        return call_position(event) is not None  # shown with its call
    p = event.payload
    if event.kind == "action.start" and p is not None:
        return p.call_id is not None and p.call_id in ended
    if event.kind == "action" and p is not None and p.tool in LISTS and p.outcome not in FAILED:
        following = events[event.seq + 1 : event.seq + 1 + LIST_WITHIN]
        return any(later.kind == "todos" for later in following)
    return False


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
    """Leave out a branch that is the same as before, and a list of steps that was replaced at once."""
    kept: list[Event] = []
    branch: str | None = None
    for event in events:
        if event.kind == "branch" and event.payload is not None:
            if event.payload.name == branch:
                continue
            branch = event.payload.name
        if event.kind == "todos" and kept and kept[-1].kind == "todos":
            kept.pop()
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
