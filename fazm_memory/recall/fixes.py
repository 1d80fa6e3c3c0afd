"""Commands that failed and later worked, and what was done in between."""

from __future__ import annotations

from collections.abc import Iterator

from fazm_memory.events import target_of
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass
from fazm_memory.session import SessionState
from fazm_memory.store import SessionRow, Store

AFTER = 40  # events after a failure that are searched for the fix
SETTING = lazy_regex(r"\w+=\S*")
WORD = lazy_regex(r"[a-z][\w:-]*")


@dataclass(frozen=True)
class Fix:
    """A failed command and, if it worked later, the calls in between."""

    command: str
    error: str
    session: str
    seq: int
    at: int
    worked_at: int | None
    by: tuple[str, ...]


def command_name(tool: str, target: str) -> str:
    """The command of a call without its arguments, such as `npm test`.

    Or the tool's own name.
    """
    words = [word for word in target.split() if not SETTING.fullmatch(word)]
    if tool not in SHELLS or not words:
        return tool
    program = words[0].rsplit("/", 1)[-1]
    second = words[1] if len(words) > 1 and WORD.fullmatch(words[1]) else ""
    return f"{program} {second}".strip()


SHELLS = frozenset(
    {"Bash", "bash", "shell", "exec_command", "run_shell_command", "local_shell", "run_in_terminal"}
)


def fixes_of(store: Store, row: SessionRow, state: SessionState) -> Iterator[Fix]:
    """The failures of a session with their fixes. Failures in a row count once."""
    covered = -1
    for error in state.errors.values():
        if error["seq"] <= covered or not error["tool"] or error.get("session"):
            continue
        fix = _find_fix(store, row, error["seq"])
        if fix is not None:
            covered = fix.worked_at if fix.worked_at is not None else error["seq"]
            yield fix


def _find_fix(store: Store, row: SessionRow, seq: int) -> Fix | None:
    events = store.quarantine_view.events(
        row.n, store.log.slice(row.n, row.id, seq, min(row.head, seq + AFTER))
    )
    failed = events[0] if events else None
    if failed is None or failed.kind != "action" or failed.payload is None:
        return None
    command = command_name(failed.payload.tool, target_of(failed.payload.input))
    between: list[str] = []
    for event in events[1:]:
        if event.kind != "action" or event.payload is None or event.payload.outcome != "ok":
            continue
        target = target_of(event.payload.input)
        if command_name(event.payload.tool, target) == command:
            by = (*between[-3:],) or ((target,) if target != target_of(failed.payload.input) else ())
            return Fix(command, failed.payload.error or "", row.id, seq, failed.at, event.seq, by)
        between.append(f"{event.payload.tool} {target}".strip())
    return Fix(command, failed.payload.error or "", row.id, seq, failed.at, None, ())
