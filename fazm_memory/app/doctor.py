"""The doctor: checks that everything works on this machine.

Checks never change recorded data: those that write use a temporary store. A failed check says what to do.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import secrets
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal

from fazm_memory import __version__
from fazm_memory.agents import (
    INJECTED_MARK,
    MCP_ONLY,
    FormatDrift,
    connected_agents,
    format_drift,
    hook_script,
    readers,
)
from fazm_memory.app.agents import AgentOverview, agent_overviews, connection_setup
from fazm_memory.app.memory import Memory
from fazm_memory.app.process import companion_pid
from fazm_memory.clock import iso, parse_time, to_datetime
from fazm_memory.errors import FazmMemoryError
from fazm_memory.events import Draft
from fazm_memory.ingest import PROBE, Spool, read_pause
from fazm_memory.paths import SPOOL_FOLDER, open_regular
from fazm_memory.records import dataclass, replace
from fazm_memory.text import plain_name, plural, plural_with_verb, single_line

Verdict = Literal["ok", "warning", "broken", "not here"]


@dataclass(frozen=True)
class Check:
    """What was checked, what was found, and what to do about it."""

    name: str
    verdict: Verdict
    detail: str
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "verdict": self.verdict, "detail": self.detail, "hint": self.hint}


CheckFunction = Callable[[Memory], Check]


HOOK_SECONDS = 10.0
TRANSCRIPTS = 20  # newest transcripts that are searched for a context
READ_BYTES = 2 << 20  # of each
MOST_NAMES = 5  # of unknown record types and fields that are shown


def check_agents(memory: Memory) -> Iterator[Check]:
    """Check every agent, then the spool and the hook's own log."""
    for agent in agent_overviews(memory):
        yield from _check_agent(memory, agent)
    yield _check_spool(memory)
    yield _check_transcripts(memory)
    yield _check_formats(memory)
    trouble = memory.config.home / hook_script.FOLDER / hook_script.TROUBLE
    if trouble.exists():
        last = trouble.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        yield Check("hook", "warning", f"a hook failed: {' '.join(last)}", f"See {trouble}.")


def _check_agent(memory: Memory, agent: AgentOverview) -> Iterator[Check]:
    if not agent.here:
        yield Check(agent.agent, "not here", "not found on this machine")
        return
    used = f"last used {_minute(agent.last_record)}" if agent.last_record else "no records yet"
    if agent.mcp and agent.agent in MCP_ONLY and not agent.trouble:
        yield Check(agent.agent, "ok", f"connected by its MCP server, and its records are read; {used}")
        return
    if not agent.hooks and agent.connection_text() != "by its records":
        if agent.trouble:
            hint = f"Repair that file or move it away, then run `fazm-memory connect {agent.agent}`."
            joined = agent.agent in connected_agents(memory.config.home)
            yield Check(agent.agent, "broken" if joined else "warning", agent.trouble, hint)
            return
        if agent.agent in connected_agents(memory.config.home):
            part = "server is" if agent.agent in MCP_ONLY else "hooks are"
            yield Check(
                agent.agent, "broken", f"its {part} missing from its configuration",
                f"Run `fazm-memory connect {agent.agent}`.",
            )  # fmt: skip
            return
        yield Check(
            agent.agent, "warning", f"not connected, only its records are read; {used}",
            f"Run `fazm-memory connect {agent.agent}`.",
        )  # fmt: skip
        return
    if agent.trouble:
        hint = f"Run `fazm-memory connect {agent.agent}`." if agent.stale else ""
        if agent.silent:
            hint = "Check that the companion runs. In Codex, trust the hooks with `/hooks`."
        yield Check(agent.agent, "broken", agent.trouble, hint)
        return
    hook = f"hook last ran {_minute(agent.last_hook)}" if agent.last_hook else "its hook has not run yet"
    yield Check(agent.agent, "ok", f"{used}; {hook}" if agent.hooks else f"read from its records; {used}")
    if agent.hooks and agent.agent != "fazm":  # Fazm uses the hooks of Claude Code
        yield _check_hook(memory, agent.agent)
        yield _check_hook(memory, agent.agent, answer=True)
        yield _check_context(memory, agent.agent)


def _minute(text: str) -> str:
    """A time as people read it."""
    return f"{to_datetime(parse_time(text)):%Y-%m-%d %H:%M}"


