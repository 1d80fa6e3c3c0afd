"""SessionState: the state of a session as a bounded value.

Its size does not grow with the log, so a snapshot stays small and a step cheap. Tables keep their newest
entries and count the rest in `omitted`. The log has them all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fazm_memory.clock import iso
from fazm_memory.errors import InvalidTransition
from fazm_memory.events import By, Change, Lifecycle, canonical_json
from fazm_memory.records import dataclass, field, fields, replace
from fazm_memory.session.repository import uncommitted_files
from fazm_memory.session.upcoming import next_steps

if TYPE_CHECKING:
    from fazm_memory.events import Event


@dataclass(frozen=True, slots=True)
class FileAuthor:
    """The last change of a file by one author.

    `turn` is that of the call that made it. A rename has the names that the author gave it: somebody else may
    have renamed or deleted the file since.
    """

    by: By
    change: Change
    evidence: str
    seq: int
    turn: int | None = None
    session: str | None = None
    path: str | None = None
    origin: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "change": self.change,
            "evidence": self.evidence,
            "seq": self.seq,
            "turn": self.turn,
            **({} if self.session is None else {"session": self.session}),
            **({} if self.path is None else {"path": self.path, "from": self.origin}),
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> FileAuthor:
        return cls(
            raw["by"], raw["change"], raw["evidence"], raw["seq"], raw.get("turn"), raw.get("session"),
            raw.get("path"), raw.get("from"),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One changed file, as in `files_modified`.

    `was` is an earlier change of a renamed file, which stays when the file is renamed back. `doubted_by` is
    the position of the untrusted call that may have led to the last change. `session` is set when the
    position belongs to the parent of a fork. `changed_by` has the last change of each author, if there is
    more than one.
    """

    path: str
    change: Change
    origin: str | None
    by: By
    evidence: str
    seq: int
    was: Change | None = None
    session: str | None = None
    doubted_by: int | None = None
    turn: int | None = None
    changed_by: tuple[FileAuthor, ...] = ()

    def authors(self) -> tuple[FileAuthor, ...]:
        """The last change of each author, the latest author last."""
        named = (self.path, self.origin) if self.change == "renamed" else (None, None)
        own = FileAuthor(self.by, self.change, self.evidence, self.seq, self.turn, self.session, *named)
        return self.changed_by or (own,)

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "change": self.change,
            "from": self.origin,
            "by": self.by,
            "evidence": self.evidence,
            "seq": self.seq,
            "turn": self.turn,
            **({} if self.was is None else {"was": self.was}),
            **({} if self.session is None else {"session": self.session}),
            **({} if self.doubted_by is None else {"doubted_by": self.doubted_by}),
            **({} if not self.changed_by else {"changed_by": [one.to_json() for one in self.changed_by]}),
        }

    def json_by(self, by: By) -> dict[str, Any] | None:
        """The entry as this author left it; None if the author did not change the file."""
        if by == self.by and not self.changed_by:
            return self.to_json()
        found = next((author for author in self.changed_by if author.by == by), None)
        return None if found is None else self.to_json() | found.to_json()

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> FileEntry:
        return cls(
            raw["path"], raw["change"], raw["from"], raw["by"], raw["evidence"], raw["seq"],
            raw.get("was"), raw.get("session"), raw.get("doubted_by"), raw.get("turn"),
            tuple(FileAuthor.from_json(author) for author in raw.get("changed_by", ())),
        )  # fmt: skip


def parent_folder(path: str) -> str:
    """The folder of a path, from its text alone."""
    head, _, _ = path.rstrip("/").rpartition("/")
    return head or ("/" if path.startswith("/") else ".")


