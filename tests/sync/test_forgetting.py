"""What is forgotten on one machine is forgotten everywhere, also in what was uploaded."""

from __future__ import annotations

import pytest

from fazm_memory.errors import SyncRefused
from tests.sync.machines import Machine, Machines
from tests.sync.test_replication import work

SECRET_WORD = "rhinoceros"


def forgets(machine: Machine) -> None:
    assert machine.maintenance.forget(match=SECRET_WORD)["events"] > 0


def check_gone(machines: Machines) -> None:
    for machine in machines.all:
        machine.store.index_all()
        assert SECRET_WORD not in machine.texts()
        assert machine.recall.search(SECRET_WORD) == []
        assert machine.maintenance.verify().clean


def test_forgetting_on_its_own_machine_reaches_the_others(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini, f"a {SECRET_WORD} in the garden")
    machines.settle()
    assert SECRET_WORD in laptop.texts()
    forgets(mini)
    machines.settle()
    check_gone(machines)
    assert laptop.states() == mini.states()


def test_forgetting_a_copy_reaches_the_machine_that_recorded_it(machines: Machines) -> None:
    mini, laptop, studio = (machines.add(name) for name in ("mini", "laptop", "studio"))
    work(mini, f"a {SECRET_WORD} in the garden")
    machines.settle()
    forgets(laptop)
    assert SECRET_WORD not in laptop.texts()
    assert laptop.maintenance.verify().clean
    machines.settle()
    check_gone(machines)
    assert studio.states() == mini.states() == laptop.states()


def test_a_machine_that_joins_later_never_gets_it(machines: Machines) -> None:
    mini = machines.add("mini")
    work(mini, f"a {SECRET_WORD} in the garden")
    mini.sync.round()
    before = {path.name for path in machines.files()}
    forgets(mini)
    mini.sync.round()
    held = {path.name for path in machines.files() if "/o/" in str(path)}
    assert not before & held, "every object that had it was written again"
    machines.add("laptop")
    check_gone(machines)


def test_a_machine_that_joined_again_follows_what_was_asked_of_it_before(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    held = work(laptop, "Count the tulips")
    work(laptop, f"a {SECRET_WORD} in the garden")
    machines.settle()
    forgets(mini)
    mini.maintenance.quarantine(held)
    mini.sync.round()
    mini.sync.remove("laptop")
    with pytest.raises(SyncRefused):
        laptop.sync.round()
    laptop.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="laptop again")
    machines.settle()
    check_gone(machines)
    for machine in machines.all:
        assert machine.sessions.quarantined() == {held: "whole"}


def test_a_quarantine_is_asked_for_by_a_machine_with_new_keys(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    laptop.maintenance.quarantine(session)
    for _ in laptop.vault().exporter.batches():
        pass  # a crash comes before anything is put
    laptop.sync.leave(forget_keys=True)
    laptop.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="laptop again")
    machines.settle()
    assert mini.sessions.quarantined() == {session: "whole"}


def test_a_round_counts_only_what_it_forgot_itself(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini, f"a {SECRET_WORD} in the garden")
    machines.settle()
    forgets(laptop)
    laptop.sync.round()
    assert mini.sync.round()["forgot"] == 1
    assert laptop.sync.round()["forgot"] == 0
    studio = Machine(machines.root, "studio")
    machines.all.append(studio)
    joined = studio.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="studio")
    assert joined["forgot"] == 0


def test_events_that_arrive_after_their_tombstone_stay_forgotten(machines: Machines) -> None:
    mini, laptop, studio = (machines.add(name) for name in ("mini", "laptop", "studio"))
    work(mini, f"a {SECRET_WORD} in the garden")
    mini.sync.round()
    laptop.sync.round()
    forgets(laptop)
    laptop.sync.round()
    own = mini.vault().exporter.name(1, 1, 0).rpartition("/")[2]
    (first,) = [path for path in machines.files() if path.name == own]
    body = first.read_bytes()
    first.unlink()
    studio.sync.round()  # sees the request of the laptop before the session of the mini
    first.write_bytes(body)
    studio.sync.round()
    assert SECRET_WORD not in studio.texts()
    machines.settle()
    check_gone(machines)


def test_the_status_names_machines_that_have_not_forgotten_yet(machines: Machines) -> None:
    mini, laptop, studio = (machines.add(name) for name in ("mini", "laptop", "studio"))
    work(mini, f"a {SECRET_WORD} in the garden")
    machines.settle()
    forgets(mini)
    assert mini.sync.status()["forgotten_not_yet_by"] == ["laptop", "studio"]
    mini.sync.round()
    assert mini.sync.status()["forgotten_not_yet_by"] == ["laptop", "studio"]
    laptop.sync.round()
    mini.sync.round()
    assert mini.sync.status()["forgotten_not_yet_by"] == ["studio"]
    studio.sync.round()
    mini.sync.round()
    assert mini.sync.status()["forgotten_not_yet_by"] == []


