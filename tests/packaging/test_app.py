"""The app as data: what the system reads of it, what goes into it, how it is built and taken away."""

from __future__ import annotations

import ast
import os
import plistlib
import re
import runpy
import shutil
import subprocess
import sys
import threading
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from fazm_memory import __version__
from fazm_memory.store.keys import SERVICE
from fazm_memory.translation import languages

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


def test_the_system_knows_every_language_of_the_app(load: Load) -> None:
    """Otherwise its own panels and menus stay English beside our texts."""
    assert tuple(load("setup_app.py").info_plist()["CFBundleLocalizations"]) == languages()


def test_the_system_asks_for_folders_in_every_language_of_the_app(load: Load) -> None:
    setup = load("setup_app.py")
    english = {name: text for name, text in setup.info_plist().items() if name.endswith("UsageDescription")}
    for language in set(languages()) - {"en"}:
        folder = f"resources/{language}.lproj"
        assert folder in setup.resources()
        strings = (ROOT / folder / "InfoPlist.strings").read_text(encoding="utf-8")
        translated = dict(re.findall(r'^"(\w+)" = "([^"]+\.)";$', strings, re.MULTILINE))
        assert translated.keys() == english.keys()
        assert not set(translated.values()) & set(english.values())


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
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(options["resources"]) == 12


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
    result = plistlib.loads((ROOT / "packaging" / "org.fazm.memory.plist").read_bytes())
    assert result["KeepAlive"] == {"SuccessfulExit": False}
    assert result["ProgramArguments"][1:] == ["run"]


def test_relative_paths_stay_those_of_the_caller(load: Load) -> None:
    assert load("setup_app.py").options()["no_chdir"] is True


# -- building ----------------------------------------------------------------------------------------------

