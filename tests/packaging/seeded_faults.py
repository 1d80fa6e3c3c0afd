"""Faults of the Mac app that were found once. Each is put back in a copy of the sources: its test must fail.

The list is `seeded_faults.json`. `python -m tests.packaging.seeded_faults [NAME…]` does that for all or some.
A test that passes with its fault is reported, and the exit code is 1. `test_seeded_faults.py` checks that the
list fits the sources.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 200  # seconds; without the fault each test takes a few, those of the bundle a minute
COPIED = ("fazm_memory", "tests", "packaging", "resources", ".github", "benchmarks")
FILES = (
    "setup_app.py",
    "pyproject.toml",
    "Makefile",
    "README.md",
    "requirements.lock",
    "requirements-dev.lock",
)


PRODUCT = ("fazm_memory", "packaging", ".github")  # where a fault can be put back, and in FILES


@cache
def sources() -> dict[str, str]:
    """The texts of the product's files by their paths."""
    inside = (path for name in PRODUCT for path in (ROOT / name).rglob("*") if path.is_file())
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8", errors="replace")
        for path in (*inside, *(ROOT / name for name in FILES))
        if "__pycache__" not in path.parts
    }


@dataclass(frozen=True)
class Fault:
    """A text that only one file has, what it is replaced by, and the test that then fails."""

    name: str
    now: str
    fault: str
    test: str

    def places(self) -> list[str]:
        """The files that have the text, one for each time."""
        return [path for path, text in sources().items() for _ in range(text.count(self.now))]


FAULTS = tuple(Fault(**row) for row in json.loads(Path(__file__).with_suffix(".json").read_text()))


def seed(fault: Fault, folder: Path) -> None:
    """Copy the sources and put the fault back."""
    for name in COPIED:
        skipped = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / name, folder / name, ignore=skipped, symlinks=True)
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    (place,) = fault.places()
    file = folder / place
    file.write_text(file.read_text().replace(fault.now, fault.fault))


def is_found(fault: Fault) -> bool:
    """Whether the fault's test fails in a copy that has the fault."""
    with tempfile.TemporaryDirectory() as folder:
        seed(fault, Path(folder))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", fault.test]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, env=_environment(folder), timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            return True  # an app that does not quit
    if done.returncode not in (0, 1):
        raise SystemExit(f"{fault.name}: pytest ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode == 1


def _environment(folder: str) -> dict[str, str]:
    """The copy comes before the installed package."""
    return {**os.environ, "PYTHONPATH": folder}


def main(names: list[str]) -> int:
    chosen = [fault for fault in FAULTS if not names or any(name in fault.name for name in names)]
    missed = 0
    for fault in chosen:
        found = is_found(fault)
        missed += not found
        print(
            f"{'found ' if found else 'MISSED'}  {fault.name}: {fault.test.rpartition('::')[2]}", flush=True
        )
    print(f"{len(chosen) - missed} of {len(chosen)} faults were found.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
