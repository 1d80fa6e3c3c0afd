"""`diff`, `compare`, `files` and `retries`.

A diff is built as sections of lines, which the terminal and the HTML page both show. Each change has its
cause: the event that made it, and the decision, error or retry before it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.event_text import SINGLE, WORDS, untrusted_cause_text
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import (
    MOMENT,
    echo,
    fit,
    format_time,
    integer,
    paint,
    plural,
    print_json,
    single_line,
    terminal_width,
)
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.records import dataclass

if TYPE_CHECKING:
    from fazm_memory.app import Memory

LINES = 40  # per section; the rest is counted
LONGEST = 200
FILE_CHANGES = 12  # of the history of a file
WHY = ("decision", "error", "retry", "request")
TITLES = {
    "files_modified": "Files",
    "files_read": "Files read",
    "folders": "Folders",
    "apps": "Apps",
    "decisions_made": "Decisions",
    "pending_actions": "Still to do",
    "facts": "Facts",
    "errors": "Errors",
    "evicted_keys": "Removed from the model's context",
    "requests": "Requests",
    "running": "Running calls",
    "open_questions": "Open questions",
    "tools_used": "Tools",
}
SIGNS = {"added": "+", "removed": "-", "changed": "~", "same": "="}
CONTENTS = {"same": ", the same content", "different": ", other content", "unknown": ", content unknown"}
HIDDEN = frozenset({"counts", "omitted", "budget", "turn", "folders", "trust", "agent", "evicted"})
STYLE = (
    "body{font:13px/1.45 -apple-system,system-ui,sans-serif;color-scheme:light dark;max-width:60rem;"
    "margin:16px auto;padding:0 16px}h1{font-size:16px}h2{font-size:13px;margin:16px 0 4px}"
    "li{list-style:none;overflow-wrap:anywhere}ul{padding:0;margin:0}li.added{color:#1a7f37}"
    "li.removed{color:#cf222e}li.error{color:#cf222e}small{opacity:.6}"
)


@dataclass(frozen=True)
class DiffLine:
    """A change or a cause. `mark` is its kind, `at` its position in the log."""

    mark: str
    text: str
    why: str = ""
    at: str = ""


@dataclass(frozen=True)
class DiffSection:
    title: str
    lines: tuple[DiffLine, ...]
    more: int = 0


def headline(diff: Mapping[str, Any]) -> str:
    first, second = diff.get("first"), diff.get("second")
    if first and second:
        return (
            f"{first['session'][:8]} at {first['at']} compared with {second['session'][:8]} at {second['at']}"
        )
    return f"from position {diff['from']} to {diff['to']}"


def sections(diff: Mapping[str, Any]) -> list[DiffSection]:
    """The changes, one section per part of the state, then the causes."""
    causes = [cause for cause in diff["because"] if "seq" in cause]
    result = []
    names = [*TITLES, *(name for part in SIGNS for name in diff.get(part, {}) if name not in TITLES)]
    for name in dict.fromkeys(names):
        lines = [line for part in SIGNS for line in _lines(part, name, diff.get(part, {}).get(name), causes)]
        if lines and name not in HIDDEN:
            title = TITLES.get(name, name.replace("_", " ").capitalize())
            result.append(DiffSection(title, tuple(lines[:LINES]), max(0, len(lines) - LINES)))
    because = [DiffLine(cause["role"], *_cause(cause)) for cause in causes if cause["role"] in WHY]
    rest = sum(cause["role"] not in WHY for cause in causes)
    rest += sum(sum(cause["counts"].values()) for cause in diff["because"] if "counts" in cause)
    if because or rest:
        shown = tuple(because[:LINES])
        result.append(DiffSection("Causes", shown, len(because) - len(shown) + rest))
    return result


def _lines(part: str, name: str, rows: Any, causes: list[dict[str, Any]]) -> Iterator[DiffLine]:
    if not rows:
        return
    if isinstance(rows, Mapping) and set(rows) == {"from", "to"}:
        old, new = (_plain(rows[side]) if not rows[side] else SINGLE.get(name, _plain)(rows[side])
                         for side in ("from", "to"))  # fmt: skip
        yield DiffLine(part, f"{_short(old)} → {_short(new)}")
        return
    pairs = rows.items() if isinstance(rows, Mapping) else ((None, row) for row in rows)
    for key, row in pairs:
        is_pair = part in ("changed", "same") and isinstance(row, Mapping)
        after = row["to"] if is_pair and "to" in row else row
        before = row["from"] if is_pair and "from" in row else None
        text = _entry(name, key, after)
        if part == "same":
            text = f"{text}, the same in both"
        elif before is not None and (was := _entry(name, key, before)) != text:
            text = f"{was} → {text}"
        if name == "files_modified" and "content" in row:
            text += CONTENTS[row["content"]]
        seq = after.get("seq") if isinstance(after, Mapping) else None
        why = _led_to(seq, causes) if part != "removed" and isinstance(seq, int) else ""
        yield DiffLine(part, text, why, "" if seq is None else f"@{seq}")


def _entry(name: str, key: Any, row: Any) -> str:
    """An entry of the state as text."""
    if not isinstance(row, Mapping):
        return _short(row if key is None else f"{key}: {row}")
    if name == "files_modified":
        origin = f" (from {row['from']})" if row.get("from") else ""
        return _short(f"{row['change']} {row['path']}{origin} by {row['by']}{untrusted_cause_text(row)}")
    if name == "errors":
        resolved = f", resolved at {row['mended_by']}" if row.get("mended_by") is not None else ""
        return _short(f"{row.get('tool') or 'a call'} {row['outcome']}: {row.get('error') or ''}{resolved}")
    if name == "facts":
        return _short(f"{key} = {_plain(row.get('value'))}")
    if name == "artifacts":
        return _short(f"{row['name']}: {row['done']} of {row['total']} done")
    if name == "retries":
        return _short(f"{row['tool']} {row['target']}: {row['before'] or 'unknown'}, then {row['outcome']}")
    if name in WORDS and name != "decisions_made":
        return _short(WORDS[name](row))
    keys = ("what", "text", "note", "path", "app", "tool")
    text = next((row[key] for key in keys if row.get(key)), None)
    because = f" because {row['why']}" if row.get("why") else ""
    if replaced := row.get("instead_of"):
        because = f", instead of {replaced['what']}{',' if because else ''}{because}"
    if led := row.get("led_to"):
        because += f", then {plural(led['calls'], 'call')}, {plural(led['changes'], 'file change')}"
    return _short(f"{_plain(dict(row)) if text is None else text}{because}")


def _plain(value: Any) -> str:
    """A value as plain text. Nested values are JSON."""
    if isinstance(value, dict):
        shown = {key: part for key, part in value.items() if part not in (None, "", [], {}) and key != "seq"}
        return ", ".join(f"{key.replace('_', ' ')} {_plain(part)}" for key, part in shown.items())
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return ", ".join(map(str, value))
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _led_to(seq: int, causes: list[dict[str, Any]]) -> str:
    """The cause of a change.

    That is the last decision, error or request before it in its turn.
    """
    own = next((cause for cause in causes if cause["seq"] == seq), None)
    if own is None:
        return ""
    if own["role"] == "retry":
        return f"a retry of @{own['retry_of']}"
    if own["role"] in ("decision", "request", "error"):
        return ""
    if own["kind"] == "file" and not (own.get("why") or "").startswith("by agent"):
        return ""  # not changed by the agent, so no request led to it
    before = [
        cause
        for cause in causes
        if cause["role"] in WHY
        and cause["seq"] < seq
        and cause["turn"] == own["turn"]
        and cause.get("session") == own.get("session")
    ]
    if not before:
        return ""
    last = before[-1]
    return f"after {last['role']} @{last['seq']}: {_short(last.get('what'), 80)}"


def _cause(cause: Mapping[str, Any]) -> tuple[str, str, str]:
    what = _short(" ".join(str(cause[key]) for key in ("what", "target") if cause.get(key)))
    why = _short(cause.get("why") or "")
    if replaced := cause.get("instead_of"):
        what, why = f"{what}, instead of {_short(replaced['what'], 80)}", f"because {why}" if why else ""
    if cause.get("retry_of") is not None:
        why = f"a retry of @{cause['retry_of']}{': ' + why if why else ''}"
    place = f"{cause['session'][:8]} @{cause['seq']}" if cause.get("session") else f"@{cause['seq']}"
    return what, why, place


def _short(value: Any, most: int = LONGEST) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def page(diff: Mapping[str, Any], title: str) -> str:
    """The diff as a self-contained HTML page. All recorded text is escaped."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
        " 'unsafe-inline'\">",
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(headline(diff))}</p>",
    ]
    found = sections(diff)
    for section in found:
        parts.append(f"<section><h2>{escape(section.title)}</h2><ul>")
        for line in section.lines:
            sign = SIGNS.get(line.mark, line.mark)
            why = f" <small>{escape(line.why)}</small>" if line.why else ""
            place = f" <small>{escape(line.at)}</small>" if line.at else ""
            parts.append(
                f'<li class="{escape(line.mark)}">{escape(sign)} {escape(line.text)}{why}{place}</li>'
            )
        if section.more:
            parts.append(f"<li><small>and {section.more:,} more</small></li>")
        parts.append("</ul></section>")
    if not found:
        parts.append("<p>Nothing changed.</p>")
    return "\n".join([*parts, "</body></html>\n"])


