"""A hostile provider: everything it changes, hides or adds is refused and named."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fazm_memory.errors import SyncRefused
from fazm_memory.sync.pairing import create_vault
from fazm_memory.sync.state import Identity
from tests.sync.machines import Machine, Machines
from tests.sync.test_replication import work


class Provider:
    """What somebody with the bucket can do."""

    def __init__(self, machines: Machines, victim: Machine) -> None:
        self.machines = machines
        vault = victim.vault()
        self.vault = vault.identity.vault
        self.head = machines.folder / self.vault.id / "h" / self.vault.name("device", vault.identity.device)
        self.objects = machines.folder / self.vault.id / "o" / self.head.name

    def object(self) -> Path:
        return max(self.objects.iterdir(), key=lambda path: path.stat().st_mtime_ns)


def flip(path: Path, at: int = -100) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


def old_head(provider: Provider, old: dict[Path, bytes]) -> None:
    provider.head.write_bytes(old[provider.head])


def old_everything(provider: Provider, old: dict[Path, bytes]) -> None:
    shutil.rmtree(provider.machines.folder)
    for path, data in old.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def swap_objects(provider: Provider, old: dict[Path, bytes]) -> None:
    other = next(path for path in old if path.parent == provider.objects)
    provider.object().write_bytes(old[other])


def swap_heads(provider: Provider, old: dict[Path, bytes]) -> None:
    other = next(path for path in provider.head.parent.iterdir() if path != provider.head)
    provider.head.write_bytes(other.read_bytes())


def truncate(provider: Provider, old: dict[Path, bytes]) -> None:
    path = provider.object()
    path.write_bytes(path.read_bytes()[:-50])


def append(provider: Provider, old: dict[Path, bytes]) -> None:
    path = provider.object()
    path.write_bytes(path.read_bytes() * 2)


def replace_by(make: Callable[[Path], object]) -> Callable[[Provider, dict[Path, bytes]], object]:
    """Put something else in the place of the newest object."""

    def do(provider: Provider, old: dict[Path, bytes]) -> None:
        path = provider.object()
        path.unlink()
        make(path)

    return do


def other_prefix(provider: Provider, old: dict[Path, bytes]) -> None:
    """The objects of another device under the names of this one."""
    other = next(path for path in old if path.parent.parent == provider.objects.parent != path.parent)
    provider.object().write_bytes(other.read_bytes())


def second_head(provider: Provider, old: dict[Path, bytes]) -> None:
    """The same head once more, under a name of no device."""
    (provider.head.parent / ("0" * 32)).write_bytes(provider.head.read_bytes())
    provider.head.write_bytes(old[provider.head])


ATTACKS: dict[str, tuple[Callable[[Provider, dict[Path, bytes]], object], str]] = {
    "alter an object": (lambda provider, old: flip(provider.object()), "altered or replaced"),
    "alter a signature": (lambda provider, old: flip(provider.object(), -1), "altered or replaced"),
    "truncate an object": (truncate, "incomplete"),
    "duplicate bytes of an object": (append, "altered or replaced"),
    "replay an older object as a newer": (swap_objects, "incomplete|altered or replaced"),
    "delete an object": (lambda provider, old: provider.object().unlink(), "missing"),
    "alter a head": (lambda provider, old: flip(provider.head), "altered or is incomplete"),
    "truncate a head": (
        lambda provider, old: provider.head.write_bytes(provider.head.read_bytes()[:40]),
        "altered or is incomplete",
    ),
    "delete a head": (lambda provider, old: provider.head.unlink(), "missing"),
    "put another device's head there": (swap_heads, "swapped|rolled back|other keys"),
    "roll back a head": (old_head, "rolled back"),
    "empty an object": (replace_by(Path.touch), "incomplete"),
    "put a folder in the place of an object": (replace_by(Path.mkdir), "incomplete"),
    "put a pipe in the place of an object": (replace_by(os.mkfifo), "incomplete"),
    "put a link to an endless file there": (
        replace_by(lambda path: path.symlink_to("/dev/zero")),
        "incomplete",
    ),
    "put a link to a file of this machine there": (
        replace_by(lambda path: path.symlink_to("/etc/passwd")),
        "incomplete|altered or replaced",
    ),
    "swap the prefixes of two devices": (other_prefix, "incomplete|altered or replaced"),
    "show a head under two names": (second_head, "swapped"),
    "empty a head": (lambda provider, old: provider.head.write_bytes(b""), "altered or is incomplete"),
    "put a folder in the place of a head": (
        lambda provider, old: (provider.head.unlink(), provider.head.mkdir()),
        "missing",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_is_refused_and_named(machines: Machines, attack: str) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    work(laptop, "Water the plants")
    machines.settle()
    old = {path: path.read_bytes() for path in machines.files()}
    mini.say(session, "decision", what="the truth")
    mini.sync.round()
    laptop_before = laptop.states()
    if attack in ("roll back a head", "show a head under two names"):
        laptop.sync.round()
        laptop_before = laptop.states()
    untouched = {path: path.read_bytes() for path in machines.files()}
    do, named = ATTACKS[attack]
    do(Provider(machines, mini), old)
    report = laptop.sync.round()
    assert laptop.states() == laptop_before
    assert any(re.search(named, problem) for problem in report["problems"]), report
    assert laptop.sync.status()["problems"] == report["problems"]
    assert laptop.maintenance.verify().clean
    for path in set(machines.folder.rglob("*")) - set(untouched):  # the provider stops: sync goes on
        if not path.is_dir():
            path.unlink()
    for path, data in untouched.items():
        if path.is_dir():
            path.rmdir()
        if path.is_symlink() or path.is_fifo():
            path.unlink()
        if path != laptop_head(machines, laptop):
            path.write_bytes(data)
    assert laptop.sync.round()["problems"] == []
    assert laptop.states() == mini.states()


def laptop_head(machines: Machines, laptop: Machine) -> Path:
    return Provider(machines, laptop).head


def test_a_store_put_back_to_an_older_state_is_noticed(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    old = {path: path.read_bytes() for path in machines.files()}
    mini.say(session, "decision", what="later")
    machines.settle()
    old_everything(Provider(machines, mini), old)
    report = laptop.sync.round()
    assert any("rolled back" in problem for problem in report["problems"])


def test_the_head_of_a_removed_machine_may_arrive_after_its_removal(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(laptop)
    machines.settle()
    head = Provider(machines, laptop).head
    mini.sync.remove("laptop")
    late = head.read_bytes()
    head.unlink()
    studio = machines.add("studio")
    head.write_bytes(late)
    assert studio.sync.round()["problems"] == []
    assert studio.states() == mini.states()


def test_what_is_hidden_from_one_machine_is_noticed_by_what_others_have_read(machines: Machines) -> None:
    mini, laptop, studio = (machines.add(name) for name in ("mini", "laptop", "studio"))
    session = work(mini)
    machines.settle()
    provider = Provider(machines, mini)
    stale = provider.head.read_bytes()
    mini.say(session, "decision", what="later")
    mini.sync.round()
    laptop.sync.round()
    provider.head.write_bytes(stale)  # only the studio is shown the old head
    report = studio.sync.round()
    assert any("laptop" in problem and "withheld" in problem for problem in report["problems"])


def test_a_foreign_device_is_not_believed(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    stranger = Machine(machines.root, "stranger")
    work(stranger, "Do what I say")
    create_vault(stranger.sync.state, place={"folder": str(machines.folder)}, name="mini")
    # It knows the vault key, for example from a device that was removed, but no member certified it.
    raw = stranger.sync.state.get("identity")
    ours = mini.vault().identity.vault
    raw |= {"key": ours.key.hex(), "root_sign": ours.root_sign.hex(), "root_box": ours.root_box.hex()}
    stranger.sync.state.set(identity=raw)
    assert isinstance(stranger.sync.state.identity(), Identity)
    stranger.vault().put_head()
    with pytest.raises(SyncRefused):
        stranger.vault().round()
    vault = stranger.vault()
    for _ in vault.exporter.batches():
        vault._put(force=True)
    report = laptop.sync.round()
    assert any("foreign device" in problem for problem in report["problems"])
    assert laptop.sessions.listing() == []
    stranger.close()


def test_a_removed_device_reads_nothing_new_and_is_not_believed(machines: Machines) -> None:
    mini, laptop, lost = (machines.add(name) for name in ("mini", "laptop", "lost"))
    session, theirs = work(mini), work(lost, "before it was lost")
    machines.settle()
    mini.sync.remove("lost")
    mini.say(session, "decision", what="after the removal")
    mini.sync.round()
    laptop.sync.round()
    lost.say(theirs, "decision", what="injected")
    with pytest.raises(SyncRefused, match="removed"):
        lost.sync.round()
    # A hostile device does not stop because it was removed.
    lost.sync.state.set(removed={}, active=True)
    vault = lost.vault()
    for _ in vault.exporter.batches():
        vault._put(force=True)
    report = laptop.sync.round()
    assert any("removed device" in problem for problem in report["problems"])
    assert "injected" not in laptop.texts()
    assert "before it was lost" in laptop.texts()
    secrets = set(lost.sync.state.epochs())
    assert mini.vault().exporter.state.objects()[-1][3] not in secrets
    studio = machines.add("studio")
    assert "injected" not in studio.texts()
    assert "before it was lost" in studio.texts()
    assert "after the removal" in studio.texts()


def test_a_restored_or_copied_store_does_not_write_over_its_uploads(
    machines: Machines, tmp_path: Path
) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    session = work(mini)
    machines.settle()
    mini.close()
    shutil.copytree(mini.config.home, tmp_path / "backup")
    mini.say(session, "decision", what="after the backup")
    machines.settle()
    mini.close()
    shutil.rmtree(mini.config.home)
    shutil.copytree(tmp_path / "backup", mini.config.home)
    with pytest.raises(SyncRefused, match="restored from a backup"):
        mini.sync.round()
    assert "after the backup" in laptop.texts()
    heads = {path: path.read_bytes() for path in machines.files() if path.parent.name == "h"}
    mini.sync.leave(forget_keys=True)  # as the hint says
    assert {path: path.read_bytes() for path in heads} == heads
    assert laptop.sync.round()["problems"] == []


def test_the_bucket_holds_no_plain_text_name_or_path(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini, "A very recognisable sentence", workspace="/Users/mia/recognisable")
    machines.settle()
    words = [b"recognisable", b"Bash", b"mia", b"session", b"prompt", b"mini", b"laptop", b"fazm"]
    words += [row["id"].encode() for row in mini.sessions.listing()] + [
        laptop.vault().identity.device.encode()
    ]
    for path in machines.files():
        stored = path.read_bytes() + str(path.relative_to(machines.folder)).encode()
        assert [word for word in words if word in stored] == []


def test_foreign_files_in_the_folder_are_ignored(machines: Machines) -> None:
    mini, laptop = machines.add("mini"), machines.add("laptop")
    work(mini)
    mini.sync.round()
    head = Provider(machines, mini).head
    for name in (
        f"{head.name} (conflicted copy)",
        f".{head.name}.icloud",
        f"{head.name}.sync-conflict-1",
        ".DS_Store",
    ):
        (head.parent / name).write_bytes(b"something else")
    assert laptop.sync.round()["problems"] == []
    assert laptop.states() == mini.states()
