"""The companion: what agents leave is taken in as it comes, once, and whoever follows it is told."""

from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fazm_memory import companion as module
from fazm_memory.capture import hook_script
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.instance import only_one, running
from fazm_memory.capture.recorder import Recorder
from fazm_memory.companion import Companion
from fazm_memory.config import Config
from fazm_memory.errors import StoreBusy, StoreFull
from fazm_memory.memory import Memory
from fazm_memory.model.state import FOLD_VERSION

PATIENCE = 20.0
SESSION = "11111111-2222-4333-8444-555555555555"


def now() -> int:
    return time.time_ns() // 1000


class Desk:
    """A user with Claude Code, and a memory of their own."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        self.project = self.user / ".claude" / "projects" / "-w"
        self.project.mkdir(parents=True)
        self.config = Config(folder / "home", self.user, key="file")
        self.memory = Memory(self.config, now)
        self.told: list[Sequence[str]] = []
        self.said: list[str] = []
        self.changed = threading.Event()

    def companion(self, memory: Memory | None = None) -> Companion:
        made = Companion(memory or self.memory, say=self.said.append)
        made.after_change(self._tell)
        return made

    def _tell(self, folders: Sequence[str]) -> None:
        self.told.append(folders)
        self.changed.set()

    def prompt(self, text: str, session: str = SESSION) -> Path:
        path = self.project / f"{session}.jsonl"
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        record = {
            "type": "user",
            "uuid": f"{session[:8]}-{text}",
            "timestamp": f"{stamp}.{time.time_ns() // 1000 % 1_000_000:06}Z",
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
            for session in memory.sessions()
            for event in memory.events(session["id"], kind="prompt")
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
            assert time.monotonic() < deadline, (self.prompts(), self.said)
            self.changed.wait(0.05)
            self.changed.clear()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.memory.close()


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same companion with less patience."""
    monkeypatch.setattr(module, "QUIET", 0.05)
    monkeypatch.setattr(module, "GATHER", 0.01)


def test_once_takes_in_spool_and_records_tells_and_ends(desk: Desk) -> None:
    desk.prompt("Rename the invoices")
    dropped = desk.drop("UserPromptSubmit", prompt="Skip the photos", prompt_id="p2")

    tally = desk.companion().once()

    assert sorted(desk.prompts()) == ["Rename the invoices", "Skip the photos"]
    assert (tally.events, desk.told) == (3, [["/w"]])
    assert not dropped.exists()
    assert desk.companion().once().events == 0


def test_once_while_recording_is_paused_takes_in_nothing(desk: Desk) -> None:
    desk.prompt("in secret")
    desk.memory.pause_recording()

    assert desk.companion().once().events == 0
    assert desk.told == []


def test_what_was_there_and_what_comes_is_taken_in_live(desk: Desk) -> None:
    desk.prompt("before")
    with desk.working():
        desk.until(lambda: desk.prompts() == ["before"])
        desk.prompt("live")
        desk.until(lambda: desk.prompts() == ["before", "live"])
        desk.prompt("a new session", session="22222222-2222-4333-8444-555555555555")
        desk.until(lambda: "a new session" in desk.prompts())

    assert desk.told
    assert desk.said == []


def test_what_a_hook_drops_is_taken_in_live_and_only_then_deleted(desk: Desk) -> None:
    with desk.working():
        path = desk.drop("UserPromptSubmit", prompt="Hello", prompt_id="p1")
        desk.until(lambda: desk.prompts() == ["Hello"])
        desk.until(lambda: not path.exists())


def test_what_hook_and_transcript_both_tell_is_told_once(desk: Desk) -> None:
    with desk.working():
        desk.drop("UserPromptSubmit", prompt="Hello", prompt_id="Hello")
        desk.prompt("Hello")
        desk.prompt("And then")
        desk.until(lambda: "And then" in desk.prompts())

    assert desk.prompts() == ["Hello", "And then"]


def test_the_end_of_a_session_waits_until_its_transcript_is_read(desk: Desk) -> None:
    path = desk.prompt("Hello")
    with desk.working():
        desk.until(lambda: desk.prompts() == ["Hello"])
        desk.drop("SessionEnd", reason="logout", transcript_path=str(path), at=time.time() - 1.8)
        desk.prompt("the last word")
        desk.until(lambda: desk.memory.sessions()[0]["lifecycle"] == "closed")

    kinds = [event["kind"] for event in desk.memory.events(desk.memory.sessions()[0]["id"])]
    assert kinds == ["session.open", "prompt", "prompt", "session.close"]


def test_files_about_to_change_are_told_at_once(desk: Desk) -> None:
    kept: list[Sequence[str]] = []
    desk.drop(
        "PreToolUse", tool_name="Edit", tool_input={"file_path": "/w/a.txt"}, tool_use_id="c", prompt_id="p"
    )
    companion = desk.companion()
    companion.before_change(kept.append)

    companion.once()

    assert kept == [("/w/a.txt",)]