# The Python of packaging/build: makes an environment that is itself, and an app where py2app would.
BUILDER = """#!/bin/sh
printf '%s|' "$@" >> "{ran}"; echo >> "{ran}"
case "$*" in
    "-m venv "*) mkdir -p "$3/bin" "$3/lib/objc/_a.so.dSYM" && cp "$0" "$3/bin/python" ;;
    "setup_app.py py2app") mkdir -p "{package}" && touch "{resources}/fazm-memory" "{resources}/uninstall" ;;
esac
"""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A project in which packaging/build runs with a Mac that only answers. Returns its folder."""
    project, ran = tmp_path / "project", tmp_path / "ran"
    (project / "packaging").mkdir(parents=True)
    shutil.copy(ROOT / "packaging" / "build", project / "packaging")
    resources = project / "dist" / "Fazm Memory.app" / "Contents" / "Resources"
    package = resources / "lib" / "python3.11" / "fazm_memory"
    recorder(tmp_path / "bin", ran)
    python = tmp_path / "bin" / "python3"
    python.write_text(BUILDER.format(ran=ran, package=package, resources=resources))
    (tmp_path / "bin" / "uname").write_text("#!/bin/sh\necho Darwin\n")
    for name in ("python3", "uname"):
        (tmp_path / "bin" / name).chmod(0o755)
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "UPDATE_FEED": "https://x.example", "UPDATE_KEY": "k"}
    subprocess.run([project / "packaging" / "build"], env=env, check=True, capture_output=True)
    return project


def test_the_app_itself_knows_the_feed_of_its_builder(built: Path) -> None:
    """py2app copies the package from the working directory, not from the environment."""
    (settings,) = built.rglob("build.toml")
    assert settings.match("Contents/Resources/lib/python3.11/fazm_memory/build.toml")
    assert tomllib.loads(settings.read_text()) == {"update_feed": "https://x.example", "update_key": "k"}


def test_packages_are_compiled_after_they_are_in_the_app(built: Path) -> None:
    ran = [line.split("|") for line in (built.parent / "ran").read_text().splitlines()]
    (compiling,) = [line for line in ran if "compileall" in line]
    assert ran.index(["setup_app.py", "py2app", ""]) < ran.index(compiling)
    assert {"-f", "unchecked-hash", "dist/Fazm Memory.app/Contents/Resources/lib"} <= set(compiling)


def test_no_debugging_symbols_go_into_the_app_as_unsigned_programs(built: Path) -> None:
    assert (built / "build-venv" / "lib" / "objc").is_dir()
    assert list(built.rglob("*.dSYM")) == []


@pytest.mark.parametrize("script", ["fazm-memory", "uninstall"])
def test_the_scripts_in_the_app_can_be_run(built: Path, script: str) -> None:
    (command,) = built.rglob(f"Resources/{script}")
    assert os.access(command, os.X_OK)


# -- entry points ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", ["app.py", "fazm-memory.py"])
def test_a_worker_process_that_loads_an_entry_point_starts_nothing(script: str) -> None:
    runpy.run_path(str(ROOT / "packaging" / script), run_name="__mp_main__")


@pytest.mark.parametrize(
    ("raised", "code"), [(RuntimeError("broken"), 70), (KeyboardInterrupt(), 130), (ImportError("x"), 70)]
)
def test_no_exception_leaves_the_command_line_where_the_program_around_it_would_show_an_alert(
    raised: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def main() -> int:
        raise raised

    monkeypatch.setattr("fazm_memory.cli.main.main", main)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "packaging" / "fazm-memory.py"), run_name="__main__")
    assert ended.value.code == code


# -- the command behind a link ----------------------------------------------------------------------------


@pytest.mark.parametrize("chain", [["direct"], ["direct", "again"], ["relative"]])
def test_a_link_to_the_command_starts_the_program_inside_the_bundle(tmp_path: Path, chain: list[str]) -> None:
    contents = tmp_path / "An App.app" / "Contents"
    for folder in ("Resources", "MacOS"):
        (contents / folder).mkdir(parents=True)
    shutil.copy(ROOT / "packaging" / "bin" / "fazm-memory", contents / "Resources")
    program = contents / "MacOS" / "fazm-memory"
    program.write_text('#!/bin/sh\necho "$0"\nprintf "<%s>" "$@"\n')
    program.chmod(0o755)
    link = contents / "Resources" / "fazm-memory"
    for name in chain:
        made = tmp_path / "bin" / name
        made.parent.mkdir(exist_ok=True)
        made.symlink_to(os.path.relpath(link, made.parent) if name == "relative" else link)
        link = made
    ran = subprocess.run([link, "a b", "c"], cwd="/", capture_output=True, text=True, check=True)
    assert ran.stdout == f"{os.path.realpath(program)}\n<a b><c>"


def test_the_cask_links_the_command_and_disconnects_the_agents() -> None:
    text = (ROOT / "packaging" / "fazm-memory.rb").read_text()
    assert "Contents/Resources/fazm-memory" in text.split("binary")[1].splitlines()[0]
    assert text.index("uninstall_preflight") < text.index("uninstall quit:")
    assert '"setup", "--remove"' in text


def test_an_upgrade_by_homebrew_leaves_the_agents_connected_and_restarts_nothing_old() -> None:
    """Homebrew uninstalls the old version first. It exports no variable with its command."""
    text = (ROOT / "packaging" / "fazm-memory.rb").read_text()
    condition, _, command = text.partition("uninstall_preflight do")[2].partition("system_command")
    assert '["upgrade", "reinstall"].include?(Homebrew.running_command)' in condition
    assert "--remove" in command
    assert "on_upgrade: :quit" in text


# -- signing and uninstalling ------------------------------------------------------------------------------


def recorder(folder: Path, ran: Path, *tools: str) -> None:
    """Commands of a Mac that write down their arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    for tool in tools:
        (folder / tool).write_text(f'#!/bin/sh\nprintf "%s|" {tool} "$@" >> "{ran}"; echo >> "{ran}"\n')
        (folder / tool).chmod(0o755)


def signed(tmp_path: Path, identity: str) -> dict[str, str]:
    """What packaging/sign signs, with the arguments of codesign, by its path in the app."""
    app, ran = tmp_path / "Fazm Memory.app", tmp_path / "ran"
    programs = app / "Contents" / "MacOS"
    programs.mkdir(parents=True)
    for name in ("Fazm Memory", "fazm-memory", "python"):
        (programs / name).write_text("x")
        (programs / name).chmod(0o755)
    library = app / "Contents" / "Resources" / "lib" / "_a.so"
    library.parent.mkdir(parents=True)
    library.write_text("x")
    recorder(tmp_path / "bin", ran, "codesign")
    env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "IDENTITY": identity, "APP": str(app)}
    subprocess.run(["bash", str(ROOT / "packaging" / "sign")], env=env, check=True, capture_output=True)
    lines = [line for line in ran.read_text().splitlines() if "--sign" in line]
    return {os.path.relpath(line.split("|")[-2], app): line for line in lines}


