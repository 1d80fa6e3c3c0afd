"""What a fork begins with: where its parent stood, with calls that never finished told as interrupted."""

from __future__ import annotations

from dataclasses import replace

from fazm_memory.model.builder import Builder, short
from fazm_memory.model.state import INT_KEYED, SessionState

NAMED = ("pending_actions", "facts", "questions")  # kept by a name, with the position they come from


def interrupted(state: SessionState) -> SessionState:
    """The same state with calls that never finished told as interrupted: how a fork in mid-action begins."""
    if not state.running:
        return state
    b = Builder(state)
    for call, entry in state.running.items():
        why = f"call {call} never finished"
        told = {"seq": entry["seq"], "tool": entry["tool"], "outcome": "interrupted", "error": short(why)}
        b.put("errors", entry["seq"], told | {"mended_by": None})
    b.running = {}
    return b.freeze()


def inherited(state: SessionState, session: str) -> SessionState:
    """Where a fork begins: its parent's state under its own name, open, with nothing running.

    What is kept by position is counted back from the fork and says whose it is, so that the fork's own
    positions, which begin at 0 again, never push it out.
    """
    b = Builder(interrupted(state))
    b.doubts = {}  # whoever goes on from here does so on the word of who forked
    for name in INT_KEYED:
        table = b.__dict__[name]
        b.__dict__[name] = {seq - b.at: {"session": b.session} | entry for seq, entry in table.items()}
    for name in NAMED:
        table = b.__dict__[name]
        b.__dict__[name] = {key: {"session": b.session} | entry for key, entry in table.items()}
    b.files_modified = {
        path: entry if entry.session is not None else replace(entry, session=b.session)
        for path, entry in b.files_modified.items()
    }
    b.session, b.at, b.lifecycle = session, 0, "open"
    return b.freeze()
