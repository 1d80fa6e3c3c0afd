"""Which files are not committed, and until when that is known."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events.event import Action, Branch, FileTouch, Prompt, SessionOpen
from fazm_memory.session import still_uncommitted, uncommitted_files
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import SessionState, from_plain, state_to_json, to_plain
from tests.scribe import event

HEAD = Branch("main")


def after(*payloads: Any, session: str = "s", begin: int = 0) -> SessionState:
    """A session in /w on main, one event each second. Every request begins a turn."""
    turn, found = 0, []
    for seq, payload in enumerate((SessionOpen("claude-code", workspace="/w"), HEAD, *payloads)):
        turn += isinstance(payload, Prompt)
        person = {"actor": "person", "trust": "user"} if isinstance(payload, Prompt) else {}
        at = (begin + seq) * 1_000_000 + 1
        found.append(event(payload, seq, session=session, turn=turn, at=at, **person))
    return fold(initial_state(session), found)


def sh(command: str, output: str = "", **more: Any) -> Action:
    return Action("Bash", {"command": command}, output, **more)


def changed(path: str, change: Any = "modified", origin: str | None = None) -> Action:
    return Action("Edit", {"file_path": path}, files=(FileTouch(path, change, origin),))


A, B = changed("/w/a.py"), changed("/w/b.py")
ASK = Prompt("Now the other one")


def names(state: SessionState) -> list[str]:
    return [path.removeprefix("/w/") for path in uncommitted_files(state)]


@pytest.mark.parametrize(
    "later",
    [
        sh("git status", "On branch main\nnothing to commit, working tree clean"),
        sh("git status --short", ""),
        sh("git status --porcelain"),
        sh("git checkout -- a.py"),
        sh("git checkout a.py", "Updated 1 path from the index"),
        sh("git checkout ."),
        sh("git restore a.py"),
        sh("git restore --staged --worktree a.py"),
        sh("git stash"),
        sh("git stash push -m later"),
        sh("git reset --hard"),
        sh("git reset --hard origin/main"),
        sh("git commit -am 'Add a'"),
        sh("git commit -m 'Add a' -- a.py"),
        sh("git add . && git commit -q -m 'Add a'"),
        sh("git rebase main"),
        sh("git pull --rebase"),
        sh("git add a.py && git rebase --continue"),
        sh("git diff --stat", ""),
        sh("gh pr create --fill", "https://github.com/o/r/pull/3"),
        sh("gt create -am 'Add a'"),
        sh("gt modify -a"),
        sh("jj commit -m 'Add a'"),
        Action("Bash", {"command": "git commit -am 'Add a'"}, agent_id="helper"),
        Branch("release"),
        Prompt("I committed that, now the docs"),
        Prompt("ok, pushed. next?"),
        Prompt("[main 1a2b3c4] Add a\n 1 file changed\n\nwhat now?"),
    ],
    ids=str,
)
def test_later_evidence_settles_a_change(later: Any) -> None:
    assert names(after(A)) == ["a.py"]
    assert names(after(A, later)) == []


@pytest.mark.parametrize(
    "later",
    [
        sh("git status", "On branch main\nChanges not staged for commit:\n\tmodified:   a.py\n"),
        sh("git status --short", " M a.py\n?? notes/"),
        sh("git diff --stat", " a.py | 4 ++--\n 1 file changed"),
        sh("git diff --name-only", "a.py\n"),
        sh("git diff HEAD", "diff --git a/a.py b/a.py\n@@ -1 +1 @@"),
        sh("git restore --staged a.py"),
        sh("git checkout -- b.py"),
        sh("git checkout -b fix", "Switched to a new branch 'fix'"),
        sh("git reset --soft HEAD~1"),
        sh("git stash list"),
        sh("git stash && pytest; git stash pop"),
        sh("git commit -am 'Add a'", outcome="denied"),
        sh("git add b.py && git commit -m 'Add b'", "[main 1111111] Add b"),
        sh("gh pr create --fill", "Warning: 1 uncommitted change\nhttps://github.com/o/r/pull/3"),
        sh("cd /tmp/x && git status", "nothing to commit, working tree clean"),
        sh("git -C /elsewhere status", "nothing to commit, working tree clean"),
        sh("git log --oneline -3", "1111111 Start\n"),
        sh("gt log"),
        Prompt("should that be committed?"),
    ],
    ids=str,
)
def test_other_commands_and_words_do_not(later: Any) -> None:
    assert names(after(A, later)) == ["a.py"]


def test_a_listing_confirms_what_it_names_and_settles_the_rest() -> None:
    listing = "On branch main\nChanges to be committed:\n\tnew file:   b.py\nUntracked files:\n\tnotes/\n"
    state = after(A, B, changed("/w/notes/x.md", "created"), sh("git status", listing))
    assert names(state) == ["b.py", "notes/x.md"]


def test_a_listing_that_may_be_cut_settles_nothing() -> None:
    assert names(after(A, B, sh("git status -s | head -1", " M b.py"))) == ["a.py", "b.py"]
    assert names(after(A, B, sh("git status -s src", " M src/c.py"))) == ["a.py", "b.py"]


def test_a_commit_made_elsewhere_is_seen_in_the_log() -> None:
    before, later = sh("git log --oneline -2", "1111111 Start"), "2222222 Add a\n1111111 Start"
    assert names(after(before, A, sh("git log --oneline -2", "1111111 Start"))) == ["a.py"]
    assert names(after(before, A, sh("git log --oneline -2", later))) == []
    both = sh("git log --oneline -2 && git status -s", f"{later}\n M b.py")
    assert names(after(before, A, B, both)) == ["b.py"]
    dated = f"commit {'2' * 40}\nAuthor: M <m@example.org>\n"
    new = f"{dated}Date:   Thu Jan 1 01:30:00 1970 +0000\n\n    Add a\n"
    old = f"{dated}Date:   Thu Jan 1 00:00:00 1970 +0000\n\n    Add a\n"
    assert names(after(A, sh("git log -1", new))) == []
    assert names(after(A, sh("git log -1", old))) == ["a.py"]


def test_the_sessions_own_commits_are_no_commits_made_elsewhere() -> None:
    quiet, log = sh("git commit -qam 'Add a'"), sh("git log --oneline -1", "2222222 Add a")
    assert names(after(sh("git log -1 --oneline", "1111111 Start"), A, quiet, B, log)) == ["b.py"]


def test_changes_of_earlier_turns_count_only_with_evidence() -> None:
    assert names(after(A, ASK, B)) == ["b.py"]  # the user may have committed a.py before asking
    assert names(after(A, ASK, B, sh("git diff --stat", " a.py | 1 +\n b.py | 1 +"))) == ["a.py", "b.py"]
    assert names(after(sh("git commit -qam x"), A, ASK, B)) == ["a.py", "b.py"]  # the agent commits itself


def test_a_file_that_came_and_went_is_not_listed() -> None:
    new, gone = changed("/w/t.py", "created"), changed("/w/t.py", "deleted")
    assert names(after(A, new, gone)) == ["a.py"]
    assert names(after(A, gone)) == ["a.py", "t.py"]  # deleting a file of the repository is a change
    assert names(after(A, changed("/w/n/x", "created"), changed("/w/n", "deleted"))) == ["a.py"]
    assert names(after(changed("/w/n", "created"), changed("/w/n/x", "created"))) == ["n/x"]


def test_a_renamed_file_has_one_name() -> None:
    state = after(A, changed("/w/c.py", "renamed", "/w/a.py"))
    assert names(state) == ["c.py"]
    assert names(
        after(A, changed("/w/c.py", "renamed", "/w/a.py"), sh("git status -s", "R  a.py -> c.py"))
    ) == ["c.py"]


def test_what_is_uncommitted_says_until_when_it_is_known() -> None:
    shown = state_to_json(after(A, sh("git status -s", " M a.py")))
    assert (shown["uncommitted"], shown["uncommitted_as_of"]) == (
        ["/w/a.py"],
        "1970-01-01T00:00:03.000001+00:00",
    )
    assert state_to_json(after())["uncommitted_as_of"] is None


@pytest.mark.parametrize(
    "later",
    [
        (sh("git add a.py && git commit -m 'Add a'", "[main 1111111] Add a"),),
        (sh("git status", "nothing to commit, working tree clean"),),
        (sh("git status -s", " M other.py"),),
        (Branch("release"),),
        (A,),
    ],
    ids=str,
)
def test_a_later_session_in_the_same_folder_settles_it_too(later: tuple[Any, ...]) -> None:
    state, other = after(A), after(*later, session="t", begin=100)
    assert uncommitted_files(state)
    assert not still_uncommitted(state, [state, other])


def test_a_later_session_that_says_nothing_leaves_it() -> None:
    state = after(A)
    assert still_uncommitted(state, [after(B, session="t", begin=100)])
    earlier = after(sh("git status", "nothing to commit, working tree clean"), session="t", begin=-100)
    assert still_uncommitted(state, [earlier])


def test_a_state_of_an_earlier_version_is_read() -> None:
    plain = to_plain(after(A)) | {"uncommitted": {"/w/a.py": 2}}
    for name in ("settled", "heads", "stashed", "listing", "unanswered", "proposed", "progress"):
        del plain[name]
    assert uncommitted_files(from_plain(plain)) == {}
