"""Sessions of one machine are read on the others, and continued there as forks."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import Mock

import pytest

from fazm_memory.app import sync as app_sync
from fazm_memory.errors import InvalidRequest, InvalidTransition, NotFound, SyncRefused, SyncUnavailable
from fazm_memory.events import NewerVersion, read_payload
from fazm_memory.events.event import Draft
from fazm_memory.sync import exporter, importer
from fazm_memory.sync.segments import SegmentEvent, SegmentPart
from fazm_memory.sync.state import Part
from fazm_memory.sync.transports import FolderTransport, Meter
from tests.sync.machines import Machine, Machines


def work(machine: Machine, text: str = "Sort the invoices", count: int = 3, **more: str) -> str:
    session = machine.begin(**more)
    machine.say(session, "prompt", text=text)
    for number in range(count):
        machine.act(session, "Bash", {"command": f"mv {number}.pdf done/"}, output="ok")
    return session


def test_a_session_arrives_whole_with_the_name_of_its_machine(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    mini.sync.round()
    report = laptop.sync.round()
    assert (report["imported"], report["problems"]) == (5, [])
    assert laptop.states() == mini.states()
    assert laptop.sessions.get(session)["device"] == "mini"
    assert mini.sessions.get(session)["device"] is None
    assert laptop.maintenance.verify().clean


def test_a_second_round_adds_nothing(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini)
    machines.settle()
    before = laptop.states()
    report = laptop.sync.round()
    assert (report["imported"], report["exported"]) == (0, 0)
    assert laptop.states() == before


def test_later_events_follow(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    mini.say(session, "decision", what="date first")
    mini.sync.round()
    assert laptop.sync.round()["imported"] == 1
    assert laptop.states() == mini.states()


def test_a_copy_is_found_by_search_and_shown_in_the_context(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini, "Tidy the zebra folder")
    machines.settle()
    laptop.store.index_all()
    assert [hit["session"] for hit in laptop.recall.search("zebra")][:1] == [session]
    context = laptop.recall.context().text
    assert "happened before on your machines" in context
    assert 'on "mini"' in context
    assert "happened before on this machine" in mini.recall.context().text


def test_a_copy_refuses_events_and_says_how_to_go_on(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    with pytest.raises(InvalidTransition, match="another machine") as refused:
        laptop.sessions.move(session, "close")
    assert "fork" in refused.value.hint
    assert laptop.states() == mini.states()


def test_an_agents_own_session_does_not_end_up_in_a_copy_with_its_name(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    copied = work(mini, key="claude-1")
    machines.settle()
    own = laptop.begin(key="claude-1")
    assert own != copied
    laptop.say(own, "prompt", text="here")
    machines.settle()
    assert {row["id"] for row in mini.sessions.listing()} == {copied, own}
    assert mini.states() == laptop.states()


def test_an_agent_cannot_say_that_its_session_is_a_copy(machines: Machines) -> None:
    mini = machines.add("mini")
    opening = Draft("k", "session.open", {"agent": "fazm", "device": "ab" * 16}, agent="fazm")
    (opened,) = mini.sessions.record([opening])
    assert opened.appended is not None
    assert mini.sessions.get(opened.appended.session)["device"] is None


def test_a_copy_that_is_exported_becomes_an_ordinary_session_elsewhere(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    bundle = machines.root / "session.bundle"
    laptop.bundles.export(session, bundle)
    other = Machine(machines.root, "other")
    other.bundles.import_(bundle, mine=True)
    assert other.sessions.get(session)["device"] is None
    other.close()


def test_a_fork_takes_a_session_over_and_both_branches_go_on(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    fork = laptop.rewind.fork(session, at=3)["id"]
    laptop.say(fork, "prompt", text="on the laptop")
    mini.say(session, "prompt", text="on the mini")
    machines.settle()
    assert mini.states() == laptop.states()
    assert mini.sessions.get(fork)["parent"] == session
    assert mini.sessions.get(fork)["device"] == "laptop"
    assert all(machine.maintenance.verify().clean for machine in machines.all)


def test_a_fork_of_a_copy_with_another_name_finds_its_parent(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    mini.sync.round()
    with monkeypatch.context() as taken:
        taken.setattr(importer.BatchImporter, "_is_free", lambda importer, name: name != session)
        laptop.sync.round()
    (copy,) = laptop.states()
    assert copy != session
    fork = laptop.rewind.fork(copy)["id"]
    machines.settle()
    assert mini.sessions.get(fork)["parent"] == session
    assert mini.maintenance.verify().clean


def test_a_fork_waits_for_the_session_it_was_forked_from(machines: Machines) -> None:
    mini, laptop, studio = (machines.add(name) for name in ("mini", "laptop", "studio"))
    session = work(mini)
    mini.sync.round()
    laptop.sync.round()
    fork = laptop.rewind.fork(session, at=3)["id"]
    laptop.say(fork, "prompt", text="on the laptop")
    laptop.sync.round()
    hidden = [path for path in machines.files() if "/o/" in str(path)]
    late = {path: path.read_bytes() for path in hidden}
    (first,) = [path for path in hidden if path.name == name_of_first_upload(mini)]
    first.unlink()
    assert studio.sync.round()["problems"]
    assert studio.sessions.listing() == []
    first.write_bytes(late[first])
    studio.sync.round()
    machines.settle()
    assert studio.states() == mini.states() == laptop.states()


def test_a_waiting_session_of_a_newer_version_does_not_keep_the_others_waiting(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    mini, laptop, studio = (machines.add(name) for name in ("mini", "laptop", "studio"))
    session = work(mini)
    mini.sync.round()
    laptop.sync.round()
    laptop.say(laptop.rewind.fork(session, at=3)["id"], "prompt", text="from the future")
    laptop.sync.round()
    own = work(studio)

    def read(kind: str, version: int, raw: dict[str, Any]) -> Any:
        if raw.get("text") == "from the future":
            raise NewerVersion("the event is of a newer version")
        return read_payload(kind, version, raw)

    (first,) = [path for path in machines.files() if path.name == name_of_first_upload(mini)]
    kept = first.read_bytes()
    first.unlink()
    studio.sync.round()  # the fork waits for its parent
    first.write_bytes(kept)
    with monkeypatch.context() as older:
        older.setattr(importer, "read_payload", read)
        (problem,) = studio.sync.round()["problems"]
    assert "newer version" in problem
    laptop.sync.round()
    assert laptop.sessions.get(own)["device"] == "studio"
    mini.say(session, "decision", what="date first")
    machines.settle()
    assert studio.states() == mini.states() == laptop.states()


def name_of_first_upload(machine: Machine) -> str:
    return machine.vault().exporter.name(1, 1, 0).rpartition("/")[2]


def test_paths_are_those_of_this_machine(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    theirs, ours = mini.config.user_home, laptop.config.user_home
    session = mini.begin(workspace=str(theirs / "work/shop"))
    mini.say(session, "prompt", text=f"look at {theirs}/work/shop/a.py")
    machines.settle()
    assert laptop.sessions.get(session)["workspace"] == str(ours / "work/shop")
    assert str(theirs) not in laptop.texts()


def test_a_workspace_is_found_by_its_git_remote(machines: Machines, tmp_path: Path) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    for machine, folder, url in (
        (mini, "code/shop", "git@github.com:mia/shop.git"),
        (laptop, "src/shop2", "https://mia:token@github.com/mia/Shop"),
    ):
        git = machine.config.user_home / folder / ".git"
        git.mkdir(parents=True)
        (git / "config").write_text(f'[remote "origin"]\n\turl = {url}\n')
    here = laptop.config.user_home / "src/shop2"
    laptop.begin(workspace=str(here))
    session = mini.begin(workspace=str(mini.config.user_home / "code/shop"))
    machines.settle()
    assert laptop.sessions.get(session)["workspace"] == str(here)


def repository(machine: Machine, folder: str, url: str) -> Path:
    path = machine.config.user_home / folder
    (path / ".git").mkdir(parents=True)
    (path / ".git/config").write_text(f'[remote "origin"]\n\turl = {url}\n')
    return path


def test_a_clone_that_is_made_later_gets_the_context_of_the_other_machine(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    theirs = repository(mini, "code/shop", "git@github.com:mia/shop.git") / "api"
    session = work(mini, "Tidy the zebra folder", workspace=str(theirs))
    machines.settle()
    here = repository(laptop, "src/shop2", "https://github.com/mia/shop")
    context = laptop.recall.context(str(here / "api")).text
    assert "zebra" in context
    assert 'on "mini"' in context
    (row,) = laptop.sync.folders()
    assert row["here"] == str(here / "api")
    assert laptop.rewind.fork(session)["workspace"] == str(here / "api")


def test_a_folder_that_is_unclear_is_named_once(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini, workspace="/srv/invoices")
    machines.settle()
    assert laptop.sync.status()["folders_unclear"] == ["/srv/invoices"]
    here = laptop.config.user_home / "Invoices"
    with pytest.raises(InvalidRequest):
        laptop.sync.name_folder("/srv/invoices", str(here))
    here.mkdir()
    laptop.sync.name_folder("/srv/invoices", str(here))
    assert laptop.sync.status()["folders_unclear"] == []
    assert laptop.recall.context(str(here)).data["tasks"][0]["session"] == session
    with pytest.raises(NotFound):
        laptop.sync.name_folder("/srv/nothing", str(here))


def test_many_rounds_leave_few_objects(machines: Machines) -> None:
    mini = machines.add("mini")
    session = work(mini)
    for number in range(40):
        mini.say(session, "decision", what=f"decision {number}")
        mini.sync.round()
    assert len([path for path in machines.files() if "/o/" in str(path)]) < 20
    laptop = machines.add("laptop")
    assert laptop.states() == mini.states()


def test_leaving_and_joining_again_continues(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(laptop)
    machines.settle()
    laptop.sync.leave()
    assert not laptop.sync.active
    laptop.say(session, "prompt", text="while away")
    laptop.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="laptop")
    machines.settle()
    assert mini.states() == laptop.states()
    assert len(mini.sessions.listing()) == 1


@pytest.mark.parametrize("verb", ["leave", "remove"])
def test_a_head_names_only_what_is_in_the_store(
    machines: Machines, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Also that of a machine that leaves, or removes another, after a round that was interrupted."""
    mini, laptop, _ = (machines.add(name) for name in ("mini", "laptop", "studio"))
    machines.settle()
    work(laptop)
    with monkeypatch.context() as patch:
        patch.setattr(Meter, "put", Mock(side_effect=OSError("no connection")))
        with pytest.raises(OSError, match="no connection"):
            laptop.sync.round()
    if verb == "leave":
        laptop.sync.leave(forget_keys=True)
    else:
        laptop.sync.remove("studio")
    assert mini.sync.round()["problems"] == []
    assert mini.states() == laptop.states()


