"""Both kinds of Mac: files are joined and checked, and every wheel we pin exists for both."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
import zipfile
from importlib.util import find_spec
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


# -- what a file needs of a Mac ---------------------------------------------------------------------------


def program(processor: int, *, system: tuple[int, int] = (11, 0), libraries: tuple[str, ...] = ()) -> bytes:
    """A Mach-O file with load commands, of either form for the system."""
    version = (system[0] << 16) | (system[1] << 8)
    commands = [struct.pack("<IIIIII", 0x32, 24, 1, version, version, 0)]
    if processor == INTEL:
        commands = [struct.pack("<IIII", 0x24, 16, version, version)]
    for name in libraries:
        text = name.encode() + bytes(8 - len(name) % 8)
        commands.append(struct.pack("<IIIIII", 0x0C, 24 + len(text), 24, 0, 0, 0) + text)
    body = b"".join(commands)
    return (
        b"\xcf\xfa\xed\xfe" + struct.pack("<IIIIIII", processor, 3, 6, len(commands), len(body), 0, 0) + body
    )


@pytest.mark.parametrize("processor", [ARM, INTEL])
def test_a_file_says_which_system_and_libraries_it_needs(load: Load, processor: int) -> None:
    macho = load("packaging/macho.py")
    names = ("/usr/lib/libSystem.B.dylib", "@rpath/libours.dylib", "/opt/homebrew/lib/libssl.3.dylib")
    (needs,) = macho.requirements(program(processor, system=(14, 2), libraries=names)).values()
    assert (needs.system, needs.libraries) == ((14, 2), names)
    assert needs.problems((13, 0)) == ["needs macOS 14.2", "needs /opt/homebrew/lib/libssl.3.dylib"]
    assert needs.problems((15, 0)) == ["needs /opt/homebrew/lib/libssl.3.dylib"]


def test_a_built_app_that_would_not_load_is_refused(load: Load, tmp_path: Path) -> None:
    check, joined = load("packaging/architectures.py"), load("packaging/macho.py").joined
    (tmp_path / "good.so").write_bytes(joined(program(ARM), program(INTEL, system=(13, 0))))
    assert check.unloadable(tmp_path) == {}
    (tmp_path / "new.so").write_bytes(joined(program(ARM, system=(13, 1)), program(INTEL)))
    assert check.unloadable(tmp_path) == {tmp_path / "new.so": ["needs macOS 13.1 (arm64)"]}


def test_the_oldest_system_is_the_one_that_the_app_names(load: Load) -> None:
    oldest = load("packaging/architectures.py").OLDEST
    assert ".".join(map(str, oldest)) == load("setup_app.py").MINIMUM
    assert set(load("packaging/universal.py").PLATFORMS.values()) == {
        f"macosx_{oldest[0]}_{oldest[1]}_{name}" for name in ("arm64", "x86_64")
    }


# -- the wheels that we pin --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheels(load: Load, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """All wheels that the lock names, for each kind of Mac."""
    universal, folder = load("packaging/universal.py"), tmp_path_factory.mktemp("wheels")
    wanted = universal.requirements((ROOT / "requirements.lock").read_text())
    found = {name: universal.fetch(wanted, name, folder / name) for name in universal.PLATFORMS}
    assert {len(files) for files in found.values()} == {len(wanted)}
    return found


@pytest.mark.e2e
def test_every_pinned_wheel_exists_for_both_kinds_of_mac_and_joins(
    load: Load, wheels: dict[str, list[Path]]
) -> None:
    universal, macho = load("packaging/universal.py"), load("packaging/macho.py")
    files: dict[str, list[bytes]] = {}
    for architecture, found in wheels.items():
        for wheel in found:
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
def test_no_wheel_needs_a_newer_system_or_a_library_that_a_mac_does_not_have(
    load: Load, wheels: dict[str, list[Path]]
) -> None:
    universal, macho = load("packaging/universal.py"), load("packaging/macho.py")
    oldest = load("packaging/architectures.py").OLDEST
    seen, problems = set(), []
    for wheel in (wheel for found in wheels.values() for wheel in found):
        for name, data in universal.compiled(wheel).items():
            if ".dSYM/" in name:  # symbols for debugging, which the app does not have
                continue
            seen.add(wheel.name.partition("-")[0])
            for needs in macho.requirements(data).values():
                assert needs.system > (10, 0), (wheel.name, name)
                foreign = [library for library in needs.libraries if library.startswith("@")]
                problems += [(wheel.name, name, why) for why in (*needs.problems(oldest), *foreign)]
    assert problems == []
    assert {"orjson", "obstore", "zstandard", "google_re2", "sqlcipher3", "watchdog", "pyobjc_core"} <= seen


@pytest.mark.e2e
@pytest.mark.linux("a Mac builds the real bundle")
def test_the_module_graph_of_a_mac_has_the_frameworks_with_all_their_parts(
    wheels: dict[str, list[Path]], tmp_path: Path
) -> None:
    for wheel in wheels["arm64"]:
        with zipfile.ZipFile(wheel) as file:
            file.extractall(tmp_path)
    for debugging in list(tmp_path.rglob("*.dSYM")):
        shutil.rmtree(debugging)  # as packaging/build does
    for compiled in list(tmp_path.rglob("*.cpython-311-darwin.so")):
        compiled.rename(str(compiled).replace(".cpython-311-darwin.so", ".so"))
    shutil.copytree(Path(str(find_spec("rumps").origin)).parent, tmp_path / "rumps")  # type: ignore[union-attr]
    command = [sys.executable, "-W", "ignore", "-m", "tests.packaging.mac_graph", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


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
