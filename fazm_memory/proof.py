"""Proof that an agent is remembered: its hook is installed, it fires, and what it gives reaches the agent.

Each step is tried, not assumed. The hook is run as the agent would run it, with an event of our own that the
companion knows and drops; whether a context arrived is read in the agent's own transcripts.
"""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fazm_memory.capture import hook_script, recording
from fazm_memory.capture.agents.connect import connected
from fazm_memory.capture.agents.injected import MARK
from fazm_memory.capture.agents.registry import readers
from fazm_memory.capture.hook_events import PROBE
from fazm_memory.capture.instance import running
from fazm_memory.capture.spool import FOLDER as SPOOL
from fazm_memory.capture.spool import Spool
from fazm_memory.joined import AgentHere, joining_of, survey
from fazm_memory.memory import Memory

HOOK_SECONDS = 10.0
TRANSCRIPTS = 20  # the newest ones, in which a context is looked for
LOOK = 2 << 20


@dataclass(frozen=True)
class Proof:
    """One thing tried, in the words of the doctor's checks."""

    name: str
    verdict: Literal["ok", "warning", "broken", "not here"]
    detail: str
    hint: str = ""


def proofs(memory: Memory) -> Iterator[Proof]:
    """Every agent in turn; then whether anything waits that nobody takes in."""
    for agent in survey(memory):
        yield from _of(memory, agent)
    yield _spool(memory)
    trouble = memory.config.home / hook_script.FOLDER / "trouble.txt"
    if trouble.exists():
        last = trouble.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        yield Proof(
            "hook", "warning", f"a hook had trouble: {' '.join(last)}", f"the whole of it is in {trouble}"
        )


def _of(memory: Memory, agent: AgentHere) -> Iterator[Proof]:
    if not agent.here:
        yield Proof(agent.agent, "not here", "not found on this machine")
        return
    used = f"last used {agent.last_record}" if agent.last_record else "it has left no records yet"
    if not agent.hooks and agent.joined_words() != "by its records":
        if agent.trouble:  # connecting could not read it either
            hint = f"mend that file in an editor, or move it away; then `fazm-memory connect {agent.agent}`"
            joined = agent.agent in connected(memory.config.home)
            yield Proof(agent.agent, "broken" if joined else "warning", agent.trouble, hint)
            return
        if agent.agent in connected(memory.config.home):
            yield Proof(
                agent.agent, "broken", "its hooks are gone from its configuration",
                f"`fazm-memory connect {agent.agent}` puts them back",
            )  # fmt: skip
            return
        yield Proof(
            agent.agent, "warning", f"not connected; its records are read; {used}",
            f"`fazm-memory connect {agent.agent}`",
        )  # fmt: skip
        return
    if agent.trouble:
        hint = (
            "has the companion run since? For Codex: are the hooks trusted (`/hooks`)?"
            if agent.silent
            else ""
        )
        yield Proof(agent.agent, "broken", agent.trouble, hint)
        return
    heard = f"hook last heard {agent.last_hook}" if agent.last_hook else "its hook has not been heard yet"
    yield Proof(agent.agent, "ok", f"{used}; {heard}" if agent.hooks else f"read from its records; {used}")
    if agent.hooks and agent.agent != "fazm":  # Fazm's hooks are those of Claude Code
        yield _fires(memory, agent.agent)
        yield _arrives(memory, agent.agent)


def _fires(memory: Memory, agent: str) -> Proof:
    """Run the hook as the agent would, and see what it was given lie in the spool."""
    name, home = f"{agent}: hook fires", memory.config.home
    mark = secrets.token_hex(16)
    event = json.dumps({"hook_event_name": PROBE, "session_id": mark}).encode()
    command = ["/bin/sh", "-c", hook_script.command(home, agent)]
    try:
        done = subprocess.run(command, input=event, capture_output=True, timeout=HOOK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Proof(name, "broken", f"it did not end within {HOOK_SECONDS:.0f} s", "please report this")
    if done.returncode or done.stdout or done.stderr:
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[:200]
        return Proof(
            name, "broken", f"it ended with {done.returncode} and said {said!r}", "please report this"
        )
    if recording.read(home) is not None:
        return Proof(name, "ok", "it ran, and kept nothing because recording is paused")
    dropped = [path for path in (home / SPOOL).glob(f"*.{agent}.json") if _holds(path, mark.encode())]
    for path in dropped:
        path.unlink(missing_ok=True)
    if not dropped and running(home) is None:
        hint = f"`fazm-memory connect {agent}` mends it"
        return Proof(name, "broken", "it ran, but what it was given did not reach the spool", hint)
    taken = "" if dropped else ", from which the companion took it at once"
    return Proof(name, "ok", f"it ran and dropped what it was given into the spool{taken}")


def _arrives(memory: Memory, agent: str) -> Proof:
    """Look for what we gave in what the agent itself wrote down."""
    name = f"{agent}: context arrives"
    places = joining_of(memory.config).places
    found = [record for reader in readers(places) for record in reader.find(places) if record.agent == agent]
    newest = sorted(found, key=lambda record: -record.mtime)[:TRANSCRIPTS]
    for record in newest:
        if _holds(record.path, MARK.encode()):
            return Proof(name, "ok", f"found in {record.path}")
    if not newest:
        return Proof(name, "not here", "it has no transcript to look in yet")
    return Proof(
        name, "warning", f"not in the {len(newest)} newest transcripts",
        "normal until a session has started after the companion first ran",
    )  # fmt: skip


def _holds(path: Path, mark: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return mark in file.read(LOOK)
    except OSError:
        return False  # cleared away since it was listed


def _spool(memory: Memory) -> Proof:
    spool = Spool(memory.config.home)
    waiting, bad = spool.waiting(), spool.bad()
    companion = running(memory.config.home)
    at_work = (
        f"the companion is running (process {companion})" if companion else "the companion is not running"
    )
    if bad:
        name, why = next(iter(bad.items()))
        hint = f"they are kept in {spool.folder / 'bad'}"
        return Proof("spool", "warning", f"{len(bad)} set aside, such as {name}: {why}; {at_work}", hint)
    if waiting and companion is None:
        hint = "`fazm-memory run` takes it in, `run --once` does it now"
        return Proof("spool", "warning", f"{waiting} hook events wait; {at_work}", hint)
    return Proof("spool", "ok", f"{waiting} waiting; {at_work}")