def _check_hook(memory: Memory, agent: str, *, answer: bool = False) -> Check:
    """Run the hook as the agent would. Its event must appear in the spool.

    `answer` is the form that starts an interpreter. If that fails, the event is spooled all the same.
    """
    name, home = f"{agent}: hook {'answers' if answer else 'fires'}", memory.config.home
    trouble = home / hook_script.FOLDER / hook_script.TROUBLE
    before = _changed_at(trouble)
    mark = secrets.token_hex(16)
    event = json.dumps({"hook_event_name": PROBE, "session_id": mark}).encode()
    command = ["/bin/sh", "-c", hook_script.command(home, agent, answer=answer)]
    try:
        done = subprocess.run(command, input=event, capture_output=True, timeout=HOOK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Check(name, "broken", f"it did not end within {HOOK_SECONDS:.0f} s", "Please report this.")
    if done.returncode or done.stdout or done.stderr:
        output = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[:200]
        return Check(
            name, "broken", f"it exited with {done.returncode} and printed {output!r}", "Please report this."
        )
    if read_pause(home) is not None:
        return Check(name, "ok", "it ran and wrote nothing, because recording is paused")
    dropped = [path for path in (home / SPOOL_FOLDER).glob(f"*.{agent}.json") if _contains(path, mark)]
    for path in dropped:
        path.unlink(missing_ok=True)
    if not dropped and companion_pid(home) is None:
        hint = f"Run `fazm-memory connect {agent}`."
        return Check(name, "broken", "it ran, but its event did not reach the spool", hint)
    if _changed_at(trouble) != before:
        why = trouble.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1]
        detail = f"events are recorded, but new sessions get no context. {why}"
        return Check(name, "broken", detail, f"Run `fazm-memory connect {agent}`, or install it again.")
    taken = "" if dropped else ", and the companion recorded it"
    return Check(name, "ok", f"it ran and its event reached the spool{taken}")


