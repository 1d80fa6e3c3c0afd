"""Which call an event belongs to, and what followed an event in its turn.

A change on disk is recorded later than the call that made it, sometimes in the next turn. Such a file event
names the position of its call. Only the file watcher is believed there: an agent could backdate its changes.

A call follows an event when it began after it. The events of one call (start, end, amendment) and the changes
on disk that name the call go together, whichever turn they were recorded in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from fazm_memory.events import TRUST_RANK, Action, ActionStart, Event, FileChange, target_of
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass
from fazm_memory.session.commands import (
    RUNNER,
    CheckRun,
    ShellCall,
    failing_tests,
    git_verb,
    only_looks,
    output_text,
    reports_failed_tests,
)
from fazm_memory.session.state import BOUNDS

if TYPE_CHECKING:
    from fazm_memory.events import Action
    from fazm_memory.session.state import StateBuilder


DEFERRED_WINDOW = 1000  # events after a position that are searched for deferred file events
STATEMENT_KINDS = frozenset({"decision", "fact", "pending", "handoff", "message", "evicted"})
CALL_KINDS = frozenset({"action", "action.start", "action.amend"})


def call_position(event: Event) -> int | None:
    """The position of the call that made a change on disk."""
    change = event.payload
    if not isinstance(change, FileChange) or event.source != "files" or change.call is None:
        return None
    return change.call if 0 <= change.call < event.seq else None


def causal_position(event: Event) -> int:
    """The position of the event's call, or its own."""
    call = call_position(event)
    return event.seq if call is None else call


def disk_changes_by_call(events: Iterable[Event]) -> dict[int, list[FileChange]]:
    """The changes on disk of each call, by the position where the call ended."""
    started: dict[str, int] = {}  # call id → position of its start
    ended: dict[int, int] = {}  # position of the start → position of the end
    by_start: dict[int, list[FileChange]] = {}
    for event in events:
        if isinstance(event.payload, ActionStart) and event.payload.call_id:
            started[event.payload.call_id] = event.seq
        elif isinstance(event.payload, Action) and event.payload.call_id in started:
            ended[started[event.payload.call_id]] = event.seq
        elif (call := call_position(event)) is not None:
            by_start.setdefault(call, []).append(event.payload)
    by_end: dict[int, list[FileChange]] = {}
    for call, changes in by_start.items():
        by_end.setdefault(ended.get(call, call), []).extend(changes)
    return by_end


@dataclass(frozen=True)
class Consequences:
    """Positions of an event with its own parts, and of what followed it."""

    itself: tuple[int, ...]
    words: tuple[int, ...] = ()
    calls: tuple[tuple[int, ...], ...] = ()  # all events of each call
    files: tuple[int, ...] = ()  # changes and listings

    @property
    def seqs(self) -> list[int]:
        return sorted({*self.itself, *self.words, *self.files, *(seq for call in self.calls for seq in call)})

    def within(self, seqs: Collection[int]) -> Consequences:
        """Only what is at these positions."""
        itself, words, files, *calls = (
            tuple(seq for seq in part if seq in seqs)
            for part in (self.itself, self.words, self.files, *self.calls)
        )
        return Consequences(itself, words, tuple(call for call in calls if call), files)


def consequences_of(events: Iterable[Event], seq: int, end: int, *, calls: bool) -> Consequences:
    """What followed the event at `seq`, in a turn that ends before `end`.

    `events` begin with the turn and go on after it, because deferred events may follow. Without `calls` only
    the agent's statements count.
    """
    itself, words, files = {seq}, [], []
    positions: dict[str, list[int]] = {}  # call id → its events
    following: dict[object, list[int]] = {}  # call id, or the position of a call without one → its events
    call_seqs: set[int] = set()  # a change on disk names one of these
    paths: set[str] = set()
    own_call: str | None = None
    for event in events:
        call = getattr(event.payload, "call_id", None) if event.kind in CALL_KINDS else None
        parts = [] if call is None else positions.setdefault(call, [])
        parts.append(event.seq)
        if event.seq == seq:
            own_call = call
            itself |= {*parts}
            call_seqs |= itself
        elif event.kind in CALL_KINDS and call is not None and call == own_call and event.seq > seq:
            itself.add(event.seq)
        elif event.seq < seq:
            continue
        elif event.kind in STATEMENT_KINDS:
            if event.seq < end and TRUST_RANK.get(event.trust, 0) <= TRUST_RANK["agent"]:
                words.append(event.seq)
        elif not calls:
            continue
        elif event.kind in CALL_KINDS:
            if parts[0] > seq and (event.seq < end or call in following):
                following.setdefault(event.seq if call is None else call, []).append(event.seq)
                call_seqs.add(event.seq)
                paths |= {touch.path for touch in getattr(event.payload, "files", ())}
        elif _is_effect(event, end, call_seqs, paths):
            files.append(event.seq)
    return Consequences(
        tuple(sorted(itself)), tuple(words), tuple(tuple(seqs) for seqs in following.values()), tuple(files)
    )


