"""Mends: commands that failed and then worked, and what was done between.

Read from the log around each failure that a session's state remembers: a bounded number of events after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.model.events import target_of
from fazm_memory.model.state import SessionState

AFTER = 40  # events after a failure in which it may have been mended
SETTING = re.compile(r"\w+=\S*")
WORD = re.compile(r"[a-z][\w:-]*")


@dataclass(frozen=True)
class Mend:
    """One failure: which command, why, and (when it worked later) what came between."""

    command: str
    error: str
    session: str
    seq: int
    at: int
    worked_at: int | None
    by: tuple[str, ...]


def command_of(tool: str, target: str) -> str:
    """The command of a call without its arguments: `npm test`, `git push`, or the tool's own name."""
    words = [word for word in target.split() if not SETTING.fullmatch(word)]
    if tool not in SHELLS or not words:
        return tool
    program = words[0].rsplit("/", 1)[-1]
    second = words[1] if len(words) > 1 and WORD.fullmatch(words[1]) else ""
    return f"{program} {second}".strip()


SHELLS = frozenset(
    {"Bash", "bash", "shell", "exec_command", "run_shell_command", "local_shell", "run_in_terminal"}
)


def mends_of(store: Store, row: SessionRow, state: SessionState) -> Iterator[Mend]:
    """The failures of one session and what mended each; failures in a row are one."""
    covered = -1
    for error in state.errors.values():
        if error["seq"] <= covered or not error["tool"] or error.get("session"):
            continue
        mend = _mend(store, row, error["seq"])
        if mend is not None:
            covered = mend.worked_at if mend.worked_at is not None else error["seq"]
            yield mend


def _mend(store: Store, row: SessionRow, seq: int) -> Mend | None:
    events = store.ward.events(row.n, store.log.slice(row.n, row.id, seq, min(row.head, seq + AFTER)))
    failed = events[0] if events else None
    if failed is None or failed.kind != "action" or failed.payload is None:
        return None
    command = command_of(failed.payload.tool, target_of(failed.payload.input))
    between: list[str] = []
    for event in events[1:]:
        if event.kind != "action" or event.payload is None or event.payload.outcome != "ok":
            continue
        target = target_of(event.payload.input)
        if command_of(event.payload.tool, target) == command:
            by = (*between[-3:],) or ((target,) if target != target_of(failed.payload.input) else ())
            return Mend(command, failed.payload.error or "", row.id, seq, failed.at, event.seq, by)
        between.append(f"{event.payload.tool} {target}".strip())
    return Mend(command, failed.payload.error or "", row.id, seq, failed.at, None, ())
