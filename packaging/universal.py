"""`universal.py LOCK VENV`: makes what a lock file pins run on both kinds of Mac.

Most compiled packages publish one wheel per processor. Both are fetched, by the lock's hashes, and their
compiled files joined into the installed ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from macho import THIN, architectures, joined
from pip._vendor.packaging.markers import Marker

PLATFORMS = {"arm64": "macosx_13_0_arm64", "x86_64": "macosx_13_0_x86_64"}
PINNED = re.compile(r"^([A-Za-z0-9._-]+==[^ ;\\]+)(?: ; ([^\\\n]+))?", re.MULTILINE)
SOURCE_ONLY = ("rumps==",)  # plain Python that never published a wheel
MAC = {
    "sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "python_version": "3.11",
    "python_full_version": "3.11.9", "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
}  # fmt: skip


def requirements(lock: str) -> list[str]:
    """What the lock pins for a Mac and has wheels, one `name==version` each."""
    return [
        one
        for one, marker in PINNED.findall(lock)
        if not one.startswith(SOURCE_ONLY) and (not marker or Marker(marker.strip()).evaluate(MAC))
    ]


def fetch(wanted: list[str], architecture: str, folder: Path, *, python: str = "3.11") -> list[Path]:
    """The wheels of these for one kind of Mac. CalledProcessError when one has none."""
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
         "--only-binary", ":all:", "--platform", PLATFORMS[architecture], "--python-version", python,
         "--implementation", "cp", "--dest", str(folder), *wanted],
        check=True,
    )  # fmt: skip
    return sorted(folder.glob("*.whl"))


def compiled(wheel: Path) -> dict[str, bytes]:
    """The Mach-O files of a wheel by their names in it."""
    with zipfile.ZipFile(wheel) as file:
        names = [name for name in file.namelist() if name.endswith((".so", ".dylib"))]
        return {name: file.read(name) for name in names}


def main() -> int:
    lock, environment = Path(sys.argv[1]).read_text(encoding="utf-8"), Path(sys.argv[2])
    (site,) = environment.glob("lib/python3*/site-packages")
    one_kind = {path for path in site.rglob("*.so") if path.read_bytes()[:4] == THIN}
    if not one_kind:
        print("everything compiled is for both kinds of Mac already")
        return 0
    with tempfile.TemporaryDirectory() as made:
        files: dict[str, list[bytes]] = {}
        for architecture in PLATFORMS:
            folder = Path(made) / architecture
            for wheel in fetch(requirements(lock), architecture, folder):
                for name, data in compiled(wheel).items():
                    files.setdefault(name, []).append(data)
    for path in sorted(one_kind):
        name = path.relative_to(site).as_posix()
        whole = joined(*files.get(name, []), path.read_bytes())
        path.write_bytes(whole)
        print(f"{name}: {', '.join(architectures(whole))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
