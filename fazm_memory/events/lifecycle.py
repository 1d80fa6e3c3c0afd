"""The lifecycle of a session as one transition table.

`activity` is any event that is not a lifecycle move. It activates an open or resumed session. A paused,
closed or archived session must be resumed first, so that no work goes on unnoticed. Maintenance events, such
as those of a clean-up, move no session.
"""

from __future__ import annotations

from typing import Literal, get_args

Lifecycle = Literal["open", "active", "paused", "resumed", "closed", "archived"]
Move = Literal["activity", "pause", "resume", "close", "archive", "restore"]

LIFECYCLES: tuple[Lifecycle, ...] = get_args(Lifecycle)
MOVES: tuple[Move, ...] = get_args(Move)

TRANSITIONS: dict[tuple[Lifecycle, Move], Lifecycle] = {
    ("open", "activity"): "active",
    ("open", "pause"): "paused",
    ("open", "close"): "closed",
    ("active", "activity"): "active",
    ("active", "pause"): "paused",
    ("active", "close"): "closed",
    ("paused", "resume"): "resumed",
    ("paused", "close"): "closed",
    ("resumed", "activity"): "active",
    ("resumed", "pause"): "paused",
    ("resumed", "close"): "closed",
    ("closed", "resume"): "resumed",
    ("closed", "archive"): "archived",
    ("archived", "restore"): "closed",
}

REFUSALS: dict[tuple[Lifecycle, Move], str] = {
    ("open", "resume"): "it has not been paused; just go on",
    ("active", "resume"): "it is not paused; just go on",
    ("resumed", "resume"): "it is resumed already; just go on",
    ("paused", "pause"): "it is paused already",
    ("closed", "pause"): "it is closed; resume it to go on, then pause",
    ("closed", "close"): "it is closed already",
    ("paused", "activity"): "it is paused; resume it before going on",
    ("closed", "activity"): "it is closed; resume it before going on",
    ("archived", "activity"): "it is archived; restore it, then resume it",
    ("archived", "resume"): "it is archived; restore it first",
    ("archived", "archive"): "it is archived already",
    ("archived", "close"): "it is archived, so it is closed already",
    ("archived", "pause"): "it is archived; restore and resume it first",
    ("open", "archive"): "it is still open; close it first",
    ("active", "archive"): "it is still active; close it first",
    ("paused", "archive"): "it is only paused; close it first",
    ("resumed", "archive"): "it is in use; close it first",
}


def move_of(kind: str) -> Move:
    """The move of an event kind."""
    return KIND_MOVES.get(kind, "activity")


KIND_MOVES: dict[str, Move] = {
    "session.pause": "pause",
    "session.resume": "resume",
    "session.close": "close",
    "session.archive": "archive",
    "session.restore": "restore",
}


MAINTENANCE_KINDS = frozenset({"checkpoint", "forgotten", "quarantine", "recovered"})


def after_event(state: Lifecycle, kind: str) -> Lifecycle | None:
    """The state of a session after an event of this kind, or None if the event is refused."""
    # A second opening adds details and moves nothing.
    return state if kind == "session.open" or kind in MAINTENANCE_KINDS else after_move(state, move_of(kind))


def after_move(state: Lifecycle, move: Move) -> Lifecycle | None:
    """The next state, or None if the move is refused."""
    return TRANSITIONS.get((state, move))


def refusal_reason(state: Lifecycle, move: Move) -> str:
    """Why a move that the table does not have is refused, for a person."""
    return REFUSALS.get((state, move), f"a session that is {state} cannot be {PAST_PARTICIPLES[move]}")


PAST_PARTICIPLES: dict[Move, str] = {
    "activity": "written to",
    "pause": "paused",
    "resume": "resumed",
    "close": "closed",
    "archive": "archived",
    "restore": "restored",
}


REPLACED = ("clear", "replaced", "new session", "new context", "compact")
LEFT = ("exit", "logout", "quit", "prompt_input_exit")


def end_of(reason: str | None) -> str:
    """How a session ended: `exit`, `replaced` or `closed`."""
    text = (reason or "").lower()
    if any(word in text for word in REPLACED):
        return "replaced"
    return "exit" if any(word in text for word in LEFT) else "closed"
