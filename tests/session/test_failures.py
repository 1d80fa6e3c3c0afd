"""Failures, and the later successes that resolve them."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events.event import Action, FileTouch, SessionOpen
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import SessionState
from tests.scribe import events


def after(*payloads: Any) -> SessionState:
    return fold(initial_state("s"), events(SessionOpen("claude-code", workspace="/w"), *payloads))


def sh(command: str, output: str = "", outcome: Any = "ok") -> Action:
    return Action("Bash", {"command": command}, output, outcome=outcome)


def failed(command: str, output: str = "") -> Action:
    return sh(command, output, "error")


NO_REVIEWER = Action(
    "Task",
    {"subagent_type": "reviewer", "prompt": "a"},
    outcome="error",
    error="Agent type 'reviewer' not found. Available agents: team:review:reviewer, researcher",
)
RESOLVED = [
    (failed("go test -run TestA ./cmd/"), sh("go test ./cmd/")),
    (failed("go test ./cmd/..."), sh("go test ./cmd/... -v")),
    (failed("go test ./cmd/... -run TestA"), sh("mise run test")),
    (failed("mise run test", "--- FAIL: TestA"), sh("go test ./cmd -run TestA")),
    (failed("golangci-lint run"), sh("mise run lint")),
    (failed("go build ./..."), sh("go test ./...")),
    (failed("git push"), sh("git pull --rebase && git push -u origin x")),
    (failed("python3 scripts/convert.py --fast"), sh("python3 scripts/convert.py")),
    (Action("Edit", {"file_path": "/w/a"}, outcome="error"), Action("Edit", {"file_path": "/w/a"})),
    (Action("Edit", {"file_path": "/w/a"}, outcome="error"), Action("Write", {"file_path": "/w/a"})),
    (Action("Task", {"x": 1}, outcome="error", error="InputValidationError"), Action("Task", {"x": 2})),
    (failed("make lint"), sh("make lint && make test")),
    (failed("make fmt && make lint"), sh("make lint")),
    (failed("make fmt"), sh("make fmt")),
    (failed("make test-integration"), sh("make test-integration | grep -E 'FAIL|ok'", "ok")),
    (failed("mise run test:integration"), sh("mise run test:ci")),
    (failed("mise run test:ci"), sh("mise run test:ci 2>&1 | tail -5", "ok cmd")),
    (failed("mise run test:ci"), sh("mise run test && mise run test:integration")),
    (failed("mise run test:ci", "--- FAIL: TestA"), sh("go test ./cmd -run TestA")),
    (failed("mise run lint:all"), sh("mise run lint")),
    (failed("go test ./cmd"), sh("go test ./cmd 2>&1 | head -20", "ok cmd")),
    (failed("go build ./... && make lint", "# pkg\na.go:1:2: undefined"), sh("make test")),
    (failed("cd cmd && go test -run TestOverlap_Stash"), sh("go test -run TestOverlap ./cmd")),
    (failed("go test -c ./cmd", "# example.org/cmd\na.go:1: undefined: x"), sh("go test -run TestA ./cmd")),
    (
        Action("Edit", {"file_path": "/w/a"}, outcome="error"),
        Action("Bash", {"command": "cat >> a"}, files=(FileTouch("/w/a", "modified"),)),
    ),
    (
        Action("Task", {"x": 1}, outcome="error", error="Agent type 'x' not found. Available agents: y"),
        Action("Task", {"x": 2}),
    ),
    (NO_REVIEWER, Action("Task", {"subagent_type": "team:review:reviewer", "prompt": "b"})),
]


@pytest.mark.parametrize(("first", "second"), RESOLVED)
def test_a_success_of_the_same_intent_resolves_a_failure(first: Action, second: Action) -> None:
    (error,) = after(first, second).errors.values()
    assert error["mended_by"] == 2


UNRESOLVED = [
    (NO_REVIEWER, Action("Task", {"subagent_type": "researcher", "prompt": "b"})),
    (failed("make fmt && make lint"), sh("make fmt && make test")),
    (failed("make test && make lint", "--- FAIL: TestA"), sh("make lint")),
    (failed("go test ./cmd/..."), sh("go test ./other/...")),
    (failed("go test ./cmd"), sh("go test ./cmd | tail -5", "FAIL cmd")),
    (failed("go test -run TestA ./cmd/"), sh("go test -run TestB ./cmd/")),
    (failed("python3 a.py"), sh("python3 b.py")),
    (failed("mise run test"), sh("ls")),
    (failed("make test-integration"), sh("make test")),
    (failed("make test"), sh("make test-integration")),
    (failed("mise run test:ci"), sh("mise run test")),
    (failed("go test ./cmd"), sh("go test -c ./cmd | tail -9", "# x/cmd [x/cmd.test]\na.go:1:2: mismatch")),
    (failed("make lint"), sh("git stash && make lint | tail -5 && git stash pop")),
    (failed("go test ./cmd"), sh("go test ./cmd 2>&1 | grep reset", "reset done")),
    (failed("go test ./cmd"), sh("go test ./cmd 2>&1 | head -2", "one\ntwo")),
    (failed("go build ./... && make lint", "a.go:1:2: unused"), sh("make test")),
    (failed("go test -run TestOverlap_Stash"), sh("go test -run TestOther ./cmd")),
    (Action("Edit", {"file_path": "/w/a"}, outcome="error"), Action("Edit", {"file_path": "/w/b"})),
    (Action("fetch", {"url": "http://a"}, outcome="error"), Action("fetch", {"url": "http://b"})),
]


@pytest.mark.parametrize(("first", "second"), UNRESOLVED)
def test_another_success_resolves_nothing(first: Action, second: Action) -> None:
    (error,) = after(first, second).errors.values()
    assert error["mended_by"] is None


def test_the_first_part_of_a_chain_does_not_resolve_it() -> None:
    chain = failed("git add a.py && ./harness.sh run", "no such file: ./harness.sh")
    assert [row["mended_by"] for row in after(chain, sh("git add a.py")).errors.values()] == [None]
    assert [row["mended_by"] for row in after(chain, sh("./harness.sh run")).errors.values()] == [2]


def test_a_refused_call_is_no_failure() -> None:
    state = after(sh("rm -rf x", outcome="denied"))
    assert not state.errors
    assert state.counts["denied"] == 1


@pytest.mark.parametrize(
    "command", ["grep -r x .", "diff a b", "test -f x", "ls x | head", "git diff --quiet"]
)
def test_a_lookup_without_a_result_is_minor(command: str) -> None:
    (error,) = after(failed(command)).errors.values()
    assert error["minor"]


def test_a_call_that_was_not_accepted_is_minor() -> None:
    error = "Skill model is not a prompt-based skill"
    (row,) = after(Action("Skill", {"skill": "model"}, outcome="error", error=error)).errors.values()
    assert row["minor"] is True


def test_a_failed_build_is_not_minor() -> None:
    (error,) = after(failed("cat a && make")).errors.values()
    assert "minor" not in error


def test_a_call_that_the_user_stopped_is_minor() -> None:
    stopped = Action(
        "Task", {"x": 1}, outcome="interrupted", error="[Request interrupted by user for tool use]"
    )
    (error,) = after(stopped).errors.values()
    assert error["minor"] is True


def test_a_check_that_passed_by_another_command_line_is_no_failed_check_any_more() -> None:
    failing, passing = failed("pytest tests -q", "FAILED test_a"), sh("python -m pytest tests -q", "3 passed")
    assert "resolved_by" not in after(failing).checks["pytest tests -q"]
    found = after(failing, passing).checks
    assert found["pytest tests -q"]["resolved_by"] == 2
    assert "resolved_by" not in after(failing, passing, failing).checks["pytest tests -q"]