def test_a_pause_holds_and_what_was_done_in_it_never_comes_in(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL", 0.2)
    desk.prompt("before")
    with desk.working():
        desk.until(lambda: desk.prompts() == ["before"])
        desk.memory.pause_recording()
        desk.prompt("in secret")
        desk.memory.resume_recording()
        desk.prompt("after")
        desk.until(lambda: "after" in desk.prompts())

    assert desk.prompts() == ["before", "after"]


def test_there_is_only_one_and_a_second_is_told_which(desk: Desk) -> None:
    assert running(desk.config.home) is None
    with only_one(desk.config.home):
        assert running(desk.config.home) == os.getpid()
        with pytest.raises(StoreBusy, match=f"already running \\(process {os.getpid()}\\)"):
            desk.companion().run()
    assert running(desk.config.home) is None


def test_a_full_disk_is_told_once_and_nothing_is_lost(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AFTER_TROUBLE", 0.01)
    record, failures = Recorder.record, iter([True, True])

    def full(recorder: Recorder, *given: Any, **more: Any) -> Any:
        if next(failures, False):
            raise StoreFull("no room left", hint="free some space")
        return record(recorder, *given, **more)

    monkeypatch.setattr(Recorder, "record", full)
    desk.prompt("Hello")
    with desk.working():
        desk.until(lambda: desk.prompts() == ["Hello"])

    assert desk.said == ["There is no room left to write: no room left"]


def test_too_many_open_files_are_waited_out(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    record, tries = Recorder.record, iter(range(100))

    def none_left(recorder: Recorder, *given: Any, **more: Any) -> Any:
        if next(tries) == 0:
            raise OSError(errno.EMFILE, "Too many open files")
        return record(recorder, *given, **more)

    monkeypatch.setattr(module, "AFTER_TROUBLE", 0.05)
    monkeypatch.setattr(Recorder, "record", none_left)
    desk.prompt("Hello")
    with desk.working():
        desk.until(lambda: desk.prompts() == ["Hello"])

    assert len(desk.said) == 1
    assert desk.said[0].startswith("Too many files are open")


def test_a_folder_of_a_session_opened_elsewhere_is_watched_before_the_next_round(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the store tells of it; and what is seen there counts as recorded."""
    for name in ("POLL", "LATEST"):
        monkeypatch.setattr(module, name, 1000 * PATIENCE)
    monkeypatch.setattr("fazm_memory.capture.workspaces.IDLE", 1000 * PATIENCE)
    work = tmp_path / "work"
    work.mkdir()
    asleep, sleep = threading.Event(), Companion._sleep

    def noted(companion: Companion, *given: Any) -> None:
        if given[0] > 2 * PATIENCE:
            asleep.set()
        sleep(companion, *given)

    monkeypatch.setattr(Companion, "_sleep", noted)
    with desk.working() as companion:
        assert asleep.wait(PATIENCE)
        opening = {"agent": "fazm", "agent_session_id": "s", "workspace": str(work)}
        desk.memory.record([Draft("s", "session.open", opening, agent="fazm", source="record")])
        desk.until(lambda: any(one["how"] for one in desk.memory.watching()))
        before = companion.tally.events
        (work / "invoice.txt").write_text("2026")
        desk.until(lambda: companion.tally.events > before)


def test_what_cannot_be_read_is_told_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.prompt("Hello")

    def broken(*given: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("fazm_memory.capture.agents.claude_code.ClaudeCode.read", broken)
    companion = desk.companion()
    companion.once()
    companion.once()

    assert len(desk.said) == 1
    assert str(path) in desk.said[0]


def test_connected_agents_get_the_present_hooks(desk: Desk) -> None:
    desk.config.home.mkdir(mode=0o700)
    (desk.config.home / "connections.json").write_text('{"claude-code": {}}')

    desk.companion().once()

    assert os.access(hook_script.script_path(desk.config.home), os.X_OK)


def test_when_a_new_day_has_begun_the_recent_folders_are_told_again(desk: Desk) -> None:
    desk.prompt("Hello")
    days = [now()]
    desk.memory.now = lambda: days[-1]
    companion = desk.companion()
    companion.once()
    days.append(days[0] + 86_400_000_000)
    follow = module.Follow([], lambda: None)
    follow.start()

    companion._look_after(follow)
    companion._tell()
    follow.stop()

    assert desk.told == [["/w"], ["/w"]]


def test_after_an_update_sessions_are_read_through_before_anybody_is_told_of_them(desk: Desk) -> None:
    session = desk.memory.open_session("fazm", workspace="/w")["id"]
    desk.memory.record([Draft(session, "message", {"text": f"m{n}"}) for n in range(2500)])
    store = desk.memory.store
    store.index_all()
    store.db.execute("UPDATE snapshot SET state=x'00', fold=fold-1")
    with desk.working():
        desk.until(lambda: bool(desk.told))
    assert store.snapshots.stale() == []
    kept = store.db.execute("SELECT seq FROM snapshot WHERE fold=? ORDER BY seq", (FOLD_VERSION,)).fetchall()
    assert [row[0] for row in kept] == [1000, 2000]


def test_marks_of_sessions_long_past_are_cleared_away(desk: Desk) -> None:
    given = desk.config.home / "context" / "given"
    given.mkdir(parents=True)
    for name, age in (("old", 30), ("new", 1)):
        (given / name).write_text("given")
        os.utime(given / name, (time.time() - age * 86400,) * 2)
    follow = module.Follow([], lambda: None)
    follow.start()

    desk.companion()._look_after(follow)
    follow.stop()

    assert [path.name for path in given.iterdir()] == ["new"]


@pytest.mark.parametrize(
    ("file", "gone"),
    [("", 1), ("retain_apps = 0\n", 0), ("retain_apps = ?\n", 0)],
    ids=["as ever", "longer", "broken"],
)
def test_what_is_let_go_follows_ages_changed_while_it_runs(desk: Desk, file: str, gone: int) -> None:
    old = now() - 100 * 86_400_000_000
    seen = Draft("apps", "app", {"app": "Mail", "title": "Inbox"}, agent="fazm", at=old)
    opened = Draft("apps", "session.open", {"agent": "fazm"}, agent="fazm", at=old)
    assert [one.error for one in desk.memory.record([opened, seen])] == [None, None]
    companion = desk.companion()
    (desk.config.home / "config.toml").write_text(file)
    follow = module.Follow([], lambda: None)
    follow.start()

    companion._look_after(follow)
    follow.stop()

    events = desk.memory.events("apps", kind="app")
    assert sum(one["payload"] is None for one in events) == gone
