"""The protocol's own referees: its conformance suite, and its Inspector calling every tool."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.mcp_server.calls import TOOLS, TOOLS_BY_SET

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent / "mcp_suites"
MODULES = HERE / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
INSPECTOR = MODULES / ".bin" / "mcp-inspector"
PROGRAM = Path(sys.executable).with_name("fazm-memory")

TASKS = "the tasks extension is optional, and we do not offer it: our calls end within seconds"
# Scenarios of 2026-07-28 that fail, and why that is right. In the earlier revisions none may.
EXPECTED = {
    f"tasks-{name}": TASKS
    for name in (
        "lifecycle",
        "capability-negotiation",
        "wire-fields",
        "request-state-removal",
        "mrtr-input",
        "request-headers",
        "dispatch-and-envelope",
        "required-task-error",
        "mrtr-composition",
    )
}
REVISIONS = {
    "2025-06-18": (["--spec-version", "2025-06-18", "--suite", "all"], 25),
    "2025-11-25": (["--spec-version", "2025-11-25", "--suite", "all"], 30),
    "2026-07-28": (["--requirements", "2026-07-28"], 40),
}


@pytest.fixture(scope="module")
def node() -> Path:
    """The Node that the suites need; most machines have an older one, or none."""
    kind = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
    found = MODULES / f"node-{sys.platform}-{kind}" / "bin" / "node"
    if not (found.exists() and SUITE.exists()):
        pytest.fail("the MCP suites are missing: run tests/e2e/mcp_suites/install", pytrace=False)
    return found


def environment(home: Path) -> dict[str, str]:
    return {
        "PATH": f"{PROGRAM.parent}:/usr/bin:/bin",
        "HOME": str(home / "user"),
        "FAZM_MEMORY_HOME": str(home / "memory"),
        "FAZM_MEMORY_KEY": "file",
    }


@pytest.fixture
def tool_set() -> str:
    return "full"


@pytest.fixture
def profile(tmp_path: Path, tool_set: str) -> Iterator[str]:
    """The address of our server with the suite's fixtures mounted."""
    command = [sys.executable, "-m", "tests.e2e.mcp_suites.profile", str(tmp_path / "memory"), tool_set]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


