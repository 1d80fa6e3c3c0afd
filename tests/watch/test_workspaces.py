"""From a file that changes on disk to an event that says who changed it, and the versions beside it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.engines.redaction import Redactor
from fazm_memory.events.event import Action, ActionStart, Draft, FileChange, FileTouch, Gap
from fazm_memory.ingest.recorder import Recorder, RecordResult
from fazm_memory.store.file_versions import FileVersions, FolderHistory, digest_of
from fazm_memory.store.store import Store
from fazm_memory.watch.attribution import active_workspaces
from fazm_memory.watch.scanner import FileDifference, ObservedChange, ObservedFolder, ScanResult
from fazm_memory.watch.scope import BECAME_A_LINK, load_watched_folders
from fazm_memory.watch.tree import IgnoreRules, scan
from fazm_memory.watch.versions import Baseline, VersionedChange, read_file
from fazm_memory.watch.workspaces import PER_FOLDER, WorkspaceWatcher
from tests.conftest import OpenStore
from tests.scribe import Scribe, move

PATIENCE = 30.0


def now() -> int:
    return time.time_ns() // 1000


class WatchEnv:
    """A session at work in a folder, and whoever watches it."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.recorder = Recorder(store, Redactor(), now)
        self.scribe = Scribe(store)
        self.scribe.clock = now()
        self.session = self.scribe.open(workspace=str(folder))
        self.woken = threading.Event()
        self.watching: WorkspaceWatcher | None = None
        self.excluded: tuple[str, ...] = ()
        self.baseline = True
        self.added: tuple[str, ...] = ()
        self.pauses: list[tuple[int, int]] = []

    def begin(self) -> WorkspaceWatcher:
        self.watching = WorkspaceWatcher(
            self.store,
            self.record,
            now,
            user_home=self.folder.parent / "user",
            wake=self.woken.set,
            excluded=lambda: self.excluded,
            hold=0,
            quiet=0.02,
            baseline=self.baseline,
            added=lambda: self.added,
            pauses=lambda: self.pauses,
        )
        self.watching.tick()
        assert self.woken.wait(PATIENCE)
        baseline = self.watching._recorder.baseline
        self.until(lambda: not baseline.left())
        return self.watching

    def record(self, drafts: Any) -> list[RecordResult]:
        return self.recorder.record(drafts)

    def until(self, done: Callable[[], object]) -> None:
        """Tick, as the companion does, until it is so."""
        assert self.watching is not None
        end = time.monotonic() + PATIENCE
        self.watching.tick()
        while not done():
            assert time.monotonic() < end, self.watching._watcher.failure
            self.woken.wait(0.05)
            self.woken.clear()
            self.watching.tick()

    def wait(self, done: Callable[[], object]) -> None:
        """Wait for the watcher's thread without a tick, which would take up what rests."""
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end
            self.woken.wait(0.05)
            self.woken.clear()

    def payloads(self, kind: type[Any] = FileChange, session: str | None = None) -> list[Any]:
        return [one for one in self.scribe.payloads(session or self.session) if isinstance(one, kind)]

    def stop(self) -> None:
        if self.watching is not None:
            self.watching.stop()
            self.watching = None


@pytest.fixture
def env(store: Store, tmp_path: Path) -> Iterator[WatchEnv]:
    folder = tmp_path / "work"
    folder.mkdir()
    made = WatchEnv(store, folder)
    yield made
    made.stop()


def test_a_persons_change_is_reported_with_what_the_file_held_before_and_after(env: WatchEnv) -> None:
    (env.folder / "a.txt").write_text("before")
    env.begin()
    (env.folder / "a.txt").write_text("and after")
    env.until(env.payloads)
    (one,) = env.payloads()
    assert (one.path, one.change, one.by, one.sure) == (
        str(env.folder / "a.txt"), "modified", "person", "likely",
    )  # fmt: skip
    assert (one.before, one.after) == (digest_of(b"before"), digest_of(b"and after"))
    assert one.since is None


