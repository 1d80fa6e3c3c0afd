"""Completion in the shells it is for: what a Tab offers in a real zsh and a real fish."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fazm_memory.cli.main import COMMANDS

pytestmark = pytest.mark.e2e

Ask = Callable[[str], list[str]]

# Nothing is typed: the line editor fills in the line when it is ready, completes it, and the shell ends. Each
# match that a completion adds is written down on its way.
ZSHRC = """
autoload -Uz compinit; compinit -u -D
{load}
compadd() {{
    local -a hits
    if [[ " $* " == *" -"(O|A|D)" "* ]]; then builtin compadd "$@"; return; fi
    builtin compadd -O hits "$@"
    print -rl -- $hits >> "$OFFERED"
    builtin compadd "$@"
}}
zle-line-init() {{ BUFFER=$LINE_TYPED; CURSOR=$#BUFFER; zle complete-word; exit 0 }}
zle -N zle-line-init
"""


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"no {name} on this machine: apt-get install {name}", pytrace=False)
    return found


def script(name: str) -> str:
    program = Path(sys.executable).with_name("fazm-memory")
    return subprocess.run([program, "completion", name], capture_output=True, text=True, check=True).stdout


@pytest.fixture(params=["sourced", "in fpath"])
def zsh(request: pytest.FixtureRequest, tmp_path: Path) -> Ask:
    program = shell("zsh")
    functions = tmp_path / "functions"
    functions.mkdir()
    (functions / "_fazm-memory").write_text(script("zsh"))
    load = f"source {functions}/_fazm-memory" if request.param == "sourced" else ""
    before = "" if load else f"fpath=({functions} $fpath)"
    (tmp_path / ".zshrc").write_text(before + ZSHRC.format(load=load))
    offered = tmp_path / "offered"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").touch()

    def ask(line: str) -> list[str]:
        offered.write_text("")
        ours, theirs = pty.openpty()
        environment = os.environ | {
            "ZDOTDIR": str(tmp_path),
            "OFFERED": str(offered),
            "LINE_TYPED": line,
            "TERM": "dumb",
        }
        with subprocess.Popen(
            [program, "-d", "-i"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=environment,
            start_new_session=True,
        ) as running:
            os.close(theirs)
            reply = _read_output(ours)
            assert running.wait(120) == 0, reply
        return [word for word in offered.read_text().split("\n") if word]

    return ask


def _read_output(terminal: int) -> bytes:
    reply = b""
    try:
        while piece := os.read(terminal, 4096):
            reply += piece
    except OSError:  # how Linux says that nobody holds the other end any more
        return reply
    finally:
        os.close(terminal)
    return reply


@pytest.fixture
def fish(tmp_path: Path) -> Ask:
    program = shell("fish")
    (tmp_path / "fazm-memory.fish").write_text(script("fish"))
    (tmp_path / "notes.txt").touch()

    def ask(line: str) -> list[str]:
        done = subprocess.run(
            [program, "--no-config", "-c", "source fazm-memory.fish; complete -C $argv[1]", line],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        assert done.stderr == ""
        return [result.split("\t")[0] for result in done.stdout.splitlines()]

    return ask


def starting(prefix: str) -> list[str]:
    return sorted(name for name in COMMANDS if name.startswith(prefix))


@pytest.mark.parametrize("prefix", ["re", "se", "s", "import", ""])
def test_the_commands_are_offered_and_nothing_else(prefix: str, fish: Ask) -> None:
    assert sorted(fish(f"fazm-memory {prefix}")) == starting(prefix)


@pytest.mark.parametrize("prefix", ["re", "se", "s", "import", ""])
def test_the_commands_are_offered_in_zsh_by_the_first_tab(prefix: str, zsh: Ask) -> None:
    assert sorted(zsh(f"fazm-memory {prefix}")) == starting(prefix)


def test_the_options_of_a_command_are_offered_whatever_words_follow_it(zsh: Ask, fish: Ask) -> None:
    expected = ["--agent", "--all"]
    assert [sorted(each("fazm-memory sessions --a")) for each in (zsh, fish)] == [expected, expected]
    assert [each("fazm-memory search record --lim") for each in (zsh, fish)] == [["--limit"], ["--limit"]]
    assert [each("fazm-memory search completion ba") for each in (zsh, fish)] == [[], []]
    general = ["--help", "--json", "--now", "--version"]
    assert [sorted(each("fazm-memory --")) for each in (zsh, fish)] == [general, general]


def test_the_words_an_argument_may_be_are_offered(zsh: Ask, fish: Ask) -> None:
    assert [each("fazm-memory recording p") for each in (zsh, fish)] == [["pause"], ["pause"]]
    assert sorted(fish("fazm-memory completion ")) == ["bash", "fish", "zsh"]


def test_files_are_offered_where_one_may_be_meant(zsh: Ask, fish: Ask) -> None:
    assert [each("fazm-memory import-bundle no") for each in (zsh, fish)] == [["notes.txt"], ["notes.txt"]]
