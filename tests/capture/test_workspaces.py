"""From a file that changes on disk to an event that says who changed it, and the versions beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.capture.calls import workplaces
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.recorder import Recorded, Recorder
from fazm_memory.capture.scrub import Scrubber
from fazm_memory.capture.watched import noted
from fazm_memory.capture.workspaces import PER_FOLDER, Workspaces
from fazm_memory.log.folders import FoldersSeen
from fazm_memory.log.store import Store
from fazm_memory.log.versions import Versions, digest_of
from fazm_memory.model.payloads import Action, ActionStart, FileChange, FileTouch, Gap
from tests.conftest import OpenStore
from tests.scribe import Scribe

PATIENCE = 30.0


def now() -> int:
    return time.time_ns() // 1000


class Office:
    """A session at work in a folder, and whoever watches it."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.recorder = Recorder(store, Scrubber(), now)
        self.scribe = Scribe(store)
        self.scribe.clock = now()
        self.session = self.scribe.open(workspace=str(folder))
        self.woken = threading.Event()
        self.watching: Workspaces | None = None
        self.excluded: tuple[str, ...] = ()

    def begin(self) -> Workspaces:
        self.watching = Workspaces(
            self.store,
            self.record,
            now,
            user_home=self.folder.parent / "user",
            wake=self.woken.set,
            excluded=lambda: self.excluded,
            hold=0,
            quiet=0.02,
        )
        self.watching.tick()
        assert self.woken.wait(PATIENCE)
        baseline = self.watching._keeper.baseline
        self.until(lambda: not baseline.left())
        return self.watching

    def record(self, drafts: Any) -> list[Recorded]:
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

    def told(self, kind: type[Any] = FileChange, session: str | None = None) -> list[Any]:
        return [one for one in self.scribe.payloads(session or self.session) if isinstance(one, kind)]

    def stop(self) -> None:
        if self.watching is not None:
            self.watching.stop()
            self.watching = None


@pytest.fixture
def office(store: Store, tmp_path: Path) -> Iterator[Office]:
    folder = tmp_path / "work"
    folder.mkdir()
    made = Office(store, folder)
    yield made
    made.stop()


def test_a_persons_change_is_told_with_what_the_file_held_before_and_after(office: Office) -> None:
    (office.folder / "a.txt").write_text("before")
    office.begin()
    (office.folder / "a.txt").write_text("and after")
    office.until(office.told)
    (one,) = office.told()
    assert (one.path, one.change, one.by, one.sure) == (
        str(office.folder / "a.txt"), "modified", "person", "likely",
    )  # fmt: skip
    assert (one.before, one.after) == (digest_of(b"before"), digest_of(b"and after"))
    assert one.since is None


def test_two_sessions_at_work_in_one_folder_are_told_apart_by_what_they_name_or_said_not_to_be(
    office: Office,
) -> None:
    other = office.scribe.open(workspace=str(office.folder), agent="codex")
    office.begin()
    office.scribe.tell(office.session, ActionStart("Bash", {"command": "make all"}, "c1"), at=now())
    office.scribe.tell(other, ActionStart("shell", {"command": "touch theirs.txt; make"}, "c2"), at=now())
    (office.folder / "theirs.txt").write_text("named by one of them")
    (office.folder / "whose.txt").write_text("named by none")
    told: dict[str, FileChange] = {}

    def both() -> bool:
        every = [*office.told(), *office.told(session=other)]
        told.update({Path(one.path).name: one for one in every})
        return len(told) == 2

    office.until(both)
    assert told["theirs.txt"].evidence.startswith("named by shell")
    assert str(office.folder / "theirs.txt") in [one.path for one in office.told(session=other)]
    assert (told["whose.txt"].by, told["whose.txt"].sure) == ("agent", "possible")
    assert "which cannot be told apart" in told["whose.txt"].evidence


