"""The rows of a session that a reader wants.

They are in time order, without housekeeping, with runs folded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import dropwhile, groupby, pairwise
from operator import itemgetter
from typing import Any

from fazm_memory.clock import TimeError, iso, parse_time
from fazm_memory.events import FAILED, UNTRUSTED, Event, call_position, codec, target_of
from fazm_memory.records import dataclass
from fazm_memory.session.calls import command_of, git_verb, only_looks, parts_of, shell_call
from fazm_memory.text import plural, shorten

# An event as JSON, as one row of a list, and as marks on the timeline
#
# Texts in rows are cut. The event itself has the whole text.

MARK_OF_KIND = {
    "rewind": "rewind", "evicted": "compaction", "handoff": "handoff", "handoff.answer": "answer",
    "gap": "gap", "forgotten": "forgotten",
}  # fmt: skip
LANE_OF_KIND = {
    "action": "actions", "decision": "decisions", "handoff": "decisions", "handoff.answer": "decisions",
    "file": "files", "app": "apps", "prompt": "marks", "evicted": "marks", "rewind": "marks",
    "session.open": "marks", "session.pause": "marks", "session.resume": "marks", "session.close": "marks",
    "session.archive": "marks", "session.restore": "marks", "gap": "marks",
}  # fmt: skip

Description = tuple[Any, Any, Any]  # title, detail and target of an event


def summary_row(event: Event) -> dict[str, Any]:
    """The row, with the marks that follow from the event alone."""
    title, detail, target = _describe(event)
    action = event.payload if event.kind == "action" else None
    return {
        "seq": event.seq,
        "at": iso(event.at),
        "ms": event.at // 1000,
        "turn": event.turn,
        "kind": event.kind,
        "actor": event.actor,
        "source": event.source,
        "trust": event.trust,
        "title": shorten(title) or event.kind,
        "detail": shorten(detail),
        "tool": shorten(getattr(event.payload, "tool", None)),
        "target": shorten(target) or None,
        "outcome": getattr(event.payload, "outcome", None),
        "duration_ms": None if action is None else action.duration_ms,
        "retry_of": None if action is None else action.retry_of,
        "changed": _changed(action),
        "marks": _marks(event),
    }


def _changed(action: Any) -> dict[str, int]:
    """How many files a call created, modified, renamed or deleted."""
    changes = [] if action is None else [file.change for file in action.files if file.change != "read"]
    return dict(Counter(changes))


def _marks(event: Event) -> list[str]:
    p = event.payload
    marks = [MARK_OF_KIND[event.kind]] if event.kind in MARK_OF_KIND else []
    if p is None:
        marks.append("forgotten")
    if getattr(p, "retry_of", None) is not None:
        marks.append("retry")
    outcome = getattr(p, "outcome", None)
    if outcome in FAILED:
        marks += ["failed", "interrupted"] if outcome == "interrupted" else ["failed"]
    if event.trust in UNTRUSTED:
        marks.append("untrusted")
    if event.kind == "session.open" and getattr(p, "parent", None):
        marks.append("fork")
    return marks


def _describe(event: Event) -> Description:
    """Title, detail and target."""
    p, kind = event.payload, event.kind
    if p is None:
        return f"{kind}, forgotten", "Its details were forgotten.", None
    if kind in DESCRIPTIONS:
        return DESCRIPTIONS[kind](p)
    if kind.startswith("session."):
        reason = getattr(p, "reason", None) or getattr(p, "title", None)
        return f"Session: {kind.removeprefix('session.')}", reason, None
    text = getattr(p, "text", None) or getattr(p, "what", None) or getattr(p, "note", None)
    return text or kind, getattr(p, "why", None), getattr(p, "id", None)


def _file_changed(p: Any) -> Description:
    came = f"was {p.origin}; " if p.origin else ""
    return f"{p.change} {base_name(p.path)}", f"{came}by {p.by}: {p.evidence or 'seen on disk'}", p.path


def _compacted(p: Any) -> Description:
    dropped = plural(len(p.keys), "key") if p.keys else None
    return "The context was compacted", p.summary or ", ".join(map(str, p.keys[:8])), dropped


def _session_opened(p: Any) -> Description:
    title = f"Branch opened: {p.title or ''}" if p.parent else p.title or "Session opened"
    return title, p.agent, p.workspace


def _decided(p: Any) -> Description:
    if p.form in ("refusal", "plan") and p.about:
        return p.what, f"{'refused' if p.form == 'refusal' else 'plan'}: {p.about}", None
    if p.form is not None:
        return p.what, p.question or p.why, p.about
    return p.what, p.why, None


def _steps(p: Any) -> Description:
    left = [item.text for item in p.items if item.status in ("pending", "in_progress")]
    return f"{_done(p)} of {plural(len(p.items), 'step')} done", "; ".join(left), None


def _artifact(p: Any) -> Description:
    return p.name, "removed" if p.removed else f"{_done(p)} of {plural(len(p.items), 'item')} done", None


def _done(p: Any) -> int:
    return sum(item.status == "completed" for item in p.items)


def _quarantined(p: Any) -> Description:
    many = "the session" if p.whole else plural(len(p.seqs), "event")
    return f"{'Released' if p.released else 'Quarantined'} {many}", p.reason, None


REWOUND = {
    "renamed": "renamed back",
    "modified": "restored",
    "created": "created again",
    "deleted": "deleted",
}


def _rewound(p: Any) -> Description:
    """What a rewind did to files, or where the session goes on if it changed none."""
    counts = Counter(REWOUND[file.change] for file in p.touched if file.change in REWOUND)
    files = ", ".join(f"{plural(count, 'file')} {done}" for done, count in counts.items())
    if p.undoes is not None:
        return f"Rewind undone{files and ': '}{files.replace(' back', '')}", None, None
    return (f"Rewound: {files}" if files else f"Rewound to position {p.to}"), p.reason, None


DESCRIPTIONS: Mapping[str, Callable[[Any], Description]] = {
    "action": lambda p: (p.tool, p.error or p.output_summary, target_of(p.input)),
    "action.start": lambda p: (p.tool, "started", target_of(p.input)),
    "action.amend": lambda p: ("Call amended", p.error or p.output_summary, p.call_id),
    "file": _file_changed,
    "app": lambda p: (p.app, p.title, p.document),
    "seen": lambda p: ("Listed a folder", plural(p.total or len(p.files), "file"), p.folder),
    "evicted": _compacted,
    "handoff": lambda p: (f"Question for {'you' if p.to == 'human' else 'the agent'}", p.note, p.id),
    "handoff.answer": lambda p: (f"Question {'waived' if p.waived else 'answered'}", _plain(p.answer), p.id),
    "rewind": _rewound,
    "gap": lambda p: (f"Not recorded: {p.what}", p.note or f"{p.since} to {p.until}", None),
    "session.open": _session_opened,
    "fact": lambda p: (p.key, _plain(p.value), None),
    "fact.retract": lambda p: (p.key, p.reason or "retracted", None),
    "decision": _decided,
    "plan": lambda p: (f"Plan {p.status}: {p.title}", p.text, None),
    "todos": _steps,
    "artifact": _artifact,
    "budget": lambda p: (f"Limit of {p.what} passed", f"{p.spent:,g} of {p.limit:,g}", None),
    "branch": lambda p: (f"Branch {p.name}", p.head, None),
    "usage": lambda p: ("Tokens", f"{p.input_tokens:,} in, {p.output_tokens:,} out", p.model),
    "quarantine": _quarantined,
    "forgotten": lambda p: (f"{plural(p.count, 'detail')} forgotten", p.reason, None),
}


def _plain(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (Mapping, list, tuple)) else value


def base_name(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1] or path


def lane_marks(event: Event) -> list[tuple[str, dict[str, Any]]]:
    """The lane of an event and its mark.

    An action that changed files has a mark in the file lane too.
    """
    lane = LANE_OF_KIND.get(event.kind)
    if lane is None:
        return []
    title, _, target = _describe(event)
    begin, end = _span(event)
    words = title if target is None or lane in ("files", "marks") else f"{title} {target}"
    drawn = {
        "seq": event.seq, "ms": begin, "end_ms": end, "kind": event.kind,
        "title": shorten(words, 120) or event.kind, "trust": event.trust,
        "outcome": getattr(event.payload, "outcome", None),
    }  # fmt: skip
    marks = [(lane, drawn)]
    if event.kind == "action" and event.payload is not None:
        changed = [touch for touch in event.payload.files if touch.change != "read"]
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            words = f"{changed[0].change} {base_name(changed[0].path)}{more}"
            marks.append(("files", drawn | {"ms": end, "title": shorten(words, 120)}))
    return marks


def _span(event: Event) -> tuple[int, int]:
    """First and last millisecond of an event.

    An action is recorded when it ends; an app span has its own end.
    """
    at, p = event.at // 1000, event.payload
    if event.kind == "action" and p is not None and p.duration_ms:
        return at - p.duration_ms, at
    if event.kind == "app" and p is not None and p.until:
        try:
            return at, max(at, parse_time(p.until) // 1000)
        except TimeError:  # not a time: drawn as a point
            return at, at
    return at, at


ACTION_FIELDS = ("tool", "input_hash", "output_summary", "outcome", "error", "duration_ms", "retry_of")


def event_json(event: Event) -> dict[str, Any]:
    """The event as the CLI, the page and MCP show it.

    An action also has its row of the commit log.
    """
    row: dict[str, Any] = {
        "session": event.session,
        "seq": event.seq,
        "at": iso(event.at),
        "turn": event.turn,
        "kind": event.kind,
        "actor": event.actor,
        "source": event.source,
        "trust": event.trust,
        "payload": None if event.payload is None else codec.encode(event.payload),
        "digest": event.digest,
        "prev": event.prev,
    }
    if event.kind == "action" and event.payload is not None:
        action = event.payload
        row |= {name: getattr(action, name) for name in ACTION_FIELDS}
        from fazm_memory.session.reducer import event_delta  # rows of a list need no reducer

        row["delta"] = event_delta(event)
    if event.payload is None:
        row["forgotten"] = True
    return row


# The rows of a session

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
NOT_RUN = "Sibling tool call errored"  # Claude Code's words for a call beside one that failed
FINISHED = ("completed", "cancelled")
SHORTEST_RUN = 3  # events; fewer are as quickly read as their label
SHORTEST = {"look": 2, "check": 2, "edit": 2}  # for reads and searches, checks that passed, edits of one file
NARRATION = 240  # characters of the longest words before a call that are shown with the call
LIST_WITHIN = 6  # positions after a call in which the list or decision that it led to is recorded
LATE = 1_000_000  # microseconds by which an event precedes an earlier recorded one
SHORTEST_TURN = 3  # rows of a turn that can be collapsed
# Words with which a program that looks things up may do more: `git branch -d`, `find -delete`, `sed -i`.
MAY_CHANGE = frozenset({"branch", "config", "remote", "-delete", "-exec", "-i"})
DETACHED = "HEAD"  # the name of no branch, for example while git rebases
RESUMED_BY_WORK = "seen at work"


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
    branch = _first_branch(shown)
    shown = sorted(
        (event for event in shown if event is not branch),
        key=lambda event: (event.seq > 0, event.at, event.seq),
    )
    if len(shown) > 1 and _is_plain_opening(shown[0]):
        shown = shown[1:]  # the header of the session says agent, folder and branch
    shown = _without_repeats(shown, None if branch is None else branch.payload.name)
    shown, nested = _subagents(shown)
    narration = _narration(shown)
    runs = {event.seq: _run_of(event) for event in shown}
    narration |= _lone_looks(shown, narration, runs)
    rows: list[OutlineRow] = []
    for run, group in groupby(_with_runs(shown, narration, runs), key=itemgetter(0)):
        members = [event for _, event in group]
        calls = [event for event in members if event.seq not in narration]
        if run is not None and len(calls) >= SHORTEST.get(run[0], SHORTEST_RUN):
            label, detail = _label(run, calls)
            seqs = tuple(event.seq for event in members)
            rows.append(OutlineRow(seqs, members[0].at, calls[0].payload.tool, label, detail))
            continue
        said: list[str] = []
        for event in members:
            if event.seq in narration:
                said.append(_words_of(event))
                continue
            if branch is not None and event.seq == 0:
                said.append(f"On branch {branch.payload.name}.")
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
    """The events of the session's own agent, and a row per subagent.

    The row has the call that started the subagent. A subagent belongs to the call that was running when it
    began. Without such a call it stays in the list.
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
    """The call that ran while these events happened.

    It is the one whose end or start is nearest.
    """
    first, last = members[0].at, members[-1].at
    running = [
        call for call in calls
        if call.at - 1000 * (call.payload.duration_ms or 0) <= first
        and last <= call.at + 1000 * (call.payload.duration_ms or 0) + LATE
    ]  # fmt: skip
    return min(running, key=lambda call: abs(call.at - last), default=None)


