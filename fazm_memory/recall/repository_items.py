"""Items about a repository: commits, uncommitted files, checks, new names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fazm_memory.clock import to_datetime
from fazm_memory.events import Event
from fazm_memory.lazy import lazy_regex
from fazm_memory.recall.dialogue import ANSWERS, USER_ROLES, Utterance, compact_request, shortened
from fazm_memory.recall.items import LABELS, WEIGHTS, Item, Section, inside, item_id
from fazm_memory.recall.quoting import neutral, quote
from fazm_memory.session import FileEntry, SessionState, refused_command, uncommitted_files

MAX_COMMITS = 8
MAX_NAMED = 4
MAX_CHECKS = 2
LONGEST_CHECK = 70
TEST_FILE = lazy_regex(r"(?i)(?:^|/)(?:[^/]*_)?(?:tests?|specs?|testdata)/|test[^/]*$|\.spec\.[^/]*$")


FIRST_ADDED = 5
MAX_ADDED = 10


def plan_title_of(state: SessionState) -> str:
    return (getattr(state, "plan", None) or {}).get("title") or ""


def tickets_of(state: SessionState) -> frozenset[str]:
    """Tickets that the user named, by which sessions belong together."""
    references: dict[str, dict[str, Any]] = getattr(state, "references", {})
    return frozenset(name for name, entry in references.items() if entry.get("kind") == "ticket")


def todos_of(state: SessionState) -> tuple[int, int]:
    """How many steps of the agent's list are done, of how many."""
    todos: list[dict[str, Any]] = getattr(state, "todos", [])
    counted = [todo for todo in todos if todo["status"] != "cancelled"]
    return sum(todo["status"] == "completed" for todo in counted), len(counted)


def repository_items(
    state: SessionState, *, since: int, worth: float, settled: Collection[str] = ()
) -> list[Item]:
    """Commits, pull requests, uncommitted files, checks and notes of a session.

    `settled` are changed files of which it is not known that they are still uncommitted.
    """
    items = []
    for kind, name, text, seq in _repository(state, since, settled):
        score = WEIGHTS[kind] * worth * (0.4 if name == "more" else 1.0) + min(seq, 10**6) / 10**9
        section: Section = "OPEN" if kind == "uncommitted" else "DONE"
        id_ = item_id(state.session, kind, name)
        items.append(
            Item(id_, section, kind, text, score, state.session, seq, "local", LABELS.get(kind, "done"))
        )
    return items


def _repository(
    state: SessionState, since: int, settled: Collection[str]
) -> Iterator[tuple[str, str, str, int]]:
    folder = state.workspace
    commits: list[dict[str, Any]] = [
        row for row in getattr(state, "commits", {}).values() if row["seq"] >= since
    ]
    for commit in commits[-MAX_COMMITS:]:
        pushed = ", pushed" if commit["pushed"] else ""
        text = f"{commit['hash'] or 'commit'} {neutral(commit['subject'])}{pushed}"
        yield "commit", commit["hash"] or str(commit["seq"]), text, commit["seq"]
    for pull in getattr(state, "pull_requests", {}).values():
        if pull["seq"] >= since:
            title = f" {neutral(pull['title'])}" if pull.get("title") else ""
            status = f", {pull['state']}" if pull.get("state") else ""
            yield "pull", str(pull["number"]), f"PR #{pull['number']}{title}{status}", pull["seq"]
    if (found := _uncommitted(state, since, settled)) is not None:
        yield "uncommitted", "files", *found
    checks = [
        row for row in getattr(state, "checks", {}).values()
        if row["seq"] >= since and len(row["command"]) <= LONGEST_CHECK and "resolved_by" not in row
    ]  # fmt: skip
    if checks:
        edited = max((entry.seq for entry in _own_files(state)), default=-1)
        yield "checks", "run", _checks(checks[-MAX_CHECKS:], edited), checks[-1]["seq"]
    for note in getattr(state, "notes", {}).values():
        if note["seq"] >= since:
            yield (
                "note",
                note["path"],
                f"written down in {neutral(inside(note['path'], folder))}",
                note["seq"],
            )


def _own_files(state: SessionState) -> list[FileEntry]:
    """The files in the workspace that the agent changed."""
    return [
        entry for entry in state.files_modified.values()
        if entry.by == "agent" and state.workspace and inside(entry.path, state.workspace) != entry.path
    ]  # fmt: skip


def settled_files(state: SessionState) -> frozenset[str]:
    """Files the agent changed that may be committed, put aside or taken back.

    They are told neither as open nor as done. `state` is that of the session alone.
    """
    if not state.settled and state.listing is None:
        return frozenset()
    committed = max((row["seq"] for row in state.commits.values()), default=-1)
    return frozenset(
        entry.path for entry in _own_files(state)
        if entry.seq > committed and entry.path not in state.uncommitted
    )  # fmt: skip


def _uncommitted(state: SessionState, since: int, settled: Collection[str]) -> tuple[str, int] | None:
    """What is known of uncommitted changes, and the position of the last one.

    Only what git listed is told as not committed. Of other changes after the last commit it is said when the
    last one was made, as far as that is known, and that no commit was seen.
    """
    known = uncommitted_files(state)
    listed = {path: entry["seq"] for path, entry in known.items() if entry["seen"]}
    committed = max((row["seq"] for row in state.commits.values()), default=-1)
    others = {
        entry.path: entry.seq for entry in _own_files(state)
        if entry.seq > max(committed, since - 1) and entry.path not in listed and entry.path not in settled
    } if state.branch else {}  # fmt: skip
    others |= {path: entry["seq"] for path, entry in known.items() if path not in listed}
    parts = []
    if listed:
        as_of = to_datetime(min(known[path]["as_of"] for path in listed))
        parts.append(
            f"not committed at {as_of:%H:%M}:{_named(_code_first(listed), MAX_NAMED, state.workspace)}"
        )
    if others:
        times = [known[path]["as_of"] for path in others if path in known]
        until = f" until {to_datetime(max(times)):%H:%M}" if times else ""
        parts.append(
            f"edited{until}, no commit seen:{_named(_code_first(others), MAX_NAMED, state.workspace)}"
        )
    if not parts:
        return None
    return "; ".join(parts), max([*listed.values(), *others.values()])