COLOURS = {"added": "green", "removed": "red", "changed": "yellow", "error": "red", "decision": "bold"}


def diff_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")
    parser.add_argument("first", metavar="A", help=f"{MOMENT}; or a turn with --turns")
    parser.add_argument("second", metavar="B")
    parser.add_argument("--turns", action="store_true", help="A and B are turns")
    parser.add_argument("--html", action="store_true", help="print an HTML page")


def diff_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    diff = memory.history.diff(args.id, args.first, args.second, turns=args.turns)
    return _show(args, diff, memory.sessions.get(args.id)["title"] or "Session")


def compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="ID[@N]", help="a session, now or after its first N events")
    parser.add_argument("second", metavar="ID[@M]", help="another session, or a branch of the first")
    parser.add_argument("--html", action="store_true", help="print an HTML page")


def compare_command(args: argparse.Namespace) -> int:
    diff = open_memory(args).history.compare(*_parse_position(args.first), *_parse_position(args.second))
    titles = [diff[side]["title"] or diff[side]["session"][:8] for side in ("first", "second")]
    return _show(args, diff, " / ".join(dict.fromkeys(titles)))


def _parse_position(text: str) -> tuple[str, str | None]:
    name, separator, position = text.rpartition("@")
    return (name, position) if separator and name else (text, None)