def _narration(events: Sequence[Event]) -> set[int]:
    """The positions of short words of the agent right before a call.

    The call belongs to the same turn.
    """
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
    if event.kind == "session.resume":
        return p is not None and (p.reason or "").startswith(RESUMED_BY_WORK)  # what was done comes next
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


def _is_plain_opening(event: Event) -> bool:
    return event.kind == "session.open" and event.payload is not None and event.payload.parent is None


def _first_branch(events: Sequence[Event]) -> Event | None:
    """The branch on which a session was opened. It is shown with the opening."""
    after_opening = dropwhile(lambda event: event.kind == "session.open", events)
    first = next(after_opening, None) if events and events[0].kind == "session.open" else None
    return first if first is not None and first.kind == "branch" and first.payload is not None else None


def _without_repeats(events: Sequence[Event], branch: str | None) -> list[Event]:
    """Leave out repeated branches and repeated lists of steps.

    A list is a repeat if its turn takes it further.
    """
    kept: list[Event] = []
    shown: Event | None = None  # the list shown last
    taken_further = _taken_further(events)
    for event in events:
        if event.kind == "branch" and event.payload is not None:
            if event.payload.name in (branch, DETACHED):
                continue
            branch = event.payload.name
        if event.kind == "todos" and event.payload is not None:
            if shown is not None and _same_list(shown, event):
                if event.seq in taken_further or _progress(shown) == _progress(event):
                    continue
                if kept[-1] is shown:
                    kept.pop()
            shown = event
        kept.append(event)
    return kept