def set_back(machine: Machine, aside: Path) -> None:
    """Put the log back to where it was copied, as a recovery of a damaged store may do."""
    machine.close()
    folder = machine.config.home / "store.noindex"
    for name in ("memory.db", "memory.db-wal", "memory.db-shm"):
        (folder / name).unlink(missing_ok=True)
        if (aside / name).exists():
            shutil.copy(aside / name, folder / name)


def set_aside(machine: Machine, aside: Path) -> None:
    machine.close()
    aside.mkdir()
    for path in (machine.config.home / "store.noindex").glob("memory.db*"):
        shutil.copy(path, aside / path.name)


@pytest.mark.parametrize("more", [1, 3], ids=["shorter than before", "longer than before"])
def test_a_session_that_a_recovery_changed_is_uploaded_again(
    machines: Machines, tmp_path: Path, more: int
) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini, "Tidy the zebra folder")
    mini.sync.round()
    set_aside(mini, tmp_path / "aside")
    for text in ("lost one", "lost two"):
        mini.say(session, "prompt", text=text)
    machines.settle()
    set_back(mini, tmp_path / "aside")
    for nth in range(more):
        mini.say(session, "prompt", text=f"another way {nth}")
    other = mini.begin()
    for number in range(20):  # so that objects are merged
        mini.say(other, "decision", what=f"decision {number}")
        report = mini.sync.round()
        assert len(report["problems"]) == (number == 0)
    assert laptop.sync.round()["problems"] == []
    titles = [row for row in laptop.sessions.listing() if row["id"] != other]
    assert len(titles) == 2  # as it was, and as it is now
    assert "lost two" in laptop.texts()
    assert f"another way {more - 1}" in laptop.texts()
    studio = machines.add("studio")
    assert studio.sync.status()["problems"] == []
    assert f"another way {more - 1}" in studio.texts()
    assert "lost" not in studio.texts()
    mini.maintenance.forget(match="zebra")
    machines.settle()
    for machine in machines.all:
        assert "zebra" not in machine.texts()
    for machine in (laptop, studio):
        assert machine.maintenance.verify().clean