def apply_change(
    files: dict[str, FileEntry],
    path: str,
    change: Change,
    *,
    origin: str | None,
    by: By,
    evidence: str,
    seq: int,
    doubted_by: int | None = None,
    turn: int | None = None,
) -> None:
    """Add one change to the net changes. The newest entry is last."""
    before = files.pop(path, None)
    moved: FileEntry | None = None
    named = (path, origin) if change == "renamed" else (None, None)
    latest = FileAuthor(by, change, evidence, seq, turn, None, *named)

    def put(path: str, change: Change, origin: str | None = None, was: Change | None = None) -> None:
        authors = _authors(latest, before, moved)
        files[path] = FileEntry(
            path, change, origin, by, evidence, seq, was, doubted_by=doubted_by, turn=turn, changed_by=authors
        )

    if change == "renamed" and origin is not None and origin != path:
        moved = files.pop(origin, None)
        first, was = origin, None
        if moved is not None and moved.change == "renamed":
            first, was = moved.origin or origin, moved.was
        elif moved is not None and moved.change != "deleted":
            was = moved.change
        if first != path:
            put(path, "renamed", first, was)
        elif was is not None:
            put(path, was)
        return  # renamed back without another change: no net change
    if before is not None and change == "modified" and before.change in ("created", "renamed"):
        was = before.was or ("modified" if before.change == "renamed" else None)
        put(path, before.change, before.origin, was)
        return
    if before is not None and change == "created" and before.change == "deleted":
        change = "modified"  # deleted and created again
    if before is not None and change == "deleted" and before.change == "renamed":
        # People know the file by its first name.
        first = before.origin or path
        taken = files.pop(first, None)
        gone = taken is None or taken.change == "deleted"  # otherwise a new file has that name now
        put(first, "deleted" if gone else "modified")
        return
    put(path, change)


def _authors(latest: FileAuthor, *entries: FileEntry | None) -> tuple[FileAuthor, ...]:
    """The last change of each author with this one; empty if there is one author."""
    authors = {author.by: author for entry in entries if entry is not None for author in entry.authors()}
    own = authors.pop(latest.by, None)
    if own is not None and latest.change == "modified" and own.change in ("created", "renamed"):
        latest = replace(latest, change=own.change, path=own.path, origin=own.origin)
    elif own is not None and (own.change, latest.change) == ("deleted", "created"):
        latest = replace(latest, change="modified")  # it deleted the file and created it again
    return (*authors.values(), latest) if authors else ()


FOLD_VERSION = 28  # snapshots of another version are not used

BOUNDS: dict[str, int] = {
    "tools_used": 200,
    "files_modified": 1000,
    "files_read": 300,
    "folders": 200,
    "apps": 50,
    "decisions_made": 200,
    "pending_actions": 200,
    "facts": 300,
    "errors": 50,
    "evicted_keys": 300,
    "seen": 50,
    "running": 100,
    "questions": 50,
    "answered": 50,
    "untrusted": 50,
    "doubts": 16,
    "marks": 100,
    "requests": 20,
    "branches": 20,
    "commits": 50,
    "pull_requests": 20,
    "references": 40,
    "checks": 20,
    "uncommitted": 200,
    "stashed": 200,
    "settled": 100,
    "heads": 60,
    "notes": 20,
    "unresolved": 50,
    "retries": 50,
    "data_sources": 100,
    "artifacts": 8,
    "turn_starts": 64,
}
# No state shows these tables, so `omitted` does not count what they drop.
NOT_SHOWN = frozenset({"doubts", "heads", "settled", "stashed", "turn_starts", "unresolved"})
TEXT_BOUND = 500  # characters of a text in the state
VALUE_BOUND = 4000  # characters of the JSON of a value in the state
MAX_LISTED_FILES = 400
QUARANTINED_CALLS = "held_back"  # stored key in `counts`: quarantined calls that an exported state leaves out