def _taken_further(events: Sequence[Event]) -> set[int]:
    """The positions of lists of steps that are followed by a later form in their turn."""
    lists = [event for event in events if event.kind == "todos" and event.payload is not None]
    return {one.seq for one, other in pairwise(lists) if one.turn == other.turn and _same_list(one, other)}


def _same_list(one: Event, other: Event) -> bool:
    """Whether all steps of a list are in the other one."""
    return {item.text for item in one.payload.items} <= {item.text for item in other.payload.items}


def _progress(event: Event) -> tuple[int, int]:
    items = event.payload.items
    return sum(item.status in FINISHED for item in items), len(items)


Run = tuple[str, str]


def _run_of(event: Event) -> Run | None:
    """What makes an event similar to its neighbours.

    Failures and untrusted input are never folded.
    """
    p: Any = event.payload
    if event.kind != "action" or p is None or event.trust in UNTRUSTED - {"web"}:
        return None
    if p.outcome in FAILED and not (p.tool in LOOKS and NOT_RUN in (p.error or "")):
        return None
    if p.tool in EDITS:
        return "edit", target_of(p.input)
    if p.tool in LOOKS or _shell_look(p):
        return "look", ""
    if p.tool in WEB:
        return "web", ""
    if _passed_checks(p):
        return "check", ""
    return None if p.tool in LISTS else (p.tool, target_of(p.input))


