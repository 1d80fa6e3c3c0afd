"""The script that a terminal is given says to `sh` what was meant, whatever the names hold."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fazm_memory.menubar.link import Link, parse_link
from fazm_memory.menubar.resuming import Offer, keep_script, quoted, script, steps
from fazm_memory.recall.resume_command import NOT_AN_ID, resume_command

HOSTILE = [
    "it's", '"; rm -rf ~; "', "$(touch pwned)", "`id`", "a\\", "a\\\\b", "new\nline", "-n", "--", "'",
    "\x03\x15", "*", "~", "#x", "é漢", "end tell\ndo shell script \"id\"",
]  # fmt: skip
NAMES = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_characters="\0/", exclude_categories=("Cs",)), min_size=1, max_size=40),
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)


def offer(**more: str | int | None) -> Offer:
    given = {"session": "s", "agent": "claude-code", "agent_session_id": "a-1", "title": "T", "cwd": "/w",
             "briefing": "B"}  # fmt: skip
    return Offer(**(given | more))  # type: ignore[arg-type]


def test_the_ways_to_go_on_best_first() -> None:
    assert [one.took for one in steps(offer(), lambda path: True)] == ["exact", "briefing", "clipboard"]
    assert [one.took for one in steps(offer(), lambda path: False)] == ["briefing", "clipboard"]
    assert [one.took for one in steps(offer(agent="fazm"), lambda path: True)] == ["briefing", "clipboard"]
    assert [one.took for one in steps(offer(agent="other"), lambda path: True)] == ["clipboard"]
    forgotten = steps(offer(gone="/u/.claude/x.jsonl"), lambda path: True)
    assert next((one.took, one.why) for one in forgotten) == (
        "briefing",
        "its own record is gone: /u/.claude/x.jsonl",
    )
    unnamed = steps(offer(agent_session_id=None), lambda path: True)
    assert [one.took for one in unnamed] == ["briefing", "clipboard"]
    assert "it is a branch, or was opened elsewhere" in unnamed[0].why
    rewound = steps(offer(rewound=3), lambda path: True)
    assert [one.took for one in rewound] == ["briefing", "clipboard"]
    assert rewound[0].why == "it was rewound to 3, and the agent's own record goes on past that"


@pytest.mark.parametrize(
    "told", ["-p", "--dangerously-skip-permissions", "", "a b", "x" * 129, "a\n", "$(id)"]
)
def test_an_id_that_could_be_an_option_is_never_given_to_a_program(told: str) -> None:
    assert [one.took for one in steps(offer(agent_session_id=told), lambda path: True)] == [
        "briefing",
        "clipboard",
    ]
    assert steps(offer(agent_session_id=told), lambda path: True)[0].why == NOT_AN_ID
    assert resume_command("claude-code", told, "/w") is None


@pytest.mark.parametrize("agent", ["fazm", "other", "claude-code", "codex", "gemini", "opencode"])
def test_every_way_but_the_best_says_why(agent: str) -> None:
    for step in steps(offer(agent=agent), lambda path: False):
        assert step.why


def test_a_folder_that_is_gone_is_not_entered() -> None:
    assert all("cd --" not in (one.script or "") for one in steps(offer(), lambda path: False))
    fazm = steps(offer(agent="fazm"), lambda path: False)[0].fazm
    assert not any(message.startswith("setWorkspace:") for message in fazm)


@settings(max_examples=25)
@given(NAMES, st.lists(st.one_of(NAMES, st.text(max_size=30)), min_size=1, max_size=3))
def test_sh_reads_the_folder_and_the_words_as_they_are(name: str, words: list[str]) -> None:
    """Run by a real shell: a program in a hostile folder gets exactly these words, and nothing else runs."""
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
        env = {"PATH": f"{programs}:/usr/bin:/bin", "OUT": str(out), "HOME": folder}
        done = subprocess.run([str(path)], env=env, capture_output=True, check=False, cwd="/")
        assert (done.returncode, done.stderr) == (0, b"")
        said = out.read_bytes()
        where, _, arguments = said[len(os.fsencode(os.path.realpath(cwd))) :].partition(b"\n")
        assert said.startswith(os.fsencode(os.path.realpath(cwd)))
        assert where == b""
        assert [one.decode() for one in arguments.split(b"\0")[:-1]] == words
        assert list(cwd.iterdir()) == []
        assert not path.exists()


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    path = keep_script(tmp_path / "home", script("no-such-agent --resume x", None))
    done = subprocess.run(
        [str(path)], env={"PATH": "/bin:/usr/bin"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 127
    assert "no-such-agent was not found" in done.stdout


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