@dataclass(frozen=True)
class SessionState:
    """The state after the first `at` events."""

    session: str = ""
    at: int = 0
    lifecycle: Lifecycle = "open"
    turn: int = 0
    last_at: int = 0
    agent: str = ""
    workspace: str | None = None
    title: str | None = None
    tools_used: dict[str, int] = field(default_factory=dict)
    files_modified: dict[str, FileEntry] = field(default_factory=dict)
    files_read: dict[str, int] = field(default_factory=dict)
    folders: dict[str, dict[str, Any]] = field(default_factory=dict)
    apps: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions_made: dict[int, dict[str, Any]] = field(default_factory=dict)
    pending_actions: dict[str, dict[str, Any]] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: dict[int, dict[str, Any]] = field(default_factory=dict)
    evicted_keys: dict[str, int] = field(default_factory=dict)
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    running: dict[str, dict[str, Any]] = field(default_factory=dict)
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    answered: dict[str, dict[str, Any]] = field(default_factory=dict)
    untrusted: dict[int, dict[str, Any]] = field(default_factory=dict)
    doubts: dict[int, dict[str, Any]] = field(default_factory=dict)  # used by the reducer only
    marks: dict[int, dict[str, Any]] = field(default_factory=dict)
    requests: dict[int, dict[str, Any]] = field(default_factory=dict)
    goal: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None
    todos: list[dict[str, Any]] = field(default_factory=list)
    asking: dict[str, Any] | None = None  # the agent's question that waits for an answer
    passed_over: dict[str, Any] | None = None  # one to which the user replied with a question
    unanswered: dict[str, Any] | None = None  # the request that is worked on
    proposed: dict[str, Any] | None = None  # what the agent's last answer names as next steps
    progress: dict[str, Any] | None = None  # the last phase or step that the agent called done
    last_said: int | None = None  # position of the agent's last message
    worked_at: int = 0  # time of the last call or request
    noting: int | None = None  # the turn in which the user asked to write down where the work stands
    branch: str | None = None
    branches: dict[int, dict[str, Any]] = field(default_factory=dict)
    commits: dict[str, dict[str, Any]] = field(default_factory=dict)
    pull_requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    references: dict[str, dict[str, Any]] = field(default_factory=dict)
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    staged: list[str] = field(default_factory=list)  # arguments of `git add` since the last commit
    uncommitted: dict[str, dict[str, Any]] = field(default_factory=dict)  # `uncommitted_files` judges them
    stashed: dict[str, dict[str, Any]] = field(default_factory=dict)
    settled: dict[str, int] = field(default_factory=dict)  # names without uncommitted changes, and when
    listing: dict[str, Any] | None = None  # the last complete `git status`
    heads: dict[str, int] = field(default_factory=dict)  # beginnings of the commits that are known
    notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    unresolved: dict[int, dict[str, Any]] = field(default_factory=dict)  # what failed calls tried
    retries: dict[int, dict[str, Any]] = field(default_factory=dict)
    data_sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[str, dict[str, Any]] = field(default_factory=dict)
    turn_starts: dict[int, int] = field(default_factory=dict)  # first position of the latest turns
    ending: dict[str, Any] | None = None
    trust: str = "user"
    budget: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    omitted: dict[str, int] = field(default_factory=dict)


INT_KEYED = (
    "decisions_made", "errors", "marks", "requests", "untrusted", "doubts", "branches", "unresolved",
    "retries",
)  # fmt: skip


def changed_files(state: SessionState) -> int:
    """How many files a session changed, with those that the state has dropped."""
    return len(state.files_modified) + state.omitted.get("files_modified", 0)


