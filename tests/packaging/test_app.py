"""The app as data: what the system reads of it, what goes into it, how it is built and taken away."""

from __future__ import annotations

import ast
import plistlib
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from fazm_memory import __version__
from fazm_memory.log.keys import SERVICE

from .conftest import ROOT, Load

SCRIPTS = ("build", "sign", "notarize", "uninstall")


def test_the_plist_says_what_the_system_must_know(load: Load) -> None:
    plist = load("setup_app.py").info_plist()
    assert plistlib.loads(plistlib.dumps(plist)) == plist
    assert plist["LSUIElement"] is True
    assert plist["LSMinimumSystemVersion"] == "13.0"
    assert plist["CFBundleShortVersionString"] == __version__
    assert plist["CFBundleURLTypes"][0]["CFBundleURLSchemes"] == ["fazm-memory"]
    uses = {name: text for name, text in plist.items() if name.endswith("UsageDescription")}
    assert uses.keys() >= {"NSDocumentsFolderUsageDescription", "NSDownloadsFolderUsageDescription"}
    assert all(text.endswith(".") for text in uses.values())


def imported_by_us() -> set[str]:
    """Top-level names of everything that the package imports, anywhere, and is not the standard library's."""
    found: set[str] = set()
    for path in (ROOT / "fazm_memory").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {one.name.split(".")[0] for one in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"fazm_memory"}


def test_whatever_the_package_imports_goes_into_the_app(load: Load) -> None:
    setup = load("setup_app.py")
    frameworks = set((ROOT / "stubs").iterdir())
    from_the_system = {path.stem for path in frameworks} | {"objc", "PyObjCTools"}
    inside = {*setup.PACKAGES, *setup.MODULES, *setup.LEFT_OUT}
    missing = imported_by_us() - inside - from_the_system
    assert missing <= {"mcp_types"}  # it comes with mcp


def test_whatever_goes_into_the_app_is_installed_by_our_lock(load: Load) -> None:
    setup = load("setup_app.py")
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8").lower()
    known = packages_distributions()
    for name in (*setup.PACKAGES, *setup.MODULES):
        if name == "fazm_memory":
            continue
        pinned = {one.lower().replace("_", "-") for one in known.get(name, [name])}
        assert any(f"{one}==" in lock for one in pinned), name


def test_what_is_only_for_developers_stays_out(load: Load) -> None:
    setup = load("setup_app.py")
    assert not set(setup.PACKAGES) & {"pytest", "hypothesis", "mypy", "playwright", "claude_agent_sdk"}


def test_every_file_that_the_app_names_is_there(load: Load) -> None:
    setup = load("setup_app.py")
    options = setup.options()
    named = [options["iconfile"], *options["extra_scripts"], *options["resources"], "packaging/app.py"]
    assert [name for name in named if not (ROOT / name).is_file()] == []
    assert len(options["resources"]) == 9


def test_on_another_system_building_is_refused_in_words() -> None:
    ran = subprocess.run([sys.executable, "setup_app.py"], cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, "built on a Mac" in ran.stderr) == (1, True)


@pytest.mark.parametrize("name", SCRIPTS)
def test_each_script_can_be_read_by_bash_and_run(name: str) -> None:
    path = ROOT / "packaging" / name
    assert path.stat().st_mode & 0o111
    ran = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "set -euo pipefail" in path.read_text()


@pytest.mark.parametrize("name", ["entitlements.plist", "org.fazm.memory.plist"])
def test_each_property_list_can_be_read(name: str) -> None:
    assert plistlib.loads((ROOT / "packaging" / name).read_bytes())


def test_the_launch_agent_ends_when_it_is_asked_to() -> None:
    told = plistlib.loads((ROOT / "packaging" / "org.fazm.memory.plist").read_bytes())
    assert told["KeepAlive"] == {"SuccessfulExit": False}
    assert told["ProgramArguments"][1:] == ["run"]


def test_uninstalling_everything_leaves_no_memory_no_key_and_no_launch_agent(tmp_path: Path) -> None:
    """The script itself, with the Mac's own commands standing in as recorders of their arguments."""
    home, tools = tmp_path / "home", tmp_path / "bin"
    memory = home / "Library" / "Application Support" / "Fazm Memory"
    agent = home / "Library" / "LaunchAgents" / "org.fazm.memory.plist"
    for one in (memory, agent.parent, tools):
        one.mkdir(parents=True)
    agent.write_text("x")
    for tool in ("fazm-memory", "launchctl", "osascript", "tccutil", "security"):
        (tools / tool).write_text(f'#!/bin/sh\necho "{tool} $*" >> "{tmp_path}/ran"\n')
        (tools / tool).chmod(0o755)
    environment = {"HOME": str(home), "PATH": f"{tools}:/usr/bin:/bin"}
    kept = subprocess.run(
        ["bash", str(ROOT / "packaging" / "uninstall")], env=environment, capture_output=True
    )
    assert (kept.returncode, memory.exists(), agent.exists()) == (0, True, False)
    command = ["bash", str(ROOT / "packaging" / "uninstall"), "--everything"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert not memory.exists()
    ran = (tmp_path / "ran").read_text()
    assert "fazm-memory disconnect claude" in ran
    assert f"security delete-generic-password -s {SERVICE}" in ran