def _show(args: argparse.Namespace, diff: dict[str, Any], title: str) -> int:
    if args.json:
        print_json(diff)
        return 0
    if args.html:
        sys.stdout.write(page(diff, title))
        return 0
    echo(headline(diff))
    found = sections(diff)
    for section in found:
        echo(f"\n{paint(section.title, 'dim')}")
        for line in section.lines:
            sign = SIGNS.get(line.mark, line.mark)
            text = f"{sign} {line.text}"
            why = f" — {line.why}" if line.why else ""
            echo(
                f"  {paint(text, COLOURS[line.mark]) if line.mark in COLOURS else text}{why}"
                f"  {paint(line.at, 'dim')}".rstrip()
            )
        if section.more:
            echo(paint(f"  and {section.more:,} more (see --json)", "dim"))
    if not found:
        echo("Nothing changed.")
    return 0


REQUEST_LINES = 8  # of the request that led to a change


def files_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID|FILE", help="a session (id or a unique prefix), or a file: who changed it, and why"
    )
    parser.add_argument("--turns", type=integer, metavar="N", help="only in its last N turns")
    parser.add_argument("--by", choices=("agent", "person", "unknown"), help="only changes by this author")


def files_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    try:
        result = memory.history.files_modified(args.id, turns=args.turns, by=args.by)
    except NotFound:
        return _file_history(args, memory)
    if args.json:
        print_json(result)
        return 0
    for file in result["files"]:
        origin = f" (from {file['from']})" if file["from"] else ""
        others = [author["by"] for author in file.get("changed_by", ()) if author["by"] != file["by"]]
        by = file["by"] + (f", also {' and '.join(others)}" if others else "") + untrusted_cause_text(file)
        path = single_line(file["path"] + origin)
        echo(f"{file['change']:<8}  {path}  by {by}  {paint('@' + str(file['seq']), 'dim')}")
    first, last = result["turns"]
    more = f", {result['omitted']:,} older not shown" if result["omitted"] else ""
    echo(paint(f"{plural(len(result['files']), 'file')} in turns {first} to {last}{more}", "dim"))
    return 0


