"""What still holds of a session after later sessions and edits.

A question may have been answered, a plan carried out, a file committed or a decision replaced in another
session of the folder. `as_known_later` returns the state without what no longer holds. Like the rules within
a session it leaves a doubtful thing out of "open". A fork shares the past of its parent. Where both are
shown, `own_part` and `without_handed_over` leave each thing to one of them: what was done to the session that
did it, what is open to the one that was active last.

New names are functions, classes, tests and fields that a session added to code. A name counts if an edit
defines it and the text that the edit replaced did not. A later edit that removes the definition takes it
back, and so does a deleted or restored file. A renamed thing has its present name. A definition that only
moved is not new. Only the latest edits of a session are read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass, replace
from fazm_memory.session import (
    SessionState,
    discarded_names,
    fork_state,
    is_local_command,
    is_named,
    later_replaces,
    still_uncommitted,
)
from fazm_memory.store import EVENT_COLUMNS, SessionRow, Store, effective_ranges, event_id, to_event
from fazm_memory.text import content_words, plural

SAME_TITLE = 0.7  # share of the words of two titles
SAME_REQUEST = 0.6
TAKEN_UP_WITHIN = (
    30 * 60 * 1_000_000
)  # microseconds from the end of a session to the plan that goes on with it


DONE = (
    "answered", "checks", "commits", "decisions_made", "errors", "evicted_keys", "facts", "files_modified",
    "files_read", "folders", "notes", "pull_requests", "references", "requests", "retries",
)  # fmt: skip
OPEN = ("artifacts", "pending_actions", "questions")
OPEN_ALONE = ("asking", "passed_over", "plan", "proposed", "todos", "unanswered")  # no tables
NOTHING = SessionState()


def own_part(fork: SessionState, base: SessionState, *, is_latest: bool) -> SessionState:
    """The state of a fork without what it shares with its parent.

    `base` is the state that it began with.

    If the fork was active last, it keeps what is still open.
    """
    inherited = fork_state(base, fork.session)
    return (
        _without(fork, inherited, DONE) if is_latest else _without(fork, inherited, DONE + OPEN, OPEN_ALONE)
    )


def without_handed_over(parent: SessionState, base: SessionState) -> SessionState:
    """The state of a parent without what was open where a fork began.

    Only used if the fork was active last.
    """
    return _without(parent, base, OPEN, OPEN_ALONE)


def _without(
    state: SessionState, known: SessionState, tables: tuple[str, ...], alone: tuple[str, ...] = ()
) -> SessionState:
    """The state without the table entries and values that another state has too."""
    changes: dict[str, Any] = {}
    for name in tables:
        others = getattr(known, name)
        entries = getattr(state, name).items()
        changes[name] = {key: entry for key, entry in entries if key not in others or others[key] != entry}
    for name in alone:
        if getattr(state, name) == getattr(known, name):
            changes[name] = getattr(NOTHING, name)
    return replace(state, **changes)


def as_known_later(state: SessionState, others: Iterable[SessionState]) -> SessionState:
    """The state without what other sessions in the same folder have settled since.

    - `uncommitted`: see `still_uncommitted`;
    - `decisions_made`: a decision on the same branch that a later session replaced has `superseded_by`, the
      position there, and `superseded_in`, that session;
    - `asking`, `passed_over`, `unanswered`, `plan`: gone, or `carried_out`, once a later session took them
      up;
    - `todos`, `pending_actions`: without those that a later session's list has;
    - `errors`: without unresolved failures of a call that failed again later, or of a check that passed;
    - `checks`: without commands that were run again later; `pull_requests`: with their latest state.
    """
    later = sorted(
        (other for other in others if _follows(other, state)),
        key=lambda other: (other.last_at, other.session),
    )
    if not later:
        return state
    continued = [other for other in later if _same_branch(other, state)]
    changes: dict[str, Any] = {
        "uncommitted": still_uncommitted(state, later),
        "decisions_made": _decisions(state, continued),
        "errors": {
            key: row
            for key, row in state.errors.items()
            if row["mended_by"] is not None or not _tried_again(row, state, later)
        },
        "checks": {key: row for key, row in state.checks.items() if not _run_again(key, row, continued)},
        "pull_requests": {
            key: _latest_pull_request(key, row, later) for key, row in state.pull_requests.items()
        },
    }
    if any(_takes_up_plan(other, state) for other in later):
        changes |= {"asking": None, "passed_over": None, "unanswered": None, "plan": _carried_out(state.plan)}
    elif any(_repeats_request(other, state) for other in later):
        changes["unanswered"] = None
    listed = {todo["text"] for other in continued for todo in other.todos}
    if listed:
        changes["todos"] = [todo for todo in state.todos if todo["text"] not in listed]
        changes["pending_actions"] = {
            name: entry for name, entry in state.pending_actions.items() if entry["what"] not in listed
        }
    return replace(state, **changes)


def _follows(other: SessionState, state: SessionState) -> bool:
    """Whether a session worked in the same folder after this one."""
    return (
        other.session != state.session
        and state.workspace is not None
        and other.workspace == state.workspace
        and other.last_at > state.last_at
    )


def _same_branch(other: SessionState, state: SessionState) -> bool:
    return other.branch == state.branch or any(row["name"] == state.branch for row in other.branches.values())


def _decisions(state: SessionState, later: list[SessionState]) -> dict[int, dict[str, Any]]:
    found = dict(state.decisions_made)
    for other in later:
        for new in other.decisions_made.values():
            if new["at"] <= state.last_at or "session" in new:
                continue
            for seq, old in found.items():
                if old.get("superseded_by") is None and later_replaces(new, old):
                    found[seq] = old | {"superseded_by": new["seq"], "superseded_in": other.session}
    return found


def _takes_up_plan(other: SessionState, state: SessionState) -> bool:
    """Whether a session carries out the plan of this one.

    It began with that plan, or with a plan right after this one ended.
    """
    plan, first = state.plan, other.plan
    if first is None or not first["title"]:
        return False
    if plan is not None and plan["title"] and _share(first["title"], plan["title"]) >= SAME_TITLE:
        return True
    began = _began(other)
    handed_over = other.goal is not None and first["seq"] == other.goal["seq"]
    return handed_over and began is not None and 0 <= began - state.last_at <= TAKEN_UP_WITHIN


def _repeats_request(other: SessionState, state: SessionState) -> bool:
    """Whether the user put the unanswered request again in a later session."""
    if state.unanswered is None or other.goal is None:
        return False
    words = state.unanswered["text"] or ""
    asked = [other.goal["text"] or "", *(row["text"] or "" for row in other.requests.values())]
    return any(not is_local_command(text) and _share(text, words) >= SAME_REQUEST for text in asked)


def _began(state: SessionState) -> int | None:
    return None if state.goal is None else int(state.goal["at"])


def _run_again(command: str, row: dict[str, Any], later: list[SessionState]) -> bool:
    return any(command in other.checks and other.checks[command]["at"] > row["at"] for other in later)


def _tried_again(row: dict[str, Any], state: SessionState, later: list[SessionState]) -> bool:
    """Whether a later session met the same failure, or passed the check that failed."""
    target = row.get("target")
    if target is None:
        return False
    check = state.checks.get(target)
    passed = [
        other for other in later if check is not None and other.checks.get(target, {}).get("outcome") == "ok"
    ]
    return (check is not None and _run_again(target, check, passed)) or any(
        "session" not in error and (error["tool"], error.get("target")) == (row["tool"], target)
        for other in later
        for error in other.errors.values()
    )


def _carried_out(plan: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if plan is None else plan | {"status": "carried_out"}


def _latest_pull_request(key: str, row: dict[str, Any], later: list[SessionState]) -> dict[str, Any]:
    for other in later:
        known = other.pull_requests.get(key)
        if known is not None and known["at"] > row["at"] and known["state"]:
            row = row | {"state": known["state"]}
    return row


def _share(one: str, other: str) -> float:
    first, second = content_words(one), content_words(other)
    return len(first & second) / len(first | second) if first and second else 0.0


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


@dataclass(frozen=True)
class Work:
    """What the calls of a session did.

    The names that it added, and the positions of its edits and of the calls that the user refused, in order.
    """

    added: Sequence[str] = ()
    edits: Sequence[int] = ()
    refused: Sequence[Event] = ()


def read_work(store: Store, row: SessionRow, since: int) -> Work:
    """The work of a session from position `since` on.

    Reads a bounded number of events.
    """
    rows = store.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? AND kind = 'action'"
        " ORDER BY id DESC LIMIT ?",
        (event_id(row.n, since), event_id(row.n, row.head), MAX_ACTIONS),
    ).fetchall()
    events = store.quarantine_view.events(row.n, [to_event(found, row.id, b"") for found in rows[::-1]])
    ranges = effective_ranges(store.db, row.n, row.head, since)
    valid = [event for event in events if any(begin <= event.seq < end for begin, end in ranges)]
    known = [event for event in valid if event.payload is not None]
    return Work(
        new_names(valid),
        [event.seq for event in known if _changes(event)],
        [event for event in known if event.payload.outcome == "denied"],
    )


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
    """The names that matter, those that were talked about first.

    Tests of one subject are counted.
    """
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
    """Replaced and new text.

    `whole`: the new text is the whole file. `everywhere`: each occurrence.
    """

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
