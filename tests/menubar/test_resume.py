"""The script that a terminal is given says to `sh` what was meant, whatever the names hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fazm_memory.menubar.commands import TERMINALS, Link, keep_script, parse_link, quoted, script

HOSTILE = [
    "it's", '"; rm -rf ~; "', "$(touch pwned)", "`id`", "a\\", "a\\\\b", "new\nline", "-n", "--", "'",
    "\x03\x15", "*", "~", "#x", "é漢", "end tell\ndo shell script \"id\"",
]  # fmt: skip
# The disk of a Mac refuses characters that it does not know; it knows these.
NAMES = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_characters="\0/", max_codepoint=0x24F), min_size=1, max_size=40),
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)


SHELLS = [shell for shell in map(shutil.which, ("bash", "zsh", "fish", "sh")) if shell is not None]
SETTINGS = {"zsh": ".zprofile", "fish": ".config/fish/config.fish"}


def login_home(folder: Path, shell: str) -> Path:
    """A home whose shell settings add a folder to PATH."""
    home = folder / "user"
    settings_file = home / SETTINGS.get(Path(shell).name, ".profile")
    settings_file.parent.mkdir(parents=True)
    settings_file.write_text(f'export PATH="{folder}/bin:/usr/bin:/bin"\n')
    return home


def run_script(path: Path, home: Path, shell: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "SHELL": shell, "LANG": "C.UTF-8", **more}
    return subprocess.run(
        [str(path)], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd="/"
    )


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=8)
@given(name=NAMES, words=st.lists(st.one_of(NAMES, st.text(max_size=30)), min_size=1, max_size=3))
def test_each_shell_passes_the_folder_and_the_words_as_they_are(
    shell: str, name: str, words: list[str]
) -> None:
    """A program on the PATH of a real login shell gets exactly these words, and nothing else runs."""
    words = [word.replace("\0", "").encode("utf-8", "replace").decode() for word in words]
    with tempfile.TemporaryDirectory() as folder:
        cwd, programs = Path(folder) / name, Path(folder) / "bin"
        cwd.mkdir()
        programs.mkdir()
        claude = programs / "claude"
        claude.write_text('#!/bin/sh\npwd -P > "$OUT"; printf "%s\\0" "$@" >> "$OUT"\n')
        claude.chmod(0o700)
        out = Path(folder) / "out"
        text = script("claude " + " ".join(map(quoted, words)), str(cwd))
        path = keep_script(Path(folder) / "home", text)
        done = run_script(path, login_home(Path(folder), shell), shell, OUT=str(out))
        assert done.returncode == 0, done.stderr
        result = out.read_bytes()
        where, _, arguments = result[len(os.fsencode(os.path.realpath(cwd))) :].partition(b"\n")
        assert result.startswith(os.fsencode(os.path.realpath(cwd)))
        assert where == b""
        assert [one.decode() for one in arguments.split(b"\0")[:-1]] == words
        assert list(cwd.iterdir()) == []
        assert not path.exists()


@pytest.mark.parametrize(("shell", "rc"), [("zsh", ".zshrc"), ("bash", ".bash_profile")])
def test_an_agent_that_is_an_alias_is_found(tmp_path: Path, shell: str, rc: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / rc).write_text("alias claude='echo resumed'\n")
    path = keep_script(tmp_path / "home", script("claude --resume x", None))
    assert b"resumed --resume x" in run_script(path, tmp_path, program).stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_a_program_that_is_not_there_is_reported(tmp_path: Path, shell: str) -> None:
    path = keep_script(tmp_path / "home", script("no-such-agent --resume x", None))
    done = run_script(path, login_home(tmp_path, shell), shell)
    assert done.returncode == 127
    assert b"no-such-agent was not found" in done.stdout


def test_each_terminal_is_an_app_of_its_own() -> None:
    assert len({terminal.bundle for terminal in TERMINALS.values()}) == len(TERMINALS) == 6


def test_a_script_nobody_opened_does_not_stay(tmp_path: Path) -> None:
    first = keep_script(tmp_path / "home", "one")
    second = keep_script(tmp_path / "home", "two")
    assert (first.exists(), second.exists()) == (False, True)


# -- links -----------------------------------------------------------------------------------------------


def test_a_link_of_ours_is_read() -> None:
    assert parse_link("fazm-memory://resume/abcd1234") == Link("resume", "abcd1234")
    assert parse_link("fazm-memory://open/abcd1234@17") == Link("open", "abcd1234", 17)


@pytest.mark.parametrize(
    "text",
    [
        "", "fazm-memory://", "fazm-memory://resume", "fazm-memory://resume/", "fazm-memory://resume/ab",
        "fazm-memory://forget/abcd1234", "fazm-memory://RESUME/abcd1234", "FAZM-MEMORY://resume/abcd1234",
        "fazm-memory:resume/abcd1234", "fazm-memory://resume/../abcd1234", "fazm-memory://resume/abcd%2e%2e",
        "fazm-memory://resume/abcd1234?x=1", "fazm-memory://resume/abcd1234#x", "file:///etc/passwd",
        "fazm-memory://resume/abcd1234 ; rm", "fazm-memory://resume/abcd1234\n", "\nfazm-memory://resume/abcd1234",
        "fazm-memory://user@resume/abcd1234", "fazm-memory://resume:80/abcd1234", "fazm://resume/abcd1234",
        "fazm-memory://resume/-abcd1234", "fazm-memory://resume/--help", "fazm-memory://resume/" + "a" * 300,
        "fazm-memory://open/abcd1234@-1", "fazm-memory://open/abcd1234@1e9", "fazm-memory://resume/аbcd1234",
        "fazm-memory://open/abcd1234@٣",
    ],
)  # fmt: skip
def test_a_hostile_link_is_refused(text: str) -> None:
    assert parse_link(text) is None


@given(st.text(max_size=120))
def test_whatever_a_link_holds_what_is_taken_from_it_is_an_id(text: str) -> None:
    for link in (parse_link(text), parse_link(f"fazm-memory://resume/{text}")):
        if link is not None:
            assert link.session.isascii()
            assert link.session.replace("_", "").replace("-", "").isalnum()