def to_snapshot(state: SessionState) -> bytes:
    raw = to_plain(state)
    return json.dumps(raw, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def from_snapshot(data: bytes) -> SessionState:
    return from_plain(json.loads(data))


# What no state shows, or what names the session and the moment.
NOT_HASHED = frozenset(
    {
        "session", "at", "last_at", "turn_starts", "doubts", "unresolved", "noting", "staged", "seen",
        "marks",        "stashed", "settled", "listing", "heads", "last_said",
        "worked_at",
    }
)  # fmt: skip


def state_hash(state: SessionState) -> str:
    """A hash that is equal for equal states, on every machine.

    It covers what a state shows, without the session's id, its position and the time of the last event:
    two states without a difference have one hash. It depends on the version of the fold.
    """
    plain = {name: value for name, value in to_plain(state).items() if name not in NOT_HASHED}
    plain["budget"] = budget_json(state.budget, state.counts.get("actions", 0), state.last_at)
    return hashlib.sha256(canonical_json([FOLD_VERSION, plain])).hexdigest()


def to_plain(state: SessionState) -> dict[str, Any]:
    """The whole state as values that JSON can represent."""
    raw = dict(state.__dict__)
    raw["files_modified"] = [entry.to_json() for entry in state.files_modified.values()]
    for name in (*INT_KEYED, "turn_starts"):
        raw[name] = {str(key): value for key, value in raw[name].items()}
    return raw


def from_plain(plain: Mapping[str, Any]) -> SessionState:
    """The state from `to_plain`.

    A field that an older program did not write gets its default.
    """
    raw = {field.name: plain[field.name] for field in fields(SessionState) if field.name in plain}
    raw["files_modified"] = {row["path"]: FileEntry.from_json(row) for row in raw["files_modified"]}
    for name in (*INT_KEYED, "turn_starts"):
        raw[name] = {int(key): value for key, value in raw.get(name, {}).items()}
    uncommitted: dict[str, Any] = raw.get("uncommitted", {})  # older programs stored only positions
    raw["uncommitted"] = {path: entry for path, entry in uncommitted.items() if isinstance(entry, dict)}
    return SessionState(**raw)


def state_to_json(state: SessionState) -> dict[str, Any]:
    """The state as the CLI, the page and MCP show it."""
    uncommitted = uncommitted_files(state)
    return {
        "session": state.session,
        "at": state.at,
        "lifecycle": state.lifecycle,
        "turn": state.turn,
        "agent": state.agent,
        "workspace": state.workspace,
        "title": state.title,
        "last_at": iso(state.last_at) if state.last_at else None,
        "ended": None if state.ending is None else state.ending["how"],
        "goal": _dated(state.goal),
        "requests": [row | {"at": iso(row["at"])} for row in state.requests.values()],
        "tools_used": dict(sorted(state.tools_used.items(), key=lambda item: (-item[1], item[0]))),
        "files_modified": [entry.to_json() for entry in state.files_modified.values()],
        "files_read": list(state.files_read),
        "folders": [{"path": path, **entry} for path, entry in state.folders.items()],
        "apps": [{"app": app, **entry} for app, entry in state.apps.items()],
        "decisions_made": [row | {"at": iso(row["at"])} for row in state.decisions_made.values()],
        "pending_actions": list(state.pending_actions.values()),
        "plan": _dated(state.plan),
        "todos": [_dated(row) for row in state.todos],
        "questions": waiting_questions(state),
        "next": next_steps(state),
        "branch": state.branch,
        "branches": [_dated(row) for row in state.branches.values()],
        "commits": [_dated(row) for row in state.commits.values()],
        "pull_requests": [_dated(row) for row in state.pull_requests.values()],
        "references": [_dated(row) for row in state.references.values()],
        "checks": [_dated(row) for row in state.checks.values()],
        "uncommitted": list(uncommitted),
        "uncommitted_as_of": _earliest(uncommitted),
        "notes": [_dated(row) for row in state.notes.values()],
        "facts": dict(state.facts),
        "errors": list(state.errors.values()),
        "retries": list(state.retries.values()),
        "data_sources": [_dated(row) for row in state.data_sources.values()],
        "artifacts": [_dated(row) for row in state.artifacts.values()],
        "evicted_keys": list(state.evicted_keys),
        "evicted": [{"key": key, "seq": seq} for key, seq in state.evicted_keys.items()],
        "running": [
            {"call_id": call, **entry, "at": iso(entry["at"])} for call, entry in state.running.items()
        ],
        "open_questions": list(state.questions.values()),
        "answered_questions": [row | {"at": iso(row["at"])} for row in state.answered.values()],
        "untrusted": list(state.untrusted.values()),
        "trust": state.trust,
        "budget": budget_json(state.budget, state.counts.get("actions", 0), state.last_at),
        "counts": dict(state.counts),
        "omitted": dict(state.omitted),
    }


def waiting_questions(state: SessionState) -> list[dict[str, Any]]:
    """The agent's questions without an answer, the last one first.

    Each has `text`, `form` ("question", "choice" of a tool that asks, "plan" that waits for approval),
    `status`, `about` (the request after which it was asked), `at`, `seq`, `asked_by`, `trust` and perhaps
    `options`: label and text. The status is "waiting", or "passed_over" if the user replied with a question
    and nothing was changed since. Only one of these is known, and only while none is waiting.
    """
    asked = state.asking or state.passed_over
    if asked is None:
        return []
    shared = {name: value for name, value in asked.items() if name != "others"}
    shared["status"] = "waiting" if state.asking is not None else "passed_over"
    requests = [row["text"] for row in state.requests.values() if row["seq"] < asked["seq"] and row["text"]]
    shared["about"] = cut(requests[-1], ABOUT_BOUND) if requests else None
    plain = {name: value for name, value in shared.items() if name not in ("options", "listed")}
    others = [{**plain, **other} for other in asked.get("others", ())]
    return [{**row, "at": iso(row["at"])} for row in (shared, *others)]


def _earliest(uncommitted: Mapping[str, dict[str, Any]]) -> str | None:
    """The time up to which all of these files are known to be uncommitted."""
    return iso(min(entry["as_of"] for entry in uncommitted.values())) if uncommitted else None


def _dated(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if row is None else {**row, "at": iso(row["at"])}


def check_answered(session: str, questions: Iterable[Mapping[str, Any]]) -> None:
    """Raise InvalidTransition while one of the open questions is for a person."""
    waiting = [question for question in questions if question["to"] == "human"]
    if waiting:
        raise InvalidTransition(
            f"session {session[:8]} waits for a person: {waiting[0]['note']}",
            hint="a person answers it in the timeline, the menu bar or the terminal",
            details={"session": session, "open_questions": [question["id"] for question in waiting]},
        )


ABOUT_BOUND = 200  # characters of the request that a question is about
COPIED = (*BOUNDS, "budget", "counts", "omitted")


class StateBuilder:
    """A mutable copy of a state, for one call of `fold`."""

    def __init__(self, base: SessionState) -> None:
        self.__dict__.update(base.__dict__)
        for name in COPIED:
            self.__dict__[name] = dict(getattr(base, name))

    if TYPE_CHECKING:  # the fields of SessionState, writable

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def freeze(self) -> SessionState:
        return SessionState(**self.__dict__)

    def put(self, name: str, key: Any, value: Any) -> None:
        """Add an entry as the newest. Beyond the bound the oldest is dropped and counted."""
        table: dict[Any, Any] = self.__dict__[name]
        table.pop(key, None)
        table[key] = value
        self.trim(name)

    def trim(self, name: str) -> None:
        table: dict[Any, Any] = self.__dict__[name]
        while len(table) > BOUNDS[name]:
            del table[next(iter(table))]
            if name not in NOT_SHOWN:
                self.omitted[name] = self.omitted.get(name, 0) + 1

    def link(self, entry: Mapping[str, Any], what: str, by: int) -> dict[str, Any]:
        """The link of an entry to a later event.

        It names the session of the event if the entry is of a fork's parent.
        """
        return {f"{what}_by": by} | ({f"{what}_in": self.session} if "session" in entry else {})

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by


def bounded_text(text: str | None) -> str | None:
    return text if text is None or len(text) <= TEXT_BOUND else text[: TEXT_BOUND - 1] + "…"


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def bounded_value(value: Any) -> Any:
    """The value, or the beginning of its JSON when it is too large for a state."""
    if isinstance(value, str):
        return bounded_text(value)
    if isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False)
        return value if len(text) <= VALUE_BOUND else bounded_text(text)
    return value


# The budget of a session: limits of tokens, money, time and actions, and what was spent of them.
#
# The time is that between the opening and the last event, without the time the session was paused or closed.
# The state stores the parts from which everything here is computed.

TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
# The stored name of each limit. `limit` is that of tokens, which came first.
LIMITS = {"tokens": "limit", "usd": "limit_usd", "seconds": "limit_seconds", "actions": "limit_actions"}
FIELDS = {"tokens": "budget_tokens", "usd": "budget_usd", "seconds": "budget_seconds",
          "actions": "budget_actions"}  # fmt: skip
HIDDEN = frozenset({"began_at", "paused_at", "paused"})
MOST_USD = 1e12
SECOND = 1_000_000


def take_limits(budget: dict[str, Any], payload: Any) -> None:
    """Set the limits that an opening or a usage states."""
    for what, name in FIELDS.items():
        if (limit := getattr(payload, name)) is not None:
            budget[LIMITS[what]] = limit


def take_usage(budget: dict[str, Any], usage: Any) -> None:
    for name in TOKENS:
        budget[name] = budget.get(name, 0) + getattr(usage, name)
    if usage.cost_usd is not None:
        budget["cost_usd"] = round(min(MOST_USD, budget.get("cost_usd", 0.0) + usage.cost_usd), 6)
    take_limits(budget, usage)


def take_time(budget: dict[str, Any], event: Event, lifecycle: str) -> None:
    """Follow the time that a session works. `lifecycle` is that after the event.

    A person can answer a question in a pause, and a watcher can see a file change there.
    """
    if "began_at" not in budget:
        budget["began_at"] = event.at
    if lifecycle in ("paused", "closed", "archived"):
        budget.setdefault("paused_at", event.at)
    elif (since := budget.pop("paused_at", None)) is not None:
        budget["paused"] = budget.get("paused", 0) + max(0, event.at - since)


def has_limits(payload: Any) -> bool:
    return any(getattr(payload, name) is not None for name in FIELDS.values())


def budget_json(budget: dict[str, Any], actions: int, last_at: int) -> dict[str, Any]:
    """The budget as shown: what was spent, and each limit.

    A limit has what remains and whether it is exceeded.
    """
    stored = {name: value for name, value in budget.items() if name not in HIDDEN}
    until = budget.get("paused_at", last_at)
    elapsed = max(0, until - budget.get("began_at", until) - budget.get("paused", 0))
    limits = {what: budget[name] for what, name in LIMITS.items() if name in budget}
    if not stored:
        return {}
    spent: dict[str, Any] = {
        # Cached tokens are part of the input where agents report them, so they are not added again.
        "tokens": budget.get("input_tokens", 0) + budget.get("output_tokens", 0),
        "usd": budget.get("cost_usd", 0.0),
        "seconds": elapsed // SECOND,
        "actions": actions,
    }
    remaining = {what: round(limit - spent[what], 6) for what, limit in limits.items()}
    return {
        **stored,
        "spent": {what: sum_ for what, sum_ in spent.items() if what in limits or what in ("tokens", "usd")},
        "limits": limits,
        "remaining": remaining,
        "exceeded": [what for what, left in remaining.items() if left < 0],
    }


def budget_now(state: SessionState, now: int) -> dict[str, Any]:
    """The budget of a state as of now: the time goes on after its last event."""
    return budget_json(state.budget, state.counts.get("actions", 0), max(now, state.last_at))


def fits(budget: dict[str, Any], step: dict[str, Any]) -> dict[str, bool]:
    """For each limit, whether a step of this size stays within it."""
    return {what: left >= step.get(what, 0) for what, left in budget["remaining"].items()}
