"""Taking up a session again from a click: the agent's own resume, else a new session with a briefing, else
the briefing on the clipboard; and always the word which of them it was.

A terminal is given a small script to open, not text to type: whatever shell the user has, whatever a folder
is called, the words of the script are read by `sh` alone. It removes itself before it does anything else.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fazm_memory.memory import Memory
from fazm_memory.private import private_folder, write_private
from fazm_memory.recall.resume_command import (
    ANEW,
    COMMANDS,
    NOT_AN_ID,
    RESUMABLE,
    none_of_its_own,
    went_back,
)
from fazm_memory.recall.resuming import LONGEST_BRIEFING, record_gone, rewound_to

Took = Literal["exact", "briefing", "clipboard"]

FAZM = "fazm"
FOLDER = "resume"
FAZM_FIRST = "Please take up this task again.\n\n"


@dataclass(frozen=True)
class Offer:
    """What is known of a session that somebody wants to go on with."""

    session: str
    agent: str
    agent_session_id: str | None
    title: str | None
    cwd: str | None
    briefing: str
    gone: str | None = None  # the agent's own record of it, when that is no longer there
    rewound: int | None = None  # where a rewind left it, when the agent's record goes on past that


@dataclass(frozen=True)
class Step:
    """One way to take it up: a script for a terminal, or messages to Fazm; `why` when it is not the best."""

    took: Took
    script: str | None = None
    fazm: tuple[str, ...] = ()
    why: str = ""


def offer_of(memory: Memory, session: str) -> Offer:
    row = memory.store.sessions.resolve(session)
    text = memory.briefing(row.id).text[:LONGEST_BRIEFING]
    gone, rewound = record_gone(memory.store, row), rewound_to(memory.store, row)
    return Offer(row.id, row.agent, row.agent_session_id, row.title, row.workspace, text, gone, rewound)


def steps(offer: Offer, is_folder: Callable[[str], bool]) -> list[Step]:
    """The ways to go on, best first; the last one, the clipboard, always works."""
    found: list[Step] = []
    there = offer.cwd is not None and is_folder(offer.cwd)
    exact = COMMANDS.get(offer.agent)
    why = ""
    if offer.agent == FAZM:
        why = "Fazm has no way to reopen one of its chats, so a new one is given the briefing"
        place = (f"setWorkspace:{offer.cwd}",) if there else ()
        messages = (*place, "newPopOutChat", f"sendFollowUp:{FAZM_FIRST}{offer.briefing}")
        found.append(Step("briefing", fazm=messages, why=why))
        why = "Fazm did not answer"
    elif exact is None or offer.agent_session_id is None:
        why = none_of_its_own(offer.agent)
    elif not RESUMABLE(offer.agent_session_id):
        why = NOT_AN_ID
    elif not there:
        why = f"the folder it worked in is gone: {offer.cwd or 'unknown'}"
    elif offer.gone is not None:
        why = f"its own record is gone: {offer.gone}"
    elif offer.rewound is not None:
        why = went_back(offer.rewound)
    else:
        command = exact.format(id=quoted(offer.agent_session_id))
        found.append(Step("exact", script=script(command, offer.cwd)))
    if (anew := ANEW.get(offer.agent)) is not None:
        command = anew.format(text=quoted(offer.briefing))
        found.append(Step("briefing", script=script(command, offer.cwd if there else None), why=why))
    return [*found, Step("clipboard", why=why)]


def script(command: str, cwd: str | None) -> str:
    """A script for a terminal; `command` is quoted already."""
    program = shlex.split(command)[0]
    lines = [
        "#!/bin/sh",
        "# Made by Fazm Memory to take up a session again. It removes itself.",
        'rm -f -- "$0"',
        *([] if cwd is None else [f"cd -- {quoted(cwd)} || exit 1"]),
        f"command -v {program} >/dev/null || {{",
        f"  echo {quoted(f'{program} was not found. What it should know is on the clipboard.')}; exit 127",
        "}",
        f"exec {command}",
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A word for `sh` that is this text and nothing else. What no argument can hold is left out."""
    return shlex.quote(text.replace("\0", ""))


def keep_script(home: Path, text: str) -> Path:
    """The script as a file that only its owner may read and run, under a name nobody can guess."""
    folder = private_folder(home / FOLDER)
    for old in folder.glob("*.command"):  # those that no terminal ever opened
        old.unlink(missing_ok=True)
    path = folder / f"resume-{secrets.token_hex(8)}.command"
    write_private(path, text.encode("utf-8", "surrogateescape"), sync=False)
    path.chmod(0o700)
    return path