def test_a_removed_machine_joins_again_as_a_new_one_without_doubles(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    theirs, own = work(mini), work(laptop, "Water the plants")
    machines.settle()
    mini.sync.remove("laptop")
    studio = machines.add("studio")  # it never saw the laptop as a member
    removed = next(row for row in studio.sync.devices() if row["removed"])
    assert (removed["name"], removed["uploads"]) == ("laptop", removed["read"])
    with pytest.raises(SyncRefused):
        laptop.sync.round()
    laptop.say(own, "prompt", text="While it was away")
    laptop.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="laptop again")
    laptop.say(own, "prompt", text="Back again")
    machines.settle()
    assert set(mini.states()) == set(laptop.states()) == {theirs, own}
    assert mini.states() == laptop.states()
    assert "Back again" in mini.texts()
    assert mini.sessions.get(own)["device"] == "laptop again"
    assert all(machine.maintenance.verify().clean for machine in machines.all)
    laptop.maintenance.forget(match="plants")
    machines.settle()
    assert "plants" not in mini.texts()


def test_a_machine_with_new_keys_goes_on_with_copies_that_came_in_several_uploads(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    mini.say(session, "prompt", text="And the second upload")
    machines.settle()
    laptop.sync.leave(forget_keys=True)
    laptop.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="laptop again")
    mini.say(session, "prompt", text="And the third")
    machines.settle()
    assert set(laptop.states()) == {session}
    assert laptop.states() == mini.states()
    assert laptop.maintenance.verify().clean


