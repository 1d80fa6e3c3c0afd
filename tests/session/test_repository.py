"""Branches, commits, pull requests, references, checks and uncommitted files."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events.event import Action, Branch, FileTouch, Prompt, SessionOpen
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import SessionState, state_to_json
from tests.scribe import events

OPEN = SessionOpen("claude-code", workspace="/w")


def after(*payloads: Any) -> SessionState:
    return fold(initial_state("s"), events(OPEN, *payloads))


def sh(command: str, output: str = "", **more: Any) -> Action:
    return Action("Bash", {"command": command}, output, **more)


def edit(path: str) -> Action:
    return Action("Edit", {"file_path": path}, files=(FileTouch(path, "modified"),))


def test_a_commit_has_hash_subject_branch_and_files() -> None:
    state = after(
        edit("/w/a.py"),
        edit("/w/b.py"),
        sh("git add a.py && git commit -m 'Add a'", "[fix/a 1a2b3c4] Add a\n 1 file changed"),
    )
    (commit,) = state_to_json(state)["commits"]
    assert {name: commit[name] for name in ("hash", "subject", "branch", "pushed", "files")} == {
        "hash": "1a2b3c4", "subject": "Add a", "branch": "fix/a", "pushed": False, "files": ["/w/a.py"],
    }  # fmt: skip
    assert state.branch == "fix/a"
    assert list(state.uncommitted) == ["/w/b.py"]


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m \"$(cat <<'EOF'\nAdd the exporter\n\nWith tests.\nEOF\n)\"",
        'git commit -m "Add the exporter\n\nWith tests."',
        "git commit -am 'Add the exporter'",
        "git commit -F - <<'EOF'\nAdd the exporter\nEOF",
    ],
)
def test_a_silent_commit_takes_its_subject_from_the_command(command: str) -> None:
    (commit,) = after(sh(command)).commits.values()
    assert (commit["hash"], commit["subject"]) == (None, "Add the exporter")


def test_an_amended_commit_replaces_the_one_before() -> None:
    state = after(
        sh("git commit -m a", "[main 1111111] a"), sh("git commit --amend -m b", "[main 2222222] b")
    )
    assert list(state.commits) == ["2222222"]


def test_a_commit_taken_back_is_gone() -> None:
    state = after(sh("git commit -m a", "[main 1111111] a"), sh("git reset --soft HEAD~1"))
    assert not state.commits


@pytest.mark.parametrize(
    "command",
    [
        "cd /tmp && git init t && cd t && git commit -m initial",
        "git -C /elsewhere commit -m initial",
        "cd $(mktemp -d) && git commit -m initial",
    ],
)
def test_a_commit_in_another_repository_is_none_of_the_session(command: str) -> None:
    assert not after(sh(command, "[main 1234567] initial")).commits


def test_a_failed_or_refused_commit_is_none() -> None:
    nothing = sh("git commit -m a", "nothing to commit, working tree clean", outcome="error")
    assert not after(nothing, sh("git commit -m a", outcome="denied")).commits


def test_a_push_marks_the_commits_of_its_branch() -> None:
    state = after(
        sh("git commit -m a", "[fix 1111111] a"),
        sh("git push -u origin fix", "To github.com:o/r.git\n * [new branch]      fix -> fix"),
        sh("git commit -m b", "[fix 2222222] b"),
        sh("git push", " ! [rejected]        fix -> fix (fetch first)"),
    )
    assert [row["pushed"] for row in state.commits.values()] == [True, False]


TO = "To ../shop.git\n"


@pytest.mark.parametrize(
    ("command", "output", "pushed"),
    [
        (
            "git push -u origin fix",
            f"{TO} * [new branch]      fix -> fix\nbranch 'fix' set up to track",
            True,
        ),
        ("git push -u origin HEAD", f"{TO} * [new branch]      HEAD -> fix", True),
        ("git push", f"{TO}   7603484..044cc66  fix -> fix", True),
        ("git push --force-with-lease", f"{TO} + 7603484...8d35ef3 fix -> fix (forced update)", True),
        ("git push origin fix:review/fix", f"{TO} * [new branch]      fix -> review/fix", True),
        ("git push -q", "", True),
        ("git push", "Everything up-to-date", True),
        ("git push --porcelain", f"{TO}*\trefs/heads/fix:refs/heads/fix\t[new branch]\nDone", True),
        ("git push --all", f"{TO}   7603484..044cc66  fix -> fix\n   1111111..2222222  main -> main", True),
        ("git commit -qm b && git push 2>&1 | tail -1", "   7603484..044cc66  fix -> fix", True),
        ("git push origin main", f"{TO}   7603484..044cc66  main -> main", False),
        ("git push --tags", f"{TO} * [new tag]         v1 -> v1", False),
        ("git push origin --delete old", f"{TO} - [deleted]         old", False),
        ("git push --dry-run", f"{TO}   7603484..044cc66  fix -> fix", False),
        ("git push -n", f"{TO}   7603484..044cc66  fix -> fix", False),
        ("git push | cat", f"{TO} ! [rejected]        fix -> fix (non-fast-forward)\nerror: failed", False),
        ("git push | cat", f"{TO} ! [remote rejected] fix -> fix (pre-receive hook declined)", False),
        ("git push 2>&1 | tail -3", "fatal: The current branch fix has no upstream branch.", False),
    ],
)
def test_pushes_in_the_forms_that_git_prints(command: str, output: str, pushed: bool) -> None:
    state = after(sh("git commit -m a", "[fix 1111111] a"), sh(command, output))
    assert state.commits["1111111"]["pushed"] is pushed


def test_branches_come_from_events_and_from_git() -> None:
    state = after(
        Branch("main"),
        sh("git checkout -b mia/export", "Switched to a new branch 'mia/export'"),
        sh("git commit -m a", "[mia/export 1111111] a"),
        Branch("mia/export"),
        sh("git branch -m mia/csv"),
    )
    assert [row["name"] for row in state.branches.values()] == ["main", "mia/export", "mia/csv"]
    assert state.branch == "mia/csv"
    assert state.commits["1111111"]["branch"] == "mia/csv"


def test_a_clean_working_tree_has_nothing_uncommitted() -> None:
    assert list(after(edit("/w/a.py"), edit("/tmp/x")).uncommitted) == ["/w/a.py"]
    assert not after(edit("/w/a.py"), sh("git status", "nothing to commit, working tree clean")).uncommitted
    assert not after(edit("/w/a.py"), sh("git checkout -- a.py")).uncommitted


def test_a_pull_request_is_opened_and_merged() -> None:
    url = "https://github.com/o/r/pull/88"
    state = after(sh('gh pr create --title "Export invoices" --body x', url), sh("gh pr merge 88"))
    (found,) = state.pull_requests.values()
    assert {name: found[name] for name in ("number", "url", "title", "state")} == {
        "number": 88, "url": url, "title": "Export invoices", "state": "merged",
    }  # fmt: skip


@pytest.mark.parametrize(
    "output",
    ['{"body":"a \\"title\\"","state":"OPEN","title":"Add \\"x\\""}', 'title:\tAdd "x"\nstate:\tOPEN\n'],
)
def test_a_viewed_pull_request_has_its_title_and_state(output: str) -> None:
    (found,) = after(sh("gh pr view 88", output)).pull_requests.values()
    assert (found["title"], found["state"]) == ('Add "x"', "open")


def test_a_loop_over_pull_requests_names_none() -> None:
    command = 'cat list | while read pr; do gh pr view "$pr"; done'
    assert not after(sh(command, "https://github.com/o/r/pull/88")).pull_requests


def test_tickets_numbers_and_addresses_are_taken_from_the_users_words() -> None:
    text = "Fix ENT-98 and #123 as in PR 284, see https://example.org/x). Use UTF-8 and do #1 first."
    state = after(Prompt(text))
    assert [(row["name"], row["kind"]) for row in state.references.values()] == [
        ("ENT-98", "ticket"),
        ("https://example.org/x", "url"),
        ("#123", "issue"),
        ("#284", "pull_request"),
    ]


@pytest.mark.parametrize(
    ("command", "output", "kind", "outcome"),
    [
        ("go test ./...", "ok", "test", "ok"),
        ("cd cmd && go test ./... 2>&1 | tail -20", "--- FAIL: TestA\nFAIL", "test", "failed"),
        ("uv run pytest tests -q", "3 passed", "test", "ok"),
        ("npm run test:unit", "", "test", "ok"),
        ("mise run test:ci", "", "test", "ok"),
        ("make test", "", "test", "ok"),
        ("timeout 60 cargo test", "", "test", "ok"),
        ("golangci-lint run ./... | head", "a.go:1:2: unused (deadcode)", "lint", "failed"),
        ("npx eslint src", "", "lint", "ok"),
        ("tsc --noEmit", "", "lint", "ok"),
        ("go build ./...", "", "build", "ok"),
    ],
)
def test_a_run_of_tests_or_linters_is_kept_with_its_outcome(
    command: str, output: str, kind: str, outcome: str
) -> None:
    (check,) = after(sh(command, output)).checks.values()
    assert (check["kind"], check["outcome"]) == (kind, outcome)


@pytest.mark.parametrize(
    "command", ["echo test", "grep -r pytest .", "cat test.py", "git commit -m 'make test pass'"]
)
def test_other_commands_are_no_checks(command: str) -> None:
    assert not after(sh(command)).checks


def test_all_runs_of_a_successful_command_are_kept() -> None:
    state = after(sh("make lint && make test"))
    assert [(row["command"], row["kind"]) for row in state.checks.values()] == [
        ("make lint", "lint"),
        ("make test", "test"),
    ]


def test_of_a_failed_chain_the_first_run_that_may_have_failed_is_kept() -> None:
    chain = "make fmt && make lint && make test"
    lint = after(sh(chain, "a.go:1:2: unused", outcome="error"))
    assert [row["command"] for row in lint.checks.values()] == ["make lint"]
    test = after(sh(chain, "--- FAIL: TestA", outcome="error"))
    assert [row["command"] for row in test.checks.values()] == ["make test"]


@pytest.mark.parametrize("command", ["go test ./... | grep reset", "git stash; go test ./...; git stash pop"])
def test_a_run_whose_outcome_is_unknown_or_of_other_code_is_not_kept(command: str) -> None:
    assert not after(sh(command, "reset done")).checks


def test_the_last_run_of_a_command_counts() -> None:
    state = after(sh("go test ./...", outcome="error"), sh("go test ./..."))
    assert [row["outcome"] for row in state.checks.values()] == ["ok"]


def test_outside_a_repository_no_file_is_shown_as_not_committed() -> None:
    assert state_to_json(after(edit("/w/a.pdf")))["uncommitted"] == []
    assert state_to_json(after(sh("git checkout -b x"), edit("/w/a.py")))["uncommitted"] == ["/w/a.py"]


@pytest.mark.parametrize(
    "command",
    ["git checkout -qb x", "git checkout -q -b x origin/main", "git switch -c x", "git switch -q -C x"],
)
def test_a_new_branch_is_known_without_a_word_of_git(command: str) -> None:
    assert after(sh(command)).branch == "x"
