"""Every entry point inside the app bundle, with nothing but what py2app puts into it.

The faults that broke the first bundle are put back, one by one, and each is found.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from fazm_memory import __version__
from fazm_memory.agents import hook_script

from .bundle import ROOT, STUB_LOCALE, Bundle, build_bundle

pytestmark = [pytest.mark.e2e, pytest.mark.linux("a Mac builds the real bundle")]
SESSION = {"type": "session.open", "session": "s1", "agent": "fazm", "workspace": "/w", "title": "Tidy"}
PROMPT = {"type": "prompt", "session": "s1", "text": "sort the invoices"}

SECRET = "sk-ant-api03-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7d" * 2 + "-ZzYyXwAA"
PACKAGE = ROOT / "fazm_memory"
# Frameworks of extras, and what only a Mac has.
ELSEWHERE = {"agents", "claude_agent_sdk", "langchain_core", "langgraph", "rumps", "objc", "PyObjCTools"}
IMPORT_ALL = """
from importlib import import_module
for name in names:
    try:
        import_module(name)
    except ImportError as error:
        print(name, error)
"""
# An import of few transcripts that takes workers, as one of many does.
IMPORT_BY_WORKERS = """
import os, sys
sys.frozen = "macosx_app"
del os.environ["PYTHONHOME"]
import fazm_memory.ingest.importer as importer
importer.WORTHWHILE = 0
from fazm_memory.ingest import read_ahead
read_ahead.worker_count = lambda: 2
from fazm_memory.cli.main import main
sys.exit(main(["import", "--json"]))
"""
# What a program prints, before and after our entry point has run.
DECODE = """
import subprocess, sys
def printed():
    try:
        return subprocess.run(["printf", "größe"], capture_output=True, text=True).stdout
    except UnicodeDecodeError:
        return "ASCII"