def _changed_at(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.exists() else None


def _check_context(memory: Memory, agent: str) -> Check:
    """Look for a context of ours in the agent's transcripts."""
    name = f"{agent}: context arrives"
    places = connection_setup(memory.config).places
    found = [record for reader in readers(places) for record in reader.find(places) if record.agent == agent]
    newest = sorted(found, key=lambda record: -record.mtime)[:TRANSCRIPTS]
    for record in newest:
        # What was written last to a database is in the file beside it.
        if any(_contains(path, INJECTED_MARK) for path in (record.path, Path(f"{record.path}-wal"))):
            return Check(name, "ok", f"found in {record.path}")
    if not newest:
        return Check(name, "not here", "no transcripts yet")
    return Check(
        name, "warning", f"not in the {len(newest)} newest transcripts",
        "This is normal until a session starts while the companion runs.",
    )  # fmt: skip


def _contains(path: Path, mark: str) -> bool:
    """Whether the beginning or the end of a file has a text.

    Qwen Code writes it escaped.
    """
    try:
        with open_regular(path) as file:
            content = file.read(READ_BYTES)
            file.seek(max(file.tell(), file.seek(0, os.SEEK_END) - READ_BYTES))
            content += file.read(READ_BYTES)
            return any(text.encode() in content for text in (mark, escape(mark)))
    except OSError:
        return False  # deleted since it was listed


def _check_transcripts(memory: Memory) -> Check:
    """Whether sessions that the agent will delete soon have a copy."""
    copies, expiring = memory.transcripts.overview(), memory.transcripts.expiring()
    name = "copies of transcripts"
    if expiring["sessions"] > expiring["copied"]:
        notice = memory.transcripts.expiring_notice() or ""
        return Check(name, "warning", notice, "Run the companion, which copies them: `fazm-memory run`.")
    if copies["form"] == "off":
        return Check(name, "ok", "switched off in the settings")
    detail = f"{plural(copies['sessions'], 'session')} copied"
    places = connection_setup(memory.config).places
    missing = memory.transcripts.missing(record for one in readers(places) for record in one.find(places))
    if missing:
        example = single_line(next(iter(missing.values())))
        detail += f", {plural_with_verb(len(missing), 'transcript', 'are')} not, such as {example}"
    if expiring["sessions"]:
        detail += f"; {memory.transcripts.expiring_notice()}"
    if missing:
        hint = "`fazm-memory run --once` copies what is not copied, or says why it cannot."
        return Check(name, "warning", detail, hint)
    return Check(name, "ok", detail)


def _check_formats(memory: Memory) -> Check:
    """Check for record types and fields that are not known, by agent version."""
    places = connection_setup(memory.config).places
    drifts = format_drift((reader, record) for reader in readers(places) for record in reader.find(places))
    looked = f"{plural(sum(drift.records for drift in drifts), 'record')} of the newest sessions"
    new = [drift for drift in drifts if drift.types or drift.fields]
    if not new:
        return Check("formats", "ok", f"{looked}: nothing unknown")
    details = "; ".join(f"{drift.agent} {plain_name(drift.version)}: {_new_names(drift)}" for drift in new)
    if not any(drift.types for drift in new):
        return Check("formats", "ok", f"{looked}, with new fields, which are not needed. {details}")
    hint = "They are stored as they are. A newer version of Fazm Memory may read them. Please report them."
    return Check("formats", "warning", details, hint)


def _new_names(drift: FormatDrift) -> str:
    parts = []
    for counts, what in ((drift.types, "record type"), (drift.fields, "field")):
        if counts:
            named = [f"{plain_name(name)} ({count})" for name, count in counts.most_common(MOST_NAMES)]
            more = len(counts) - len(named)
            named += [f"{more} more"] if more else []
            parts.append(f"{plural(len(counts), f'unknown {what}')}: {', '.join(named)}")
    return "; ".join(parts)


def _check_spool(memory: Memory) -> Check:
    spool = Spool(memory.config.home)
    waiting, bad = spool.waiting(), spool.bad()
    companion = companion_pid(memory.config.home)
    at_work = (
        f"the companion is running (process {companion})" if companion else "the companion is not running"
    )
    if bad:
        name, why = next(iter(bad.items()))
        hint = f"They are in {spool.folder / 'bad'}."
        return Check(
            "spool", "warning", f"{plural(len(bad), 'invalid event')}, such as {name}: {why}; {at_work}", hint
        )
    if waiting and companion is None:
        hint = "Run `fazm-memory run`, or `fazm-memory run --once`."
        return Check("spool", "warning", f"{plural(waiting, 'hook event')} waiting; {at_work}", hint)
    return Check("spool", "ok", f"{waiting} waiting; {at_work}")


WATCH_SECONDS = 5.0
READ_WHOLE = 64 << 20  # larger databases are opened but not read to the end
OPENS = "opens (too large to read whole here; `fazm-memory recover` checks it)"


def run_checks(memory: Memory, more: Sequence[tuple[str, CheckFunction]] = ()) -> Iterator[Check]:
    """Run all checks and `more` of this platform.

    A check that raises counts as broken.
    """
    reported: dict[str, str] = {}
    for name, look in (*CHECKS, *more):
        try:
            yield look(memory)
        except Exception as error:  # the other checks must still run
            yield _broken(name, error, reported)
    try:
        yield from check_agents(memory)
    except Exception as error:
        yield _broken("agents", error, reported)


def _broken(name: str, error: Exception, reported: dict[str, str]) -> Check:
    """A failed check. The same error is shown in full only once."""
    if not isinstance(error, FazmMemoryError):
        return Check(name, "broken", f"{type(error).__name__}: {error}", "Please report this.")
    first = reported.setdefault(error.message, name)
    if first != name:
        return Check(name, "broken", f"same reason as {first!r}")
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
        hint = f"Run chmod -R go-rwx '{home}'."
        return Check("folder", "broken", f"others can read {', '.join(loose[:3])} in {home}", hint)
    return Check("folder", "ok", f"{home}, private")


def _key(memory: Memory) -> Check:
    keys = memory.store.keys
    if keys.backend == "keyring":
        return Check("key", "ok", f"in {keys.where}")
    return Check(
        "key",
        "warning",
        f"no OS keyring; the key is a file that only you can read: {keys.where}",
        "Anyone with this key and the store can read it. Keep `keys/` out of backups that leave the machine.",
    )


def _encryption(memory: Memory) -> Check:
    with memory.store.path.open("rb") as file:
        start = file.read(16)
    version = memory.store.db.execute("PRAGMA cipher_version").fetchone()
    if start.startswith(b"SQLite format 3") or version is None:
        return Check(
            "encryption", "broken", "the database is not encrypted", "Do not record. Please report this."
        )
    return Check("encryption", "ok", f"SQLCipher {version[0]}; the file has no plain header")


def _durability(memory: Memory) -> Check:
    if memory.store.db.read_only:
        return Check("durability", "not here", "the store is read-only")
    execute = memory.store.db.execute
    journal, sync = execute("PRAGMA journal_mode").fetchone()[0], execute("PRAGMA synchronous").fetchone()[0]
    durable = journal == "wal" and sync == 2
    full = ", fullfsync on" if sys.platform == "darwin" and execute("PRAGMA fullfsync").fetchone()[0] else ""
    detail = f"write-ahead log, synchronous={'FULL' if sync == 2 else sync}{full}"
    return Check("durability", "ok" if durable else "broken", detail)


def _integrity(memory: Memory) -> Check:
    report = memory.maintenance.verify(full=False)
    if not report.clean:
        finding = report.findings[0]
        return Check(
            "integrity", "broken", f"{finding.session[:8]}: {finding.what}", "Run `fazm-memory verify`."
        )
    return Check(
        "integrity",
        "ok",
        f"{plural(report.events, 'event')} checked since the last time; chain and heads agree",
    )


def _other_databases(memory: Memory) -> Check:
    """File versions and framework data.

    They have no hash chain, but every page has a checksum.
    """
    results = memory.maintenance.check_side_databases(READ_WHOLE)
    broken = [f"{result.file}: {result.problem}" for result in results if result.problem is not None]
    if broken:
        hint = "Run `fazm-memory recover`. It saves what is readable and keeps the damaged file."
        return Check("other databases", "broken", "; ".join(broken), hint)
    states = [f"{result.file} {'is intact' if result.whole else OPENS}" for result in results]
    return Check("other databases", "ok", "; ".join(states) or "no file versions and no framework data yet")


def _updates(memory: Memory) -> Check:
    """The newer version that was found last. The doctor itself makes no request."""
    status = memory.updates.status()
    if not status["enabled"]:
        return Check("updates", "not here", "not looked up: no feed is configured, or `updates` is off")
    if status["trouble"]:
        return Check("updates", "warning", status["trouble"], "It is tried again tomorrow.")
    if status["newer"] is not None:
        newer = status["newer"]
        return Check("updates", "warning", f"version {newer['version']} is available", newer["page"])
    return Check(
        "updates", "ok", f"{__version__} is the newest; last looked up {status['checked'] or 'never'}"
    )


def _round_trip(memory: Memory) -> Check:
    """Record a session with a secret in a temporary store and read it back."""
    secret = "ghp_" + "x4Zr8Kq1" * 4 + "Wm9T"
    with tempfile.TemporaryDirectory(prefix="fazm-memory-doctor-") as folder:
        trial = Memory(replace(memory.config, home=Path(folder) / "home", key="file"), memory.now)
        try:
            call = {"tool": "Bash", "input": {"command": f"curl -H 'token {secret}'"}, "output": "done"}
            drafts = [
                Draft("doctor", "prompt", {"text": "find the doctor's note"}),
                Draft("doctor", "action", call),
            ]
            failed = [result.error for result in trial.sessions.record(drafts) if result.error is not None]
            if failed:
                raise failed[0]
            session = trial.sessions.listing()[0]["id"]
            found = trial.recall.search("doctor's note")
            recorded = str(list(trial.history.events(session)))
            clean = trial.maintenance.verify().clean
        finally:
            trial.close()
    if not found or not clean:
        return Check("round trip", "broken", "a recorded session was not found again", "Please report this.")
    if secret in recorded:
        return Check("round trip", "broken", "a secret reached the log", "Do not record. Please report this.")
    return Check("round trip", "ok", "recorded, found and verified; a test secret was removed")


def _watching(memory: Memory) -> Check:
    """Create a file and wait for the event."""
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers import Observer

    # The library logs while it stops. That would reach the terminal.
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
            arrived = seen.wait(WATCH_SECONDS)
        finally:
            observer.stop()
            observer.join()
    kind = type(observer).__name__
    if not arrived:
        return Check("watching files", "broken", f"{kind} reported no event within {WATCH_SECONDS:.0f} s")
    return Check("watching files", "ok", f"{kind} reports new files")


def _workspaces(memory: Memory) -> Check:
    """The folders that the companion watches."""
    status = memory.status()
    if status["companion"] is None:
        return Check("workspaces", "warning", "nothing is watched because the companion is not running",
                     "Run `fazm-memory run`.")  # fmt: skip
    folders = [
        f"{folder['folder']} not watched: {folder['refused']}"
        if folder["refused"]
        else f"{folder['folder']} ({folder['how']}) since {folder['since']}"
        for folder in status["watching"]
    ]
    if memory.recording.stopped_watcher() is not None:
        return Check(
            "workspaces", "broken", "; ".join(folders), "The next scan tries again. Please report it."
        )
    return Check("workspaces", "ok", "; ".join(folders) or "no active session in a folder")


def _recording(memory: Memory) -> Check:
    status = memory.recording.status()
    if status["recording"]:
        if (warning := memory.recording.quota()["warning"]) is not None:
            return Check("recording", "warning", warning, "Find out which agent records so much.")
        return Check("recording", "ok", "on")
    until = status["paused_until"] or "you resume it"
    return Check("recording", "warning", f"paused until {until}", "Run `fazm-memory recording resume`.")


def _desktop(memory: Memory) -> Check:
    """Whether the companion records which app is in front."""
    if platform.system() != "Darwin":
        return Check("desktop", "not here", "macOS only")
    state = memory.recording.desktop()
    if state is None:
        return Check("desktop", "ok", "not watched because the companion is not running")
    if not state["permitted"]:
        hint = "System Settings → Privacy & Security → Accessibility"
        return Check("desktop", "warning", "apps are recorded, their windows and documents are not", hint)
    return Check("desktop", "ok", "watched" if state["watching"] else "paused")


CHECKS: list[tuple[str, CheckFunction]] = [
    ("program", _program),
    ("folder", _folder),
    ("key", _key),
    ("encryption", _encryption),
    ("durability", _durability),
    ("integrity", _integrity),
    ("other databases", _other_databases),
    ("round trip", _round_trip),
    ("watching files", _watching),
    ("workspaces", _workspaces),
    ("recording", _recording),
    ("desktop", _desktop),
    ("updates", _updates),
]


NAME = "self-test"
TIMEOUT = 60.0
POLL = 0.1
SESSION = "00000000-0000-4000-8000-000000000000"
WORDS = "The doctor asks for a self-test"
ASKED = "permission-asked"  # so that the first launch on a Mac shows no dialog


def run_self_test(memory: Memory) -> Check:
    with tempfile.TemporaryDirectory(prefix="fazm-memory-doctor-") as folder:
        home, user = Path(folder) / "home", Path(folder) / "user"
        user.mkdir()
        own = Memory(replace(memory.config, home=home, user_home=user, key="file"), memory.now)
        try:
            _ = own.store
            (home / ASKED).write_text("asked once\n", encoding="utf-8")
            return _run(own, user)
        finally:
            own.close()


def _run(own: Memory, user: Path) -> Check:
    home = own.config.home
    program = connection_setup(own.config).server[:-1]
    known = {name: value for name, value in own.config.environment.items() if name in ("PATH", "LANG", "TZ")}
    env = {**known, "HOME": str(user), "FAZM_MEMORY_HOME": str(home), "FAZM_MEMORY_KEY": "file"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*program, "run", "--no-page"], env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            start = time.monotonic()
            trouble = None
            if not _until(process, lambda: companion_pid(home) == process.pid):
                trouble = "it did not start"
            elif not (_write_record(user) and _until(process, lambda: bool(own.recall.search(f'"{WORDS}"')))):
                trouble = "what an agent wrote was not recorded"
            seconds = time.monotonic() - start
            process.send_signal(signal.SIGTERM)
            code = process.wait(TIMEOUT)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        tail = output.read()[-500:].decode("utf-8", "replace").strip()
    if trouble is None and code != 0:
        trouble = f"it exited with {code}"
    if trouble is None and not own.maintenance.verify().clean:
        trouble = "its log does not verify"
    if trouble is not None:
        return Check(NAME, "broken", f"{trouble}; its output: {tail or 'none'}", "Please report this.")
    return Check(NAME, "ok", f"started, recorded an agent's words after {seconds:.1f} s, stopped, verified")


def _write_record(user: Path) -> bool:
    """Write a record in the format of Claude Code."""
    folder = user / ".claude" / "projects" / "-trial"
    folder.mkdir(parents=True)
    line = {
        "type": "user", "uuid": SESSION, "sessionId": SESSION, "promptId": "1", "cwd": str(user),
        "timestamp": iso(time.time_ns() // 1000), "message": {"role": "user", "content": WORDS},
    }  # fmt: skip
    (folder / f"{SESSION}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return True


def _until(process: subprocess.Popen[bytes], condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if process.poll() is not None or time.monotonic() >= deadline:
            return False
        time.sleep(POLL)
    return True


SELF_TEST: tuple[str, CheckFunction] = (NAME, run_self_test)
