"""The hot hook: what it is given is in the spool, whole, and the agent hears nothing of it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fazm_memory.agents import hook_script
from fazm_memory.agents.hook_script import WITHOUT_SHELL
from fazm_memory.ingest.spool import Spool


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder as macOS has it: with a space, and a quote for good measure."""
    made = tmp_path / "Application Support" / "Dana's Memory"
    hook_script.write(made)
    return made


def hook(home: Path, data: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = [str(hook_script.script_path(home)), *(words or ("claude-code",))]
    return subprocess.run(command, input=data, capture_output=True, check=False)


def quiet(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("data", [b"", b'{"a": 1}', b"x" * 3_000_000, bytes(range(256)) * 50])
def test_what_it_is_given_is_dropped_byte_for_byte(home: Path, data: bytes) -> None:
    assert quiet(hook(home, data))

    [dropped] = Spool(home).take()
    assert (dropped.agent, dropped.data) == ("claude-code", data)


def test_many_at_once_never_write_to_one_file(home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        results = [f"event {number}".encode() for number in range(60)]
        assert all(map(quiet, pool.map(lambda data: hook(home, data), results)))

    assert sorted(one.data for one in Spool(home).take()) == sorted(results)


def test_what_a_dead_hook_with_the_same_process_id_left_is_not_overwritten(home: Path) -> None:
    """A shell that becomes the hook keeps its id, so the test knows the name it will choose."""
    script = 'for n in 0 1; do echo old >"$1/spool/$$-$n.codex.json"; done; exec "$0" codex'
    command = ["/bin/sh", "-c", script, str(hook_script.script_path(home)), str(home)]

    done = subprocess.run(command, input=b"new", capture_output=True, check=False)

    assert quiet(done)
    assert sorted(one.data for one in Spool(home).take()) == [b"new", b"old\n", b"old\n"]


def test_it_is_private_under_any_umask(home: Path) -> None:
    before = os.umask(0)
    try:
        hook(home, b"{}")
    finally:
        os.umask(before)

    [dropped] = Spool(home).take()
    assert dropped.path.stat().st_mode & 0o777 == 0o600
    assert hook_script.script_path(home).stat().st_mode & 0o777 == 0o700


def test_while_recording_is_paused_nothing_is_dropped_and_nothing_breaks(home: Path) -> None:
    (home / "recording-paused.json").write_text("{}")

    assert quiet(hook(home, b"x" * 1_000_000))
    assert quiet(hook(home, b"{}", "claude-code", "answer"))
    assert Spool(home).take() == []


def test_without_a_spool_it_is_silent(home: Path) -> None:
    (home / "spool").rmdir()

    assert quiet(hook(home, b"x" * 1_000_000))


def test_the_command_in_a_configuration_does_nothing_once_the_script_is_gone(home: Path) -> None:
    command = hook_script.command(home, "codex")
    assert hook_script.is_ours(command)
    run = ["/bin/sh", "-c", command]
    assert quiet(subprocess.run(run, input=b"1", capture_output=True, check=False))
    hook_script.script_path(home).unlink()

    assert quiet(subprocess.run(run, input=b"2", capture_output=True, check=False))
    assert [one.data for one in Spool(home).take()] == [b"1"]


def test_without_its_python_the_answering_hook_still_keeps_what_it_was_reported(tmp_path: Path) -> None:
    hook_script.write(tmp_path / "home", python="/no/such/python")

    assert quiet(hook(tmp_path / "home", b"{}", "claude-code", "answer"))
    assert len(Spool(tmp_path / "home").take()) == 1


def test_writing_it_again_mends_it_and_otherwise_leaves_it_alone(home: Path) -> None:
    script = hook_script.script_path(home)
    before = script.stat().st_mtime_ns
    hook_script.write(home)
    assert script.stat().st_mtime_ns == before

    script.write_text("#!/bin/sh\nexit 1\n")
    hook_script.write(home, python=sys.executable)
    assert quiet(hook(home, b"{}"))
    assert len(Spool(home).take()) == 1


def fake_python(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def test_an_interpreter_that_does_not_start_loses_no_event_and_leaves_a_note(tmp_path: Path) -> None:
    home = tmp_path / "home"
    hook_script.write(home, python=fake_python(tmp_path / "python", "exit 1"))

    assert quiet(hook(home, b'{"a": 1}', "claude-code", "answer"))
    assert [one.data for one in Spool(home).take()] == [b'{"a": 1}']
    assert "failed with exit code 1" in (home / "hooks" / hook_script.TROUBLE).read_text()


def test_inside_an_app_bundle_the_interpreter_is_shown_its_standard_library(tmp_path: Path) -> None:
    """With -I or -E it would ignore PYTHONHOME and find no library on any other machine."""
    home, resources = tmp_path / "home", tmp_path / "An App.app" / "Contents" / "Resources"
    variables = "$PYTHONHOME|$PYTHONPATH|$PYTHONSAFEPATH|$PYTHONNOUSERSITE"
    tell = f'echo "{variables}|$1" >"{tmp_path}/ran"; cat >/dev/null'
    python = fake_python(resources.parent / "MacOS" / "python", tell)
    hook_script.write(home, python=python, bundle=str(resources))

    env = {"PATH": os.environ["PATH"], "PYTHONPATH": "/elsewhere", "PYTHONHOME": "/elsewhere"}
    command = [str(hook_script.script_path(home)), "claude-code", "answer"]
    assert quiet(subprocess.run(command, input=b"{}", capture_output=True, check=False, env=env))
    assert (tmp_path / "ran").read_text() == f"{resources}||1|1|-S\n"


@pytest.mark.parametrize("words", [("codex",), ("codex", "answer")])
def test_after_the_app_was_thrown_away_nothing_is_spooled(tmp_path: Path, words: tuple[str, ...]) -> None:
    home, contents = tmp_path / "home", tmp_path / "An App.app" / "Contents"
    python = fake_python(contents / "MacOS" / "python", "exit 1")
    hook_script.write(home, python=python, bundle=str(contents / "Resources"))
    Path(python).unlink()

    assert quiet(hook(home, b"x" * 1_000_000, *words))
    assert Spool(home).take() == []


def test_the_form_for_a_bundle_is_chosen_by_the_frozen_flag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", "macosx_app", raising=False)
    script = hook_script.write(tmp_path / "home", python="/Applications/An App.app/Contents/MacOS/python")
    assert "PYTHONHOME='/Applications/An App.app/Contents/Resources'" in script.read_text()
    assert " -I " not in script.read_text()


@pytest.mark.parametrize(
    ("agent", "shell"),
    [("claude-code", True), *((agent, shell) for agent in sorted(WITHOUT_SHELL) for shell in (True, False))],
)
def test_the_command_runs_the_way_its_agent_runs_it(home: Path, agent: str, shell: bool) -> None:
    """Hermes splits the command into words itself and starts them without a shell."""
    line = hook_script.command(home, agent)
    command = ["/bin/sh", "-c", line] if shell else shlex.split(line)
    assert quiet(subprocess.run(command, input=b"{}", capture_output=True, check=False))
    assert [dropped.agent for dropped in Spool(home).take()] == [agent]
    hook_script.script_path(home).unlink()
    assert quiet(subprocess.run(command, input=b"{}", capture_output=True, check=False))