def _passed_checks(action: Any) -> tuple[str, ...]:
    """The test, lint and build runs of a call, if all of them passed."""
    call = shell_call(action.tool, action.input, action.outcome, action.output)
    passed = call is not None and call.check_outcome == "ok"
    return tuple(check.command for check in call.checks) if call is not None and passed else ()


def _shell_look(action: Any) -> bool:
    """Whether a shell command only showed something and changed no file."""
    command = command_of(action.tool, action.input)
    changed = any(file.change != "read" for file in action.files)
    if not command or changed:
        return False
    parts = parts_of(command)
    return only_looks(parts) and not any(MAY_CHANGE.intersection(words) for words in parts)


def _look_name(action: Any) -> str:
    """What a look was at: a file or a pattern, or the program of a shell command."""
    command = command_of(action.tool, action.input)
    if not command:
        return target_of(action.input).rsplit("/", 1)[-1]
    words = parts_of(command)[-1 if command.startswith("cd ") else 0]
    return f"git {git_verb(words)[0]}" if words[0] == "git" else words[0]


Runs = Mapping[int, Run | None]


def _lone_looks(events: Sequence[Event], narration: Set[int], runs: Runs) -> set[int]:
    """The positions of single reads and searches.

    Each comes right before another call or an answer of its turn.
    """
    calls = [event for event in events if event.seq not in narration]
    looks = [(run := runs[event.seq]) is not None and run[0] == "look" for event in calls]
    return {
        event.seq
        for nth, (event, after) in enumerate(pairwise(calls))
        if looks[nth]
        and not (nth and looks[nth - 1])
        and not looks[nth + 1]
        and after.kind in ("action", "message")
        and after.turn == event.turn
    }


def _words_of(event: Event) -> str:
    """What the agent said, or what it looked at."""
    if event.kind == "message":
        return " ".join(event.payload.text.split())
    name = _look_name(event.payload)
    return f"({name})" if _shell_look(event.payload) else f"({event.payload.tool} {name})"


def _with_runs(events: Sequence[Event], narration: Set[int], runs: Runs) -> list[tuple[Run | None, Event]]:
    """The events with their runs.

    The words before a call belong to the run of the call.
    """
    found: list[tuple[Run | None, Event]] = []
    for event in reversed(events):
        run = found[-1][0] if event.seq in narration else runs[event.seq]
        found.append((run, event))
    return found[::-1]


def _label(run: Run, members: Sequence[Event]) -> tuple[str, str]:
    """What a run did, and to what."""
    kind, target = run
    count = len(members)
    if kind == "edit":
        return plural(count, "edit"), f"in {target}"
    if kind == "check":
        checks = [check for event in members for check in _passed_checks(event.payload)]
        return f"{len(checks)} checks passed", ", ".join(dict.fromkeys(checks))
    names = dict.fromkeys(_look_name(event.payload) for event in members)
    some = ", ".join(list(names)[:4]) + (", …" if len(names) > 4 else "")
    if kind == "look":
        return f"{count} reads and searches", some
    if kind == "web":
        return plural(count, "web page"), some
    return f"{count} × {kind}", target
