"""The companion: what agents leave is taken in as it comes, once, and whoever follows it is told."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents import hook_script
from fazm_memory.app import companion as module
from fazm_memory.app.agents import pause_spans
from fazm_memory.app.companion import Companion
from fazm_memory.app.maintenance import ANNOUNCED
from fazm_memory.app.memory import Memory
from fazm_memory.app.process import LOCK, companion_pid, single_instance
from fazm_memory.app.recording import RecordingService
from fazm_memory.config import Config
from fazm_memory.errors import StoreBusy, StoreFull
from fazm_memory.events.event import Draft
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.session.state import FOLD_VERSION

PATIENCE = 20.0
SESSION = "11111111-2222-4333-8444-555555555555"


def now() -> int:
    return time.time_ns() // 1000


class CompanionEnv:
    """A user with Claude Code, and a memory of their own."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        self.project = self.user / ".claude" / "projects" / "-w"
        self.project.mkdir(parents=True)
        self.config = Config(folder / "home", self.user, key="file")
        self.memory = Memory(self.config, now)
        self.changes: list[Sequence[str]] = []
        self.reports: list[str] = []
        self.changed = threading.Event()

    def companion(self, memory: Memory | None = None) -> Companion:
        made = Companion(memory or self.memory, report=self.reports.append)
        made.on_change(self._tell)
        return made

    def _tell(self, folders: Sequence[str]) -> None:
        self.changes.append(folders)
        self.changed.set()

    def prompt(self, text: str, session: str = SESSION) -> Path:
        path = self.project / f"{session}.jsonl"
        at = time.time_ns() // 1000
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1_000_000))
        record = {
            "type": "user",
            "uuid": f"{session[:8]}-{text}",
            "timestamp": f"{stamp}.{at % 1_000_000:06}Z",
            "cwd": "/w",
            "sessionId": session,
            "promptId": text,
            "message": {"role": "user", "content": text},
        }
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        return path

    def drop(self, name: str, agent: str = "claude-code", at: float | None = None, **event: Any) -> Path:
        folder = self.config.home / "spool"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / f"{len(list(folder.iterdir()))}-{time.time_ns()}.{agent}.json"
        event = {"hook_event_name": name, "session_id": SESSION, "cwd": "/w", **event}
        path.with_suffix(".part").write_text(json.dumps(event))
        path.with_suffix(".part").rename(path)
        if at is not None:
            os.utime(path, (at, at))
        return path

    def prompts(self, memory: Memory | None = None) -> list[str]:
        memory = memory or self.memory
        return [
            event["payload"]["text"]
            for session in memory.sessions.listing()
            for event in memory.history.events(session["id"], kind="prompt")
        ]

    @contextmanager
    def working(self) -> Iterator[Companion]:
        """A companion at work in a thread of its own, on a connection of its own."""
        memory = Memory(self.config, now)
        _ = memory.store
        made = self.companion(memory)
        ready = threading.Event()
        thread = threading.Thread(target=made.run, args=(ready.set,))
        thread.start()
        try:
            assert ready.wait(PATIENCE)
            yield made
        finally:
            made.stop()
            thread.join(PATIENCE)
            assert not thread.is_alive()
            memory.close()

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something, with the companion's own telling as the bell."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, (self.prompts(), self.reports)
            self.changed.wait(0.05)
            self.changed.clear()