def _is_effect(event: Event, end: int, call_seqs: set[int], paths: set[str]) -> bool:
    """Whether a file event or a listing comes from one of these calls."""
    if event.kind == "seen":
        return event.seq < end
    if event.kind != "file" or event.payload is None or event.payload.by == "person":
        return False
    call = call_position(event)
    if call is not None:
        return call in call_seqs
    return event.seq < end and (event.payload.by == "agent" or event.payload.path in paths)


# Failures and what resolved them
#
# A failed call has keys of its intent: the file it edited, the test it ran, the program and target of its
# command. A later success with one of these keys resolves it, whatever its command line. What only looked
# something up, such as a grep without a match, is marked as minor.

LOOKUP_TOOLS = frozenset(
    {"read", "grep", "glob", "ls", "read_file", "list_directory", "list", "search_file_content", "webfetch",
     "websearch", "web_fetch", "toolsearch"}
)  # fmt: skip
EDITS = frozenset(
    {
        "edit",
        "write",
        "multiedit",
        "notebookedit",
        "replace",
        "write_file",
        "edit_file",
        "apply_patch",
        "patch",
    }
)
PATHS = ("file_path", "path", "notebook_path", "absolute_path", "filename")
# Programs whose first word says what they do; the same verb on another target is the same intent.
VERBS = frozenset(
    {"git", "gh", "npm", "pnpm", "yarn", "cargo", "docker", "kubectl", "brew", "pip", "uv", "mise", "make"}
)
WHOLE = ("commit", "push", "pull", "rebase", "merge", "stash", "add", "fetch", "cherry-pick", "am", "apply")
INVALID = lazy_regex(
    r"InputValidation|invalid (?:tool )?(?:input|parameter|argument)|required parameter"
    r"|^Agent type .{1,100} not found|^Unknown skill|^Skill .{1,100} is not a",
    re.I,
)
FORMATTER = lazy_regex(r"^(?:gofmt|black|isort|prettier)\b|\b(?:fmt|format)\b")
APART = lazy_regex(r"integration|e2e|end-to-end", re.I)
WITH_ALL = lazy_regex(r"[: -](?:ci|all)\b")
NOT_COMPILED = lazy_regex(r"\[build failed\]|^# \S+|could not compile|SyntaxError|ImportError", re.M)
NOT_RUN = ("Sibling tool call errored", "No changes to make", "Cancelled: parallel tool call")
STOPPED = lazy_regex(r"interrupted by (?:the )?user", re.I)
MAX_KEYS = 24
PREFIX = 8  # characters of a name that selects tests
PREPARES = frozenset({"mkdir", "touch", "chmod", "rm", "cp", "mv"})


def intents(p: Action, call: ShellCall | None, *, ok: bool) -> list[str]:
    """The keys of what a call tried to do. A success has the keys that it resolves."""
    if call is not None:
        checks = call.checks if ok else failed_checks(call.checks, output_text(p.output) or p.error or "")
        keys = [key for check in checks for key in _check_intents(check, p, ok)]
        programs = [words for words in call.parts if ok or not _prepares(words)] or call.parts
        keys += [key for words in programs if (key := _program_intent(words))]
        if ok:  # a file that could not be edited was written by a command
            keys += [f"edit:{touch.path}" for touch in p.files if touch.change in ("created", "modified")]
        return list(dict.fromkeys(keys))[:MAX_KEYS]
    tool, value = p.tool.lower(), p.input
    named = [value[name] for name in PATHS if value.get(name)] if isinstance(value, Mapping) else []
    if tool in EDITS:
        return [f"edit:{path}" for path in (named or [touch.path for touch in p.files])[:MAX_KEYS]]
    keys = [f"{tool}:{named[0] if named else target_of(value)}"]
    if ok or INVALID.search(p.error or ""):  # any valid call of the tool resolves an invalid one
        keys.append(f"{tool}:*")
    return keys


def _prepares(words: list[str]) -> bool:
    """Whether a part of a chain only prepares the rest, which is what failed more likely."""
    return words[0] in PREPARES or (words[0] == "git" and git_verb(words)[0] == "add")