def test_two_sessions_at_work_in_one_folder_are_distinguished_by_what_they_name_or_reported_not_to_be(
    env: WatchEnv,
) -> None:
    other = env.scribe.open(workspace=str(env.folder), agent="codex")
    env.begin()
    env.scribe.tell(env.session, ActionStart("Bash", {"command": "make all"}, "c1"), at=now())
    env.scribe.tell(other, ActionStart("shell", {"command": "touch theirs.txt; make"}, "c2"), at=now())
    (env.folder / "theirs.txt").write_text("named by one of them")
    (env.folder / "whose.txt").write_text("named by none")
    results: dict[str, FileChange] = {}

    def both() -> bool:
        every = [*env.payloads(), *env.payloads(session=other)]
        results.update({Path(one.path).name: one for one in every})
        return len(results) == 2

    env.until(both)
    assert results["theirs.txt"].evidence.startswith("named by shell")
    assert str(env.folder / "theirs.txt") in [one.path for one in env.payloads(session=other)]
    assert (results["whose.txt"].by, results["whose.txt"].sure) == ("agent", "possible")
    assert "which cannot be told apart" in results["whose.txt"].evidence


def test_beside_a_session_whose_calls_are_reported_late_nobody_can_say_who_it_was(env: WatchEnv) -> None:
    late = env.scribe.open(workspace=str(env.folder), agent="gemini")
    env.scribe.tell(late, Action("run_shell_command", {"command": "ls"}), at=now() - 60_000_000)
    env.begin()
    (env.folder / "a.txt").write_text("whose?")
    env.until(lambda: env.payloads() or env.payloads(session=late))
    (one,) = [*env.payloads(), *env.payloads(session=late)]
    assert (one.by, one.evidence) == ("unknown", "a session at work here is not heard as it works")


def test_before_its_first_call_a_session_is_heard_only_if_its_agent_is_known_to_report_at_once(
    env: WatchEnv,
) -> None:
    first = env.scribe.open(workspace=str(env.folder), agent="scout")
    heard = {
        place.session: place.heard for place in active_workspaces(env.store, env.store.sessions.listing())
    }
    assert heard == {env.session: True, first: False}


@pytest.mark.parametrize(("agent", "sure"), [("fazm", "likely"), ("gemini", "possible")])
def test_a_change_during_a_pause_is_recorded_at_once_as_a_persons_and_resumes_nothing(
    env: WatchEnv, agent: str, sure: str
) -> None:
    env.scribe.tell(env.session, move("close"), at=now())
    env.session = env.scribe.open(workspace=str(env.folder), agent=agent)
    long_ago = now() - 60_000_000
    env.scribe.tell(env.session, Action("shell", {"command": "ls"}), at=long_ago)  # "gemini" reports late
    (env.folder / "a.txt").write_text("before")
    env.begin()
    env.scribe.tell(env.session, move("pause"), at=now())
    (env.folder / "a.txt").write_text("during the pause")
    env.until(env.payloads)
    (change,) = env.payloads()
    assert (change.change, change.by, change.sure) == ("modified", "person", sure)
    assert change.evidence.startswith(f"session {env.session[:8]} was paused")
    assert env.scribe.row(env.session).lifecycle == "paused"


def test_a_change_beside_a_paused_session_belongs_to_the_one_at_work(env: WatchEnv) -> None:
    other = env.scribe.open(workspace=str(env.folder), agent="codex")
    env.begin()
    env.scribe.tell(env.session, move("pause"), at=now())
    (env.folder / "a.txt").write_text("by a person")
    env.until(lambda: env.payloads(session=other))
    (change,) = env.payloads(session=other)
    assert (change.by, change.evidence) == ("person", "no tool call that could write was running")
    assert env.payloads() == []


def test_a_session_that_announces_its_calls_is_heard_whatever_agent_it_is(env: WatchEnv) -> None:
    other = env.scribe.open(workspace=str(env.folder), agent="gemini")
    env.scribe.tell(
        other, ActionStart("shell", {"command": "ls"}, "c1"), Action("shell", {"command": "ls"}, call_id="c1")
    )
    assert [place.heard for place in active_workspaces(env.store, env.store.sessions.listing())] == [True] * 2


