"""Every entry point inside the app bundle, with nothing but what py2app puts into it.

The faults that broke the first bundle are put back, one by one, and each is found.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents import hook_script

from .bundle import Bundle, build_bundle

pytestmark = [pytest.mark.e2e, pytest.mark.linux("a Mac builds the real bundle")]
SESSION = {"type": "session.open", "session": "s1", "agent": "fazm", "workspace": "/w", "title": "Tidy"}
PROMPT = {"type": "prompt", "session": "s1", "text": "sort the invoices"}


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Built once for all workers."""
    own = tmp_path_factory.getbasetemp()
    return build_bundle((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "simulated")


class Machine:
    """A user who works in a folder of their own, with a Python in the environment that must not matter."""

    def __init__(self, bundle: Bundle, folder: Path) -> None:
        self.bundle, self.home, self.cwd = bundle, folder / "home", folder / "work"
        (folder / "user" / ".claude").mkdir(parents=True)
        self.cwd.mkdir()
        self.env = {
            "HOME": str(folder / "user"), "PATH": "/usr/bin:/bin", "FAZM_MEMORY_HOME": str(self.home),
            "FAZM_MEMORY_KEY": "file", "TZ": "UTC", "LANG": "C.UTF-8",
        }  # fmt: skip

    def run(self, *words: str, data: str | None = None) -> str:
        done = self.bundle.run(*words, cwd=self.cwd, env=self.env, data=data)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def record(self) -> None:
        self.run("record", data="".join(json.dumps(line) + "\n" for line in (SESSION, PROMPT)))

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [str(self.bundle.programs / "fazm-memory"), *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.cwd, env=self.env, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def hook(self, event: dict[str, Any]) -> str:
        """The answering form, as an agent runs it."""
        command = hook_script.command(self.home, "claude-code", answer=True)
        env = {**self.env, "PYTHONPATH": "/elsewhere"}
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.cwd,
            env=env,
            input=json.dumps(event),
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def spooled(self) -> int:
        return len(list((self.home / "spool").glob("*.json")))


@pytest.fixture
def machine(bundle: Bundle, tmp_path: Path) -> Machine:
    return Machine(bundle, tmp_path)


START = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "a1", "cwd": "/w"}


def mcp_answers(machine: Machine) -> list[str]:
    """The names of the tools that the MCP server inside the bundle offers."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
         "params": {"name": "memory_search", "arguments": {"query": "invoices"}}},
    ]  # fmt: skip
    process = machine.start("mcp")
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        answers = {}
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            while "id" in line and line["id"] not in answers:
                text = process.stdout.readline()
                assert text, process.stderr.read() if process.stderr else ""
                answer = json.loads(text)
                answers[answer.get("id")] = answer
        assert "sort the invoices" in json.dumps(answers[3])
        return [tool["name"] for tool in answers[2]["result"]["tools"]]
    finally:
        process.kill()
        process.communicate()


def until_stopped(machine: Machine, *words: str, ready: str) -> str:
    """Start a server, wait for a line, stop it by SIGTERM. Returns what it printed."""
    process = machine.start(*words)
    assert process.stdout is not None
    shown = ""
    try:
        while ready not in shown:
            line = process.stdout.readline()
            assert line, shown + (process.stderr.read() if process.stderr else "")
            shown += line
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
        return shown + rest
    finally:
        process.kill()
        process.communicate()


# -- entry points ------------------------------------------------------------------------------------------


def test_the_command_line_records_and_searches(machine: Machine) -> None:
    machine.record()
    assert "sort the invoices" in machine.run("search", "invoices")


def test_mcp_starts_lists_its_tools_and_answers(machine: Machine) -> None:
    machine.record()
    assert "memory_search" in mcp_answers(machine)


def test_the_server_over_http_starts_and_stops(machine: Machine) -> None:
    until_stopped(machine, "serve", "--port", "0", ready="127.0.0.1")


def test_the_timeline_starts_and_stops(machine: Machine) -> None:
    until_stopped(machine, "timeline", "--no-open", "--port", "0", ready="127.0.0.1")


def test_the_companion_records_and_stops(machine: Machine) -> None:
    assert "Stopped" in until_stopped(machine, "run", "--headless", ready="Press Ctrl-C")


def test_a_sealed_bundle_is_exported_to_a_relative_path_and_imported(
    machine: Machine, tmp_path: Path
) -> None:
    machine.record()
    session = json.loads(machine.run("sessions", "--json"))[0]["id"]
    (machine.cwd / "words").write_text("correct horse battery\n")
    machine.run("export", session, "moved.fazm", "--passphrase-file", "words")
    assert (machine.cwd / "moved.fazm").is_file()
    machine.env["FAZM_MEMORY_HOME"] = str(tmp_path / "other")
    machine.run("import-bundle", "moved.fazm", "--passphrase-file", "words")
    assert "sort the invoices" in machine.run("search", "invoices")


def test_both_forms_of_the_hook_work_and_the_doctor_says_so(machine: Machine) -> None:
    machine.record()
    machine.run("connect", "claude-code", "--yes")
    assert "sort the invoices" in machine.hook(START)
    assert machine.spooled() == 1
    assert not (machine.home / "hooks" / "trouble.txt").exists()
    done = machine.bundle.run("doctor", "--self-test", "--json", cwd=machine.cwd, env=machine.env)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    broken = {name: check["detail"] for name, check in checks.items() if check["verdict"] == "broken"}
    assert broken == {}
    assert checks["claude-code: hook answers"]["verdict"] == "ok"
    assert checks["self-test"]["verdict"] == "ok"


def test_nothing_is_written_into_the_bundle(machine: Machine) -> None:
    before = {str(path) for path in machine.bundle.path.rglob("*")}
    machine.record()
    machine.run("connect", "claude-code", "--yes")
    assert {str(path) for path in machine.bundle.path.rglob("*")} == before


# -- faults, put back --------------------------------------------------------------------------------------


@pytest.fixture
def copy(bundle: Bundle, tmp_path: Path) -> Bundle:
    """A bundle of the test's own, with hard links to the files of the other."""
    shutil.copytree(bundle.path, tmp_path / "Copy.app", copy_function=os.link)
    return Bundle(tmp_path / "Copy.app")


def test_without_our_list_the_graph_misses_cffi_and_the_servers_do_not_start(
    bundle: Bundle, copy: Bundle, tmp_path: Path
) -> None:
    assert (bundle.path.parent / "named-only-by-us").read_text() == "_cffi_backend"
    (library,) = copy.resources.glob("lib/python3.*")
    for file in (library / "lib-dynload").glob("_cffi_backend*"):
        file.unlink()
    machine = Machine(copy, tmp_path)
    machine.record()
    session = json.loads(machine.run("sessions", "--json"))[0]["id"]
    (machine.cwd / "words").write_text("correct horse battery\n")
    sealed = ("export", session, "x", "--passphrase-file", "words")
    assert copy.run(*sealed, cwd=machine.cwd, env=machine.env).returncode != 0
    with pytest.raises(AssertionError, match="_cffi_backend"):
        mcp_answers(machine)
    with pytest.raises(AssertionError, match="_cffi_backend"):
        until_stopped(machine, "serve", "--port", "0", ready="127.0.0.1")


def test_an_isolated_interpreter_finds_no_library_and_the_doctor_says_so(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.record()
    machine.run("connect", "claude-code", "--yes")
    script = hook_script.script_path(machine.home)
    python = machine.bundle.programs / "python"
    script.write_text(
        "".join(
            f'    \'{python}\' -I -S "$home/hooks/hook.py" "$home" "$1" "" "$3" && exit 0\n'
            if "hook.py" in line
            else line
            for line in script.read_text().splitlines(keepends=True)
        )
    )
    assert machine.hook(START) == ""
    assert machine.spooled() == 1  # the event survives
    assert "failed with exit code" in (machine.home / "hooks" / "trouble.txt").read_text()


def test_a_bundle_that_changes_the_folder_writes_into_itself(copy: Bundle, tmp_path: Path) -> None:
    copy_boot = copy.resources / "__boot__.py"
    copy_boot.unlink()  # not through the hard link
    copy.write_boot(no_chdir=False)
    machine = Machine(copy, tmp_path)
    machine.record()
    session = json.loads(machine.run("sessions", "--json"))[0]["id"]
    machine.run("export", session, "moved.fazm")
    assert not (machine.cwd / "moved.fazm").exists()
    assert (copy.resources / "moved.fazm").exists()
