"""The companion as a process: killed outright while it watches, it finds what changed in the meantime."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.watch.scope import are_obeyed
from tests.cli.conftest import Run
from tests.cli.test_run import lines_until, started, user

__all__ = ["user"]
PATIENCE = 60.0


@pytest.fixture
def memory(home: Path, user: Path) -> Iterator[Memory]:
    made = Memory(Config(home, user, key="file"), lambda: time.time_ns() // 1000)
    yield made
    made.close()


@pytest.fixture
def companion(memory: Memory) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts one; none outlives its test."""
    begun: list[subprocess.Popen[str]] = []

    def begin() -> subprocess.Popen[str]:
        begun.append(started())
        lines_until(begun[-1], "Recording to ")
        return begun[-1]

    yield begin
    for process in begun:
        if process.poll() is None:
            process.kill()
            process.communicate()


def until(done: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """What it gives once it gives something, asked again whenever the process may have done more."""
    end = time.monotonic() + PATIENCE
    while not (found := done()):
        assert time.monotonic() < end, "it did not come to that"
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(process.communicate())
    return found


def files(memory: Memory) -> dict[str, dict[str, Any]]:
    result: dict[str, dict[str, Any]] = {}
    for session in memory.sessions.listing():
        for event in memory.history.events(session["id"]):
            if event["kind"] == "file":
                result[event["payload"]["path"]] = event["payload"] | {"seen": event["at"]}
    return result


def test_what_changed_between_a_kill_and_the_next_start_is_found_and_reported_as_such(
    run: Run, memory: Memory, companion: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one / "sub", two):
        folder.mkdir(parents=True)
    for name in ("kept", "renamed", "moved", "deleted", "saved"):
        (one / f"{name}.txt").write_text(f"{name}, before")
    opening = [
        {"type": "session.open", "session": folder.name, "agent": "fazm", "workspace": str(folder)}
        for folder in (one, two)
    ]
    prompts = [{"type": "prompt", "session": folder.name, "text": "Tidy it"} for folder in (one, two)]
    assert run("record", stdin=[*opening, *prompts], now=None).code == 0

    process = companion()
    watched = until(lambda: [each for each in memory.recording.watched_folders() if each["how"]][1:], process)
    assert watched[0]["how"] == "Inotify"
    status = run("status", now=None).out
    assert f"watching {one} (Inotify) since" in status
    assert f"{two} (Inotify) since" in run("doctor", now=None).out
    seen = "SELECT count(*) FROM tree WHERE at > 0"
    until(lambda: memory.store.db.execute(seen).fetchone()[0] == 2, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert memory.recording.watched_folders() == []

    (one / "renamed.txt").rename(one / "sub" / "new name.txt")
    (one / "moved.txt").rename(two / "moved.txt")
    (one / "deleted.txt").unlink()
    (one / ".saved.tmp").write_text("saved, after")
    (one / ".saved.tmp").rename(one / "saved.txt")
    (two / "made.txt").write_text("made")

    process = companion()
    until(lambda: len(files(memory)) >= 5, process)
    process.send_signal(signal.SIGTERM)
    process.communicate()

    results = files(memory)
    assert {(path, event["change"], event.get("from")) for path, event in results.items()} == {
        (str(one / "sub" / "new name.txt"), "renamed", str(one / "renamed.txt")),
        (str(two / "moved.txt"), "renamed", str(one / "moved.txt")),
        (str(one / "deleted.txt"), "deleted", None),
        (str(one / "saved.txt"), "modified", None),
        (str(two / "made.txt"), "created", None),
    }
    assert {event.get("by", "unknown") for event in results.values()} == {"unknown"}
    assert all(event["since"] < event["seen"] for event in results.values()), json.dumps(results)
    assert all(event["evidence"].startswith("changed while not watched") for event in results.values())


@pytest.mark.parametrize(
    ("watched", "by", "evidence"),
    [(True, "person", "was paused"), (False, "unknown", "while it was not watched")],
)
def test_whoever_takes_up_a_session_again_is_reported_what_changed_while_it_was_put_aside(
    run: Run,
    memory: Memory,
    companion: Callable[[], subprocess.Popen[str]],
    tmp_path: Path,
    watched: bool,
    by: str,
    evidence: str,
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_text(name)
    opening = {"type": "session.open", "session": "s", "agent": "fazm", "workspace": str(folder)}
    run("record", stdin=[opening, {"type": "prompt", "session": "s", "text": "Tidy it"}], now=None)
    process = companion()
    until(lambda: memory.recording.watched_folders(), process)
    until(lambda: memory.store.db.execute("SELECT at FROM tree").fetchone(), process)
    session = memory.sessions.listing()[0]["id"]
    run("pause", session, now=None)
    if not watched:
        process.kill()
        process.communicate()

    (folder / "a.txt").rename(folder / "A.txt")
    (folder / "b.txt").unlink()
    if watched:
        until(lambda: len(files(memory)) == 2, process)
    results = run("resume", session, "--json", now=None).json["briefing"]
    changed = {(one["change"], one["path"], one.get("from")) for one in results["changed_since"]}
    assert changed == {
        ("renamed", str(folder / "A.txt"), str(folder / "a.txt")),
        ("deleted", str(folder / "b.txt"), None),
    }
    assert {one["by"] for one in results["changed_since"]} == {by}
    assert all(evidence in one["evidence"] for one in results["changed_since"])
    assert "CHANGED SINCE" in results["text"]

    # What nobody watched is recorded when the folder is watched again.
    if not watched:
        process = companion()
    until(lambda: len(files(memory)) == 2, process)
    sure = "likely" if watched else "possible"
    assert {(event["by"], event["sure"]) for event in files(memory).values()} == {("person", sure)}


def test_exclude_returns_when_the_companion_obeys(
    run: Run, memory: Memory, companion: Callable[[], subprocess.Popen[str]], tmp_path: Path
) -> None:
    folder = tmp_path / "w"
    (folder / "private").mkdir(parents=True)
    opening = {"type": "session.open", "session": "s", "agent": "fazm", "workspace": str(folder)}
    prompt = {"type": "prompt", "session": "s", "text": "go"}
    assert run("record", stdin=[opening, prompt], now=None).code == 0
    process = companion()
    until(lambda: [each for each in memory.recording.watched_folders() if each["how"]], process)
    exclude = ("exclude", "--folder", str(folder / "private"), "--json")
    until(lambda: run(*exclude, now=None).json["obeyed"], process)
    assert are_obeyed(memory.store.db, memory.config.home)
    (folder / "private" / "diary.txt").write_text("not for you")
    (folder / "plain.txt").write_text("for all")
    until(lambda: str(folder / "plain.txt") in files(memory), process)
    assert str(folder / "private" / "diary.txt") not in files(memory)
    assert memory.file_versions.last(str(folder), "private/diary.txt") is None