def test_it_is_noted_what_is_watched_how_and_since_when_and_what_is_not_and_why(env: WatchEnv) -> None:
    home = env.folder.parent / "user"
    home.mkdir()
    env.scribe.open(workspace=str(home))
    watching = env.begin()
    env.until(lambda: any(one.how for one in load_watched_folders(env.store.db)))
    mine, refused = load_watched_folders(env.store.db)
    assert (mine.folder, mine.how, mine.refused) == (str(env.folder), "Inotify", None)
    assert mine.since is not None
    assert mine.since <= now()
    assert (refused.folder, refused.refused) == (str(home), "it holds a whole home or more")
    watching.rest()
    assert load_watched_folders(env.store.db) == []
    watching.tick()
    env.until(lambda: load_watched_folders(env.store.db))
    env.stop()
    assert load_watched_folders(env.store.db) == []


def test_a_change_while_a_shell_runs_is_the_agents(env: WatchEnv) -> None:
    env.begin()
    env.scribe.tell(env.session, ActionStart("Bash", {"command": "make all"}, "c1"), at=now())
    (env.folder / "made.o").write_text("o")
    env.until(env.payloads)
    (one,) = env.payloads()
    assert (one.by, one.sure, one.change) == ("agent", "likely", "created")
    assert "while it ran: Bash" in one.evidence
    assert f"(#{one.call})" in one.evidence


def test_a_change_that_its_action_reported_adds_no_event_but_its_version_is_kept(
    env: WatchEnv, home: Path
) -> None:
    (env.folder / "a.txt").write_text("before")
    env.begin()
    path = str(env.folder / "a.txt")
    env.scribe.tell(
        env.session, Action("Edit", {}, files=(FileTouch(path, "modified"),), duration_ms=5), at=now()
    )
    (env.folder / "a.txt").write_text("by the agent")
    (env.folder / "other.txt").write_text("beside it")
    env.until(env.payloads)
    assert [one.path for one in env.payloads()] == [str(env.folder / "other.txt")]
    versions = FileVersions(home, env.store.keys.database)
    last = versions.last(str(env.folder), "a.txt")
    versions.close()
    assert last is not None
    assert (last.digest, last.recorded) == (digest_of(b"by the agent"), True)


def test_a_touch_is_no_change(env: WatchEnv) -> None:
    (env.folder / "a.txt").write_text("same")
    env.begin()
    (env.folder / "a.txt").touch()
    (env.folder / "b.txt").write_text("new")
    env.until(env.payloads)
    assert [Path(one.path).name for one in env.payloads()] == ["b.txt"]


def test_a_change_of_mode_is_reported_with_what_it_was_and_kept(env: WatchEnv, home: Path) -> None:
    script = env.folder / "run.sh"
    script.write_text("#!/bin/sh")
    script.chmod(0o644)
    env.begin()
    env.scribe.clock = now()
    env.scribe.tell(env.session, ActionStart("Bash", {"command": "chmod 755 run.sh"}, call_id="c"))
    script.chmod(0o755)
    env.until(env.payloads)
    (one,) = env.payloads()
    assert (one.path, one.change, one.by, one.before) == (str(script), "modified", "agent", one.after)
    assert one.evidence.endswith("; only its mode changed: 644 → 755")
    versions = FileVersions(home, env.store.keys.database)
    kept = [(row.digest, row.mode, row.changed_by) for row in versions.history(str(env.folder), "run.sh")]
    versions.close()
    digest = digest_of(b"#!/bin/sh")
    assert kept == [(digest, 0o644, None), (digest, 0o755, "agent")]


