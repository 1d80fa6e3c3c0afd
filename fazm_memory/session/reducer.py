"""The fold: a SessionState from events, one step for each event.

`fold` copies the state once, applies the events and returns a new value. The cost of a step depends on what
the event changes, not on the size of the session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fazm_memory.events import FAILED, UNTRUSTED, By, Event, causal_position, kinds, lowest_trust, target_of
from fazm_memory.events import event as payloads
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import replace
from fazm_memory.session.calls import (
    is_minor,
    note_failure,
    note_sources,
    resolve,
    resolve_by_success,
    shell_call,
    sources_of_app,
    sources_of_call,
)
from fazm_memory.session.dialogue import (
    add_decision,
    asked_by_tool,
    asked_in_message,
    asks_back,
    note_document,
    read_prompt,
    set_plan,
    title_of,
    waiting_plan,
)
from fazm_memory.session.repository import (
    ALL,
    note_change,
    read_call,
    read_references,
    read_words,
    set_branch,
    settle,
)
from fazm_memory.session.state import (
    BOUNDS,
    INT_KEYED,
    MAX_LISTED_FILES,
    VALUE_BOUND,
    SessionState,
    StateBuilder,
    apply_change,
    bounded_text,
    bounded_value,
    cut,
    from_plain,
    parent_folder,
    take_limits,
    take_time,
    take_usage,
)
from fazm_memory.session.upcoming import (
    complete_last_step,
    is_local_command,
    note_answer,
    note_request,
    note_work,
)

# Kinds through which an untrusted text enters a session: the text itself, and what an agent makes of it.
CAN_BE_POISONED = frozenset({"prompt", "message", "action", "decision", "fact", "pending", "handoff"})
# Tables whose entries have a name and a position.
NAMED_TABLES = (
    "pending_actions", "facts", "questions", "commits", "pull_requests", "references", "checks", "notes",
    "data_sources", "artifacts", "answered",
)  # fmt: skip
MAX_NAMED_FILES = 8  # latest files listed with an untrusted call
MENTIONED = 0.6  # share of the words of an entry that a summary must contain to mention it
WORD = lazy_regex(r"\w{3,}")
LATE = 60 * 1_000_000  # microseconds before what is recorded already
NO_ANSWER = "No response requested."  # what Claude Code writes when a session is resumed
TODO = "todo:"  # begins the name of a pending action that comes from a list of tasks
OPEN_TODO = ("pending", "in_progress")
MAX_TODOS = 100
ITEM_BOUND = 200  # characters of an item or its note
MAX_ITEMS = 100  # of an artifact in the state; the event has them all


def initial_state(session: str) -> SessionState:
    return SessionState(session=session)


def fold(state: SessionState, events: Iterable[Event]) -> SessionState:
    """The state after these events. `fold(fold(s, a), b) == fold(s, a + b)`."""
    builder = StateBuilder(state)
    for event in events:
        _step(builder, event)
    return builder.freeze()


def event_delta(event: Event) -> dict[str, Any]:
    """What this event alone adds to a state: the `delta` of the commit log."""
    if event.kind == "checkpoint":  # it repeats what others added
        return {}
    state = fold(initial_state(event.session), [event])
    delta: dict[str, Any] = {}
    if state.files_modified:
        delta["files_modified"] = [entry.to_json() for entry in state.files_modified.values()]
    for name in ("tools_used", "files_read", "errors", "facts", "decisions_made", "pending_actions"):
        table = getattr(state, name)
        if table:
            delta[name] = list(table)
    return delta


def fork_state(state: SessionState, session: str) -> SessionState:
    """The state in which a fork begins: its parent's, open, with nothing running.

    Entries with a position get negative ones and name the parent, because the fork's own positions begin
    at 0 again.
    """
    b = StateBuilder(interrupt_running(state))
    b.doubts = {}  # who forks takes responsibility for what follows
    for name in INT_KEYED:
        table = b.__dict__[name]
        b.__dict__[name] = {seq - b.at: {"session": b.session} | entry for seq, entry in table.items()}
    for name in NAMED_TABLES:
        table = b.__dict__[name]
        b.__dict__[name] = {key: {"session": b.session} | entry for key, entry in table.items()}
    b.files_modified = {
        path: replace(
            entry,
            session=entry.session or b.session,
            changed_by=tuple(replace(one, session=one.session or b.session) for one in entry.changed_by),
        )
        for path, entry in b.files_modified.items()
    }
    b.turn_starts = {}
    for name in ("goal", "plan", "asking", "passed_over", "unanswered", "proposed"):
        if (entry := b.__dict__[name]) is not None:
            b.__dict__[name] = {"session": b.session} | entry
    b.session, b.at, b.lifecycle, b.ending = session, 0, "open", None
    return b.freeze()


def interrupt_running(state: SessionState) -> SessionState:
    """The state with all running calls interrupted."""
    if not state.running:
        return state
    b = StateBuilder(state)
    for call, entry in state.running.items():
        error = {"seq": entry["seq"], "tool": entry["tool"], "outcome": "interrupted"}
        why = bounded_text(f"call {call} never finished")
        b.put("errors", entry["seq"], error | {"error": why, "mended_by": None})
    b.running = {}
    return b.freeze()


def _step(b: StateBuilder, event: Event) -> None:
    b.at = event.seq + 1
    if event.turn > b.turn:
        b.turn = event.turn
        b.put("turn_starts", event.turn, event.seq)
        _end_untrusted_spans(b, event)
    if event.kind not in kinds.MAINTENANCE_KINDS:
        b.last_at = max(b.last_at, event.at)
    # The log refuses a wrong transition before it is written. Imported records may still contain one.
    b.lifecycle = kinds.after_event(b.lifecycle, event.kind) or b.lifecycle
    if event.kind == "rewind":  # work goes on there, even if the session was paused at that position
        b.lifecycle = "active"
    if event.kind not in kinds.MAINTENANCE_KINDS:
        take_time(b.budget, event, b.lifecycle)
    if event.payload is None:
        b.count("forgotten")
        if event.kind == "action" and event.trust in UNTRUSTED:
            _begin_untrusted_span(b, event, event.seq)
        return
    b.trust = lowest_trust((b.trust, event.trust))
    if event.trust in UNTRUSTED and event.kind in CAN_BE_POISONED:
        _add_untrusted(b, event)
    handler = HANDLERS.get(event.kind)
    if handler is not None:
        handler(b, event, event.payload)


# -- sessions, requests, statements ----------------------------------------------------------------------


def _session_open(b: StateBuilder, event: Event, p: payloads.SessionOpen) -> None:
    # The first event of a fork continues its parent's state under a new name.
    b.agent, b.workspace = p.agent, p.workspace or b.workspace
    b.title = bounded_text(p.title) or b.title
    if p.parent is not None and b.lifecycle in ("closed", "archived", "paused"):
        b.lifecycle = "open"
    take_limits(b.budget, p)


def _session_title(b: StateBuilder, event: Event, p: payloads.SessionTitle) -> None:
    b.title = bounded_text(p.title)


def _session_resumed(b: StateBuilder, event: Event, p: Any) -> None:
    b.ending = None


def _session_end(b: StateBuilder, event: Event, p: payloads.LifecycleMove) -> None:
    if event.kind == "session.close":
        b.ending = {"how": kinds.end_of(p.reason), "reason": p.reason, "seq": event.seq, "at": event.at}
    _interrupt(b, event, b.running, "its session ended before it did")


def _is_overtaken(b: StateBuilder, event: Event) -> bool:
    """Whether an event was recorded after a later request.

    That happens when its transcript was read again.
    """
    return any(row["at"] > event.at for row in b.requests.values())


def _prompt(b: StateBuilder, event: Event, p: payloads.Prompt) -> None:
    b.count("prompts")
    if not _is_overtaken(b, event):
        _new_request(b, event, p)
        b.worked_at = max(b.worked_at, event.at)
    read_references(b, event, p.text)
    b.put("requests", event.seq, {
        "seq": event.seq, "at": event.at, "turn": event.turn, "text": bounded_text(p.text),
        "trust": event.trust,
    })  # fmt: skip
    b.title = b.title or title_of(p.text)


def _new_request(b: StateBuilder, event: Event, p: payloads.Prompt) -> None:
    # A new request ends what still runs. Subagents go on by themselves.
    earlier = {
        call: entry
        for call, entry in b.running.items()
        if entry.get("turn", event.turn) < event.turn and "agent_id" not in entry
    }
    _interrupt(b, event, earlier, "the user asked for the next thing before it ended")
    complete_last_step(b)
    read_prompt(b, event, p.text)
    if event.actor == "person":
        read_words(b, event, p.text)
    if not is_local_command(p.text.strip()):
        note_request(b, event, bounded_text(p.text))


def _message(b: StateBuilder, event: Event, p: payloads.Message) -> None:
    if p.text.strip() == NO_ANSWER or event.at < b.worked_at:  # the agent or the user went on after it
        return
    note_answer(b, event, p.text)
    b.asking = asked_in_message(event, p.text)
    if b.asking is not None:
        b.passed_over = None


def _decision(b: StateBuilder, event: Event, p: payloads.Decision) -> None:
    if event.actor == "person":
        _answer_questions(b, event)
        if p.form == "plan" and b.plan is not None and b.plan["status"] == "rejected" and asks_back(p.what):
            b.passed_over = waiting_plan(b, event)
    add_decision(b, event, {
        "what": bounded_text(p.what), "why": bounded_text(p.why),
        "alternatives": [bounded_text(text) for text in p.alternatives[:10]], "form": p.form,
        "question": bounded_text(p.question), "about": bounded_text(p.about), "replaces": p.replaces,
    })  # fmt: skip


def _answer_questions(b: StateBuilder, event: Event) -> None:
    """The user has spoken, or a plan was presented: no earlier question waits."""
    if b.asking is not None and (b.asking["at"] <= event.at or b.asking["form"] == "plan"):
        b.asking = None
    if b.passed_over is not None and b.passed_over["at"] <= event.at:
        b.passed_over = None


def _plan(b: StateBuilder, event: Event, p: payloads.Plan) -> None:
    set_plan(b, event, p.text, p.title, p.status)
    _answer_questions(b, event)
    if event.at < b.worked_at - LATE and b.plan is not None:  # what came of it is recorded before it
        b.plan = b.plan | {"late": True}
        return
    b.progress = None
    if p.status == "presented":
        b.asking = waiting_plan(b, event)
        b.unanswered = None  # the plan is the answer


def _todos(b: StateBuilder, event: Event, p: payloads.Todos) -> None:
    """The whole list at this moment. Its open items are pending actions."""
    for name in [name for name in b.pending_actions if name.startswith(TODO)]:
        del b.pending_actions[name]
    b.todos = []
    for number, item in enumerate(p.items[:MAX_TODOS], 1):
        text = bounded_text(item.text)
        b.todos.append({"text": text, "status": item.status, "seq": event.seq, "at": event.at})
        if item.status in OPEN_TODO:
            name = f"{TODO}{item.id or number}"
            b.put("pending_actions", name, {
                "id": name, "what": text, "seq": event.seq, "trust": event.trust, "status": item.status,
            })  # fmt: skip
    if event.at < b.last_at:
        _complete_late_steps(b, event)


CHECK_STEP = lazy_regex(r"(?:run|re-?run|verify|check|ensure)\b(?!.*\b(?:fix|add|update|write)\b)", re.I)
CHECK_WORDS = {"test": lazy_regex(r"\btests?\b", re.I), "lint": lazy_regex(r"\blint", re.I)}


def _complete_late_steps(b: StateBuilder, event: Event) -> None:
    """Complete the steps of a list that was read again.

    What is recorded before it shows which are done.
    """
    _end_check_steps(b, event)
    if _is_overtaken(b, event):
        complete_last_step(b, said_after=True)


def _end_check_steps(b: StateBuilder, event: Event) -> None:
    """Complete the step that only runs checks, once all have passed.

    Agents often forget to close the last step, "Run lint and tests".
    """
    listed = {todo["text"]: todo["at"] for todo in b.todos}
    for name, entry in list(b.pending_actions.items()):
        words = entry["what"] or ""
        if entry.get("status") != "in_progress" or not CHECK_STEP.match(words) or words not in listed:
            continue
        wanted = {kind for kind, pattern in CHECK_WORDS.items() if pattern.search(words)}
        latest = {run["kind"]: run for run in b.checks.values() if run["at"] >= listed[words]}
        if wanted and all(kind in latest and latest[kind]["outcome"] == "ok" for kind in wanted):
            del b.pending_actions[name]
            b.todos = [
                todo | {"status": "completed", "passed_at": event.seq}
                if todo["text"] == words and todo["status"] == "in_progress"
                else todo
                for todo in b.todos
            ]


def _artifact(b: StateBuilder, event: Event, p: payloads.Artifact) -> None:
    """The latest version of an artifact. The log has the earlier ones."""
    before = b.artifacts.pop(p.name, None)
    if p.removed:
        return
    items = [
        {"id": item.id or str(number), "text": cut(item.text, ITEM_BOUND), "status": item.status}
        | ({} if item.note is None else {"note": cut(item.note, ITEM_BOUND)})
        for number, item in enumerate(p.items[:MAX_ITEMS], 1)
    ]
    done = sum(item.status == "completed" for item in p.items)
    b.put("artifacts", p.name, {
        "name": p.name, "form": p.form, "version": 1 if before is None else before["version"] + 1,
        "done": done, "total": len(p.items), "items": items,
        "text": None if p.text is None else cut(p.text, VALUE_BOUND),
        "seq": event.seq, "at": event.at, "actor": event.actor, "trust": event.trust,
    })  # fmt: skip
    _back_in_context(b, f"artifact:{p.name}")


def _branch(b: StateBuilder, event: Event, p: payloads.Branch) -> None:
    if b.branch not in (None, p.name) and b.uncommitted:  # switched elsewhere, most often after a commit
        settle(b, event, [ALL])
    set_branch(b, event, p.name)


def _fact(b: StateBuilder, event: Event, p: payloads.Fact) -> None:
    entry = {"value": bounded_value(p.value), "seq": event.seq, "trust": event.trust, "actor": event.actor}
    b.put("facts", p.key, entry)
    _back_in_context(b, f"fact:{p.key}")


def _fact_retract(b: StateBuilder, event: Event, p: payloads.FactRetract) -> None:
    b.facts.pop(p.key, None)


def _pending(b: StateBuilder, event: Event, p: payloads.Pending) -> None:
    entry = {"id": p.id, "what": bounded_text(p.what), "seq": event.seq, "trust": event.trust}
    b.put("pending_actions", p.id, entry)
    _back_in_context(b, f"pending:{p.id}")


def _pending_done(b: StateBuilder, event: Event, p: payloads.PendingDone) -> None:
    b.pending_actions.pop(p.id, None)
    _back_in_context(b, f"pending:{p.id}")


def _handoff(b: StateBuilder, event: Event, p: payloads.Handoff) -> None:
    schema = bounded_value(p.answer_schema)
    if isinstance(schema, str):  # too long: cut text is no schema
        schema = {"$comment": f"too long to keep in state: see event {event.seq}"}
    b.put("questions", p.id, {
        "id": p.id, "to": p.to, "note": bounded_text(p.note), "seq": event.seq, "answer_schema": schema,
    })  # fmt: skip


def _handoff_answer(b: StateBuilder, event: Event, p: payloads.HandoffAnswer) -> None:
    question = b.questions.pop(p.id, None)
    if question is None:
        return
    b.put("answered", p.id, {
        "id": p.id, "note": question["note"], "answer": bounded_value(p.answer), "waived": p.waived,
        "by": event.actor, "source": event.source, "at": event.at, "seq": event.seq,
        "asked": question["seq"], **({"asked_in": question["session"]} if "session" in question else {}),
    })  # fmt: skip


def _app(b: StateBuilder, event: Event, p: payloads.AppSpan) -> None:
    spans = b.apps.get(p.app, {"spans": 0})["spans"]
    b.put("apps", p.app, {
        "spans": spans + 1, "title": bounded_text(p.title), "document": bounded_text(p.document),
        "last_seq": event.seq,
    })  # fmt: skip
    note_sources(b, event, sources_of_app(p))


def _usage(b: StateBuilder, event: Event, p: payloads.Usage) -> None:
    take_usage(b.budget, p)


def _checkpoint(b: StateBuilder, event: Event, p: payloads.Checkpoint) -> None:
    # Once earlier payloads are forgotten, only the checkpoint has the state they led to.
    state = from_plain(p.state)
    current = {name: b.__dict__[name] for name in ("session", "at", "last_at", "turn", "lifecycle")}
    trust = lowest_trust((state.trust, event.trust))
    b.__dict__.update(StateBuilder(state).__dict__ | current | {"trust": trust})


def _mark(kind: str) -> Callable[[StateBuilder, Event, Any], None]:
    def apply(b: StateBuilder, event: Event, p: Any) -> None:
        b.count(kind)
        b.put("marks", event.seq, {"seq": event.seq, "kind": kind, "at": event.at})

    return apply


# -- calls -----------------------------------------------------------------------------------------------


def _action_start(b: StateBuilder, event: Event, p: payloads.ActionStart) -> None:
    entry: dict[str, Any] = {
        "tool": p.tool, "seq": event.seq, "at": event.at, "turn": event.turn, "target": target_of(p.input),
    }  # fmt: skip
    if p.agent_id is not None:
        entry["agent_id"] = p.agent_id
    elif event.at >= b.last_at:  # else it is recorded late: it began long ago and never ended
        note_work(b)
        b.asking = asked_by_tool(event, p.tool, p.input)
        b.worked_at = event.at
    b.put("running", p.call_id or f"#{event.seq}", entry)


def _action(b: StateBuilder, event: Event, p: payloads.Action) -> None:
    b.count("actions")
    running = b.running.pop(p.call_id, None)
    began = _undo_interruption(b, p.call_id, event.seq if running is None else running["seq"])
    source = None if event.actor == "person" else _untrusted_source(b, began)
    _add_effect(b, source, event)
    if event.trust in UNTRUSTED:  # its own file changes come from itself
        _begin_untrusted_span(b, event, began)
        source = event.seq
    b.put("tools_used", p.tool, b.tools_used.get(p.tool, 0) + 1)
    if p.agent_id is None:
        b.worked_at = max(b.worked_at, event.at)
        b.asking = None  # the agent went on without an answer, or has one
        note_work(b)
    call = None if p.outcome == "denied" else shell_call(p.tool, p.input, p.outcome, p.output)
    if call is not None:
        read_call(b, event, p, call)
        if call.check_outcome == "ok" and b.pending_actions:
            _end_check_steps(b, event)
    if p.outcome == "denied":
        b.count("denied")
    elif p.outcome in FAILED:
        b.count("failures")
        entry = {
            "seq": event.seq,
            "tool": p.tool,
            "outcome": p.outcome,
            "error": bounded_text(p.error),
            "result": bounded_text(p.output_summary),
            "target": target_of(p.input),
        }
        if p.retry_of is not None:
            entry["retry_of"] = p.retry_of
        if is_minor(p.tool, call, p.outcome, p.error or ""):
            entry["minor"] = True
        b.put("errors", event.seq, entry | {"mended_by": None})
        note_failure(b, event.seq, p, call)
    elif b.unresolved:
        resolve(b, p.retry_of, event.seq)
        resolve_by_success(b, event.seq, p, call)
    _note_retry(b, event, p)
    if p.outcome == "ok":
        note_sources(b, event, sources_of_call(p, call))
    _touch_files(b, event, p.files, evidence=f"{p.tool} call", certain=p.outcome == "ok", doubted_by=source)
    for listing in p.seen:
        _seen(b, event, listing)


def _note_retry(b: StateBuilder, event: Event, p: payloads.Action) -> None:
    if p.retry_of is None:
        return
    failed = b.errors.get(p.retry_of)
    before = "ok" if failed is None and not b.omitted.get("errors") else (failed or {}).get("outcome")
    b.put("retries", event.seq, {
        "seq": event.seq, "retry_of": p.retry_of, "tool": p.tool, "target": target_of(p.input),
        "before": before, "outcome": p.outcome, "result": bounded_text(p.error or p.output_summary),
        "turn": event.turn,
    })  # fmt: skip


def _action_amend(b: StateBuilder, event: Event, p: payloads.ActionAmend) -> None:
    if p.outcome == "interrupted" and p.call_id in b.running:
        b.count("failures")
        _interrupt(b, event, {p.call_id: b.running[p.call_id]}, p.error or "never finished")
    elif p.outcome is not None and p.outcome in FAILED:
        b.count("failures")
        error = {"seq": event.seq, "tool": None, "outcome": p.outcome, "error": bounded_text(p.error)}
        b.put("errors", event.seq, error | {"mended_by": None})
    # Which call this amends is not known here, so it counts from its own position.
    source = _untrusted_source(b, event.seq)
    certain = p.outcome in (None, "ok")
    _touch_files(b, event, p.files, evidence="amended call", certain=certain, doubted_by=source)


def _interrupt(b: StateBuilder, event: Event, calls: dict[str, dict[str, Any]], why: str) -> None:
    for call, entry in list(calls.items()):
        b.count("interrupted")
        b.put("errors", entry["seq"], {
            "seq": entry["seq"],
            "tool": entry["tool"],
            "outcome": "interrupted",
            "error": bounded_text(why),
            "target": entry.get("target", ""),
            "call_id": call,
            "found_at": event.seq,
            "mended_by": None,
        })  # fmt: skip
        b.running.pop(call, None)


def _undo_interruption(b: StateBuilder, call: str | None, began: int) -> int:
    """Remove the interruption of a call that finished after all.

    Returns where the call began.
    """
    if call is None or not b.counts.get("interrupted"):
        return began
    for seq in [seq for seq, entry in b.errors.items() if entry.get("call_id") == call]:
        del b.errors[seq]
        b.count("interrupted", -1)
        began = min(began, seq)
    return began


# -- files -----------------------------------------------------------------------------------------------


def _touch_files(
    b: StateBuilder,
    event: Event,
    files: tuple[payloads.FileTouch, ...],
    *,
    evidence: str,
    certain: bool,
    doubted_by: int | None,
) -> None:
    by: By = "person" if event.actor == "person" else "agent"
    for touch in files:
        why = "" if certain and not touch.inferred else f", inferred{': ' + touch.why if touch.why else ''}"
        if touch.change == "read":
            b.put("files_read", touch.path, event.seq)
            _visit_folder(b, touch.path, "read", event)
        else:
            _change_file(b, event, touch.path, touch.change, touch.origin, by, evidence + why, doubted_by)


def _file(b: StateBuilder, event: Event, p: payloads.FileChange) -> None:
    source = _untrusted_source(b, causal_position(event))
    _change_file(b, event, p.path, p.change, p.origin, p.by, p.evidence or "seen on disk", source)


def _change_file(
    b: StateBuilder,
    event: Event,
    path: str,
    change: Any,
    origin: str | None,
    by: By,
    evidence: str,
    doubted_by: int | None,
) -> None:
    b.count("files_modified")
    if by == "agent":
        b.passed_over = None
    source = doubted_by if by == "agent" else None
    if change == "created" and path not in b.files_modified and _was_there(b, path):
        change = "modified"
    before = b.files_modified.get(path)
    apply_change(
        b.files_modified, path, change, origin=origin, by=by, evidence=bounded_text(evidence) or "",
        seq=event.seq, doubted_by=source, turn=_turn_of(b, event),
    )  # fmt: skip
    _add_effect(b, source, event, path)
    b.trim("files_modified")
    note_change(b, event, path, change, origin, before)
    note_document(b, event, path, change)
    _visit_folder(b, path, change, event)
    if change == "renamed" and origin is not None and parent_folder(origin) != parent_folder(path):
        _visit_folder(b, origin, "moved_out", event)


def _was_there(b: StateBuilder, path: str) -> bool:
    """Whether the file was there before the change.

    The session had read it, or listed it in its folder.
    """
    if path in b.files_read:
        return True
    folder, _, name = path.rpartition("/")
    listed = b.seen.get(folder)
    return listed is not None and (name in listed["files"] or path in listed["files"])


def _turn_of(b: StateBuilder, event: Event) -> int:
    """The turn of an event, or that of the call that made a change on disk."""
    position = causal_position(event)
    if position == event.seq:
        return event.turn
    turns = [turn for turn, start in b.turn_starts.items() if start <= position]
    # Before the first known turn: the turn before it, unless the table has dropped earlier ones.
    first = min(b.turn_starts, default=event.turn)
    return max(turns) if turns else max(0, first - 1) if len(b.turn_starts) < BOUNDS["turn_starts"] else first


def _visit_folder(b: StateBuilder, path: str, change: str, event: Event) -> None:
    _back_in_context(b, f"file:{path}")
    folder = parent_folder(path)
    entry = b.folders.get(folder, {})
    b.put("folders", folder, entry | {change: entry.get(change, 0) + 1, "last_seq": event.seq})


def _seen(b: StateBuilder, event: Event, p: payloads.FolderListing) -> None:
    known = b.seen.get(p.folder, {"files": [], "total": 0})
    files = list(dict.fromkeys([*known["files"], *p.files]))
    total = max(known["total"], p.total or 0, len(files))
    b.put("seen", p.folder, {"files": files[:MAX_LISTED_FILES], "total": total, "seq": event.seq})


# -- untrusted sources -----------------------------------------------------------------------------------
# A call that returns untrusted text may influence everything until the user speaks again. `doubts` has one
# span for each such call, and `untrusted` lists what may have come from it.


def _add_untrusted(b: StateBuilder, event: Event) -> None:
    p = event.payload
    about = next((text for name in ("what", "key", "note", "text") if (text := getattr(p, name, None))), None)
    b.put("untrusted", event.seq, {
        "seq": event.seq, "kind": event.kind, "trust": event.trust, "actor": event.actor,
        "source": event.source, "digest": event.digest, "tool": getattr(p, "tool", None),
        "what": bounded_text(about or target_of(getattr(p, "input", None))), "turn": event.turn,
        **({"input_hash": p.input_hash} if event.kind == "action" else {}),
    })  # fmt: skip


def _begin_untrusted_span(b: StateBuilder, event: Event, began: int) -> None:
    b.put("doubts", event.seq, {"began": began, "until": None})


def _end_untrusted_spans(b: StateBuilder, event: Event) -> None:
    for seq, entry in b.doubts.items():
        if entry["until"] is None:
            b.doubts[seq] = entry | {"until": event.seq}


def _untrusted_source(b: StateBuilder, position: int) -> int | None:
    """The latest untrusted call that may have led to an event.

    It may be the event's own call.
    """
    for seq in reversed(b.doubts):
        entry = b.doubts[seq]
        began_later = seq < position and (entry["until"] is None or position < entry["until"])
        if position == entry["began"] or began_later:
            return int(seq)
    return None


def _add_effect(b: StateBuilder, source: int | None, event: Event, file: str | None = None) -> None:
    """Add a call or, with `file`, a file change to the effects of an untrusted call."""
    entry = None if source is None else b.untrusted.get(source)
    if entry is None:  # no untrusted source, or the state has dropped it
        return
    known: dict[str, Any] = entry.get("led_to") or {"calls": 0, "changes": 0, "files": []}
    files = known["files"]
    if file is not None:
        name = bounded_text(file)
        files = [*(other for other in files if other != name), name][-MAX_NAMED_FILES:]
    b.untrusted[source] = entry | {
        "led_to": {
            "calls": known["calls"] + (file is None),
            "changes": known["changes"] + (file is not None),
            "files": files,
            "last_seq": event.seq,
        }
    }


# -- what the model's context has lost -------------------------------------------------------------------


def _evicted(b: StateBuilder, event: Event, p: payloads.Evicted) -> None:
    b.count("compactions")
    if p.keys:
        positions = {key: seq for key, seq, _ in _evictable(b)}
        for key in p.keys:
            b.put("evicted_keys", key, positions.get(key, event.seq))
        return
    summary = (p.summary or "").lower()
    words = set(WORD.findall(summary))
    for key, seq, text in _evictable(b):
        if _mentions(summary, words, text.lower()):
            b.evicted_keys.pop(key, None)
        else:
            b.put("evicted_keys", key, seq)


def _back_in_context(b: StateBuilder, key: str) -> None:
    b.evicted_keys.pop(key, None)


def _evictable(b: StateBuilder) -> Iterator[tuple[str, int, str]]:
    """What a context can lose: key, position and text.

    A summary mentions the entry by this text. The most important entries come last, because the table drops
    its first ones.
    """
    for path, file in b.files_modified.items():
        yield f"file:{path}", file.seq, path
    for key, entry in b.facts.items():
        value = entry["value"]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"fact:{key}", entry["seq"], f"{key} {text}"
    for seq, entry in b.decisions_made.items():
        if "session" not in entry:  # the parent of a fork has its own positions
            yield f"decision:{seq}", seq, entry["what"] or ""
    for name, entry in b.artifacts.items():
        words = " ".join(item["text"] or "" for item in entry["items"])
        yield f"artifact:{name}", entry["seq"], f"{name} {words}"
    for name, entry in b.pending_actions.items():
        yield f"pending:{name}", entry["seq"], entry["what"] or ""


def _mentions(summary: str, words: set[str], text: str) -> bool:
    """Whether a summary has the name of a file, or most of the words of anything else."""
    if not summary:
        return False
    if text.startswith(("/", "~")):
        return text.rstrip("/").rsplit("/", 1)[-1] in summary
    if text and text in summary:
        return True
    wanted = set(WORD.findall(text))
    return bool(wanted) and len(wanted & words) >= MENTIONED * len(wanted)


HANDLERS: dict[str, Callable[[StateBuilder, Event, Any], None]] = {
    "session.open": _session_open,
    "session.title": _session_title,
    "session.close": _session_end,
    "session.resume": _session_resumed,
    "session.archive": _session_end,
    "prompt": _prompt,
    "message": _message,
    "plan": _plan,
    "todos": _todos,
    "branch": _branch,
    "artifact": _artifact,
    "action.start": _action_start,
    "action": _action,
    "action.amend": _action_amend,
    "file": _file,
    "seen": _seen,
    "decision": _decision,
    "fact": _fact,
    "fact.retract": _fact_retract,
    "pending": _pending,
    "pending.done": _pending_done,
    "evicted": _evicted,
    "handoff": _handoff,
    "handoff.answer": _handoff_answer,
    "app": _app,
    "usage": _usage,
    "checkpoint": _checkpoint,
    "gap": _mark("gap"),
    "budget": _mark("budget"),
    "rewind": _mark("rewind"),
    "recovered": _mark("recovered"),
    "quarantine": _mark("quarantine"),
}
