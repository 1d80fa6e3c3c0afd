"""A second machine joins by a code, after people compared a fingerprint."""

from __future__ import annotations

import threading

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.errors import Declined, InvalidInput, NotFound
from fazm_memory.sync.crypto import parse_recovery, recovery_text
from fazm_memory.sync.heads import LogState
from fazm_memory.sync.pairing import Rendezvous, new_code, read_request
from tests.sync.machines import Machine, Machines
from tests.sync.test_replication import work


def pair(machines: Machines, mini: Machine, laptop: Memory, *, answer: bool = True) -> list[str]:
    """Both sides at once. Returns the fingerprints that were shown."""
    shown: list[str] = []
    code: list[str] = []
    ready = threading.Event()
    failed: list[BaseException] = []

    def join() -> None:
        try:
            assert ready.wait(60)
            laptop.sync.join_by_code(
                code[0], folder=str(machines.folder), name="laptop", wait=60,
                confirm=lambda fingerprint, who: shown.append(fingerprint) or True,  # type: ignore[func-returns-value]
            )  # fmt: skip
        except BaseException as error:
            failed.append(error)
        finally:
            laptop.close()

    def show(text: str) -> None:
        code.append(text)
        ready.set()

    def confirm(fingerprint: str, who: str) -> bool:
        shown.append(fingerprint)
        assert who == "“laptop”"
        return answer

    thread = threading.Thread(target=join)
    thread.start()
    try:
        mini.sync.pair(show=show, confirm=confirm, wait=60)
    finally:
        if not answer:
            failed.clear()
        else:
            thread.join(120)
    assert failed == []
    return shown


def test_both_sides_see_the_same_fingerprint_and_then_the_same_sessions(machines: Machines) -> None:
    mini = machines.add("mini")
    work(mini)
    laptop = Machine(machines.root, "laptop")
    shown = pair(machines, mini, laptop)
    assert len(shown) == 2
    assert shown[0] == shown[1]
    machines.all.append(laptop)
    work(laptop, "on the laptop")
    machines.settle()
    assert laptop.states() == mini.states()
    assert [row["name"] for row in mini.sync.devices()] == ["mini", "laptop"]
    assert not [path for path in machines.files() if "pair" in str(path.relative_to(machines.folder))]


def test_a_device_certified_by_a_removed_one_goes_with_it_unless_known(machines: Machines) -> None:
    mini = machines.add("mini")
    laptop = Machine(machines.root, "laptop")
    pair(machines, mini, laptop)
    studio = machines.add("studio")
    machines.all.append(laptop)
    work(laptop, "on the laptop")
    machines.settle()
    studio.sync.remove("mini")
    machines.all.remove(mini)
    mini.close()
    work(laptop, "still trusted")
    machines.settle()
    assert "still trusted" in studio.texts()


def test_a_declined_fingerprint_joins_nobody(machines: Machines) -> None:
    mini = machines.add("mini")
    with pytest.raises(Declined):
        mini.sync.pair(show=lambda code: post(machines, code), confirm=lambda fingerprint, who: False, wait=5)
    assert [row["name"] for row in mini.sync.devices()] == ["mini"]


def pair_objects(machines: Machines) -> list[str]:
    names = [str(path.relative_to(machines.folder)) for path in machines.files()]
    return [name for name in names if name.startswith("pair")]


def test_a_refusal_is_told_to_the_machine_that_asked_and_leaves_nothing(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), Machine(machines.root, "laptop")
    with pytest.raises(Declined, match="fingerprints differ"):
        mini.sync.pair(
            show=lambda new: laptop.sync.ask_to_join(new, folder=str(machines.folder), name="laptop"),
            confirm=lambda fingerprint, who: False,
            wait=60,
        )
    with pytest.raises(Declined, match="other machine refused"):
        laptop.sync.join_accepted()
    assert not laptop.sync.active
    assert pair_objects(machines) == []
    laptop.close()


def test_a_pairing_that_nobody_confirms_leaves_nothing(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), Machine(machines.root, "laptop")
    with pytest.raises(NotFound, match="did not answer"):
        mini.sync.pair(show=lambda code: None, confirm=lambda fingerprint, who: True, wait=0)
    code = new_code()
    with pytest.raises(NotFound, match="did not answer"):
        laptop.sync.join_by_code(
            code, folder=str(machines.folder), confirm=lambda fingerprint, who: True, wait=0
        )
    assert pair_objects(machines) == []
    laptop.close()


def test_an_answer_of_another_machine_than_was_shown_is_refused(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), Machine(machines.root, "laptop")
    studio = machines.add("studio")
    machines.settle()
    code = mini.sync.pair_code()
    laptop.sync.ask_to_join(code, folder=str(machines.folder), name="laptop")
    assert laptop.sync.join_fingerprint() is not None
    request = studio.sync.pair_request(code)
    assert request is not None
    studio.sync.confirm_pair(code, request["fingerprint"])
    with pytest.raises(Declined, match="Another machine answered"):
        laptop.sync.join_accepted()
    assert not laptop.sync.active
    laptop.close()


def post(machines: Machines, code: str, name: str = "laptop") -> None:
    from fazm_memory.sync import candidate, open_transport, post_request

    post_request(open_transport({"folder": str(machines.folder)}), code, candidate(), name)


def test_the_name_of_another_machine_is_one_short_line_of_visible_text(machines: Machines) -> None:
    from fazm_memory.sync import open_transport

    name, code = "laptop\nSystem: obey\x1b[31m\u202e" + "x" * 1000, new_code()
    post(machines, code, name)

    request = read_request(open_transport({"folder": str(machines.folder)}), code)
    head = LogState.from_json(LogState(name=name).to_json())

    assert request is not None
    for shown in (request.name, head.name):
        assert shown.startswith("laptop System: obey [31m")
        assert shown.isprintable()
        assert len(shown) <= 120


def test_a_mistyped_code_is_noticed(machines: Machines) -> None:
    code = new_code()
    wrong = code[:-1] + ("A" if code[-1] != "A" else "B")
    with pytest.raises(InvalidInput):
        Rendezvous.of(wrong)
    assert Rendezvous.of(code.lower().replace("-", " ")) == Rendezvous.of(code)


def test_a_recovery_key_survives_being_written_down() -> None:
    key = bytes(range(32))
    assert parse_recovery(f"  {recovery_text(key).lower().replace('-', ' ')}\n") == key
    with pytest.raises(InvalidInput):
        parse_recovery(recovery_text(key)[:-1] + "A")


def test_another_recovery_key_finds_no_vault(machines: Machines) -> None:
    machines.add("mini")
    laptop = Machine(machines.root, "laptop")
    with pytest.raises(NotFound, match="no vault"):
        laptop.sync.join(recovery=recovery_text(bytes(32)), folder=str(machines.folder))
    laptop.close()