def test_folders_that_come_and_go_are_noted_with_whose_hand_it_was(env: WatchEnv, home: Path) -> None:
    (env.folder / "old").mkdir()
    env.begin()
    versions = FileVersions(home, env.store.keys.database)
    seen = FolderHistory(versions)

    def hands(path: str) -> list[tuple[bool, str]]:
        return [(one.came, one.changed_by) for one in seen.history(str(env.folder), path)]

    (env.folder / "theirs").mkdir()
    env.until(lambda: hands("theirs"))
    env.scribe.clock = now()
    env.scribe.tell(env.session, ActionStart("Bash", {"command": "sh work.sh"}, call_id="c"))
    (env.folder / "new" / "deep").mkdir(parents=True)
    (env.folder / "old").rmdir()
    env.until(lambda: hands("new/deep") and hands("old"))
    found = {path: hands(path) for path in ("theirs", "new", "new/deep", "old")}
    versions.close()
    assert found == {"theirs": [(True, "person")], "new": [(True, "agent")],
                     "new/deep": [(True, "agent")], "old": [(False, "agent")]}  # fmt: skip


def test_what_happened_while_nobody_watched_is_reported_once_with_since_when(env: WatchEnv) -> None:
    (env.folder / "a.txt").write_text("one")
    (env.folder / "b.txt").write_text("two")
    env.begin()
    env.stop()
    (env.folder / "a.txt").write_text("changed meanwhile")
    (env.folder / "b.txt").rename(env.folder / "c.txt")
    env.begin()
    env.until(lambda: len(env.payloads()) == 2)
    renamed, modified = env.payloads()
    assert (renamed.change, renamed.origin, renamed.before) == (
        "renamed", str(env.folder / "b.txt"), digest_of(b"two"),
    )  # fmt: skip
    assert (modified.by, modified.before) == ("unknown", digest_of(b"one"))
    assert modified.since is not None
    assert "changed while not watched" in modified.evidence
    assert [one.what for one in env.payloads(Gap, "companion")] == ["files"]
    env.stop()
    env.begin()
    (env.folder / "d.txt").write_text("later")
    env.until(lambda: len(env.payloads()) > 2)
    assert [Path(one.path).name for one in env.payloads()[2:]] == ["d.txt"]