def _file_history(args: argparse.Namespace, memory: Memory) -> int:
    """Which sessions changed a file.

    A path relative to this folder is tried first, then as the end of a path.
    """
    if args.turns is not None:
        raise InvalidRequest(
            f"No session matches {args.id!r}, and --turns counts the turns of a session.",
            hint="Leave --turns out to see who changed a file.",
        )
    here = os.path.abspath(os.path.expanduser(args.id))
    result = memory.history.file_changes(here, by=args.by)
    if not result["changes"]:
        result = memory.history.file_changes(os.path.normpath(args.id), by=args.by)
    if not result["changes"]:
        raise NotFound(
            f"No session and no changed file matches {args.id!r}.",
            hint="`fazm-memory sessions` lists sessions, `fazm-memory search` finds what was only read",
        )
    if args.json:
        print_json(result)
        return 0
    width = terminal_width()
    for change in result["changes"][:FILE_CHANGES]:
        times = f", {change['count']} times" if change["count"] > 1 else ""
        origin = f" (from {single_line(change['from'])})" if change["from"] else ""
        place = paint(f"{change['session'][:8]} @{change['seq']}", "dim")
        when, title = format_time(change["at"], memory.now()), _short(change["title"] or "", 60)
        echo(fit(f"{when}  {change['change']}{times} by {change['by']}{origin}  {place}  {title}"))
        if change["request"]:
            text = " ".join(change["request"].split())
            for line in wrap(text, max(36, width - 4), max_lines=REQUEST_LINES, placeholder=" …"):
                echo(f"    {line}")
    older = len(result["changes"]) - FILE_CHANGES
    more = f"; {older} older changes not shown (--json has all)" if older > 0 else ""
    echo(paint(f"file: {single_line(result['changes'][0]['path'])}{more}", "dim"))
    return 0


def _world_lines(retry: Mapping[str, Any]) -> Iterator[str]:
    """What differed between a call and its retry, apart from the result."""
    before, after, meanwhile = retry["before"] or {}, retry["after"], retry["meanwhile"]
    if before.get("duration_ms") is not None and after["duration_ms"] is not None:
        yield f"took {before['duration_ms']:,} ms, then {after['duration_ms']:,} ms"
    files = [f"{single_line(file['path'])} (by {file['by']})" for file in meanwhile["files"][-3:]]
    if files:
        more = len(meanwhile["files"]) - len(files)
        yield f"changed in between: {', '.join(files)}{f' and {more} more' if more else ''}"
    if meanwhile["requests"]:
        yield f"after the request: {_short(meanwhile['requests'][-1]['text'], 100)}"


def retries_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")


def retries_command(args: argparse.Namespace) -> int:
    found = open_memory(args).history.retries(args.id)
    if args.json:
        print_json(found)
        return 0
    for retry in found:
        before = retry["before"] or {"outcome": "forgotten", "error": None}
        change = f"{before['outcome']} → {retry['after']['outcome']}"
        call = f"{retry['tool']} {single_line(retry['target'])[:100]}"
        echo(f"@{retry['retry_of']} → @{retry['seq']}  {call}: {change}")
        if not retry["same_input"]:
            echo(paint("    with different input", "dim"))
        for text in _world_lines(retry):
            echo(paint(f"    {text}", "dim"))
        for line in retry["diff"].splitlines()[:12]:
            echo(f"    {line[:160]}")
    if not found:
        echo("No retries.")
    return 0
