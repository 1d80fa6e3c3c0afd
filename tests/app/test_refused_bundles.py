"""Forged, damaged and hostile bundles: each is refused, whole, and in words."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from fazm_memory.bundle import exporter
from fazm_memory.bundle.exporter import MAGIC
from fazm_memory.errors import BundleRefused, FazmMemoryError, StoreNewer
from tests.app.bundle_files import Machine, filing, forge, kept, machines, on


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with machines(tmp_path) as made:
        yield made


BOMB = base64.b64encode(b"x" * (5 << 20)).decode()
FORGED: dict[str, Callable[[dict[str, Any]], None]] = {
    "a path that climbs out": on("version", path="../../.ssh/authorized_keys"),
    "a path that climbs out in the middle": on("version", path="a/../../b"),
    "an absolute path": on("version", path="/etc/passwd"),
    "a path into git": on("version", path=".git/hooks/pre-commit"),
    "a path into git in other letters": on("version", path=".GIT/config"),
    "a path with a hidden letter": on("version", path=".g\u200dit/config"),
    "a NUL in a path": on("version", path="a\0b"),
    "an empty path": on("version", path=""),
    "files of a folder that no session worked in": on("version", root="/etc"),
    "files of a folder beside it": on("version", root="⌂~/Documents-other"),
    "content that is not what its digest says": on("version", data=base64.b64encode(b"other").decode()),
    "content too large": on("version", data=BOMB, digest=hashlib.sha256(b"x" * (5 << 20)).hexdigest()),
    "content that is no base64": on("version", data="%%%"),
    "a mode with set-user-id": on("version", mode=0o4755),
    "a mode with more than there are bits": on("version", mode=0o100644),
    "a mode below nothing": on("version", mode=-1),
    "a mode that is no number": on("version", mode="755"),
    "a mode that is a truth": on("version", mode=True),
    "a kind nobody knows": on("event", "decision", kind="sudo"),
    "a newer version of a kind": on("event", "decision", version=99),
    "a payload of another shape": on("event", "decision", payload={"what": 7}),
    "a field nobody declared": on("event", "decision", payload={"what": "x", "exec": "rm"}),
    "a hole in the positions": on("event", "decision", seq=9),
    "a position that is no number": on("event", "decision", seq="3"),
    "a time beyond all times": on("event", "decision", at=1 << 80),
    "a trust nobody has": on("event", "decision", trust="root"),
    "a source nobody is": on("event", "decision", source="bundle"),
    "an id that is a path": on("session", id="../../x"),
    "a parent that is not in it": on("event", "session.open",
                                     payload={"agent": "fazm", "parent": "0" * 32, "parent_seq": 1}),
    "a rewind to nowhere": on("event", "decision", kind="rewind", payload={"to": 99}),
    "a checkpoint that is no state": on("event", "decision", kind="checkpoint", payload={"state": {}}),
    "a forgotten payload without a digest": on("event", "decision", payload=None),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_bundle_is_refused_whole(machine: Machine, tmp_path: Path, name: str) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    forge(here, session, tmp_path / "1", FORGED[name])
    with pytest.raises((BundleRefused, StoreNewer)):
        there.bundles.import_(tmp_path / "1", mine=True)
    assert kept(there, "/home/ben/Documents", "b.pdf") is None
    assert there.sessions.listing() == []
    assert there.maintenance.verify().clean


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: b"",
        lambda data: b"PK\x03\x04" + data,
        lambda data: data.replace(b'"version":1', b'"version":2', 1),
        lambda data: MAGIC + b"[]\n" + data.split(b"\n", 1)[1],
        lambda data: MAGIC + b'{"version":"1"}\n' + data.split(b"\n", 1)[1],
    ],
)
@pytest.mark.parametrize("passphrase", [None, "correct horse"])
def test_a_damaged_file_is_refused(
    machine: Machine, tmp_path: Path, damage: Callable[[bytes], bytes], passphrase: str | None
) -> None:
    here, there = machine("anna"), machine("ben")
    file = tmp_path / "1"
    here.bundles.export(filing(here, "anna"), file, passphrase=passphrase)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises((BundleRefused, StoreNewer)):
        there.bundles.import_(file, passphrase=passphrase)
    assert there.sessions.listing() == []


def test_every_changed_byte_of_a_sealed_bundle_is_noticed(machine: Machine, tmp_path: Path) -> None:
    here, there = machine("anna"), machine("ben")
    file = tmp_path / "1"
    here.bundles.export(filing(here, "anna"), file, passphrase="correct horse")
    data = file.read_bytes()
    start = data.index(b"\n") + 1
    for at in range(start, len(data), max(1, (len(data) - start) // 12)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        with pytest.raises(BundleRefused):
            there.bundles.import_(file, passphrase="correct horse")
    file.write_bytes(data)
    with pytest.raises(BundleRefused, match="passphrase is wrong"):
        there.bundles.import_(file, passphrase="wrong")


def test_a_bomb_is_defused(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = machine("ben")
    monkeypatch.setattr(exporter, "LEAST_ROOM", 4 << 20)
    monkeypatch.setattr(exporter, "RATIO", 1)
    many = b'{"event":{}}\n' * 1_000_000
    (tmp_path / "1").write_bytes(MAGIC + b'{"version":1}\n' + zstandard.compress(many))
    with pytest.raises(BundleRefused):
        there.bundles.import_(tmp_path / "1")
    monkeypatch.setattr(exporter, "LONGEST_LINE", 1 << 20)
    (tmp_path / "2").write_bytes(MAGIC + b'{"version":1}\n' + zstandard.compress(b" " * (3 << 20)))
    with pytest.raises(BundleRefused, match="longer than any event"):
        there.bundles.import_(tmp_path / "2")


def test_what_is_no_plain_file_is_refused(machine: Machine, tmp_path: Path) -> None:
    there = machine("ben")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "missing", Path("/dev/null")):
        with pytest.raises(BundleRefused):
            there.bundles.import_(path)


def test_an_agents_session_that_is_here_under_another_id_keeps_its_name(
    machine: Machine, tmp_path: Path
) -> None:
    here, there = machine("anna"), machine("ben")
    session = filing(here, "anna")
    there.sessions.open("fazm", key="abc")
    here.bundles.export(session, tmp_path / "1")
    results = there.bundles.import_(tmp_path / "1")
    assert "beside it" in results["notes"][0]
    assert there.sessions.get(session)["agent_session_id"] is None
    with pytest.raises(FazmMemoryError):
        there.sessions.get("no such session")
