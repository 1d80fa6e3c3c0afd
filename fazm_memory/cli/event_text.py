"""Events and states as text for people.

Long texts are cut. `--json` has everything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from fazm_memory.cli.output import echo, format_time, paint, plural, single_line
from fazm_memory.text import shorten

LINE = 200
SHOWN = 10  # newest entries per section
CALLS = ("action", "action.start")
HEAD = ("session", "at", "lifecycle", "turn", "agent", "workspace", "title", "last_at")
SHOWN_ELSEWHERE = ("evicted_keys", "quarantined", "state_hash")


def event_line(row: dict[str, Any]) -> str:
    """One line for an event summary: what happened, to what, with which outcome."""
    kind = f"{row['kind']:<14} "
    if row.get("quarantined"):
        return f"{kind}(quarantined)"
    if "forgotten" in row["marks"] and row["kind"] != "forgotten":
        return f"{kind}(forgotten)"
    if row["kind"] in CALLS:
        return kind + _call(row)
    title, target = row["title"], row["target"]
    if row["kind"] == "file":
        title, target = f"{title.split(' ')[0]} {target}", None
    redundant = (
        row["kind"],
        f"Session: {row['kind'].removeprefix('session.')}",
    )  # titles that only repeat the kind
    parts = [part for part in (title, target, row["detail"]) if part and part not in redundant]
    return (kind + (shorten(" · ".join(parts), LINE) or "")).rstrip()


def _call(row: dict[str, Any]) -> str:
    call = shorten(f"{row['title']} {row['target'] or ''}", 120) or ""
    detail = shorten(row["detail"], 80)
    retry = f" (retry of {row['retry_of']})" if row["retry_of"] is not None else ""
    if row["outcome"] in (None, "ok"):
        return f"{call}{' → ' + detail if detail else ''}{retry}"
    return call + paint(f" → {row['outcome']}{': ' + detail if detail else ''}", "red") + retry


def session_state_text(session: Mapping[str, Any]) -> str:
    """The state of a session in a word or two: new, active, silent, closed (exit).

    "Open" is what is left to do, here as on the page.
    """
    ended, lifecycle = session["ended"], str(session["lifecycle"])
    if lifecycle == "open" and ended is None:
        return "new"
    if ended is None or ended == lifecycle:
        return lifecycle
    return "silent" if ended.startswith("silent") else f"{lifecycle} ({ended})"


def print_state(state: dict[str, Any], now: int, lifecycle: str | None = None) -> None:
    """Print the state as sections, each with its newest entries.

    `lifecycle` is printed in place of the state's own, which cannot say "silent".
    """
    echo(paint(single_line(state["title"] or "(no title)"), "bold"))
    where = f"  {single_line(state['workspace'])}" if state["workspace"] else ""
    echo(f"{state['session']}  {lifecycle or state['lifecycle']}  {single_line(state['agent'])}{where}")
    last = f", last {format_time(state['last_at'], now)}" if state["last_at"] else ""
    echo(f"after {plural(state['at'], 'event')}, in turn {state['turn']}{last}; trust: {state['trust']}")
    for key, value in state.items():
        if key not in (*HEAD, *SHOWN_ELSEWHERE, "trust") and value not in (None, [], {}):
            _section(key, value)
    quarantine = state["quarantined"]
    if quarantine["whole"] or quarantine["seqs"]:
        events = ", ".join(f"@{seq}" for seq in quarantine["seqs"][:20])
        what = "the whole session" if quarantine["whole"] else events
        echo(f"\nin quarantine: {what}")


def _section(key: str, value: Any) -> None:
    title = key.replace("_", " ")
    if key in SINGLE or isinstance(value, str):
        echo(f"\n{paint(title, 'dim')}\n  {shorten(SINGLE.get(key, str)(value), LINE)}")
        return
    if isinstance(value, dict) and all(isinstance(count, int) for count in value.values()):
        echo(f"\n{paint(title, 'dim')}\n  {shorten(value_text(value), LINE)}")
        return
    if isinstance(value, dict):
        lines = [_named(name, entry) for name, entry in value.items()]
    else:
        lines = [_listed(key, entry) for entry in value]
    echo(f"\n{paint(f'{title} ({len(lines):,})', 'dim')}")
    for line in lines[-SHOWN:]:
        echo(f"  {shorten(line, LINE)}")
    if len(lines) > SHOWN:
        echo(paint(f"  and {len(lines) - SHOWN:,} more (see --json)", "dim"))


def _listed(key: str, entry: Any) -> str:
    if key in WORDS:
        return f"{position_text(entry)} {WORDS[key](entry)}"
    return ENTRIES.get(key, entry_text)(entry)


def _named(name: str, value: Any) -> str:
    if not isinstance(value, dict) or "value" not in value:
        return f"{name}: {value_text(value)}"
    rest = {key: part for key, part in value.items() if key not in ("value", "key")}
    return f"{name} = {value_text(value['value'])}{_aside(rest)}"


def position_text(entry: dict[str, Any]) -> str:
    """A position, with the parent session if a fork inherited it."""
    return f"@{entry['seq']}" + (f" of {entry['session'][:8]}" if entry.get("session") else "")


def file_change_text(entry: dict[str, Any]) -> str:
    origin = f" (from {entry['from']})" if entry["from"] else ""
    of = f", in {entry['session'][:8]}" if entry.get("session") else ""
    return f"{entry['change']} {entry['path']}{origin} by {entry['by']}{of}{untrusted_cause_text(entry)}"


def untrusted_cause_text(entry: Mapping[str, Any]) -> str:
    """The untrusted event that a file change followed, if any."""
    return f", after @{entry['doubted_by']} from an untrusted source" if "doubted_by" in entry else ""


def untrusted_text(entry: dict[str, Any]) -> str:
    """An untrusted event and what followed it in its turn."""
    what = f"{entry['kind']} {entry['tool'] or ''} {entry['what'] or ''}"
    text = f"{position_text(entry)} {what} [{entry['trust']}]"
    led = entry.get("led_to")
    if led is None:
        return text
    effects = [plural(led["calls"], "call")] if led["calls"] else []
    if led["changes"]:
        effects.append(f"{plural(led['changes'], 'file change')} ({', '.join(led['files'][-3:])})")
    return f"{text}, then {' and '.join(effects)} up to @{led['last_seq']}"


def failed_call_text(entry: dict[str, Any]) -> str:
    """A failed call. What resolved it stands before the long texts, which are cut."""
    resolved = f" (resolved at @{entry['mended_by']})" if entry["mended_by"] is not None else ""
    error = f": {entry['error']}" if entry["error"] else ""
    call = single_line(f"{entry['tool'] or ''} {entry.get('target') or ''}")
    return f"{position_text(entry)}{resolved} {call} → {entry['outcome']}{error}"


def decision_text(entry: dict[str, Any]) -> str:
    """A decision, the question or call it is about, and what became of it."""
    about = entry.get("question") or entry.get("about")
    lead = f"{entry['form']}: " if entry.get("form") else ""
    chosen = f" ({'; '.join(entry['chosen'])})" if entry.get("chosen") else ""
    why = f" — {entry['why']}" if entry["why"] else ""
    if entry.get("instead_of"):
        because = f", because {entry['why']}" if entry["why"] else ""
        why = f", instead of {entry['instead_of']['what']}{because}"
    instead = f"; not {', '.join(entry['alternatives'])}" if not about and entry.get("alternatives") else ""
    later = f"(superseded at @{entry['superseded_by']}) " if entry.get("superseded_by") is not None else ""
    asked = f"{about} → " if about else ""
    return f"{later}{lead}{asked}{entry['what']}{chosen}{why}{instead}"


def plan_text(plan: dict[str, Any]) -> str:
    """A plan on one line."""
    return f"{plan['title'] or '(no title)'} ({plan['status']})"


def pending_text(action: dict[str, Any]) -> str:
    """An open item. Only one that is closed by its id has that in front."""
    of_list = action["id"].startswith("todo:")
    return action["what"] or "" if of_list else f"{action['id']}: {action['what']}"


def next_text(step: dict[str, Any]) -> str:
    """What comes next, and who says so."""
    told = {"request": "you asked", "todo": "step", "agent": "the agent proposed"}.get(
        step["from"], step["from"]
    )
    return f"{told}, {step['status'].replace('_', ' ')}: {step['what']}"


def asked_text(question: dict[str, Any]) -> str:
    """What the agent asked, and whether the user went on without an answer."""
    return f"{question['text']}{' (passed over)' if question['status'] == 'passed_over' else ''}"


def steps_text(todos: list[dict[str, Any]]) -> str:
    """How far a list of steps is."""
    done = sum(todo["status"] == "completed" for todo in todos)
    return f"{done} of {plural(len(todos), 'step')} done"


def source_text(entry: dict[str, Any]) -> str:
    """A data source and how often it was read and written."""
    uses = [f"{word} {_times(entry[word])}" for word in ("read", "written") if entry[word]]
    place = f" ({entry['place']})" if entry["place"] and entry["place"] != entry["name"] else ""
    return f"{entry['kind']} {entry['name']}{place}: {', '.join(uses)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def budget_lines(budget: dict[str, Any]) -> list[str]:
    """What was spent, and for each limit what remains."""
    if not budget:
        return []
    limits, spent, left = budget["limits"], budget["spent"], budget["remaining"]
    lines = [f"{what}: {spent[what]:,} spent" for what in spent if what not in limits and spent[what]]
    for what, limit in limits.items():
        rest = f"exceeded by {-left[what]:,}" if what in budget["exceeded"] else f"{left[what]:,} remain"
        lines.append(f"{what}: {spent[what]:,} of {limit:,} spent, {rest}")
    return lines


def commit_text(entry: dict[str, Any]) -> str:
    """A commit on one line."""
    where = f" on {entry['branch']}" if entry["branch"] else ""
    pushed = ", pushed" if entry["pushed"] else ""
    return f"{entry['hash'] or '(hash not known)'} {entry['subject']}{where}{pushed}"


def pull_request_text(entry: dict[str, Any]) -> str:
    """A pull request on one line."""
    parts = (f"#{entry['number']}", entry.get("title"), entry.get("state"), entry.get("url"))
    return " ".join(part for part in parts if part)


def _convention(entry: dict[str, Any]) -> str:
    example = f", such as {entry['examples'][0][0]} → {entry['examples'][0][1]}" if entry["examples"] else ""
    return f"{entry['folder']}: {entry['pattern']} ({plural(entry['support'], 'file')}{example})"


def _folder(entry: Mapping[str, Any]) -> str:
    from fazm_memory.session import folder_progress_text  # loads the naming engine

    return f"{entry['folder']}: {folder_progress_text(entry['processed'], entry['total'], entry['listed'])}"


def _skipped(entry: dict[str, Any]) -> str:
    return f"{entry['folder']}: {entry['rule']} ({', '.join(entry['files'][:5])})"


SINGLE: dict[str, Callable[[Any], str]] = {
    "goal": lambda goal: f"{position_text(goal)} {goal['text'] or ''}",
    "plan": lambda plan: f"{position_text(plan)} {plan_text(plan)}",
}
# Entries in words, without their position.
WORDS: dict[str, Callable[[Any], str]] = {
    "requests": lambda entry: entry["text"] or "",
    "decisions_made": decision_text,
    "questions": lambda entry: asked_text(entry),
    "branches": lambda entry: entry["name"],
    "commits": commit_text,
    "pull_requests": pull_request_text,
    "references": lambda entry: f"{entry['kind'].replace('_', ' ')} {entry['name']}",
    "checks": lambda entry: f"{entry['kind']} {entry['outcome']}: {entry['command']}",
    "notes": lambda entry: entry["path"],
    "data_sources": source_text,
}
ENTRIES: dict[str, Callable[[Any], str]] = {
    "files_modified": lambda entry: f"{file_change_text(entry)}, @{entry['seq']}",
    "todos": lambda entry: f"{entry['status']}: {entry['text']}",
    "next": lambda entry: next_text(entry),
    "pending_actions": lambda entry: pending_text(entry),
    "errors": failed_call_text,
    "artifacts": lambda entry: f"{entry['name']}: {entry['done']} of {entry['total']} done, @{entry['seq']}",
    "retries": lambda entry: (
        f"@{entry['retry_of']} → @{entry['seq']} {entry['tool']} {entry['target']}:"
        f" {entry['before'] or 'unknown'}, then {entry['outcome']}"
    ),
    "untrusted": untrusted_text,
    "evicted": lambda entry: f"{entry['key']}  @{entry['seq']}",
    "open_questions": lambda entry: f"{entry['id']} for the {entry['to']}: {entry['note']}",
    "conventions": _convention,
    "skipped": _skipped,
    "folders_processed": _folder,
}


def entry_text(entry: Any) -> str:
    """An entry that has no format of its own.

    Its first value, and the others in brackets.
    """
    if not isinstance(entry, dict):
        return value_text(entry)
    first, *rest = [(key, part) for key, part in entry.items() if part not in (None, [], {})] or [("", "")]
    return value_text(first[1]) + _aside(dict(rest))


def _aside(rest: dict[str, Any]) -> str:
    shown = {key: part for key, part in rest.items() if part not in (None, [], {})}
    return f" ({_named_parts(shown)})" if shown else ""


def _named_parts(value: dict[str, Any]) -> str:
    return ", ".join(f"{str(key).replace('_', ' ')} {value_text(part)}" for key, part in value.items())


def value_text(value: Any) -> str:
    """A value as plain text if possible, otherwise as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return ", ".join(map(str, value))
    if isinstance(value, dict) and all(isinstance(part, (str, int, float)) for part in value.values()):
        return _named_parts(value)
    return json.dumps(value, ensure_ascii=False)
