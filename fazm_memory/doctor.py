"""The doctor: proof that it works here, as a list of checks that each did something and say what they saw.

A check never changes what is recorded: what must be written is written to a store of its own that is thrown
away. A check that fails says what to do; a check that cannot be made on this machine says so.
"""

from __future__ import annotations

import logging
import os
import platform
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fazm_memory import __version__
from fazm_memory.errors import FazmMemoryError
from fazm_memory.memory import Memory
from fazm_memory.model.counting import plural
from fazm_memory.proof import proofs

Verdict = Literal["ok", "warning", "broken", "not here"]
WATCH_SECONDS = 5.0
READ_WHOLE = 64 << 20  # bytes of a database beside the log that are read within a moment
OPENS = "opens; too large to read whole here: `fazm-memory recover` does, and changes nothing that is whole"


@dataclass(frozen=True)
class Check:
    """One thing tried: what came of it, and what to do when it is not well."""

    name: str
    verdict: Verdict
    detail: str
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "verdict": self.verdict, "detail": self.detail, "hint": self.hint}


Look = Callable[[Memory], Check]


def examine(memory: Memory, more: Sequence[tuple[str, Look]] = ()) -> Iterator[Check]:
    """Every check in turn, and `more` of this system; one that breaks does not stop the others."""
    said: dict[str, str] = {}
    for name, look in (*CHECKS, *more):
        try:
            yield look(memory)
        except Exception as error:  # a check must not hide the ones after it; this one is shown as broken
            yield _broke(name, error, said)
    try:
        for proof in proofs(memory):
            yield Check(proof.name, proof.verdict, proof.detail, proof.hint)
    except Exception as error:
        yield _broke("agents", error, said)


def _broke(name: str, error: Exception, said: dict[str, str]) -> Check:
    """What broke a check; in full only once, since a store that does not open breaks most of them."""
    if not isinstance(error, FazmMemoryError):
        return Check(name, "broken", f"{type(error).__name__}: {error}", "please report this")
    first = said.setdefault(error.message, name)
    if first != name:
        return Check(name, "broken", f"for the same reason as {first!r}")
    return Check(name, "broken", error.message, error.hint)


def _program(memory: Memory) -> Check:
    where = f"Python {platform.python_version()} on {platform.system()} {platform.release()}"
    return Check("program", "ok", f"fazm-memory {__version__}, {where}")


