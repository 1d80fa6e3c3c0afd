"""Both kinds of Mac: files are joined and checked, and every wheel we pin exists for both."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT, Load

ARM, INTEL = 0x0100000C, 0x01000007


def thin(processor: int, content: bytes) -> bytes:
    return b"\xcf\xfa\xed\xfe" + struct.pack("<II", processor, 3) + content


def test_two_files_become_one_for_both(load: Load) -> None:
    macho = load("packaging/macho.py")
    arm, intel = thin(ARM, b"arm" * 9000), thin(INTEL, b"intel" * 100)
    whole = macho.joined(arm, intel, arm)
    assert macho.architectures(whole) == ["arm64", "x86_64"]
    assert [one[3] for one in macho._slices(whole)] == [arm, intel]
    offsets = [struct.unpack(">I", whole[16 + 20 * n : 20 + 20 * n])[0] for n in range(2)]
    assert all(offset % 16384 == 0 for offset in offsets)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\xca\xfe\xba\xbe\x00\x00\x00\x34", b"\xca\xfe\xba\xbe"])
def test_what_is_no_such_file_is_reported(load: Load, data: bytes) -> None:
    macho = load("packaging/macho.py")
    with pytest.raises(macho.NotMachO):
        macho.architectures(data)


def test_a_file_for_one_kind_only_is_named(load: Load, tmp_path: Path) -> None:
    check = load("packaging/architectures.py")
    (tmp_path / "both.so").write_bytes(
        check.native_files.__globals__["joined"](thin(ARM, b"a"), thin(INTEL, b"b"))
    )
    (tmp_path / "one.so").write_bytes(thin(ARM, b"a"))
    (tmp_path / "text").write_text("x")
    assert check.lacking(tmp_path, ["arm64", "x86_64"]) == {tmp_path / "one.so": ["x86_64"]}


def test_the_lock_is_read_as_a_mac_would(load: Load) -> None:
    wanted = load("packaging/universal.py").requirements((ROOT / "requirements.lock").read_text())
    names = {one.split("==")[0] for one in wanted}
    assert {"pyobjc-core", "sqlcipher3", "cryptography"} <= names
    assert not names & {"jeepney", "secretstorage", "pywin32", "httpx2-jsfetch", "rumps"}


@pytest.mark.e2e
def test_every_pinned_wheel_exists_for_both_kinds_of_mac_and_joins(load: Load, tmp_path: Path) -> None:
    universal, macho = load("packaging/universal.py"), load("packaging/macho.py")
    wanted = universal.requirements((ROOT / "requirements.lock").read_text())
    files: dict[str, list[bytes]] = {}
    for architecture in universal.PLATFORMS:
        wheels = universal.fetch(wanted, architecture, tmp_path / architecture)
        assert len(wheels) == len(wanted)
        for wheel in wheels:
            for name, data in universal.compiled(wheel).items():
                assert architecture in macho.architectures(data), (wheel.name, name)
                files.setdefault(name, []).append(data)
    assert len(files) > 20
    short = [
        name
        for name, data in files.items()
        if set(macho.architectures(macho.joined(*data))) < {"arm64", "x86_64"}
    ]
    assert short == []


@pytest.mark.e2e
@pytest.mark.parametrize("platform", ["aarch64-apple-darwin", "x86_64-apple-darwin"])
def test_the_project_resolves_for_each_kind_of_mac(tmp_path: Path, platform: str) -> None:
    ran = subprocess.run(
        [str(ROOT / ".venv" / "bin" / "uv"), "pip", "compile", "pyproject.toml",
         "--python-platform", platform, "--python-version", "3.11", "--quiet", "--no-header",
         "-o", str(tmp_path / "lock")],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    made = (tmp_path / "lock").read_text()
    releases = {line.split("==")[1].split(" ")[0] for line in made.splitlines() if line.startswith("pyobjc-")}
    assert releases == {"12.2.2"}
    assert "rumps==0.4.0" in made