def _code_first(changed: Mapping[str, int]) -> list[str]:
    """The changed files, the latest first and tests at the end.

    `changed` has the position of each.
    """
    return sorted(changed, key=lambda path: (TEST_FILE.search(path) is not None, -changed[path]))


def _checks(checks: list[dict[str, Any]], edited: int) -> str:
    """The checks in order, each outcome once: `make lint, make test (ok 18:11)`.

    `edited` is the position of the last edit, after which they may not hold.
    """
    text = ""
    for nth, row in enumerate(checks):
        later = checks[nth + 1] if nth + 1 < len(checks) else None
        same = later is not None and later["outcome"] == row["outcome"]
        since = ", edited since" if checks[-1]["seq"] < edited else ""
        outcome = "" if same else f" ({row['outcome']} {to_datetime(row['at']):%H:%M}{since})"
        text += f"{', ' if nth else ''}{neutral(row['command'])}{outcome}"
    return text


def _named(paths: list[str], most: int, folder: str | None) -> str:
    """The first paths by folder.

    For example ` src/app: main.py, read.py; docs/guide.md and 2 more`.
    """
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    folders: dict[str, list[str]] = {}
    for path in (inside(path, folder) for path in paths[:most]):
        folders.setdefault(posixpath.dirname(path), []).append(posixpath.basename(path))
    parts = [
        f"{neutral(place)}: {', '.join(map(neutral, names))}"
        if place and len(names) > 1
        else ", ".join(neutral(posixpath.join(place, name)) for name in names)
        for place, names in folders.items()
    ]
    return f" {'; '.join(parts)}{more}"


LONGEST_STOPPED = 140  # characters of a command
HEREDOC = lazy_regex(r"[\"']?\$\(cat <<-?\s*['\"]?\w+['\"]?\s*\n\s*([^\n]+).*", re.DOTALL)
PAUSE = 5 * 60_000_000  # microseconds, after which the user begins something else
ASKING_TOOLS = frozenset({"ExitPlanMode", "AskUserQuestion"})  # their questions wait for an answer
STOPPED_WITHIN = 3  # positions, from a refused call to the user's words about it


def refused_items(
    state: SessionState, refused: Iterable[Event], talk: Sequence[Utterance], worth: float
) -> list[Item]:
    """What the user stopped without a word.

    Commands that change the history of a repository, the last command of the session, and requests whose
    work ended with the refused call.
    """
    spoken = [said.seq for said in talk if said.role in USER_ROLES and said.role != "asked"]
    items = []
    for event in refused:
        found = refused_command(event.payload.tool, event.payload.input)
        last = event.seq >= state.at - STOPPED_WITHIN
        if event.payload.tool in ASKING_TOOLS or any(0 < seq - event.seq <= STOPPED_WITHIN for seq in spoken):
            continue
        if found is not None and (last or found[1]):
            what = quote(_first_line(found[0]), 2 * LONGEST_STOPPED)
        elif request := _stopped_request(event, talk):
            what, last = f"the work on {quote(request, LONGEST_STOPPED)}", True
        else:
            continue
        text = f"the user stopped {what} at {to_datetime(event.at):%H:%M}"
        id_, score = item_id(state.session, "refused", str(event.seq)), WEIGHTS["refused"] * worth
        label = "todo" if last else "open"
        items.append(
            Item(id_, "OPEN", "refused", text, score, state.session, event.seq, "user", label, at=event.at)
        )
    return items


def _first_line(command: str) -> str:
    """The first line of a command, with the commit message of a here-document."""
    if message := HEREDOC.search(command):
        command = f"{command[: message.start()]}{message[1]}"
    return shortened(command.strip().partition("\n")[0], LONGEST_STOPPED)


def _stopped_request(event: Event, talk: Sequence[Utterance]) -> str:
    """The request whose work ended with a refused call, or an empty string.

    Words of the user right after the call say how to go on instead.
    """
    before = [said for said in talk if said.seq < event.seq and said.role in USER_ROLES]
    after = next((said for said in talk if said.seq > event.seq), None)
    if not before or (after is not None and (after.role in ANSWERS or after.at - event.at < PAUSE)):
        return ""
    return compact_request(shortened(" ".join(before[-1].text.split()), LONGEST_STOPPED))


def added_items(state: SessionState, names: list[str], since: int, worth: float) -> list[Item]:
    """The names that a session added to code: the first few, then some more."""
    items = []
    for nth, part in enumerate((names[:FIRST_ADDED], names[FIRST_ADDED:MAX_ADDED])):
        if not part:
            continue
        text = ", ".join(neutral(name) for name in part)
        score = WEIGHTS["added"] * worth * (0.4 if nth else 1.0)
        id_ = f"{state.session[:8]}:added:{since}{'.more' if nth else ''}"
        items.append(Item(id_, "DONE", "added", text, score, state.session, since, "local", LABELS["added"]))
    return items
