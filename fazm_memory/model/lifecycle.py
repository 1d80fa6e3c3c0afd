"""The life of a session as one transition table: open, active, paused, resumed, closed, archived.

`activity` is anything that is not itself a lifecycle move. It wakes an open or resumed session; a paused,
closed or archived one must be resumed first, so that nothing goes on unnoticed in a session put aside.
What the memory notes for its own keeping is neither: it moves no session, wherever that stands.
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
    """The move an event of this kind makes; what is no lifecycle event is activity."""
    return KIND_MOVES.get(kind, "activity")


KIND_MOVES: dict[str, Move] = {
    "session.pause": "pause",
    "session.resume": "resume",
    "session.close": "close",
    "session.archive": "archive",
    "session.restore": "restore",
}


# Notes of the memory's own keeping, such as those a clean-up leaves: nobody took up work.
KEEPING = frozenset({"checkpoint", "forgotten", "quarantine", "recovered"})


def moved(state: Lifecycle, kind: str) -> Lifecycle | None:
    """Where an event of this kind leaves a session, or None when the table refuses it."""
    # An opening told again says more of a session and moves nothing.
    return state if kind == "session.open" or kind in KEEPING else after(state, move_of(kind))


def after(state: Lifecycle, move: Move) -> Lifecycle | None:
    """The next state, or None when the table refuses the move."""
    return TRANSITIONS.get((state, move))


def refusal(state: Lifecycle, move: Move) -> str:
    """Why the move is refused, in words for a person. Only for moves the table does not have."""
    return REFUSALS.get((state, move), f"a session that is {state} cannot be {PAST[move]}")


PAST: dict[Move, str] = {
    "activity": "written to",
    "pause": "paused",
    "resume": "resumed",
    "close": "closed",
    "archive": "archived",
    "restore": "restored",
}
