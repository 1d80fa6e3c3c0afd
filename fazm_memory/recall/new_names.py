"""New names: functions, classes, tests and fields that a session added to code.

A name counts if an edit defines it and the text that the edit replaced did not. A later edit that removes the
definition takes it back. Only the latest edits of a session are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.store import EVENT_COLUMNS, SessionRow, Store, effective_ranges, event_id, to_event

MAX_ACTIONS = 400  # of one session, the latest
LONGEST = 48  # characters of a name
MAX_TEXT = 60_000  # characters of an edit that are read
BEFORE_FIELDS = ("old_string", "old_str", "oldText", "old_text")
AFTER_FIELDS = ("new_string", "new_str", "newText", "new_text", "content", "contents", "file_text")
PATCH_FIELDS = ("patch", "patchText", "diff")
PATH_FIELDS = ("file_path", "path", "filePath", "absolute_path")
PROSE = (".md", ".txt", ".rst", ".adoc", ".json", ".yaml", ".yml", ".toml", ".html", ".css", ".csv", ".svg")
COMPOUND = lazy_regex(r"[a-z0-9][A-Z]|[a-zA-Z0-9]_[a-zA-Z0-9]")
TEST = lazy_regex(r"(?:Test[A-Z][A-Za-z0-9]*|test_[a-z0-9]+)(?=_)")
DEFINITION = lazy_regex(
    r"^[ \t]*(?:export\s+|default\s+|pub(?:\(\w+\))?\s+|public\s+|private\s+|protected\s+|internal\s+"
    r"|static\s+|final\s+|abstract\s+|override\s+|async\s+|open\s+|data\s+|sealed\s+)*"
    r"(?:func\s+(?:\([^()\n]{0,60}\)\s*)?|def\s+|class\s+|fn\s+|function\s*\*?\s*|interface\s+|struct\s+|enum\s+"
    r"|trait\s+|protocol\s+|type\s+|module\s+|fun\s+|macro_rules!\s+)([A-Za-z_]\w{3,})"
    r"|^(?:export\s+)?(?:const|let|var|val)\s+([A-Za-z_]\w{5,})\s*(?::[^=\n]{1,60})?="
    r"|^[ \t]+([A-Z]\w{5,})[ \t]+[\w.*\[\]]+[ \t]*`json:"
    r"|^([A-Z][A-Z0-9_]{5,})\s*(?::[^=\n]{1,40})?=",
    re.MULTILINE,
)


def read_edits(store: Store, row: SessionRow, since: int) -> tuple[list[str], list[int]]:
    """The names that a session added from position `since` on, and the positions of its edits, in order."""
    rows = store.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? AND kind = 'action'"
        " ORDER BY id DESC LIMIT ?",
        (event_id(row.n, since), event_id(row.n, row.head), MAX_ACTIONS),
    ).fetchall()
    events = store.quarantine_view.events(row.n, [to_event(found, row.id, b"") for found in rows[::-1]])
    ranges = effective_ranges(store.db, row.n, row.head, since)
    valid = [event for event in events if any(begin <= event.seq < end for begin, end in ranges)]
    return new_names(valid), [event.seq for event in valid if event.payload is not None and _changes(event)]


def _changes(event: Event) -> bool:
    """Whether a call changed a file."""
    return event.payload.outcome == "ok" and any(file.change != "read" for file in event.payload.files or ())


def new_names(events: Iterable[Event]) -> list[str]:
    """The names that the edits among these events added and did not remove again."""
    found: dict[str, None] = {}
    for event in events:
        if event.kind != "action" or event.payload is None or event.payload.outcome != "ok":
            continue
        for before, after in _edits(event.payload.input):
            old, new = defined_names(before), defined_names(after)
            for name in old:
                if name not in new:
                    found.pop(name, None)
            for name in new:
                if name not in old:
                    found.setdefault(name)
    return list(found)


def defined_names(code: str) -> dict[str, None]:
    """The names that a piece of code defines, in order."""
    names = (next(filter(None, match.groups())) for match in DEFINITION.finditer(code[:MAX_TEXT]))
    return {name: None for name in names if len(name) <= LONGEST}


def ranked_names(names: Iterable[str], mentions: Mapping[str, int]) -> list[str]:
    """The names that matter, those that were talked about first. Tests of one subject are counted."""
    telling = [
        name for name in names
        if name in mentions or (COMPOUND.search(name) and not name.isupper())
    ]  # fmt: skip
    telling.sort(key=lambda name: -mentions.get(name, 0))
    groups: dict[str, list[str]] = {}
    for name in telling:
        groups.setdefault(_subject(name), []).append(name)
    return [
        group[0] if len(group) == 1 else f"{group[0]} and {len(group) - 1} more tests of it"
        for group in groups.values()
    ]


def _subject(name: str) -> str:
    """What a test is about, or the name itself."""
    found = TEST.match(name)
    return found[0].lower() if found else name


def _edits(given: Any) -> Iterator[tuple[str, str]]:
    """The pairs of replaced and new text in the input of a call."""
    if isinstance(given, str):
        if "*** Begin Patch" in given:
            yield _patch(given)
        return
    if not isinstance(given, Mapping):
        return
    path = _field(given, PATH_FIELDS)
    if path.lower().endswith(PROSE):
        return
    if patch := _field(given, PATCH_FIELDS):
        yield _patch(patch)
    if path and (after := _field(given, AFTER_FIELDS)):
        yield _field(given, BEFORE_FIELDS), after
    edits = given.get("edits")
    for edit in edits if path and isinstance(edits, list) else ():
        if isinstance(edit, Mapping):
            yield _field(edit, BEFORE_FIELDS), _field(edit, AFTER_FIELDS)


def _field(given: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((given[name] for name in names if isinstance(given.get(name), str)), "")


def _patch(text: str) -> tuple[str, str]:
    """The removed and the added lines of a patch."""
    lines = text[:MAX_TEXT].splitlines()
    removed = (line[1:] for line in lines if line.startswith("-") and not line.startswith("---"))
    added = (line[1:] for line in lines if line.startswith("+") and not line.startswith("+++"))
    return "\n".join(removed), "\n".join(added)
