"""`make` with the Pythons that a machine may have. Apple's own is 3.9."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT

# Answers like a Python of a version, and makes an environment that is a copy of itself.
FAKE = """#!/bin/sh
case "$1" in
    -c) [ {minor} -ge 11 ] ;;
    --version) echo "Python 3.{minor}.0" ;;
    -m) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
esac
"""
TARGET = ".venv/bin/python"


class Machine:
    """A folder with our Makefile, and only these Pythons on the path."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder / "project", folder / "bin"
        self.folder.mkdir()
        self.path.mkdir()
        shutil.copy(ROOT / "Makefile", self.folder)
        for tool in ("sh", "mkdir", "cp", "rm"):
            (self.path / tool).symlink_to(str(shutil.which(tool)))

    def python(self, name: str, minor: int) -> None:
        self._write(self.path / name, minor)

    def environment(self, minor: int) -> None:
        (self.folder / ".venv" / "bin").mkdir(parents=True)
        self._write(self.folder / TARGET, minor)
        (self.folder / ".venv" / "left-behind").write_text("x")

    def _write(self, path: Path, minor: int) -> None:
        path.write_text(FAKE.format(minor=minor))
        path.chmod(0o700)

    def make(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(shutil.which("make")), *words, TARGET]
        return subprocess.run(
            command, cwd=self.folder, env={"PATH": str(self.path)}, capture_output=True, text=True
        )

    def made_by(self) -> str:
        done = subprocess.run([self.folder / TARGET, "--version"], capture_output=True, text=True, check=True)
        return done.stdout.strip()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_python_that_is_too_old_is_refused_before_anything_is_made(machine: Machine) -> None:
    machine.python("python3", 9)
    done = machine.make()
    assert done.returncode != 0
    assert "needs Python 3.11 or newer. Found: Python 3.9.0." in done.stdout
    assert not (machine.folder / ".venv").exists()


def test_a_newer_python_beside_apples_is_taken(machine: Machine) -> None:
    machine.python("python3", 9)
    machine.python("python3.12", 12)
    assert machine.make().returncode == 0
    assert machine.made_by() == "Python 3.12.0"


def test_an_environment_of_an_older_python_is_made_again(machine: Machine) -> None:
    """The advised command repairs it."""
    machine.environment(9)
    machine.python("python3", 9)
    machine.python("python3.12", 12)
    assert machine.make("PYTHON=python3.12").returncode == 0
    assert machine.made_by() == "Python 3.12.0"
    assert not (machine.folder / ".venv" / "left-behind").exists()


def test_an_environment_that_works_is_left_alone(machine: Machine) -> None:
    machine.environment(11)
    machine.python("python3", 9)
    assert machine.make().returncode == 0
    assert (machine.folder / ".venv" / "left-behind").exists()