@pytest.fixture
def env(tmp_path: Path) -> Iterator[CompanionEnv]:
    made = CompanionEnv(tmp_path)
    yield made
    made.memory.close()


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same companion with less patience."""
    monkeypatch.setattr(module, "QUIET", 0.05)
    monkeypatch.setattr(module, "GATHER", 0.01)


def test_once_takes_in_spool_and_records_tells_and_ends(env: CompanionEnv) -> None:
    env.prompt("Rename the invoices")
    dropped = env.drop("UserPromptSubmit", prompt="Skip the photos", prompt_id="p2")

    statistics = env.companion().once()

    assert sorted(env.prompts()) == ["Rename the invoices", "Skip the photos"]
    assert (statistics.events, env.changes) == (3, [["/w"]])
    assert not dropped.exists()
    assert env.companion().once().events == 0


def test_once_while_recording_is_paused_takes_in_nothing(env: CompanionEnv) -> None:
    env.prompt("in secret")
    env.memory.recording.pause()

    assert env.companion().once().events == 0
    assert env.changes == []


def test_what_was_there_and_what_comes_is_taken_in_live(env: CompanionEnv) -> None:
    env.prompt("before")
    with env.working():
        env.until(lambda: env.prompts() == ["before"])
        env.prompt("live")
        env.until(lambda: env.prompts() == ["before", "live"])
        env.prompt("a new session", session="22222222-2222-4333-8444-555555555555")
        env.until(lambda: "a new session" in env.prompts())

    assert env.changes
    assert env.reports == []


def test_what_a_hook_drops_is_taken_in_live_and_only_then_deleted(env: CompanionEnv) -> None:
    with env.working():
        path = env.drop("UserPromptSubmit", prompt="Hello", prompt_id="p1")
        env.until(lambda: env.prompts() == ["Hello"])
        env.until(lambda: not path.exists())


def test_what_hook_and_transcript_both_tell_is_reported_once(env: CompanionEnv) -> None:
    with env.working():
        env.drop("UserPromptSubmit", prompt="Hello", prompt_id="Hello")
        env.prompt("Hello")
        env.prompt("And then")
        env.until(lambda: "And then" in env.prompts())

    assert env.prompts() == ["Hello", "And then"]


def test_the_end_of_a_session_waits_until_its_transcript_is_read(env: CompanionEnv) -> None:
    path = env.prompt("Hello")
    with env.working():
        env.until(lambda: env.prompts() == ["Hello"])
        env.drop("SessionEnd", reason="logout", transcript_path=str(path), at=time.time() - 1.8)
        env.prompt("the last word")
        env.until(lambda: env.memory.sessions.listing()[0]["lifecycle"] == "closed")

    kinds = [event["kind"] for event in env.memory.history.events(env.memory.sessions.listing()[0]["id"])]
    assert kinds == ["session.open", "prompt", "prompt", "session.close"]


def test_files_about_to_change_are_reported_at_once(env: CompanionEnv) -> None:
    kept: list[Sequence[str]] = []
    env.drop(
        "PreToolUse", tool_name="Edit", tool_input={"file_path": "/w/a.txt"}, tool_use_id="c", prompt_id="p"
    )
    companion = env.companion()
    companion.before_file_change(kept.append)

    companion.once()

    assert kept == [("/w/a.txt",)]


def test_a_pause_holds_and_what_was_done_in_it_never_comes_in(
    env: CompanionEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL", 0.2)
    env.prompt("before")
    with env.working():
        env.until(lambda: env.prompts() == ["before"])
        env.memory.recording.pause()
        env.prompt("in secret")
        env.memory.recording.resume()
        env.prompt("after")
        env.until(lambda: "after" in env.prompts())

    assert env.prompts() == ["before", "after"]


def test_a_pause_begins_with_its_millisecond(env: CompanionEnv) -> None:
    moments = iter([1_794_900_000_123_456, 1_794_900_000_223_456])
    _ = env.memory.store  # makes the data folder
    recording = RecordingService(env.memory)
    recording.now = partial(next, moments, 1_794_900_000_323_456)
    recording.pause()
    recording.resume()
    assert [since for since, _ in pause_spans(env.memory)] == [1_794_900_000_123_000]


def test_there_is_only_one_and_a_second_is_reported_which(env: CompanionEnv) -> None:
    assert companion_pid(env.config.home) is None
    with single_instance(env.config.home):
        assert companion_pid(env.config.home) == os.getpid()
        with pytest.raises(StoreBusy, match=f"already running \\(process {os.getpid()}\\)"):
            env.companion().run()
    assert companion_pid(env.config.home) is None


def test_a_process_that_asks_who_runs_does_not_keep_the_companion_from_starting(
    env: CompanionEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    with single_instance(env.config.home):
        pass
    asking = os.open(env.config.home / LOCK, os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)
    monkeypatch.setattr("fazm_memory.app.process.time.sleep", lambda _: fcntl.flock(asking, fcntl.LOCK_UN))
    with single_instance(env.config.home):
        assert companion_pid(env.config.home) == os.getpid()
    os.close(asking)


def test_a_full_disk_is_reported_once_and_nothing_is_lost(
    env: CompanionEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AFTER_TROUBLE", 0.01)
    record, failures = Recorder.record, iter([True, True])

    def full(recorder: Recorder, *given: Any, **more: Any) -> Any:
        if next(failures, False):
            raise StoreFull("no room left", hint="free some space")
        return record(recorder, *given, **more)

    monkeypatch.setattr(Recorder, "record", full)
    env.prompt("Hello")
    with env.working():
        env.until(lambda: env.prompts() == ["Hello"])

    assert [text.startswith("no room left") for text in env.reports] == [True]


def test_too_many_open_files_are_waited_out(env: CompanionEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    record, tries = Recorder.record, iter(range(100))

    def none_left(recorder: Recorder, *given: Any, **more: Any) -> Any:
        if next(tries) == 0:
            raise OSError(errno.EMFILE, "Too many open files")
        return record(recorder, *given, **more)

    monkeypatch.setattr(module, "AFTER_TROUBLE", 0.05)
    monkeypatch.setattr(Recorder, "record", none_left)
    env.prompt("Hello")
    with env.working():
        env.until(lambda: env.prompts() == ["Hello"])

    assert len(env.reports) == 1
    assert env.reports[0].startswith("Too many files are open")


def test_a_folder_of_a_session_opened_elsewhere_is_watched_before_the_next_round(
    env: CompanionEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the store tells of it; and what is seen there counts as recorded."""
    for name in ("POLL", "LATEST"):
        monkeypatch.setattr(module, name, 1000 * PATIENCE)
    monkeypatch.setattr("fazm_memory.watch.workspaces.IDLE", 1000 * PATIENCE)
    work = tmp_path / "work"
    work.mkdir()
    asleep, sleep = threading.Event(), Companion._sleep

    def noted(companion: Companion, *given: Any) -> None:
        if given[0] > 2 * PATIENCE:
            asleep.set()
        sleep(companion, *given)

    monkeypatch.setattr(Companion, "_sleep", noted)
    with env.working() as companion:
        assert asleep.wait(PATIENCE)
        opening = {"agent": "fazm", "agent_session_id": "s", "workspace": str(work)}
        env.memory.sessions.record([Draft("s", "session.open", opening, agent="fazm", source="record")])
        env.until(lambda: any(one["how"] for one in env.memory.recording.watched_folders()))
        before = companion.statistics.events
        (work / "invoice.txt").write_text("2026")
        env.until(lambda: companion.statistics.events > before)


