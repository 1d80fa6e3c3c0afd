"""File versions travel by choice: the other machine can rewind the files of a session that it takes over."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from fazm_memory.errors import Declined, NotFound
from tests.sync.machines import Machine, Machines


def folder_of(machine: Machine) -> Path:
    folder = machine.config.user_home / "work/shop"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def edit(machine: Machine, session: str, path: str, before: str | None, after: str) -> int:
    """The agent writes a file, and the watcher stores it before and after. Returns the position before."""
    folder = folder_of(machine)
    versions, root = machine.file_versions, str(folder)
    versions.keep(root, path, machine.now(), "absent" if before is None else before.encode())
    change = "created" if before is None else "modified"
    files = [{"path": f"{root}/{path}", "change": change}]
    seq = machine.act(session, "Write", {"file_path": f"{root}/{path}"}, output="ok", files=files)
    (folder / path).write_text(after)
    versions.keep(root, path, machine.now(), after.encode(), mode=0o644)
    with versions.db.transaction():
        versions.mark_recorded(root, path, session, seq=seq, changed_by="agent")
    return seq


def shared(machines: Machines, *names: str) -> list[Machine]:
    found = [machines.add(name) for name in names]
    for machine in found:
        machine.sync.share_files(True)
    return found


def begin(machine: Machine) -> str:
    return machine.begin(workspace=str(folder_of(machine)))


def contents(machines: Machines) -> list[Path]:
    return [path for path in machines.files() if "/f/" in str(path)]


def test_a_file_is_rewound_on_the_machine_that_takes_over(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    seq = edit(mini, session, "price.txt", "1", "2")
    machines.settle()
    here = folder_of(laptop) / "price.txt"
    here.write_text("2")  # as the other machine left it, for example by Syncthing
    plan = laptop.rewind.plan(session, seq)
    assert [(file["path"], file["action"]) for file in plan["files"]] == [(str(here), "restore")]
    assert here.read_text() == "2"
    taken = laptop.rewind.apply(session, seq, files=True, plan=plan["digest"])
    assert here.read_text() == "1"
    assert taken["taken_over"] == session
    assert taken["parent_seq"] == seq
    assert taken["device"] is None
    machines.settle()
    assert mini.sessions.get(taken["id"])["device"] == "laptop"
    assert mini.sessions.get(session)["events"] == seq + 1  # the original is as it was
    laptop.rewind.undo(taken["id"])
    assert here.read_text() == "2"
    assert all(machine.maintenance.verify().clean for machine in machines.all)


def test_a_file_that_was_never_here_is_recreated(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    seq = edit(mini, session, "price.txt", "1", "2")
    machines.settle()
    folder_of(laptop)
    (file,) = laptop.rewind.plan(session, seq)["files"]
    assert (file["action"], file["why"]) == ("recreate", "it is not on this machine")
    laptop.rewind.apply(session, seq, files=True)
    assert (folder_of(laptop) / "price.txt").read_text() == "1"


def test_what_a_person_changed_on_this_machine_is_safe(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    seq = edit(mini, session, "price.txt", "1", "2")
    machines.settle()
    (folder_of(laptop) / "price.txt").write_text("mine")
    with pytest.raises(Declined):
        laptop.rewind.apply(session, seq, files=True)
    assert (folder_of(laptop) / "price.txt").read_text() == "mine"
    assert len(laptop.sessions.listing()) == 1  # nothing was forked either


def test_nothing_travels_unless_it_is_switched_on(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = begin(mini)
    seq = edit(mini, session, "price.txt", "1", "2")
    machines.settle()
    assert contents(machines) == []
    mini.sync.share_files(True)
    machines.settle()
    assert len(contents(machines)) == 2
    folder_of(laptop)
    assert laptop.rewind.plan(session, seq)["files"][0]["action"] == "cannot"
    laptop.sync.share_files(True)
    machines.settle()
    assert laptop.rewind.plan(session, seq)["files"][0]["action"] == "recreate"


def test_switching_off_takes_back_what_was_shared(machines: Machines) -> None:
    mini, _ = shared(machines, "mini", "laptop")
    edit(mini, begin(mini), "price.txt", "1", "2")
    machines.settle()
    assert mini.sync.file_sharing()["versions"] == 2
    mini.sync.share_files(False)
    machines.settle()
    assert contents(machines) == []
    studio = machines.add("studio")
    studio.sync.share_files(True)
    machines.settle()
    assert studio.sync.file_sharing()["to_fetch"] == 0


def test_a_version_that_is_attributed_late_follows(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    folder = str(folder_of(mini))
    mini.file_versions.keep(folder, "late.txt", mini.now(), b"before")
    files = [{"path": f"{folder}/late.txt", "change": "modified"}]
    seq = mini.act(session, "Write", {}, output="ok", files=files)
    mini.file_versions.keep(folder, "late.txt", mini.now(), b"after")
    machines.settle()
    assert contents(machines) == []
    with mini.file_versions.db.transaction():
        mini.file_versions.mark_recorded(folder, "late.txt", session, seq=seq, changed_by="agent")
    machines.settle()
    folder_of(laptop)
    assert laptop.rewind.plan(session, seq)["files"][0]["action"] == "recreate"


def test_the_oldest_versions_are_left_out_above_the_limit(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    texts = ["".join(chr(33 + (nth * 7 + step * 31) % 90) for step in range(600)) for nth in range(4)]
    for before, after in pairwise(texts):
        edit(mini, session, "price.txt", before, after)
    machines.settle()
    assert len(contents(machines)) == 4
    kept = mini.sync.file_sharing()["bytes"]
    mini.sync.share_files(True, limit=kept // 2)
    machines.settle()
    assert 0 < mini.sync.file_sharing()["bytes"] <= kept // 2
    assert 0 < len(contents(machines)) < 4
    assert laptop.sync.round()["problems"] == []


@pytest.mark.parametrize("where", ["mini", "laptop"])
def test_forgetting_reaches_versions_and_contents_everywhere(machines: Machines, where: str) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    edit(mini, session, "secret.txt", "the zebra", "the zebra crossing")
    edit(mini, session, "other.txt", "1", "2")
    machines.settle()
    assert len(contents(machines)) == 4
    machine = mini if where == "mini" else laptop
    machine.maintenance.forget(session, seqs=[1])
    machines.settle()
    assert len(contents(machines)) == 2
    for machine in machines.all:
        stored = machine.file_versions.db.execute("SELECT count(*) FROM version").fetchone()[0]
        blobs = machine.file_versions.db.execute("SELECT count(*) FROM blob").fetchone()[0]
        assert (stored, blobs) == (2, 2)
    studio = machines.add("studio")
    studio.sync.share_files(True)
    machines.settle()
    rows = studio.file_versions.db.execute("SELECT DISTINCT path FROM version").fetchall()
    assert rows == [("other.txt",)]


def test_an_altered_content_is_refused_and_named(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    seq = edit(mini, session, "price.txt", "1", "2")
    mini.sync.round()
    for path in contents(machines):
        data = bytearray(path.read_bytes())
        data[40] ^= 1
        path.write_bytes(data)
    problems = laptop.sync.round()["problems"]
    assert any("file version was refused" in problem for problem in problems)
    folder_of(laptop)
    assert laptop.rewind.plan(session, seq)["files"][0]["action"] == "cannot"


def test_two_contents_cannot_stand_in_for_each_other(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    edit(mini, begin(mini), "price.txt", "1", "2")
    mini.sync.round()
    first, second = contents(machines)
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    assert any("refused" in problem for problem in laptop.sync.round()["problems"])


def test_a_content_that_arrives_late_is_fetched_later(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    seq = edit(mini, session, "price.txt", "1", "2")
    mini.sync.round()
    late = {path: path.read_bytes() for path in contents(machines)}
    for path in late:
        path.unlink()
    laptop.sync.round()
    for path, data in late.items():
        path.write_bytes(data)
    assert laptop.sync.round()["files"] == 2
    folder_of(laptop)
    assert laptop.rewind.plan(session, seq)["files"][0]["action"] == "recreate"


def test_versions_here_and_there_do_not_mix(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    edit(mini, session, "price.txt", "1", "2")
    own = begin(laptop)
    edit(laptop, own, "price.txt", "1", "9")
    machines.settle()
    folder = str(folder_of(laptop))
    last = laptop.file_versions.last(folder, "price.txt")
    assert last is not None
    assert laptop.file_versions.read(last.digest or "") == b"9"
    assert laptop.file_versions.roots_around(folder) == [folder]


def test_a_copy_of_the_folder_is_made_without_the_folder(machines: Machines, tmp_path: Path) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    seq = edit(mini, session, "price.txt", "1", "2")
    machines.settle()
    into = tmp_path / "copy"
    laptop.rewind.fork(session, at=seq, into=str(into))
    assert (into / "price.txt").read_text() == "1"
    with pytest.raises(NotFound, match="not on this machine") as refused:
        laptop.rewind.apply(session, seq, files=True)
    assert "sync folders" in refused.value.hint


def test_the_diff_of_an_event_shows_the_files_of_the_other_machine(machines: Machines) -> None:
    mini, laptop = shared(machines, "mini", "laptop")
    session = begin(mini)
    seq = edit(mini, session, "price.txt", "1", "2")
    machines.settle()
    row = laptop.store.sessions.resolve(session)
    event = next(laptop.store.log.slice(row.n, row.id, seq, seq + 1))
    path = str(laptop.config.user_home / "work/shop/price.txt")
    before, after = laptop.timeline._sides(row, event, {"path": path, "from": None})
    assert before is not None
    assert after is not None
    assert [laptop.file_versions.read(side.digest or "") for side in (before, after)] == [b"1", b"2"]
