"""A difference between two moments as a person reads it: what changed, in words, and why.

Told once as sections of lines, so that a terminal and a page show the same. A change stands with its cause:
the step that made it and the decision, error or retry that led there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from fazm_memory.model.counting import plural

LINES = 40  # of a section; more are counted
LONGEST = 200
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
    "evicted_keys": "Out of the model's sight",
    "requests": "Requests",
    "running": "Running calls",
    "open_questions": "Open questions",
    "tools_used": "Tools",
}
SIGNS = {"added": "+", "removed": "-", "changed": "~", "same": "="}
CONTENTS = {"same": ", the same content", "different": ", other content", "unknown": ", content unknown"}
ASIDE = frozenset({"counts", "omitted", "budget", "turn", "folders", "trust", "agent", "evicted"})
STYLE = (
    "body{font:13px/1.45 -apple-system,system-ui,sans-serif;color-scheme:light dark;max-width:60rem;"
    "margin:16px auto;padding:0 16px}h1{font-size:16px}h2{font-size:13px;margin:16px 0 4px}"
    "li{list-style:none;overflow-wrap:anywhere}ul{padding:0;margin:0}li.added{color:#1a7f37}"
    "li.removed{color:#cf222e}li.error{color:#cf222e}small{opacity:.6}"
)


@dataclass(frozen=True)
class Line:
    """One thing that changed or made it change; `mark` says how, `at` where in the log."""

    mark: str
    text: str
    why: str = ""
    at: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    lines: tuple[Line, ...]
    more: int = 0


def headline(diff: Mapping[str, Any]) -> str:
    """Between what and what."""
    first, second = diff.get("first"), diff.get("second")
    if first and second:
        return f"{first['session'][:8]} at {first['at']} beside {second['session'][:8]} at {second['at']}"
    return f"from position {diff['from']} to {diff['to']}"


def sections(diff: Mapping[str, Any]) -> list[Section]:
    """What changed, a section per part of the state, and then why."""
    causes = [cause for cause in diff["because"] if "seq" in cause]
    made = []
    names = [*TITLES, *(name for part in SIGNS for name in diff.get(part, {}) if name not in TITLES)]
    for name in dict.fromkeys(names):
        lines = [line for part in SIGNS for line in _lines(part, name, diff.get(part, {}).get(name), causes)]
        if lines and name not in ASIDE:
            title = TITLES.get(name, name.replace("_", " ").capitalize())
            made.append(Section(title, tuple(lines[:LINES]), max(0, len(lines) - LINES)))
    because = [Line(one["role"], *_cause(one)) for one in causes if one["role"] in WHY]
    rest = sum(one["role"] not in WHY for one in causes)
    rest += sum(sum(one["counts"].values()) for one in diff["because"] if "counts" in one)
    if because or rest:
        shown = tuple(because[:LINES])
        made.append(Section("Because", shown, len(because) - len(shown) + rest))
    return made


def _lines(part: str, name: str, rows: Any, causes: list[dict[str, Any]]) -> Iterator[Line]:
    if not rows:
        return
    if isinstance(rows, Mapping) and set(rows) == {"from", "to"}:
        yield Line(part, f"{_short(_plain(rows['from']))} → {_short(_plain(rows['to']))}")
        return
    pairs = rows.items() if isinstance(rows, Mapping) else ((None, row) for row in rows)
    for key, row in pairs:
        two = part in ("changed", "same") and isinstance(row, Mapping)
        after = row["to"] if two and "to" in row else row
        before = row["from"] if two and "from" in row else None
        text = _entry(name, key, after)
        if part == "same":
            text = f"{text}, the same in both"
        elif before is not None and (was := _entry(name, key, before)) != text:
            text = f"{was} → {text}"
        if name == "files_modified" and "content" in row:
            text += CONTENTS[row["content"]]
        seq = after.get("seq") if isinstance(after, Mapping) else None
        why = _led_to(seq, causes) if part != "removed" and isinstance(seq, int) else ""
        yield Line(part, text, why, "" if seq is None else f"@{seq}")


def _entry(name: str, key: Any, row: Any) -> str:
    """A row of a table of the state, in words."""
    if not isinstance(row, Mapping):
        return _short(row if key is None else f"{key}: {row}")
    if name == "files_modified":
        came = f" (from {row['from']})" if row.get("from") else ""
        after = f", after @{row['doubted_by']} of doubtful origin" if "doubted_by" in row else ""
        return _short(f"{row['change']} {row['path']}{came} by {row['by']}{after}")
    if name == "errors":
        mended = f", mended at {row['mended_by']}" if row.get("mended_by") is not None else ""
        return _short(f"{row.get('tool') or 'a call'} {row['outcome']}: {row.get('error') or ''}{mended}")
    if name == "facts":
        return _short(f"{key} = {_plain(row.get('value'))}")
    said = next((row[one] for one in ("what", "text", "note", "path", "app", "tool") if row.get(one)), None)
    because = f" because {row['why']}" if row.get("why") else ""
    if led := row.get("led_to"):
        because += f", then {plural(led['calls'], 'call')}, {plural(led['changes'], 'file change')}"
    return _short(f"{_plain(dict(row)) if said is None else said}{because}")


def _plain(value: Any) -> str:
    """A value as people read it: no marks of a programming language; what is nested, as JSON."""
    if isinstance(value, dict):
        told = {key: one for key, one in value.items() if one not in (None, "", [], {}) and key != "seq"}
        return ", ".join(f"{key.replace('_', ' ')} {_plain(one)}" for key, one in told.items())
    if isinstance(value, list) and all(isinstance(one, (str, int, float)) for one in value):
        return ", ".join(map(str, value))
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _led_to(seq: int, causes: list[dict[str, Any]]) -> str:
    """The step that made a change, and the last thing before it in its turn that explains it."""
    own = next((one for one in causes if one["seq"] == seq), None)
    if own is None:
        return ""
    if own["role"] == "retry":
        return f"a retry of @{own['retry_of']}"
    if own["role"] in ("decision", "request", "error"):
        return ""
    if own["kind"] == "file" and not (own.get("why") or "").startswith("by agent"):
        return ""  # another hand than the agent's followed no request to it
    before = [
        one
        for one in causes
        if one["role"] in WHY
        and one["seq"] < seq
        and one["turn"] == own["turn"]
        and one.get("session") == own.get("session")
    ]
    if not before:
        return ""
    last = before[-1]
    return f"after {last['role']} @{last['seq']}: {_short(last.get('what'), 80)}"


def _cause(cause: Mapping[str, Any]) -> tuple[str, str, str]:
    what = _short(" ".join(str(cause[one]) for one in ("what", "target") if cause.get(one)))
    why = _short(cause.get("why") or "")
    if cause.get("retry_of") is not None:
        why = f"a retry of @{cause['retry_of']}{': ' + why if why else ''}"
    place = f"{cause['session'][:8]} @{cause['seq']}" if cause.get("session") else f"@{cause['seq']}"
    return what, why, place


def _short(value: Any, most: int = LONGEST) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def page(diff: Mapping[str, Any], title: str) -> str:
    """The same as one HTML page that needs nothing else. All recorded text is escaped."""
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
