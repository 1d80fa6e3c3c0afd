"""Taking up a session again: by the agent itself, else a new session with the briefing, else the clipboard.

Each step down says why the one before could not be taken. Nothing is started here: the command is given to
whoever asked.
"""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Any

from fazm_memory.log.paths import effective
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.recall.resume_command import (
    ANEW,
    COMMANDS,
    NOT_AN_ID,
    RESUMABLE,
    none_of_its_own,
    resume_command,
    went_back,
)

LONGEST_BRIEFING = 20_000  # characters; the command line of a program holds no novel


def offer(store: Store, row: SessionRow, briefing: str) -> dict[str, Any]:
    """How this session would be taken up here and now: `took` says by which way, `why` why by no better."""
    there = row.workspace is not None and os.path.isdir(row.workspace)
    cwd = row.workspace if there else None
    told: dict[str, Any] = {"session": row.id, "briefing": briefing, "cwd": cwd}
    exact = _why_not_exact(store, row, there)
    if exact is None:
        command = resume_command(row.agent, row.agent_session_id, row.workspace)
        return {**told, "command": command, "took": "exact", "why": "the agent has this session itself"}
    program = _program(row.agent)
    if program is not None and shutil.which(program) is not None:
        text = shlex.quote(briefing[:LONGEST_BRIEFING].replace("\0", ""))
        command = ANEW[row.agent].format(text=text)
        begin = f"cd {shlex.quote(cwd)} && {command}" if cwd else command
        why = f"{exact}, so a new session is given the briefing"
        return {**told, "command": begin, "took": "briefing", "why": why}
    return {
        **told,
        "command": None,
        "took": "clipboard",
        "why": f"{exact}, so the briefing goes by hand",
    }


def _why_not_exact(store: Store, row: SessionRow, there: bool) -> str | None:
    """Why the agent itself cannot resume this session; None when it can."""
    program = _program(row.agent)
    if program is None or row.agent_session_id is None or row.agent not in COMMANDS:
        return none_of_its_own(row.agent)
    if not RESUMABLE(row.agent_session_id):
        return NOT_AN_ID
    if shutil.which(program) is None:
        return f"{program} is not installed here"
    if not there:
        return f"the folder it worked in is gone ({row.workspace or 'unknown'})"
    if (gone := record_gone(store, row)) is not None:
        return f"its own record is gone ({gone})"
    if (to := rewound_to(store, row)) is not None:
        return went_back(to)
    return None


def record_gone(store: Store, row: SessionRow) -> str | None:
    """The agent's record of the session, when we have read it and it is no longer there."""
    rows = store.db.execute(
        "SELECT path FROM cursor WHERE agent=? AND instr(path, ?) > 0", (row.agent, row.agent_session_id)
    ).fetchall()
    paths = [str(path) for (path,) in rows]
    return paths[0] if paths and not any(os.path.exists(path) for path in paths) else None


def rewound_to(store: Store, row: SessionRow) -> int | None:
    """Where a rewind left the session, when its agent has not gone on from there: then what the agent would
    take up is what was rewound."""
    rewind = store.db.execute(
        "SELECT seq, target FROM rewind WHERE session=? ORDER BY seq DESC LIMIT 1", (row.n,)
    ).fetchone()
    if rewind is None:
        return None
    told = store.db.execute(
        "SELECT id FROM event WHERE id >= ? AND id < ? AND kind IN ('prompt', 'message', 'action')"
        " ORDER BY id DESC LIMIT 1",
        (event_id(row.n, 0), event_id(row.n, row.head)),
    ).fetchone()
    last = -1 if told is None else int(told[0]) & SEQ_MASK
    counts = any(start <= last < stop for start, stop in effective(store.db, row.n, row.head))
    return None if last < 0 or counts else int(rewind[1])


def _program(agent: str) -> str | None:
    command = ANEW.get(agent)
    return None if command is None else command.split()[0]