def test_every_program_of_the_app_is_signed_with_the_identifier_of_the_app(
    load: Load, tmp_path: Path
) -> None:
    """Two identifiers would be two programs to the Keychain, which then asks for the password."""
    lines = signed(tmp_path, "Someone")
    library = lines.pop("Contents/Resources/lib/_a.so")
    assert lines.keys() == {".", "Contents/MacOS/fazm-memory", "Contents/MacOS/python"}
    identifier = load("setup_app.py").IDENTIFIER
    assert all(f"|--identifier|{identifier}|" in line for line in lines.values())
    assert all("|--options|runtime|" in line for line in (library, *lines.values()))
    assert all("|--timestamp|" in line for line in (library, *lines.values()))


def test_an_ad_hoc_signature_has_no_hardened_runtime_which_would_refuse_our_own_libraries(
    tmp_path: Path,
) -> None:
    lines = signed(tmp_path, "-")
    assert len(lines) == 4
    assert not any("runtime" in line for line in lines.values())


class Installed:
    """A Mac user's home with the app, its real command line, and Claude Code connected."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ran = folder, folder / "ran"
        self.home, self.app = folder / "home", folder / "Fazm Memory.app"
        self.memory = self.home / "Library" / "Application Support" / "Fazm Memory"
        self.launch_agent = self.home / "Library" / "LaunchAgents" / "org.fazm.memory.plist"
        self.settings = self.home / ".claude" / "settings.json"
        for place in (self.memory, self.launch_agent.parent, self.settings.parent):
            place.mkdir(parents=True)
        self.launch_agent.write_text("x")
        self.settings.write_text("{}\n")
        recorder(folder / "bin", self.ran, "launchctl", "security")
        # Like the real one it knows only apps that are there.
        (folder / "bin" / "tccutil").write_text(
            f'#!/bin/sh\n[ -d "$APP" ] && echo "tccutil|$*" >> "{self.ran}"\n'
        )
        (folder / "bin" / "tccutil").chmod(0o755)
        cli = self.app / "Contents" / "MacOS" / "fazm-memory"
        cli.parent.mkdir(parents=True)
        cli.write_text(
            f'#!/bin/sh\necho "cli|$*" >>"{self.ran}"\nexec "{sys.executable}" -m fazm_memory.cli.main "$@"\n'
        )
        cli.chmod(0o755)
        self.env = {
            "HOME": str(self.home), "PATH": f"{folder / 'bin'}:/usr/bin:/bin", "APP": str(self.app),
            "FAZM_MEMORY_HOME": str(self.memory), "FAZM_MEMORY_KEY": "file", "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        subprocess.run(
            [cli, "connect", "claude-code", "--yes"], env=self.env, check=True, capture_output=True
        )
        assert "fazm-memory-hook" in self.settings.read_text()

    def uninstall(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", str(ROOT / "packaging" / "uninstall"), *words]
        return subprocess.run(command, env=self.env, capture_output=True, text=True)


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


def test_uninstalling_leaves_no_hook_and_nothing_in_the_agents_configuration(installed: Installed) -> None:
    spooled = installed.memory / "spool" / "1-0.claude-code.json"
    spooled.write_text('{"hook_event_name": "PreToolUse", "session_id": "s1"}')
    done = installed.uninstall()
    assert (done.returncode, installed.settings.read_text()) == (0, "{}\n")
    assert not (installed.memory / "hooks").exists()
    assert not spooled.exists()
    assert not installed.app.exists()
    assert not installed.launch_agent.exists()
    assert (installed.memory / "store.noindex").is_dir()


def test_uninstalling_everything_leaves_no_memory_and_no_key(installed: Installed) -> None:
    (installed.memory / "keys" / "keyring.account").write_text("store abc\n")
    state = installed.home / "Library" / "Saved Application State" / "org.fazm.memory.savedState"
    state.mkdir(parents=True)
    assert installed.uninstall("--everything").returncode == 0
    assert not installed.memory.exists()
    assert not state.exists()
    assert f"security|delete-generic-password|-s|{SERVICE}|-a|store abc|" in installed.ran.read_text()


def test_the_permissions_are_taken_back_while_the_system_still_knows_the_app(installed: Installed) -> None:
    assert installed.uninstall().returncode == 0
    assert "tccutil|reset All org.fazm.memory" in installed.ran.read_text()


def test_an_app_that_runs_is_quit_in_order_before_its_memory_is_removed(installed: Installed) -> None:
    """By a signal: quitting by an Apple event needs a permission of the terminal, which may be denied."""
    cli = installed.app / "Contents" / "MacOS" / "fazm-memory"
    command = [cli, "run", "--headless", "--no-page"]
    with subprocess.Popen(command, env=installed.env, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        shown = [running.stdout.readline()]
        while "Press Ctrl-C" not in shown[-1]:
            assert shown[-1], shown
            shown.append(running.stdout.readline())
        reaped = threading.Thread(
            target=running.wait
        )  # the script sees a process until its parent has waited
        reaped.start()
        done = installed.uninstall("--everything")
        running.kill()  # if the script has not ended it
        reaped.join()
        assert "Stopped" in running.stdout.read()
    assert (done.returncode, running.returncode) == (0, 0)
    assert not installed.memory.exists()


def test_uninstalling_ends_the_launch_at_login(installed: Installed) -> None:
    assert installed.uninstall().returncode == 0
    assert "cli|setup --remove\n" in installed.ran.read_text()


def test_uninstalling_leaves_the_keys_of_other_memories(installed: Installed) -> None:
    assert installed.uninstall("--everything").returncode == 0
    assert "security|" not in installed.ran.read_text()


def test_the_app_holds_the_script_that_removes_it(installed: Installed, load: Load) -> None:
    assert "packaging/uninstall" in load("setup_app.py").resources()
    script = installed.app / "Contents" / "Resources" / "uninstall"
    script.parent.mkdir()
    shutil.copy(ROOT / "packaging" / "uninstall", script)
    env = {name: value for name, value in installed.env.items() if name != "APP"}
    done = subprocess.run([script], env=env, capture_output=True, text=True)
    assert (done.returncode, installed.settings.read_text()) == (0, "{}\n")
    assert not installed.app.exists()


def test_an_agent_that_cannot_be_disconnected_is_named_and_its_hooks_do_nothing(installed: Installed) -> None:
    installed.settings.write_text(installed.settings.read_text() + "}")
    done = installed.uninstall()
    assert done.returncode == 1
    assert str(installed.settings) in done.stderr
    assert not (installed.memory / "hooks").exists()


# -- the workflow ------------------------------------------------------------------------------------------


def test_the_workflow_runs_where_runners_exist_and_hides_no_failure() -> None:
    text = (ROOT / ".github" / "workflows" / "macos.yml").read_text()
    runners = set(re.findall(r"macos-[\w-]+", text.split("jobs:")[1]))
    assert runners == {"macos-15", "macos-15-intel"}
    assert text.count("--self-test") == 2
    steps = [step.get("run", "") for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    for step in steps:
        assert "|| true" not in step
        assert "| tee" not in step or "set -o pipefail" in step
    assert '"$CLI" mcp' in text
    assert "kill -TERM" in text


def test_the_actions_of_the_workflow_use_a_node_that_runners_have() -> None:
    """Node 20 was removed from them. These are the first versions that use Node 24."""
    text = (ROOT / ".github" / "workflows" / "macos.yml").read_text()
    oldest = {"checkout": 5, "setup-python": 6, "setup-node": 5, "upload-artifact": 6}
    used = {name: int(version) for name, version in re.findall(r"uses: actions/([\w-]+)@v(\d+)", text)}
    assert used.keys() == oldest.keys()
    assert all(used[name] >= version for name, version in oldest.items())


def test_the_workflow_uploads_the_app_as_it_was_signed_and_the_report() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "macos.yml").read_text())
    steps = workflow["jobs"]["app"]["steps"]
    commands = [step.get("run", "") for step in steps]
    packed, signed, moved = (
        next(n for n, run in enumerate(commands) if text in run)
        for text in ('ditto -c -k --keepParent "$APP" Fazm-Memory.zip', "packaging/sign", 'mv "$APP"')
    )
    assert signed < packed < moved
    (upload,) = [step for step in steps if "upload-artifact" in step.get("uses", "")]
    assert upload["if"] == "always()"
    assert set(upload["with"]["path"].split()) == {
        "Fazm-Memory.zip", "doctor.json", "doctor-hooks.txt", "mcp.jsonl"
    }  # fmt: skip
