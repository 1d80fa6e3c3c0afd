"""What a session's state means today, after later sessions in the same folder.

A question may have been answered, a plan carried out, a file committed or a decision replaced in another
session. `as_known_later` returns the state without what no longer holds. Like the rules within a session it
prefers to leave a doubtful thing out of "open" rather than to tell something untrue.

A fork shares the past of its parent. Where both are told, `own_part` and `without_handed_over` leave each
thing to one of them: what was done to the session that did it, what is open to the one that was active last.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fazm_memory.records import replace
from fazm_memory.session.dialogue import later_replaces
from fazm_memory.session.reducer import fork_state
from fazm_memory.session.repository import still_uncommitted
from fazm_memory.session.state import SessionState
from fazm_memory.session.upcoming import is_local_command
from fazm_memory.text import content_words

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
    """The state of a fork without what it shares with its parent, whose state it began with is `base`.

    If the fork was active last, it keeps what is still open.
    """
    inherited = fork_state(base, fork.session)
    return (
        _without(fork, inherited, DONE) if is_latest else _without(fork, inherited, DONE + OPEN, OPEN_ALONE)
    )


def without_handed_over(parent: SessionState, base: SessionState) -> SessionState:
    """The state of a parent without what was open where a fork began, if the fork was active last."""
    return _without(parent, base, OPEN, OPEN_ALONE)


def _without(
    state: SessionState, known: SessionState, tables: tuple[str, ...], alone: tuple[str, ...] = ()
) -> SessionState:
    """The state without the entries of tables, and the values, that another state has too."""
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
    """Whether a session began with the plan of this one, or with a plan right after this one ended."""
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
    """Whether a later session met the same failure itself, or passed the check that failed."""
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
