"""The trial: the companion started as a process of its own, given work, and ended, in a home thrown away.

It proves what no check inside one process can: that it starts here as it would at login, that what an agent
writes is recorded as it is written, and that a signal ends it in order. On a Mac it is the menu bar app.
"""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fazm_memory.capture.instance import running
from fazm_memory.doctor import Check, Look
from fazm_memory.joined import joining_of
from fazm_memory.memory import Memory
from fazm_memory.model.clock import iso

NAME = "self-test"
PATIENCE = 60.0
LOOK = 0.1
SESSION = "00000000-0000-4000-8000-000000000000"
WORDS = "The doctor asks for a self-test"
ASKED = "permission-asked"  # so that a first launch on a Mac waits for nobody


def trial(memory: Memory) -> Check:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-doctor-") as folder:
        home, user = Path(folder) / "home", Path(folder) / "user"
        user.mkdir()
        own = Memory(replace(memory.config, home=home, user_home=user, key="file"), memory.now)
        try:
            _ = own.store
            (home / ASKED).write_text("asked once\n", encoding="utf-8")
            return _tried(own, user)
        finally:
            own.close()


def _tried(own: Memory, user: Path) -> Check:
    home = own.config.home
    program = joining_of(own.config).server[:-1]
    known = {name: value for name, value in own.config.environment.items() if name in ("PATH", "LANG", "TZ")}
    env = {**known, "HOME": str(user), "FAZM_MEMORY_HOME": str(home), "FAZM_MEMORY_KEY": "file"}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*program, "run", "--no-page"], env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            begun = time.monotonic()
            trouble = None
            if not _until(process, lambda: running(home) == process.pid):
                trouble = "it did not start"
            elif not (_work(user) and _until(process, lambda: bool(own.search(f'"{WORDS}"')))):
                trouble = "what an agent wrote was not recorded"
            seconds = time.monotonic() - begun
            process.send_signal(signal.SIGTERM)
            code = process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait()
        said.seek(0)
        tail = said.read()[-500:].decode("utf-8", "replace").strip()
    if trouble is None and code != 0:
        trouble = f"it ended with {code} instead of in order"
    if trouble is None and not own.verify().clean:
        trouble = "its log does not verify"
    if trouble is not None:
        return Check(NAME, "broken", f"{trouble}; it said: {tail or 'nothing'}", "please report this")
    return Check(
        NAME, "ok", f"started, recorded an agent's words after {seconds:.1f} s, ended in order, verified"
    )


def _work(user: Path) -> bool:
    """An agent's record, as Claude Code writes it."""
    folder = user / ".claude" / "projects" / "-trial"
    folder.mkdir(parents=True)
    told = {
        "type": "user", "uuid": SESSION, "sessionId": SESSION, "promptId": "1", "cwd": str(user),
        "timestamp": iso(time.time_ns() // 1000), "message": {"role": "user", "content": WORDS},
    }  # fmt: skip
    (folder / f"{SESSION}.jsonl").write_text(json.dumps(told) + "\n", encoding="utf-8")
    return True


def _until(process: subprocess.Popen[bytes], holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if process.poll() is not None or time.monotonic() >= deadline:
            return False
        time.sleep(LOOK)
    return True


TRIAL: tuple[str, Look] = (NAME, trial)