def test_uploads_under_new_keys_wait_for_the_late_mark_that_the_old_device_left(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    vault = mini.vault()
    head = machines.folder / vault.identity.vault.id / "h" / vault.identity.vault.name(
        "device", vault.identity.device
    )  # fmt: skip
    before = head.read_bytes()
    mini.sync.leave(forget_keys=True)
    left = head.read_bytes()
    mini.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="mini again")
    mini.say(session, "prompt", text="With new keys")
    mini.sync.round()
    head.write_bytes(before)
    assert any("wait" in problem for problem in laptop.sync.round()["problems"])
    head.write_bytes(left)
    assert laptop.sync.round()["problems"] == []
    machines.settle()
    assert set(laptop.states()) == {session}
    assert laptop.states() == mini.states()


def test_a_machine_with_new_keys_makes_no_doubles_of_what_a_removed_one_uploaded(machines: Machines) -> None:
    mini, laptop, studio = (machines.add(name) for name in ("mini", "laptop", "studio"))
    key, folder = machines.recovery, str(machines.folder)
    session = work(laptop)
    machines.settle()
    mini.sync.remove("laptop")
    with pytest.raises(SyncRefused):
        laptop.sync.round()
    laptop.sync.join(recovery=key, folder=folder, name="laptop again")
    machines.settle()
    studio.sync.leave(forget_keys=True)
    studio.sync.join(recovery=key, folder=folder, name="studio again")
    assert set(studio.states()) == {session}
    assert studio.sessions.get(session)["device"] == "laptop again"
    laptop.say(session, "prompt", text="Back again")
    machines.settle()
    assert studio.states() == laptop.states()