def test_beside_a_session_whose_calls_are_told_late_nobody_can_say_who_it_was(office: Office) -> None:
    late = office.scribe.open(workspace=str(office.folder), agent="gemini")
    office.scribe.tell(late, Action("run_shell_command", {"command": "ls"}), at=now() - 60_000_000)
    office.begin()
    (office.folder / "a.txt").write_text("whose?")
    office.until(lambda: office.told() or office.told(session=late))
    (one,) = [*office.told(), *office.told(session=late)]
    assert (one.by, one.evidence) == ("unknown", "a session at work here is not heard as it works")


def test_a_session_that_announces_its_calls_is_heard_whatever_agent_it_is(office: Office) -> None:
    other = office.scribe.open(workspace=str(office.folder), agent="gemini")
    office.scribe.tell(
        other, ActionStart("shell", {"command": "ls"}, "c1"), Action("shell", {"command": "ls"}, call_id="c1")
    )
    assert [place.heard for place in workplaces(office.store, office.store.sessions.listing())] == [True] * 2


def test_it_is_noted_what_is_watched_how_and_since_when_and_what_is_not_and_why(office: Office) -> None:
    home = office.folder.parent / "user"
    home.mkdir()
    office.scribe.open(workspace=str(home))
    watching = office.begin()
    office.until(lambda: any(one.how for one in noted(office.store.db)))
    mine, refused = noted(office.store.db)
    assert (mine.folder, mine.how, mine.refused) == (str(office.folder), "Inotify", None)
    assert mine.since is not None
    assert mine.since <= now()
    assert (refused.folder, refused.refused) == (str(home), "it holds a whole home or more")
    watching.rest()
    assert noted(office.store.db) == []
    watching.tick()
    office.until(lambda: noted(office.store.db))
    office.stop()
    assert noted(office.store.db) == []


def test_a_change_while_a_shell_runs_is_the_agents(office: Office) -> None:
    office.begin()
    office.scribe.tell(office.session, ActionStart("Bash", {"command": "make all"}, "c1"), at=now())
    (office.folder / "made.o").write_text("o")
    office.until(office.told)
    (one,) = office.told()
    assert (one.by, one.sure, one.change) == ("agent", "likely", "created")
    assert "while it ran: Bash" in one.evidence
    assert f"(#{one.call})" in one.evidence


def test_a_change_that_its_action_told_adds_no_event_but_its_version_is_kept(
    office: Office, home: Path
) -> None:
    (office.folder / "a.txt").write_text("before")
    office.begin()
    path = str(office.folder / "a.txt")
    office.scribe.tell(
        office.session, Action("Edit", {}, files=(FileTouch(path, "modified"),), duration_ms=5), at=now()
    )
    (office.folder / "a.txt").write_text("by the agent")
    (office.folder / "other.txt").write_text("beside it")
    office.until(office.told)
    assert [one.path for one in office.told()] == [str(office.folder / "other.txt")]
    versions = Versions(home, office.store.keys.database)
    last = versions.last(str(office.folder), "a.txt")
    versions.close()
    assert last is not None
    assert (last.digest, last.told) == (digest_of(b"by the agent"), True)


def test_a_touch_is_no_change(office: Office) -> None:
    (office.folder / "a.txt").write_text("same")
    office.begin()
    (office.folder / "a.txt").touch()
    (office.folder / "b.txt").write_text("new")
    office.until(office.told)
    assert [Path(one.path).name for one in office.told()] == ["b.txt"]


def test_a_change_of_mode_is_told_with_what_it_was_and_kept(office: Office, home: Path) -> None:
    script = office.folder / "run.sh"
    script.write_text("#!/bin/sh")
    script.chmod(0o644)
    office.begin()
    office.scribe.clock = now()
    office.scribe.tell(office.session, ActionStart("Bash", {"command": "chmod 755 run.sh"}, call_id="c"))
    script.chmod(0o755)
    office.until(office.told)
    (one,) = office.told()
    assert (one.path, one.change, one.by, one.before) == (str(script), "modified", "agent", one.after)
    assert one.evidence.endswith("; only its mode changed: 644 → 755")
    versions = Versions(home, office.store.keys.database)
    kept = [(row.digest, row.mode, row.hand) for row in versions.history(str(office.folder), "run.sh")]
    versions.close()
    digest = digest_of(b"#!/bin/sh")
    assert kept == [(digest, 0o644, None), (digest, 0o755, "agent")]