def test_a_stop_that_came_before_the_checkpoint_tells_nothing_twice(
    env: WatchEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.begin()
    monkeypatch.setattr("fazm_memory.watch.tree.TreeCheckpoints.save", lambda self, tree: None)
    (env.folder / "a.txt").write_text("one")
    env.until(env.payloads)
    env.stop()
    monkeypatch.undo()
    env.begin()
    (env.folder / "b.txt").write_text("two")
    env.until(lambda: len(env.payloads()) > 1)
    assert [Path(one.path).name for one in env.payloads()] == ["a.txt", "b.txt"]


def test_a_storm_is_reported_in_part_and_the_rest_as_counts(env: WatchEnv, tmp_path: Path) -> None:
    count = PER_FOLDER + 150
    (tmp_path / "many").mkdir()
    for n in range(count):
        (tmp_path / "many" / f"{n}.txt").touch()
    env.begin()
    (tmp_path / "many").rename(env.folder / "many")  # one scan finds them all

    def counted() -> int:
        return sum(int(one.note.split()[0]) for one in env.payloads(Gap)) + len(env.payloads())

    env.until(lambda: counted() == count)
    assert len(env.payloads()) < count
    assert "too many to tell one by one" in env.payloads(Gap)[0].note


def test_a_folder_that_is_excluded_is_neither_watched_nor_kept(env: WatchEnv) -> None:
    private = env.folder / "private"
    private.mkdir()
    (private / "diary.txt").write_text("before")
    env.excluded = (str(private),)
    watching = env.begin()
    (private / "diary.txt").write_text("after")
    (env.folder / "open.txt").write_text("seen")
    env.until(lambda: env.payloads())
    watching.keep_before([str(private / "diary.txt")])
    assert [one.path for one in env.payloads()] == [str(env.folder / "open.txt")]
    assert watching._versions.manifest(str(env.folder), now()).keys() == {"open.txt"}


def test_a_workspace_that_is_excluded_while_it_is_watched_is_left_and_taken_up_again(env: WatchEnv) -> None:
    watching = env.begin()
    env.excluded = (str(env.folder),)
    watching._followed = -100.0
    env.until(lambda: watching._watcher.roots() == [])
    assert [(one.folder, one.refused) for one in watching.watched] == [(str(env.folder), "you excluded it")]
    env.excluded = ()
    watching._followed = -100.0
    env.until(lambda: watching._watcher.roots() == [str(env.folder)])
    assert watching.watched[0].refused is None


def test_a_change_waits_for_trouble_to_pass(env: WatchEnv) -> None:
    watching = env.begin()
    failures = [RuntimeError("disk full")]
    record = env.record

    def refusing(drafts: Any) -> list[RecordResult]:
        if failures:
            raise failures.pop()
        return record(drafts)

    watching.record = refusing
    (env.folder / "a.txt").write_text("x")
    with pytest.raises(RuntimeError):
        env.until(env.payloads)
    env.until(env.payloads)
    assert len(env.payloads()) == 1


def test_while_recording_is_paused_nothing_is_seen_then_or_later(env: WatchEnv) -> None:
    watching = env.begin()
    watching.rest()
    env.wait(lambda: not watching._looker.roots)
    (env.folder / "private.txt").write_text("x")
    # Looked through once: what came before is what it begins with.
    env.until(lambda: [root for root in watching._looker.roots.copy().values() if not root.look_through])
    (env.folder / "public.txt").write_text("y")
    env.until(env.payloads)
    assert [Path(one.path).name for one in env.payloads()] == ["public.txt"]


def test_a_file_an_agent_is_about_to_change_is_kept_at_once(env: WatchEnv, home: Path) -> None:
    watching = env.begin()
    (env.folder / "young.txt").write_text("just made")
    watching.keep_before([str(env.folder / "young.txt"), "/elsewhere/x"])
    (env.folder / "young.txt").write_text("changed by the tool")
    versions = FileVersions(home, env.store.keys.database)
    kept = versions.read(digest_of(b"just made"))
    versions.close()
    assert kept == b"just made"


def test_a_watcher_that_failed_is_started_again(env: WatchEnv) -> None:
    watching = env.begin()
    keeper = watching._recorder
    note = keeper.note
    failures = [RuntimeError("no room")]

    def failing(*given: Any) -> Any:
        if failures:
            raise failures.pop()
        return note(*given)

    keeper.note = failing  # type: ignore[assignment,method-assign]
    (env.folder / "a.txt").write_text("x")

    def revived() -> bool:
        watching._followed = -1000.0
        return any("no room" in (folder.refused or "") for folder in load_watched_folders(env.store.db))

    env.woken.set()
    env.until(revived)  # `status`, `doctor` and the menu show it
    env.until(env.payloads)
    assert [Path(one.path).name for one in env.payloads()] == ["a.txt"]


def test_drafts_are_of_this_source(env: WatchEnv) -> None:
    watching = env.begin()
    drafts: list[Draft] = []
    record = env.record

    def listening(given: Any) -> list[RecordResult]:
        drafts.extend(given)
        return record(given)

    watching.record = listening
    (env.folder / "a.txt").write_text("x")
    env.until(env.payloads)
    assert {one.source for one in drafts} == {"files"}


def test_the_store_itself_is_never_watched(open_store: OpenStore, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    env = WatchEnv(open_store(folder / "home"), folder)
    try:
        env.begin()
        (folder / "a.txt").write_text("x")
        env.until(env.payloads)
        assert [Path(one.path).name for one in env.payloads()] == ["a.txt"]
    finally:
        env.stop()


def test_without_a_baseline_only_files_that_change_are_stored(env: WatchEnv) -> None:
    (env.folder / "quiet.txt").write_text("nobody touches it")
    (env.folder / "a.txt").write_text("before")
    env.baseline = False
    env.begin()
    (env.folder / "a.txt").write_text("and after")
    env.until(env.payloads)
    (change,) = env.payloads()
    assert (change.before, change.after) == (None, digest_of(b"and after"))
    with closing(FileVersions(env.store.home, env.store.keys.database)) as versions:
        assert set(versions.manifest(str(env.folder), now())) == {"a.txt"}


def test_a_baseline_is_kept_of_workspaces_only_and_begins_with_a_session(
    env: WatchEnv, tmp_path: Path
) -> None:
    watched = tmp_path / "watched"
    for folder in ("private", "project"):
        (watched / folder).mkdir(parents=True)
        (watched / folder / "file.txt").write_text("text")
    env.added = (str(watched),)
    env.begin()
    with closing(FileVersions(env.store.home, env.store.keys.database)) as versions:
        assert set(versions.manifest(str(watched), now())) == set()
        env.scribe.open(workspace=str(watched / "project"))
        env.watching._followed = float("-inf")  # type: ignore[union-attr]
        env.watching.tick()  # type: ignore[union-attr]
        env.watching.rescan("a new session")  # type: ignore[union-attr]
        env.until(lambda: versions.manifest(str(watched), now()))
        assert set(versions.manifest(str(watched), now())) == {"project/file.txt"}


def stored(env: WatchEnv, home: Path, text: bytes) -> bool:
    versions = FileVersions(home, env.store.keys.database)
    try:
        return versions.read(digest_of(text)) is not None
    finally:
        versions.close()


@pytest.mark.parametrize("where", ["folder", "folder/below", "root"])
def test_a_folder_that_became_a_link_counts_as_gone(
    env: WatchEnv, home: Path, tmp_path: Path, where: str
) -> None:
    private = tmp_path / "private" / "below"
    private.mkdir(parents=True)
    (private / "diary.txt").write_text("dear diary")
    inner = env.folder / "folder" / "below"
    inner.mkdir(parents=True)
    (inner / "a.txt").write_text("a")
    env.begin()
    place = env.folder if where == "root" else env.folder / where
    place.rename(tmp_path / "moved away")
    target = private if where.endswith("below") else private.parent
    place.symlink_to(target)
    (target / "new.txt").write_text("written through the link")
    assert env.watching is not None
    env.watching.rescan("test")
    env.until(lambda: [change for change in env.payloads() if change.change == "deleted"])
    assert not [change for change in env.payloads() if "diary" in change.path or "new" in change.path]
    assert not stored(env, home, b"dear diary")
    assert not stored(env, home, b"written through the link")


@pytest.mark.parametrize("how", ["a stop", "a failure", "an exclusion"])
def test_a_root_that_became_a_link_is_not_followed_after_a_restart(
    env: WatchEnv, home: Path, tmp_path: Path, how: str
) -> None:
    """The class: what was known about a root is lost with the watcher. Looked for: a new start, a restart
    after a failure, and a link into an excluded folder, which must not be read by either of its names."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "diary.txt").write_text("dear diary")
    first = env.begin()
    if how == "a failure":
        first._watcher.stop()
        first._watcher.failure = RuntimeError("gone")
    else:
        first.stop()
    env.folder.rename(tmp_path / "moved away")
    env.folder.symlink_to(private)
    if how == "an exclusion":
        env.excluded = (str(private),)
        env.store.db.execute("DELETE FROM meta WHERE key='watched_places'")
    if how == "a failure":
        first._followed = -1e9
        first.tick()
        again = first
    else:
        again = env.watching = WorkspaceWatcher(
            env.store,
            env.record,
            now,
            user_home=tmp_path / "user",
            excluded=lambda: env.excluded,
            hold=0,
            quiet=0.02,
        )
    again.tick()
    again.rescan("test")
    time.sleep(0.3)
    again.tick()
    refused = {root.folder: root.refused for root in load_watched_folders(env.store.db)}

    assert not stored(env, home, b"dear diary")
    assert not [change for change in env.payloads() if "diary" in change.path]
    assert refused.get(str(env.folder)) in (BECAME_A_LINK, "you excluded it")


@pytest.mark.linux("the disk of a Mac refuses such a name")
def test_a_name_that_is_not_text_does_not_end_recording(env: WatchEnv) -> None:
    watching = env.begin()
    odd = os.path.join(os.fsencode(env.folder), b"odd \xff.txt")
    with open(odd, "wb") as file:
        file.write(b"odd")
    os.mkdir(os.path.join(os.fsencode(env.folder), b"folder \xff"))
    env.until(env.payloads)
    os.rename(odd, os.path.join(os.fsencode(env.folder), b"odder \xfe.txt"))
    env.until(lambda: len(env.payloads()) == 2)
    (env.folder / "plain.txt").write_text("plain")
    env.until(lambda: len(env.payloads()) == 3)
    created, renamed, plain = env.payloads()
    assert created.path.endswith("odd \\xff.txt")
    assert renamed.change == "renamed"
    assert plain.path.endswith("plain.txt")
    assert watching._watcher.failure is None


def test_special_files_in_a_folder_are_left_alone(env: WatchEnv) -> None:
    os.mkfifo(env.folder / "pipe")
    os.mkfifo(env.folder / ".gitignore")
    (env.folder / "zero").symlink_to("/dev/zero")
    env.begin()
    (env.folder / "plain.txt").write_text("plain")
    env.until(env.payloads)
    assert [Path(change.path).name for change in env.payloads()] == ["plain.txt"]


def test_a_file_that_became_a_folder_before_it_is_read_stops_no_watcher(tmp_path: Path) -> None:
    assert read_file(str(tmp_path)).content == "not a plain file"


def test_what_was_written_during_a_pause_is_not_stored_afterwards(env: WatchEnv, home: Path) -> None:
    before = now()
    (env.folder / "private.txt").write_text("written in a pause")
    env.pauses = [(before, now() + 1)]
    watching = env.begin()
    watching.keep_before([str(env.folder / "private.txt")])
    assert not stored(env, home, b"written in a pause")
    (env.folder / "later.txt").write_text("written later")
    env.until(lambda: stored(env, home, b"written later"))


def test_what_was_found_before_a_folder_was_excluded_is_not_stored_after_it(env: WatchEnv) -> None:
    private = env.folder / "private"
    private.mkdir()
    watching = env.begin()
    seen = [
        ObservedChange(FileDifference(path, "modified", origin), str(env.folder), 1, 2)
        for path, origin in (
            (str(private / "a.txt"), None),
            (str(env.folder / "moved.txt"), str(private / "b.txt")),
            (str(env.folder / "c.txt"), None),
        )
    ]
    folders = (ObservedFolder(str(private / "new"), True, str(env.folder), 1, 2),)
    found = ScanResult(2, tuple(seen), folders=folders)
    watching._waiting.append((found, [VersionedChange(change) for change in seen]))
    env.excluded = (str(private),)
    watching._exclude(watching._excluded_now())
    allowed, changes = watching._waiting.popleft()
    assert [change.changed.path for change in allowed.sightings] == [str(env.folder / "c.txt")]
    assert allowed.folders == ()
    assert str(private / "a.txt") not in [change.observed.changed.path for change in changes]
    watching._scanned(found)  # one that began before
    later, _ = watching._incoming.get()
    assert [change.changed.path for change in later.sightings] == [str(env.folder / "c.txt")]


def test_a_scan_that_ends_after_its_folder_stopped_being_watched_is_recorded_without_contents(
    env: WatchEnv,
) -> None:
    watching = env.begin()
    (env.folder / "a.txt").write_text("a")
    created = ObservedChange(
        FileDifference(str(env.folder / "a.txt"), "created"), str(env.folder), now(), now()
    )
    with watching._storing:
        changes = watching._recorder.note(ScanResult(2, (created,)), [])
    assert [change.after for change in changes] == [None]


def test_files_waiting_to_be_read_are_dropped_when_their_folder_is_excluded(env: WatchEnv) -> None:
    watching = env.begin()
    versions = watching._versions
    covered = [str(env.folder)]
    baseline = Baseline(versions, covers=lambda path: not path.startswith(tuple(covered)))
    covered[:] = ["/nowhere"]
    (env.folder / "a.txt").write_text("a")
    (env.folder / "b.txt").write_text("b")
    baseline.begin(str(env.folder), scan(str(env.folder), IgnoreRules(str(env.folder)), now()))
    assert list(baseline.left().values()) == [2]
    covered[:] = [str(env.folder / "a")]
    baseline.narrow()
    assert list(baseline.left().values()) == [1]