def _folder(memory: Memory) -> Check:
    home = memory.config.home
    _ = memory.store
    loose = [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if not path.is_symlink() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    if loose:
        hint = f"chmod -R go-rwx '{home}'"
        return Check("folder", "broken", f"others can read {', '.join(loose[:3])} in {home}", hint)
    return Check("folder", "ok", f"{home}, yours alone")


def _key(memory: Memory) -> Check:
    keys = memory.store.keys
    if keys.backend == "keyring":
        return Check("key", "ok", f"in {keys.where}")
    return Check(
        "key",
        "warning",
        f"no OS keyring here: the key is a file that only you can read, {keys.where}",
        "whoever has this key and the store can read it: keep `keys/` out of backups that leave the machine",
    )


def _encryption(memory: Memory) -> Check:
    with memory.store.path.open("rb") as file:
        start = file.read(16)
    version = memory.store.db.execute("PRAGMA cipher_version").fetchone()
    if start.startswith(b"SQLite format 3") or version is None:
        return Check("encryption", "broken", "the database is not encrypted", "do not record; report this")
    return Check("encryption", "ok", f"SQLCipher {version[0]}; the file begins with random bytes")


def _durability(memory: Memory) -> Check:
    ask = memory.store.db.execute
    journal, sync = ask("PRAGMA journal_mode").fetchone()[0], ask("PRAGMA synchronous").fetchone()[0]
    wanted = journal == "wal" and sync == 2
    full = ", fullfsync on" if sys.platform == "darwin" and ask("PRAGMA fullfsync").fetchone()[0] else ""
    detail = f"write-ahead log, synchronous={'FULL' if sync == 2 else sync}{full}"
    return Check("durability", "ok" if wanted else "broken", detail)


def _integrity(memory: Memory) -> Check:
    report = memory.verify(full=False)
    if not report.clean:
        finding = report.findings[0]
        return Check("integrity", "broken", f"{finding.session[:8]}: {finding.what}", "`fazm-memory verify`")
    return Check(
        "integrity", "ok", f"{plural(report.events, 'event')} since the last check, chain and heads agree"
    )


def _beside(memory: Memory) -> Check:
    """The kept versions of files, and what frameworks left: without a chain, but each page proves itself."""
    looked = memory.look_beside(READ_WHOLE)
    broken = [f"{one.file}: {one.problem}" for one in looked if one.problem is not None]
    if broken:
        hint = "`fazm-memory recover` sets it aside and saves all of it that can be read"
        return Check("beside the log", "broken", "; ".join(broken), hint)
    told = [f"{one.file} {'is whole' if one.whole else OPENS}" for one in looked]
    return Check("beside the log", "ok", "; ".join(told) or "no versions of files, nothing of frameworks yet")


def _round_trip(memory: Memory) -> Check:
    """Record a session with a secret in it, in a store of its own, and read it back."""
    from fazm_memory.capture.draft import Draft

    secret = "ghp_" + "x4Zr8Kq1" * 4 + "Wm9T"
    with tempfile.TemporaryDirectory(prefix="fazm-memory-doctor-") as folder:
        trial = Memory(replace(memory.config, home=Path(folder) / "home", key="file"), memory.now)
        try:
            said = {"tool": "Bash", "input": {"command": f"curl -H 'token {secret}'"}, "output": "done"}
            drafts = [
                Draft("doctor", "prompt", {"text": "find the doctor's note"}),
                Draft("doctor", "action", said),
            ]
            failed = [result.error for result in trial.record(drafts) if result.error is not None]
            if failed:
                raise failed[0]
            session = trial.sessions()[0]["id"]
            found = trial.search("doctor's note")
            kept = str(list(trial.events(session)))
            clean = trial.verify().clean
        finally:
            trial.close()
    if not found or not clean:
        return Check(
            "round trip", "broken", "what was recorded could not be found again", "please report this"
        )
    if secret in kept:
        return Check("round trip", "broken", "a secret reached the log", "do not record; report this")
    return Check("round trip", "ok", "recorded, found, verified; a made-up token did not reach the log")


def _watching(memory: Memory) -> Check:
    """Make a file and see that the file system tells us."""
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    # What the library says while it ends would go to the terminal; the verdict says what counts.
    logging.getLogger("watchdog").addHandler(logging.NullHandler())
    seen = threading.Event()

    class Handler(FileSystemEventHandler):
        def on_any_event(self, event: FileSystemEvent) -> None:
            seen.set()

    with tempfile.TemporaryDirectory(prefix="fazm-memory-doctor-") as folder:
        observer = Observer()
        observer.schedule(Handler(), os.path.realpath(folder), recursive=True)
        observer.start()
        try:
            (Path(folder) / "seen").write_text("x")
            told = seen.wait(WATCH_SECONDS)
        finally:
            observer.stop()
            observer.join()
    kind = type(observer).__name__
    if not told:
        return Check("watching files", "broken", f"{kind} told nothing within {WATCH_SECONDS:.0f} s")
    return Check("watching files", "ok", f"a new file was seen through {kind}")


def _workspaces(memory: Memory) -> Check:
    """Which folders the companion watches, how, and what it leaves alone."""
    status = memory.status()
    if status["companion"] is None:
        return Check("workspaces", "warning", "nothing is watched: the companion is not running",
                     "`fazm-memory run`")  # fmt: skip
    told = [
        f"{one['folder']} not watched: {one['refused']}"
        if one["refused"]
        else f"{one['folder']} through {one['how']} since {one['since']}"
        for one in status["watching"]
    ]
    return Check("workspaces", "ok", "; ".join(told) or "no session is at work in a folder")


def _recording(memory: Memory) -> Check:
    status = memory.recording()
    if status["recording"]:
        return Check("recording", "ok", "on")
    until = status["paused_until"] or "you resume it"
    return Check("recording", "warning", f"paused until {until}", "`fazm-memory recording resume`")


def _desktop(memory: Memory) -> Check:
    """Which app was in front: watched by the companion, where there is something to watch with."""
    if platform.system() != "Darwin":
        return Check("desktop", "not here", "the menu bar, accessibility and the Keychain are on macOS only")
    state = memory.desktop()
    if state is None:
        return Check("desktop", "ok", "not watched just now: the companion is not running")
    if not state["permitted"]:
        hint = "System Settings → Privacy & Security → Accessibility"
        return Check("desktop", "warning", "apps are recorded, their windows and documents are not", hint)
    return Check("desktop", "ok", "watched" if state["watching"] else "at rest while recording is paused")


CHECKS: list[tuple[str, Look]] = [
    ("program", _program),
    ("folder", _folder),
    ("key", _key),
    ("encryption", _encryption),
    ("durability", _durability),
    ("integrity", _integrity),
    ("beside the log", _beside),
    ("round trip", _round_trip),
    ("watching files", _watching),
    ("workspaces", _workspaces),
    ("recording", _recording),
    ("desktop", _desktop),
]