def test_folders_that_come_and_go_are_noted_with_whose_hand_it_was(office: Office, home: Path) -> None:
    (office.folder / "old").mkdir()
    office.begin()
    versions = Versions(home, office.store.keys.database)
    seen = FoldersSeen(versions)

    def hands(path: str) -> list[tuple[bool, str]]:
        return [(one.came, one.hand) for one in seen.history(str(office.folder), path)]

    (office.folder / "theirs").mkdir()
    office.until(lambda: hands("theirs"))
    office.scribe.clock = now()
    office.scribe.tell(office.session, ActionStart("Bash", {"command": "sh work.sh"}, call_id="c"))
    (office.folder / "new" / "deep").mkdir(parents=True)
    (office.folder / "old").rmdir()
    office.until(lambda: hands("new/deep") and hands("old"))
    found = {path: hands(path) for path in ("theirs", "new", "new/deep", "old")}
    versions.close()
    assert found == {"theirs": [(True, "person")], "new": [(True, "agent")],
                     "new/deep": [(True, "agent")], "old": [(False, "agent")]}  # fmt: skip


def test_what_happened_while_nobody_watched_is_told_once_with_since_when(office: Office) -> None:
    (office.folder / "a.txt").write_text("one")
    (office.folder / "b.txt").write_text("two")
    office.begin()
    office.stop()
    (office.folder / "a.txt").write_text("changed meanwhile")
    (office.folder / "b.txt").rename(office.folder / "c.txt")
    office.begin()
    office.until(lambda: len(office.told()) == 2)
    renamed, modified = office.told()
    assert (renamed.change, renamed.origin, renamed.before) == (
        "renamed", str(office.folder / "b.txt"), digest_of(b"two"),
    )  # fmt: skip
    assert (modified.by, modified.before) == ("unknown", digest_of(b"one"))
    assert modified.since is not None
    assert "changed while not watched" in modified.evidence
    assert [one.what for one in office.told(Gap, "companion")] == ["files"]
    office.stop()
    office.begin()
    (office.folder / "d.txt").write_text("later")
    office.until(lambda: len(office.told()) > 2)
    assert [Path(one.path).name for one in office.told()[2:]] == ["d.txt"]