def test_a_machine_that_was_in_another_vault_meanwhile_makes_no_doubles(
    machines: Machines, tmp_path: Path
) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(laptop)
    machines.settle()
    former = laptop.vault().identity.device
    laptop.sync.leave()
    (tmp_path / "other").mkdir()
    laptop.sync.init(folder=str(tmp_path / "other"), name="laptop")
    laptop.sync.leave()
    laptop.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="laptop")
    machines.settle()
    assert list(mini.states()) == [session]
    (log,) = [entry.head.log for entry in mini.vault().devices.remembered().values() if entry.id != former]
    assert log is not None
    assert former in log.former


def test_a_machine_may_get_new_keys_again_and_again(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(laptop)
    laptop.sync.round()
    for more in ("and the receipts", "and the letters"):
        laptop.sync.leave(forget_keys=True)
        laptop.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="laptop")
        laptop.say(session, "prompt", text=more)
        laptop.sync.round()
        if more == "and the receipts":
            mini.sync.round()
    machines.settle()
    assert list(mini.states()) == [session]
    assert mini.states() == laptop.states()


def test_a_machine_with_new_keys_twice_makes_no_double_of_what_was_read_in_between(
    machines: Machines,
) -> None:
    """The copy goes on with the second keys, and then the rest of the first ones' uploads is read."""
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(laptop, count=1)
    machines.settle()
    laptop.say(session, "prompt", text="and the receipts")
    laptop.sync.round()
    for leave in (True, False):
        if leave:
            laptop.sync.leave(forget_keys=True)
        else:
            remover = Machine(machines.root, "studio")
            remover.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="studio")
            remover.sync.remove("laptop")
            machines.all.append(remover)
            with pytest.raises(SyncRefused):
                laptop.sync.round()
        laptop.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="laptop")
    machines.settle()
    for machine in machines.all:
        assert list(machine.states()) == [session]
    assert mini.states() == laptop.states()


def test_copies_go_on_when_their_machine_uploads_them_again_in_other_pieces(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    mini.sync.leave(forget_keys=True)
    monkeypatch.setattr(exporter, "BATCH_EVENTS", 2)
    mini.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="mini again")
    machines.settle()
    assert set(laptop.states()) == {session}
    assert laptop.states() == mini.states()


