"""New names: functions, classes, tests and fields that a session added to code.

A name counts if an edit defines it and the text that the edit replaced did not. A later edit that removes the
definition takes it back, and so does a deleted or restored file. A renamed thing has its present name. A
definition that only moved is not new. Only the latest edits of a session are read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass
from fazm_memory.session import discarded_names, is_named
from fazm_memory.store import EVENT_COLUMNS, SessionRow, Store, effective_ranges, event_id, to_event
from fazm_memory.text import plural

MAX_ACTIONS = 400  # of one session, the latest
LONGEST = 80  # characters of a name
MAX_TEXT = 60_000  # characters of an edit that are read
BEFORE_FIELDS = ("old_string", "old_str", "oldText", "old_text")
AFTER_FIELDS = ("new_string", "new_str", "newText", "new_text", "content", "contents", "file_text")
WHOLE_FIELDS = ("content", "contents", "file_text")  # the whole file
PATCH_FIELDS = ("patch", "patchText", "diff")
PATH_FIELDS = ("file_path", "path", "filePath", "absolute_path")
PROSE = (".md", ".txt", ".rst", ".adoc", ".json", ".yaml", ".yml", ".toml", ".html", ".css", ".csv", ".svg")
WORD = lazy_regex(r"[A-Za-z_]\w*")
SED_RENAME = lazy_regex(r"\bs([/|#,])(?:\\b|\\<)?([A-Za-z_]\w*)(?:\\b|\\>)?\1([A-Za-z_]\w*)\1")
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
    found: dict[str, str] = {}  # name and file
    moved: set[str] = set()  # defined before the session, and removed in it
    for event in events:
        if event.kind != "action" or event.payload is None or event.payload.outcome != "ok":
            continue
        for edit in _edits(event.payload.input):
            _take_edit(found, moved, edit)
        for file in event.payload.files:
            if file.change == "deleted":
                _drop(found, [path for path in found.values() if f"{path}/".startswith(f"{file.path}/")])
            elif file.change == "renamed" and file.origin:
                found = {name: file.path if path == file.origin else path for name, path in found.items()}
        found = _after_command(found, event.payload.input)
    return list(found)


def _take_edit(found: dict[str, str], moved: set[str], edit: CodeEdit) -> None:
    old, new = defined_names(edit.before), defined_names(edit.after)
    if edit.whole:
        old |= {name: None for name, path in found.items() if path == edit.path}
    for name in old:
        if name not in new and found.pop(name, None) is None:
            moved.add(name)
    for name in new:
        if name not in old and name not in moved:
            found.setdefault(name, edit.path)
    if edit.everywhere and not old and not new and WORD.fullmatch(edit.before) and WORD.fullmatch(edit.after):
        _rename(found, edit.before, edit.after)


def _after_command(found: dict[str, str], given: Any) -> dict[str, str]:
    """The names after a shell command, which may rename them or restore their files."""
    command = given.get("command") if isinstance(given, Mapping) else None
    if not isinstance(command, str) or not found:
        return found
    if "sed " in command:
        for _, old, new in SED_RENAME.findall(command):
            _rename(found, old, new)
    if "git " in command:
        for discarded in discarded_names(command):
            _drop(found, [path for path in found.values() if discarded == "*" or is_named(path, discarded)])
    return found


def _rename(found: dict[str, str], old: str, new: str) -> None:
    if old in found:
        renamed = {new if name == old else name: path for name, path in found.items()}
        found.clear()
        found.update(renamed)


def _drop(found: dict[str, str], paths: Collection[str]) -> None:
    for name in [name for name, path in found.items() if path and path in paths]:
        del found[name]


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
        groups.setdefault(_subject(name).lower() if TEST.match(name) else name, []).append(name)
    return [
        group[0]
        if len(group) == 1
        else f"{group[0]} and {plural(len(group) - 1, 'more test')} of {_subject(group[0])}"
        for group in groups.values()
    ]


def _subject(name: str) -> str:
    """What a test is about, or the name itself."""
    found = TEST.match(name)
    return found[0] if found else name


@dataclass(frozen=True)
class CodeEdit:
    """Replaced and new text. `whole`: the new text is the whole file. `everywhere`: each occurrence."""

    path: str
    before: str
    after: str
    whole: bool = False
    everywhere: bool = False


def _edits(given: Any) -> Iterator[CodeEdit]:
    """The edits in the input of a call."""
    if isinstance(given, str):
        if "*** Begin Patch" in given:
            yield CodeEdit("", *_patch(given))
        return
    if not isinstance(given, Mapping):
        return
    path = _field(given, PATH_FIELDS)
    if path.lower().endswith(PROSE):
        return
    if patch := _field(given, PATCH_FIELDS):
        yield CodeEdit(path, *_patch(patch))
    before, after = _field(given, BEFORE_FIELDS), _field(given, AFTER_FIELDS)
    if path and (after or before):
        whole = any(name in given for name in WHOLE_FIELDS)
        yield CodeEdit(path, before, after, whole=whole, everywhere=given.get("replace_all") is True)
    edits = given.get("edits")
    for edit in edits if path and isinstance(edits, list) else ():
        if isinstance(edit, Mapping):
            everywhere = edit.get("replace_all") is True
            yield CodeEdit(
                path, _field(edit, BEFORE_FIELDS), _field(edit, AFTER_FIELDS), everywhere=everywhere
            )


def _field(given: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((given[name] for name in names if isinstance(given.get(name), str)), "")


def _patch(text: str) -> tuple[str, str]:
    """The removed and the added lines of a patch."""
    lines = text[:MAX_TEXT].splitlines()
    removed = (line[1:] for line in lines if line.startswith("-") and not line.startswith("---"))
    added = (line[1:] for line in lines if line.startswith("+") and not line.startswith("+++"))
    return "\n".join(removed), "\n".join(added)
