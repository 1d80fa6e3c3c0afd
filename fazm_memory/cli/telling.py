"""What was recorded, as people read it: an event on one line, a state as sections.

Nothing here is for programs: texts are cut, digests and hashes are left out, and `--json` has all of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fazm_memory.cli.output import one_line, paint, plural, say, when
from fazm_memory.model.learned import how_completely
from fazm_memory.model.slim import cut

LINE = 200
SHOWN = 10  # entries of a section of the state; the newest
CALLS = ("action", "action.start")
HEAD = ("session", "at", "lifecycle", "turn", "agent", "workspace", "title", "last_at")
TWICE = ("evicted_keys", "quarantined")  # told in another section, or in words of their own


def event_line(row: dict[str, Any]) -> str:
    """What happened, to what, and how it ended: a slim row in words."""
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
    known = (row["kind"], f"Session: {row['kind'].removeprefix('session.')}")  # the kind says as much
    parts = [one for one in (title, target, row["detail"]) if one and one not in known]
    return (kind + (cut(" · ".join(parts), LINE) or "")).rstrip()


def _call(row: dict[str, Any]) -> str:
    call = cut(f"{row['title']} {row['target'] or ''}", 120) or ""
    said = cut(row["detail"], 80)
    retry = f" (retry of {row['retry_of']})" if row["retry_of"] is not None else ""
    if row["outcome"] in (None, "ok"):
        return f"{call}{' → ' + said if said else ''}{retry}"
    return call + paint(f" → {row['outcome']}{': ' + said if said else ''}", "red") + retry


# -- a state ---------------------------------------------------------------------------------------------


def tell_state(state: dict[str, Any], now: int) -> None:
    """The state as sections, each with what it counts and its newest entries."""
    say(paint(state["title"] or "(no title)", "bold"))
    where = f"  {state['workspace']}" if state["workspace"] else ""
    say(f"{state['session']}  {state['lifecycle']}  {state['agent']}{where}")
    last = f", last {when(state['last_at'], now)}" if state["last_at"] else ""
    say(f"after {plural(state['at'], 'event')}, in turn {state['turn']}{last}; trust: {state['trust']}")
    for key, value in state.items():
        if key not in (*HEAD, *TWICE, "trust") and value not in (None, [], {}):
            _section(key, value)
    held = state["quarantined"]
    if held["whole"] or held["seqs"]:
        what = "all of it" if held["whole"] else ", ".join(f"@{seq}" for seq in held["seqs"][:20])
        say(f"\nin quarantine: {what}")


def _section(key: str, value: Any) -> None:
    title = key.replace("_", " ")
    if isinstance(value, dict) and all(isinstance(one, int) for one in value.values()):
        say(f"\n{paint(title, 'dim')}\n  {cut(words(value), LINE)}")
        return
    if isinstance(value, dict):
        lines = [_named(name, one) for name, one in value.items()]
    else:
        lines = [ENTRIES.get(key, entry_words)(one) for one in value]
    say(f"\n{paint(f'{title} ({len(lines):,})', 'dim')}")
    for line in lines[-SHOWN:]:
        say(f"  {cut(line, LINE)}")
    if len(lines) > SHOWN:
        say(paint(f"  and {len(lines) - SHOWN:,} more: --json has them", "dim"))


def _named(name: str, value: Any) -> str:
    if not isinstance(value, dict) or "value" not in value:
        return f"{name}: {words(value)}"
    rest = {key: one for key, one in value.items() if key not in ("value", "key")}
    return f"{name} = {words(value['value'])}{_aside(rest)}"


def place_of(entry: dict[str, Any]) -> str:
    """A position, with whose it is when a fork has it from its parent."""
    return f"@{entry['seq']}" + (f" of {entry['session'][:8]}" if entry.get("session") else "")


def file_words(entry: dict[str, Any]) -> str:
    came = f" (from {entry['from']})" if entry["from"] else ""
    of = f", in {entry['session'][:8]}" if entry.get("session") else ""
    return f"{entry['change']} {entry['path']}{came} by {entry['by']}{of}{followed_words(entry)}"


def followed_words(entry: dict[str, Any]) -> str:
    """What a change to a file followed, if that is of doubtful origin."""
    return f", after @{entry['doubted_by']} of doubtful origin" if "doubted_by" in entry else ""


def doubted_words(entry: dict[str, Any]) -> str:
    """Something of doubtful origin, and what followed it in its turn."""
    said = f"{place_of(entry)} {entry['kind']} {entry['tool'] or ''} {entry['what'] or ''} [{entry['trust']}]"
    led = entry.get("led_to")
    if led is None:
        return said
    done = [plural(led["calls"], "call")] if led["calls"] else []
    if led["changes"]:
        done.append(f"{plural(led['changes'], 'file change')} ({', '.join(led['files'][-3:])})")
    return f"{said}, then {' and '.join(done)} up to @{led['last_seq']}"


def failed_words(entry: dict[str, Any]) -> str:
    mended = f" (mended at @{entry['mended_by']})" if entry["mended_by"] is not None else ""
    error = f": {entry['error']}" if entry["error"] else ""
    call = one_line(f"{entry['tool'] or ''} {entry.get('target') or ''}")
    return f"{place_of(entry)} {call} → {entry['outcome']}{error}{mended}"


def _decided(entry: dict[str, Any]) -> str:
    why = f" — {entry['why']}" if entry["why"] else ""
    instead = f"; not {', '.join(entry['alternatives'])}" if entry.get("alternatives") else ""
    return f"{place_of(entry)} {entry['what']}{why}{instead}"


def _convention(entry: dict[str, Any]) -> str:
    example = f", such as {entry['examples'][0][0]} → {entry['examples'][0][1]}" if entry["examples"] else ""
    return f"{entry['folder']}: {entry['pattern']} ({plural(entry['support'], 'file')}{example})"


def _skipped(entry: dict[str, Any]) -> str:
    return f"{entry['folder']}: {entry['rule']} ({', '.join(entry['files'][:5])})"


ENTRIES: dict[str, Callable[[Any], str]] = {
    "requests": lambda one: f"{place_of(one)} {one['text'] or ''}",
    "files_modified": lambda one: f"{file_words(one)}, @{one['seq']}",
    "decisions_made": _decided,
    "pending_actions": lambda one: f"{one['id']}: {one['what']}",
    "errors": failed_words,
    "untrusted": doubted_words,
    "evicted": lambda one: f"{one['key']}  @{one['seq']}",
    "open_questions": lambda one: f"{one['id']} for the {one['to']}: {one['note']}",
    "conventions": _convention,
    "skipped": _skipped,
    "folders_processed": lambda one: (
        f"{one['folder']}: {how_completely(one['processed'], one['total'], one['listed'])}"
    ),
}


def entry_words(entry: Any) -> str:
    """An entry that has no words of its own yet: its first value, and the others in brackets."""
    if not isinstance(entry, dict):
        return words(entry)
    first, *rest = [(key, one) for key, one in entry.items() if one not in (None, [], {})] or [("", "")]
    return words(first[1]) + _aside(dict(rest))


def _aside(rest: dict[str, Any]) -> str:
    told = [f"{key.replace('_', ' ')} {words(one)}" for key, one in rest.items() if one not in (None, [], {})]
    return f" ({', '.join(told)})" if told else ""


def words(value: Any) -> str:
    """A value without the marks of a programming language where that can be; else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "nothing"}[value]
    if isinstance(value, list) and all(isinstance(one, (str, int, float)) for one in value):
        return ", ".join(map(str, value))
    if isinstance(value, dict) and all(isinstance(one, (str, int, float)) for one in value.values()):
        return ", ".join(f"{str(key).replace('_', ' ')} {words(one)}" for key, one in value.items())
    return json.dumps(value, ensure_ascii=False)