def test_a_stop_that_came_before_the_checkpoint_tells_nothing_twice(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.begin()
    monkeypatch.setattr("fazm_memory.capture.checkpoints.Checkpoints.save", lambda self, tree: None)
    (office.folder / "a.txt").write_text("one")
    office.until(office.told)
    office.stop()
    monkeypatch.undo()
    office.begin()
    (office.folder / "b.txt").write_text("two")
    office.until(lambda: len(office.told()) > 1)
    assert [Path(one.path).name for one in office.told()] == ["a.txt", "b.txt"]


def test_a_storm_is_told_in_part_and_the_rest_as_counts(office: Office) -> None:
    office.begin()
    count = PER_FOLDER + 150
    for n in range(count):
        (office.folder / f"{n}.txt").touch()

    def counted() -> int:
        return sum(int(one.note.split()[0]) for one in office.told(Gap)) + len(office.told())

    office.until(lambda: counted() == count)
    assert len(office.told()) < count
    assert "too many to tell one by one" in office.told(Gap)[0].note


def test_a_folder_that_is_excluded_is_neither_watched_nor_kept(office: Office) -> None:
    private = office.folder / "private"
    private.mkdir()
    (private / "diary.txt").write_text("before")
    office.excluded = (str(private),)
    watching = office.begin()
    (private / "diary.txt").write_text("after")
    (office.folder / "open.txt").write_text("seen")
    office.until(lambda: office.told())
    watching.keep_before([str(private / "diary.txt")])
    assert [one.path for one in office.told()] == [str(office.folder / "open.txt")]
    assert watching._versions.manifest(str(office.folder), now()).keys() == {"open.txt"}


def test_a_workspace_that_is_excluded_while_it_is_watched_is_left_and_taken_up_again(office: Office) -> None:
    watching = office.begin()
    office.excluded = (str(office.folder),)
    watching._followed = -100.0
    office.until(lambda: watching._watcher.roots() == [])
    assert [(one.folder, one.refused) for one in watching.watched] == [
        (str(office.folder), "you excluded it")
    ]
    office.excluded = ()
    watching._followed = -100.0
    office.until(lambda: watching._watcher.roots() == [str(office.folder)])
    assert watching.watched[0].refused is None


def test_a_change_waits_for_trouble_to_pass(office: Office) -> None:
    watching = office.begin()
    failures = [RuntimeError("disk full")]
    record = office.record

    def refusing(drafts: Any) -> list[Recorded]:
        if failures:
            raise failures.pop()
        return record(drafts)

    watching.record = refusing
    (office.folder / "a.txt").write_text("x")
    with pytest.raises(RuntimeError):
        office.until(office.told)
    office.until(office.told)
    assert len(office.told()) == 1


def test_while_recording_is_paused_nothing_is_seen_then_or_later(office: Office) -> None:
    watching = office.begin()
    watching.rest()
    office.wait(lambda: not watching._looker.roots)
    (office.folder / "private.txt").write_text("x")
    # Looked through once: what came before is what it begins with.
    office.until(lambda: [root for root in watching._looker.roots.copy().values() if not root.look_through])
    (office.folder / "public.txt").write_text("y")
    office.until(office.told)
    assert [Path(one.path).name for one in office.told()] == ["public.txt"]


def test_a_file_an_agent_is_about_to_change_is_kept_at_once(office: Office, home: Path) -> None:
    watching = office.begin()
    (office.folder / "young.txt").write_text("just made")
    watching.keep_before([str(office.folder / "young.txt"), "/elsewhere/x"])
    (office.folder / "young.txt").write_text("changed by the tool")
    versions = Versions(home, office.store.keys.database)
    kept = versions.read(digest_of(b"just made"))
    versions.close()
    assert kept == b"just made"


def test_a_watcher_that_failed_is_started_again(office: Office) -> None:
    watching = office.begin()
    keeper = watching._keeper
    note = keeper.note
    failures = [RuntimeError("no room")]

    def failing(*given: Any) -> Any:
        if failures:
            raise failures.pop()
        return note(*given)

    keeper.note = failing  # type: ignore[assignment,method-assign]
    (office.folder / "a.txt").write_text("x")

    def revived() -> bool:
        watching._followed = -1000.0
        return watching.trouble is not None

    office.woken.set()
    office.until(revived)
    assert watching.trouble is not None
    assert "no room" in watching.trouble
    office.until(office.told)
    assert [Path(one.path).name for one in office.told()] == ["a.txt"]


def test_drafts_are_of_this_source(office: Office) -> None:
    watching = office.begin()
    drafts: list[Draft] = []
    record = office.record

    def listening(given: Any) -> list[Recorded]:
        drafts.extend(given)
        return record(given)

    watching.record = listening
    (office.folder / "a.txt").write_text("x")
    office.until(office.told)
    assert {one.source for one in drafts} == {"files"}


def test_the_store_itself_is_never_watched(open_store: OpenStore, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    office = Office(open_store(folder / "home"), folder)
    try:
        office.begin()
        (folder / "a.txt").write_text("x")
        office.until(office.told)
        assert [Path(one.path).name for one in office.told()] == ["a.txt"]
    finally:
        office.stop()