@pytest.mark.parametrize("tool_set", ["small", "full"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_official_suite_passes(node: Path, profile: str, revision: str) -> None:
    given, least = REVISIONS[revision]
    done = subprocess.run(
        [str(node), str(SUITE), "server", "--url", profile, *given],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    _, _, summary = done.stdout.partition("=== SUMMARY ===")
    results = {name: mark for mark, name in re.findall(r"^([✓✗]) ([\w-]+):", summary, re.MULTILINE)}
    failed = {name for name, mark in results.items() if mark == "✗"}
    assert failed == (set(EXPECTED) if revision == "2026-07-28" else set()), done.stdout[-4000:]
    assert len(results) - len(failed) >= least


class Inspector:
    """The Inspector's command line, against a server by its address or its command."""

    def __init__(self, node: Path, home: Path, *server: str) -> None:
        self.node = node
        self.env = environment(home)
        self.server = server

    def __call__(self, method: str, *more: str) -> Any:
        command = [str(self.node), str(INSPECTOR), "--cli", *self.server, "--method", method, *more]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def call(self, tool_name: str, /, **given: Any) -> dict[str, Any]:
        pairs = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in given.items()
        ]
        result = self("tools/call", "--tool-name", tool_name, *(["--tool-arg", *pairs] if pairs else []))
        assert not result.get("isError"), result
        return dict(result["structuredContent"])


@pytest.mark.parametrize("tool_set", [None, "small", "full"])
def test_the_inspector_starts_the_program_and_lists_its_tools(
    node: Path, tmp_path: Path, tool_set: str | None
) -> None:
    given = [f"{name}={value}" for name, value in environment(tmp_path).items() if name.startswith("FAZM")]
    passed = [part for one in given for part in ("-e", one)]
    # A script, because the Inspector takes `--tools` for an option of its own.
    chosen = "" if tool_set is None else f"--tools {tool_set}"
    script = tmp_path / "server"
    script.write_text(f'#!/bin/sh\nexec "{PROGRAM}" mcp {chosen}\n')
    script.chmod(0o755)
    inspector = Inspector(node, tmp_path, *passed, str(script))
    listed = [one["name"] for one in inspector("tools/list")["tools"]]
    assert listed == list(TOOLS_BY_SET[tool_set or "small"])


def test_the_inspector_calls_every_tool(node: Path, profile: str, tmp_path: Path) -> None:
    inspector = Inspector(node, tmp_path, "--transport", "http", "--server-url", profile)
    session = inspector.call("session_open", title="File the scans")["session"]
    branch = inspector.call("session_fork", session=session)["session"]
    question = inspector.call("session_handoff", session=branch, to="agent", note="Which?")["question"]
    names = ["scan 3.pdf"]
    rest: dict[str, dict[str, Any]] = {
        "action_record": {"session": session, "tool": "mv", "input": {"from": "a", "to": "b"}},
        "decision_record": {"session": session, "what": "ISO dates first"},
        "fact_record": {"session": session, "key": "invoices", "value": "/w/invoices"},
        "pending_add": {"session": session, "id": "october", "what": "October"},
        "pending_done": {"session": session, "id": "october"},
        "message_record": {"session": session, "text": "The dates are in the names."},
        "evicted_record": {"session": session, "keys": ["files_read"]},
        "usage_record": {"session": session, "input_tokens": 10, "output_tokens": 2},
        "budget_get": {"session": session},
        "fact_retract": {"session": session, "key": "invoices"},
        "session_retitle": {"session": session, "title": "Scans"},
        "artifact_put": {"session": session, "name": "features", "form": "document", "text": "one"},
        "artifact_get": {"session": session},
        "session_retries": {"session": session},
        "untrusted_list": {},
        "habits_get": {},
        "session_list": {},
        "session_state": {"session": session},
        "session_events": {"session": session, "last": 3},
        "session_diff": {"session": session, "from": 0, "to": 2},
        "memory_search": {"query": "dates"},
        "memory_context": {},
        "conventions_get": {"session": session},
        "names_propose": {"session": session, "names": names},
        "replay_plan": {"session": session},
        "handoff_answer": {"session": branch, "question": question, "answer": "the second"},
        "session_rewind": {"session": branch, "to": 1},
        "session_pause": {"session": session},
        "session_resume": {"session": session},
        "session_close": {"session": session},
        "session_archive": {"session": session},
    }
    assert {"session_open", "session_fork", "session_handoff", *rest} == set(TOOLS)
    for tool, given in rest.items():
        inspector.call(tool, **given)
    assert inspector("resources/read", "--uri", f"fazm-memory://sessions/{session}/state")["contents"]
    assert inspector("prompts/get", "--prompt-name", "resume")["messages"]


@pytest.mark.parametrize("tool_set", ["small"])
def test_the_inspector_calls_every_tool_of_the_small_set(node: Path, profile: str, tmp_path: Path) -> None:
    inspector = Inspector(node, tmp_path, "--transport", "http", "--server-url", profile)
    opened = inspector.call("session_note", kind="open", text="File the scans")["session"]
    assert inspector.call("session_note", kind="decision", session=opened, text="ISO dates first")["seq"] == 1
    assert inspector.call("memory_search", query="dates")["hits"]
    assert "ISO dates first" in inspector.call("memory_context")["text"]
    for view in ("state", "events", "diff", "files", "retries", "briefing"):
        assert inspector.call("session_read", session=opened, view=view)["session"] == opened
    assert inspector.call("names_propose", session=opened, names=["scan 3.pdf"])["proposals"]