def test_a_copy_that_differs_from_a_later_upload_stays_beside_the_new_one(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    mini.say(session, "prompt", text="What was lost")
    machines.settle()
    before, device = laptop.vault(), mini.vault().identity.device
    log = before.devices.remembered()[device].head.log
    assert log is not None
    first, second = (
        batch for segment in before.receiver.segments(device, log, 0) for batch in segment.batches
    )
    part = second.parts[0]
    part.events[0] = part.events[0]._replace(payload=b'{"text":"Something else"}')
    laptop.sync.leave(forget_keys=True)
    key, folder = machines.recovery, str(machines.folder)
    laptop.sync.join(recovery=key, folder=folder, name="laptop again", receive=False)
    importer = laptop.vault().importer
    for only in (None, session):  # the second time it no longer waits for its beginning
        for batch in (first, second):
            importer.take(device, "/home/mini", batch, only=only)
    texts = [repr(state) for state in laptop.states().values()]
    found = [("What was lost" in text, "Something else" in text) for text in texts]
    assert sorted(found) == [(False, True), (True, False)]
    assert laptop.maintenance.verify().clean


def test_another_member_cannot_take_over_the_copy_of_a_session(machines: Machines) -> None:
    """It may only be continued under a new name if its own machine has gone."""
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    importer = laptop.vault().importer
    with laptop.store.writing() as writer:
        events = list(laptop.store.log.slice(laptop.store.sessions.resolve(session).n, session))
        part = SegmentPart(
            Part(session, 0, len(events), ""), {},
            [SegmentEvent(e.at, e.turn, e.kind, e.version, e.actor, e.source, e.trust, None) for e in events],
        )  # fmt: skip
        maker = laptop.store.sessions.resolve(session).device
        importer.members = frozenset({maker or ""})
        assert importer._continued(writer, "another", part, {}) is None
        importer.members = frozenset()
        assert importer._continued(writer, "another", part, {}) is not None


def test_exclusions_travel_once_and_are_lifted_on_each_machine(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    mini.recording.exclude_app("Signal")
    mini.recording.exclude_folder("~/private")
    mini.recording.exclude_folder("/srv/secret")
    machines.settle()
    home = laptop.config.user_home
    assert laptop.recording.excluded_apps()["apps"] == ["Signal"]
    assert laptop.recording.excluded_folders() == [str(home / "private"), "/srv/secret"]
    mini.recording.include_app("Signal")
    laptop.recording.include_folder("/srv/secret")
    machines.settle()
    assert mini.recording.excluded_apps()["apps"] == []
    assert laptop.recording.excluded_apps()["apps"] == ["Signal"]
    assert mini.recording.excluded_folders() == [str(mini.config.user_home / "private"), "/srv/secret"]
    assert laptop.recording.excluded_folders() == [str(home / "private")]
    studio = machines.add("studio")  # takes what any machine excludes now
    assert studio.recording.excluded_apps()["apps"] == ["Signal"]
    machines.settle()
    calm = mini.sync.round(acknowledge=False)["requests"]
    assert calm["puts"] == 0


def test_a_recovered_session_continues_the_copies_that_lack_nothing_of_it(
    machines: Machines, tmp_path: Path
) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    set_aside(mini, tmp_path / "aside")
    mini.say(session, "prompt", text="lost one")
    mini.sync.round()  # uploaded, and not read by the laptop
    set_back(mini, tmp_path / "aside")
    mini.say(session, "prompt", text="another way")
    assert len(mini.sync.round()["problems"]) == 1
    machines.settle()
    assert set(laptop.states()) == {session}
    assert "another way" in laptop.texts()
    assert "lost" not in laptop.texts()
    mini.maintenance.forget(match="another way")
    machines.settle()
    assert "another way" not in laptop.texts()
    assert laptop.maintenance.verify().clean


def history(machine: Machine) -> list[str]:
    """Three sessions, a day between them and each in an upload of its own; the first goes on at the end."""
    found = []
    for number in range(3):
        machine.pass_time(days=1)
        found.append(work(machine, f"task {number}"))
        machine.sync.round()
    machine.pass_time(days=1)
    machine.say(found[0], "decision", what="once more")
    machine.sync.round()
    return found


def arrived(machine: Machine) -> list[str]:
    rows = machine.store.db.execute("SELECT id FROM session WHERE device IS NOT NULL ORDER BY n").fetchall()
    return [row[0] for row in rows]


def test_a_machine_that_joins_receives_the_newest_sessions_first(machines: Machines) -> None:
    mini, studio = machines.add("mini"), machines.add("studio")
    first, second, third = history(mini)
    machines.settle()
    mini.pass_time(days=30)
    studio.pass_time(days=3)
    elsewhere = work(studio, "on the other machine")
    studio.sync.round()
    work(studio, "and another")
    studio.sync.round()
    laptop = machines.add("laptop")
    found = arrived(laptop)
    # The first session went on at the end, and can only be recorded with its beginning.
    assert [one for one in found if one in (first, second, third)] == [third, second, first]
    assert found.index(elsewhere) < found.index(second)
    assert laptop.states() == mini.states() | studio.states()
    assert laptop.sync.status()["problems"] == []
    objects = sum("/o/" in str(path) for path in machines.files())
    heads = sum("/h/" in str(path) for path in machines.files())
    assert laptop.sync.status()["totals"]["gets"] <= objects + 2 * heads  # each segment once
    assert laptop.maintenance.verify().clean


def test_a_fork_of_the_backlog_comes_after_its_parent(machines: Machines) -> None:
    mini = machines.add("mini")
    parent = work(mini, "the parent")
    mini.sync.round()
    mini.pass_time(days=1)
    other = work(mini, "in between")
    mini.sync.round()
    mini.pass_time(days=1)
    fork = mini.rewind.fork(parent)["id"]
    mini.sync.round()
    laptop = machines.add("laptop")
    assert arrived(laptop) == [other, parent, fork]
    assert laptop.states() == mini.states()


class Cut(FolderTransport):
    """A folder whose connection ends after some objects were fetched."""

    left = 0
    fetched: ClassVar[list[str]] = []

    def get(self, name: str) -> bytes | None:
        if "/o/" in name:
            if Cut.left == 0:
                raise SyncUnavailable("The network is gone.")
            Cut.left -= 1
            Cut.fetched.append(name)
        return super().get(name)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> type[Cut]:
    monkeypatch.setattr(app_sync, "open_transport", lambda place: Cut(Path(place["folder"])))
    Cut.left, Cut.fetched = 0, []
    return Cut


def test_the_newest_sessions_are_usable_before_the_rest_is_fetched(
    machines: Machines, cut: type[Cut]
) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    machines.settle()
    first, second, third = history(mini)
    cut.left = 2
    with pytest.raises(SyncUnavailable):
        laptop.sync.round()
    assert arrived(laptop) == [third]
    assert [hit["session"] for hit in laptop.recall.search("task")] == [third]
    assert laptop.sync.status()["progress"]["done"] == 2
    cut.left = 1
    with pytest.raises(SyncUnavailable):
        laptop.sync.round()
    assert arrived(laptop) == [third, second]
    cut.left = -1
    laptop.sync.round()
    assert arrived(laptop) == [third, second, first]
    assert laptop.states() == mini.states()
    assert len(set(cut.fetched)) == len(cut.fetched)  # nothing twice
    assert laptop.sync.status()["progress"] is None
    assert not (laptop.config.home / "sync" / "fetched").exists()


def test_a_fetched_object_that_a_crash_cut_is_fetched_again(machines: Machines, cut: type[Cut]) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    machines.settle()
    history(mini)
    cut.left = 2
    with pytest.raises(SyncUnavailable):
        laptop.sync.round()
    for path in (laptop.config.home / "sync" / "fetched").iterdir():
        path.write_bytes(path.read_bytes()[:20])
    cut.left = -1
    assert laptop.sync.round()["problems"] == []
    assert laptop.states() == mini.states()


def test_uploads_that_come_late_are_waited_for_without_fetching_the_others_again(
    machines: Machines, cut: type[Cut]
) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    machines.settle()
    _, second, third = history(mini)
    objects = [path for path in machines.files() if "/o/" in str(path)]
    late = sorted(objects, key=lambda path: path.stat().st_mtime_ns)[-4]  # the first session's beginning
    data = late.read_bytes()
    late.unlink()
    cut.left = -1
    for _ in range(3):
        assert "missing from the store" in " ".join(laptop.sync.round()["problems"])
    assert arrived(laptop) == [third, second]
    assert sorted(map(cut.fetched.count, set(cut.fetched))) == [1, 1, 1, 3]
    late.write_bytes(data)
    assert laptop.sync.round()["problems"] == []
    assert laptop.states() == mini.states()
    assert laptop.sync.state.get("backlog_done") == {}


def test_a_backlog_with_a_missing_upload_brings_what_comes_before_it(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    machines.settle()
    first, second, third = history(mini)
    objects = [path for path in machines.files() if "/o/" in str(path)]
    newest = max(objects, key=lambda path: path.stat().st_mtime_ns)
    data = newest.read_bytes()
    newest.unlink()
    report = laptop.sync.round()
    assert "missing from the store" in " ".join(report["problems"])
    assert arrived(laptop) == [third, second, first]
    newest.write_bytes(data)
    assert laptop.sync.round()["problems"] == []
    assert laptop.states() == mini.states()