def test_the_status_names_no_device_that_a_machine_was_before(machines: Machines) -> None:
    mini, laptop, studio = (machines.add(name) for name in ("mini", "laptop", "studio"))
    work(mini, f"a {SECRET_WORD} in the garden")
    machines.settle()
    mini.sync.leave(forget_keys=True)
    mini.sync.join(recovery=machines.recovery, folder=str(machines.folder), name="mini")
    studio.sync.leave()
    forgets(mini)
    mini.sync.round()
    assert mini.sync.status()["forgotten_not_yet_by"] == ["laptop", "studio (left)"]
    laptop.sync.round()
    mini.sync.round()
    assert mini.sync.status()["forgotten_not_yet_by"] == ["studio (left)"]


def test_the_status_names_machines_that_have_not_forgotten_a_copy(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini, f"a {SECRET_WORD} in the garden")
    machines.settle()
    forgets(laptop)
    for _ in range(2):
        assert laptop.sync.status()["forgotten_not_yet_by"] == ["mini"]
        laptop.sync.round()
    machines.settle()
    assert laptop.sync.status()["forgotten_not_yet_by"] == []


def test_a_checkpoint_of_a_fork_on_another_machine_is_forgotten_too(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    mini.say(session, "fact", key="animal", value=SECRET_WORD)
    machines.settle()
    fork = laptop.rewind.fork(session)["id"]
    laptop.act(fork, "Bash", {"command": "ls"})
    laptop.pass_time(days=200)
    assert laptop.maintenance.retain()["forgotten"] > 0
    machines.settle()
    forgets(mini)
    machines.settle()
    check_gone(machines)


def test_retention_of_one_machine_is_followed_by_the_others(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    mini.act(session, "Bash", {"command": SECRET_WORD})
    machines.settle()
    for machine in machines.all:
        machine.pass_time(days=200)
    assert laptop.maintenance.retain()["events"] == 0
    assert mini.maintenance.retain()["forgotten"] > 0
    machines.settle()
    check_gone(machines)
    assert laptop.states() == mini.states()


def test_quarantine_travels_both_ways(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    first, second = work(mini), work(mini, "Another")
    machines.settle()
    mini.maintenance.quarantine(first)
    laptop.maintenance.quarantine(second)
    assert laptop.sessions.quarantined() == {second: "whole"}
    machines.settle()
    for machine in machines.all:
        assert machine.sessions.quarantined() == {first: "whole", second: "whole"}
    laptop.maintenance.quarantine(first, lift=True)
    machines.settle()
    for machine in machines.all:
        assert machine.sessions.quarantined() == {second: "whole"}
        assert machine.maintenance.verify().clean


def test_a_title_that_forks_inherited_is_forgotten_with_its_prompt(machines: Machines) -> None:
    mini, laptop, studio = (machines.add(name) for name in ("mini", "laptop", "studio"))
    session = work(mini, "Call the zebra office")
    machines.settle()
    fork = laptop.rewind.fork(session)["id"]
    machines.settle()
    second = studio.rewind.fork(fork)["id"]
    laptop.say(fork, "prompt", text="Go on")
    mini.maintenance.forget(session, seqs=[1])  # laptop's fork is here, studio's is not
    assert "zebra" not in mini.texts()
    machines.settle()
    for machine in machines.all:
        assert "zebra" not in machine.texts()
        assert machine.maintenance.verify().clean
        assert {machine.sessions.get(one)["workspace"] for one in (fork, second)} == {"/w"}
        assert machine.sessions.get(second)["parent"] == fork


def test_a_session_that_was_taken_over_is_listed_everywhere_after_its_words_are_forgotten(
    machines: Machines,
) -> None:
    """Its inherited title goes too, and only its opening is left."""
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini, "tidy the garden")
    machines.settle()
    fork = laptop.rewind.fork(session, at=2)["id"]
    laptop.say(fork, "prompt", text=f"a {SECRET_WORD} for the garden")
    laptop.maintenance.forget(match=SECRET_WORD)
    laptop.maintenance.forget(match="tidy the garden")
    machines.settle()
    assert fork in laptop.states()
    assert mini.states() == laptop.states()


def test_a_forgotten_session_is_listed_again_when_it_goes_on(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini, f"a {SECRET_WORD} in the garden")
    machines.settle()
    mini.maintenance.forget(session)
    machines.settle()
    assert mini.states() == laptop.states() == {}
    mini.say(session, "prompt", text="water the roses")
    machines.settle()
    for machine in machines.all:
        assert [state[0] for state in machine.states().values()] == ["water the roses"]
    check_gone(machines)


def test_a_machine_that_leaves_uploads_what_it_forgot_first(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini, f"a {SECRET_WORD} in the garden")
    machines.settle()
    forgets(mini)
    mini.sync.leave()
    laptop.sync.round()
    check_gone(machines)