def failed_checks(checks: tuple[CheckRun, ...], printed: str) -> tuple[CheckRun, ...]:
    """The runs of a failed chain that may have failed.

    The tests if their output says so; no formatter; a build only if something was not compiled.
    """
    others = tuple(check for check in checks if FORMATTER.search(check.command) is None)
    tests = tuple(check for check in others if check.kind == "test")
    if tests and reports_failed_tests(printed):
        return tests
    if NOT_COMPILED.search(printed) is None:
        others = tuple(check for check in others if check.kind != "build") or others
    return others or checks


def _check_intents(check: CheckRun, p: Action, ok: bool) -> list[str]:
    kind = "format" if FORMATTER.search(check.command) else check.kind
    apart = kind == "test" and APART.search(check.command) is not None
    if not ok:
        printed = output_text(p.output) or p.error or ""
        failing = failing_tests(printed)
        everything = f"{kind} apart" if apart else kind
        keys = [f"{everything}:*", *(f"{kind}:{name}" for name in (*check.names, *check.targets, *failing))]
        if not failing and NOT_COMPILED.search(printed):
            keys += [f"compile:{target}" for target in check.targets]
        return keys
    # A run of everything resolves any failed run, a run of a package those in it, a named test only itself.
    # Slow tests that run apart, such as integration tests, are not part of "everything".
    keys = [f"compile:{target}" for target in check.targets]
    if limits := check.names or check.targets:
        keys += [f"{kind}:{name}" for name in limits]
    else:
        complete = WITH_ALL.search(check.command) is not None
        keys += [f"{kind}:*"] if complete or not apart else []
        keys += [f"{kind} apart:*"] if complete or apart else []
    return [*keys, *(["build:*"] if kind == "test" else [])]


def _program_intent(words: list[str]) -> str:
    program = words[0]
    if RUNNER.match(" ".join(words[:4])) or program in (
        "cd",
        "echo",
        "export",
        "set",
        "sleep",
        "true",
        "tail",
        "head",
        "grep",
        "cat",
        "wc",
    ):
        return ""
    verb, rest = git_verb(words) if program == "git" else (words[1] if len(words) > 1 else "", words[2:])
    if program == "git" and verb in WHOLE:
        return f"git {verb}"
    if program in VERBS:
        target = next((word for word in rest if not word.startswith("-")), "")
        return f"{program} {verb} {target}".strip()
    target = next((word for word in words[1:] if not word.startswith("-")), "")
    return f"{program} {target}".strip()


def is_minor(tool: str, call: ShellCall | None, outcome: str, error: str) -> bool:
    """Whether a failed call only looked something up, was never run or was stopped by the user."""
    if outcome != "error" or error.startswith(NOT_RUN):
        return outcome == "error" or STOPPED.search(error) is not None
    if call is not None:
        return only_looks(call.parts)
    return tool.lower() in LOOKUP_TOOLS or INVALID.search(error) is not None


def note_failure(b: StateBuilder, seq: int, p: Action, call: ShellCall | None) -> None:
    """Remember what a failed call tried, so that a later success can resolve it."""
    b.unresolved[seq] = {"keys": intents(p, call, ok=False)}
    if len(b.unresolved) > BOUNDS["unresolved"]:  # not counted in `omitted`: no state shows them
        del b.unresolved[next(iter(b.unresolved))]


def resolve_by_success(b: StateBuilder, seq: int, p: Action, call: ShellCall | None) -> None:
    """Resolve the failures whose intent this success has."""
    if call is not None and call.checks and call.check_outcome != "ok":
        return
    keys = set(intents(p, call, ok=True))
    names = [name for check in (call.checks if call is not None else ()) for name in check.names]
    selected = tuple(f"test:{name}" for name in names if len(name) >= PREFIX)  # the beginning of names
    for failed in [
        failed
        for failed, entry in b.unresolved.items()
        if not keys.isdisjoint(entry["keys"])
        or (selected and any(key.startswith(selected) for key in entry["keys"]))
    ]:
        resolve(b, failed, seq)


def resolve(b: StateBuilder, seq: int | None, by: int) -> None:
    """Mark a failure, and the failures that it retried, as resolved by a later call."""
    while seq is not None:
        b.unresolved.pop(seq, None)
        failed = b.errors.get(seq)
        if failed is None or failed["mended_by"] is not None:
            return
        b.errors[seq] = failed | {"mended_by": by}
        seq = failed.get("retry_of")