def test_what_cannot_be_read_is_reported_once(env: CompanionEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    path = env.prompt("Hello")

    def broken(*given: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("fazm_memory.agents.claude_code.reader.ClaudeCode.read", broken)
    companion = env.companion()
    companion.once()
    companion.once()

    assert len(env.reports) == 1
    assert str(path) in env.reports[0]


def test_connected_agents_get_the_present_hooks(env: CompanionEnv) -> None:
    env.config.home.mkdir(mode=0o700)
    (env.config.home / "connections.json").write_text('{"claude-code": {}}')

    env.companion().once()

    assert os.access(hook_script.script_path(env.config.home), os.X_OK)


def test_when_a_new_day_has_begun_the_recent_folders_are_reported_again(env: CompanionEnv) -> None:
    env.prompt("Hello")
    days = [now()]
    env.memory.now = lambda: days[-1]
    companion = env.companion()
    companion.once()
    days.append(days[0] + 86_400_000_000)
    follow = module.TranscriptWatcher([], lambda: None)
    follow.start()

    companion._housekeeping(follow)
    companion._notify()
    follow.stop()

    assert env.changes == [["/w"], ["/w"]]


def test_after_an_update_sessions_are_read_through_before_anybody_is_reported_of_them(
    env: CompanionEnv,
) -> None:
    session = env.memory.sessions.open("fazm", workspace="/w")["id"]
    env.memory.sessions.record([Draft(session, "message", {"text": f"m{n}"}) for n in range(2500)])
    store = env.memory.store
    store.index_all()
    store.db.execute("UPDATE snapshot SET state=x'00', fold=fold-1")
    with env.working():
        env.until(lambda: bool(env.changes))
    assert store.snapshots.stale() == []
    kept = store.db.execute("SELECT seq FROM snapshot WHERE fold=? ORDER BY seq", (FOLD_VERSION,)).fetchall()
    assert [row[0] for row in kept] == [1000, 2000]


def test_marks_of_sessions_long_past_are_cleared_away(env: CompanionEnv) -> None:
    given = env.config.home / "context" / "given"
    given.mkdir(parents=True)
    for name, age in (("old", 30), ("new", 1)):
        (given / name).write_text("given")
        os.utime(given / name, (time.time() - age * 86400,) * 2)
    follow = module.TranscriptWatcher([], lambda: None)
    follow.start()

    env.companion()._housekeeping(follow)
    follow.stop()

    assert [path.name for path in given.iterdir()] == ["new"]


@pytest.mark.parametrize(
    ("file", "gone"),
    [("", 1), ("retain_apps = 0\n", 0), ("retain_apps = ?\n", 0)],
    ids=["as ever", "longer", "broken"],
)
def test_what_is_let_go_follows_ages_changed_while_it_runs(env: CompanionEnv, file: str, gone: int) -> None:
    old = now() - 100 * 86_400_000_000
    seen = Draft("apps", "app", {"app": "Mail", "title": "Inbox"}, agent="fazm", at=old)
    opened = Draft("apps", "session.open", {"agent": "fazm"}, agent="fazm", at=old)
    assert [one.error for one in env.memory.sessions.record([opened, seen])] == [None, None]
    with env.memory.store.db.transaction():  # recorded then, not imported today; announced before
        env.memory.store.db.execute("UPDATE arrival SET at = 0")
        env.memory.store.db.execute("DELETE FROM receipt")
        env.memory.store.db.execute("INSERT INTO meta VALUES (?,?)", (ANNOUNCED, "{}"))
    companion = env.companion()
    (env.config.home / "config.toml").write_text(file)
    follow = module.TranscriptWatcher([], lambda: None)
    follow.start()

    companion._housekeeping(follow)
    follow.stop()

    events = env.memory.history.events("apps", kind="app")
    assert sum(one["payload"] is None for one in events) == gone