sys.frozen = "macosx_app"
print(printed())
from fazm_memory.cli.main import main
main(["--version"])
print(printed())
"""


def imported() -> set[str]:
    """Every module that our package imports anywhere, and its own modules, except what only a Mac has."""
    on_a_mac = {path.stem for path in (ROOT / "stubs").iterdir()} | ELSEWHERE
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        if own.startswith(("fazm_memory.macos.", "fazm_memory.adapters.")):
            continue
        found.add(own)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module)
    found -= {name for name in found if name.partition(".")[0] in on_a_mac or ".macos." in name}
    return found - {"watchdog.observers.fsevents"}


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Built once for all workers."""
    own = tmp_path_factory.getbasetemp()
    return build_bundle((own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "simulated")


class Machine:
    """A user who works in a folder of their own, with a Python in the environment that must not matter."""

    def __init__(self, bundle: Bundle, folder: Path) -> None:
        self.bundle, self.home, self.cwd = bundle, folder / "home", folder / "work"
        self.user = folder / "user"
        (self.user / ".claude").mkdir(parents=True)
        self.cwd.mkdir()
        self.env = {
            "HOME": str(self.user), "PATH": "/usr/bin:/bin", "FAZM_MEMORY_HOME": str(self.home),
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

    def transcript(self, text: str = "", *, number: int = 0) -> Path:
        """A session of Claude Code, with an answer that cost something."""
        session, folder = f"11111111-2222-4333-8444-{number:012}", self.user / ".claude" / "projects" / "-w"
        common = {"sessionId": session, "cwd": str(self.cwd), "timestamp": "2026-11-15T09:00:00Z"}
        usage = {"input_tokens": 100_000, "output_tokens": 2000}
        answer = {"role": "assistant", "id": "m1", "model": "claude-sonnet-4-5", "usage": usage,
                  "stop_reason": "end_turn", "content": [{"type": "text", "text": "Sorted."}]}  # fmt: skip
        asked = {"role": "user", "content": f"sort the invoices {text}"}
        lines: list[dict[str, Any]] = [
            {"type": "user", "uuid": "u1", "parentUuid": None, "message": asked, **common},
            {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": answer, **common},
        ]
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{session}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

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
        # Only the SDK answers this one.
        {"jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": {"uri": "fazm-memory://context"}},
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
        assert "contents" in answers[4]["result"]
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


def test_a_transcript_is_imported_counted_restored_and_continued_in_another_agent(machine: Machine) -> None:
    """Data files and lazy imports: prices, patterns of secrets, the formats of two agents, the copies."""
    transcript = machine.transcript(SECRET)
    machine.run("import", "claude-code")
    session = json.loads(machine.run("sessions", "--json"))[0]["id"]
    assert SECRET not in machine.run("search", "invoices")
    assert json.loads(machine.run("cost", "--json", "--since", "2026-01-01"))["total"]["usd"] > 0
    before = transcript.read_bytes()
    transcript.unlink()
    machine.run("restore", session)
    assert transcript.read_bytes() == before
    carried = machine.run("continue", session, "--with", "codex", "--json")
    assert json.loads(carried)["agent"] == "codex"


def test_many_transcripts_are_imported_by_workers_and_not_by_a_second_app(machine: Machine) -> None:
    """Started as the app itself, a worker would load the app's entry point again."""
    for number in range(12):
        machine.transcript(number=number)
    done = machine.bundle.python(IMPORT_BY_WORKERS, machine.cwd, machine.env)
    assert done.returncode == 0, done.stderr
    imported = json.loads(done.stdout)
    assert (imported["sessions"], imported["lost_workers"]) == (12, False)
    assert len(json.loads(machine.run("sessions", "--json", "--limit", "50"))) == 12


def test_two_machines_sync_over_a_folder(machine: Machine, tmp_path: Path) -> None:
    machine.record()
    (machine.cwd / "shared").mkdir()
    made = json.loads(machine.run("sync", "init", "--folder", "shared", "--json"))
    machine.run("sync")
    (machine.cwd / "key").write_text(made["recovery_key"])
    machine.env["FAZM_MEMORY_HOME"] = str(tmp_path / "other")
    machine.run("sync", "join", "--folder", "shared", "--recovery-key-file", "key")
    machine.run("sync")
    assert "sort the invoices" in machine.run("search", "invoices")


def test_the_setup_connects_and_imports_in_the_users_language(machine: Machine) -> None:
    machine.transcript()
    machine.env["LANG"] = "de_DE.UTF-8"
    shown = machine.run("setup", "--yes")
    assert "Deine Agenten verbinden" in shown
    assert "fazm-memory-hook" in (machine.user / ".claude" / "settings.json").read_text()
    assert len(json.loads(machine.run("sessions", "--json"))) == 1


def test_two_days_of_work_are_played(machine: Machine) -> None:
    machine.run("demo")


def test_everything_that_a_function_imports_is_in_the_bundle(machine: Machine) -> None:
    """Lazy imports that no other test here comes past."""
    done = machine.bundle.python(f"names = {sorted(imported())!r}\n{IMPORT_ALL}", machine.cwd, machine.env)
    assert (done.stdout, done.stderr) == ("", "")


def test_programs_that_it_starts_do_not_see_the_environment_of_its_own_python(machine: Machine) -> None:
    """Otherwise an agent written in Python would look for its library in the app."""
    command = f"/bin/sh -c 'env > {machine.cwd}/seen'"
    machine.bundle.run("import", "--acp", command, cwd=machine.cwd, env=machine.env)
    seen = (machine.cwd / "seen").read_text()
    assert "FAZM_MEMORY_HOME=" in seen
    assert str(machine.bundle.path) not in seen
    assert "PYTHON" not in seen


def test_text_of_other_programs_is_read_as_utf_8_although_the_launcher_leaves_the_locale_of_c(
    machine: Machine,
) -> None:
    done = machine.bundle.python(f"{STUB_LOCALE}\n{DECODE}", machine.cwd, machine.env)
    assert done.stdout.splitlines() == ["ASCII", f"fazm-memory {__version__}", "größe"], done.stderr


def test_every_data_file_of_the_package_is_in_the_bundle(machine: Machine) -> None:
    (library,) = machine.bundle.resources.glob("lib/python3.*")
    data = {
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(data) > 100
    assert [path for path in data if not (library / "fazm_memory" / path).is_file()] == []


def test_the_libraries_inside_use_the_certificates_of_the_system(bundle: Bundle) -> None:
    assert "SSL_CERT_FILE" not in (bundle.resources / "__boot__.py").read_text()


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
            f'    \'{python}\' -I -S "$home/hooks/hook.py" "$home" "$@" && return\n'
            if '"$home" "$@"' in line
            else line
            for line in script.read_text().splitlines(keepends=True)
        )
    )
    (machine.home / "context" / "folders.tsv").unlink()  # or the script answers by itself
    assert machine.hook(START) == ""
    assert machine.spooled() == 1  # the event survives
    assert "failed with exit code" in (machine.home / "hooks" / "trouble.txt").read_text()


def test_a_bundle_that_changes_the_folder_writes_into_itself(
    bundle: Bundle, copy: Bundle, tmp_path: Path
) -> None:
    copy_boot = copy.resources / "__boot__.py"
    copy_boot.unlink()  # not through the hard link
    copy.write_boot((bundle.path.parent / "recipes.py").read_text(), no_chdir=False)
    machine = Machine(copy, tmp_path)
    machine.record()
    session = json.loads(machine.run("sessions", "--json"))[0]["id"]
    machine.run("export", session, "moved.fazm")
    assert not (machine.cwd / "moved.fazm").exists()
    assert (copy.resources / "moved.fazm").exists()


# -- the workflow ------------------------------------------------------------------------------------------

# Its steps for the built app, run by its own commands.
STEPS = (
    "Start MCP inside the bundle",
    "Run both forms of the hook",
    "Start the app, and quit it by SIGTERM",
    "Ask it to prove itself",
    "Uninstall, and leave nothing in the agent's configuration",
)
# A shell that waits for the app, so that an app that has ended is gone.
OPEN = """#!/bin/sh
( "$CLI" run --headless >/dev/null 2>&1 & wait ) &
"""


def test_the_steps_of_the_workflow_work_with_the_simulated_app(copy: Bundle, tmp_path: Path) -> None:
    machine, tools = Machine(copy, tmp_path), tmp_path / "bin"
    tools.mkdir()
    for name in ("launchctl", "tccutil", "security", "open"):
        (tools / name).write_text(OPEN if name == "open" else "#!/bin/sh\n")
        (tools / name).chmod(0o755)
    (machine.cwd / "packaging").symlink_to(ROOT / "packaging")
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "macos.yml").read_text())
    steps = {step.get("name"): step for step in workflow["jobs"]["app"]["steps"]}
    env = machine.env | {
        "APP": str(copy.path), "CLI": str(copy.programs / "fazm-memory"), "PATH": f"{tools}:/usr/bin:/bin",
    }  # fmt: skip
    for name in STEPS:
        done = subprocess.run(
            ["bash", "-e", "-c", steps[name]["run"]], cwd=machine.cwd, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, (name, done.stdout[-3000:], done.stderr[-3000:])
    assert not copy.path.exists()
    assert not machine.home.exists()
